"""A second, real oracle of derivatives: differences along one random direction of all numbers together.

    D = (f(x + h d) - f(x - h d)) / 2h      beside      f_x d

A few evaluations whatever the number of columns, and nothing of complex numbers or of derivative code in them. The
direction is random, and such that columns count alike: a column whose effect is large is stepped less, so that it does
not hide an error in the others. What D may err by is estimated from successive steps h.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.sensitivities.numeric import Function, column_scales, differentiate
from mechgrad.typing import FloatArray

STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
SAFETY = 10.0  # a difference may be wrong by so many of its own error estimates
ROUNDING = 1e-8  # of the size of the sum: what both sides may differ by besides
FLOOR = 1e-12  # of the largest sum: smaller rows are rounding
VAGUE = 1e-3  # of the size of the sum: a difference that is less certain proves nothing
FAINT = 1e-4  # weakest effect of a column, as a part of the strongest, that the others are stepped down to


class Direction(NamedTuple):
    """What differences along one direction say.

    direction : (n,)
    given, difference, uncertainty : (m,) f_x d, D, and what D may err by
    size : (m,) sum of the magnitudes that f_x d is made of
    slack : share of the size that both may differ by besides
    """

    direction: FloatArray
    given: FloatArray
    difference: FloatArray
    uncertainty: FloatArray
    size: FloatArray
    slack: float

    @property
    def excess(self) -> FloatArray:
        """|f_x d - D| in units of what is accepted; above 1 both contradict each other. NaN where D is."""
        limit = SAFETY * self.uncertainty + (ROUNDING + self.slack) * self.size + self._floor
        return np.abs(self.given - self.difference) / np.where(limit > 0.0, limit, np.finfo(float).tiny)

    @property
    def _floor(self) -> float:
        """Rounding of the largest row, which shows in rows that are zero."""
        return FLOOR * float(self.size.max(initial=0.0))

    @property
    def worst(self) -> int:
        """The row that is furthest from agreement, rows without a difference first."""
        return int(np.argmax(np.where(np.isnan(self.excess), np.inf, self.excess)))

    @property
    def outcome(self) -> str:
        """ "agrees", "contradicts", or "uncertain" where some difference is too vague to tell."""
        if np.any(self.excess > 1.0):
            return "contradicts"
        scale = np.maximum(self.size, np.abs(self.difference))
        vague = ~(SAFETY * self.uncertainty <= (VAGUE + self.slack) * scale) & (scale > self._floor)
        return "uncertain" if vague.any() else "agrees"


def along_random_direction(
    function: Function, x: FloatArray, jacobian: FloatArray, slack: float = 0.0, seed: int = 0
) -> Direction:
    """Differences of a function along a random direction, beside its Jacobian (m, n) at x (n,)."""
    scales = column_scales(None, x)
    effects = np.abs(np.where(np.isfinite(jacobian), jacobian, 0.0)) * scales
    largest = effects.max(axis=1, keepdims=True)
    effects /= np.where(largest > FLOOR * largest.max(initial=0.0), largest, np.inf)  # rows of rounding say nothing
    strength = effects.max(axis=0)
    depends_on = strength[strength > 0.0]
    goal = max(float(depends_on.min(initial=1.0)), FAINT)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], len(x)) * rng.uniform(0.5, 1.0, len(x))
    # a column that is given as zero is stepped in full: if it is not zero, it shows
    direction = signs * scales * np.minimum(1.0, goal / np.where(strength > 0.0, strength, goal))
    numeric = differentiate(lambda s: function(x + s * direction), 0.0, complex_step=False, steps=STEPS, scales=1.0)
    found = numeric.differences()
    assert found is not None
    size = np.abs(jacobian * direction).sum(axis=1)
    return Direction(direction, jacobian @ direction, found.values[:, 0], found.errors[:, 0], size, slack)
