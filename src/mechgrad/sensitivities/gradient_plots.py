"""Pictures of gradients and of sensitivities over time; without pyplot, so that no window opens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS, MOST_CURVES, MOST_PANELS = 30, 8, 6


def plot_gradient(
    table: FloatArray, values: Sequence[tuple[str, float]], parameters: Sequence[str], *, relative: bool = False
) -> Figure:
    """A panel per objective (`values`: names and numbers), a bar per parameter; the largest if there are many."""
    from matplotlib.figure import Figure

    if not np.isfinite(table).any():
        raise InputError("relative sensitivities of an objective that is zero say nothing; plot(relative=False).")
    rows = min(len(table), MOST_PANELS)
    size = np.nanmax(np.abs(table), axis=0)
    shown = np.sort(np.argsort(-size, kind="stable")[:MOST_BARS])
    figure = Figure(figsize=(4.0 * rows, 1.2 + 0.28 * len(shown)), layout="constrained")
    axes = figure.subplots(1, rows, sharey=True, squeeze=False)[0]
    places = np.arange(len(shown))[::-1]
    for row, ax, (name, value) in zip(table, axes, values, strict=False):
        bars = row[shown]
        ax.barh(places, bars, color=np.where(bars < 0, "#D55E00", "#0072B2"))
        ax.axvline(0.0, color="k", lw=0.8)
        ax.set_title(f"{name} = {value:.6g}")
        ax.set_xlabel("(p / psi) dpsi/dp" if relative else "dpsi/dp")
        ax.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(places, [parameters[j] for j in shown])
    return figure


def plot_histories(t: FloatArray, q: FloatArray, names: Sequence[str], parameters: Sequence[str]) -> Figure:
    """A panel per parameter: how far all positions move at each instant per unit of it; q (nt, n, np)."""
    from matplotlib.figure import Figure

    count = min(len(parameters), MOST_PANELS)
    figure = Figure(figsize=(4.0 * count, 3.2), layout="constrained")
    for k, ax in enumerate(figure.subplots(1, count, squeeze=False)[0]):
        curves = q[:, :, k]
        some = np.sort(np.argsort(-np.abs(curves).max(axis=0), kind="stable")[:MOST_CURVES])
        ax.plot(t, curves[:, some], label=[names[j] for j in some])
        ax.set(title=f"by {parameters[k]}", xlabel="time [s]")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=8)
    return figure
