"""Pictures of many optima: the basins of many starts, and the front of two objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mechgrad.typing import FloatArray


def plot_basins(values: Sequence[tuple[float, int | None]], basins: int, starts: int) -> Any:
    """Values in their order, each with its basin: a colour for each, crosses for what did not converge."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    ax = figure.add_subplot()
    for place, (value, k) in enumerate(sorted(values, key=lambda x: x[0])):
        ax.plot(place + 1, value, "x" if k is None else "o", color="0.5" if k is None else f"C{k % 10}")
    ax.set(xlabel="starts, in the order of their values", ylabel="objective",
           title=f"{basins} optima of {starts} starts")  # fmt: skip
    ax.grid(alpha=0.3)
    return figure


def plot_front(front: FloatArray, dominated: FloatArray) -> Any:
    """The front and the designs that it dominates, two objectives each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(*front.T, "o-", ms=4, label="front")
    if len(dominated):
        ax.plot(*dominated.T, "x", color="0.5", label="dominated")
        ax.legend(frameon=False)
    ax.set(xlabel="first objective", ylabel="second objective", title=f"Pareto front of {len(front)} designs")
    ax.grid(alpha=0.3)
    return figure
