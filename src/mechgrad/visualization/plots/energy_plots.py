"""Energies over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAR_OFF = 10.0  # times what changes: how far from zero the energy of gravity is drawn


@style.styled
def plot_energies(motion: Any) -> Figure:
    """Kinetic energy, that of gravity, that of linear springs if there are any, and their sum [J].

    The sum is constant where nothing else does work. Where the height of the world's origin would hide what changes,
    the energy of gravity counts from the start, and the legend says from what.

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
    kinetic, gravity = motion.kinetic_energy(), motion.potential_energy()
    parts, first = {"kinetic": kinetic}, float(np.real(gravity[0])) if len(gravity) else 0.0
    if 0.0 < FAR_OFF * max(np.ptp(np.real(gravity)), np.ptp(np.real(kinetic))) < abs(first):
        parts[f"gravity, less {first:.4g} J"] = gravity - first
    else:
        parts["gravity"] = gravity
    springs = motion.spring_energy()
    if np.any(springs):
        parts["springs"] = springs
    table = np.column_stack([*parts.values(), sum(parts.values())])
    t, columns = style.finite("energies", motion.t, table, [*parts, "sum"])
    style.curves(axes, t, columns, [*parts, "sum"])
    axes.lines[-1].set(color="black", linestyle="-", linewidth=0.9)
    style.legend(axes)
    style.over_time(axes, "energy", "J", "energy")
