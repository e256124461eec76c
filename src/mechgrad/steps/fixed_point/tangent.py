"""Changes on their way forwards through steps by fixed-point iteration."""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import States, StateSlopes, slopes
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.kernels.host import LANES
from mechgrad.mechanics.energies import weightless_tree
from mechgrad.model.columns import STEP
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.steps.fixed_point.kernels.tangent import fixed_point_tangents
from mechgrad.steps.fixed_point.pieces import FixedPointSteps, Piece
from mechgrad.steps.newmark.kernels.blocks import StateColumns
from mechgrad.steps.newmark.kernels.march_states import State
from mechgrad.typing import FloatArray


@final
class FixedPointTangent(Tangent):
    """dq, dv, da and the change of the memory, (n_v, columns) each, whole blocks of lanes."""

    def __init__(self, steps: FixedPointSteps, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.count, n, nt = steps, len(parameters), steps.n, len(steps.record.t)
        self.columns = -(-self.count // LANES) * LANES
        da = self._first(parameters, dq, dv)
        self.out = [np.zeros((nt, n, self.count)) for _ in range(3)]
        self.now = [np.zeros((n, self.columns)) for _ in range(4)]
        for x, first in zip(self.now, (dq, dv, da, da), strict=True):
            x[:, : self.count] = first.T
        for whole, first in zip(self.out, (dq, dv, da), strict=True):
            whole[0] = first.T

    def _first(self, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> FloatArray:
        """Changes of the first accelerations, (np, n_v): M da = -(r_q dq + r_v dv + r_p)."""
        steps, start, count = self.steps, self.steps.record.states(slice(0, 1)), self.count
        if not count:
            return np.zeros_like(dq)
        q, v, a, lam, t = (np.tile(x, (count, *(1,) * (x.ndim - 1))) for x in start)
        moved = np.asarray(steps.model.integrate(q + 0j, 1j * STEP * dq))
        r = slopes(steps.complex, States(moved, v + 1j * STEP * dv, a, lam, t), rows=()).r
        da = np.asarray(forward_dynamics(weightless_tree(steps.model), q, tau=-r, method="recursive"))
        return np.asarray(da + steps.direct_effects(parameters, start)[0].T)

    def through(self, piece: Piece) -> None:
        steps, N = self.steps, len(piece.states.t)
        assert piece.direct_effects is not None  # of direct sweeps
        effects = np.zeros((N, steps.n, self.columns))
        effects[:, :, : self.count] = piece.direct_effects
        after = [np.zeros((N, k, self.columns)) for k in (steps.n, steps.n, steps.n, 0)]
        bad, reason = fixed_point_tangents(
            steps.complex, steps.settings, piece.states, piece.held, effects, State(*self.now), StateColumns(*after)
        )
        steps.check(bad, reason, piece.states)
        for whole, part in zip(self.out, after, strict=False):
            whole[piece.taken.outputs] = part[piece.taken.reported, :, : self.count]

    def finished(self) -> StateSlopes:
        q, v, a = (x.swapaxes(1, 2) for x in self.out)
        return StateSlopes(q, v, a, np.zeros((*q.shape[:2], 0)))
