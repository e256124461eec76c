"""How well constraints hold along a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import InputError
from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_DRAWN = 1e-18  # zero has no place on a logarithmic axis
LEVELS = ("values", "rates", "second rates")


@style.styled
def plot_constraint_norms(motion: Any) -> Figure:
    """Norms of constraint values [m or 1], rates [per s] and second rates [per s²] over time, in powers of ten.

    >>> figure = mg.plots.constraint_norms(mg.simulate(mg.gallery.five_bar(), mg.gallery.five_bar_start(), 0.1))
    >>> figure.axes[0].get_yscale()
    'log'
    """
    style.one_start(motion)
    if not motion.has_constraints:
        raise InputError(f"model {motion.model.name!r} has no constraints and no loops: there is nothing to miss.")
    figure, (axes,) = style.panels(1, size=(6.4, 3.2))
    draw_constraint_norms(axes, motion)
    return figure


def draw_constraint_norms(axes: Any, motion: Any) -> None:
    """Into given axes."""
    t, columns = style.finite("constraint norms", motion.t, motion.norms, LEVELS)
    style.curves(axes, t, np.maximum(columns, LEAST_DRAWN), LEVELS)
    axes.set_yscale("log")
    style.over_time(axes, "norm", "m or 1, /s, /s²", "constraints missed by")
