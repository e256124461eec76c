"""An optimum in pictures: convergence, variables between their bounds, limits, measures before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mechgrad.errors import InputError, printable
from mechgrad.measures.base import Measure
from mechgrad.optimization.design.side import Side
from mechgrad.optimization.solvers import SolverResult
from mechgrad.sensitivities.differentiable import case_of
from mechgrad.typing import FloatArray

MOST_BARS = 24


def plot_optimum(
    found: SolverResult,
    variables: Sequence[Side],
    limits: Sequence[Side],
    motions: Mapping[str, tuple[Any, Any]],
    measures: Mapping[str, Measure] | Sequence[Measure] | Measure,
) -> Any:
    """The figure; motions: of each scenario, before and after."""
    from matplotlib.figure import Figure

    named = named_measures(measures)
    panels = 2 + bool(limits) + len(named)
    figure = Figure(figsize=(4.2 * min(panels, 3), 3.4 * -(-panels // 3)), layout="constrained")
    axes = [figure.add_subplot(-(-panels // 3), min(panels, 3), k + 1) for k in range(panels)]
    draw_convergence(axes[0], found)
    draw_between(axes[1], variables, "variables between their bounds")
    if limits:
        draw_between(axes[2], limits, "limited values (filled: active)")
    for ax, (label, measure) in zip(axes[panels - len(named) :], named.items(), strict=True):
        draw_histories(ax, motions, label, measure)
    return figure


def draw_histories(ax: Any, motions: Mapping[str, tuple[Any, Any]], label: str, measure: Measure) -> None:
    """A measure over time before and after, for all scenarios."""
    for k, (name, (before, after)) in enumerate(motions.items()):
        for motion, style, when in ((before, ":", "before"), (after, "-", "after")):
            t, y = _history(motion, measure)
            mark = "o" if len(t) == 1 else ""
            text = plain(f"{name}, {when}") if len(motions) > 1 else when
            ax.plot(t, y, style, marker=mark, color=f"C{k}", label=[text, *[None] * (y.shape[1] - 1)])
    ax.set(title=plain(label), xlabel="time [s]")
    ax.legend(frameon=False, fontsize=8)
    ax.grid(alpha=0.3)


def plain(name: str) -> str:
    """A name as matplotlib writes it: no formula, and no character that has no picture.

    >>> plain("5 $")
    '5 \\\\$'
    """
    return printable(name).replace("$", r"\$")


def named_measures(measures: Any) -> dict[str, Measure]:
    if isinstance(measures, Mapping):
        return dict(measures)
    many = [measures] if isinstance(measures, Measure) else list(measures)
    for measure in many:
        if not isinstance(measure, Measure):
            raise InputError(f"{measure!r} is no measure such as mg.measures.JointCoordinate('pin').")
    return {repr(measure): measure for measure in many}


def _history(motion: Any, measure: Measure) -> tuple[FloatArray, FloatArray]:
    at = case_of(motion).samples(())
    y = np.asarray(measure.values(at)).reshape(len(at.states.t), -1)
    return np.asarray(at.states.t), y


def draw_convergence(ax: Any, found: SolverResult) -> None:
    """The objective, and the violation of limits, by iteration."""
    records = found.history
    iterations = [record.iteration for record in records]
    values = np.array([record.objective for record in records])
    ax.plot(iterations, values, "o-", ms=3, color="C0")
    ax.set(title=f"objective ({found.status})", xlabel="iteration")
    if len(values) and values.min() > 0.0 and values.max() > 100.0 * values.min():
        ax.set_yscale("log")
    ax.grid(alpha=0.3)
    worst = np.array([record.infeasibility for record in records])
    if worst.max(initial=0.0) > 0.0:
        other = ax.twinx()
        other.plot(iterations, worst, "s--", ms=3, color="C3")
        other.set_ylabel("violation, scaled", color="C3")


def draw_between(ax: Any, items: Sequence[Side], title: str) -> None:
    """Where each value lies between its limits."""
    shown = items[:MOST_BARS]
    for k, x in enumerate(shown):
        ax.plot([0, 1], [k, k], color="0.85", lw=4, solid_capstyle="butt", zorder=1)
        ax.plot(share_of(x), k, "o", color="C3" if x.active else "C0", mfc="C3" if x.active else "none", zorder=2)
    more = f", {len(items) - len(shown)} more" if len(items) > len(shown) else ""
    ax.set(title=title + more, xlim=(-0.05, 1.05), xticks=[0, 1], xticklabels=["lower", "upper"])
    ax.set_yticks(range(len(shown)), [plain(x.name) for x in shown], fontsize=7)
    ax.invert_yaxis()


def share_of(side: Side) -> float:
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
