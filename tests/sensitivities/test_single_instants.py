"""Values at instants that a motion does not report: read between its steps, and differentiated as they are read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gradient_mechanisms as mechanisms
from test_moving_ends import four_bar

import mechgrad as mg
from mechgrad.gallery import free_top

AT = 0.14157
EXACT = {"formulation": mg.formulations.SemiRecursive(tolerance=1e-14)}  # complex steps see what Newton leaves


def instant(measure: Any, t: float = AT) -> Any:
    return mg.AtTime(t, measure)


def compared(motion: mg.Trajectory, goals: Any, wrt: list[str], tolerance: float = 1e-9) -> np.ndarray:
    """Direct, adjoint, complex step and differences agree; every parameter has an influence."""
    found = {m: mg.gradient(motion, goals, wrt, method=m).array for m in ("direct", "adjoint", "complex", "fd")}
    size = np.abs(found["complex"]).max(axis=1, keepdims=True)
    for method, limit in (("direct", tolerance), ("adjoint", tolerance), ("fd", 1e-6)):
        assert np.all(np.abs(found[method] - found["complex"]) <= limit * size), method
    assert np.all(np.abs(found["complex"]).max(axis=0) > 1e-6 * size.max())
    return found["direct"]


LOOPS = [
    {"formulation": "ali3p", "scheme": "trapezoidal", "step": 4e-3},
    {"formulation": "ali3p", "scheme": "hht", "step": 4e-3, "samples": 6},
    {"formulation": "penalty", "scheme": "trapezoidal", "step": 4e-3},
    {"formulation": "index1", "scheme": "dop853"},
    {"formulation": "index1", "scheme": "rk4", "step": 4e-3, "samples": 6},
    {"formulation": mg.formulations.MatrixR(["A"], tolerance=1e-13), "scheme": "trapezoidal", "step": 4e-3},
    {"formulation": "matrix-r", "scheme": "dop853", "samples": 3},
]


@pytest.mark.parametrize("how", LOOPS, ids=lambda how: f"{how['formulation']}-{how['scheme']}"[:40])
def test_loops(how: dict[str, Any]) -> None:
    """Positions, velocities, accelerations and multipliers between two steps, beside an integral and the end."""
    model, start = four_bar()
    motion = mg.simulate(model, start, 0.2, **how)
    assert np.abs(motion.t - AT).min() > 1e-5
    goals = {
        "x": instant(mg.measures.JointCoordinate("B")),
        "v": instant(mg.measures.JointVelocity("D")),
        "a": instant(mg.measures.JointAcceleration("A")),
        "push": instant(mg.measures.Multiplier("C: point y")),
        "both": mg.Integral(mg.measures.KineticEnergy()) + 2.0 * instant(mg.measures.KineticEnergy()),
        "end": mg.AtEnd(mg.measures.JointCoordinate("B")),
    }
    wrt = ["crank.mass", "spring.stiffness", "gravity.y", "start.velocity.A", "start.position.A", "D.origin.x"]
    compared(motion, goals, wrt, 1e-7 if how["formulation"] == "penalty" else 1e-8)


@pytest.mark.parametrize(
    "how", [{"step": 0.02}, {"step": 0.02, "scheme": "hht", **EXACT}, {}], ids=["rk4", "hht", "dop853"]
)
def test_balls(how: dict[str, Any]) -> None:
    """A tumbling body: what is read between steps is on the group, and so are its derivatives."""
    model, q, v = free_top()
    body = model.bodies[0].name
    model = mg.Model("top", model.bodies, model.joints, [mg.Point("tip", body, (0.3, -0.2, 0.5))])
    motion = mg.simulate(model, mg.state(model, q, v, t=1.0), 0.5, **how)
    goals = [instant(mg.measures.PointPosition("tip"), 1.2345), instant(mg.measures.PointVelocity("tip"), 1.2345)]
    goals.append(instant(mg.measures.PointAcceleration("tip"), 1.2345))
    wrt = [f"{body}.inertia.{k}" for k in ("xx", "yy", "zz")] + ["tip.position.x"]
    wrt += [f"start.velocity.{model.v_names[k]}" for k in (3, 4, 5)]
    compared(motion, goals, wrt)


def test_every_force_and_a_floating_body() -> None:
    model, (q, v) = mechanisms.forced_tree()
    for how in ({"scheme": "rk4"}, {"scheme": "hht", **EXACT}):
        motion = mg.simulate(model, mg.state(model, q, v), 0.02, step=1e-3, **how)
        point = model.points[0].name
        goals = [instant(mg.measures.PointVelocity(point), 0.01537), mg.AtEnd(mg.measures.KineticEnergy())]
        exact = mg.gradient(motion, goals, ["gravity.z", f"{model.bodies[0].name}.mass"], method="complex").array
        for method in ("direct", "adjoint"):
            found = mg.gradient(motion, goals, ["gravity.z", f"{model.bodies[0].name}.mass"], method=method).array
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9 * np.abs(exact).max())


def test_a_falling_body_has_a_closed_form() -> None:
    model = mg.Model("drop", [mg.Body("b", 1.3)], [mg.Prismatic("z", "ground", "b", axis=(0, 0, 1))])
    for how in ({}, {"step": 0.05}, {"step": 0.05, "scheme": "trapezoidal"}):
        motion = mg.simulate(model, mg.state(model, [1.0], [0.3], t=2.0), 1.0, **how)
        goals = [instant(mg.measures.JointCoordinate("z"), 2.4321), instant(mg.measures.JointVelocity("z"), 2.4321)]
        found = mg.gradient(motion, goals, ["start.position.z", "start.velocity.z", "gravity.z"])
        t = 0.4321
        np.testing.assert_allclose(found.values, [1.0 + 0.3 * t - 9.81 * t**2 / 2, 0.3 - 9.81 * t], rtol=1e-12)
        np.testing.assert_allclose(found.array, [[1.0, t, t**2 / 2], [0.0, 1.0, t]], rtol=0, atol=1e-12)


def test_the_value_is_that_of_the_motion_there() -> None:
    model, start = four_bar()
    motion = mg.simulate(model, start, 0.2, step=4e-3)
    g = mg.gradient(motion, {"q": instant(mg.measures.JointCoordinate("B"))}, ["crank.mass"])
    assert g.values[0] == pytest.approx(motion.at(AT).q[1], abs=1e-14)
    reported = mg.gradient(motion, mg.AtTime(0.1, mg.measures.Multiplier("C: point y")), ["crank.mass"])
    assert reported.values[0] == motion.multipliers[25, 1]  # those of the scheme, as reported


def test_outside_of_the_motion() -> None:
    model, start = four_bar()
    motion = mg.simulate(model, start, 0.2, step=4e-3)
    for t in (-0.1, 0.2001):
        with pytest.raises(mg.InputError, match=r"not within the motion, which goes from 0 to 0\.2 s"):
            mg.gradient(motion, mg.AtTime(t, mg.measures.JointCoordinate("B")), ["crank.mass"])
