"""`mechgrad optimize`: a file of a design problem becomes the best design."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad.cli.design_file import read_design
from mechgrad.cli.main import app
from mechgrad.errors import InputError

PENDULUM = """
[model]
name = "pendulum"
bodies = [{ name = "bob", mass = 2.0, com = [0, 0, -1] }]
joints = [{ kind = "revolute", name = "pin", parent = "ground", child = "bob", axis = [0, 1, 0] }]
"""
PROBLEM = """
duration = 1.0
step = 0.01

[start]
at = { pin = 0.0 }
rates = { pin = 1.0 }

[variables]
"start.velocity.pin" = [-4.0, 4.0]
"bob.com.z" = { bounds = [-1.5, -0.5], scale = 0.5 }

[minimize.miss]
kind = "end"
measure = "JointCoordinate"
of = ["pin"]
function = "(x ** 2 - 0.04) ** 2"

[limits.fast]
kind = "smooth maximum"
error = 0.01
measure = "JointVelocity"
of = ["pin"]
upper = 2.0

[linear.together]
factors = { "start.velocity.pin" = 1.0, "bob.com.z" = -0.5 }
lower = -10.0

[solve]
tolerance = 1e-10
"""
SEVERAL = """
step = 0.01
start = { at = { pin = 0.1 } }

[scenarios.short]
duration = 0.5

[scenarios."long one"]
duration = 0.8
weight = 2.0

[variables]
"bob.com.z" = { bounds = [-2.0, -0.5], value = -1.2 }
"start.position.pin" = { bounds = [0.05, 0.5], scenarios = ["long one"] }

[measured.angle]
measure = "JointCoordinate"
of = ["pin"]
t = [0.2, 0.4]
values = [0.05, -0.03]
sigma = 0.01

[minimize.size]
kind = "end"
measure = "KineticEnergy"
scenarios = ["short"]
factor = 0.5

[solve]
goal = "least squares"
"""


def run(folder: Path, text: str, *options: str):
    path = folder / "problem.toml"
    path.write_text(text + PENDULUM, encoding="utf-8")
    return CliRunner().invoke(app, ["optimize", str(path), *options])


def in_python() -> mg.DesignProblem:
    """The same problem as PROBLEM."""
    model = mg.Model(
        "pendulum", [mg.Body("bob", mass=2.0, com=(0, 0, -1))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
    )
    pin, rate = mg.measures.JointCoordinate("pin"), mg.measures.JointVelocity("pin")
    return mg.DesignProblem(
        mg.simulate(model, mg.assemble(model, {"pin": 0.0}, {"pin": 1.0}), 1.0, step=0.01),
        [
            mg.design.Variable("start.velocity.pin", (-4.0, 4.0)),
            mg.design.Variable("bob.com.z", (-1.5, -0.5), scale=0.5),
        ],
        mg.AtEnd(lambda q: (q**2 - 0.04) ** 2, pin),
        [
            mg.design.Limit(mg.objectives.SmoothMaximum(rate, error=0.01), upper=2.0, name="fast"),
            mg.design.Linear({"start.velocity.pin": 1.0, "bob.com.z": -0.5}, lower=-10.0),
        ],
    )


def test_a_file_is_solved_as_the_same_in_python(tmp_path):
    """Numbers in JSON, the best model in a file, a picture; and the table for people."""
    out, picture = tmp_path / "best.toml", tmp_path / "best.png"
    result = run(tmp_path, PROBLEM, "--json", "-o", str(out), "--plot", str(picture))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    best = in_python().solve(tolerance=1e-10)
    assert found["status"] == "converged"
    assert found["variables"] == pytest.approx(best.values, rel=1e-9)
    assert [side["name"] for side in found["limits"]] == ["fast", "together"]
    assert found["limits"][0]["value"] <= 2.0
    assert found["limits"][0]["lower"] is None
    assert mg.load_model(out).value("bob.com.z") == found["variables"]["bob.com.z"]
    assert picture.stat().st_size > 1000
    shown = run(tmp_path, PROBLEM, "--solver", "slsqp", "--progress")
    assert shown.exit_code == 0, shown.output
    assert all(word in shown.stdout for word in ("converged", "start.velocity.pin", "fast", "together", "infeasible"))


def test_several_scenarios_and_measured_data(tmp_path):
    out = tmp_path / "best.toml"
    result = run(tmp_path, SEVERAL, "--json", "-o", str(out), "--executor", "serial")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["solver"] == "least-squares"
    problem = read_design(tmp_path / "problem.toml").problem
    assert [(s.name, s.weight) for s in problem.scenarios] == [("short", 1.0), ("long one", 2.0)]
    assert problem.space.names == ("bob.com.z", "long one: start.position.pin")
    first = problem.evaluate()
    short = mg.simulate(problem.scenarios[0].model.with_values({"bob.com.z": -1.2}), {"pin": 0.1}, 0.5, step=0.01)
    energy = mg.AtEnd(mg.measures.KineticEnergy())
    residuals = (short.at([0.2, 0.4]).q[:, 0] - [0.05, -0.03]) / 0.01
    half = 0.5 * mg.gradient(short, energy, ["bob.mass"]).values
    np.testing.assert_allclose(first.values[:3], [*half, *residuals], rtol=1e-12)
    assert mg.load_model(tmp_path / "best-short.toml").value("bob.com.z") == found["variables"]["bob.com.z"]
    assert (tmp_path / "best-long_one.toml").is_file()


def test_many_starts_a_log_and_what_goes_on_with_it(tmp_path):
    text = PROBLEM.split("[limits.fast]")[0] + '[solve]\nlog = "run.jsonl"\n'
    result = run(tmp_path, text, "--multistart", "5", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert sorted(n for basin in found["basins"] for n in basin["starts"]) == [1, 2, 3, 4, 5]
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert len(lines) > 20
    again = run(tmp_path, text, "--multistart", "5")
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    resumed = run(tmp_path, text.replace("log =", "resume ="), "--multistart", "5", "--json")
    assert json.loads(resumed.stdout)["basins"] == found["basins"]
    assert (tmp_path / "run.jsonl").read_text().splitlines() == lines
    shown = run(tmp_path, text.replace('log = "run.jsonl"', "multistart = 3\nseed = 2"))
    assert shown.exit_code == 0, shown.output
    assert "basin" in shown.stdout


def test_a_search_that_ends_before_says_so_and_shows_what_it_has(tmp_path):
    result = run(tmp_path, PROBLEM.replace("[solve]", "[solve]\nmax_iterations = 1"), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["status"] == "iteration limit"
    assert "mechgrad: " in result.stderr
    nowhere = PROBLEM.replace('"(x ** 2 - 0.04) ** 2"', '"log(-1 - x ** 2)"')
    result = run(tmp_path, nowhere, "--multistart", "2")
    assert result.exit_code == 1
    assert "no start led anywhere" in result.stderr


MISTAKES = [
    ("step = 0.01", "stepp = 0.01", "stepp"),
    ("duration = 1.0", "", "'duration' is missing"),
    ('kind = "smooth maximum"', 'kind = "smoothest"', "smooth maximum"),
    ("error = 0.01", "", "needs error"),
    ('kind = "end"', 'kind = "end"\nerror = 0.1', "needs error"),
    ("upper = 2.0", "", "limits nothing"),
    ("upper = 2.0", "upper = 2.0\nlower = 3.0", "leave nothing between them"),
    ("upper = 2.0", 'upper = "2"', "[limits.fast]: upper"),
    ("[-4.0, 4.0]", "[4.0, -4.0]", "leave nothing between them"),
    ("[-4.0, 4.0]", "[2.0, 4.0]", "outside of its bounds"),
    ("[-4.0, 4.0]", "[-4.0]", "two numbers"),
    ("[-4.0, 4.0]", "3", "two numbers"),
    ("[-4.0, 4.0]", "[nan, 4.0]", "[variables] 'start.velocity.pin'"),
    ("scale = 0.5", "scale = -0.5", "must be positive"),
    ("scale = 0.5", "scales = 0.5", "scale"),
    ("scale = 0.5", 'scenarios = ["other"]', "unknown scenario 'other'"),
    ('"bob.com.z" = {', '"bob.con.z" = {', "com"),
    ('function = "(x ** 2 - 0.04) ** 2"', 'function = "(y ** 2"', "[minimize.miss]: function"),
    ('function = "(x ** 2 - 0.04) ** 2"', 'scenarios = ["a"]', "the problem has none"),
    ("factors = {", "factor = {", "factors"),
    ('"bob.com.z" = -0.5', '"bob.com.z" = "a"', "factors.bob.com.z"),
    ('"bob.com.z" = -0.5', '"bob.com.x" = -0.5', "unknown variable 'bob.com.x'"),
    ("tolerance = 1e-10", "tolerance = 2.0", "tolerance"),
    ("tolerance = 1e-10", 'solver = "simplex"', "slsqp"),
    ("tolerance = 1e-10", 'goal = "best"', "worst case"),
    ("tolerance = 1e-10", 'log = "../run.jsonl"', "beside itself"),
    ("tolerance = 1e-10", 'log = "/etc/passwd"', "beside itself"),
    ("tolerance = 1e-10", 'log = "problem.toml"', "beside itself"),
    ("tolerance = 1e-10", 'executor = "cluster"', "processes"),
    ("tolerance = 1e-10", "seed = 3", "without multistart"),
    ("tolerance = 1e-10", "multistart = 3\ntime_limit = 1.0", "beside time_limit"),
    ("tolerance = 1e-10", "multistart = 0", "1 or more"),
    ("tolerance = 1e-10", "", None),
    ("[minimize.miss]", "[measured.miss]", 'needs goal = "least squares"'),
    ("[minimize.miss]", "[minimize]\nmiss = 3\n[minimise.other]", "minimise"),
]


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES)
def test_mistakes_are_named(tmp_path, old, new, expected):
    assert old in PROBLEM
    if expected is None:
        path = tmp_path / "fine.toml"
        path.write_text(PROBLEM.replace(old, new) + PENDULUM)
        assert read_design(path).options == {}
        return
    result = run(tmp_path, PROBLEM.replace(old, new))
    assert result.exit_code == 2, result.output
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert "problem.toml" in result.stderr


def test_measured_values_have_instants(tmp_path):
    for old, new, expected in (
        ("t = [0.2, 0.4]\n", "", "'t' is missing"),
        ("sigma = 0.01", "sigma = -0.01", "standard deviations are positive"),
        ("values = [0.05, -0.03]", "values = [0.05]", "one each"),
        ('goal = "least squares"', 'goal = "sum"', 'needs goal = "least squares"'),
        ('scenarios = ["short"]', 'scenarios = ["brief"]', "unknown scenario 'brief'"),
        ("weight = 2.0", "weight = -2.0", "positive"),
    ):
        path = tmp_path / "p.toml"
        assert old in SEVERAL
        path.write_text(SEVERAL.replace(old, new) + PENDULUM)
        with pytest.raises(InputError, match=r"p\.toml: ") as caught:
            read_design(path)
        assert expected in str(caught.value)


def test_functions_come_from_the_command_line(tmp_path):
    (tmp_path / "mine.py").write_text("def off(x):\n    return (x ** 2 - 0.04) ** 2\n")
    text = PROBLEM.replace("(x ** 2 - 0.04) ** 2", "off(x)")
    assert run(tmp_path, text).exit_code == 2
    result = run(tmp_path, text, "--functions", str(tmp_path / "mine.py"), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["objective"] < 1e-12


def test_the_file_in_the_docs_is_read(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "many_designs.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "problem.toml").write_text(text, encoding="utf-8")
    found = read_design(tmp_path / "problem.toml")
    assert found.problem.space.names == ("S1.free_length", "S2.free_length")
    assert found.options["multistart"] == 9
    assert found.options["log"] == tmp_path / "run.jsonl"
