"""Products and solutions with many right-hand sides, dense or by entries (`dynamics.kernels.sparse`): what linearised
steps are made of.

Columns X (n + m, count) have the velocities first, then the constraint rows; A is a matrix of velocities, J of rows.
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.turning import spread_matrix
from mechgrad.kernels.jit import inner
from mechgrad.kernels.right_hand_sides import REFINED as LEFT
from mechgrad.kernels.right_hand_sides import add_product, add_transposed, refined_columns
from mechgrad.kernels.rotation import angle_factors, cross_polynomial
from mechgrad.kernels.sparse_refinement import REFINED, passes_needed
from mechgrad.kernels.sparse_right_hand_sides import add_entries, sparse_solve_columns
from mechgrad.kernels.vec3 import dot
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import KIND, V_AT


@inner
def add_square(sparse, A, n, X, out, factor):
    """out += factor A X of velocities."""
    if sparse is None:
        add_product(A, n, n, X, out, 0, factor)
    if sparse is not None:
        add_entries(A, sparse.entry_rows, 0, sparse.entry_cols, 0, X, out, factor)


@inner
def add_rows(sparse, J, m, n, X, out, factor):
    """out[n:] += factor J X."""
    if sparse is None:
        add_product(J, m, n, X, out, n, factor)
    if sparse is not None:
        add_entries(J, sparse.row_of, n, sparse.row_columns, 0, X, out, factor)


@inner
def add_square_transposed(sparse, A, n, X, out, factor):
    """out += factor A^T X of velocities."""
    if sparse is None:
        add_transposed(A, n, n, X, 0, out, factor)
    if sparse is not None:
        add_entries(A, sparse.entry_cols, 0, sparse.entry_rows, 0, X, out, factor)


@inner
def add_rows_transposed(sparse, J, m, n, X, out, factor):
    """out += factor J^T X[n:]."""
    if sparse is None:
        add_transposed(J, m, n, X, n, out, factor)
    if sparse is not None:
        add_entries(J, sparse.row_columns, 0, sparse.row_of, n, X, out, factor)


@inner
def _spread_entries(start, entries, by, ball, A):
    """The three entries of each row that a ball's columns have, as a row, times D."""
    _, b, c = angle_factors(dot(by, by))
    for e in range(start[ball], start[ball + 1], 3):
        i, j, k = entries[e], entries[e + 1], entries[e + 2]
        A[i], A[j], A[k] = cross_polynomial(by, -b, c, (A[i], A[j], A[k]))


@inner
def spread_square(sparse, atoms_i, d, A, n):
    """A := A D (`dynamics.kernels.turning`)."""
    if sparse is None:
        spread_matrix(atoms_i, d, A, n, n)
    if sparse is not None:
        for i in range(atoms_i.shape[0]):
            if atoms_i[i, KIND] == BALL:
                j = atoms_i[i, V_AT]
                _spread_entries(sparse.ball_start, sparse.ball_entries, (d[j], d[j + 1], d[j + 2]), i, A)


@inner
def spread_rows(sparse, atoms_i, d, J, m, n):
    """J := J D."""
    if sparse is None:
        spread_matrix(atoms_i, d, J, m, n)
    if sparse is not None:
        for i in range(atoms_i.shape[0]):
            if atoms_i[i, KIND] == BALL:
                j = atoms_i[i, V_AT]
                _spread_entries(sparse.ball_row_start, sparse.ball_row_entries, (d[j], d[j + 1], d[j + 2]), i, J)


@inner
def good_factors(sparse, S, pivots, x):
    """Whether factors give solutions of enough digits; how often these are to be refined goes into pivots[0]."""
    good = True
    if sparse is not None:
        pivots[0] = min(passes_needed(sparse, S, x, sparse), REFINED)
        good = sparse.lost[0] == 0
    return good


@inner
def solve_refined(sparse, S, pivots, J, X, n, m, back, passes, scratch):
    """`right_hand_sides.refined_columns` of dense matrices or entries."""
    if sparse is None:
        refined_columns(S, pivots, J, X, n, m, back, passes, scratch.c, scratch.work)
    if sparse is not None:
        _refined_entries(sparse, S, pivots[0], J, X, n, m, back, passes, scratch)


@inner
def _refined_entries(sparse, S, repeats, J, X, n, m, back, passes, scratch):
    size, most, c, work, given, rest = n + m, 0.0, scratch.c, scratch.work, scratch.given, scratch.rest
    backwards = 1
    if back is None:
        backwards = 0
    if passes:
        for i in range(m):
            for k in range(X.shape[1]):
                c[i, k] = X[n + i, k]
        for i in range(size):
            for k in range(X.shape[1]):
                most = max(most, abs(X[i, k]))
    sparse_solve_columns(sparse, S, X, backwards, repeats, given, rest)
    for _ in range(passes):
        worst = 0.0
        for i in range(n):
            for k in range(X.shape[1]):
                work[i, k] = 0.0
        for i in range(m):
            for k in range(X.shape[1]):
                work[n + i, k] = c[i, k]
        add_rows(sparse, J, m, n, X, work, -1.0)
        for i in range(m):
            for k in range(X.shape[1]):
                worst = max(worst, abs(work[n + i, k]))
        if worst <= LEFT * most:
            break
        sparse_solve_columns(sparse, S, work, backwards, repeats, given, rest)
        for i in range(size):
            for k in range(X.shape[1]):
                X[i, k] += work[i, k]
