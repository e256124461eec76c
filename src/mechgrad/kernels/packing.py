"""Packed values to dense matrices."""

from __future__ import annotations

from mechgrad.kernels.jit import entry


@entry
def spread(values, flat, out):
    """out[k, flat[i]] = values[k, i], all else 0: packed rows (nt, nnz) to matrices (nt, rows * cols)."""
    for k in range(values.shape[0]):
        for i in range(out.shape[1]):
            out[k, i] = 0.0
        for i in range(flat.size):
            out[k, flat[i]] = values[k, i]
