"""Numbers whose squares or products overflow: directions are scaled first, all else is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.model.primitives.frames import norm, quaternion_to_matrix, unit

SIZES = [1e-19, 1e120, 1e200, 1e307]


def pendulum(**joint: object) -> mg.Model:
    body = mg.Body("bob", 2.0, (0.5, 0.1, 0.2), (0.1, 0.2, 0.25))
    return mg.Model("p", [body], [mg.Revolute("pin", "ground", "bob", **joint)], gravity=(1.0, -9.81, 2.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES)
def test_axes_of_any_length(size: float) -> None:
    """Torque and its derivative by the axis: unit(axis) is the same, and its derivative is 1/size of that."""
    axis = np.array([1.0, 0.0, 2.0])
    big, one = (pendulum(axis=s * axis) for s in (size, 1.0))
    expected = mg.inverse_dynamics(one, [0.3], [0.2], [0.1])
    assert np.abs(expected).min() > 1.0
    np.testing.assert_allclose(mg.inverse_dynamics(big, [0.3], [0.2], [0.1]), expected, rtol=1e-13)
    if size < 1e200:  # the derivative itself is a number
        slopes = [
            mg.inverse_dynamics_derivatives(m, [0.3], [0.2], [0.1], wrt=["pin.axis.x"]).by("pin.axis.x")
            for m in (big, one)
        ]
        assert np.abs(slopes[1]).min() > 0.1
        np.testing.assert_allclose(slopes[0] * size, slopes[1], rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "joint",
    [
        lambda s: mg.Prismatic("pin", "ground", "bob", axis=(s, 2 * s, 0)),
        lambda s: mg.Cylindrical("pin", "ground", "bob", axis=(s, 2 * s, 0)),
        lambda s: mg.Cardan("pin", "ground", "bob", axis1=(s, 0, 0), axis2=(0, s, s)),
        lambda s: mg.Planar("pin", "ground", "bob", normal=(s, 0, s), direction=(0, s, s)),
        lambda s: mg.Revolute("pin", "ground", "bob", orientation=(s, 0, 2 * s, s)),
        lambda s: mg.Floating("pin", "ground", "bob", orientation=(s, 0, 2 * s, s)),
    ],
)
def test_directions_of_all_joints(joint, size: float) -> None:  # type: ignore[no-untyped-def]
    def torques(s: float) -> np.ndarray:
        body = mg.Body("bob", 2.0, (0.5, 0.1, 0.2), (0.1, 0.2, 0.25))
        model = mg.Model("p", [body], [joint(s)], gravity=(1.0, -9.81, 2.0))
        return mg.inverse_dynamics(model, model.neutral(), 0.3 * np.arange(1, model.n_v + 1))

    assert np.abs(torques(1.0)).max() > 1.0
    np.testing.assert_allclose(torques(size), torques(1.0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_directions_of_markers(size: float) -> None:
    """A height above a plane with a normal of any length."""

    def effort(s: float) -> float:
        model = mg.Model(
            "ball", [mg.Body("b", 1.0, inertia=(1, 1, 1))], [mg.Prismatic("z", "ground", "b")],
            [mg.Point("c", "b")], [mg.Vector("n", "ground", (0, 0, s))],
            forces=[mg.forces.SphereContact("floor", "c", 0.1, "ground.origin", "n", 1e4)],
        )  # fmt: skip
        return float(mg.forward_dynamics(model, [0.05])[0])

    assert effort(1.0) > 10.0
    assert effort(size) == pytest.approx(effort(1.0), rel=1e-12)


def test_units_and_norms() -> None:
    for s in SIZES:
        np.testing.assert_allclose(unit(np.array([3 * s, 0, 4 * s])), [0.6, 0, 0.8], rtol=1e-15)
        assert norm(np.array([3 * s, 0, 4 * s])) == pytest.approx(5 * s, rel=1e-15)
        R = quaternion_to_matrix(np.array([[s, 0, 2 * s, s], [1.0, 0, 2.0, 1.0]]))
        np.testing.assert_allclose(R[0], R[1], rtol=1e-14, atol=1e-15)
    step = unit(np.array([3e200 + 1e170j, 0, 4e200]))  # d unit / dx = (1 - u u^T) e_x / |v|
    np.testing.assert_allclose(step.imag * 5e30, [0.64, 0, -0.48], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_euler_parameters_of_any_length_at_the_start(size: float) -> None:
    model = mg.Model("b", [mg.Body("b", 1.0, (0.1, 0, 0), (1, 2, 2.5))], [mg.Spherical("s", "ground", "b")])
    e = np.array([1.0, 0.5, 0.0, -0.2])
    moved = mg.simulate(model, size * e, duration=0.01, step=0.01)
    np.testing.assert_allclose(moved.q[0], e / np.sqrt(e @ e), rtol=1e-14)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_euler_parameters_whose_squares_overflow(size: float) -> None:
    model = mg.Model("b", [mg.Body("b", 1.0, (0.1, 0, 0), (1, 2, 2.5))], [mg.Spherical("s", "ground", "b")])
    with pytest.raises(mg.InputError, match="overflow"):
        mg.inverse_dynamics(model, size * np.array([1.0, 0.5, 0.0, -0.2]))


def arm(**numbers: object) -> mg.Model:
    options: dict[str, object] = {"mass": 2.0, "com": (0.5, 0, 0), "inertia": (0.1, 0.1, 0.1), "origin": (0, 0, 0)}
    options.update(numbers)
    origin, gravity = options.pop("origin"), options.pop("gravity", (0, -9.81, 0))
    bodies = [mg.Body("base", 1.0, (0.1, 0, 0), (1, 1, 1)), mg.Body("bob", **options)]  # type: ignore[arg-type]
    joints = [mg.Revolute("one", "ground", "base"), mg.Revolute("pin", "base", "bob", origin)]  # type: ignore[arg-type]
    return mg.Model("arm", bodies, joints, gravity=gravity)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "path"),
    [
        ({"com": (0, 1e308, 0)}, "bob.com.y = 1e+308 m"),
        ({"com": (0, -1e200, 0)}, "bob.com.y = -1e+200 m"),
        ({"mass": 1e308}, "bob.mass = 1e+308 kg"),
        ({"inertia": (1e308, 1e308, 1e308)}, "bob.inertia.xx = 1e+308 kg m^2"),
        ({"origin": (0, 0, 1e200)}, "pin.origin.z = 1e+200 m"),
        ({"gravity": (0, 1e160, 0)}, "gravity.y = 1e+160 m/s^2"),
    ],
)
def test_numbers_that_overflow_are_refused_by_name(numbers: dict[str, object], path: str) -> None:
    model = arm(**numbers)
    for ask in (
        lambda: mg.inverse_dynamics(model, [0.1, 0.2]),
        lambda: mg.forward_dynamics(model, [0.1, 0.2]),
        lambda: mg.simulate(model, [0.1, 0.2], duration=0.1),
    ):
        with pytest.raises(mg.ModelError) as error:
            ask()
        assert path in str(error.value)
        assert "too large" in str(error.value)


def test_large_numbers_that_do_not_overflow() -> None:
    """At the bound everything is finite, and so are derivatives and factors."""
    model = arm(mass=0.9e50, com=(0.4e50, 0, 0), inertia=(0.5e50, 0.5e50, 0.5e50), origin=(0.3e50, 0, 0))
    D = mg.inverse_dynamics_derivatives(model, [0.1, 0.2], [1.0, 2.0], [3.0, 1.0], wrt="*")
    assert all(np.isfinite(x.values).all() for x in (D.dq, D.dv, D.da, D.dp))
    for method in ("factor", "recursive"):
        assert np.isfinite(mg.forward_dynamics(model, [0.1, 0.2], [1.0, 2.0], method=method)).all()


def test_points_that_overflow_are_refused_by_name() -> None:
    far = mg.Point("far", "bob", (0, 1e200, 0))
    spring = mg.forces.SpringDamper("spring", "far", "ground.origin", 1.0)
    base = arm()
    model = mg.Model("arm", base.bodies, base.joints, [far], gravity=base.gravity)
    sprung = mg.Model("arm", base.bodies, base.joints, [far], gravity=base.gravity, forces=[spring])
    for ask in (
        lambda: mg.kinematics.marker_motion(model, ["far"], [0.1, 0.2]),
        lambda: mg.forward_dynamics(sprung, [0.1, 0.2]),
    ):
        with pytest.raises(mg.ModelError, match=r"far\.position\.y = 1e\+200 m is too large"):
            ask()
