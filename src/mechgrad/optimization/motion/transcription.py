"""From a motion problem to a sparse nonlinear program: all functions, Jacobian and Hessian, in fixed patterns.

    minimise     w_T T + sum of integrals over time
    subject to   lower <= C y <= upper

over control points, the clock's unknowns and free numbers of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechgrad.optimization.motion.bundle import Bundle
from mechgrad.optimization.motion.grid import Grid
from mechgrad.typing import Array


@dataclass(frozen=True, eq=False)
class Transcription:
    """The nonlinear program of a motion."""

    grid: Grid  # of the knots: knows the unknowns
    duration_weight: float
    bundles: Sequence[Bundle]

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.grid.n_x

    @property
    def has_squares(self) -> bool:
        """Whether the cost has squares, which a Gauss-Newton Hessian is made of."""
        return any(b.has_squares for b in self.bundles)

    @cached_property
    def m(self) -> int:
        """Number of constraints."""
        return sum(b.size for b in self.bundles)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the constraints."""
        rows = [r for b in self.bundles for r in b.rows]
        return np.concatenate([*(r.lower for r in rows), []]), np.concatenate([*(r.upper for r in rows), []])

    @cached_property
    def names(self) -> list[str]:
        """Names of the constraints."""
        return [name for b in self.bundles for r in b.rows for name in r.names]

    @cached_property
    def scales(self) -> Array:
        """Typical magnitudes of the constraints."""
        return np.concatenate([*(r.scale for b in self.bundles for r in b.rows), []])

    @cached_property
    def labels(self) -> list[str]:
        """What each constraint belongs to."""
        return [r.label for b in self.bundles for r in b.rows for _ in r.names]

    # ------------------------------------------------------------------------------------------------- functions
    def _theta(self, x: Array) -> Array:
        return x[self.grid.at_theta : self.grid.at_p]

    def objective(self, x: Array) -> float:
        """The cost."""
        T = self.grid.clock.duration(self._theta(x)) if self.duration_weight else 0.0
        return self.duration_weight * T + sum(b.integral(x) for b in self.bundles if b.has_integral)

    def gradient(self, x: Array) -> Array:
        """Of the cost."""
        out = np.zeros(self.n)
        out[self.grid.at_theta : self.grid.at_p] = self.duration_weight * self.grid.clock.duration_gradient()
        for b in self.bundles:
            if b.has_integral:
                out += b.gradient(x)
        return out

    def values(self, x: Array) -> Array:
        """Of the constraints."""
        return np.concatenate([*(b.values(x) for b in self.bundles), []])

    @cached_property
    def jacobian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the Jacobian."""
        rows, cols, at = [], [], 0
        for b in self.bundles:
            r, k = b.jacobian_structure
            rows.append(r + at)
            cols.append(k)
            at += b.size
        return np.concatenate([*rows, []]).astype(int), np.concatenate([*cols, []]).astype(int)

    def jacobian(self, x: Array) -> Array:
        """Values in the order of `jacobian_structure`."""
        return np.concatenate([*(b.jacobian(x) for b in self.bundles), []])

    @cached_property
    def _hessian_map(self) -> tuple[Array, Array, list[Array]]:
        """Rows and columns of the lower triangle, and for each bundle the position of its entries."""
        keys = [b.hessian_structure[0] * self.n + b.hessian_structure[1] for b in self.bundles]
        unique = np.unique(np.concatenate([*keys, []])).astype(int)
        return unique // self.n, unique % self.n, [np.searchsorted(unique, key) for key in keys]

    @property
    def hessian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the lower triangle of the Hessian of the Lagrangian."""
        return self._hessian_map[:2]

    def hessian(self, x: Array, sigma: float, multipliers: Array, gauss_newton: bool = False) -> Array:
        """sigma * Hessian of the cost + sum multipliers_i * Hessian of constraint i, lower triangle."""
        rows, _, positions = self._hessian_map
        total = np.zeros(rows.size)
        at = 0
        for position, b in zip(positions, self.bundles, strict=True):
            y = multipliers[at : at + b.size]
            at += b.size
            if position.size and (b.has_integral or np.any(y != 0)):
                total += np.bincount(position, b.hessian(x, sigma, y, gauss_newton), total.size)
        return total

    def gauss_newton(self, x: Array, sigma: float, multipliers: Array) -> Array:
        """Of the squares in the cost alone: positive semidefinite, the pattern of the Hessian."""
        return self.hessian(x, sigma, np.zeros_like(multipliers), True)
