"""Matrices of the equations of motion as dense ones, row by row; large mechanisms take `dynamics.kernels.sparse`."""

from __future__ import annotations

from mechgrad.dynamics.kernels.laws import law_int
from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import load, store
from mechgrad.model.mechanism import L_FIRST, L_ROWS, LAW_WIDTH, N_LAWS, N_V
from mechgrad.model.tree import C_PARENT


@inner
def dense_mass(columns_i, chain_start, chains, M, scalar):
    """M stored by chains, as a dense matrix."""
    n_v = columns_i.shape[0]
    zero = scalar * 0.0
    for i in range(n_v * n_v):
        store(M, i, zero)
    for j in range(n_v):
        slot, c = chain_start[j], j
        while c >= 0:
            value = load(chains, slot, scalar)
            store(M, j * n_v + c, value)
            store(M, c * n_v + j, value)
            c = columns_i[c, C_PARENT]
            slot += 1


@inner
def unpack(rows, cols, packed_q, packed_v, packed_a, K, C, M, n_v, scalar):
    """Packed derivatives as dense matrices."""
    zero = scalar * 0.0
    for i in range(n_v * n_v):
        store(K, i, zero)
        store(C, i, zero)
        store(M, i, zero)
    for e in range(rows.size):
        at = rows[e] * n_v + cols[e]
        store(K, at, load(packed_q, e, scalar))
        store(C, at, load(packed_v, e, scalar))
        store(M, at, load(packed_a, e, scalar))


@inner
def add_law_partials(ints, J, J_rate, y_g, y_gd, K, C, scalar):
    """K += Gamma^T (F_g Gamma + F_g' Gamma_rate), C += Gamma^T F_g' Gamma over all laws."""
    n_v, most = ints[N_V], ints[LAW_WIDTH]
    for k in range(ints[N_LAWS]):
        start, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        for i in range(start, start + rows):
            for c in range(n_v):
                by_q, by_v = scalar * 0.0, scalar * 0.0
                for j in range(rows):
                    g = load(J, (start + j) * n_v + c, scalar)
                    damping = load(y_gd, i * most + j, scalar)
                    by_q = by_q + load(y_g, i * most + j, scalar) * g
                    by_q = by_q + damping * load(J_rate, (start + j) * n_v + c, scalar)
                    by_v = by_v + damping * g
                for row in range(n_v):
                    weight = load(J, i * n_v + row, scalar)
                    at = row * n_v + c
                    store(K, at, load(K, at, scalar) + weight * by_q)
                    store(C, at, load(C, at, scalar) + weight * by_v)
