"""Implicit steps by fixed-point iteration once more, differentiated without a matrix: O(n) per parameter or objective.

A step has found accelerations with a1 = A(q1, v1, t1), where the scheme moves q1, v1 and a1 with one unknown u:

    dq1 = dq0 + D du,    dv1 = dv0 + cv du,    da1 = da0 + ca du         what the state before leaves behind marked 0
    ca du = A_q dq1 + A_v dv1 + A_p dp - da0

This linear system has the slope of the march's own iteration, and is solved by it: du is what the iteration leaves when
its values stay where they converged. Backwards, with weights gq, gv, ga on the state after the step,

    ca y = (D^T gq + cv gv + ca ga) + (D^T A_q^T + cv A_v^T) y           the transpose, by the transposed iteration

and A_q^T y, A_v^T y come from one elimination and one sweep each way (`dynamics.kernels.state_gradient`). Where the
march converged, both do; they say so where they do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mechgrad.dynamics.states import States, as_complex, slopes
from mechgrad.errors import InputError
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.mechanics.energies import weightless_tree
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.cuts import March
from mechgrad.steps.failures import REASONS
from mechgrad.steps.fixed_point.kernels.steps import HeldSteps
from mechgrad.steps.newmark.kernels import march as _marches
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.pieces import ImplicitSteps, Span, Taken
from mechgrad.steps.newmark.scheme import coefficients, scheme_update
from mechgrad.steps.record import Record
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**25  # of states and their weights, or of direct effects, kept at a time
PER_STEP = 16  # numbers per velocity that a step takes itself


class Piece(NamedTuple):
    """Steps with the states where accelerations were found, and what parameters do to these directly, (N, n_v, np);
    None in an adjoint sweep."""

    taken: Taken
    states: States
    held: HeldSteps
    direct_effects: FloatArray | None


class FixedPointSteps(ImplicitSteps):
    """Steps of the Newmark family by fixed-point iteration."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        super().__init__(record)
        self.n, self.pool = self.model.n_v, ChunkPool(threads)
        self.T = record.system.recursive
        self.complex = as_complex(self.T)

    def steps_at_once(self, columns: int) -> int:
        fits = CHUNK_BYTES // (8 * (PER_STEP + 2 * columns) * max(self.n, 1))
        return int(np.clip(fits, 16, 4096))

    def march_from(self, output: int) -> March:
        def march(ranks: Array, h: float, t: float, every: int, arrays: list[Array]) -> Any:
            return _marches.march_fixed_point(self.T, self.settings, ranks, h, t, every, Samples(*arrays))

        return march

    def linearised(self, piece: Span, parameters: ParameterColumns | None = None) -> Piece:
        taken = self.taken(piece)
        q, v, a, lam, t = taken.states
        memory, solved = taken.memory[:-1], taken.solved[1:]
        d, v_star, a_star = scheme_update(self.settings, taken.h[:, None], v[:-1], a[:-1], memory, solved)
        states = States(*(np.array(x, float, order="C") for x in (q[1:], v_star, a_star, lam[1:], t[1:])))
        _, cv, ca = coefficients(self.settings, taken.h)
        held = HeldSteps(h=np.array(taken.h), cv=cv, ca=ca, d=np.ascontiguousarray(d))
        return Piece(taken, states, held, None if parameters is None else self.direct_effects(parameters, states))

    def direct_effects(self, parameters: ParameterColumns, states: States) -> FloatArray:
        """What parameters do to the accelerations of states, (N, n_v, np)."""
        effects = np.zeros((len(states.t), self.n, len(parameters)))
        bare = weightless_tree(self.model)
        for k in parameters.acting:
            r = slopes(parameters.record(k), states, rows=()).r
            effects[:, :, k] = forward_dynamics(bare, states.q, tau=-r, method="recursive")
        return effects

    def check(self, bad: int, reason: int, states: States) -> None:
        """Raise where the iteration of a derivative ended early."""
        if bad >= 0:
            raise InputError(
                f"the derivative of the step to t = {states.t[bad]:.6g} s of model {self.model.name!r} is not found by "
                f"fixed-point iteration within {self.settings.max_iterations} passes ({REASONS[reason]}). Take a "
                "shorter step, or formulation='semi-recursive', which solves for it."
            )


def states_after(record: Record) -> Iterator[States]:
    """The states after all steps, some at a time."""
    steps = FixedPointSteps(record)
    for span in steps.pieces(0):
        yield steps.taken(span).states.rows(slice(1, None))
