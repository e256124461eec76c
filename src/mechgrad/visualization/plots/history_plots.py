"""Measures over time, a panel per unit; coordinates and velocities of a whole motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.measures import JointCoordinate, Measure
from mechgrad.mechanics.coordinate_units import coordinate_units, velocity_units
from mechgrad.model.primitives.rows import MEASURE_TYPES
from mechgrad.typing import FloatArray
from mechgrad.visualization.plots import style
from mechgrad.visualization.plots.constraint_norms import draw_constraint_norms
from mechgrad.visualization.plots.energy_plots import draw_energies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mechgrad.model.model import Model

QUANTITY = {
    "rad": "angle", "m": "length", "rad/s": "angular velocity", "m/s": "velocity", "rad/s²": "angular acceleration",
    "m/s²": "acceleration", "N": "force", "N m": "torque", "J": "energy", "1": "component",
    "kg m/s": "momentum", "kg m²/s": "angular momentum", "1/s": "rate", "1/s²": "second rate",
}  # fmt: skip


class Curve(NamedTuple):
    """One number over time: of what, which of its numbers, its unit, and its values (nt,)."""

    owner: str
    part: str
    unit: str
    values: FloatArray


NamedColumns = tuple[str, FloatArray, dict[str, str]]
"""Title, values (nt, n), and the unit of each column by its name."""


@style.styled
def plot_histories(motion: Any, *measures: Any) -> Figure:
    """Measures over time: a panel for each unit, curves named by measure and component.

    motion : with one start
    measures : of `mg.measures`, names of coordinates, or one mapping from titles to measures

    >>> swing = mg.simulate(model, {"pin": 0.5}, 1.0)
    >>> figure = mg.plots.histories(swing, "pin", mg.measures.PointPosition("bob.com"))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['angle [rad]', 'length [m]']
    """
    style.one_start(motion)
    groups = grouped(measured_curves(motion, named_measures(measures)))
    figure, axes = style.panels(len(groups))
    for ax, ((unit, _), found) in zip(axes, groups.items(), strict=True):
        _draw(ax, motion.t, found, unit)
    return figure


@style.styled
def plot_motion(motion: Any) -> Figure:
    """A whole motion: coordinates and velocities by unit, energies, and how well constraints hold, if there are any.

    Euler parameters of ball joints are left out: no length or angle is one of them; how balls turn is in the angular
    velocities.

    >>> figure = mg.plots.motion(mg.simulate(model, {"pin": 0.5}, 1.0))
    >>> [axes.get_title("left") for axes in figure.axes]
    ['coordinates', 'velocities', 'energy']
    """
    style.one_start(motion)
    drawn = _by_unit(_coordinates_and_velocities(motion.model, motion.q, motion.v))
    constrained = motion.has_constraints
    figure, axes = style.panels(len(drawn) + 1 + constrained)
    for ax, (title, unit, found) in zip(axes, drawn, strict=False):
        _draw(ax, motion.t, found, unit, title)
    draw_energies(axes[len(drawn)], motion)
    if constrained:
        draw_constraint_norms(axes[-1], motion)
    return figure


@style.styled
def plot_states(model: Model, t: FloatArray, q: FloatArray, v: FloatArray, tau: FloatArray) -> Figure:
    """Coordinates, velocities and generalized forces (nt, n_v) over time, by unit."""
    forces = {name: {"rad/s": "N m", "m/s": "N"}[unit] for name, unit in velocity_units(model).items()}
    drawn = _by_unit([*_coordinates_and_velocities(model, q, v), ("generalized forces", tau, forces)])
    figure, axes = style.panels(len(drawn))
    for ax, (title, unit, found) in zip(axes, drawn, strict=True):
        _draw(ax, t, found, unit, title)
    return figure


def _coordinates_and_velocities(model: Model, q: FloatArray, v: FloatArray) -> list[NamedColumns]:
    return [("coordinates", q, coordinate_units(model)), ("velocities", v, velocity_units(model))]


def _by_unit(sets: Sequence[NamedColumns]) -> list[tuple[str, str, list[Curve]]]:
    """Title, unit and curves of each panel; Euler parameters have none."""
    return [
        (title, unit, [Curve(name, "", unit, values[:, k]) for k, (name, u) in enumerate(units.items()) if u == unit])
        for title, values, units in sets
        for unit in dict.fromkeys(units.values())
        if unit != "1"
    ]


def named_measures(given: Sequence[Any]) -> dict[str, Measure]:
    """Titles and measures; names of coordinates stand for these."""
    if len(given) == 1 and isinstance(given[0], Mapping):
        pairs = list(given[0].items())
    elif len(given) == 1 and isinstance(given[0], list | tuple):
        pairs = [("", one) for one in given[0]]
    else:
        pairs = [("", one) for one in given]
    if not pairs:
        raise InputError("there is nothing to plot: give measures, mg.measures.JointCoordinate('pin') for instance.")
    found: dict[str, Measure] = {}
    for title, one in pairs:
        measure = JointCoordinate(one) if isinstance(one, str) else one
        if not isinstance(measure, Measure):
            known = ", ".join(sorted(MEASURE_TYPES))
            raise InputError(f"{one!r} is no measure such as mg.measures.JointCoordinate('pin'); there are {known}.")
        found[title or (one if isinstance(one, str) else measure.label)] = measure
    return found


def measured_curves(motion: Any, measures: Mapping[str, Measure]) -> list[Curve]:
    """Every number of every measure as a curve of its own."""
    found: list[Curve] = []
    for title, measure in measures.items():
        if isinstance(measure, JointCoordinate) and measure.coordinate not in coordinate_units(motion.model):
            plain = [name for name, unit in coordinate_units(motion.model).items() if unit != "1"]
            raise unknown_name("coordinate", measure.coordinate, plain, f"model {motion.model.name!r}")
        values = np.real(motion.measured(measure)).reshape(len(motion.t), -1)
        columns: Sequence[tuple[str, str]] = measure.columns(motion.model)
        if len(columns) != values.shape[1]:  # a measure of a user that says nothing of its numbers
            unit = columns[0][1] if len({unit for _, unit in columns}) == 1 else ""
            columns = [(f"[{k}]", unit) for k in range(values.shape[1])]
        found += [Curve(title, part, unit, values[:, k]) for k, (part, unit) in enumerate(columns)]
    return found


def grouped(found: Sequence[Curve]) -> dict[tuple[str, str], list[Curve]]:
    """Curves by unit; those without one by what they are called."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in found:
        groups.setdefault((curve.unit, "" if curve.unit else curve.owner), []).append(curve)
    return groups


def _draw(ax: Any, t: Any, found: Sequence[Curve], unit: str, title: str = "") -> None:
    owners = {curve.owner for curve in found}
    what = title or (owners.pop() if len(owners) == 1 else "")
    names = [curve.part if what == curve.owner else f"{curve.owner} {curve.part}".strip() for curve in found]
    time, columns = style.finite(what or names[0], t, np.column_stack([curve.values for curve in found]), names)
    style.curves(ax, time, columns, [style.plain(name) for name in names])
    style.over_time(ax, QUANTITY.get(unit, "value"), unit, style.plain(what))
