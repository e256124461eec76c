"""Saddle-point systems of constrained motion, one sample:

    [ A      Gamma^T ] [ x ]   [ b ]
    [ Gamma  -eps    ] [ y ] = [ c ]

eps > 0 keeps the matrix regular where rows of Gamma depend on each other; eliminating the second block gives the
penalty matrix A + Gamma^T Gamma / eps, whose condition this form does not inherit. Repeating the solution with the
remaining defect c - Gamma x (the augmented Lagrangian) takes the influence of eps away.
"""

from __future__ import annotations

import math

import numpy as np

from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lu import lu_factor, lu_solve

LOW = math.log(1.6)
FELT_ONCE, FELT_AGAIN = 1e-7, 1e-2
WEAK = 1e-3  # share of eps that is worth a closer look
# defects below this, beside the right-hand side, are not worth a repetition
ROUNDING = 1e-13


@inner
def saddle_factor(A, up, low, eps, n, m, S, pivots):
    """Factor the saddle matrix of dense A (n, n) into S; `up` (m, n) stands transposed on the right, `low` below.

    eps: (m,). Returns False where the matrix is singular.
    """
    size = n + m
    for i in range(n):
        for j in range(n):
            S[i * size + j] = A[i * n + j]
    for k in range(m):
        for j in range(n):
            S[(n + k) * size + j] = low[k * n + j]
            S[j * size + n + k] = up[k * n + j]
        for j in range(m):
            S[(n + k) * size + n + j] = 0.0
        S[(n + k) * size + n + k] = -eps[k]
    return lu_factor(S, pivots, size)


@inner
def saddle_refine(S, pivots, J, c, x, n, m, passes, enough, work):
    """Take the influence of eps from the solution x (n + m) with right-hand side c (m) of the second block.

    Stops after `passes` repetitions, or when the defects beside c are no larger than `enough`.
    """
    size = n + m
    most = 0.0
    for k in range(m):
        most = max(most, abs(c[k]))
    for _ in range(passes):
        worst = 0.0
        for j in range(n):
            work[j] = 0.0
        for k in range(m):
            defect = c[k]
            for j in range(n):
                defect -= J[k * n + j] * x[j]
            work[n + k] = defect
            worst = max(worst, abs(defect))
        if worst <= enough * most:
            break
        lu_solve(S, pivots, work, size)
        for i in range(size):
            x[i] += work[i]


@inner
def log_root_det(S, size):
    """Half the logarithm of |det S|, from factors: that of s, the product of the singular values of the rows, and a
    constant."""
    total = 0.0
    for j in range(size):
        total += math.log(abs(S[j * size + j]))
    return 0.5 * total


def no_ranks() -> np.ndarray:
    """Room for what a march knows of ranks, of none so far: log s at three steps, or what
    `steps.runge_kutta.kernels.collocation` needs."""
    return np.full(16, np.nan)


@inlined
def touches_zero(older, before, here):
    """Whether s, given by logarithms at three steps, falls to zero near the middle one and rises again.

    In steps of one length s = |x|, |x + 1|, ..: next to the smallest is one at least three times as large, or sqrt(3)
    times where matrices hold s of two neighbours (those of second rates). Steps that follow the motion change s by
    less elsewhere."""
    return before <= older and before <= here and LOW + before < max(older, here)


@inner
def _left_of_defects(S, pivots, low, eps, n, m, x):
    """Of defects low z, in the 1-norm: before, after one solution, and of what that left after another one.

    A solution leaves eps (s^2 + eps)^-1 c of a defect c, next to nothing unless s is small. Rows that always depend on
    each other have no part in c, unless violations made them differ.
    """
    before, first, second = 0.0, 0.0, 0.0
    for k in range(m):
        defect = 0.0 * x[0]
        for j in range(n):
            defect += low[k * n + j] * math.cos(1.0 + 2.0 * j)
        before += abs(defect)
        x[n + k] = defect
    for j in range(n):
        x[j] = 0.0
    lu_solve(S, pivots, x, n + m)
    for k in range(m):
        x[n + k] = -eps[k] * x[n + k]
        first += abs(x[n + k])
    for j in range(n):
        x[j] = 0.0
    lu_solve(S, pivots, x, n + m)
    for k in range(m):
        second += abs(eps[k] * x[n + k])
    return before, first, second


@inner
def nearly_lost(S, pivots, low, eps, once, again, n, m, x):
    """Whether eps is felt in some direction that rows (the second block, `low`) move in: s^2 is not far above it.

    Both solutions leave the shares `once` and `again` or more.
    """
    before, first, second = _left_of_defects(S, pivots, low, eps, n, m, x)
    return first > once * before and second > again * first


@inner
def weakest(S, pivots, low, eps, n, m, x):
    """eps / (s^2 + eps) of the direction that rows (the second block, `low`) hold least."""
    _, first, second = _left_of_defects(S, pivots, low, eps, n, m, x)
    share = second / first if first > 0.0 else 0.0
    again = 0
    while share > WEAK and again < 3:
        # of several weak directions the weakest is left, and what violations made of dependent rows is small yet
        again += 1
        first, second = second, 0.0
        for k in range(m):
            x[n + k] = -eps[k] * x[n + k]
        for j in range(n):
            x[j] = 0.0
        lu_solve(S, pivots, x, n + m)
        for k in range(m):
            second += abs(eps[k] * x[n + k])
        share = second / first if first > 0.0 else 0.0
    return share
