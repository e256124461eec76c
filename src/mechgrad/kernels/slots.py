"""Scratch of one block of samples: arrays of slots (`kernels.lanes`), and rows of samples out of them."""

from __future__ import annotations

import numpy as np

from mechgrad.kernels.host import LINE
from mechgrad.kernels.jit import allocator, inner
from mechgrad.kernels.lanes import scatter, width


@allocator
def slots(count, like, scalar):
    """`count` slots of the kernel's scalar, in the type of the array `like`, not yet filled.

    They begin with a line of the cache: lanes that lie across two lines take twice as long to load.
    """
    n = count * width(scalar)
    if width(scalar) == 1:
        return np.empty(n, like.dtype)
    array = np.empty(n + LINE // 8, like.dtype)
    first = (-array.ctypes.data) % LINE // like.itemsize
    return array[first : first + n]


@inner
def scatter_all(scratch, rows, row, scalar):
    """`scatter` of every array of slots of a tuple into the array (nt, m) at the same place of another."""
    for source, target in zip(scratch, rows):  # noqa: B905 - compiled
        scatter(source, 0, target, row, scalar)
