"""Saddle-point systems of constrained motion, one sample:

    [ A      Gamma^T ] [ x ]   [ b ]
    [ Gamma  -eps    ] [ y ] = [ c ]

eps > 0 keeps the matrix regular where rows of Gamma depend on each other; eliminating the second block gives the
penalty matrix A + Gamma^T Gamma / eps, whose condition this form does not inherit. Repeating the solution with the
remaining defect c - Gamma x (the augmented Lagrangian) takes the influence of eps away.
"""

from __future__ import annotations

from mechgrad.kernels.jit import inner
from mechgrad.kernels.lu import lu_factor, lu_solve

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
def saddle_refine(S, pivots, J, c, x, n, m, passes, work):
    """Take the influence of eps from the solution x (n + m) with right-hand side c (m) of the second block.

    Stops after `passes` repetitions, or when the defects are rounding beside c.
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
        if worst <= ROUNDING * most:
            break
        lu_solve(S, pivots, work, size)
        for i in range(size):
            x[i] += work[i]
