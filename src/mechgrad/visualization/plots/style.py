"""One look for all plots: colours, panels, legends that fit, axes with units; and what may not be drawn.

Figures are made without pyplot: no window opens, no global state changes, any thread may draw. Every plot returns its
matplotlib figure, to be composed, restyled and saved by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechgrad.errors import InputError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with every common colour-vision deficiency, and in grey by the line styles below.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES: Final = ("-", "--", "-.", ":")
BLUE, RED, GREEN, GREY = COLOURS[0], COLOURS[1], COLOURS[2], "#999999"

NAMED: Final = 12
"""Curves of a panel that get a colour and a name, the largest; more are grey, and their number is told."""
PANEL: Final = (4.4, 2.9)
"""Width and height of a panel [inch]."""

STYLE: Final[dict[str, Any]] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-3, 4),
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.handlelength": 1.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "figure.dpi": 100.0,
    "savefig.dpi": 200.0,
}

P = ParamSpec("P")
R = TypeVar("R")


class PlottingUnavailableError(InputError, ImportError):
    """A picture was asked for and matplotlib is not installed."""


def matplotlib() -> Any:
    """The package; raises where it is not installed."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise PlottingUnavailableError(
            "plots need matplotlib, which is not installed. Install it with:  pip install mechgrad[viz]"
        ) from error
    return matplotlib


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Have a function draw in our style; the style of the user's own plots stays theirs."""

    @wraps(draw)
    def inside(*given: P.args, **options: P.kwargs) -> R:
        with matplotlib().rc_context(STYLE):
            return draw(*given, **options)

    return inside


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inch]."""
    found: Figure = matplotlib().figure.Figure(figsize=(width, height), layout="constrained")
    return found


def panels(count: int, *, columns: int = 3, size: tuple[float, float] = PANEL) -> tuple[Figure, list[Any]]:
    """A figure with so many axes, in rows."""
    wide = 2 if count == 4 else min(max(count, 1), columns)
    rows = -(-max(count, 1) // wide)
    figure = new_figure(size[0] * wide, size[1] * rows)
    return figure, [figure.add_subplot(rows, wide, k + 1) for k in range(count)]


def plain(name: str) -> str:
    """A name as matplotlib writes it: no formula, and no character that has no picture.

    >>> plain("5 $")
    '5 \\\\$'
    """
    return printable(name).replace("$", r"\$")


def with_unit(quantity: str, unit: str) -> str:
    """What stands at an axis.

    >>> with_unit("angle", "rad"), with_unit("ratio", "1")
    ('angle [rad]', 'ratio [-]')
    """
    return f"{quantity} [{'-' if unit == '1' else unit}]" if unit else quantity


def finite(what: str, t: ArrayLike, values: ArrayLike, names: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Times (nt,) and real values (nt, n), as they can be drawn; raises where shapes differ or a number is none."""
    time, columns = np.real(np.asarray(t)), np.real(np.asarray(values))
    if time.ndim != 1 or columns.shape != (time.size, len(names)):
        raise InputError(
            f"cannot plot {what}: t has shape {time.shape}, the values {columns.shape}, and there are {len(names)} "
            "names. Give t as (nt,) and the values as (nt, n) with one name per column."
        )
    if not time.size:
        raise InputError(f"cannot plot {what}: there is no instant.")
    bad = ~np.isfinite(columns)
    if bad.any():
        k, j = (int(x[0]) for x in np.nonzero(bad))
        raise InputError(
            f"cannot plot {what}: {names[j]!r} is {columns[k, j]} at t = {time[k]:g} s, and {int(bad.sum())} of "
            f"{bad.size} numbers are not finite. Find out where they come from, or draw what is before: t[:{k}]."
        )
    if not np.isfinite(time).all():
        raise InputError(f"cannot plot {what}: {int((~np.isfinite(time)).sum())} of {time.size} times are not finite.")
    return time, columns


def look(k: int) -> dict[str, Any]:
    """Colour and line style of the k-th curve."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[(k // len(COLOURS)) % len(LINE_STYLES)]}


def curves(axes: Axes, x: NDArray[Any], columns: NDArray[Any], names: Sequence[str], *, named: int = NAMED) -> None:
    """A curve per column, those that vary most in colour and named, with a legend where there are several; names as
    matplotlib is to write them (`plain`)."""
    swing = np.ptp(columns, axis=0) if len(columns) else np.zeros(columns.shape[1])
    chosen = sorted(np.argsort(-swing, kind="stable")[:named].tolist())
    others = [j for j in range(columns.shape[1]) if j not in chosen]
    for j in others:
        first = j == others[0]
        label = f"{len(others)} that vary less" if first else "_nolegend_"
        axes.plot(x, columns[:, j], color="#CCCCCC", linewidth=0.7, zorder=1.5, label=label)
    for k, j in enumerate(chosen):
        axes.plot(x, columns[:, j], label=names[j], **mark_of(x), **look(k))
    axes.margins(x=0.0 if len(x) > 1 else 0.05)
    legend(axes)


def mark_of(x: NDArray[Any]) -> dict[str, Any]:
    """A single instant is a dot."""
    return {"marker": "o"} if len(x) == 1 else {}


def legend(axes: Axes, *, least: int = 2) -> None:
    """The legend beside the axes, where it hides nothing; none for a single curve."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) < least:
        return
    grey = [k for k, label in enumerate(labels) if label.endswith("that vary less")]
    order = [k for k in range(len(labels)) if k not in grey] + grey
    axes.legend(
        [handles[k] for k in order], [labels[k] for k in order],
        loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3,
    )  # fmt: skip


def over_time(axes: Axes, quantity: str, unit: str, title: str = "") -> None:
    """Titles of a history."""
    axes.set_xlabel("time [s]")
    axes.set_ylabel(with_unit(quantity, unit))
    if title:
        axes.set_title(title)


def needs(thing: Any, what: str, *attributes: str) -> None:
    """Raise unless a thing has what a plot reads."""
    missing = [name for name in attributes if not hasattr(thing, name)]
    if missing:
        raise InputError(f"cannot plot {type(thing).__name__} as {what}: it has no {', '.join(missing)}.")


def one_start(motion: Any) -> None:
    """Raise for motions of many starts, and for what is no motion."""
    needs(motion, "a motion", "model", "t", "q", "v", "a")
    if np.ndim(motion.q) != 2:
        raise InputError(f"there are {len(motion.q)} motions side by side; draw one of them: motion.rows()[0].plot().")


__all__ = [
    "BLUE", "COLOURS", "GREEN", "GREY", "LINE_STYLES", "NAMED", "PANEL", "RED", "STYLE",
    "PlottingUnavailableError", "curves", "finite", "legend", "look", "matplotlib", "needs", "new_figure", "one_start",
    "over_time", "panels", "plain", "styled", "with_unit",
]  # fmt: skip
