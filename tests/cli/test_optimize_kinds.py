"""`mechgrad optimize`: scenarios of all kinds, scattered numbers, fronts, horizons, pages; as the same in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad.cli.design_file import read_design
from mechgrad.cli.main import app
from mechgrad.errors import InputError

BLOCK = """
[model]
name = "block"
gravity = [0, 0, 0]
bodies = [{ name = "block", mass = 2.0 }]
joints = [{ kind = "prismatic", name = "x", parent = "ground", child = "block", axis = [1, 0, 0] }]
forces = [{ kind = "motor", name = "push", coordinate = "x", torque = 4.0 }]
"""
PUSH = """
duration = 1.0
step = 0.05
start = { at = { x = 0.0 } }
[variables]
"push.torque.value" = [0.5, 10.0]
[minimize.error]
kind = "end"
measure = "JointCoordinate"
of = ["x"]
function = "(x - 1.0) ** 2 + 0.2 * x"
"""


def run(folder: Path, text: str, *options: str, model: str = BLOCK):
    path = folder / "problem.toml"
    path.write_text(text + model, encoding="utf-8")
    return CliRunner().invoke(app, ["optimize", str(path), *options])


def solved(folder: Path, text: str, *options: str, model: str = BLOCK) -> dict:
    result = run(folder, text, "--json", *options, model=model)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def pushed() -> mg.Trajectory:
    motor = mg.forces.Motor("push", "x", mg.functions.Constant(4.0))
    model = mg.Model(
        "block", [mg.Body("block", mass=2.0)], [mg.Prismatic("x", "ground", "block", axis=(1, 0, 0))],
        gravity=(0, 0, 0), forces=[motor],
    )  # fmt: skip
    return mg.simulate(model, mg.assemble(model, {"x": 0.0}), 1.0, step=0.05)


ERROR = mg.AtEnd(lambda x: (x - 1.0) ** 2 + 0.2 * x, mg.measures.JointCoordinate("x"))
BOUNDS = {"push.torque.value": (0.5, 10.0)}


def test_numbers_that_scatter(tmp_path):
    text = PUSH + '[robust]\nk = 2.0\nsigma = { "block.mass" = 0.1 }\n'
    cases = mg.design.scattered(pushed(), {"block.mass": 0.1})
    wanted = mg.DesignProblem(cases, BOUNDS, mg.design.MeanDeviation(ERROR, k=2.0)).solve()
    found = solved(tmp_path, text)
    assert found["variables"] == pytest.approx(wanted.values, rel=1e-9)
    sampled = read_design_text(tmp_path, text.replace("k = 2.0", "k = 2.0\nsamples = 4\nseed = 3"))
    assert len(sampled.problem.scenarios) == 4


def read_design_text(folder: Path, text: str, model: str = BLOCK):
    path = folder / "read.toml"
    path.write_text(text + model, encoding="utf-8")
    return read_design(path)


def test_a_front(tmp_path):
    text = PUSH + '[pareto]\nkind = "end"\nmeasure = "JointVelocity"\nof = ["x"]\ncount = 4\n'
    front = mg.design.pareto(
        mg.DesignProblem(pushed(), BOUNDS, ERROR), mg.AtEnd(mg.measures.JointVelocity("x")), 4
    )  # fmt: skip
    out = tmp_path / "best.toml"
    found = solved(tmp_path, text, "-o", str(out), "--plot", str(tmp_path / "front.png"))
    assert np.array([[p["first"], p["second"]] for p in found["points"]]) == pytest.approx(front.array, rel=1e-9)
    assert len(found["points"]) == 4
    assert found["failed"] == []
    models = [mg.load_model(tmp_path / f"best-{k}.toml").value("push.torque.value") for k in range(1, 5)]
    assert models == [p["variables"]["push.torque.value"] for p in found["points"]]
    shown = run(tmp_path, text)
    assert shown.exit_code == 0
    assert "slope" in shown.stdout


DRIVEN = """
kind = "driven"
t = { first = 0.0, last = 2.0, count = 5 }
driven = { pin = { type = "polynomial", coefficients = [0, 1] } }
[variables]
"bob.com.z" = [-2.0, -0.5]
[minimize.reach]
kind = "times"
measure = "PointPosition"
of = ["bob.com"]
t = [1.0]
function = "x[2] + 0.8"
[solve]
goal = "least squares"
"""
PENDULUM = """
[model]
name = "pendulum"
bodies = [{ name = "bob", mass = 2.0, com = [0, 0, -1] }]
joints = [{ kind = "revolute", name = "pin", parent = "ground", child = "bob", axis = [0, 1, 0] }]
forces = [{ kind = "joint_spring", name = "S", coordinate = "pin", stiffness = 30.0, free_position = 1.0 }]
"""


def test_driven_motions_and_states(tmp_path):
    """z = -l cos(t) at t = 1; a spring that holds the pendulum at half a radian; both at once."""
    found = solved(tmp_path, DRIVEN, model=PENDULUM)
    assert found["variables"]["bob.com.z"] == pytest.approx(-0.8 / np.cos(1.0))
    rest = """
    [start]
    way = "at rest"
    [variables]
    "S.stiffness" = [1.0, 100.0]
    [scenarios.held]
    kind = "start"
    [minimize.place]
    kind = "end"
    measure = "JointCoordinate"
    of = ["pin"]
    function = "(x - 0.5) ** 2"
    scenarios = ["held"]
    """
    found = solved(tmp_path, rest, model=PENDULUM)
    assert found["variables"]["S.stiffness"] == pytest.approx(19.62 * np.sin(0.5) / 0.5, rel=1e-6)
    both = rest + "[scenarios.swing]\nduration = 0.2\nstep = 0.05\n"
    problem = read_design_text(tmp_path, both, PENDULUM).problem
    assert [s.repeat.noun for s in problem.scenarios] == ["state", "motion"]


def test_the_end_of_a_motion_is_an_event(tmp_path):
    """From rest over half a metre by 2 m/s^2 at most: t = sqrt(2 x m / F)."""
    text = """
    duration = 3.0
    step = 0.01
    start = { at = { x = 0.0 } }
    stop = { x = 0.5 }
    [variables]
    "push.torque.value" = [2.0, 9.0]
    [minimize.time]
    kind = "end time"
    """
    found = solved(tmp_path, text)
    assert found["variables"]["push.torque.value"] == 9.0
    assert found["objective"] == pytest.approx(np.sqrt(2 * 0.5 * 2.0 / 9.0), abs=1e-9)


def test_horizons_options_and_a_page(tmp_path):
    page = tmp_path / "run.html"
    text = (
        PUSH
        + """
    [solve]
    solver = "slsqp"
    horizons = [0.5]
    options = { ftol = 1e-14 }
    [report]
    title = "A push"
    sensitivity = ["block.mass"]
    certify = false
    measures = { place = { measure = "JointCoordinate", of = ["x"] } }
    """
    )
    design = read_design_text(tmp_path, text)
    assert design.options["options"] == {"ftol": 1e-14}
    result = run(tmp_path, text, "--report", str(page))
    assert result.exit_code == 0, result.output
    assert f"report written to {page}" in result.stdout
    written = page.read_text(encoding="utf-8")
    for word in ("A push", "shorter horizon 1", "block.mass", "place, before and after", "slsqp"):
        assert word in written
    assert run(tmp_path, text, "--report", str(tmp_path / "run.pdf")).exit_code == 2
    result = run(tmp_path, text, "--multistart", "3")
    assert result.exit_code == 2
    assert "multistart beside horizons" in result.stderr


MISTAKES = [
    (DRIVEN, 'kind = "driven"', 'kind = "drive"', "unknown kind of scenario 'drive'"),
    (DRIVEN, 'kind = "driven"', 'kind = "driven"\nstep = 0.1', "step"),
    (DRIVEN, "count = 5", "count = 0", "t.count"),
    (DRIVEN, "first = 0.0,", "", "'first' is missing"),
    (DRIVEN, "t = {", "s = {", "unknown key 's'"),
    (DRIVEN, '"polynomial"', '"polynom"', "unknown function type 'polynom'"),
    (DRIVEN, "pin = {", "pan = {", "pan"),
    (PUSH, "duration = 1.0", "duration = 1.0\nstop = { y = 1.0 }", "y"),
    (PUSH, "duration = 1.0", "duration = 1.0\nstop = 3", "stop is 3; it must be a table"),
    (PUSH, 'kind = "end"', 'kind = "end time"', "has no measure"),
    (PUSH, "[variables]", '[robust]\nsigma = { "block.mas" = 0.1 }\n[variables]', "mass"),
    (PUSH, "[variables]", "[robust]\nk = 1.0\n[variables]", "nothing scatters"),
    (PUSH, "[variables]", '[robust]\nsigma = { "block.mass" = 0.1 }\nk = -1.0\n[variables]', "k is -1"),
    (PUSH, "[variables]", "[solve]\nhorizons = [0.5, 0.25]\n[variables]", "give increasing shares"),
    (PUSH, "[variables]", "[report]\nmeasure = 3\n[variables]", "unknown key 'measure'"),
    (PUSH, "[variables]", "[report]\ncertify = 3\n[variables]", "true or false"),
    (PUSH, "[variables]", '[pareto]\nkind = "end time"\ncount = 1\n[variables]', "2 or more"),
    (PUSH, "[variables]", '[pareto]\nkind = "end time"\n[solve]\nseed = 1\n[variables]', "seed beside [pareto]"),
]


@pytest.mark.parametrize(("text", "old", "new", "expected"), MISTAKES)
def test_mistakes_are_named(tmp_path, text, old, new, expected):
    assert old in text
    result = run(tmp_path, text.replace(old, new), model=PENDULUM if text is DRIVEN else BLOCK)
    assert result.exit_code == 2, result.output
    assert expected in result.stderr
    assert "problem.toml" in result.stderr


def test_scattered_numbers_are_of_one_motion(tmp_path):
    several = "step = 0.05\nstart = { at = { x = 0.0 } }\n[scenarios.a]\nduration = 1.0\n" + PUSH.split("}\n", 1)[1]
    with pytest.raises(InputError, match="leave \\[scenarios\\] out"):
        read_design_text(tmp_path, several + '[robust]\nsigma = { "block.mass" = 0.1 }\n')
    with pytest.raises(InputError, match="goal = 'worst case'"):
        read_design_text(tmp_path, PUSH + '[robust]\nsigma = { "block.mass" = 0.1 }\n[solve]\ngoal = "worst case"\n')
