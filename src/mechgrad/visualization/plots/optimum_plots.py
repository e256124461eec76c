"""An optimum: convergence, variables between their bounds, limits, measures before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.measures import Measure
from mechgrad.sensitivities.differentiable import case_of
from mechgrad.typing import FloatArray
from mechgrad.visualization.plots import style
from mechgrad.visualization.plots.convergence_plots import draw_objective, draw_violation, result_of
from mechgrad.visualization.plots.history_plots import QUANTITY, named_measures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 24


@style.styled
def plot_optimum(best: Any, measures: Any = ()) -> Figure:
    """Convergence, variables between their bounds, limits, and measures before and after.

    best : an `Optimum`
    measures : one, several, or a mapping from titles to them
    """
    style.needs(best, "an optimum", "result", "variables", "constraints", "before_and_after")
    named = given_measures(measures)
    result = result_of(best)
    violated = any(record.infeasibility > 0.0 for record in result.history)
    figure, axes = style.panels(2 + violated + bool(best.constraints) + len(named), size=(4.6, 3.2))
    rest = iter(axes)
    draw_objective(next(rest), result)
    if violated:
        draw_violation(next(rest), result)
    draw_between(next(rest), best.variables, "variables between their bounds")
    if best.constraints:
        draw_between(next(rest), best.constraints, "limited values (filled: active)")
    for ax, (label, measure) in zip(rest, named.items(), strict=True):
        draw_before_and_after(ax, best.before_and_after, label, measure)
    return figure


@style.styled
def plot_between(items: Sequence[Any], title: str = "") -> Figure:
    """Where values lie between their limits: filled where they reach one."""
    figure, (axes,) = style.panels(1, size=(6.4, 0.9 + 0.24 * min(len(items), MOST_BARS)))
    draw_between(axes, items, title)
    return figure


@style.styled
def plot_before_and_after(motions: Mapping[str, tuple[Any, Any]], label: str, measure: Measure) -> Figure:
    """A measure over time, dotted before and solid after, for each scenario."""
    figure, (axes,) = style.panels(1, size=(6.4, 3.2))
    draw_before_and_after(axes, motions, label, measure)
    return figure


def given_measures(measures: Any) -> dict[str, Measure]:
    """One, several, none, or a mapping."""
    if isinstance(measures, Measure | str):
        return named_measures([measures])
    return named_measures([measures]) if len(measures) else {}


def draw_before_and_after(
    axes: Any, motions: Mapping[str, tuple[Any, Any]], label: str, measure: Measure
) -> None:  # fmt: skip
    """Into given axes, for all scenarios; components share a colour."""
    for k, (name, (before, after)) in enumerate(motions.items()):
        for motion, line, when in ((before, ":", "before"), (after, "-", "after")):
            t, y = _history(motion, measure)
            text = style.plain(f"{name}, {when}") if len(motions) > 1 else when
            axes.plot(
                t, y, linestyle=line, color=style.COLOURS[k % len(style.COLOURS)], **style.mark_of(t),
                label=[text, *["_nolegend_"] * (y.shape[1] - 1)],
            )  # fmt: skip
    units = {unit for _, unit in measure.columns(next(iter(motions.values()))[1].model)}
    unit = units.pop() if len(units) == 1 else ""
    style.over_time(axes, QUANTITY.get(unit, "value"), unit, style.plain(label))
    axes.margins(x=0.0)
    style.legend(axes)


def _history(motion: Any, measure: Measure) -> tuple[FloatArray, FloatArray]:
    at = case_of(motion).samples(())
    y = np.real(np.asarray(measure.values(at))).reshape(len(at.states.t), -1)
    names = [f"{measure.label} [{k}]" for k in range(y.shape[1])]
    return style.finite(measure.label, at.states.t, y, names)


def draw_between(axes: Any, items: Sequence[Any], title: str) -> None:
    """Into given axes: where each value lies between its limits."""
    shown = items[:MOST_BARS]
    for k, x in enumerate(shown):
        axes.plot([0, 1], [k, k], color="0.85", linewidth=4, solid_capstyle="butt", zorder=1)
        colour = style.RED if x.active else style.BLUE
        axes.plot(share_of(x), k, "o", color=colour, markerfacecolor=colour if x.active else "none", zorder=2)
    more = f", {len(items) - len(shown)} more" if len(items) > len(shown) else ""
    axes.set(title=title + more, xlim=(-0.05, 1.05), xticks=[0, 1], xticklabels=["lower", "upper"])
    axes.set_yticks(range(len(shown)), [style.plain(x.name) for x in shown], fontsize=7)
    axes.grid(visible=False)
    axes.set_ylim(len(shown) - 0.4, -0.6)  # the first above, none on the edge


def share_of(side: Any) -> float:
    """Where a value lies between its limits, 0 to 1: in the middle of equalities and without limits; with one limit by
    its distance from it, relative to the larger of both."""
    low, high, value = side.lower, side.upper, side.value
    if low == high or not (np.isfinite(low) or np.isfinite(high)):
        return 0.5
    if np.isfinite(high - low):
        return float(np.clip((value - low) / (high - low), 0.0, 1.0))
    bound = high if np.isfinite(high) else low
    away = 0.0 if side.active else abs(bound - value) / max(abs(bound), abs(value))
    return float(1.0 - min(away, 1.0) if np.isfinite(high) else min(away, 1.0))
