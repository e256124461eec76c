"""Semi-recursive accumulation about centres of mass and about the origin: both against the mass matrix and the inverse
dynamics, closed forms, the motion of bodies, complex steps; far from the origin; inside another kernel with loads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_parameter, by_q, by_x, relative_error, virtual_power
from support.random_trees import ALL_KINDS, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import chain, double_pendulum
from mechgrad.inverse.accumulation import SEMI_RECURSIVE, semi_recursive_terms
from mechgrad.inverse.kernels.accumulation import (
    ABOUT_COM,
    ABOUT_ONE_POINT,
    ARM,
    CENTRE,
    RATE,
    REFERENCE,
    SECOND_RATE,
    STEP,
    accumulated_mass,
    accumulated_residual,
    com_outward,
    recursion_outward,
)
from mechgrad.inverse.kernels.wrenches import INERTIA, WRENCH, apply_loads
from mechgrad.inverse.loads import compile_loads
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, place_world
from mechgrad.model.tree import HAS_MASS, PARENT
from mechgrad.model.tree import about_origin as in_world

REFERENCES = ("com", "root", "origin")
# sums of some dozens of products, in two orders; relative to the largest entry
ROUNDING = 1e-12


def terms(model, q, v=None, a=None, reference="com"):
    found = semi_recursive_terms(model, q, v, a, reference=reference)
    return found.M, found.residual


# --------------------------------------------------------------------------------------------------- same numbers
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), massless=st.sampled_from([0.0, 0.4]))
def test_all_references_equal_each_other_and_the_engine_on_random_trees(seed, n, massless):
    model = random_tree(seed, n, massless=massless)
    q, v, a = random_state(model, seed, nt=5)
    for reference in REFERENCES:
        M, r = terms(model, q, v, a, reference)
        assert M.shape == (5, model.n_v, model.n_v)
        assert relative_error(M, mg.mass_matrix(model, q).dense()) < ROUNDING
        assert relative_error(r, mg.inverse_dynamics(model, q, v, a)) < ROUNDING


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_joint_kind_equals_whole_body_kinematics(kind, reference):
    """At the root, inside and at the tip; the oracle knows no recursion and no reference points."""
    model = random_tree(3, 5, (kind, "revolute", kind, "prismatic", kind), branching=0.0)
    q, v, a = random_state(model, 4)
    M, r = terms(model, q, v, a, reference)
    still = virtual_power(model, q, v, np.zeros_like(a))
    want = virtual_power(model, q, v, a)
    assert np.max(np.abs(want - still)) > 1.0  # inertia matters
    assert np.max(np.abs(still - virtual_power(model, q, 0 * v, 0 * a))) > 0.1  # velocities do
    assert relative_error(r, want) < ROUNDING
    assert relative_error(M @ a, want - still) < ROUNDING
    assert np.array_equal(M, M.T)


@pytest.mark.parametrize("reference", REFERENCES)
def test_double_pendulum_in_closed_form(reference):
    m, length, g = 1.3, 0.7, 9.81
    q, v, a = np.array([0.6, -1.1]), np.array([1.7, -2.3]), np.array([0.9, 4.1])
    unit, c, s = m * length**2, np.cos(q[1]), np.sin(q[1])
    M = unit * np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])
    coriolis = unit / 2 * s * np.array([-(2 * v[0] * v[1] + v[1] ** 2), v[0] ** 2])
    lower = np.sin(q[0] + q[1]) / 2
    weight = m * g * length * np.array([1.5 * np.sin(q[0]) + lower, lower])
    got = terms(double_pendulum(m, length), q, v, a, reference)
    assert np.allclose(got[0], M, rtol=0, atol=1e-14)
    assert np.allclose(got[1], M @ a + coriolis + weight, rtol=0, atol=1e-13)
    assert np.allclose(terms(double_pendulum(m, length), q, v, reference=reference)[1], coriolis + weight, atol=1e-13)


# --------------------------------------------------------------------------------------------------- complex steps
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("seed", range(3))
def test_complex_steps_equal_the_derivatives(seed, reference):
    kinds = ("revolute", "spherical", "cardan", "dh-revolute", "floating", "planar", "fixed", "dh-prismatic")
    model = random_tree(seed, len(kinds), kinds, massless=0.0, branching=0.0)
    q, v, a = random_state(model, seed)
    paths = ["b2.mass", "j1.origin.x", "j0.axis.y", "gravity.x", "b4.inertia.xy", "b5.com.z"]
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=paths)
    bound = 10 * ROUNDING
    M, _ = terms(model, q, v, a, reference)
    for got, want in (
        (by_q(lambda x: terms(model, x, v, a, reference)[1], model, q), D.dq.dense()),
        (by_x(lambda x: terms(model, q, x, a, reference)[1], v), D.dv.dense()),
        (by_x(lambda x: terms(model, q, v, x, reference)[1], a), M),
        (
            by_q(lambda x: terms(model, x, reference=reference)[0], model, q),
            by_q(lambda x: mg.mass_matrix(model, x).dense(), model, q),
        ),
    ):
        assert np.max(np.abs(want)) > 1.0
        assert relative_error(got, want) < bound
    for path in paths:
        got = by_parameter(lambda m: terms(m, q, v, a, reference)[1], model, path)
        assert np.max(np.abs(got)) > 1e-3, path
        assert relative_error(got, D.dp.dense()[:, paths.index(path)]) < bound, path


# --------------------------------------------------------------------------------------------- far from the origin
def test_centres_of_mass_and_the_root_keep_their_digits_far_away():
    """In uniform gravity the place changes nothing. 1e6 m away the matrix about the origin holds terms m d^2, of
    which 1e-4 and more are rounding."""
    model = chain(6)
    q, v, a = np.random.default_rng(0).uniform(-1.5, 1.5, (3, 20, 6))
    M, r = terms(model, q, v, a)
    assert relative_error(M, mg.mass_matrix(model, q).dense()) < ROUNDING
    far = model.with_values({"joint1.origin.x": 1e6, "joint1.origin.y": -1e6, "joint1.origin.z": 5e5})
    lost = {
        reference: (relative_error(M_far, M), relative_error(r_far, r))
        for reference, (M_far, r_far) in ((name, terms(far, q, v, a, name)) for name in REFERENCES)
    }
    assert max(lost["com"]) < 1e-14
    assert max(lost["root"]) < 1e-14
    assert lost["origin"][0] > 1e-5
    assert lost["origin"][1] > 1e-11
    assert lost["origin"][0] > 1e9 * max(lost["com"][0], 1e-16)


def test_a_slide_may_carry_the_mechanism_away():
    """Far by its coordinates, not by its placement: a free body at q = 1e6 m."""
    model = random_tree(11, 4, ("floating", "spherical", "revolute", "cardan"), massless=0.0, branching=0.0)
    q, v, a = random_state(model, 5)
    there = q.copy()
    there[:3] = 1e6, -2e6, 3e6
    near, origin = terms(model, q, v, a), terms(model, there, v, a, "origin")
    for reference in ("com", "root"):
        far = terms(model, there, v, a, reference)
        assert max(relative_error(far[0], near[0]), relative_error(far[1], near[1])) < 1e-13
    assert relative_error(origin[0], near[0]) > 1e-6


# -------------------------------------------------------------------------------------------------------- batches
@pytest.fixture(scope="module")
def tree() -> mg.Model:
    return random_tree(7, 10, ("floating", "spherical", "revolute", "cardan", "fixed", "planar"))


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("nt", [1, 7, 8, 9, 17])
def test_batches_equal_single_states(tree, nt, reference):
    q, v, a = random_state(tree, nt, nt)
    M, r = terms(tree, np.asfortranarray(q), v.tolist(), a, reference)
    for k in range(nt):
        for one in (terms(tree, q[k], v[k], a[k], reference), terms(tree, q[k] + 0j, v[k], a[k], reference)):
            assert one[0].shape == (tree.n_v, tree.n_v)
            assert relative_error(M[k], one[0]) < 1e-14
            assert relative_error(r[k], one[1]) < 1e-14
    for kernel in SEMI_RECURSIVE:
        assert len(kernel.signatures) <= 1


def test_a_tree_without_freedoms():
    model = random_tree(1, 3, ("fixed",) * 3)
    M, r = terms(model, np.zeros((4, 0)))
    assert M.shape == (4, 0, 0)
    assert r.shape == (4, 0)


def test_bad_input_is_named(tree):
    q, v, a = random_state(tree, 2, 20)
    with pytest.raises(UnknownNameError, match=r"unknown reference 'centre'\. Known: com, root, origin"):
        semi_recursive_terms(tree, q, reference="centre")
    a[13, 4] = np.nan
    with pytest.raises(mg.InputError, match="a is nan at sample 13, column 4"):
        terms(tree, q, v, a)
    q[3, 3:7] = 0.0
    with pytest.raises(mg.InputError, match=r"the Euler parameters q\[3:7\] are all zero at sample 3"):
        terms(tree, q)


# ------------------------------------------------------------------------------------------- inside another kernel
@numba.njit
def state_terms(tables, numbers, q, v, a, loads_i, loads, reference, frames, motions, r, chains):
    atoms_i, columns_i, start = tables
    n_atoms, n_v = atoms_i.shape[0], v.size
    twists, inertia = np.empty(n_v * TWIST), np.empty(n_atoms * INERTIA)
    wrenches = np.zeros(n_atoms * WRENCH)
    place_world(frames, n_atoms, numbers[n_atoms, 0], numbers[n_atoms, 1], numbers[n_atoms, 2], 0.0)
    check = com_outward(atoms_i, numbers, q, v, a, frames, twists, motions, 0.0)
    if reference != ABOUT_COM:
        recursion_outward(atoms_i, numbers, q, v, a, reference, frames, twists, motions, 0.0)
    apply_loads(loads_i, loads, frames, wrenches, 0.0)
    accumulated_residual(atoms_i, numbers, frames, twists, motions, wrenches, r, 0.0)
    accumulated_mass(atoms_i, numbers, columns_i, start, frames, twists, motions, inertia, chains, 0.0)
    return check


def in_a_kernel(model, q, v, a, loads, reference, of_table=lambda atoms_f: atoms_f):
    flat = tree_of(model)
    atoms_f = of_table(flat.atoms_f)
    table = compile_loads(model, flat, loads, 1, float)
    frames = np.empty((flat.n_atoms + 1) * FRAME)
    motions = np.empty((flat.n_atoms + 1) * REFERENCE)
    r, chains = np.empty(model.n_v), np.empty(flat.chain_positions.size)
    check = state_terms(
        (flat.atoms_i, flat.columns_i, flat.chain_start), atoms_f, q, v, a, table.indices,
        table.rows(slice(0, 1))[0].copy(), reference, frames, motions, r, chains,
    )  # fmt: skip
    assert check == 0.0
    return r, chains, motions.reshape(-1, REFERENCE)


@pytest.mark.parametrize("reference", [ABOUT_COM, ABOUT_ONE_POINT])
def test_a_kernel_adds_forces_given_about_the_origin(tree, reference):
    q, v, a = random_state(tree, 5)
    loads = random_loads(tree, 5)
    r, chains, _ = in_a_kernel(tree, q, v, a, loads, reference)
    want = mg.inverse_dynamics(tree, q, v, a, loads=loads)
    assert relative_error(want, mg.inverse_dynamics(tree, q, v, a)) > 1e-2  # loads matter
    assert relative_error(r, want) < ROUNDING
    assert relative_error(chains, mg.mass_matrix(tree, q).values[tree_of(tree).chain_positions]) < ROUNDING


def vector(motions, atom, slot):
    return motions[atom, slot : slot + 3]


def test_the_recursion_gives_the_motion_of_the_reference_points(tree):
    """r', r'' of every body against its motion; gravity is an acceleration of the world."""
    q, v, a = random_state(tree, 6)
    flat, motion = tree_of(tree), mg.kinematics.body_motion(tree, q, v, a)
    about_com = in_a_kernel(tree, q, v, a, [], ABOUT_COM)[2]
    about_origin = in_a_kernel(tree, q, v, a, [], ABOUT_ONE_POINT, in_world)[2]
    seen = 0
    for body in tree.bodies:
        b, atom = motion.of(body.name), flat.body_atom[body.name]
        if flat.atoms_i[atom, HAS_MASS]:
            seen += 1
            com = b.p + b.R @ body.com
            for rows, point in ((about_com, com), (about_origin, np.zeros(3))):
                arm = point - b.p
                velocity = b.v + np.cross(b.w, arm)
                acceleration = b.a + np.cross(b.dw, arm) + np.cross(b.w, np.cross(b.w, arm)) - tree.gravity
                assert relative_error(vector(rows, atom, RATE), velocity) < ROUNDING
                assert relative_error(vector(rows, atom, SECOND_RATE), acceleration) < ROUNDING
                assert relative_error(vector(rows, atom, CENTRE), com - point) < ROUNDING
            if (parent := flat.atoms_i[atom, PARENT]) >= 0:
                between = vector(about_origin, parent, ARM) - vector(about_origin, atom, ARM)
                step = between + vector(about_com, atom, ARM) - vector(about_com, parent, ARM)
                assert relative_error(vector(about_com, atom, STEP), step) < ROUNDING
    assert seen >= 5
    assert not about_origin[:-1, STEP : STEP + 3].any()
