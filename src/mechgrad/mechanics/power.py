"""What forces deliver along a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from mechgrad.typing import Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class Power:
    """Power over time, positive where it feeds the motion [W]:  d(kinetic + gravity)/dt = total.

    Attributes
    ----------
    laws : of all force elements together (springs, dampers, motors, contacts, ...)
    tau : of the constant generalized forces, tau . v
    loads : of the external loads
    constraints : of the constraints; only those that functions of time drive do any work

    >>> swing = simulate(model, [0.5], duration=1.0, tau=[2.0], samples=11)
    >>> power = swing.power()
    >>> bool(np.allclose(power.total, 2.0 * swing.v[:, 0])), float(abs(power.laws).max())
    (True, 0.0)
    """

    laws: Array
    tau: Array
    loads: Array
    constraints: Array

    @property
    def total(self) -> Array:
        """All of it."""
        return np.asarray(self.laws + self.tau + self.loads + self.constraints)
