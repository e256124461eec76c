"""Pictures of many optima: the basins of many starts, and the front of two objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mechgrad.optimization.design.multistart import Multistart
    from mechgrad.optimization.design.pareto import Front


def plot_basins(found: Multistart) -> Any:
    """Values of all starts in their order, a colour for each basin, crosses for what did not converge."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    ax = figure.add_subplot()
    basin_of = {number: k for k, basin in enumerate(found.basins) for number in basin.starts}
    ends = [s for s in found.starts if s.optimum is not None]
    for place, start in enumerate(sorted(ends, key=lambda s: s.optimum.value if s.optimum else 0.0)):
        assert start.optimum is not None
        k = basin_of.get(start.number)
        ax.plot(place + 1, start.optimum.value, "x" if k is None else "o", color="0.5" if k is None else f"C{k % 10}")
    ax.set(xlabel="starts, in the order of their values", ylabel="objective",
           title=f"{len(found.basins)} optima of {len(found.starts)} starts")  # fmt: skip
    ax.grid(alpha=0.3)
    return figure


def plot_front(front: Front) -> Any:
    """The front, the designs that it dominates, and its ends."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(*front.array.T, "o-", ms=4, label="front")
    if front.dominated:
        ax.plot([p.first for p in front.dominated], [p.second for p in front.dominated], "x", color="0.5",
                label="dominated")  # fmt: skip
        ax.legend(frameon=False)
    ax.set(xlabel="first objective", ylabel="second objective", title=f"Pareto front of {len(front.points)} designs")
    ax.grid(alpha=0.3)
    return figure
