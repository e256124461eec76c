"""Newton-Euler recursion in link frames: against the spatial method, complex steps and balances in world axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_parameter, by_q, by_x, relative_error
from support.random_trees import ONE_DOF, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import chain, human, human_motion
from mechgrad.inverse.newton_euler import newton_euler_derivatives, newton_euler_reactions, newton_euler_torques
from mechgrad.kernels.lanes import LANES

KINDS = (*ONE_DOF, "cylindrical", "cardan", "planar", "fixed")
# both sides round at some 1e-15 of the largest entry, times the depth of the tree
TOLERANCE = 1e-12
PARTIALS = [f"{name}_{x}" for name in ("force", "couple") for x in "qva"]


def same_as_spatial(model, q, v, a, loads=None):
    """Newton-Euler derivatives, found equal to those of the fast method."""
    want = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
    got = newton_euler_derivatives(model, q, v, a, loads=loads)
    assert isinstance(got, mg.results.InverseDynamicsDerivatives)
    assert got.dq.pattern is want.dq.pattern
    assert relative_error(newton_euler_torques(model, q, v, a, loads=loads), want.tau) < TOLERANCE
    for x, y in zip(got._values, want._values, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert relative_error(x, y) < TOLERANCE
    return got


def same_as_complex_step(model, q, v, a, loads=None):
    """Derivatives of torques and reactions of one state against complex steps; returns the reactions."""
    D = newton_euler_derivatives(model, q, v, a, loads=loads)
    R = newton_euler_reactions(model, q, v, a, loads=loads, derivatives=True)

    def values(q, v, a):
        S = newton_euler_reactions(model, q, v, a, loads=loads)
        return np.concatenate([newton_euler_torques(model, q, v, a, loads=loads), S.force.ravel(), S.couple.ravel()])

    wanted = {
        "q": by_q(lambda x: values(x, v, a), model, q),
        "v": by_x(lambda x: values(q, x, a), v),
        "a": by_x(lambda x: values(q, v, x), a),
    }
    for x, want in wanted.items():
        dense = getattr(D, f"d{x}").dense(), getattr(R, f"force_{x}"), getattr(R, f"couple_{x}")
        n_v, rows = model.n_v, 3 * len(model.joints)
        parts = np.split(want, [n_v, n_v + rows])
        for got, part in zip(dense, parts, strict=True):
            assert relative_error(got.reshape(part.shape), part) < TOLERANCE
    return R


def balance(model, q, v, a, loads=()):
    """Reactions of one state from bodies in world axes: what lies beyond a joint must be carried by it."""
    R = newton_euler_reactions(model, q, v, a, loads=loads)
    motion = mg.kinematics.body_motion(model, q, v, a)
    force, moment = np.zeros((2, len(model.joints), 3))
    for k, joint in enumerate(model.joints):
        child = motion.of(joint.child)
        at = child.p + child.R @ R.point[k]
        beyond = {joint.child}
        for other in model.joints:
            if other.parent in beyond:
                beyond.add(other.child)
        for name in beyond:
            body, b = model.body(name), motion.of(name)
            c = b.R @ body.com
            I = b.R @ body.inertia @ b.R.T  # noqa: E741
            F = body.mass * (b.a + np.cross(b.dw, c) + np.cross(b.w, np.cross(b.w, c)) - model.gravity)
            T = I @ b.dw + np.cross(b.w, I @ b.w) + np.cross(b.p + c - at, F)
            for load in loads:
                if load.body == name:
                    turn = b.R if load.axes == "body" else np.eye(3)
                    f = turn @ load.force
                    F, T = F - f, T - turn @ load.torque - np.cross(b.p + b.R @ load.point - at, f)
            force[k] += child.R.T @ F
            moment[k] += child.R.T @ T
    return R, force, moment


# ------------------------------------------------------------------------------------------------- random trees
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), per_sample=st.booleans())
def test_random_trees_agree_with_the_spatial_method(seed, n, per_sample):
    nt = LANES + 3
    model = random_tree(seed, n, KINDS)
    same_as_spatial(model, *random_state(model, seed, nt), random_loads(model, seed, nt if per_sample else None))


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14))
def test_random_trees_agree_with_complex_steps(seed, n):
    model = random_tree(seed, n, KINDS)
    if model.n_v:
        same_as_complex_step(model, *random_state(model, seed), random_loads(model, seed))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14))
def test_reactions_balance_what_lies_beyond(seed, n):
    model = random_tree(seed, n, KINDS)
    R, force, moment = balance(model, *random_state(model, seed), random_loads(model, seed))
    assert relative_error(R.force, force) < TOLERANCE
    assert relative_error(R.couple, moment) < TOLERANCE


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_joint_kind_between_two_hinges(kind, axes):
    """Also: nothing compares zero with zero, and loads matter."""
    model = random_tree(17, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    state, loads = random_state(model, 8), random_loads(model, 2, axes=axes)
    R = same_as_complex_step(model, *state, loads)
    for name in PARTIALS:
        size = np.max(np.abs(getattr(R, name)), axis=(1, 2))
        assert np.all(size > 1e-3), f"{name} is zero for a joint: {size}"
    bare = newton_euler_reactions(model, *state, derivatives=True)
    assert np.max(np.abs(R.force_q[0] - bare.force_q[0])) > 0.1
    same_as_spatial(model, *state, loads)


def test_human_agrees_with_both():
    model = human()
    _, q, v, a = human_motion()
    same_as_spatial(model, q, v, a, random_loads(model, 1))
    same_as_spatial(model, q, v, a, random_loads(model, 1, len(q)))
    same_as_complex_step(model, q[37], v[37], a[37], random_loads(model, 2))
    R, force, moment = balance(model, q[37], v[37], a[37], random_loads(model, 3))
    assert relative_error(R.force, force) < TOLERANCE
    assert relative_error(R.couple, moment) < TOLERANCE


# ---------------------------------------------------------------------------------------- corrections and where
def hinge_slide_hinge():
    """A slide in the middle of a chain in space, a load at an eccentric point of every link."""
    model = random_tree(5, 3, ("revolute", "prismatic", "revolute"), massless=0.0, branching=0.0)
    return model, random_state(model, 6), random_loads(model, 7, axes="world")


def test_every_corrected_term_is_at_work():
    """The numbers are those of docs/newton_euler.md; each term must be large here, where complex steps judge."""
    model, (q, v, a), loads = hinge_slide_hinge()
    R = same_as_complex_step(model, q, v, a, loads)
    D = same_as_spatial(model, q, v, a, loads)
    b0, b1, b2 = (mg.kinematics.body_motion(model, q, v, a).of(f"b{k}") for k in range(3))
    J = mg.kinematics.body_jacobian(model, "b2", q)
    e1, e2, e3 = J[:3, 0], J[3:, 1], J[:3, 2]
    arm, last = b1.p - b0.p, loads[2]
    terms = {
        "E22: w_v seen through the slide turns what is beyond": D.dv.entry(2, 0),
        "E23: w_p x e of the last hinge": np.cross(b1.w, e3),
        "E25: dw_a x X across the slide": np.cross(e1, arm),
        "E26: dw x e of the slide": np.cross(b1.dw, e2),
        "E30: the arm of the slide grows": np.cross(e2, b1.R @ R.force[1]),
        "E32: the turning load has a lever": np.cross(last.point, b2.R.T @ np.cross(e1, last.force)),
    }
    assert {name: size for name, x in terms.items() if (size := np.linalg.norm(x)) < 0.05} == {}


def test_loads_leave_the_partials_by_velocity_and_acceleration_alone():
    """E29: external loads add nothing to them, and erase nothing."""
    model, (q, v, a), loads = hinge_slide_hinge()
    bare, loaded = (newton_euler_reactions(model, q, v, a, loads=x, derivatives=True) for x in (None, loads))
    for name in ("force_v", "couple_v", "force_a", "couple_a"):
        assert np.array_equal(getattr(bare, name), getattr(loaded, name))
        assert np.all(np.max(np.abs(getattr(loaded, name)), axis=(1, 2)) > 1e-3)


def test_a_load_on_a_middle_link():
    """Joints before it feel it, joints beyond it do not."""
    model = chain(5)
    q, v, a = random_state(model, 3)
    load = mg.Load("link3", force=(3, -4, 5), torque=(0.2, 0.3, -0.1), point=(0.1, 0.02, -0.03))
    same_as_complex_step(model, q, v, a, [load])
    change = newton_euler_reactions(model, q, v, a, loads=[load]).force - newton_euler_reactions(model, q, v, a).force
    np.testing.assert_allclose(np.linalg.norm(change, axis=1), [50**0.5] * 3 + [0, 0], rtol=1e-12, atol=0)


def test_a_moving_base_of_three_slides():
    """A base that accelerates by a is a base at rest in gravity g - a, and its slides carry m (a - g)."""
    bodies = [mg.Body("x"), mg.Body("y"), mg.Body("z"), mg.Body("rod", 2.0, (0.3, 0.1, -0.2), (0.1, 0.2, 0.25))]
    names = ("ground", "x", "y", "z")
    slides = [mg.Prismatic(f"slide{k}", names[k], names[k + 1], axis=np.eye(3)[k]) for k in range(3)]
    pin = mg.Revolute("pin", "z", "rod", axis=(1, 2, -1))
    model = mg.Model("carried", bodies, [*slides, pin])
    q, v, a = random_state(model, 4)
    same_as_spatial(model, q, v, a)
    same_as_complex_step(model, q, v, a)
    alone = mg.Revolute("pin", "ground", "rod", axis=(1, 2, -1))
    still = mg.Model("still", bodies[3:], [alone], gravity=model.gravity - a[:3])
    R, S = newton_euler_reactions(model, q, v, a), newton_euler_reactions(still, q[3:], v[3:], a[3:])
    for x, y in zip(R.of("pin"), S.of("pin"), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    np.testing.assert_allclose(newton_euler_torques(model, q, v, a)[:3], R.force[0], rtol=1e-12)


# -------------------------------------------------------------------------------------------- inputs and results
def test_generalized_forces_are_the_reactions_along_the_axes():
    model = chain(4)
    q, v, a = random_state(model, 2)
    R = newton_euler_reactions(model, q, v, a)
    axes = [joint.axis for joint in model.joints]  # a hinge's axis has the same components in parent and child
    np.testing.assert_allclose(np.sum(axes * R.couple, axis=1), newton_euler_torques(model, q, v, a), rtol=1e-13)


def test_one_state_many_states_and_complex_states_agree():
    model = random_tree(2, 9, KINDS)
    q, v, a = random_state(model, 2, nt=2 * LANES + 1)
    loads = random_loads(model, 2)
    many = newton_euler_reactions(model, q, v, a, loads=loads, derivatives=True)
    k = 2 * LANES
    one = newton_euler_reactions(model, q[k], v[k], a[k], loads=loads, derivatives=True)
    stepped = newton_euler_reactions(model, q + 0j, v, a, loads=loads, derivatives=True)
    for name in ("force", "couple", "point", *PARTIALS):
        x = getattr(many, name)
        assert x.shape == (len(q), 9, 3) + ((model.n_v,) if name in PARTIALS else ())
        assert relative_error(getattr(one, name), x[k]) < 1e-13
        assert getattr(stepped, name).dtype == complex
        assert relative_error(getattr(stepped, name), x) < 1e-13
    bare = newton_euler_reactions(model, q, v, a, loads=loads)
    assert all(getattr(bare, name) is None for name in PARTIALS)
    assert np.array_equal(bare.of("j4").couple, many.couple[:, 4])
    with pytest.raises(mg.ModelError, match="unknown joint 'j99'"):
        bare.of("j99")


def test_joints_of_different_branches_do_not_feel_each_other():
    model = human()
    _, q, v, a = human_motion()
    R = newton_euler_reactions(model, q[30], v[30], a[30], derivatives=True)
    for name in PARTIALS:
        x = getattr(R, name)
        assert np.all(x[41, :, 17] == 0)
        assert np.all(x[17, :, 41] == 0)
        assert np.any(x[4, :, 41] != 0)


def test_complex_models_carry_steps_by_parameters():
    model = random_tree(4, 8, KINDS, massless=0.0)
    q, v, a = random_state(model, 4)
    paths = ["b3.mass", "b2.com.y", "b5.inertia.xy", "j1.origin.x", "j2.alpha", "gravity.y"]
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=paths)
    for path in paths:
        got = by_parameter(lambda m: newton_euler_torques(m, q, v, a), model, path)
        assert np.max(np.abs(got)) > 1e-3
        assert relative_error(got, D.by(path)) < TOLERANCE


def test_a_weld_carries_the_weight():
    model = mg.Model("rock", [mg.Body("b", 3.0, (0.2, 0, 0))], [mg.Fixed("weld", "ground", "b", origin=(1, 0, 0))])
    R = newton_euler_reactions(model, [], derivatives=True)
    np.testing.assert_allclose(R.force, [[0, 0, 29.43]])
    np.testing.assert_allclose(R.couple, [[0, -1.2 * 29.43, 0]])  # about the ground's origin
    np.testing.assert_allclose(R.point, [[-1, 0, 0]])
    assert R.force_q.shape == (1, 3, 0)
    assert newton_euler_torques(model, np.zeros((4, 0))).shape == (4, 0)
    assert newton_euler_derivatives(model, []).dq.dense().shape == (0, 0)


@pytest.mark.parametrize("joint", [mg.Spherical, mg.Floating])
@pytest.mark.parametrize("function", [newton_euler_torques, newton_euler_derivatives, newton_euler_reactions])
def test_joints_with_euler_parameters_are_refused(function, joint):
    model = mg.Model("ball", [mg.Body("b", 1.0)], [joint("socket", "ground", "b")])
    why = f"'newton-euler' works with hinges and slides; joint 'socket' is {joint.__name__}"
    with pytest.raises(mg.InputError, match=why):
        function(model, model.neutral())


def test_bad_numbers_are_named():
    model = chain(3)
    q = np.zeros((LANES + 2, 3))
    q[LANES + 1, 2] = np.nan
    for function in (newton_euler_torques, newton_euler_derivatives, newton_euler_reactions):
        with pytest.raises(mg.InputError, match=rf"q is nan at sample {LANES + 1}, column 2"):
            function(model, q)
        with pytest.raises(mg.InputError, match=r"q has shape \(2,\)"):
            function(model, [0.0, 0.0])
        with pytest.raises(mg.ModelError, match="unknown body 'link9'"):
            function(model, q[0], loads=[mg.Load("link9")])
