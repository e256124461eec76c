"""Poses against multiplied-out transforms; velocities, accelerations and all derivatives against complex steps of
the level below."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.oracles import STEP, by_parameter, by_q, by_x, relative_error
from support.random_trees import ALL_KINDS, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import double_pendulum

TOLERANCE = 1e-12


def homogeneous(R=None, p=(0.0, 0.0, 0.0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.eye(3) if R is None else R, p
    return T


def turn(axis, angle):
    return homogeneous(Rotation.from_rotvec(np.asarray(axis) / np.linalg.norm(axis) * angle).as_matrix())


def slide(axis, distance):
    return homogeneous(None, np.asarray(axis) / np.linalg.norm(axis) * distance)


def attitude(e):
    return homogeneous(Rotation.from_quat(e, scalar_first=True).as_matrix())


def joint_transform(joint, q):
    """T_parent_child from the joint's documented equation."""
    if isinstance(joint, mg.drawing.DenavitHartenberg):
        theta = joint.theta + (joint.sign * q[0] if joint.kind == "revolute" else 0)
        d = joint.d + (joint.sign * q[0] if joint.kind == "prismatic" else 0)
        z = turn((0, 0, 1), theta) @ slide((0, 0, 1), d)
        x = slide((1, 0, 0), joint.a) @ turn((1, 0, 0), joint.alpha)
        return z @ x if joint.convention == "standard" else x @ z
    match joint:
        case mg.Fixed():
            motion = np.eye(4)
        case mg.Revolute():
            motion = turn(joint.axis, q[0])
        case mg.Prismatic():
            motion = slide(joint.axis, q[0])
        case mg.Cylindrical():
            motion = slide(joint.axis, q[0]) @ turn(joint.axis, q[1])
        case mg.Cardan():
            motion = turn(joint.axis1, q[0]) @ turn(joint.axis2, q[1])
        case mg.Planar():
            n = joint.normal / np.linalg.norm(joint.normal)
            u = joint.direction - n * (n @ joint.direction)
            motion = slide(u, q[0]) @ slide(np.cross(n, u), q[1]) @ turn(n, q[2])
        case mg.Spherical():
            motion = attitude(q)
        case mg.Floating():
            motion = homogeneous(None, q[:3]) @ attitude(q[3:])
    return (
        homogeneous(None, joint.origin) @ motion @ attitude(joint.orientation) @ homogeneous(None, -joint.child_origin)
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
def test_poses_are_products_of_the_documented_transforms(seed, n):
    model = random_tree(seed, n)
    q, _, _ = random_state(model, seed, nt=3)
    got = mg.kinematics.body_motion(model, q)
    points = mg.kinematics.marker_motion(model, [f"P{b}" for b in model.body_names], q).position
    vectors = mg.kinematics.marker_motion(model, [f"U{b}" for b in model.body_names], q).position
    for k in range(3):
        pose = {"ground": np.eye(4)}
        for i, joint in enumerate(model.joints):
            T = pose[joint.child] = pose[joint.parent] @ joint_transform(joint, q[k, model.q_slice(joint.name)])
            assert relative_error(got.of(joint.child).R[k], T[:3, :3]) < TOLERANCE
            assert relative_error(got.of(joint.child).p[k], T[:3, 3]) < TOLERANCE
            assert relative_error(points[k, i], T[:3, :3] @ model.points[i].position + T[:3, 3]) < TOLERANCE
            assert relative_error(vectors[k, i], T[:3, :3] @ model.vectors[i].direction) < TOLERANCE


@pytest.mark.parametrize("seed", range(4))
def test_velocity_and_acceleration_are_rates_of_the_level_below(seed):
    model = random_tree(seed, 14)
    q, v, a = random_state(model, seed)
    names = [f"{kind}{b}" for b in model.body_names for kind in "PU"] + [f"{b}.com" for b in model.body_names]
    motion = mg.kinematics.marker_motion(model, names, q, v, a)
    ahead = model.integrate(q, 1j * STEP * v)
    later = mg.kinematics.marker_motion(model, names, ahead, v + 1j * STEP * a)
    assert relative_error(motion.velocity, later.position.imag / STEP) < TOLERANCE
    assert relative_error(motion.acceleration, later.velocity.imag / STEP) < TOLERANCE
    assert np.min(np.linalg.norm(motion.velocity[-3:], axis=-1)) > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_spin_is_the_rate_of_the_axes(seed):
    model = random_tree(seed, 14)
    q, v, a = random_state(model, seed)
    body = mg.kinematics.body_motion(model, q, v, a)
    later = mg.kinematics.body_motion(model, model.integrate(q, 1j * STEP * v), v + 1j * STEP * a)
    rate = later.R.imag / STEP
    skew = rate @ body.R.swapaxes(-1, -2)
    w = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)
    assert relative_error(body.w, w) < TOLERANCE
    assert relative_error(body.dw, later.w.imag / STEP) < TOLERANCE
    assert relative_error(body.v, later.p.imag / STEP) < TOLERANCE
    assert relative_error(body.a, later.v.imag / STEP) < TOLERANCE


def markers_of(model):
    return [name for b in model.body_names for name in (f"P{b}", f"U{b}", f"{b}.spin", f"{b}.com", f"{b}.origin")]


@pytest.mark.parametrize("seed", range(4))
def test_all_marker_derivatives_by_complex_step(seed):
    model = random_tree(seed, len(ALL_KINDS) + 2, branching=0.3)
    q, v, a = random_state(model, seed)
    names = markers_of(model)
    spin = np.array([name.endswith("spin") for name in names])
    geometric = [p.path for p in model.parameters() if p.kind not in ("mass", "inertia", "gravity")]
    D = mg.kinematics.marker_derivatives(model, names, q, v, a, wrt=geometric)
    move = lambda m, q, v, a: mg.kinematics.marker_motion(m, names, q, v, a)  # noqa: E731
    by_state = (
        (D.x_q[~spin], by_q(lambda x: move(model, x, v, a).position, model, q)[~spin]),
        (D.x_q, by_x(lambda x: move(model, q, x, a).velocity, v)),
        (D.x_q, by_x(lambda x: move(model, q, v, x).acceleration, a)),
        (D.xd_q, by_q(lambda x: move(model, x, v, a).velocity, model, q)),
        (D.xdd_q, by_q(lambda x: move(model, x, v, a).acceleration, model, q)),
        (D.xdd_v, by_x(lambda x: move(model, q, x, a).acceleration, v)),
    )
    for got, want in by_state:
        assert np.mean(want != 0) > 0.05
        assert relative_error(got, want) < TOLERANCE
    seen = dict.fromkeys({p.kind for p in model.parameters() if p.path in geometric}, 0.0)
    kinds = {p.path: p.kind for p in model.parameters()}
    for k, path in enumerate(geometric):
        for got, level in ((D.x_p, "position"), (D.xd_p, "velocity"), (D.xdd_p, "acceleration")):
            want = by_parameter(lambda m, level=level: getattr(move(m, q, v, a), level), model, path)
            if level == "position":
                # a spin has no position; its slot holds the rotation s of the displacement: du = s x u for every
                # vector
                vector = [name.startswith("U") and not path.startswith(name) for name in names]
                spin_of = [f"{name[1:]}.spin" for name, chosen in zip(names, vector, strict=True) if chosen]
                turned = got[[names.index(name) for name in spin_of]]
                u = move(model, q, v, a).position[vector]
                assert relative_error(np.cross(turned[..., k], u), got[vector][..., k]) < 1e-11
                want = np.where(spin[:, None], got[..., k], want)
            assert relative_error(got[..., k], want) < 1e-11, (path, level)
            seen[kinds[path]] = max(seen[kinds[path]], np.max(np.abs(want)))
    assert min(seen.values()) > 1e-2, seen


@pytest.mark.parametrize("seed", range(4))
def test_contracted_hessian_by_complex_step_of_the_jacobian(seed):
    """J by complex step would be real-only; J^T y is the gradient of power y . xdot by v, which takes complex q and
    parameters."""
    model = random_tree(seed, len(ALL_KINDS) + 2, branching=0.3)
    q, _, _ = random_state(model, seed)
    names = markers_of(model)
    y = np.random.default_rng(seed).standard_normal((len(names), 3))
    geometric = [p.path for p in model.parameters() if p.kind not in ("mass", "inertia", "gravity")][::3]
    H_q, H_p = mg.kinematics.contracted_hessian(model, names, q, y, wrt=geometric)

    def force(m, x):
        """J^T y, column by column: velocity is linear in v."""
        units = np.eye(m.n_v)
        motion = mg.kinematics.marker_motion(m, names, np.broadcast_to(x, (m.n_v, m.n_q)), units)
        return np.einsum("cmk,mk->c", motion.velocity, y)

    want = by_q(lambda x: force(model, x), model, q)
    assert np.mean(want != 0) > 0.1
    assert relative_error(H_q, want) < TOLERANCE
    for k, path in enumerate(geometric):
        assert relative_error(H_p[:, k], by_parameter(lambda m: force(m, q), model, path)) < 1e-11, path
    assert np.max(np.abs(H_p)) > 1e-2


def test_contracted_hessian_is_symmetric_for_plain_coordinates_only():
    plain = random_tree(5, 8, ("revolute", "prismatic", "cardan", "planar"), branching=0.0)
    q, _, _ = random_state(plain, 2)
    y = np.random.default_rng(0).standard_normal((1, 3))
    H, _ = mg.kinematics.contracted_hessian(plain, ["Pb7"], q, y)
    assert relative_error(H, H.T) < 1e-13
    ball = random_tree(5, 2, ("spherical", "revolute"), branching=0.0)
    H, _ = mg.kinematics.contracted_hessian(ball, ["Pb1"], random_state(ball, 1)[0], y)
    assert np.max(np.abs(H - H.T)) > 1e-2


def test_batches_equal_single_states():
    model = random_tree(8, 9)
    nt = 2 * 8 + 3
    q, v, a = random_state(model, 1, nt)
    names = markers_of(model)
    wrt = ["j0.origin.x", "b3.com.x", "Pb2.position.z"]
    batch = mg.kinematics.marker_derivatives(model, names, q, v, a, wrt=wrt)
    y = np.random.default_rng(0).standard_normal((nt, len(names), 3))
    H_q, H_p = mg.kinematics.contracted_hessian(model, names, q, y, wrt=wrt)
    for k in (0, 7, nt - 1):
        one = mg.kinematics.marker_derivatives(model, names, q[k], v[k], a[k], wrt=wrt)
        for field in ("x_q", "xd_q", "xdd_q", "xdd_v", "x_p", "xd_p", "xdd_p"):
            assert relative_error(getattr(batch, field)[k], getattr(one, field)) < 1e-13, field
        h_q, h_p = mg.kinematics.contracted_hessian(model, names, q[k], y[k], wrt=wrt)
        assert relative_error(H_q[k], h_q) < 1e-13
        assert relative_error(H_p[k], h_p) < 1e-13


def test_body_jacobian_maps_velocities_to_the_bodys_twist():
    model = random_tree(2, 12)
    q, v, _ = random_state(model, 3, nt=4)
    motion = mg.kinematics.body_motion(model, q, v)
    for body in model.body_names:
        J = mg.kinematics.body_jacobian(model, body, q)
        twist = np.einsum("tij,tj->ti", J, v)
        assert relative_error(twist[:, :3], motion.of(body).w) < 1e-13
        assert relative_error(twist[:, 3:], motion.of(body).v) < 1e-13


def test_markers_on_the_ground_stand_still_and_unknown_ones_are_listed():
    base = double_pendulum()
    model = mg.Model("m", base.bodies, base.joints, [*base.points, mg.Point("mark", "ground", (1, 2, 3))])
    D = mg.kinematics.marker_derivatives(model, ["mark", "tip"], [0.1, 0.2], [1.0, 1.0], wrt=["mark.position.y"])
    assert np.array_equal(mg.kinematics.marker_motion(model, ["mark"], [0.1, 0.2], [1.0, 1.0]).position, [[1, 2, 3]])
    assert np.all(D.x_q[0] == 0)
    assert np.any(D.x_q[1] != 0)
    assert np.array_equal(D.x_p[:, :, 0], [[0, 1, 0], [0, 0, 0]])
    with pytest.raises(mg.ModelError, match=r"unknown marker 'tipp'.*Did you mean 'tip'.*upper\.com"):
        mg.kinematics.marker_motion(model, ["tipp"], [0.0, 0.0])
    with pytest.raises(mg.InputError, match="give a list"):
        mg.kinematics.marker_motion(model, "tip", [0.0, 0.0])
    with pytest.raises(mg.InputError, match=r"y has shape \(3,\).*\(1, 3\)"):
        mg.kinematics.contracted_hessian(model, ["tip"], [0.0, 0.0], [1.0, 2.0, 3.0])
