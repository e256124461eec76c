"""LU factors of dense matrices against numpy.linalg, real and complex; a singular matrix is told."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from mechgrad.kernels.lu import lu_factor, lu_solve, lu_solve_transposed

EPS = np.finfo(float).eps


@numba.njit
def solved(A, b, transposed):
    n = b.size
    factors, pivots, x = A.copy().ravel(), np.empty(n, np.int64), b.copy()
    regular = lu_factor(factors, pivots, n)
    if regular:
        if transposed:
            lu_solve_transposed(factors, pivots, x, n)
        else:
            lu_solve(factors, pivots, x, n)
    return regular, x


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 13, 20, 21, 30, 43])
def test_solves(n, dtype, transposed):
    rng = np.random.default_rng(n)
    for _ in range(5):
        A, b = rng.normal(size=(n, n)).astype(dtype), rng.normal(size=n).astype(dtype)
        if dtype is complex:
            A, b = A + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=n)
        A[0, 0] = 0.0 if n > 1 else A[0, 0]  # pivots must be exchanged
        regular, x = solved(A, b, transposed)
        B = A.T if transposed else A
        assert regular
        bound = 8 * n**2 * EPS * np.linalg.cond(A) * np.abs(x).max()
        np.testing.assert_allclose(x, np.linalg.solve(B, b), rtol=0, atol=bound)


def test_a_singular_matrix_is_told():
    A = np.arange(9.0).reshape(3, 3)
    A[2] = A[1]
    assert not solved(A, np.ones(3), False)[0]
    A[0, 0] = np.nan
    assert not solved(A, np.ones(3), False)[0]
