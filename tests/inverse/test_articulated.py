"""Accelerations by recursive elimination: against the factors of the mass matrix, Pinocchio, and the inverse
dynamics; its complex steps, its batches, its singular cases, and its use inside another kernel."""

from __future__ import annotations

import numba
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.oracles import by_parameter, by_q, by_x, relative_error
from support.pinocchio_twin import Twin
from support.random_trees import ALL_KINDS, ONE_DOF, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import chain, human, human_motion
from mechgrad.inverse.forward import RECURSIVE
from mechgrad.inverse.kernels.articulated import (
    ARTICULATED,
    CHANGE_V,
    CHANGE_W,
    articulated_accelerations,
)
from mechgrad.inverse.kernels.free_motion import free_motion
from mechgrad.inverse.kernels.wrenches import WRENCH, apply_loads
from mechgrad.inverse.loads import compile_loads
from mechgrad.kernels.host import LANES
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.kernels.outward import AT, DV, DW, FRAME, TWIST, V, W, outward, place_world
from mechgrad.model.joints.base import inverted


def recursive(model, q, v=None, tau=None, **options):
    return mg.forward_dynamics(model, q, v, tau, method="recursive", **options)


def factor(model, q, v=None, tau=None, **options):
    return mg.forward_dynamics(model, q, v, tau, method="factor", **options)


def tolerance(model, q):
    """Both ways round in the last digit of M, and the solution amplifies that by the condition of M."""
    return 1e-14 * max(100.0, np.linalg.cond(mg.mass_matrix(model, q).dense()).max())


# --------------------------------------------------------------------------------------------------- same numbers
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), massless=st.sampled_from([0.0, 0.1]))
def test_equals_the_factors_on_random_trees_with_loads(seed, n, massless):
    model = random_tree(seed, n, massless=massless)
    assume(model.n_v)
    q, v, tau = random_state(model, seed, nt=5)
    assume(massless == 0.0 or np.linalg.cond(mg.mass_matrix(model, q).dense()).max() < 1e9)
    loads = random_loads(model, seed)
    want = factor(model, q, v, tau, loads=loads)
    assert np.max(np.abs(want)) > 1.0
    assert relative_error(recursive(model, q, v, tau, loads=loads), want) < tolerance(model, q)
    assert relative_error(want, factor(model, q, v, tau)) > 1e-6  # loads matter


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_inverts_the_inverse_dynamics_with_every_joint_kind(kind):
    """At the root, inside and at the tip."""
    model = random_tree(3, 5, (kind, "revolute", kind, "prismatic", kind), massless=0.0, branching=0.0)
    q, v, a = random_state(model, 4, nt=3)
    loads = random_loads(model, 5)
    tau = mg.inverse_dynamics(model, q, v, a, loads=loads)
    assert relative_error(recursive(model, q, v, tau, loads=loads), a) < tolerance(model, q)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 25))
def test_equals_pinocchio_with_loads(seed, n):
    model = random_tree(seed, n, (*ONE_DOF, "cylindrical", "cardan", "planar", "fixed"), massless=0.0)
    twin = Twin(model)
    assume(model.n_v)
    q, v, tau = random_state(model, seed)
    loads = random_loads(model, seed)
    external = twin.external(loads, q)
    want = pin.aba(twin.model, twin.data, *twin.theirs(q, v, tau), external)[twin.order]
    assert relative_error(recursive(model, q, v, tau, loads=loads), want) < 100 * tolerance(model, q)


def test_automatic_is_the_recursion_and_other_names_are_refused():
    model = human()
    _, q, v, tau = human_motion(samples=11)
    assert np.array_equal(mg.forward_dynamics(model, q, v, tau), recursive(model, q, v, tau))
    assert not np.array_equal(factor(model, q, v, tau), recursive(model, q, v, tau))  # two ways, other roundings
    with pytest.raises(mg.InputError, match=r"method is 'aba'; it must be \"auto\", \"factor\" or \"recursive\""):
        mg.forward_dynamics(model, q, v, tau, method="aba")


def test_a_long_chain_keeps_its_digits():
    """512 links, 100 m: the torques of the accelerations found are the torques given, to some roundings of the
    largest."""
    model = chain(512)
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, (3, 3, 512))
    a = recursive(model, q, v, tau)
    at_rest = mg.inverse_dynamics(model, q, v)
    residual = mg.inverse_dynamics(model, q, v, a) - tau
    assert np.max(np.abs(residual)) < 1e-13 * np.max(np.abs(at_rest))


def test_a_tree_without_freedoms():
    model = random_tree(1, 3, ("fixed",) * 3)
    assert recursive(model, np.zeros((4, 0))).shape == (4, 0)


# -------------------------------------------------------------------------------------------------------- batches
@pytest.fixture(scope="module")
def tree() -> mg.Model:
    return random_tree(7, 10, ("floating", "spherical", "revolute", "cardan"), massless=0.0)


@pytest.mark.parametrize("nt", [1, 7, 8, 9, 17])
def test_batches_equal_single_states(tree, nt):
    q, v, tau = random_state(tree, nt, nt)
    loads = random_loads(tree, 4, nt)
    a = recursive(tree, q, v, tau, loads=loads)
    assert a.shape == (nt, tree.n_v)
    for k in range(nt):
        here = [mg.Load(x.body, x.force[k], x.torque[k], x.point, x.axes, x.name) for x in loads]
        one = recursive(tree, q[k], v[k], tau[k], loads=here)
        assert relative_error(a[k], one) < tolerance(tree, q[k])
        assert relative_error(recursive(tree, q[k] + 0j, v[k], tau[k], loads=here), one) < tolerance(tree, q[k])


def test_threads_out_and_one_signature(tree):
    nt = 3 * 512 * LANES + 5
    q, v, tau = random_state(tree, 2, nt)
    want = recursive(tree, q, v, tau)
    out = np.empty_like(want)
    assert np.shares_memory(recursive(tree, q, v, tau, threads=2, out=out), out)
    assert np.array_equal(out, want)
    assert np.array_equal(recursive(tree, np.asfortranarray(q), v.tolist(), tau), want)
    for kernel in RECURSIVE:
        assert len(kernel.signatures) <= 1


def test_bad_numbers_are_named(tree):
    q, v, tau = random_state(tree, 2, 20)
    tau[13, 4] = np.nan
    with pytest.raises(mg.InputError, match="tau is nan at sample 13, column 4"):
        recursive(tree, q, v, tau)
    q[3, 3:7] = 0.0
    with pytest.raises(mg.InputError, match=r"the Euler parameters q\[3:7\] are all zero at sample 3"):
        recursive(tree, q, v, v)


# --------------------------------------------------------------------------------------------------- complex steps
@pytest.mark.parametrize("seed", range(4))
def test_complex_steps_equal_the_derivatives(seed):
    kinds = ("revolute", "spherical", "cardan", "dh-revolute", "floating", "planar", "fixed", "dh-prismatic")
    model = random_tree(seed, len(kinds), kinds, massless=0.0, branching=0.0)
    q, v, tau = random_state(model, seed)
    loads = random_loads(model, seed)
    paths = ["b2.mass", "j1.origin.x", "j0.axis.y", "gravity.x", "b4.inertia.xy", "b5.com.z"]
    F = mg.forward_dynamics_derivatives(model, q, v, tau, loads=loads, wrt=paths)
    bound = 100 * tolerance(model, q)
    for got, want in (
        (by_q(lambda x: recursive(model, x, v, tau, loads=loads), model, q), F.dq),
        (by_x(lambda x: recursive(model, q, x, tau, loads=loads), v), F.dv),
        (by_x(lambda x: recursive(model, q, v, x, loads=loads), tau), F.dtau),
    ):
        assert np.max(np.abs(want)) > 1e-2
        assert relative_error(got, want) < bound
    for path in paths:
        got = by_parameter(lambda m: recursive(m, q, v, tau, loads=loads), model, path)
        assert np.max(np.abs(got)) > 1e-6, path
        assert relative_error(got, F.by(path)) < bound, path


# -------------------------------------------------------------------------------------------------------- singular
ROD = np.diag([0.0, 0.1, 0.1])  # along x, no thickness


def massless_tip() -> mg.Model:
    bodies = [mg.Body("arm", 1.0, (0.3, 0.0, 0.0), np.eye(3)), mg.Body("tip", 0.0)]
    return mg.Model(
        "massless tip", bodies, [mg.Revolute("a", "ground", "arm", axis=(0, 1, 0)), mg.Prismatic("b", "arm", "tip")]
    )


def rod_on_a_ball() -> mg.Model:
    return mg.Model("rod", [mg.Body("rod", 1.0, (0.5, 0, 0), ROD)], [mg.Spherical("s", "ground", "rod", (2, 1, 0))])


def rod_on_its_axis() -> mg.Model:
    """Far from the world's axes: what is left of its inertia is rounding."""
    bodies = [mg.Body("arm", 1.0, (0.3, 0.0, 0.0), np.eye(3)), mg.Body("rod", 1.0, (0.5, 0, 0), ROD)]
    joints = [
        mg.Revolute("a", "ground", "arm", axis=(1, 2, 3), origin=(1, 2, 3)),
        mg.Revolute("b", "arm", "rod", axis=(1, 0, 0), origin=(0.1, 0.2, 0.3)),
    ]
    return mg.Model("turning rod", bodies, joints)


def two_sliders() -> mg.Model:
    """Both along one line, the body between them without mass: the first moves nothing, if the second is free."""
    bodies = [mg.Body("between", 0.0), mg.Body("block", 2.0, (0.1, 0.2, 0.3), np.eye(3)), mg.Body("bob", 1.0)]
    joints = [
        mg.Prismatic("first", "ground", "between", axis=(1, 1, 1)),
        mg.Prismatic("second", "between", "block", axis=(1, 1, 1)),
        mg.Prismatic("third", "block", "bob", axis=(0, 1, 0)),
    ]
    return mg.Model("two sliders", bodies, joints)


SINGULAR = [(massless_tip, "b"), (rod_on_a_ball, "s.wx"), (rod_on_its_axis, "b"), (two_sliders, "first")]


@pytest.mark.parametrize(("make", "name"), SINGULAR, ids=lambda x: getattr(x, "__name__", x))
def test_a_coordinate_without_inertia_is_named(make, name):
    model = make()
    named = rf"singular: with the joints beyond it free, '{name}' moves no inertia \(pivot [-\d.e+]+ of the inertia"
    q = model.integrate(model.neutral(), np.linspace(0.5, 0.9, model.n_v))
    for state in (q, q + 0j):
        with pytest.raises(mg.errors.SingularMassMatrixError, match=named):
            recursive(model, state)
    with pytest.raises(mg.errors.SingularMassMatrixError, match=rf"at sample 0: .* '{name}' moves no inertia"):
        recursive(model, np.tile(q, (11, 1)))


def test_the_sample_is_named():
    """Two slender rods that roll together about the first: stretched out, neither has inertia about that line."""
    bodies = [mg.Body(name, 1.0, (0.5, 0, 0), ROD) for name in ("r1", "r2")]
    joints = [
        mg.Revolute("roll", "ground", "r1", axis=(1, 0, 0)),
        mg.Revolute("bend", "r1", "r2", axis=(0, 0, 1), origin=(1, 0, 0)),
    ]
    model = mg.Model("rods", bodies, joints)
    q = np.full((20, 2), 0.5)
    recursive(model, q)
    q[13, 1] = 0.0
    for way in (recursive, factor):
        with pytest.raises(mg.errors.SingularMassMatrixError, match=r"at sample 13: .* 'roll' moves no inertia"):
            way(model, q)


@pytest.mark.parametrize("seed", [4, 6, 7, 11])
def test_massless_bodies_that_make_M_singular_are_seen_by_both_ways(seed):
    model = random_tree(seed, 5 + 2 * seed)
    q, v, tau = random_state(model, seed)
    said = []
    for way in (recursive, factor):
        with pytest.raises(mg.errors.SingularMassMatrixError) as caught:
            way(model, q, v, tau)
        said.append(str(caught.value).split(" (pivot")[0])
    assert said[0] == said[1]


def test_the_slender_human():
    model = human(radius=0.0)
    _, q, v, tau = human_motion(samples=20)
    with pytest.raises(mg.errors.SingularMassMatrixError, match=r"at sample \d+: .* 'dh\.\d+' moves no inertia"):
        recursive(model, q, v, tau)


# ------------------------------------------------------------------------------------------- inside another kernel
@numba.njit
def one_state(atoms_i, atoms_f, q, v, tau, loads_i, loads, inertias, a):
    n_atoms, n_v = atoms_i.shape[0], v.size
    frames, twists = np.empty((n_atoms + 1) * FRAME), np.empty(n_v * TWIST)
    wrenches = np.zeros(n_atoms * WRENCH)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], 0.0)
    check = free_motion(atoms_i, atoms_f, q, v, False, frames, twists, 0.0)
    apply_loads(loads_i, loads, frames, wrenches, 0.0)
    failed = articulated_accelerations(
        atoms_i, atoms_f, frames, twists, True, True, wrenches, tau, inertias, a, 0.0
    )  # fmt: skip
    return check, failed


def test_a_kernel_gets_accelerations_of_coordinates_and_their_part_in_those_of_bodies(tree):
    q, v, tau = random_state(tree, 5)
    loads = random_loads(tree, 5)
    flat, table = tree_of(tree), compile_loads(tree, tree_of(tree), loads, 1, float)
    inertias, a = np.empty(flat.atoms_i.shape[0] * ARTICULATED), np.empty(tree.n_v)
    numbers = table.rows(slice(0, 1))[0].copy()
    assert one_state(flat.atoms_i, flat.atoms_f, q, v, tau, table.indices, numbers, inertias, a) == (0.0, 0.0)
    assert relative_error(a, factor(tree, q, v, tau, loads=loads)) < tolerance(tree, q)
    with_a, without = mg.kinematics.body_motion(tree, q, v, a), mg.kinematics.body_motion(tree, q, v, np.zeros_like(v))
    for body in tree.body_names:
        k = flat.body_atom[body] * ARTICULATED
        w, u = inertias[k + CHANGE_W : k + CHANGE_W + 3], inertias[k + CHANGE_V : k + CHANGE_V + 3]
        new, old = with_a.of(body), without.of(body)
        assert relative_error(w, new.dw - old.dw) < 1e-11
        arm = new.R @ inverted(flat.body_tail[body])[1]  # from the body's origin to that of its atom
        assert relative_error(u - np.cross(w, arm), new.a - old.a) < 1e-11


@numba.njit
def two_motions(atoms_i, atoms_f, q, v, frames, twists, free, axes):
    n_atoms, failed = atoms_i.shape[0], 0.0
    for x in (frames, free):
        place_world(x, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], 0.0)
    failed += outward(atoms_i, atoms_f, q, v, np.zeros(v.size), frames, twists, 0.0)
    return failed + free_motion(atoms_i, atoms_f, q, v, True, free, axes, 0.0)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_free_motion_is_the_motion_without_accelerations_of_coordinates(kind):
    """Axes, positions, velocities; and accelerations of each atom's own origin instead of the root's."""
    model = random_tree(7, 6, (kind, "revolute", kind, "prismatic", "spherical"), branching=0.3)
    q, v, _ = random_state(model, 8)
    flat = tree_of(model)
    n = flat.atoms_i.shape[0]
    frames, free = np.zeros((2, n + 1, FRAME))
    twists, axes = np.zeros((2, flat.n_v, TWIST))
    given = (flat.atoms_i, flat.atoms_f, q, v)
    assert two_motions(*given, frames.ravel(), twists.ravel(), free.ravel(), axes.ravel()) == 0.0
    np.testing.assert_allclose(free[:, :DV], frames[:, :DV], rtol=1e-13, atol=1e-13)  # V too
    at, w, vel, dw, dv = (frames[:, x : x + 3] for x in (AT, W, V, DW, DV))
    own = dv + np.cross(dw, at) + np.cross(w, vel + np.cross(w, at))
    scale = np.max(np.abs(own[:-1] + flat.atoms_f[-1, :3]))
    assert scale > 0.1
    assert np.max(np.abs(free[:-1, DV:] - own[:-1])) < 1e-13 * scale * n
    slides = np.all(twists[:, :3] == 0.0, axis=1)
    for of_kind, half in ((slides, slice(3, 6)), (~slides, slice(0, 3))):
        np.testing.assert_allclose(axes[of_kind, half], twists[of_kind, half], atol=1e-14)
