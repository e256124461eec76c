"""Energies, multipliers and what force elements exert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.errors import InputError, unknown_name
from mechgrad.integrators.energies import kinetic_energy, potential_energy, spring_energy
from mechgrad.kinematics.mechanism import elements_of
from mechgrad.sensitivities.measures.base import Measure, Moments, Partials
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.typing import Array


@final
@dataclass(frozen=True)
class KineticEnergy(Measure):
    """v . M v / 2 over time, (nt,) [J].

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.KineticEnergy()), ["bob.mass"]).shape
    (1, 1)
    """

    uses: ClassVar[str] = "q v"

    def values(self, at: Moments) -> Array:
        return kinetic_energy(at.model, at.states.q, at.states.v)


@final
@dataclass(frozen=True)
class PotentialEnergy(Measure):
    """Of gravity and of linear springs over time, (nt,) [J].

    >>> PotentialEnergy()
    PotentialEnergy()
    """

    uses: ClassVar[str] = "q"

    def values(self, at: Moments) -> Array:
        return potential_energy(at.model, at.states.q) + spring_energy(at.system(), at.states.q, at.states.t)


@final
@dataclass(frozen=True)
class Multiplier(Measure):
    """Multiplier of a constraint row over time, (nt,); names as in `Trajectory.constraint_names`.

    >>> Multiplier("B: point x").row
    'B: point x'
    """

    row: str
    uses: ClassVar[str] = "lam"

    def _index(self, at: Moments) -> int:
        if self.row not in at.names:
            raise unknown_name("constraint row", self.row, at.names, f"model {at.model.name!r}")
        return at.names.index(self.row)

    def values(self, at: Moments) -> Array:
        return np.asarray(at.states.lam[:, self._index(at)])

    def felt(self, at: Moments, parameters: Parameters) -> Sequence[int]:
        return ()

    def partials(self, at: Moments, parameters: Parameters) -> Partials:
        unit = np.zeros((len(at.states.t), 1, at.states.lam.shape[1]))
        unit[:, :, self._index(at)] = 1.0
        return Partials(lam=unit)


@final
@dataclass(frozen=True)
class Effort(Measure):
    """What a force element exerts along each of its rows over time, (nt, rows) [N or N m]; positive where it resists.

    The effort of a motor is minus its torque.

    >>> Effort("spring").force
    'spring'
    """

    force: str
    uses: ClassVar[str] = "q v"

    def values(self, at: Moments) -> Array:
        q, v, a, lam, t = at.states
        elements, names = elements_of(at.model), [force.name for force in at.model.forces]
        if self.force not in names:
            raise unknown_name("force", self.force, names, f"model {at.model.name!r}")
        system = at.system()
        m = elements.n_constraints
        mine = [k for k, name in enumerate(elements.row_names[m:]) if name.split(": ")[0] == self.force]
        if not mine:
            raise InputError(f"force {self.force!r} of model {at.model.name!r} acts along no row.")
        lam = np.zeros((len(t), system.n_constraints), system.dtype)
        y, _ = row_forces(system, q, v, a, lam, t)
        return np.asarray(y[:, system.n_constraints :][:, mine])
