"""Generalized forces over time, with what they may be at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechgrad.errors import InputError, unknown_name
from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12


@style.styled
def plot_torques(
    t: ArrayLike,
    tau: ArrayLike,
    names: Sequence[str],
    *,
    limits: float | ArrayLike | Mapping[str, float] | None = None,
    unit: str = "N m",
    title: str = "",
    axes: Axes | None = None,
) -> Figure:
    """Generalized forces over time; with limits, a panel for each that has one, those used most.

    Parameters
    ----------
    t : (nt,) array
        Time [s].
    tau : (nt, n) array
        The histories to draw, one column per curve.
    names : sequence of n str
        What each column is called.
    limits : number, (n,) array, or mapping from names to numbers, optional
        The largest |tau|; what lies beyond is red.
    unit : str
        "N m" or "N".
    axes : matplotlib Axes, optional
        Where to draw; a new figure otherwise. Without limits.

    Example
    -------
    >>> t = np.linspace(0, 1, 50)
    >>> figure = mg.plots.torques(t, np.outer(np.sin(6 * t), [30.0, 80.0]), ["hip", "knee"], limits={"knee": 60.0})
    >>> figure.axes[0].get_title("left")
    'knee: 133 % of its limit'
    """
    quantity = "force" if unit == "N" else "torque"
    time, columns = style.finite(f"{quantity}s", t, tau, names)
    if limits is None:
        if axes is None:
            _, (axes,) = style.panels(1, size=(6.4, 3.2))
        style.curves(axes, time, columns, names)
        style.over_time(axes, quantity, unit, title or f"{quantity}s")
        return cast("Figure", axes.figure)
    if axes is not None:
        raise InputError("with limits every curve has a panel of its own; leave axes out.")
    given = _limits(limits, names)
    use = {j: float(np.abs(columns[:, j]).max() / given[j]) for j in range(len(names)) if np.isfinite(given[j])}
    shown = sorted(sorted(use, key=lambda j: -use[j])[:MOST_PANELS])
    figure, places = style.panels(len(shown))
    for ax, j in zip(places, shown, strict=True):
        _within(ax, time, columns[:, j], given[j])
        style.over_time(ax, quantity, unit, f"{names[j]}: {100 * use[j]:.0f} % of its limit")
    left = f"{len(use) - len(shown)} that use less of theirs are left out" if len(use) > len(shown) else ""
    figure.suptitle("; ".join(x for x in (title, left) if x), x=0.01, ha="left", fontsize=10)
    return figure


def _within(axes: Any, t: NDArray[Any], y: NDArray[Any], limit: float) -> None:
    """A curve, its limits dashed, and what lies beyond."""
    axes.plot(t, y, color=style.BLUE, **style.mark_of(t))
    for side in (-limit, limit):
        axes.axhline(side, color="black", linestyle="--", linewidth=0.9)
    beyond = np.abs(y) > limit
    if beyond.any():
        axes.fill_between(t, np.clip(y, -limit, limit), y, where=beyond, color=style.RED, alpha=0.5, interpolate=True)
    axes.margins(x=0.0)


def _limits(limits: Any, names: Sequence[str]) -> NDArray[Any]:
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in names:
                raise unknown_name("curve", str(name), names, "the torques")
        found = np.array([limits.get(name, np.inf) for name in names], float)
    else:
        try:
            found = np.broadcast_to(np.asarray(limits, float), (len(names),))
        except ValueError:
            raise InputError(
                f"limits have shape {np.shape(limits)}, and there are {len(names)} curves; give a number, one number "
                "for each, or a mapping from names."
            ) from None
    bad = [names[k] for k in range(len(names)) if not found[k] > 0.0]
    if bad or not np.isfinite(found).any():
        what = f"the limit of {bad[0]!r} is {found[names.index(bad[0])]:g}" if bad else "no curve has a limit"
        raise InputError(f"{what}; give positive numbers, the largest |tau|.")
    return np.asarray(found)
