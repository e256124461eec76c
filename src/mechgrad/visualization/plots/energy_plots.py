"""Energies over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled
def plot_energies(motion: Any) -> Figure:
    """Kinetic energy, that of gravity, that of linear springs if there are any, and their sum [J].

    The sum is constant where nothing else does work.

    >>> figure = mg.plots.energies(mg.simulate(model, {"pin": 0.5}, 1.0))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['kinetic', 'gravity', 'sum']
    """
    style.one_start(motion)
    figure, (axes,) = style.panels(1, size=(6.4, 3.2))
    draw_energies(axes, motion)
    return figure


def draw_energies(axes: Any, motion: Any) -> None:
    """Into given axes."""
    parts = {"kinetic": motion.kinetic_energy(), "gravity": motion.potential_energy()}
    springs = motion.spring_energy()
    if np.any(springs):
        parts["springs"] = springs
    table = np.column_stack([*parts.values(), sum(parts.values())])
    t, columns = style.finite("energies", motion.t, table, [*parts, "sum"])
    style.curves(axes, t, columns, [*parts, "sum"])
    axes.lines[-1].set(color="black", linestyle="-", linewidth=0.9)
    style.legend(axes)
    style.over_time(axes, "energy", "J", "energy")
