"""Joint coordinates, their velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.sensitivities.measures.base import Measure, Partials, StateSamples
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.typing import Array


@dataclass(frozen=True)
class _Component(Measure):
    name: str
    level: ClassVar[str]

    def _index(self, at: StateSamples) -> int:
        names = at.model.v_names
        if self.name not in names:
            raise unknown_name("velocity", self.name, names, f"model {at.model.name!r}")
        return names.index(self.name)

    def values(self, at: StateSamples) -> Array:
        return np.asarray(getattr(at.states, self.level)[:, self._index(at)])

    def depends_on(self, at: StateSamples, parameters: Parameters) -> Sequence[int]:
        return ()

    def partials(self, at: StateSamples, parameters: Parameters) -> Partials:
        unit = np.zeros((len(at.states.t), 1, at.model.n_v))
        unit[:, :, self._index(at)] = 1.0
        return Partials(**{self.level: unit})


@final
@dataclass(frozen=True)
class JointCoordinate(Measure):
    """A plain coordinate of the tree over time, (nt,) [rad or m]; names are those of `model.q_names`.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.com.z"]).shape
    (1, 1)
    """

    name: str
    uses: ClassVar[str] = "q"

    def _index(self, at: StateSamples) -> tuple[int, int]:
        layout, model = at.model.layout, at.model
        plain = {model.q_names[i]: (i, j) for i, j in zip(layout.plain_q, layout.plain_v, strict=True)}
        if self.name not in plain:
            raise unknown_name("coordinate", self.name, plain, f"model {model.name!r}")
        i, j = plain[self.name]
        return int(i), int(j)

    def values(self, at: StateSamples) -> Array:
        return np.asarray(at.states.q[:, self._index(at)[0]])

    def depends_on(self, at: StateSamples, parameters: Parameters) -> Sequence[int]:
        return ()

    def partials(self, at: StateSamples, parameters: Parameters) -> Partials:
        unit = np.zeros((len(at.states.t), 1, at.model.n_v))
        unit[:, :, self._index(at)[1]] = 1.0
        return Partials(q=unit)


@final
@dataclass(frozen=True)
class JointVelocity(_Component):
    """A velocity of `model.v_names` over time, (nt,) [rad/s or m/s].

    >>> JointVelocity("pin").name
    'pin'
    """

    uses: ClassVar[str] = "v"
    level: ClassVar[str] = "v"


@final
@dataclass(frozen=True)
class JointAcceleration(_Component):
    """The rate of a velocity of `model.v_names` over time, (nt,) [rad/s^2 or m/s^2].

    >>> JointAcceleration("pin").name
    'pin'
    """

    uses: ClassVar[str] = "a"
    level: ClassVar[str] = "a"
