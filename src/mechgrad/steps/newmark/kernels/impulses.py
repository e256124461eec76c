"""Impulses of the projections of implicit steps, from what these changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import saddle_factor
from mechgrad.dynamics.kernels.sparse import Sparse, column_of, first_entry
from mechgrad.dynamics.kernels.sparse_columns import good_factors, solve_refined
from mechgrad.kernels.jit import kernel, wrapper
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.sparse_lu import slot_count


class ImpulseScratch(NamedTuple):
    """Factors and columns of `impulses`."""

    P: np.ndarray
    x: np.ndarray
    c: np.ndarray
    work: np.ndarray
    eps: np.ndarray
    pivots: np.ndarray
    given: np.ndarray
    rest: np.ndarray
    ones: np.ndarray
    sparse: Sparse | None


@kernel
def _impulses(M, Gamma, w, y, passes, sigma, kappa, scratch):
    scratch = refer(scratch)
    n, m, x, sparse = w.shape[1], sigma.shape[1], scratch.x, scratch.sparse
    for i in range(w.shape[0]):
        P, pivots, eps = scratch.P, scratch.pivots, scratch.eps
        if not saddle_factor(sparse, M[i], Gamma[i], Gamma[i], eps, n, m, P, pivots):
            return i
        if not good_factors(sparse, P, pivots, scratch.ones):
            return i
        for j in range(n):
            x[j, 0] = x[j, 1] = 0.0
        for r in range(m):
            x[n + r, 0] = x[n + r, 1] = 0.0
            for e in range(first_entry(sparse, r, n), first_entry(sparse, r + 1, n)):
                j = column_of(sparse, e, r, n)
                x[n + r, 0] += Gamma[i, e] * w[i, j]
                x[n + r, 1] += Gamma[i, e] * y[i, j]
        solve_refined(sparse, P, pivots, Gamma[i], x, n, m, None, passes, scratch)
        for r in range(m):
            sigma[i, r], kappa[i, r] = x[n + r, 0], x[n + r, 1]
    return -1


@wrapper
def impulses(M, Gamma, w, y, eps, passes, sigma, kappa, sparse=None):
    """sigma and kappa with M w + Gamma^T sigma = 0 and M y + Gamma^T kappa = 0, for all lines; w and y do belong to
    such impulses. Returns the first line with a singular matrix, or -1."""
    n, m = w.shape[1], sigma.shape[1]
    sizes = {"P": (n + m) ** 2, "x": (n + m, 2), "c": (m, 2), "work": (n + m, 2), "ones": n + m}
    sizes |= dict.fromkeys(("given", "rest"), (n + m, 2))
    if sparse is not None:
        sizes["P"] = slot_count(sparse)
    pivots = np.zeros(n + m, np.int64)
    scratch = allocate(ImpulseScratch, sizes, float, eps=np.full(m, eps), pivots=pivots, sparse=sparse)
    return _impulses(M, Gamma, w, y, passes, sigma, kappa, scratch)
