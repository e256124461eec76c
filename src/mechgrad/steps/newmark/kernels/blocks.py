"""The linearised equations of implicit steps: records that tangent and adjoint share, and factors of their matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import log_root_det, saddle_factor
from mechgrad.dynamics.kernels.sparse import Sparse, first_entry
from mechgrad.dynamics.kernels.sparse_columns import good_factors, spread_rows, spread_square
from mechgrad.kernels.jit import inlined, inner, spliced
from mechgrad.kernels.records import allocate
from mechgrad.kernels.sparse_lu import slot_count


class StepBlocks(NamedTuple):
    """Linearised equations of N steps; matrices row by row, or by entries (`dynamics.kernels.sparse`), one line per
    step."""

    d: np.ndarray  # (N, n) the tangent step from the state before
    K: np.ndarray  # r_q, r_v, r_a where Newton's equations hold
    C: np.ndarray
    M: np.ndarray
    Gamma: np.ndarray
    c_q: np.ndarray  # partials of the constraint that is solved; c_a is w2 Gamma
    c_v: np.ndarray
    total: np.ndarray  # (N, m) w0 + w1 cv + w2 ca, and w2 (m,)
    w2: np.ndarray
    projected: np.ndarray  # (N,) which steps were, and the partials of projections
    K2: np.ndarray
    rate_q: np.ndarray
    K3: np.ndarray
    second_q: np.ndarray
    second_v: np.ndarray


class StepNumbers(NamedTuple):
    """Numbers of N steps of one scheme, each of its own length; every field has its own type."""

    h: np.ndarray  # (N,)
    scale: np.ndarray  # (N,) beta h^2
    cv: np.ndarray  # (N,)
    ca: np.ndarray  # (N,)
    eps: np.ndarray  # (N,) of the second block of Newton's matrix, times the total weight of its row
    passes: int
    eps_projection: np.ndarray  # (m,)
    passes_projection: int


class StepTerms(NamedTuple):
    """What parameters do to the equations of N steps, (N, n or m, columns): to Newton's equations r and constraints c,
    to the projection of velocities and of accelerations (impulses and rows). For adjoints: the weights of these terms,
    (objectives, N, n or m), so that the gradient is the sum of their products."""

    residual: np.ndarray
    constraint: np.ndarray
    velocity_impulse: np.ndarray
    rate: np.ndarray
    acceleration_impulse: np.ndarray
    second: np.ndarray


class StateColumns(NamedTuple):
    """Of the states after N steps, (N, n or m, columns): their changes, or gradients by them."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray


class Scratch(NamedTuple):
    """Factors of both matrices of a step, right-hand sides and changes (., columns)."""

    A: np.ndarray
    low: np.ndarray
    S: np.ndarray  # Newton's matrix, and that of projections
    P: np.ndarray
    x: np.ndarray  # right-hand side and solution, with room for `refined_columns`
    c: np.ndarray
    work: np.ndarray
    q: np.ndarray  # columns of the state on its way through a step
    v: np.ndarray
    a: np.ndarray
    d: np.ndarray
    eps: np.ndarray
    pivots_S: np.ndarray
    pivots_P: np.ndarray
    given: np.ndarray  # (n + m, columns) for solutions by entries
    rest: np.ndarray
    ones: np.ndarray
    sparse: Sparse | None


def make_scratch(blocks, count, sparse=None):
    n, m = blocks.d.shape[1], blocks.w2.size
    size = n + m
    factors, refined = (size * size, (0, count)) if sparse is None else (slot_count(sparse), (size, count))
    sizes = {
        "A": blocks.K.shape[1], "low": blocks.Gamma.shape[1], "S": factors, "P": factors, "x": (size, count),
        "c": (m, count), "work": (size, count), "q": (n, count), "v": (n, count), "a": (n, count), "d": (n, count),
        "eps": m, "given": refined, "rest": refined, "ones": size,
    }  # fmt: skip
    pivots = {name: np.zeros(size, np.int64) for name in ("pivots_S", "pivots_P")}
    return allocate(Scratch, sizes, float, sparse=sparse, **pivots)


@inlined
def copy_columns(source, target):
    """target := the first rows of the source."""
    for j in range(target.shape[0]):
        for k in range(target.shape[1]):
            target[j, k] = source[j, k]


@inner
def _newton_factors(atoms_i, numbers, blocks, i, scratch):
    """Factors of Newton's matrix in step i. Returns False where it is singular."""
    n, m, d = blocks.d.shape[1], blocks.w2.size, blocks.d[i]
    K, C, M, Gamma, c_q, c_v = blocks.K[i], blocks.C[i], blocks.M[i], blocks.Gamma[i], blocks.c_q[i], blocks.c_v[i]
    total, w2, A, low, eps = blocks.total[i], blocks.w2, scratch.A, scratch.low, numbers.eps[i]
    scale, cv, ca = numbers.scale[i], numbers.cv[i], numbers.ca[i]
    for k in range(m):
        scratch.eps[k] = eps / total[k]
    sparse = scratch.sparse
    for j in range(A.size):
        A[j] = scale * K[j]
    spread_square(sparse, atoms_i, d, A, n)
    for j in range(A.size):
        A[j] += scale * (cv * C[j] + ca * M[j])
    for j in range(low.size):
        low[j] = c_q[j]
    spread_rows(sparse, atoms_i, d, low, m, n)
    for k in range(m):
        for at in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
            low[at] = (low[at] + cv * c_v[at] + ca * w2[k] * Gamma[at]) / total[k]
    return saddle_factor(sparse, A, Gamma, low, scratch.eps, n, m, scratch.S, scratch.pivots_S)


@spliced
def both_factors(atoms_i, numbers, blocks, i, scratch, rank):
    """Factors of both matrices of step i; rank: how far constraints are from losing theirs. Returns False where one is
    singular."""
    n, m = blocks.d.shape[1], blocks.w2.size
    if not _newton_factors(atoms_i, numbers, blocks, i, scratch):
        return False
    if not good_factors(scratch.sparse, scratch.S, scratch.pivots_S, scratch.ones):
        return False
    rank[i] = log_root_det(scratch.sparse, scratch.S, n + m)
    if m == 0 or not blocks.projected[i]:
        return True
    M, Gamma = blocks.M[i], blocks.Gamma[i]
    P, pivots, sparse = scratch.P, scratch.pivots_P, scratch.sparse
    if not saddle_factor(sparse, M, Gamma, Gamma, numbers.eps_projection, n, m, P, pivots):
        return False
    return good_factors(sparse, P, pivots, scratch.ones)
