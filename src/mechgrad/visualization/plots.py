"""Time histories of torques and of their sensitivities.

Every function draws into the axes it is given, or into a new figure, and returns the figure, so that figures can be
composed, restyled and saved by the caller. Figures are made without pyplot: no window opens, no global state changes,
any thread may draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechgrad.errors import InputError, MechgradError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_demo", "plot_sensitivities", "plot_torques"]

# Okabe and Ito's palette: told apart with every common colour-vision deficiency, and in grey by the line styles below.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES = ("-", "--", "-.", ":")

_LEGEND_ROW = 4  # so many names fit in a row beside the title; more go to the right of the axes

_STYLE: dict[str, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "figure.dpi": 100.0,
    "savefig.dpi": 200.0,
}


class PlottingUnavailableError(MechgradError, ImportError):
    """A picture was asked for and matplotlib is not installed."""


def plot_torques(
    t: ArrayLike,
    tau: ArrayLike,
    names: Sequence[str],
    *,
    unit: str = "N m",
    title: str = "Torques",
    axes: Axes | None = None,
) -> Figure:
    """Draw generalised forces against time.

    Parameters
    ----------
    t : (nt,) array
        Time [s].
    tau : (nt, n) array
        The histories to draw, one column per curve.
    names : sequence of n str
        What each column is called in the legend.
    unit : str
        Unit on the vertical axis.
    axes : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Example
    -------
    >>> figure = plot_torques(t, tau[:, 8:10], ["hip", "knee"])  # doctest: +SKIP
    >>> figure.savefig("torques.png")  # doctest: +SKIP
    """
    return _histories(t, tau, names, f"force [{unit}]" if unit == "N" else f"torque [{unit}]", title, axes)


def plot_sensitivities(
    t: ArrayLike, curves: Mapping[str, ArrayLike], *, title: str = "Sensitivities", axes: Axes | None = None
) -> Figure:
    """Draw single entries of derivative matrices against time.

    Parameters
    ----------
    t : (nt,) array
        Time [s].
    curves : mapping from label to (nt,) array
        For example ``{"dQ20/dq5": D.dq.dense()[:, 19, 4]}``. Units differ from curve to curve and belong in the label.
    axes : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Example
    -------
    >>> figure = plot_sensitivities(t, {"dtau1/dq1 [N m/rad]": D.dq.dense()[:, 0, 0]})  # doctest: +SKIP
    """
    values = np.column_stack([np.asarray(curve) for curve in curves.values()]) if curves else np.empty((np.size(t), 0))
    return _histories(t, values, list(curves), "derivative", title, axes)


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
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_STYLE):
        figure = _new_figure(width=8.4, height=5.4)
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
            if (legend := panel.get_legend()) is not None:
                legend.remove()
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11.0)
        figure.savefig(path)
    return path


def _histories(
    t: ArrayLike, values: ArrayLike, names: Sequence[str], ylabel: str, title: str, axes: Axes | None
) -> Figure:
    """The drawing that both kinds of plot share."""
    time, columns = _checked(t, values, names)
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_STYLE):
        if axes is None:
            axes = _new_figure(width=6.4, height=3.2).add_subplot()
        for k, name in enumerate(names):
            axes.plot(
                time,
                columns[:, k],
                label=name,
                color=COLOURS[k % len(COLOURS)],
                linestyle=LINE_STYLES[(k // len(COLOURS)) % len(LINE_STYLES)],
            )
        axes.set_xlabel("time [s]")
        axes.set_ylabel(ylabel)
        axes.set_title(title)
        axes.margins(x=0.0)
        if len(names) <= _LEGEND_ROW:
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=max(len(names), 1), borderaxespad=0.0)
        else:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3)
    return cast("Figure", axes.figure)


def _checked(t: ArrayLike, values: ArrayLike, names: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    time, columns = np.asarray(t), np.asarray(values)
    if time.ndim != 1 or columns.shape != (time.size, len(names)):
        raise InputError(
            f"cannot plot: t has shape {time.shape}, the values {columns.shape}, and there are {len(names)} names. "
            f"Give t as (nt,) and the values as (nt, n) with one name per column."
        )
    return time, columns


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise PlottingUnavailableError(
            "plots need matplotlib, which is not installed. Install it with:  pip install mechgrad[viz]"
        ) from error
    return matplotlib
