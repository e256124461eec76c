"""Steps by fixed-point iteration, held as they were taken: what tangent and adjoint share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import inlined
from mechgrad.kernels.records import allocate

# beside the largest number of a column: a change that is smaller ends an iteration; and one that no longer falls, if it
# can be rounding, of the column itself or of what it is a difference of
ENOUGH, ROUNDING, CANCELLED = 1e-14, 1e-11, 1e-13


class HeldSteps(NamedTuple):
    """N steps: their lengths; cv, ca as in `newmark.kernels.scheme`; d (N, n_v), the tangent steps."""

    h: np.ndarray
    cv: np.ndarray
    ca: np.ndarray
    d: np.ndarray


class Scratch(NamedTuple):
    """Columns (n_v, count) of a step on its way: changes of its state, or gradients by it; and the unknowns."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    d: np.ndarray
    x: np.ndarray


def make_scratch(n, count):
    """Workspace for some columns."""
    return allocate(Scratch, dict.fromkeys(Scratch._fields, (n, count)), float)


@inlined
def is_found(change, before, size, terms):
    """Whether an iteration is done whose last pass changed its column by `change`, and the pass before by `before`.
    With a NaN it never is.

    size: of the column;   terms: of what it is a difference of
    """
    return change <= ENOUGH * size or (before <= change <= max(ROUNDING * size, CANCELLED * terms))
