"""Many optima: the front of two objectives, and the basins of many starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled
def plot_front(front: Any, first: str = "first objective", second: str = "second objective") -> Figure:
    """The front in the plane of two objectives, and designs that it dominates.

    front : of `mg.design.pareto`
    first, second : what stands at the axes, with units
    """
    style.needs(front, "a front", "array", "dominated")
    figure, (axes,) = style.panels(1, size=(5.4, 4.0))
    axes.plot(*front.array.T, "o-", markersize=4, color=style.BLUE, label="front")
    if len(front.dominated):
        others = np.array([(p.first, p.second) for p in front.dominated], float)
        axes.plot(*others.T, "x", color=style.GREY, label="dominated")
    style.legend(axes)
    axes.set(xlabel=first, ylabel=second, title=f"Pareto front of {len(front.points)} designs")
    return figure


@style.styled
def plot_basins(found: Any) -> Figure:
    """The optima of many starts in the order of their values, a colour per basin; crosses did not converge.

    found : of `DesignProblem.multistart`
    """
    style.needs(found, "many starts", "basins", "starts")
    basin_of = {number: k for k, basin in enumerate(found.basins) for number in basin.starts}
    values = [(s.optimum.value, basin_of.get(s.number)) for s in found.starts if s.optimum is not None]
    figure, (axes,) = style.panels(1, size=(5.8, 3.6))
    for place, (value, k) in enumerate(sorted(values, key=lambda x: x[0]), start=1):
        colour = style.GREY if k is None else style.COLOURS[k % len(style.COLOURS)]
        axes.plot(place, value, "x" if k is None else "o", color=colour)
    axes.set(
        xlabel="starts, in the order of their values", ylabel="objective",
        title=f"{len(found.basins)} optima of {len(found.starts)} starts",
    )  # fmt: skip
    axes.locator_params(axis="x", integer=True)
    return figure
