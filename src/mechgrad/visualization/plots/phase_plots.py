"""Velocities over coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.mechanics.coordinate_units import coordinate_units, velocity_units
from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 9


@style.styled
def plot_phase(motion: Any, *coordinates: str) -> Figure:
    """Phase portraits: the velocity over the coordinate, a panel each, a dot where the motion begins.

    coordinates : of hinges and sliders, as `model.q_names` has them; all if left out, up to nine

    >>> figure = mg.plots.phase(mg.simulate(model, {"pin": 0.5}, 1.0), "pin")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('pin [rad]', 'its rate [rad/s]')
    """
    style.one_start(motion)
    model, layout = motion.model, motion.model.layout
    plain = {model.q_names[i]: (int(i), int(j)) for i, j in zip(layout.plain_q, layout.plain_v, strict=True)}
    for name in coordinates:
        if name not in plain:
            raise unknown_name("coordinate", name, plain, f"model {model.name!r}")
    if not plain:
        raise InputError(f"model {model.name!r} has no hinge and no slider, whose coordinates have rates of their own.")
    shown = list(coordinates) or list(plain)[:MOST]
    q_units, v_units = coordinate_units(model), velocity_units(model)
    figure, places = style.panels(len(shown), size=(3.6, 3.2))
    for ax, name in zip(places, shown, strict=True):
        i, j = plain[name]
        table = np.column_stack([motion.q[:, i], motion.v[:, j]])
        _, columns = style.finite("a phase portrait", motion.t, table, [name, f"rate of {name}"])
        ax.plot(*columns.T, color=style.BLUE)
        ax.plot(*columns[0], "o", color=style.RED, markersize=5)
        ax.set_xlabel(style.plain(style.with_unit(name, q_units[name])))
        ax.set_ylabel(style.with_unit("its rate", v_units[model.v_names[j]]))
    return figure
