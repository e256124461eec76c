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

from mechgrad.dynamics.kernels.sparse import column_of, first_entry, put_saddle, solve_again
from mechgrad.kernels.jit import entry, inlined, inner, runtime_int
from mechgrad.kernels.lu import lu_factor
from mechgrad.kernels.right_hand_sides import refined_columns, solve_columns, solve_columns_transposed
from mechgrad.kernels.sparse_lu import sparse_factor

LOW = math.log(1.6)
# of a defect, that eps leaves after one solution and of the rest after another: more, and rows nearly lost their rank
SHARE_ONCE, SHARE_AGAIN = 1e-7, 1e-2
# Of the second block where rows depend on each other: it only keeps them regular, and repetitions (a few, PASSES at
# most) take its influence away.
REGULAR, PASSES = 1e-8, 12
WEAK = 1e-3  # share of eps that is worth a closer look
# defects below this, beside the right-hand side, are not worth a repetition
ROUNDING = 1e-13


@inner
def saddle_factor(sparse, A, up, low, eps, n, m, S, pivots):
    """Factor the saddle matrix of A (n, n) into S; `up` (m, n) stands transposed on the right, `low` below.

    eps: (m,); sparse: where entries are, or None for dense matrices. Returns False where the matrix is singular.
    """
    if sparse is None:
        found = dense_saddle_factor(A, up, low, eps, n, m, S, pivots)
    if sparse is not None:
        put_saddle(sparse, A, up, low, eps, S)
        found = sparse_factor(sparse, S)
    return found


@inner
def dense_saddle_factor(A, up, low, eps, n, m, S, pivots):
    """`saddle_factor` of dense matrices."""
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
def saddle_refine(sparse, S, pivots, J, c, x, n, m, passes, enough, work):
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
            for e in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
                defect -= J[e] * x[column_of(sparse, e, k, n)]
            work[n + k] = defect
            worst = max(worst, abs(defect))
        if worst <= enough * most:
            break
        solve_again(sparse, S, pivots, work, size)
        for i in range(size):
            x[i] += work[i]


@inner
def log_root_det(sparse, S, size):
    """Half the logarithm of |det S|, from factors: that of s, the product of the singular values of the rows, and a
    constant."""
    total, step = 0.0, size + 1
    if sparse is not None:
        step = 1
    for j in range(size):
        total += math.log(abs(S[j * step]))
    return 0.5 * total


def no_ranks() -> np.ndarray:
    """Workspace for what a march knows of ranks, of none so far: log s at three steps, or what
    `steps.runge_kutta.kernels.collocation` needs."""
    return np.full(16, np.nan)


@inlined
def next_rank(ranks, here):
    """Note log s at another step, the last of three."""
    ranks[0], ranks[1], ranks[2] = ranks[1], ranks[2], here


@inlined
def forget_ranks(ranks):
    """Nothing is known of the steps before: other matrices come from now on."""
    ranks[1], ranks[2] = np.nan, np.nan


@inlined
def touches_zero(older, before, here):
    """Whether s, given by logarithms at three steps, falls to zero near the middle one and rises again.

    In steps of one length s = |x|, |x + 1|, ..: next to the smallest is one at least three times as large, or sqrt(3)
    times where matrices hold s of two neighbours (those of second rates). Steps that follow the motion change s by
    less elsewhere."""
    return before <= older and before <= here and LOW + before < max(older, here)


@inner
def _left_of_defects(sparse, S, pivots, low, eps, n, m, x):
    """Of defects low z, in the 1-norm: before, after one solution, and of what that left after another one.

    A solution leaves eps (s^2 + eps)^-1 c of a defect c, next to nothing unless s is small. Rows that always depend on
    each other have no part in c, unless violations made them differ.
    """
    before, first, second = 0.0, 0.0, 0.0
    for k in range(m):
        defect = 0.0 * x[0]
        for e in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
            defect += low[e] * math.cos(1.0 + 2.0 * column_of(sparse, e, k, n))
        before += abs(defect)
        x[n + k] = defect
    for j in range(n):
        x[j] = 0.0
    solve_again(sparse, S, pivots, x, n + m)
    for k in range(m):
        x[n + k] = -eps[k] * x[n + k]
        first += abs(x[n + k])
    for j in range(n):
        x[j] = 0.0
    solve_again(sparse, S, pivots, x, n + m)
    for k in range(m):
        second += abs(eps[k] * x[n + k])
    return before, first, second


@inner
def nearly_lost(sparse, S, pivots, low, eps, once, again, n, m, x):
    """Whether eps matters in some direction that rows (the second block, `low`) move in: s^2 is not far above it.

    Both solutions leave the shares `once` and `again` or more.
    """
    before, first, second = _left_of_defects(sparse, S, pivots, low, eps, n, m, x)
    return first > once * before and second > again * first


@inner
def weakest(sparse, S, pivots, low, eps, n, m, x):
    """eps / (s^2 + eps) of the direction that rows (the second block, `low`) hold least."""
    _, first, second = _left_of_defects(sparse, S, pivots, low, eps, n, m, x)
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
        solve_again(sparse, S, pivots, x, n + m)
        for k in range(m):
            second += abs(eps[k] * x[n + k])
        share = second / first if first > 0.0 else 0.0
    return share


@entry
def solve_saddles(M, Gamma, eps, compliant, X, transposed):
    """Lines of X (N, columns, n + m) := S^-1 or S^-T of them, S = [ M Gamma^T ; Gamma -eps ], without the influence of
    eps unless `compliant`. Returns the first of the N with a singular matrix, or -1."""
    m, count = eps.size, X.shape[1]
    size = X.shape[2]
    n = size - m
    P, pivots = np.empty(size * size), np.empty(size, np.int64)
    x, c, work = np.empty((size, count)), np.empty((m, count)), np.empty((size, count))
    passes = 0 if compliant else PASSES
    for i in range(X.shape[0]):
        if not saddle_factor(None, M[i], Gamma[i], Gamma[i], eps, n, m, P, pivots):
            return i
        x[:] = X[i].T
        if transposed:
            refined_columns(P, pivots, Gamma[i], x, n, m, runtime_int(1), passes, c, work)
        else:
            refined_columns(P, pivots, Gamma[i], x, n, m, None, passes, c, work)
        X[i] = x.T
    return -1


@entry
def solve_lines(W, X, transposed):
    """Lines of X (N, columns, n) := W^-1 or W^-T of them, W (N, n n). Returns the first singular one, or -1."""
    n = X.shape[2]
    P, pivots, x = np.empty(n * n), np.empty(n, np.int64), np.empty((n, X.shape[1]))
    for i in range(X.shape[0]):
        P[:] = W[i]
        if not lu_factor(P, pivots, n):
            return i
        x[:] = X[i].T
        if transposed:
            solve_columns_transposed(P, pivots, x, n)
        else:
            solve_columns(P, pivots, x, n)
        X[i] = x.T
    return -1
