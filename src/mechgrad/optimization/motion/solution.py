"""A motion that was found: on any grid, with its torques, and how it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.model.model import Model
from mechgrad.optimization.motion.collocation import Collocation
from mechgrad.optimization.motion.splines import Splines
from mechgrad.optimization.solvers import SolverResult
from mechgrad.typing import Array


@final
@dataclass(frozen=True, eq=False)
class MotionSolution:
    """The answer of a MotionProblem.

    Attributes
    ----------
    model, splines : what moves (with the free numbers that were found), and how its motion is described
    control_points : (n_points, n)
    duration : float [s]
    result : SolverResult
        Reason, multipliers, iterations, times.
    """

    model: Model
    splines: Splines
    control_points: Array
    duration: float
    result: SolverResult

    def motion(self, samples: int = 101) -> tuple[Array, Array, Array, Array]:
        """t (samples,), q, v, a (samples, n) on an even grid."""
        if samples < 2:
            raise InputError(f"samples is {samples}; give at least 2.")
        xi = np.linspace(0.0, 1.0, samples)
        c = Collocation(self.splines, self.model.n_v, xi, False)
        q, v, a, T = c.motion(self.control_points.ravel(), self.duration)
        return xi * T, q, v, a

    def torques(self, samples: int = 101, loads: Sequence[Load] | None = None) -> Array:
        """Generalized forces on an even grid, (samples, n)."""
        _, q, v, a = self.motion(samples)
        return inverse_dynamics(self.model, q, v, a, loads=loads)

    def overshoot(self, limit: float | Array, samples: int = 2001, loads: Sequence[Load] | None = None) -> Array:
        """How far |tau| exceeds a limit anywhere between the samples where it was enforced, per joint (0 if
        nowhere)."""
        return np.asarray(np.maximum(np.max(np.abs(self.torques(samples, loads)), axis=0) - limit, 0.0))

    def unknowns_on(self, splines: Splines, free: bool) -> Array:
        """This motion as unknowns on other splines: a start for a refined problem."""
        if splines == self.splines:
            P = self.control_points
        else:
            samples = 8 * splines.segments + 1
            P = splines.fit(np.linspace(0, 1, samples), self.motion(samples)[1])
        return np.r_[P.ravel(), self.duration] if free else P.ravel()

    def plot(self, samples: int = 401, loads: Sequence[Load] | None = None) -> Any:
        """Positions, velocities and torques over time; returns the matplotlib figure."""
        from matplotlib.figure import Figure

        t, q, v, _ = self.motion(samples)
        figure = Figure(figsize=(10, 3.4), layout="constrained")
        for k, (values, title) in enumerate(
            ((q, "coordinates"), (v, "velocities"), (self.torques(samples, loads), "generalized forces"))
        ):
            ax = figure.add_subplot(1, 3, k + 1)
            ax.plot(t, values, label=self.model.v_names if self.model.n_v <= 8 else None)
            ax.set(title=title, xlabel="time [s]")
            ax.grid(alpha=0.3)
        if self.model.n_v <= 8:
            ax.legend(frameon=False, fontsize=8)
        return figure

    def save(self, path: str | Path) -> None:
        """Control points, duration and splines as an .npz file; the model is saved with `save_model`."""
        s = self.splines
        np.savez(
            path,
            control_points=self.control_points,
            duration=self.duration,
            segments=s.segments,
            degree=s.degree,
            knots=s.knots,
        )
