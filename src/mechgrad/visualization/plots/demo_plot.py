"""The picture of the demonstration: torques above, sensitivities below."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mechgrad.errors import InputError
from mechgrad.visualization.plots import style
from mechgrad.visualization.plots.sensitivity_plots import plot_sensitivities
from mechgrad.visualization.plots.torque_plots import plot_torques


@style.styled
def plot_demo(
    t: ArrayLike,
    torques: Mapping[str, ArrayLike],
    sensitivities: Mapping[str, ArrayLike],
    path: str | Path,
    *,
    title: str = "",
) -> Path:
    """Draw torques above and each sensitivity in a panel of its own below, write the picture, return its path.

    The ending of `path` chooses the format (png, pdf, svg). Units differ between sensitivities, hence the panels; a
    label such as "dQ20/dq5 [N m/rad]" becomes a title and a unit.
    """
    path = Path(path)
    figure = style.new_figure(width=8.4, height=5.4)
    formats = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in formats:
        raise InputError(f"cannot draw into {path}: its ending must be one of {', '.join(sorted(formats))}.")
    layout = figure.add_gridspec(2, max(len(sensitivities), 1), height_ratios=(1.15, 1.0))
    plot_torques(t, np.column_stack(list(torques.values())), list(torques), axes=figure.add_subplot(layout[0, :]))
    for k, (label, curve) in enumerate(sensitivities.items()):
        panel = figure.add_subplot(layout[1, k])
        name, _, unit = label.partition(" [")
        plot_sensitivities(t, {label: curve}, title=name, axes=panel)
        panel.set_ylabel(f"[{unit}" if unit else "")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11.0)
    figure.savefig(path)
    return path
