"""How a search went: the objective, and what was violated, by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import InputError
from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 100.0
"""Ratio of objectives from which on they are drawn in powers of ten."""


@style.styled
def plot_convergence(found: Any) -> Figure:
    """The objective by iteration, and below it the largest violation of a limit, divided by its scale.

    found : an `Optimum`, a `MotionSolution`, or what a solver returned
    """
    result = result_of(found)
    violated = any(record.infeasibility > 0.0 for record in result.history)
    figure, axes = style.panels(1 + violated, columns=1, size=(6.4, 2.4))
    draw_objective(axes[0], result)
    if violated:
        draw_violation(axes[1], result)
    return figure


def result_of(found: Any) -> Any:
    """The solver's result with its history."""
    result = getattr(found, "result", found)
    if result is None or not hasattr(result, "history"):
        raise InputError(f"{type(found).__name__} is no answer of a solver: give what solve() returned.")
    if not result.history:
        raise InputError("the solver left no history: it ended before its first iteration.")
    return result


def draw_objective(axes: Any, result: Any) -> None:
    """Into given axes."""
    values = np.array([record.objective for record in result.history], float)
    axes.plot([r.iteration for r in result.history], values, "o-", markersize=3, color=style.BLUE)
    known = values[np.isfinite(values)]
    if len(known) and known.min() > 0.0 and known.max() > WIDE * known.min():
        axes.set_yscale("log")
    axes.set(title=f"objective ({result.status})", xlabel="iteration", ylabel="objective")


def draw_violation(axes: Any, result: Any) -> None:
    """Into given axes; iterations without violation have no place on the scale."""
    worst = np.array([record.infeasibility for record in result.history], float)
    worst = np.where(worst > 0.0, worst, np.nan)
    axes.plot([r.iteration for r in result.history], worst, "s-", markersize=3, color=style.RED)
    axes.set_yscale("log")
    axes.set(title="violation of the limits", xlabel="iteration", ylabel="largest, scaled [-]")
