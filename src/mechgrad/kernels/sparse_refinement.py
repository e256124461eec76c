"""Solutions with the factors of `kernels.sparse_lu`, refined as far as their backward error asks for it:

    max_i |b - A x|_i / (|A| |x| + |b|)_i

Pivots on the diagonal do not bound it beforehand. Where repetitions do not make it small, `lost` counts the solution;
whoever called then takes factors with pivoting (`kernels.lu`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import inner
from mechgrad.kernels.sparse_lu import sparse_substitute

ENOUGH, LOST = 1e-13, 1e-9  # backward errors that need no refinement, and that count as lost after
REFINED = 4  # at most so often


class Refinement(NamedTuple):
    """Workspace of solutions of one matrix at a time."""

    given: np.ndarray  # (N,) right-hand side, what is left of it, and the size of the terms it is made of
    rest: np.ndarray
    size: np.ndarray
    lost: np.ndarray  # (2,) solutions without enough digits, and repetitions


@inner
def _backward_error(lu, S, x, refinement):
    """What x leaves of the right-hand side, into refinement.rest, and its largest share of the terms it is made of."""
    order, start, later = lu.order, lu.start, lu.later
    given, rest, size = refinement.given, refinement.rest, refinement.size
    unknowns, entries = order.size, later.size
    kept = 2 * (unknowns + entries)
    upper, lower = kept + unknowns, kept + unknowns + entries
    for i in range(unknowns):
        rest[i], size[i] = given[i], abs(given[i])
    for p in range(unknowns):
        i = order[p]
        here = S[kept + p] * x[i]
        left, terms = rest[i] - here, abs(size[i]) + abs(here)
        for a in range(start[p], start[p + 1]):
            j = later[a]
            there, here = S[lower + a] * x[i], S[upper + a] * x[j]
            left, terms = left - here, terms + abs(here)
            rest[j] -= there
            size[j] += abs(there)
        rest[i], size[i] = left, terms
    worst = 0.0
    for i in range(unknowns):
        left, terms = abs(rest[i]), abs(size[i])
        if not left <= worst * terms:
            worst = left / terms
    return worst


@inner
def sparse_solve(lu, S, x, refinement):
    """x := A^-1 x, refined; counts in refinement.lost[0] where too few digits are left."""
    given, rest, lost = refinement.given, refinement.rest, refinement.lost
    for i in range(x.size):
        given[i] = x[i]
    sparse_substitute(lu, S, x)
    worst = _backward_error(lu, S, x, refinement)
    passes = 0
    while worst > ENOUGH and passes < REFINED:
        sparse_substitute(lu, S, rest)
        for i in range(x.size):
            x[i] += rest[i]
        passes += 1
        worst = _backward_error(lu, S, x, refinement)
    lost[1] += passes
    if not worst <= LOST:
        lost[0] += 1


@inner
def passes_needed(lu, S, x, refinement):
    """How often solutions with these factors are to be refined, by that of a right-hand side of ones."""
    before = refinement.lost[1]
    for i in range(x.size):
        x[i] = 1.0
    sparse_solve(lu, S, x, refinement)
    return refinement.lost[1] - before
