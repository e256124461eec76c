"""Multipliers of constraints, and what force elements exert."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows
from mechgrad.measures.base import Gradients, Measure, Partials, StateSamples, product
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.mechanics.efforts import effort_columns
from mechgrad.model.columns import STEP
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

MANY = 8  # knots of a spline: from there on all at once


@final
@dataclass(frozen=True)
class Multiplier(Measure):
    """Multiplier of a constraint row over time, (nt,); names as in `Trajectory.constraint_names`.

    >>> Multiplier("B: point x").constraint
    'B: point x'
    """

    constraint: str
    uses: ClassVar[str] = "lam"

    def _index(self, at: StateSamples) -> int:
        if self.constraint not in at.names:
            raise unknown_name("constraint row", self.constraint, at.names, f"model {at.model.name!r}")
        return at.names.index(self.constraint)

    def values(self, at: StateSamples) -> Array:
        return np.asarray(at.states.lam[:, self._index(at)])

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        return ()

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
        unit = np.zeros((len(at.states.t), 1, at.states.lam.shape[1]))
        unit[:, :, self._index(at)] = 1.0
        return Partials(lam=unit)


@dataclass(frozen=True)
class ForceMeasure(Measure, ABC):
    """Numbers that values and rates of the rows of one force element decide, those of its laws and time."""

    force: str
    uses: ClassVar[str] = "q v"
    depends_on_time: ClassVar[bool] = True  # motors follow functions of it, and roads move

    def _rows(self, at: StateSamples, system: System) -> list[int]:
        """Its rows among those that act."""
        elements, names = elements_of(at.model), [force.name for force in at.model.forces]
        if self.force not in names:
            raise unknown_name("force", self.force, names, f"model {at.model.name!r}")
        labels = elements.row_names[elements.n_constraints :]
        mine = [k + system.n_constraints for k, name in enumerate(labels) if name.split(": ")[0] == self.force]
        if not mine:
            raise InputError(f"force {self.force!r} of model {at.model.name!r} acts along no row.")
        return mine

    def _efforts(self, at: StateSamples, system: System) -> Array:
        """What it exerts along each of its rows, (nt, rows)."""
        q, v, a, _, t = at.states
        y, _ = row_forces(system, q, v, a, np.zeros((len(t), system.n_constraints), system.dtype), t)
        return np.asarray(y[:, self._rows(at, system)])

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        """Its own numbers, and what moves markers."""
        own = f"{self.force}."

        def acts(k: int) -> bool:
            moved = (path for path, _ in at.model.path_derivative(parameters.names[k]))
            return any(path.startswith(own) for path in moved) or (not parameters.is_force(k) and parameters.shapes(k))

        return [k for k in parameters.in_model if acts(k)]

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
        q, v = self._by_states(at)
        return Partials(q, v, p=self.by_parameters(at, parameters, self.depends_on(at, parameters)))

    def _by_states(self, at: StateSamples) -> tuple[FloatArray, FloatArray]:
        """By q and v (nt, size, n_v): complex steps along the few directions in which values and rates of its rows
        change."""
        q, v, _, _, t = at.states
        system = at.system()
        rows = self._rows(at, system)
        found = evaluate_rows(system.T, q, v, None, t, 0, system.n_rows)
        J, J_rate = found.J[:, rows], found.J_rate[:, rows]
        parts: list[FloatArray] = []
        for name, spanned in (("q", np.concatenate([J, J_rate], axis=1)), ("v", J)):
            ways = np.linalg.qr(spanned.swapaxes(1, 2)).Q  # (nt, n_v, few)
            out: float | FloatArray = 0.0
            for way in np.moveaxis(ways, 2, 0):
                step = 1j * STEP * way
                moved = at.model.integrate(q + 0j, step) if name == "q" else v + step
                y = self.values(at._replace(states=at.states._replace(**{name: np.asarray(moved)})))
                out = out + (y.imag / STEP)[:, :, None] * way[:, None, :]
            parts.append(np.asarray(out))
        return parts[0], parts[1]


@final
@dataclass(frozen=True)
class Effort(ForceMeasure):
    """What a force element exerts along each of its rows over time, (nt, rows) [N or N m]; positive where it resists.

    The effort of a motor is minus its torque.

    >>> Effort("spring").force
    'spring'
    """

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        return effort_columns(model, self.force)

    def values(self, at: StateSamples) -> Array:
        return self._efforts(at, at.system())

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        knots = [k for positions, *_ in parameters.knots() for k in positions]
        own = [k for k in knots if parameters.names[k].startswith(f"{self.force}.")]
        if len(own) < MANY or (mu := self._reached(at, weights)) is None:
            return super().gradients(at, parameters, weights)
        by_p = np.zeros((weights.shape[1], len(parameters)))
        by_p[:, own] = parameters.weighted(weights.shape[1], [Weights(at.states, mu)])[:, own]
        others = self.by_parameters(at, parameters, sorted(set(self.depends_on(at, parameters)) - set(own)))
        if others is not None:
            by_p += np.tensordot(weights, others, ([0, 2], [0, 1]))
        q, v = (product(weights, part) for part in self._by_states(at))
        return Gradients(q, v, p=by_p)

    def _reached(self, at: StateSamples, weights: FloatArray) -> FloatArray | None:
        """Virtual velocities (k, nt, n_v) that its rows see as these weights; None if they depend on each other.

        Their product with the residual changes with the numbers of the force as the weighted effort does.
        """
        system = at.system()
        J = evaluate_rows(system.T, at.states.q, None, None, at.states.t, 0, system.n_rows).J[:, self._rows(at, system)]
        square = J @ J.swapaxes(1, 2)
        if not np.all(np.linalg.cond(square) < 1e6):
            return None
        return np.ascontiguousarray((weights @ np.linalg.solve(square, J)).swapaxes(0, 1))
