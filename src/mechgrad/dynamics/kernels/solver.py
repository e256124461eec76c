"""Numbers and room of the implicit solution of one step, shared by all formulations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.model.mechanism import N_CONSTRAINTS, N_Q, Mechanism, has_pairs


class Settings(NamedTuple):
    """A formulation and a scheme as numbers; every field has its own type, so that one machine code serves all.

    weight_0, weight_1, weight_2: the constraint that is solved, w0 value + w1 rate + w2 second rate = compliance lam
    """

    beta: float
    gamma: float
    alpha_m: float
    alpha_f: float
    weight_0: float
    weight_1: float
    weight_2: float
    alpha: float  # penalty of the Newton matrix; beside 1 / scales, unless constraints are compliant
    compliant: float  # 1 where the penalty stays in the equations, 0 where multipliers take its place
    carry: float  # share of the multipliers with which the next step starts
    projection: float  # penalty of the projections, beside 1 / scales; 0: none
    project_accelerations: bool
    passes: int  # repetitions of a projection (augmented Lagrangian)
    enough: float  # share of defects that a projection may leave
    project_above: float  # conditional projection: only where a rate exceeds this
    tolerance: float
    max_iterations: int
    exact: bool  # derivatives of inertia and gradients in the Newton matrix
    reuse: bool  # keep the factors while they serve
    watch: bool  # end where rows lose their rank: the formulation cannot tell how the motion goes on
    scales: np.ndarray  # (m,) inverse masses that rows feel, `states.row_scales`


class Solver(NamedTuple):
    """Room for matrices, factors and vectors of one step."""

    eps: np.ndarray  # (m,)
    omega: float
    xi: float
    compliant: bool
    A: np.ndarray  # Newton matrix and its parts, (n, n)
    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    J: np.ndarray  # rows of the constraint that is solved, (m, n)
    S: np.ndarray  # factors of the saddle matrices, (n + m, n + m)
    P: np.ndarray
    pivots_S: np.ndarray
    pivots_P: np.ndarray
    r: np.ndarray
    x: np.ndarray
    c: np.ndarray
    work: np.ndarray
    eps_newton: np.ndarray  # (m,)
    eps_watch: np.ndarray  # (m,) that of the factors in S


def make_solver(
    T: Mechanism, eps: float = 0.0, omega: float = 0.0, xi: float = 0.0, *, compliant: bool = False
) -> Solver:
    """Room for a mechanism."""
    n, m, dtype = T.columns_i.shape[0] if has_pairs(T) else 0, int(T.ints[N_CONSTRAINTS]), T.atoms_f.dtype
    size = n + m
    return Solver(
        np.full(m, eps, dtype), float(omega), float(xi), bool(compliant),
        np.empty(n * n, dtype), np.empty(n * n, dtype), np.empty(n * n, dtype), np.empty(n * n, dtype),
        np.empty(m * n, dtype), np.empty(size * size, dtype), np.empty(size * size, dtype),
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(n, dtype), np.empty(size, dtype),
        np.empty(m, dtype), np.empty(max(size, int(T.ints[N_Q])), dtype), np.empty(m, dtype), np.empty(m, dtype),
    )  # fmt: skip
