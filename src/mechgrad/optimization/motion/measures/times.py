"""When samples are: what laws and drivers that know of time are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.mechanism import elements_of
from mechgrad.model.mechanism import L_FUNCTION, L_KIND, L_ROWS, L_USER, R_FUNCTION
from mechgrad.model.rows import MOTOR
from mechgrad.optimization.motion.samples import Samples
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True)
class Times:
    """t = duration xi, or a profile of its own (`column`) where the duration is to be found and anything asks for t."""

    duration: float | None = None
    column: int = -1

    def at(self, s: Samples) -> Array:
        """t [s] of samples, real numbers."""
        if self.column >= 0:
            return np.array(s.z[0][:, self.column].real)
        return np.zeros(s.nt) if self.duration is None else self.duration * s.xi


def depends_on_time(model: Model) -> bool:
    """Whether a constraint or a motor of a model is a function of time; forces of users are judged elsewhere."""
    elements = elements_of(model)
    rows, laws = elements.rows_i, elements.laws_i
    return bool(np.any(rows[:, R_FUNCTION] >= 0) or np.any((laws[:, L_KIND] == MOTOR) & (laws[:, L_FUNCTION] >= 0)))


def refuse_clocks_of_users(model: Model) -> None:
    """Raise where a user's force depends on time, which a free duration moves: its derivative by time is unknown."""
    elements = elements_of(model)
    for k, force in enumerate(elements.user):
        numbers = {name: float(np.real(x)) for name, x in force.value_of_numbers().items()}
        rows = int(elements.laws_i[elements.laws_i[:, L_USER] == k][0, L_ROWS])
        rng = np.random.default_rng(11)
        for _ in range(3):
            g, gd = rng.normal(size=rows), rng.normal(size=rows)
            one, other = (np.asarray(force.function(t, g.copy(), gd.copy(), **numbers)) for t in (0.1, 0.7))
            if not np.array_equal(one, other, equal_nan=True):
                raise InputError(
                    f"force {force.name!r} of model {model.name!r} depends on time, and says nothing about its "
                    "derivative by time, which a duration to be found needs. Give the duration in seconds, or make the "
                    "force a Motor with a function of time."
                )
