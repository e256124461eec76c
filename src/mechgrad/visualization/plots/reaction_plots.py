"""What joints transmit over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ROUNDING = 1e-9
"""Couples that are smaller than the forces by this many metres are rounding."""


@style.styled
def plot_reactions(motion: Any, joints: str | Sequence[str] = (), *, axes: str = "world") -> Figure:
    """Forces and couples that joints transmit: of one joint their components, of several their magnitudes.

    motion : with one start
    joints : a name or several; all if left out
    axes : of the components, "world", "parent" or "child"

    >>> figure = mg.plots.reactions(mg.simulate(model, {"pin": 0.5}, 0.2), "pin")
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['force [N]', 'couple [N m]']
    """
    style.one_start(motion)
    found = motion.reactions(axes)
    names = [joints] if isinstance(joints, str) else list(joints) or list(found.names)
    for name in names:
        if name not in found.names:
            raise unknown_name("joint", name, found.names, f"model {motion.model.name!r}")
    strength = float(np.max([np.abs(found.of(name).force).max(initial=0.0) for name in names]))
    figure, places = style.panels(2)
    for ax, quantity, unit in zip(places, ("force", "couple"), ("N", "N m"), strict=True):
        wrenches = [np.real(getattr(found.of(name), quantity)) for name in names]
        if len(names) == 1:
            table, labels = wrenches[0], [f"{quantity} {axis}" for axis in "xyz"]
        else:
            table, labels = np.column_stack([np.linalg.norm(x, axis=1) for x in wrenches]), names
        t, columns = style.finite("reactions", motion.t, table, labels)
        style.curves(ax, t, columns, [style.plain(label) for label in labels])
        if quantity == "couple" and np.abs(columns).max(initial=0.0) <= ROUNDING * strength:
            ax.set_ylim(-ROUNDING * strength, ROUNDING * strength)
            ax.text(0.5, 0.5, "none beyond rounding", transform=ax.transAxes, ha="center", va="bottom")
        title = f"joint {style.plain(names[0])}, {axes} axes" if len(names) == 1 else "magnitudes in the joints"
        style.over_time(ax, quantity, unit, title)
    return figure
