"""Matrices of the equations of motion as dense ones, row by row; large mechanisms take `dynamics.kernels.sparse`."""

from __future__ import annotations

from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import load, store
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
