"""Rows, residual and partials of a mechanism with one of everything, against complex steps and plain NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
import row_values as plain

import mechgrad as mg
from mechgrad.dynamics.kernels import states
from mechgrad.dynamics.system import System
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows
from mechgrad.model.mechanism import N_ALL

STEP = 1e-30


def random_state(model, seed):
    rng = np.random.default_rng(seed)
    q = np.asarray(model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.n_v)))
    return q, rng.normal(size=model.n_v), rng.normal(size=model.n_v)


def everything():
    """All constraints and forces on random bodies; all rows act."""
    model = plain.everything()
    system = System(model, rows=np.arange(elements_of(model).n_constraints))
    twin = System(model, rows=np.arange(elements_of(model).n_constraints), dtype=complex)
    return model, system, twin


MODEL, SYSTEM, COMPLEX = everything()
T_NOW = 0.37


def rows_at(system, q, v, a):
    arrays = (np.atleast_2d(x) for x in (q, v, a))
    return evaluate_rows(system.T, *arrays, np.array([T_NOW]), 0, int(system.T.ints[N_ALL]))


def directions(model, q, j):
    """q moved by an imaginary step along velocity j."""
    d = np.zeros(model.n_v, complex)
    d[j] = 1j * STEP
    return np.asarray(model.integrate(q + 0j, d))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_jacobians_of_rows(seed):
    q, v, a = random_state(MODEL, seed)
    rows = rows_at(SYSTEM, q, v, a)
    m, kinds = len(SYSTEM.names), elements_of(MODEL).rows_i[:, 0]
    holonomic = kinds < 8
    for j in range(MODEL.n_v):
        moved = rows_at(COMPLEX, directions(MODEL, q, j), v + 0j, a + 0j)
        np.testing.assert_allclose(
            rows.J[0, holonomic, j], moved.values[0, holonomic].imag / STEP, rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(rows.J_rate[0, :, j], moved.rates[0].imag / STEP, rtol=1e-11, atol=1e-11)
        by_v = rows_at(COMPLEX, q + 0j, v + 1j * STEP * np.eye(MODEL.n_v)[j], a + 0j)
        np.testing.assert_allclose(rows.J[0, :, j], by_v.rates[0].imag / STEP, rtol=1e-11, atol=1e-12)
        by_a = rows_at(COMPLEX, q + 0j, v + 0j, a + 1j * STEP * np.eye(MODEL.n_v)[j])
        np.testing.assert_allclose(rows.J[0, :, j], by_a.seconds[0].imag / STEP, rtol=1e-11, atol=1e-12)
    assert m
    assert np.abs(rows.J[0]).max(axis=1).min() > 1e-3  # every row feels something


@pytest.mark.parametrize("seed", [1, 2])
def test_second_rates_are_rates_of_rates(seed):
    """Along q(t) with velocity v and acceleration a the second rate is the time derivative of the rate."""
    q, v, a = random_state(MODEL, seed)
    moved = np.asarray(MODEL.integrate(q + 0j, 1j * STEP * v))
    later = evaluate_rows(
        COMPLEX.T,
        moved[None],
        (v + 1j * STEP * a)[None],
        a[None] + 0j,
        np.array([T_NOW]),
        0,
        int(COMPLEX.T.ints[N_ALL]),
    )
    rows = rows_at(SYSTEM, q, v, a)
    h = 1e-5  # the explicit time dependence is not complex: differences
    earlier, after = (
        evaluate_rows(SYSTEM.T, q[None], v[None], a[None], np.array([T_NOW + s * h]), 0, int(SYSTEM.T.ints[N_ALL]))
        for s in (-1, 1)
    )
    by_time = (after.rates - earlier.rates)[0] / (2 * h)
    np.testing.assert_allclose(rows.seconds[0], later.rates[0].imag / STEP + by_time, rtol=1e-7, atol=1e-7)
    still = by_time == 0
    np.testing.assert_allclose(rows.seconds[0, still], later.rates[0, still].imag / STEP, rtol=1e-11, atol=1e-11)


def residual_and_partials(system, q, v, a, lam):
    n = system.model.n_v
    dtype = system.dtype
    r, (K, C, M) = np.zeros((1, n), dtype), (np.zeros((1, n * n), dtype) for _ in range(3))
    q, v, a, lam = (np.array(np.atleast_2d(x), dtype, order="C") for x in (q, v, a, lam))
    bad = states.linearised_states(system.T, q, v, a, lam, np.array([T_NOW]), r, K, C, M)
    assert bad == -1
    system.users.raise_pending()
    return r[0], K.reshape(n, n), C.reshape(n, n), M.reshape(n, n)


SEEDS = (1, 4, 8)


def test_every_law_pushes_in_some_of_the_states():
    """Otherwise the partials below would compare 0 with 0: contacts act only where bodies overlap."""
    pushed = np.zeros(SYSTEM.n_rows)
    for seed in SEEDS:
        q, v, a = (x[None].copy() for x in random_state(MODEL, seed))
        y, wrenches = np.zeros((1, SYSTEM.n_rows)), np.zeros((1, 6 * SYSTEM.T.atoms_i.shape[0]))
        lam = np.zeros((1, len(SYSTEM.names)))
        states.row_forces(SYSTEM.T, q, v, a, lam, np.array([T_NOW]), y, wrenches)
        pushed = np.maximum(pushed, np.abs(y[0]))
    names = elements_of(MODEL).row_names[len(SYSTEM.names) :]
    for force in MODEL.forces:
        rows = [k for k, name in enumerate(names) if name == force.name or name.startswith(f"{force.name}: ")]
        assert rows
        assert pushed[len(SYSTEM.names) :][rows].max() > 1e-3, force.name


@pytest.mark.parametrize("seed", SEEDS)
def test_partials_of_the_residual(seed):
    q, v, a = random_state(MODEL, seed)
    lam = np.random.default_rng(seed).normal(size=len(SYSTEM.names))
    _, K, C, M = residual_and_partials(SYSTEM, q, v, a, lam)
    n = MODEL.n_v
    K1, C1, M1 = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for j in range(n):
        e = 1j * STEP * np.eye(n)[j]
        K1[:, j] = residual_and_partials(COMPLEX, directions(MODEL, q, j), v, a, lam)[0].imag / STEP
        C1[:, j] = residual_and_partials(COMPLEX, q, v + e, a, lam)[0].imag / STEP
        M1[:, j] = residual_and_partials(COMPLEX, q, v, a + e, lam)[0].imag / STEP
    for mine, oracle in ((K, K1), (C, C1), (M, M1)):
        np.testing.assert_allclose(mine, oracle, rtol=1e-10, atol=1e-10 * np.abs(oracle).max())


def test_residual_without_elements_is_inverse_dynamics():
    model = MODEL.open_tree()
    system = System(model)
    assert system.n_rows == 0
    q, v, a = random_state(model, 5)
    r, _, _, M = residual_and_partials(system, q, v, a, np.zeros(0))
    np.testing.assert_allclose(r, mg.inverse_dynamics(model, q, v, a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M, mg.mass_matrix(model, q).dense(), rtol=1e-12, atol=1e-12)
