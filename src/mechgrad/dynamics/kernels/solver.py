"""Numbers and workspace of the implicit solution of one step, shared by all formulations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.loop_elimination import Loops
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.kernels.records import allocate
from mechgrad.kernels.sparse_lu import slot_count
from mechgrad.model.mechanism import Mechanism, has_pairs


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
    scales: np.ndarray  # (m,) inverse masses that act in rows, `states.row_scales`


class Solver(NamedTuple):
    """Workspace for matrices, factors and vectors of one step; n velocities, m constraints, matrices row by row."""

    eps: np.ndarray  # (m,) second block of the acceleration problem, and its stabilisation
    omega: float
    xi: float
    compliant: bool  # whether eps stays in the equations
    A: np.ndarray  # (n, n) Newton's matrix without its constraints, and its parts r_q, r_v, r_a
    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    J: np.ndarray  # (m, n) rows of the constraint that is solved
    S: np.ndarray  # (n + m, n + m) factors of Newton's matrix, and of a matrix of accelerations or projections
    P: np.ndarray
    pivots_S: np.ndarray
    pivots_P: np.ndarray
    r: np.ndarray  # (n,) residual
    x: np.ndarray  # (n + m,) right-hand side and solution
    c: np.ndarray  # (m,) right-hand side of constraints, or the multipliers that eps counts from
    work: np.ndarray  # scratch of a solution, or a configuration
    eps_newton: np.ndarray  # (m,) second block of a Newton matrix or projection, and that of the factors in S
    eps_watch: np.ndarray
    sparse: Sparse | None  # where entries of matrices are, or None: then they are dense
    loops: Loops | None  # recursive elimination in place of matrices, or None


def make_solver(
    mechanism: Mechanism, eps: float = 0.0, omega: float = 0.0, xi: float = 0.0, *, compliant: bool = False,
    sparse: Sparse | None = None, loops: Loops | None = None,
) -> Solver:  # fmt: skip
    """Workspace for a mechanism; without matrices if its loops are eliminated recursively."""
    n, m, dtype = mechanism.n_v if has_pairs(mechanism) else 0, mechanism.n_constraints, mechanism.atoms_f.dtype
    if loops is not None:
        n = m = 0
    size = n + m
    square, rows, factors = n * n, m * n, size * size
    if sparse is not None:
        square, rows, factors = sparse.entry_rows.size, sparse.up_slots.size, slot_count(sparse)
    sizes = {
        "A": square, "K": square, "C": square, "M": square, "J": rows, "S": factors, "P": factors, "r": n, "x": size,
        "c": m, "work": max(size, mechanism.n_q), "eps_newton": m, "eps_watch": m,
    }  # fmt: skip
    return allocate(
        Solver, sizes, dtype, eps=np.full(m, eps, dtype), omega=float(omega), xi=float(xi), compliant=bool(compliant),
        pivots_S=np.zeros(size, np.int64), pivots_P=np.zeros(size, np.int64), sparse=sparse,
        loops=loops,
    )  # fmt: skip
