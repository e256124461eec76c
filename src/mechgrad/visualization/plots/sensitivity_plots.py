"""Sensitivities: over time, as bars, and as a map of a matrix with the names of joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from mechgrad.errors import InputError
from mechgrad.mechanics.coordinate_units import velocity_units
from mechgrad.typing import FloatArray
from mechgrad.visualization.plots import style
from mechgrad.visualization.plots.history_plots import named_measures
from mechgrad.visualization.plots.parameter_units import parameter_unit, per

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS, MOST_COLUMNS, MOST_PANELS = 30, 4, 9


@style.styled
def plot_sensitivities(
    t: ArrayLike, curves: Mapping[str, ArrayLike], *, title: str = "Sensitivities", axes: Axes | None = None
) -> Figure:
    """Single entries of derivative matrices over time.

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
    >>> t = np.linspace(0, 1, 50)
    >>> mg.plots.sensitivities(t, {"dtau1/dq1 [N m/rad]": np.cos(t)}).axes[0].get_ylabel()
    'derivative'
    """
    values = np.column_stack([np.asarray(curve) for curve in curves.values()]) if curves else np.empty((np.size(t), 0))
    time, columns = style.finite("sensitivities", t, values, list(curves))
    if axes is None:
        _, (axes,) = style.panels(1, size=(6.4, 3.2))
    style.curves(axes, time, columns, list(curves))
    style.over_time(axes, "derivative", "", title)
    return cast("Figure", axes.figure)


@style.styled
def plot_gradient(gradient: Any, *, relative: bool | None = None) -> Figure:
    """A column per objective, a bar per parameter.

    relative : True: per cent of the objective per per cent of the parameter, which compares numbers of any unit; False:
        derivatives, parameters of a unit together with a scale of their own. If left out, relative ones where units
        differ and objectives and parameters are not zero.

    >>> swing = mg.simulate(model, {"pin": 0.5}, 0.5)
    >>> g = mg.gradient(swing, mg.AtEnd(mg.measures.KineticEnergy()), ["bob.mass", "bob.com.z"])
    >>> mg.plots.gradient(g, relative=False).axes[0].get_xlabel()
    'derivative per kg'
    """
    style.needs(gradient, "a gradient", "array", "objectives", "parameters", "values", "relative")
    table = np.asarray(gradient.array, float)
    if not np.isfinite(table).all():
        i, k = (int(x[0]) for x in np.nonzero(~np.isfinite(table)))
        raise InputError(f"d {gradient.objectives[i]} / d {gradient.parameters[k]} is {table[i, k]}: nothing to draw.")
    model = gradient.motion.model
    units = [parameter_unit(model, name) for name in gradient.parameters]
    ratios = gradient.relative()
    if relative is None:
        relative = len(set(units)) > 1 and _says_all(ratios, table, np.asarray(gradient.parameter_values))
    if relative and not np.isfinite(ratios).any():
        raise InputError("relative sensitivities of an objective that is zero say nothing; plot(relative=False).")
    heads = [f"{name} = {value:.6g}" for name, value in zip(gradient.objectives, gradient.values, strict=True)]
    if relative:
        return _bars(ratios, heads, gradient.parameters, {"": range(len(units))}, relative=True)
    groups: dict[str, list[int]] = {}
    for k, unit in enumerate(units):
        groups.setdefault(unit, []).append(k)
    return _bars(table, heads, gradient.parameters, groups, relative=False)


def _says_all(ratios: FloatArray, table: FloatArray, values: FloatArray) -> bool:
    """Whether relative sensitivities hide nothing: derivatives by a number that is zero, or of an objective."""
    hidden = ~np.isfinite(ratios) | ((ratios == 0.0) & (table != 0.0))
    return bool(np.isfinite(ratios).any() and (values != 0.0).any() and not np.any(hidden & (table != 0.0)))


def _bars(
    table: FloatArray,
    heads: Sequence[str],
    names: Sequence[str],
    groups: Mapping[str, Sequence[int]],
    *,
    relative: bool,
) -> Figure:
    columns = min(len(table), MOST_COLUMNS)
    size = np.nanmax(np.abs(np.where(np.isfinite(table), table, 0.0)), axis=0)
    kept = {}
    for unit, group in groups.items():
        most = sorted(group, key=lambda k: -size[k])[:MOST_BARS]
        kept[unit] = sorted(most)
    heights = [0.7 + 0.24 * len(group) for group in kept.values()]
    figure = style.new_figure(1.6 + 3.0 * columns, sum(heights) + 0.3)
    grid = figure.subplots(len(kept), columns, squeeze=False, sharey="row", height_ratios=heights)
    for k, (row, (unit, group)) in enumerate(zip(grid, kept.items(), strict=True)):
        places = np.arange(len(group))[::-1]
        for i, ax in enumerate(row):
            bars = table[i, group]
            ax.barh(places, np.nan_to_num(bars), color=np.where(bars < 0, style.RED, style.BLUE).tolist(), height=0.7)
            ax.axvline(0.0, color="black", linewidth=0.8)
            ax.set_xlabel("per cent per per cent" if relative else f"derivative {per(unit)}")
            ax.grid(axis="y", visible=False)
            ax.locator_params(axis="x", nbins=5)
            if k == 0:
                ax.set_title(style.plain(heads[i]))
            if not np.any(bars):
                ax.set_xticks([0.0])
            if not np.isfinite(bars).all():
                ax.text(0.5, 0.5, "zero itself", transform=ax.transAxes, ha="center", color=style.GREY)
        row[0].set_yticks(places, [style.plain(names[j]) for j in group])
        row[0].set_ylim(-0.7, len(group) - 0.3)
    left = len(names) - sum(map(len, kept.values()))
    more = [f"{left} parameters that matter less"] if left else []
    more += [f"{len(table) - columns} objectives"] if len(table) > columns else []
    if more:
        figure.suptitle(f"left out: {', '.join(more)}", x=0.01, ha="left", fontsize=8)
    return figure


@style.styled
def plot_sensitivity_histories(found: Any, *measures: Any) -> Figure:
    """How far a motion moves at each instant per unit of a parameter: a panel per parameter and unit.

    found : of `motion_sensitivities`
    measures : what is followed, of `mg.measures`; positions by small rotations and displacements if left out

    >>> s = mg.motion_sensitivities(mg.simulate(model, {"pin": 0.5}, 0.5), ["bob.com.z"])
    >>> mg.plots.sensitivity_histories(s, mg.measures.KineticEnergy()).axes[0].get_ylabel()
    'change [J per m]'
    """
    style.needs(found, "sensitivities of a motion", "motion", "t", "q", "parameters", "of")
    model, count = found.motion.model, len(found.parameters)
    curves: list[tuple[str, str, FloatArray]] = []
    if measures:
        for title, measure in named_measures(measures).items():
            by = found.of(measure).reshape(len(found.t), -1, count)
            columns = measure.columns(model)
            if len(columns) != by.shape[1]:
                columns = tuple((f"[{k}]", columns[0][1]) for k in range(by.shape[1]))
            curves += [(f"{title} {part}".strip(), unit, by[:, k]) for k, (part, unit) in enumerate(columns)]
    else:
        units = velocity_units(model)
        curves = [(name, unit.removesuffix("/s"), found.q[:, j]) for j, (name, unit) in enumerate(units.items())]
    panels = [
        (path, k, unit, [(name, y[:, k]) for name, u, y in curves if u == unit])
        for k, path in enumerate(found.parameters)
        for unit in dict.fromkeys(u for _, u, _ in curves)
    ]
    figure, axes = style.panels(min(len(panels), MOST_PANELS))
    for ax, (path, _, unit, group) in zip(axes, panels, strict=False):
        names = [name for name, _ in group]
        t, table = style.finite(f"sensitivities by {path}", found.t, np.column_stack([y for _, y in group]), names)
        style.curves(ax, t, table, [style.plain(name) for name in names])
        told = f"by {style.plain(path)}"
        style.over_time(ax, "change", f"{unit or '1'} {per(parameter_unit(model, path))}", told)
    if len(panels) > MOST_PANELS:
        figure.suptitle(f"left out: {len(panels) - MOST_PANELS} panels", x=0.01, ha="left", fontsize=8)
    return figure


@style.styled
def plot_sensitivity_matrix(model: Any, derivatives: Any, by: str = "q", *, sample: int | None = None) -> Figure:
    """The matrix of derivatives of generalized forces as a map: rows are forces, columns are what they change with.

    Units differ from block to block, N m/rad and N m/m and so on, and every block has a scale of its own.

    model : whose joints name rows and columns
    derivatives : of `inverse_dynamics_derivatives`
    by : "q", "v" or "a"
    sample : which one; the root of the mean square over all of them if left out

    >>> D = mg.inverse_dynamics_derivatives(model, [0.5])
    >>> mg.plots.sensitivity_matrix(model, D).axes[0].get_title("left")
    'dtau/dq [N m/rad]'
    """
    if by not in ("q", "v", "a"):
        raise InputError(f"by is {by!r}; choose one of 'q', 'v', 'a'.")
    style.needs(derivatives, "derivatives of generalized forces", f"d{by}")
    packed = getattr(derivatives, f"d{by}")
    full = np.real(packed.dense() if hasattr(packed, "dense") else np.asarray(packed))
    full = full if full.ndim == 3 else full[None]
    if sample is not None and not -len(full) <= sample < len(full):
        raise InputError(f"sample is {sample}, and there are {len(full)}.")
    if not np.isfinite(full).all():
        raise InputError(f"dtau/d{by} has {int((~np.isfinite(full)).sum())} numbers that are not finite.")
    signed = sample is not None or len(full) == 1
    matrix = full[sample if sample is not None else 0] if signed else np.sqrt(np.mean(full**2, axis=0))
    names, units = list(model.v_names), list(velocity_units(model).values())
    if matrix.shape != (len(names), len(names)):
        raise InputError(f"the matrix is {matrix.shape}, and model {model.name!r} has {len(names)} velocities.")
    turning = [[k for k, u in enumerate(units) if u == unit] for unit in dict.fromkeys(units)]
    side = 1.6 + 0.14 * len(names)
    figure = style.new_figure(max(side + 1.2, 4.0), max(side, 3.2))
    grid = figure.subplots(len(turning), len(turning), squeeze=False,
                           width_ratios=[len(x) for x in turning], height_ratios=[len(x) for x in turning])  # fmt: skip
    for i, rows in enumerate(turning):
        for j, cols in enumerate(turning):
            labels = [[names[k] for k in group] for group in (rows, cols)]
            _map(grid[i, j], matrix[np.ix_(rows, cols)], *labels, signed=signed)
            force, move = "N m" if units[rows[0]] == "rad/s" else "N", units[cols[0]].removesuffix("/s")
            rate = {"q": move, "v": f"({move}/s)", "a": f"({move}/s²)"}[by]
            grid[i, j].set_title(f"dtau/d{by} [{force}/{rate}]")
    if not signed:
        figure.suptitle(f"root of the mean square over {len(full)} samples", x=0.01, ha="left", fontsize=8)
    return figure


def _map(axes: Any, block: FloatArray, rows: Sequence[str], columns: Sequence[str], *, signed: bool) -> None:
    """A block; zeros by structure are white."""
    largest = float(np.abs(block).max(initial=0.0)) or 1.0
    shades = {"cmap": "RdBu" if signed else "Blues", "vmin": -largest if signed else 0.0, "vmax": largest}
    image = axes.imshow(block, aspect="auto", interpolation="nearest", **shades)
    size = float(np.clip(200.0 / max(len(rows), len(columns)), 4.0, 8.0))
    axes.set_xticks(range(len(columns)), [style.plain(x) for x in columns], rotation=90, fontsize=size)
    axes.set_yticks(range(len(rows)), [style.plain(x) for x in rows], fontsize=size)
    axes.grid(visible=False)
    axes.set(xlabel="changed", ylabel="force")
    if block.any():
        axes.figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01)
    else:
        axes.text(0.5, 0.5, "0", transform=axes.transAxes, ha="center", va="center", color=style.GREY)
