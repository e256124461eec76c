"""Packed values to dense matrices."""

from __future__ import annotations

from mechgrad.kernels.jit import entry


@entry
def spread(values, flat, out):
    """out[k] = 0 except out[k, flat[i]] = values[k, i]: rows of packed values (nt, nnz) to rows of matrices (nt, size)."""
    for k in range(values.shape[0]):
        for i in range(out.shape[1]):
            out[k, i] = 0.0
        for i in range(flat.size):
            out[k, flat[i]] = values[k, i]
