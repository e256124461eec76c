"""Joint reactions: equilibrium of free bodies, Pinocchio, power; and their derivatives by complex step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_parameter, by_q, by_x, relative_error
from support.pinocchio_twin import Twin
from support.random_trees import ALL_KINDS, ONE_DOF, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion

TOLERANCE = 1e-11
AXES = ("world", "parent", "child")


def joint_point(model, joint, motion, q):
    """Where a joint's reaction acts, as documented: its point on the child; a DH row's hinge or slide stands before
    its lengths."""
    child = motion.of(joint.child)
    if not isinstance(joint, mg.drawing.DenavitHartenberg):
        return child.p + child.R @ joint.child_origin
    R, p = (
        (np.eye(3), np.zeros(3)) if joint.parent == "ground" else (motion.of(joint.parent).R, motion.of(joint.parent).p)
    )
    slides = joint.kind == "prismatic"
    if joint.convention == "modified":
        return child.p if slides else p + R @ (joint.a, 0, 0)
    along = joint.d + joint.sign * q[model.q_slice(joint.name)][0] if slides else 0.0
    return p + along * R[:, 2]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 25))
def test_reactions_are_pinocchios_joint_forces(seed, n):
    """data.f[i] is the wrench at the origin of joint frame i, in its axes."""
    model = random_tree(seed, n, ONE_DOF)
    twin = Twin(model)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    got = mg.joint_reactions(model, q, v, a, loads=loads, axes="world")
    twin.torques(q, v, a, loads)
    motion = mg.kinematics.body_motion(model, q)
    for joint in model.joints:
        index, _ = twin.frames[joint.child]
        R, at = twin.data.oMi[index].rotation, twin.data.oMi[index].translation
        moment, force = got.of(joint.name)
        moment = moment + np.cross(joint_point(model, joint, motion, q) - at, force)
        scale = max(1.0, np.max(np.abs(moment)), np.max(np.abs(force)))
        assert np.max(np.abs(R.T @ force - twin.data.f[index].linear)) < TOLERANCE * scale
        assert np.max(np.abs(R.T @ moment - twin.data.f[index].angular)) < TOLERANCE * scale


def test_moving_base_slide_in_mid_chain_and_a_load_on_a_middle_link():
    kinds = ("prismatic", "prismatic", "prismatic", "revolute", "prismatic", "revolute", "revolute")
    model = random_tree(2, len(kinds), kinds, massless=0.0, branching=0.0)
    twin = Twin(model)
    q, v, a = random_state(model, 3)
    loads = [mg.Load("b4", force=(30.0, -20.0, 10.0), torque=(1.0, 2.0, 3.0), point=(0.1, 0.2, 0.3), name="push")]
    bare, loaded = (mg.joint_reactions(model, q, v, a, loads=x) for x in (None, loads))
    assert np.all(np.linalg.norm(loaded.force[:5] - bare.force[:5], axis=1) > 1.0)
    assert np.array_equal(loaded.force[5:], bare.force[5:])
    twin.torques(q, v, a, loads)
    for k, joint in enumerate(model.joints):
        index, _ = twin.frames[joint.child]
        assert relative_error(loaded.force[k], twin.data.oMi[index].rotation @ twin.data.f[index].linear) < TOLERANCE
        assert relative_error(loaded.couple[k], twin.data.oMi[index].rotation @ twin.data.f[index].angular) < TOLERANCE
    check_derivatives(model, q, v, a, loads, "child", ["push.force.x", "push.point.y", "b4.mass", "j4.origin.y"])


@pytest.mark.parametrize("seed", range(3))
def test_every_body_is_in_equilibrium_with_inertia_weight_loads_and_reactions(seed):
    """All joint kinds: reaction of the own joint minus those of the children equals what the body alone needs."""
    model = random_tree(seed, 14)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    R = mg.joint_reactions(model, q, v, a, loads=loads)
    motion = mg.kinematics.body_motion(model, q, v, a)
    points = {joint.name: joint_point(model, joint, motion, q) for joint in model.joints}
    for joint, load in zip(model.joints, loads, strict=True):
        body, b = model.body(joint.child), motion.of(joint.child)
        arm = b.R @ body.com
        com = b.p + arm
        a_com = b.a + np.cross(b.dw, arm) + np.cross(b.w, np.cross(b.w, arm))
        inertia = b.R @ body.inertia @ b.R.T
        turn = b.R if load.axes == "body" else np.eye(3)
        f, c = turn @ load.force, turn @ load.torque
        force = body.mass * (a_com - model.gravity) - f
        moment = inertia @ b.dw + np.cross(b.w, inertia @ b.w) - c - np.cross(b.R @ (load.point - body.com), f)
        got_m, got_f = R.of(joint.name)
        total_f, total_m = got_f.copy(), got_m + np.cross(points[joint.name] - com, got_f)
        for child in model.joints:
            if child.parent == joint.child:
                m_c, f_c = R.of(child.name)
                total_f -= f_c
                total_m -= m_c + np.cross(points[child.name] - com, f_c)
        scale = np.max(np.abs(R.force)) + np.max(np.abs(R.couple))
        assert np.max(np.abs(total_f - force)) < 1e-12 * scale
        assert np.max(np.abs(total_m - moment)) < 1e-12 * scale


def check_derivatives(model, q, v, a, loads, axes, wrt):
    D = mg.terms.joint_reactions_derivatives(model, q, v, a, loads=loads, axes=axes, wrt=wrt)

    def stacked(m, q, v, a):
        R = mg.joint_reactions(m, q, v, a, loads=loads, axes=axes)
        return np.concatenate([R.couple, R.force], axis=-1).reshape(-1)

    assert (
        relative_error(np.concatenate([D.reactions.couple, D.reactions.force], -1).ravel(), stacked(model, q, v, a))
        < 1e-13
    )
    for got, want in (
        (D.dq, by_q(lambda x: stacked(model, x, v, a), model, q)),
        (D.dv, by_x(lambda x: stacked(model, q, x, a), v)),
        (D.da, by_x(lambda x: stacked(model, q, v, x), a)),
    ):
        assert relative_error(got.dense(), want) < 1e-12
        outside = np.ones(want.shape, bool)
        outside[got.pattern.rows, got.pattern.cols] = False
        assert np.all(want[outside] == 0)
        order = got.pattern.rows * want.shape[1] + got.pattern.cols
        assert np.all(np.diff(order) > 0), "entries must stand row by row"
    kinds = {p.path: p.kind for p in model.parameters()}
    influence = {}
    for k, path in enumerate(D.parameters):
        if path not in kinds:
            continue
        want = by_parameter(lambda m: stacked(m, q, v, a), model, path)
        assert relative_error(D.dp.dense()[:, k], want) < TOLERANCE, path
        influence[kinds[path]] = max(influence.get(kinds[path], 0.0), np.max(np.abs(want)))
    return influence


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_by_complex_step_for_all_joint_kinds(seed, axes):
    model = random_tree(seed, len(ALL_KINDS) + 2, branching=0.3)
    q, v, a = random_state(model, seed)
    influence = check_derivatives(
        model, q, v, a, random_loads(model, seed), axes, [p.path for p in model.parameters()][::2]
    )
    assert (
        min(influence[k] for k in ("mass", "com", "inertia", "origin", "orientation", "axis", "dh", "gravity")) > 1e-3
    )


@pytest.mark.parametrize("axes", AXES)
def test_load_parameters_by_differences_of_a_linear_function(axes):
    """Reactions are linear in forces and couples, and in the point at fixed force: central differences are exact."""
    model = random_tree(4, 9, branching=0.2)
    q, v, a = random_state(model, 1)
    loads = random_loads(model, 2)
    paths = [
        f"{load.name}.{field}.{axis}" for load in loads for field in ("force", "torque", "point") for axis in "xyz"
    ]
    D = mg.terms.joint_reactions_derivatives(model, q, v, a, loads=loads, axes=axes, wrt=paths)
    dense = D.dp.dense()
    for k, path in enumerate(paths):
        name, field, axis = path.rsplit(".", 2)
        values = []
        for sign in (1, -1):
            moved = []
            for load in loads:
                x = {f: np.array(getattr(load, f)) for f in ("force", "torque", "point")}
                if load.name == name:
                    x[field]["xyz".index(axis)] += sign * 0.5
                moved.append(mg.Load(load.body, x["force"], x["torque"], x["point"], load.axes, load.name))
            R = mg.joint_reactions(model, q, v, a, loads=moved, axes=axes)
            values.append(np.concatenate([R.couple, R.force], -1).ravel())
        assert relative_error(dense[:, k], values[0] - values[1]) < 1e-11, path
        assert np.max(np.abs(dense[:, k])) > 1e-3, path


def test_generalized_forces_are_the_part_along_the_freedom():
    model = human()
    _, q, v, a = human_motion(samples=31)
    tau = mg.inverse_dynamics(model, q, v, a)
    R = mg.joint_reactions(model, q, v, a)
    motion = mg.kinematics.body_motion(model, q)
    for k, joint in enumerate(model.joints):
        # the joint's axis in the child is that of a distal frame: (0, sin alpha, cos alpha)
        axis = motion.of(joint.child).R @ (joint.sign * np.array([0, np.sin(joint.alpha), np.cos(joint.alpha)]))
        part = R.couple[:, k] if joint.kind == "revolute" else R.force[:, k]
        assert relative_error(np.einsum("ti,ti->t", axis, part), tau[:, k]) < 1e-12


def test_batches_equal_single_states_and_chosen_joints_equal_all():
    model = random_tree(6, 8)
    q, v, a = random_state(model, 1, 11)
    loads = random_loads(model, 2)
    everything = mg.terms.joint_reactions_derivatives(
        model, q, v, a, loads=loads, wrt=["b3.mass", "j0.origin.x"], axes="child"
    )
    for k in (0, 10):
        one = mg.terms.joint_reactions_derivatives(
            model, q[k], v[k], a[k], loads=loads, wrt=["b3.mass", "j0.origin.x"], axes="child"
        )
        for x, y in zip(
            (everything.dq, everything.dv, everything.da, everything.dp), (one.dq, one.dv, one.da, one.dp), strict=True
        ):
            assert relative_error(x.values[k], y.values) < 1e-13
    some = mg.terms.joint_reactions_derivatives(
        model, q, v, a, loads=loads, joints=["j5", "j2"], wrt=["b3.mass", "j0.origin.x"], axes="child"
    )
    assert some.reactions.names == ("j5", "j2")
    for joint in ("j5", "j2"):
        for by in ("q", "v", "a", "b3.mass", "j0.origin.x"):
            for x, y in zip(some.of(joint, by), everything.of(joint, by), strict=True):
                assert relative_error(x, y) < 1e-13
        assert np.array_equal(some.reactions.of(joint).force, everything.reactions.of(joint).force)


@pytest.mark.parametrize("axes", AXES)
def test_newton_euler_gives_the_same_reactions(axes):
    for seed in range(4):
        model = random_tree(seed, 12, (*ONE_DOF, "cylindrical", "cardan", "planar", "fixed"))
        q, v, a = random_state(model, seed, 5)
        loads = random_loads(model, seed)
        for joints in (None, ["j7", "j0"]):
            fast, other = (
                mg.joint_reactions(model, q, v, a, loads=loads, joints=joints, axes=axes, method=method)
                for method in ("spatial", "newton-euler")
            )
            assert fast.names == other.names
            assert relative_error(other.force, fast.force) < 1e-12
            assert relative_error(other.couple, fast.couple) < 1e-12
    with pytest.raises(mg.InputError, match="choose 'spatial' or 'newton-euler'"):
        mg.joint_reactions(model, q, v, a, method="lagrange")


def test_bad_input_is_named():
    model = random_tree(6, 4)
    q, v, a = random_state(model, 1)
    with pytest.raises(mg.InputError, match="axes is 'body'; choose one of 'world', 'parent', 'child'"):
        mg.joint_reactions(model, q, v, a, axes="body")
    with pytest.raises(mg.ModelError, match="unknown joint 'knee'"):
        mg.joint_reactions(model, q, v, a, joints=["knee"])
    with pytest.raises(mg.InputError, match="give a list"):
        mg.joint_reactions(model, q, v, a, joints="j1")
    with pytest.raises(mg.InputError, match="q is nan"):
        mg.joint_reactions(model, q * np.nan, v, a)
    with pytest.raises(mg.InputError, match="complex step through joint_reactions"):
        mg.terms.joint_reactions_derivatives(model, q + 0j, v, a)
    with pytest.raises(mg.ModelError, match="unknown joint 'j9'"):
        mg.terms.joint_reactions_derivatives(model, q, v, a).of("j9", "q")
