"""Every kind of joint closes a loop and keeps it as it would in the tree: the same motion, whichever joint is cut.

Three bodies between two balls on the ground; the joint under test is between the first two, a universal joint between
the others. f freedoms of the joint leave f + 2 to the mechanism. Poses, points and axes are random.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgrad as mg
from mechgrad.dynamics.system import System
from mechgrad.kinematics.from_points import velocities_from_points
from mechgrad.simulation.simulate import simulate

AXES = {
    mg.Fixed: (),
    mg.Revolute: ("axis",),
    mg.Prismatic: ("axis",),
    mg.Cylindrical: ("axis",),
    mg.Cardan: ("axis1", "axis2"),
    mg.Planar: ("normal", "direction"),
    mg.Spherical: (),
}
MARKERS = [f"{body}{k}" for body in "abc" for k in range(3)]


def mechanism(kind, turned, seed, cut):
    rng = np.random.default_rng(seed)
    poses = {"ground": (np.eye(3), np.zeros(3))}
    poses |= {name: (Rotation.random(random_state=rng).as_matrix(), rng.uniform(-0.5, 0.5, 3)) for name in "abc"}

    def joint(cls, name, parent, child, at, axes):
        (Rp, rp), (Rc, rc) = poses[parent], poses[child]
        quaternion = Rotation.from_matrix(Rp.T @ Rc).as_quat(scalar_first=True)
        turned_axes = {key: Rp.T @ w for key, w in zip(AXES[cls], axes, strict=False)}
        return cls(name, parent, child, Rp.T @ (at - rp), quaternion, Rc.T @ (at - rc), **turned_axes)

    points, axes = rng.uniform(-1, 1, (4, 3)), rng.normal(size=(2, 2, 3))
    ends = ("b", "a") if turned else ("a", "b")
    joints = [
        joint(mg.Spherical, "first", "ground", "a", points[0], ()),
        joint(kind, "tested", *ends, points[1], axes[0]),
        joint(mg.Cardan, "cross", "b", "c", points[2], axes[1]),
        joint(mg.Spherical, "last", "ground", "c", points[3], ()),
    ]
    bodies = [
        mg.Body(name, 1.0 + 0.5 * k, rng.uniform(-0.1, 0.1, 3), (0.05, 0.06, 0.07)) for k, name in enumerate("abc")
    ]
    markers = [mg.Point(name, name[0], rng.uniform(-1, 1, 3)) for name in MARKERS]
    return mg.Model("ring", bodies, joints, markers, cut=[cut])


def allowed_velocities(model, q, seed):
    """A random velocity less what the constraints forbid of it."""
    v = np.random.default_rng(seed).normal(size=model.n_v)
    J = System(model).constraints(q[None]).J[0]
    return v - np.linalg.pinv(J) @ (J @ v)


@pytest.mark.parametrize("turned", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("kind", AXES, ids=lambda kind: kind.__name__)
def test_cut_or_kept_a_joint_gives_the_same_motion(kind, turned):
    seed = 7
    kept, cut = (mechanism(kind, turned, seed, name) for name in ("last", "tested"))
    q = kept.neutral()
    v = allowed_velocities(kept, q, seed)
    at = mg.kinematics.marker_motion(kept, MARKERS, q, v)
    q_cut = cut.neutral()
    np.testing.assert_allclose(mg.kinematics.marker_motion(cut, MARKERS, q_cut).position, at.position, atol=1e-13)
    v_cut = velocities_from_points(cut, q_cut, dict(zip(MARKERS, at.velocity, strict=True)))
    tight = {"duration": 0.3, "samples": 7, "rtol": 1e-11, "atol": 1e-11}
    motions = [simulate(kept, mg.state(kept, q, v), **tight), simulate(cut, mg.state(cut, q_cut, v_cut), **tight)]
    first, second = (motion.markers(MARKERS) for motion in motions)
    assert np.linalg.norm(first.position[-1] - first.position[0], axis=-1).max() > 0.1
    np.testing.assert_allclose(second.position, first.position, rtol=0, atol=1e-8)
    np.testing.assert_allclose(second.velocity, first.velocity, rtol=0, atol=1e-7)
    np.testing.assert_allclose(second.acceleration, first.acceleration, rtol=1e-6, atol=1e-5)
    assert motions[0].constraint_names[0].startswith("last")
    assert all(name.startswith("tested") for name in motions[1].constraint_names)
    for motion in motions:
        assert np.ptp(motion.energy()) < 1e-7 * np.abs(motion.energy()).max()


@pytest.mark.parametrize("kind", AXES, ids=lambda kind: kind.__name__)
def test_implicit_steps_of_a_cut_joint(kind):
    """ALI3-P against index-1: second order, closure at rounding of the iteration."""
    model = mechanism(kind, False, 11, "tested")
    q = model.neutral()
    v = allowed_velocities(model, q, 11)
    wanted = (
        simulate(model, mg.state(model, q, v), duration=0.2, samples=3, rtol=1e-11, atol=1e-11)
        .markers(MARKERS)
        .position
    )
    errors = []
    for h in (2e-3, 1e-3):
        motion = simulate(model, mg.state(model, q, v), duration=0.2, step=h, samples=3)
        errors.append(np.abs(motion.markers(MARKERS).position - wanted).max())
        assert np.all(motion.norms.max(axis=0) < [1e-8, 1e-10, 1e-8])
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1), errors


def test_a_floating_joint_closes_nothing():
    bodies = [mg.Body(name, 1.0, inertia=(1, 1, 1)) for name in "ab"]
    joints = [
        mg.Revolute("pin", "ground", "a"),
        mg.Revolute("elbow", "a", "b", (1, 0, 0)),
        mg.Floating("free", "ground", "b"),
    ]
    with pytest.raises(mg.ModelError, match=r"'free' .* is a Floating in a closed loop; it asks nothing"):
        mg.Model("loop", bodies, joints, cut=["free"])
