"""Forward dynamics inverts inverse dynamics; its derivatives equal complex steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_parameter, by_q, by_x, relative_error
from support.random_trees import random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion


def condition(model, q):
    """Condition of M: rounding in a is amplified by it."""
    return np.linalg.cond(mg.mass_matrix(model, q).dense())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
def test_forward_dynamics_inverts_inverse_dynamics(seed, n):
    model = random_tree(seed, n, massless=0.0)
    if not model.n_v:
        return
    q, v, a = random_state(model, seed, nt=5)
    loads = random_loads(model, seed)
    tau = mg.inverse_dynamics(model, q, v, a, loads=loads)
    back = mg.forward_dynamics(model, q, v, tau, loads=loads)
    for k in range(5):
        assert relative_error(back[k], a[k]) < 1e-13 * max(1.0, condition(model, q[k]))


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_by_complex_step(seed):
    kinds = (
        "revolute",
        "spherical",
        "cardan",
        "cylindrical",
        "dh-revolute",
        "planar",
        "dh-prismatic",
        "fixed",
        "spherical",
    )
    model = random_tree(seed, len(kinds), kinds, massless=0.0, branching=0.0)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    tau = mg.inverse_dynamics(model, q, v, a, loads=loads)
    paths = [
        "b2.mass",
        "j1.origin.x",
        "j0.axis.y",
        "gravity.x",
        "b4.inertia.xy",
        "b5.com.z",
        "L3.point.x",
        "L4.force.z",
    ]
    F = mg.forward_dynamics_derivatives(model, q, v, tau, loads=loads, wrt=paths)
    tolerance = 1e-13 * max(100.0, condition(model, q))
    solve = lambda q, v, tau: mg.forward_dynamics(model, q, v, tau, loads=loads)  # noqa: E731
    for got, want in (
        (F.dq, by_q(lambda x: solve(x, v, tau), model, q)),
        (F.dv, by_x(lambda x: solve(q, x, tau), v)),
        (F.dtau, by_x(lambda x: solve(q, v, x), tau)),
    ):
        assert np.max(np.abs(want)) > 1e-2
        assert relative_error(got, want) < tolerance
    for path in paths[:6]:
        want = by_parameter(lambda m: mg.forward_dynamics(m, q, v, tau, loads=loads), model, path)
        assert relative_error(F.by(path), want) < tolerance, path
        assert np.max(np.abs(want)) > 1e-6, path
    for path in paths[6:]:  # a_load = -M^-1 tau_load, tested by complex step in the inverse dynamics
        inverse = mg.inverse_dynamics_derivatives(model, q, v, F.a, loads=loads, wrt=[path])
        want = -np.linalg.solve(mg.mass_matrix(model, q).dense(), inverse.by(path))
        assert relative_error(F.by(path), want) < tolerance, path


def test_batches_equal_single_states():
    model = random_tree(7, 8, massless=0.0)
    nt = 19
    q, v, tau = random_state(model, 3, nt)
    loads = random_loads(model, 4, nt)
    F = mg.forward_dynamics_derivatives(model, q, v, tau, loads=loads, wrt=["b1.mass"])
    for k in (0, 8, 18):
        here = [mg.Load(x.body, x.force[k], x.torque[k], x.point, x.axes, x.name) for x in loads]
        one = mg.forward_dynamics_derivatives(model, q[k], v[k], tau[k], loads=here, wrt=["b1.mass"])
        for got, want in ((F.a, one.a), (F.dq, one.dq), (F.dv, one.dv), (F.dtau, one.dtau), (F.dp, one.dp)):
            assert relative_error(got[k], want) < 1e-10


def test_mass_matrix_is_the_derivative_by_acceleration_and_symmetric():
    model = random_tree(12, 20)
    q, v, a = random_state(model, 3, 9)
    M = mg.mass_matrix(model, q).dense()
    assert relative_error(M, mg.inverse_dynamics_derivatives(model, q, v, a).da.dense()) < 1e-14
    assert np.array_equal(M, M.swapaxes(-1, -2))


def test_human_accelerations():
    model = human()
    _, q, v, a = human_motion()
    tau = mg.inverse_dynamics(model, q, v, a)
    assert relative_error(mg.forward_dynamics(model, q, v, tau), a) < 1e-9


def test_slender_human_has_a_singular_mass_matrix_and_the_error_names_the_joint():
    model = human(radius=0.0)
    _, q, v, a = human_motion(samples=20)
    with pytest.raises(mg.errors.SingularMassMatrixError, match=r"at sample \d+: .* 'dh\.\d+' moves no inertia"):
        mg.forward_dynamics(model, q, v, a)
    with pytest.raises(mg.errors.SingularMassMatrixError, match=r"'dh\.\d+' moves no inertia"):
        mg.forward_dynamics_derivatives(model, q[3], v[3], a[3])


@pytest.mark.parametrize("samples", [1, 3, 8, 21])
@pytest.mark.parametrize("columns", ["", "*.mass", "gravity.*", "*.com.*"])
def test_columns_of_any_number_go_through_the_factors_of_the_mass_matrix(samples, columns):
    """Columns go in groups, and rows that cannot be reached are left out: against a dense solution by NumPy."""
    model = human()
    _, q, v, _ = human_motion(samples + 1)
    q, v = q[1:], v[1:]
    tau = np.random.default_rng(samples).normal(size=v.shape)
    F = mg.forward_dynamics_derivatives(model, q, v, tau, wrt=columns or ())
    r = mg.inverse_dynamics_derivatives(model, q, v, F.a, wrt=columns or ())
    M = mg.mass_matrix(model, q).dense()
    for got, packed in ((F.dq, r.dq), (F.dv, r.dv), (F.dp, r.dp)):
        want = -np.linalg.solve(M, packed.dense())
        assert got.shape == want.shape
        if want.size:
            assert np.max(np.abs(want)) > 1e-3
            assert relative_error(got, want) < 1e-8  # the human's mass matrix has a condition number of some millions
    assert relative_error(F.dtau, np.linalg.inv(M)) < 1e-8
