"""Matrices of large mechanisms by the entries that can differ from zero, and their saddle-point systems.

    A = K, C, M and sums of these: pairs of related columns in the packed order of the tree, then pairs that rows relate
    J = Gamma and its twins: row by row, the columns that move a row
    S = [ A  up^T ; low  -eps ]: slots of `kernels.sparse_lu`

Passes that serve dense matrices, too, take a record `Sparse` or None: branches on None vanish before types are looked
at, so that one source serves both and neither pays for the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.law_partials import NOTHING, law_acts
from mechgrad.dynamics.kernels.laws import law_int
from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.sparse_lu import sparse_substitute
from mechgrad.kernels.sparse_refinement import sparse_solve
from mechgrad.model.mechanism import L_FIRST, L_ROWS, LAW_WIDTH
from mechgrad.model.tree import C_DIAGONAL


class Sparse(NamedTuple):
    """Where entries are (`dynamics.elimination`), and the workspace of solutions."""

    entry_rows: np.ndarray  # of A
    entry_cols: np.ndarray
    entry_slots: np.ndarray  # of A in S
    row_start: np.ndarray  # (rows + 1,) where the entries of each row of J begin
    row_columns: np.ndarray  # column and row of each
    row_of: np.ndarray
    up_slots: np.ndarray  # of J^T and J of constraints in S
    low_slots: np.ndarray
    eps_slots: np.ndarray  # (m,)
    chain_up: np.ndarray  # entries of A of the mass matrix by chains, and of its transpose
    chain_down: np.ndarray
    walk_start: np.ndarray  # `kinematics.kernels.sparse_rows`
    walk: np.ndarray
    term_entries: np.ndarray  # entries of J of the terms of LINEAR rows
    bent_start: np.ndarray  # entries of A that a row with multiplier bends, square by square
    bent: np.ndarray
    law_start: np.ndarray  # entries of A that laws add to, row by row of each pair of their rows
    law_entries: np.ndarray
    ball_start: np.ndarray  # (atoms + 1,) entries of A, and of constraints in J, that the three columns of a ball have
    ball_entries: np.ndarray
    ball_row_start: np.ndarray
    ball_row_entries: np.ndarray
    order: np.ndarray  # `kernels.sparse_lu.Elimination`
    start: np.ndarray
    later: np.ndarray
    target: np.ndarray
    given: np.ndarray  # `kernels.sparse_refinement.Refinement`
    rest: np.ndarray
    size: np.ndarray
    lost: np.ndarray


# ---- entries of rows, in either form


@inlined
def first_entry(sparse, k, n):
    """Where the entries of row k of J begin; row k + 1 begins where they end."""
    at = k * n
    if sparse is not None:
        at = sparse.row_start[k]
    return at


@inlined
def column_of(sparse, e, k, n):
    """The column of entry e, one of row k."""
    j = e - k * n
    if sparse is not None:
        j = sparse.row_columns[e]
    return j


@inlined
def diagonal_entry(sparse, columns_i, j):
    """Where A_jj is."""
    at = j * (columns_i.shape[0] + 1)
    if sparse is not None:
        at = columns_i[j, C_DIAGONAL]
    return at


@inlined
def lost_digits(sparse):
    """Whether a solution was left with too few digits since the march began."""
    lost = False
    if sparse is not None:
        lost = sparse.lost[0] > 0
    return lost


# ---- matrices


@inner
def unpack_entries(packed_q, packed_v, packed_a, K, C, M, related, entries, scalar):
    """Packed derivatives, of `related` pairs of columns, as entries of A; zeros for what rows add."""
    zero = scalar * 0.0
    for e in range(related):
        store(K, e, load(packed_q, e, scalar))
        store(C, e, load(packed_v, e, scalar))
        store(M, e, load(packed_a, e, scalar))
    for e in range(related, entries):
        store(K, e, zero)
        store(C, e, zero)
        store(M, e, zero)


@inner
def put_mass(sparse, chains, M, scalar):
    """M stored by chains as entries of A."""
    zero = scalar * 0.0
    for e in range(sparse.entry_rows.size):
        store(M, e, zero)
    for c in range(sparse.chain_up.size):
        value = load(chains, c, scalar)
        store(M, sparse.chain_up[c], value)
        store(M, sparse.chain_down[c], value)


@inner
def add_sparse_law_partials(ints, near_laws, sparse, J, J_rate, y, y_g, y_gd, K, C, scalar):
    """K += Gamma^T (F_g Gamma + F_g' Gamma_rate), C += Gamma^T F_g' Gamma over all laws that act."""
    most, row_start, law_entries = ints[LAW_WIDTH], sparse.row_start, sparse.law_entries
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        if not law_acts(ints, y, y_g, y_gd, k, scalar):
            continue
        start, rows, p = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS), sparse.law_start[k]
        for i in range(start, start + rows):
            for j in range(rows):
                by_value, by_rate = load(y_g, i * most + j, scalar), load(y_gd, i * most + j, scalar)
                if not any_not_less(magnitude(by_value) + magnitude(by_rate), NOTHING):
                    p += (row_start[start + j + 1] - row_start[start + j]) * (row_start[i + 1] - row_start[i])
                    continue
                for b in range(row_start[start + j], row_start[start + j + 1]):
                    g = load(J, b, scalar)
                    by_q, by_v = by_value * g + by_rate * load(J_rate, b, scalar), by_rate * g
                    for a in range(row_start[i], row_start[i + 1]):
                        weight, at = load(J, a, scalar), law_entries[p]
                        store(K, at, load(K, at, scalar) + weight * by_q)
                        store(C, at, load(C, at, scalar) + weight * by_v)
                        p += 1


@inner
def put_product(sparse, A, x, y):
    """The first entries of y := A x, dense or by entries."""
    n = x.size
    for i in range(n):
        y[i] = 0.0 * x[0]
    if sparse is None:
        for i in range(n):
            for j in range(n):
                y[i] += A[i * n + j] * x[j]
    if sparse is not None:
        for e in range(sparse.entry_rows.size):
            y[sparse.entry_rows[e]] += A[e] * x[sparse.entry_cols[e]]


# ---- saddle-point systems


@inner
def put_saddle(sparse, A, up, low, eps, S):
    """S = [ A  up^T ; low  -eps ]."""
    entry_slots, up_slots, low_slots, eps_slots = (
        sparse.entry_slots, sparse.up_slots, sparse.low_slots, sparse.eps_slots,
    )  # fmt: skip
    for k in range(sparse.order.size + 2 * sparse.later.size):
        S[k] = 0.0
    for e in range(entry_slots.size):
        S[entry_slots[e]] = A[e]
    for e in range(up_slots.size):
        S[up_slots[e]] = up[e]
        S[low_slots[e]] = low[e]
    for k in range(eps_slots.size):
        S[eps_slots[k]] = -eps[k]


@inner
def solve_again(sparse, S, pivots, x, size):
    """`solve_factored` of what another solution with the same factors left, without a look at digits."""
    if sparse is None:
        lu_solve(S, pivots, x, size)
    if sparse is not None:
        sparse_substitute(sparse, S, x)


@inner
def solve_factored(sparse, S, pivots, x, size):
    """x := S^-1 x from the factors of `saddle_factor`."""
    if sparse is None:
        lu_solve(S, pivots, x, size)
    if sparse is not None:
        sparse_solve(sparse, S, x, sparse)
