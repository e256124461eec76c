"""Impulses of the projections of implicit steps, from what these changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import saddle_factor
from mechgrad.kernels.jit import kernel, wrapper
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.right_hand_sides import refined_columns


class ImpulseScratch(NamedTuple):
    """Factors and columns of `impulses`."""

    P: np.ndarray
    x: np.ndarray
    c: np.ndarray
    work: np.ndarray
    eps: np.ndarray
    pivots: np.ndarray


@kernel
def _impulses(M, Gamma, w, y, passes, sigma, kappa, scratch):
    scratch = refer(scratch)
    n, m, x = w.shape[1], sigma.shape[1], scratch.x
    for i in range(w.shape[0]):
        if not saddle_factor(M[i], Gamma[i], Gamma[i], scratch.eps, n, m, scratch.P, scratch.pivots):
            return i
        for j in range(n):
            x[j, 0] = x[j, 1] = 0.0
        for r in range(m):
            x[n + r, 0] = x[n + r, 1] = 0.0
            for j in range(n):
                x[n + r, 0] += Gamma[i, r * n + j] * w[i, j]
                x[n + r, 1] += Gamma[i, r * n + j] * y[i, j]
        refined_columns(scratch.P, scratch.pivots, Gamma[i], x, n, m, None, passes, scratch.c, scratch.work)
        for r in range(m):
            sigma[i, r], kappa[i, r] = x[n + r, 0], x[n + r, 1]
    return -1


@wrapper
def impulses(M, Gamma, w, y, eps, passes, sigma, kappa):
    """sigma and kappa with M w + Gamma^T sigma = 0 and M y + Gamma^T kappa = 0, for all lines; w and y do belong to
    such impulses. Returns the first line with a singular matrix, or -1."""
    n, m = w.shape[1], sigma.shape[1]
    sizes = {"P": (n + m) ** 2, "x": (n + m, 2), "c": (m, 2), "work": (n + m, 2)}
    scratch = allocate(ImpulseScratch, sizes, float, eps=np.full(m, eps), pivots=np.zeros(n + m, np.int64))
    return _impulses(M, Gamma, w, y, passes, sigma, kappa, scratch)
