"""The recursive Lagrangian form: against the spatial method, complex steps, published numbers, and the closed form."""

from __future__ import annotations

import numpy as np
import pytest
import test_reference_numbers as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_q, by_x, relative_error, virtual_power
from support.random_trees import ONE_DOF, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import chain, double_pendulum, human, human_motion
from mechgrad.inverse.closed_form import closed_form_torques
from mechgrad.inverse.kernels.lagrange import lagrange_derivatives as derivatives_kernel
from mechgrad.inverse.kernels.lagrange import lagrange_torques as torques_kernel
from mechgrad.inverse.kernels.lagrange_motion import lagrange_points as points_kernel
from mechgrad.inverse.lagrange import lagrange_derivatives, lagrange_torques, point_sensitivities
from mechgrad.inverse.links import compile_links

KINDS = (*ONE_DOF, "cylindrical", "cardan", "planar", "fixed")
# both methods and the complex step round at some 1e-15 of the largest entry, times the depth of the tree
TOLERANCE = 1e-12


def check_against_spatial(model, q, v, a, loads):
    assert (
        relative_error(lagrange_torques(model, q, v, a, loads=loads), mg.inverse_dynamics(model, q, v, a, loads=loads))
        < TOLERANCE
    )
    ours = lagrange_derivatives(model, q, v, a, loads=loads)
    theirs = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
    assert ours.parameters == theirs.parameters
    for x, y in zip(ours._values, theirs._values, strict=True):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        assert relative_error(x, y) < TOLERANCE
    return ours


def check_by_complex_step(model, q, v, a, loads):
    D = lagrange_derivatives(model, q, v, a, loads=loads)
    pairs = (
        (D.dq, by_q(lambda x: lagrange_torques(model, x, v, a, loads=loads), model, q)),
        (D.dv, by_x(lambda x: lagrange_torques(model, q, x, a, loads=loads), v)),
        (D.da, by_x(lambda x: lagrange_torques(model, q, v, x, loads=loads), a)),
    )
    for got, want in pairs:
        assert relative_error(got.dense(), want) < TOLERANCE
        outside = np.ones(want.shape, bool)
        outside[got.pattern.rows, got.pattern.cols] = False
        assert np.all(want[outside] == 0), "unrelated joints feel each other"
        assert np.all(got.dense()[outside] == 0)
    return pairs


# ------------------------------------------------------------------------------------------------ random trees
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 25))
def test_random_trees_agree_with_the_spatial_method(seed, n):
    model = random_tree(seed, n, KINDS)
    for nt, loads in ((None, None), (None, random_loads(model, seed)), (3, random_loads(model, seed, 3))):
        check_against_spatial(model, *random_state(model, seed, nt), loads)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 15))
def test_random_trees_by_complex_step(seed, n):
    model = random_tree(seed, n, KINDS)
    if model.n_v:
        check_by_complex_step(model, *random_state(model, seed), random_loads(model, seed))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 10))
def test_torques_are_those_of_virtual_power(seed, n):
    model = random_tree(seed, n, KINDS)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    want = virtual_power(model, q, v, a, loads)
    assert relative_error(lagrange_torques(model, q, v, a, loads=loads), want) < TOLERANCE


def test_no_influence_is_zero():
    """A chain of every kind with loads in both axes: nearly every related pair has a derivative by q, v and a."""
    model = random_tree(3, len(KINDS), KINDS, massless=0.0, branching=0.0)
    for got, _ in check_by_complex_step(model, *random_state(model, 4), random_loads(model, 5)):
        assert np.mean(np.abs(got.values) > 1e-6) > 0.8


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_joint_kind_between_two_hinges(kind, axes):
    model = random_tree(17, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    state, loads = random_state(model, 8), random_loads(model, 2, axes=axes)
    bare = lagrange_derivatives(model, *state).dq.values
    assert np.max(np.abs(bare - lagrange_derivatives(model, *state, loads=loads).dq.values)) > 0.1
    check_by_complex_step(model, *state, loads)
    check_against_spatial(model, *state, loads)


@pytest.mark.parametrize("part", ["force", "torque"])
def test_loads_in_body_axes_turn_with_the_body(part):
    model = random_tree(5, 4, ("revolute", "prismatic", "revolute"), branching=0.0)
    state = random_state(model, 1)
    both = [[mg.Load("b3", **{part: (1.0, -2.0, 3.0)}, axes=axes)] for axes in ("world", "body")]
    world, body = (lagrange_derivatives(model, *state, loads=loads).dq.values for loads in both)
    assert np.max(np.abs(world - body)) > 0.1
    for loads in both:
        check_by_complex_step(model, *state, loads)


def test_each_sample_feels_its_own_loads():
    model = random_tree(9, 8, KINDS)
    q, v, a = random_state(model, 2, 4)
    loads = random_loads(model, 3, 4)
    D = check_against_spatial(model, q, v, a, loads)
    for k in range(4):
        one = [mg.Load(x.body, x.force[k], x.torque[k], x.point, x.axes) for x in loads]
        alone = lagrange_derivatives(model, q[k], v[k], a[k], loads=one)
        for x, y in zip(D._values, alone._values, strict=True):
            assert np.array_equal(x[k], y)


def test_mass_matrix_is_symmetric():
    model = random_tree(12, 14, KINDS)
    M = lagrange_derivatives(model, *random_state(model, 1)).da.dense()
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-13 * np.max(np.abs(M)))


# --------------------------------------------------------------------------------------------------- numbering
@pytest.mark.parametrize("model", [chain(40), random_tree(8, 30, KINDS, branching=0.0)], ids=["hinges", "all kinds"])
def test_a_chain_is_one_branch(model):
    assert compile_links(model, "test").branches.joint_branch.shape[0] == 1
    check_against_spatial(model, *random_state(model, 1, 2), random_loads(model, 1))


def test_a_forest_with_forks():
    model = random_tree(21, 40, KINDS, branching=0.9)
    branches = compile_links(model, "test").branches
    parents = branches.branch_parent[:, 1]
    assert np.count_nonzero(parents == 0) > 1
    assert np.max(np.bincount(parents[parents > 0])) > 2
    check_against_spatial(model, *random_state(model, 1, 2), random_loads(model, 1))


def test_a_numbering_that_jumps_between_branches_changes_nothing():
    """Two arms on a trunk, listed joint by joint in turn; the branch matrices need each arm in one piece."""
    rng = np.random.default_rng(4)
    parent = {"trunk": "ground", "l1": "trunk", "r1": "trunk", "l2": "l1", "r2": "r1", "l3": "l2", "r3": "r2"}
    bodies = {n: mg.Body(n, 1 + rng.random(), rng.uniform(-1, 1, 3), (0.1, 0.2, 0.25)) for n in parent}
    joints = {
        n: mg.Revolute(f"to_{n}", p, n, origin=rng.uniform(-1, 1, 3), axis=rng.uniform(-1, 1, 3))
        for n, p in parent.items()
    }
    turns = list(parent)
    pieces = ["trunk", "l1", "l2", "l3", "r1", "r2", "r3"]
    jumping, straight = (mg.Model("arms", [bodies[n] for n in o], [joints[n] for n in o]) for o in (turns, pieces))
    n = len(joints) * 2  # a fixed link brings z onto each axis
    assert not np.array_equal(compile_links(jumping, "test").branches.order, np.arange(1, n + 1))
    assert np.array_equal(compile_links(straight, "test").branches.order, np.arange(1, n + 1))
    q, v, a = random_state(straight, 1)
    loads = random_loads(straight, 1)
    new = [pieces.index(n) for n in turns]
    want = lagrange_derivatives(straight, q, v, a, loads=loads)
    got = check_against_spatial(jumping, q[new], v[new], a[new], loads)
    assert relative_error(got.tau, want.tau[new]) < 1e-14
    for name in ("dq", "dv", "da"):
        x, y = getattr(got, name).dense(), getattr(want, name).dense()
        assert relative_error(x, y[np.ix_(new, new)]) < 1e-14


# ------------------------------------------------------------------------------------------- published numbers
@pytest.fixture
def by_lagrange(monkeypatch):
    """The page of reference numbers, asked of the Lagrangian form."""
    calls = []

    def counted(function):
        return lambda *given, **named: (calls.append(1), function(*given, **named))[1]

    monkeypatch.setattr(mg, "inverse_dynamics", counted(lagrange_torques))
    monkeypatch.setattr(mg, "inverse_dynamics_derivatives", counted(lagrange_derivatives))
    yield
    assert calls


def test_human_reference_numbers(by_lagrange):
    model = human(radius=0.0)
    phase = 2 * np.pi * np.array([[0.1], [0.25], [0.5]])
    w, ones = 2 * np.pi, np.ones(43)
    slender = (
        model,
        mg.inverse_dynamics_derivatives(
            model, np.sin(phase) * ones, w * np.cos(phase) * ones, -(w**2) * np.sin(phase) * ones
        ),
    )
    for key in reference.HUMAN:
        reference.test_human_entries(slender, key)
    for name in reference.HUMAN_NORMS:
        reference.test_human_norms(slender, name)
    reference.test_human_pattern(slender)
    reference.test_human_with_loads_on_both_feet(slender)


def test_small_reference_numbers(by_lagrange):
    reference.test_mixed_tree_with_loads_everywhere()
    reference.test_two_link_arm_in_closed_form()
    reference.test_two_link_arm_reference_state()
    reference.test_prismatic_revolute_arm(np.pi / 2, (2.787342939322306, -0.5968255026925952))
    reference.test_prismatic_revolute_arm(0.0, (2.475808265475386, -0.2036817017991345))


def test_human_in_motion():
    model = human()
    _, q, v, a = human_motion(31)
    loads = random_loads(model, 6)
    check_against_spatial(model, q, v, a, loads)
    check_by_complex_step(model, q[7], v[7], a[7], loads)


def test_a_complex_model_carries_its_step():
    """A complex step in a mass, through torques and through their derivatives."""
    model = double_pendulum()
    state = random_state(model, 3)
    stepped = model.with_values({"lower.mass": 1.0 + 1e-30j}, check=False)
    want = mg.inverse_dynamics_derivatives(model, *state, wrt=["lower.mass"]).by("lower.mass")
    assert np.max(np.abs(want)) > 0.1
    np.testing.assert_allclose(lagrange_torques(stepped, *state).imag / 1e-30, want, rtol=1e-12)
    np.testing.assert_allclose(lagrange_derivatives(stepped, *state).tau.imag / 1e-30, want, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------ points
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 15))
def test_points_agree_with_markers(seed, n):
    model = random_tree(seed, n, KINDS)
    names = [*(p.name for p in model.points), "ground.origin", "b0.origin", f"b{n - 1}.com"]
    for nt in (None, 3):
        state = random_state(model, seed, nt)
        P, motion = point_sensitivities(model, names, *state), mg.kinematics.marker_motion(model, names, *state)
        D = mg.kinematics.marker_derivatives(model, names, *state)
        pairs = (
            (P.x, motion.position), (P.xd, motion.velocity), (P.xdd, motion.acceleration), (P.x_q, D.x_q),
            (P.xd_q, D.xd_q), (P.xd_v, D.x_q), (P.xdd_q, D.xdd_q), (P.xdd_v, D.xdd_v), (P.xdd_a, D.x_q),
        )  # fmt: skip
        for got, want in pairs:
            assert got.shape == want.shape
            assert relative_error(got, want) < TOLERANCE


def test_points_by_complex_step():
    model = random_tree(11, 9, KINDS, branching=0.0)
    q, v, a = random_state(model, 5)
    names = ["Pb8", "b7.com"]
    P = point_sensitivities(model, names, q, v, a)
    steps = {
        "q": lambda f: by_x(lambda x: f(point_sensitivities(model, names, x, v, a)), q),
        "v": lambda f: by_x(lambda x: f(point_sensitivities(model, names, q, x, a)), v),
        "a": lambda f: by_x(lambda x: f(point_sensitivities(model, names, q, v, x)), a),
    }
    for name in ("x_q", "xd_q", "xd_v", "xdd_q", "xdd_v", "xdd_a"):
        what, by = name.split("_")
        want = steps[by](lambda p, what=what: getattr(p, what))
        assert np.max(np.abs(want)) > 0.5
        assert relative_error(getattr(P, name), want) < TOLERANCE


# ------------------------------------------------------------------------------------------------- closed form
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
def test_closed_form_agrees_with_the_recursion(seed, n):
    model = random_tree(seed, n, KINDS)
    if model.n_v > 10:
        return
    for nt in (None, 3):
        q, v, a = random_state(model, seed, nt)
        loads = random_loads(model, seed, nt)
        for given_ in ((q, v, a), (q + 0.1j, v, a)):
            got = closed_form_torques(model, *given_, loads=loads)
            assert relative_error(got, lagrange_torques(model, *given_, loads=loads)) < TOLERANCE


def test_closed_form_of_many_samples_goes_block_by_block():
    model = double_pendulum()
    q, v, a = random_state(model, 1, 700)
    assert relative_error(closed_form_torques(model, q, v, a), mg.inverse_dynamics(model, q, v, a)) < TOLERANCE
    q[600, 1] = np.nan
    with pytest.raises(mg.InputError, match="q is nan at sample 600, column 1"):
        closed_form_torques(model, q, v, a)


def test_closed_form_is_for_few_coordinates():
    with pytest.raises(mg.InputError, match=r"43 coordinates; the closed form takes at most 10.*inverse_dynamics"):
        closed_form_torques(human(), np.zeros(43))


# ------------------------------------------------------------------------------------------------------ inputs
METHODS = [
    lagrange_torques,
    lagrange_derivatives,
    closed_form_torques,
    lambda m, *x: point_sensitivities(m, ["tip"], *x),
]


@pytest.mark.parametrize("call", METHODS, ids=["torques", "derivatives", "closed form", "points"])
def test_bad_inputs_are_named(call):
    model = double_pendulum()
    with pytest.raises(mg.InputError, match=r"q has shape \(3,\)"):
        call(model, np.zeros(3))
    for bad in (np.nan, np.inf):
        v = np.zeros((9, 2))
        v[5, 1] = bad
        with pytest.raises(mg.InputError, match=f"v is {bad} at sample 5, column 1"):
            call(model, np.zeros((9, 2)), v)
    with pytest.raises(mg.InputError, match="overflow"):
        call(model, np.array([0.3, 0.4]), np.full(2, 1e200))
    ball = mg.Model("ball", [mg.Body("b", 1.0, (0, 0, 1))], [mg.Spherical("s", "ground", "b")], [mg.Point("tip", "b")])
    with pytest.raises(mg.InputError, match="'s' is Spherical"):
        call(ball, ball.neutral())


def test_a_massless_slide_does_not_swallow_a_nan():
    model = mg.Model("slide", [mg.Body("b")], [mg.Prismatic("s", "ground", "b", axis=(1, 0, 0))])
    for call in (lagrange_torques, closed_form_torques):
        with pytest.raises(mg.InputError, match="q is nan"):
            call(model, [np.nan])


def test_names_of_points():
    model = double_pendulum()
    with pytest.raises(mg.InputError, match=r"markers is the string 'tip'.*\['tip'\]"):
        point_sensitivities(model, "tip", [0.0, 0.0])
    for name in ("top", "upper.spin", "nobody.com"):
        with pytest.raises(mg.ModelError, match=f"unknown point {name!r}"):
            point_sensitivities(model, [name], [0.0, 0.0])


def test_nothing_moves():
    """Only welds, or nothing at all."""
    weld = mg.Model("weld", [mg.Body("b", 1.0)], [mg.Fixed("w", "ground", "b", origin=(1, 2, 3))])
    for model in (weld, mg.Model("nothing")):
        assert lagrange_torques(model, []).shape == closed_form_torques(model, []).shape == (0,)
        assert lagrange_derivatives(model, []).dq.dense().shape == (0, 0)
    assert np.array_equal(point_sensitivities(weld, ["b.origin"], []).x, [[1, 2, 3]])


def test_one_compilation_per_type_of_number():
    """A second layout would make a user wait for the compiler again."""
    model = random_tree(2, 5, KINDS)
    q, v, a = random_state(model, 1, 5)
    frozen = q.copy()
    frozen.setflags(write=False)
    for x in (q, frozen, np.asfortranarray(q), q.astype(np.float32), q + 0j):
        for loads in (None, random_loads(model, 1), random_loads(model, 1, 5)):
            lagrange_torques(model, x, v, a, loads=loads)
            lagrange_derivatives(model, x, v, a, loads=loads)
        point_sensitivities(model, ["Pb1"], x, v, a)
    lagrange_torques(model, q[0], v[0], a[0])
    for kernel in (torques_kernel, derivatives_kernel, points_kernel):
        assert len(kernel.signatures) == 2  # real and complex
