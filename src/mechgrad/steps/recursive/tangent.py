"""Changes on their way through explicit steps of open trees: the elimination differentiated, body by body."""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.dynamics.states import States, StateSlopes, slopes
from mechgrad.errors import InputError
from mechgrad.kernels.host import LANES
from mechgrad.model.columns import STEP
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.steps.failures import REASONS
from mechgrad.steps.recursive.kernels.tangent import Closing, Path, recursive_tangents
from mechgrad.steps.recursive.pieces import Piece, RecursiveSteps
from mechgrad.steps.runge_kutta.child_axes import to_child
from mechgrad.typing import Array, FloatArray


@final
class RecursiveTangent(Tangent):
    """q and v at all outputs with changes as imaginary parts, (nt, np, .)."""

    def __init__(self, steps: RecursiveSteps, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.parameters, record = steps, parameters, steps.record
        count, nt, model = len(parameters), len(record.t), steps.model
        self.Q: Array = np.zeros((nt, count, model.n_q), complex)
        self.V: Array = np.zeros((nt, count, model.n_v), complex)
        self.Q[0] = model.integrate(np.tile(record.q[0] + 0j, (count, 1)), 1j * STEP * dq)
        self.V[0] = record.v[0] + 1j * STEP * dv
        self.now = np.concatenate([self.Q[0], to_child(model, self.Q[0], self.V[0])], axis=1)

    def through(self, piece: Piece) -> None:
        steps, span, stages = self.steps, piece.span, piece.stages
        assert piece.direct_effects is not None  # of direct sweeps
        assert piece.correction_effects is not None
        end_line = np.full(len(span.t), -1)
        end_line[span.ends[:, 0]] = span.ends[:, 1]
        path = Path(
            A=steps.A, B=steps.B, C=steps.C, t=np.array(span.t), h=np.array(span.h),
            start=np.concatenate([span.q, span.u], axis=1), first=stages.first, end_line=end_line,
            out_first=stages.out_first, out_line=np.array(span.within[:, 1]), weights=stages.weights,
        )  # fmt: skip
        loops = steps.system.recursion(steps.f, LANES, complex) if steps.closed else None
        closing = Closing(loops, *piece.correction_effects)
        bad, reason = recursive_tangents(steps.T, closing, path, piece.direct_effects, self.now, self.Q, self.V)
        if reason != DONE:
            raise InputError(f"sensitivities end after t = {span.t[bad]:.6g} s: {REASONS[reason]}.")

    def finished(self) -> StateSlopes:
        steps, record, parameters = self.steps, self.steps.record, self.parameters
        nt, count = len(record.t), len(parameters)
        r, c = np.zeros((nt, count, steps.model.n_v)), np.zeros((nt, count, steps.system.n_constraints))
        for k in range(count):
            T = steps.T if parameters.is_start(k) else parameters.record(k)
            at = States(self.Q[:, k], self.V[:, k], record.a + 0j, record.multipliers, record.t)
            found = slopes(T, at)
            r[:, k], c[:, k] = found.r, steps.rows_of(*found[1:])
        by_a, by_lam = steps.accelerated(record.q, r, c)
        return StateSlopes(self._along_tangent(self.Q), self.V.imag / STEP, by_a, by_lam)

    def _along_tangent(self, Q: Array) -> FloatArray:
        """Changes along `model.integrate` from slopes of coordinates."""
        model = self.steps.model
        out = np.zeros((*Q.shape[:2], model.n_v))
        layout = model.layout
        out[..., layout.plain_v] = Q[..., layout.plain_q].imag / STEP
        atoms = self.steps.system.recursive.atoms_i
        for k, j in atoms[atoms[:, KIND] == BALL][:, [Q_AT, V_AT]]:
            e, de = Q[..., k : k + 4].real, Q[..., k : k + 4].imag / STEP
            turn = e[..., :1] * de[..., 1:] - de[..., :1] * e[..., 1:] - np.cross(de[..., 1:], e[..., 1:])
            out[..., j : j + 3] = 2.0 * turn / np.sum(e * e, axis=-1, keepdims=True)
        return out
