"""`mechgrad gradient`: a problem file becomes a table of derivatives."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from mechgrad.cli.main import app

PROBLEM = """
model = "five_bar"
duration = 0.02
step = 0.001
wrt = ["S1.stiffness", "A1.mass", "start.position.A"]

[start]
at = { A = -2.356194490192345, "1" = 1.7681918866447774 }
guess = [-2.356, 1.768, 1.176, 0.983]

[objectives.shake]
measure = "PointAcceleration"
of = ["P2"]
function = "(x * x).sum(-1)"

[objectives.energy]
kind = "end"
measure = "KineticEnergy"

[objectives.middle]
kind = "time"
t = 0.01
measure = "JointVelocity"
of = ["2"]
"""


def run(tmp_path, text, *options):
    path = tmp_path / "problem.toml"
    path.write_text(text)
    return CliRunner().invoke(app, ["gradient", str(path), *options])


def test_a_problem_is_solved_checked_and_drawn(tmp_path):
    result = run(tmp_path, PROBLEM, "--check", "--plot", str(tmp_path / "bars.png"))
    assert result.exit_code == 0, result.output
    for word in ("shake", "energy", "middle", "S1.stiffness", "passed"):
        assert word in result.output
    assert (tmp_path / "bars.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('model = "five_bar"', 'model = "six_bar"', "five_bar"),
        ("step = 0.001", "stepp = 0.001", "step"),
        ('measure = "KineticEnergy"', 'measure = "Energy"', "KineticEnergy"),
        ('kind = "end"', 'kind = "finish"', "integral"),
        ('"A1.mass"', '"A1.mas"', "mass"),
        ("duration = 0.02\n", "", "duration"),
        ('of = ["2"]', "of = [1, 2, 3]", "JointVelocity"),
        ("step = 0.001", "step = ", "problem.toml"),
        ("t = 0.01\n", "", "instant"),
        ('function = "(x * x).sum(-1)"', 'function = "(x * x"', "expression"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, expected):
    assert old in PROBLEM
    result = run(tmp_path, PROBLEM.replace(old, new))
    assert result.exit_code == 2
    assert expected in result.output + result.stderr
