"""What a force element exerts along a motion, row by row, with names and units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import unknown_name
from mechgrad.mechanics.coordinate_units import coordinate_units
from mechgrad.model.primitives.attached import places
from mechgrad.model.primitives.quantity_names import resolved
from mechgrad.model.primitives.rows import ANGLE, DOT, LINEAR, SKEW, Row
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.forces.base import Force
    from mechgrad.model.model import Model

_TURNING = (DOT, ANGLE, SKEW)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Efforts:
    """What a force element exerts along each of its rows over time, as the measure `Effort` has it.

        Q = -sum Gamma^T F,      Gamma = d(row)/dq

    A positive F lowers its row: a stretched spring pulls with F > 0 along its length, a tyre that is pressed on has
    F < 0 along its height, a motor that speeds its hinge up F < 0 along its coordinate. `push` turns the sign round.

    Attributes
    ----------
    force : name of the element;   kind : its class
    rows, units : names and units of the columns: "height" in "N", "slip along" in "N", ...
    values : (nt, rows) F; (batch, nt, rows) for many starts

    >>> spring = mg.forces.JointSpring("spring", "pin", stiffness=5.0)
    >>> model = mg.Model("sprung", pendulum.bodies, pendulum.joints, forces=[spring])
    >>> mg.simulate(model, {"pin": 0.5}, duration=0.1, samples=3).efforts("spring")
    Efforts of JointSpring 'spring' over 3 instants: coordinate ... to 2.5 N m. Next: .values, ["coordinate"], ...
    """

    force: str
    kind: str
    rows: tuple[str, ...]
    units: tuple[str, ...]
    values: Array

    def __getitem__(self, row: str) -> Array:
        """F along a row, (nt,)."""
        if row not in self.rows:
            raise unknown_name("row", str(row), self.rows, f"force {self.force!r}")
        return np.asarray(self.values[..., self.rows.index(row)])

    def push(self, row: str) -> Array:
        """-F along a row, (nt,): positive where the element enlarges it. Of a tyre along "height": its normal force."""
        return -self[row]

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{row} {np.min(x):.3g} to {np.max(x):.3g} {unit}"
            for row, unit, x in zip(self.rows, self.units, np.moveaxis(np.real(self.values), -1, 0), strict=True)
        )
        return (
            f"Efforts of {self.kind} {self.force!r} over {self.values.shape[-2]} instants: {shown}. Next: .values, "
            f'["{self.rows[0]}"], .push(...)'
        )


def efforts_of(system: System, force: str, q: Array, v: Array, a: Array, t: Array) -> Efforts:
    """Of a force element in rows of states."""
    model = system.model
    names = [element.name for element in model.forces]
    if force not in names:
        raise unknown_name("force", str(force), names, f"model {model.name!r}")
    position, columns = names.index(force), effort_columns(model, force)
    first = system.n_constraints + sum(len(_rows_of(element, model)) for element in model.forces[:position])
    y, _ = row_forces(system, q, v, a, np.zeros((len(q), system.n_constraints), system.dtype), t)
    rows, units = (tuple(words) for words in zip(*columns, strict=True))
    found = np.asarray(y[:, first : first + len(columns)])
    return Efforts(force, type(model.forces[position]).__name__, rows, units, found)


def effort_columns(model: Model, force: str) -> tuple[tuple[str, str], ...]:
    """Name and unit of what a force element exerts along each of its rows."""
    units = coordinate_units(model)
    element = next(element for element in model.forces if element.name == force)
    return tuple((row.label, _unit(row, units)) for row in _rows_of(element, model))


def _rows_of(element: Force, model: Model) -> list[Row]:
    where = places(model)
    return [resolved(model, where, row) for law in element.laws(where) for row in law.rows]


def _unit(row: Row, units: dict[str, str]) -> str:
    turns = row.kind in _TURNING or (row.kind == LINEAR and units[row.coordinates[0][0]] != "m")
    return "N m" if turns else "N"
