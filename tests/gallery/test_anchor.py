"""The ship's anchor: what it is made of, gradients of half a second of hauling, its energy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import simpson

import mechgrad as mg
from mechgrad.gallery import anchor, anchor_start

NUMBERS = [
    "anchor.mass", "link 30.mass", "link 30.com.z", "link 35 side.stiffness", "link 35 side.friction",
    "link 35 side.restitution_damping", "link 35 side.ground.half_height", "pin 20.origin.z", "slip.viscous",
    "gravity.x",
]  # fmt: skip
CROWN = mg.Integral(lambda x: x[:, 0] ** 2 + 0.1 * x[:, 2], mg.measures.PointPosition("crown"))


@cache
def machine(driven: bool = False) -> mg.Model:
    return anchor(driven=driven)


def hauling(duration: float, step: float = 2e-4, **options: object) -> mg.Trajectory:
    model = machine()
    options = options or {"formulation": "fully-recursive", "scheme": "rk4"}
    return mg.simulate(model, anchor_start(model), duration, step=step, **options)


def touching(motion: mg.Trajectory, at: int = -1) -> int:
    """Spheres on the hull."""
    spheres = [force for force in motion.model.forces if force.type_name == "sphere_contact"]
    places = motion.markers([*(force.point for force in spheres), "amidships"]).position[at]
    beside = (places[:-1] - places[-1])[:, [1, 2, 0]]
    return sum(f.ground.distance(x) < f.radius for f, x in zip(spheres, beside, strict=True))


def test_what_it_is_made_of() -> None:
    model = machine()
    kinds = [type(joint).__name__ for joint in model.joints]
    assert len(model.bodies) == len(model.joints) == 64
    assert (kinds.count("Cardan"), kinds.count("Revolute"), kinds.count("Spherical"), kinds.count("Prismatic")) == (
        60, 2, 1, 1,
    )  # fmt: skip
    assert mg.mobility(model, model.neutral()).freedoms == model.n_v == 126
    driven = machine(driven=True)
    assert mg.mobility(driven, driven.neutral()).freedoms == 125
    assert sum(force.type_name == "sphere_contact" for force in model.forces) == 65


def test_the_windlass_holds_a_straight_chain() -> None:
    """Without swing its pull is the weight along the pipe: it is not hauled at first, and everything falls sideways
    alike, as a stone would."""
    model = machine()
    start = anchor_start(model, 0.0)
    a = mg.forward_dynamics(model, start.q, start.v)
    assert abs(a[0]) < 1e-10
    fall = mg.kinematics.marker_motion(model, ["link 61.com"], start.q, start.v, a).acceleration[0]
    np.testing.assert_allclose(fall[0] < -0.5, True)
    assert abs(fall[2]) < 1e-9


@pytest.mark.slow
def test_gradients_of_half_a_second() -> None:
    motion = hauling(0.5)
    assert touching(motion) >= 8
    adjoint, direct = (mg.gradient(motion, CROWN, NUMBERS, method=method) for method in ("adjoint", "direct"))
    assert (np.abs(adjoint.relative()) > 1e-12).all()
    np.testing.assert_allclose(adjoint.array, direct.array, rtol=1e-7, atol=1e-9 * np.abs(adjoint.array).max())
    certificate = adjoint.certify()
    np.testing.assert_allclose(
        certificate.complex_step, adjoint.array.reshape(1, -1), rtol=1e-7, atol=1e-9 * np.abs(adjoint.array).max()
    )


def test_gradients_of_the_first_touches() -> None:
    """20 ms of it, by elimination; direct, adjoint and complex steps."""
    model = machine()
    motion = mg.simulate(
        model, anchor_start(model, 0.2), 0.02, step=2e-4, formulation="fully-recursive", scheme="rk4"
    )  # fmt: skip
    touched = [k for k in range(10, 101, 10) if touching(motion, k)]
    assert touched
    k = max(touched)
    spheres = [f for f in model.forces if f.type_name == "sphere_contact"]
    places = motion.markers([*(f.point for f in spheres), "amidships"]).position[k]
    beside = (places[:-1] - places[-1])[:, [1, 2, 0]]
    deep = int(np.argmax([f.radius - f.ground.distance(x) for f, x in zip(spheres, beside, strict=True)]))
    name = spheres[deep].name
    numbers = ["anchor.mass", "link 30.mass", f"{name}.stiffness", f"{name}.ground.half_height", f"{name}.friction"]
    adjoint, direct = (mg.gradient(motion, CROWN, numbers, method=method) for method in ("adjoint", "direct"))
    assert np.abs(adjoint.array).min() > 0.0
    scale = np.abs(adjoint.array).max()
    np.testing.assert_allclose(adjoint.array, direct.array, rtol=1e-7, atol=1e-12 * scale)
    complex_step = adjoint.certify().complex_step
    np.testing.assert_allclose(complex_step, adjoint.array.reshape(1, -1), rtol=1e-7, atol=1e-12 * scale)


@pytest.mark.slow
def test_energy_of_half_a_second() -> None:
    """Work of the windlass = change of energy + what contacts store and dissipate, to 1e-6 of it: RK4, 0.1 ms, and
    Simpson's rule over the steps."""
    model, work, fed, change = machine(), 0.0, 0.0, 0.0
    state = anchor_start(model)
    pull, grip = model.forces[0].torque, float(model.value("slip.viscous"))
    for _ in range(10):  # in parts, since powers take Jacobians of all contacts
        motion = mg.simulate(model, state, 0.05, step=1e-4, formulation="fully-recursive", scheme="rk4")
        v = motion.v[:, 0]
        work += simpson((pull(motion.t) - grip * v) * v, x=motion.t)
        fed += simpson(motion.power().laws, x=motion.t)
        change += float(np.diff(motion.energy()[[0, -1]])[0])
        state = motion.at(motion.t[-1])
    lost = work - fed  # into contacts
    assert work > 20.0
    assert lost > 5.0
    assert abs(work - (change + lost)) < 1e-6 * work


def test_both_formulations_go_the_same_way() -> None:
    """Steps of 0.2 ms of RK4, and of the trapezoidal rule with Newton's iteration."""
    fully = hauling(0.01)
    semi = hauling(0.01, formulation="semi-recursive", scheme="trapezoidal")
    assert np.abs(fully.v[-1] - fully.v[0]).max() > 1e-3
    np.testing.assert_allclose(semi.q[-1], fully.q[-1], atol=2e-6)


def test_a_link_that_starts_inside_the_hull_is_refused() -> None:
    model = machine()
    q = model.neutral().reshape(-1)
    q[model.q_names.index("hawse.e2")] = 0.2
    with pytest.raises(mg.errors.InputError, match=r"'link \d+ side'.*'link \d+' starts .* m inside .* at t = 0 s"):
        mg.simulate(model, mg.state(model, q), 0.01, step=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ali3p", "matrix-r"])
def test_gradients_of_a_prescribed_windlass(name: str) -> None:
    """With the constraint of the drive: 30 ms, direct, adjoint and complex steps. A ball has no coordinates that could
    be independent: Matrix R takes those of points in its place."""
    model = machine(driven=True)
    free = [q for q in model.q_names if not q.startswith(("hawse", "windlass"))]
    form = (
        mg.formulations.ALI3P(tolerance=1e-12)
        if name == "ali3p"
        else mg.formulations.MatrixR([*free, "crown.x", "crown.y", "left fluke.x"])
    )
    motion = mg.simulate(model, anchor_start(model, 0.2), 0.03, step=5e-4, formulation=form, scheme="trapezoidal")
    numbers = ["anchor.mass", "link 30.mass", "gravity.x", "link 40 side.ground.half_height"]
    adjoint, direct = (mg.gradient(motion, CROWN, numbers, method=method) for method in ("adjoint", "direct"))
    assert np.abs(adjoint.array).min() > 0.0
    scale = adjoint.relative() / adjoint.array
    largest = float(np.abs(adjoint.relative()).max())
    for other in (direct.array, adjoint.certify().complex_step.reshape(adjoint.array.shape)):
        np.testing.assert_allclose(other * scale, adjoint.relative(), rtol=1e-7, atol=1e-7 * largest)
