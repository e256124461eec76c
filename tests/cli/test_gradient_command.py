"""`mechgrad gradient`: a problem file becomes a table of derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tomli_w
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad.cli.main import app
from mechgrad.cli.problem_file import read_problem
from mechgrad.cli.users import load_functions
from mechgrad.gallery import double_pendulum, five_bar

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
function = "dot(x, x)"

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
        ('of = ["2"]', 'of = ["1", "2", "3"]', "JointVelocity of 3 entries; it takes coordinate"),
        ("step = 0.001", "step = ", "problem.toml"),
        ("t = 0.01\n", "", "instant"),
        ('function = "dot(x, x)"', 'function = "(x * x"', "no formula: '(' was never closed at column 1"),
        ('function = "dot(x, x)"', 'function = "(x * x).sum(-1)"', "Known: measures x; t, pi"),
        ('function = "dot(x, x)"', "function = 3", "a formula in quotes"),
        ('function = "dot(x, x)"', 'function = "x[3]"', "component 3 of a measure that has 3 components"),
        ('function = "dot(x, x)"', 'function = "log(-1 - x[0] * x[0])"', "is nan at t = 0 s"),
        ('measure = "KineticEnergy"', "measure = 3", "KineticEnergy"),
        ('measure = "KineticEnergy"', "", "give a measure"),
        ('kind = "end"', "kind = [1]", "integral"),
        ('of = ["2"]', "of = [2]", "names in quotes"),
        ("duration = 0.02", "duration = true", "one finite number"),
        ("duration = 0.02", "duration = -1", "must be positive"),
        ("duration = 0.02", "duration = nan", "one finite number"),
        ("step = 0.001", 'step = "1 ms"', "one finite number"),
        ("step = 0.001", "samples = 2.5", "a whole number"),
        ("step = 0.001", "scheme = 3", "a word in quotes"),
        ("step = 0.001", 'scheme = "rk5"', "rk4"),
        ('model = "five_bar"', 'model = "none.toml"', "there is no such model file"),
        ('model = "five_bar"', "model = [1]", "double_pendulum"),
        ("guess = [-2.356, 1.768, 1.176, 0.983]", "guess = 3", "a list of numbers"),
        ("guess = [-2.356, 1.768, 1.176, 0.983]", "guess = [1, 2]", "guess"),
        ("guess = [-2.356, 1.768, 1.176, 0.983]", "q = [1, 2]", "q beside at"),
        ('at = { A = -2.356194490192345, "1" = 1.7681918866447774 }', "at = 3", "must be a table"),
        ('"start.position.A"]', "3]", "names in quotes"),
        ("[objectives.energy]", "[objectives]\nenergy = 3\n[objectives.other]", "must be a table"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, expected):
    assert old in PROBLEM
    result = run(tmp_path, PROBLEM.replace(old, new))
    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert "problem.toml" in result.stderr


def test_a_file_runs_no_code(tmp_path):
    """What `eval` would have done: leave a file behind. A problem file can only be refused."""
    trace = tmp_path / "was here"
    code = f"__import__('pathlib').Path({str(trace)!r}).touch() or x"
    eval(code, {"x": 1})
    assert trace.exists()
    trace.unlink()
    result = run(tmp_path, PROBLEM.replace("dot(x, x)", code.replace('"', "'")))
    assert result.exit_code == 2
    assert "the unknown function" in result.stderr or "not for formulas" in result.stderr
    assert not trace.exists()


SEVERAL = """
[objectives.power]
function = "mine(a) * w ** 2 + t * w"

[objectives.power.measures]
a = { measure = "PointAcceleration", of = ["P2"] }
w = { measure = "JointVelocity", of = "2" }
"""


def test_functions_come_from_the_command_line(tmp_path):
    """Several measures, time, and a function of a module that the command line names: as the same in Python."""
    path = tmp_path / "mine.py"
    path.write_text("import numpy as np\n\ndef mine(a):\n    return np.sum(a * a, axis=-1)\n")
    (tmp_path / "problem.toml").write_text(PROBLEM + SEVERAL)
    found = read_problem(tmp_path / "problem.toml", load_functions(str(path))).solve()
    model = five_bar()
    start = mg.assemble(model, {"A": -2.356194490192345, "1": 1.7681918866447774}, guess=[-2.356, 1.768, 1.176, 0.983])
    motion = mg.simulate(model, start, duration=0.02, step=0.001)
    python = mg.Integral(
        lambda a, w, t: np.sum(a * a, axis=-1) * w**2 + t * w,
        mg.measures.PointAcceleration("P2"),
        mg.measures.JointVelocity("2"),
    )
    expected = mg.gradient(motion, python, ["S1.stiffness", "A1.mass", "start.position.A"]).array
    row = found.array[list(found.objectives).index("power")]
    assert np.all(np.abs(row) > 0.0)
    np.testing.assert_allclose(row, expected[0], rtol=1e-12)
    result = run(tmp_path, PROBLEM + SEVERAL)
    assert result.exit_code == 2
    assert "the unknown function 'mine' at column 1" in result.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "defines no function"),
        ("from numpy import sum", "defines no function"),
        ("def mine(x:", "SyntaxError"),
        ("def sin(x):\n    return x", "know already"),
        ("def mine(x):\n    raise OSError('no luck')", "raised OSError: no luck (mine.py, line 2)"),
        ("def mine(x):\n    raise OSError('no\\nluck')", "raised OSError: no luck (mine.py, line 2)"),
        (None, "leads to no file"),
    ],
)
def test_what_is_wrong_with_a_users_module_is_told(tmp_path, code, message):
    path = tmp_path / "mine.py"
    if code is not None:
        path.write_text(code)
    text = PROBLEM.replace("dot(x, x)", "dot(x, x)" if code is None or "sin" in code else "mine(x)")
    result = run(tmp_path, text, "--functions", str(path))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_byte_order_mark_is_fine_and_control_characters_are_not(tmp_path):
    (tmp_path / "problem.toml").write_bytes(b"\xef\xbb\xbf" + PROBLEM.encode())
    assert len(read_problem(tmp_path / "problem.toml").objectives) == 3
    for text in (
        PROBLEM.replace("objectives.shake", r'objectives."sh\u001b[2Jake"'),
        PROBLEM.replace("S1", r"S\u001b1"),
    ):
        result = run(tmp_path, text)
        assert result.exit_code == 2
        assert "control character" in result.stderr
        assert "\x1b" not in result.stderr


def test_a_problem_is_a_recipe_and_what_is_asked_of_it(tmp_path: Path) -> None:
    """Keys that only recipes have: the model itself, an equilibrium, forces, options of a scheme."""
    model = double_pendulum()
    rest = mg.equilibrium(model, at={"shoulder": 0.3}, tau=[0.0, 0.4])
    push = mg.Load("lower", force=(1.0, 0.0, 0.5), name="push")
    motion = mg.simulate(model, rest, 0.1, scheme=mg.schemes.HHT(0.1), step=0.01, tau=[0.2, 0.1], loads=[push])
    ask = {"objectives": {"e": {"kind": "end", "measure": "KineticEnergy"}}, "wrt": ["push.force.x", "upper.mass"]}
    content = mg.io.recipe_to_dict(motion.recipe) | ask
    (tmp_path / "p.toml").write_text(tomli_w.dumps(content), encoding="utf-8")
    found = read_problem(tmp_path / "p.toml").solve()
    expected = mg.gradient(motion, mg.AtEnd(mg.measures.KineticEnergy()), ["push.force.x", "upper.mass"])
    assert np.abs(expected.array).min() > 1e-6
    np.testing.assert_allclose(found.array, expected.array, rtol=1e-13)
