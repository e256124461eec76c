"""What Matrix R takes as independent coordinates: joints, points and vectors; and where they cease to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import five_bar, five_bar_start, slider_crank

RK4 = {"scheme": "rk4", "step": 2e-3}


def bars() -> tuple[mg.Model, mg.State]:
    plain = five_bar()
    along = [mg.Vector("along", "12", (0.6, 0.8, 0.0))]
    model = mg.Model(
        "bars", plain.bodies, plain.joints, plain.points, along, gravity=plain.gravity, forces=plain.forces
    )
    q = five_bar_start()
    return model, mg.assemble(model, {"A": q[0], "1": q[1]}, {"A": 0.4, "1": -0.3}, guess=q)


@pytest.mark.parametrize(
    "names", [("along.x", "A"), ("P2.x", "P2.y"), ("12.com.x", "along.y")], ids=["vector", "point", "both"]
)
@pytest.mark.parametrize(
    "how", [RK4, {"scheme": "dop853"}, {"scheme": "trapezoidal", "step": 2e-3}], ids=["rk4", "dop853", "implicit"]
)
def test_points_and_vectors_are_independent_coordinates(names: tuple[str, ...], how: dict[str, Any]) -> None:
    model, start = bars()
    motion = mg.simulate(model, start, duration=0.2, samples=11, formulation=mg.formulations.MatrixR(names), **how)
    exact = mg.simulate(
        model, start, duration=0.2, samples=11, formulation="index1", scheme="dop853", rtol=1e-11, atol=1e-11
    )
    assert np.abs(exact.q - start.q).max() > 0.1
    # order four at 2 ms, order eight at 1e-9, order two at 2 ms
    tolerance = {"rk4": 1e-8, "dop853": 1e-7, "trapezoidal": 2e-4}[how["scheme"]]
    assert np.abs(motion.q - exact.q).max() < tolerance
    assert motion.norms.max() < 1e-8
    wrt = ["along.direction.x", "1.origin.x", "A1.mass", "S1.stiffness", "start.position.A", "start.velocity.1"]
    goal = mg.AtEnd(mg.measures.PointVelocity("P2"))
    by = [mg.gradient(motion, goal, wrt, method=method).array for method in ("direct", "adjoint", "complex")]
    assert np.abs(by[2][:, 1:]).max(axis=0).min() > 1e-4
    np.testing.assert_allclose(by[0], by[2], atol=1e-8 * np.abs(by[2]).max())
    np.testing.assert_allclose(by[1], by[2], atol=1e-8 * np.abs(by[2]).max())


def turning_crank() -> tuple[mg.Model, mg.State]:
    model = slider_crank()
    return model, mg.assemble(model, {"crank axis": 0.3}, {"crank axis": 6.0})


@pytest.mark.parametrize(
    "how", [RK4, {"scheme": "dop853"}, {"scheme": "trapezoidal", "step": 2e-3}], ids=["rk4", "dop853", "implicit"]
)
@pytest.mark.parametrize("name", ["slide", "D.x"])
def test_a_dead_point_ends_the_march(name: str, how: dict[str, Any]) -> None:
    """The slider turns where crank and rod are on one line; its place does not tell which way the crank goes on."""
    model, start = turning_crank()
    free = mg.simulate(model, start, duration=1.2, formulation="index1", scheme="dop853", samples=2401)
    at = free.q[:, model.q_names.index("slide")] if name == "slide" else free.markers(["D"]).position[:, 0, 0]
    turns = free.t[1:-1][(np.diff(at)[1:] * np.diff(at)[:-1]) <= 0.0]
    assert turns.size
    with pytest.raises(mg.StepFailed, match=rf"'{name}' is at its turning point there.*ALI3P") as caught:
        mg.simulate(model, start, duration=1.2, formulation=mg.formulations.MatrixR([name]), **how)
    assert caught.value.trajectory.t[-1] == pytest.approx(turns[0], abs=0.02)
    whole = mg.simulate(model, start, duration=1.2, formulation=mg.formulations.MatrixR(["crank axis"]), **how)
    assert whole.ended == "duration"


def test_a_coordinate_that_stands_still_is_refused() -> None:
    model, start = turning_crank()
    with pytest.raises(mg.InputError, match=r"'D\.y' does not determine the motion .* where it starts"):
        mg.simulate(model, start, duration=0.1, formulation=mg.formulations.MatrixR(["D.y"]), **RK4)


def test_unknown_names() -> None:
    model, start = bars()
    with pytest.raises(UnknownNameError, match=r"independent coordinate 'alon\.x'.*along\.x"):
        mg.simulate(model, start, duration=0.1, formulation=mg.formulations.MatrixR(["alon.x", "A"]), **RK4)
