"""In which way a mechanism is put together, and how it stays so while its numbers change.

Rows of constraints and of what is driven, by the coordinates, make a square matrix. Its determinant vanishes only where
two ways to put the mechanism together meet: another sign is another way. From one set of numbers to another the
mechanism is carried along the straight line between them, in steps that are halved where the configuration would jump
or the determinant change its sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import AssemblyError
from mechgrad.kinematics.assembly import newton
from mechgrad.kinematics.held import Equations, find_values
from mechgrad.steps.guided.drives import as_drive
from mechgrad.steps.guided.step import HALVINGS, LARGEST_TURN
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def way(model: Model, q: Array, t: FloatArray, at: Mapping[Any, Any] | None) -> int:
    """The sign of the determinant at the first instant; 0 where redundant rows leave no square matrix.

    >>> way(pendulum, np.array([0.3]), np.array([0.0]), {"pin": 0.3})
    1
    """
    equations, _ = _held(model, t, at)
    J = equations.at(np.asarray(q).real.astype(equations.dtype), None, float(t[0])).J.real[equations.finite_rows]
    J = J[np.abs(J).max(axis=1, initial=0.0) > 0.0]
    return int(np.sign(np.linalg.det(J))) if J.shape[0] == J.shape[1] else 0


def carried(
    before: Model, q: Array, after: Model, t: FloatArray, at: Mapping[Any, Any] | None, tolerance: float
) -> Array:
    """The configuration of `after` at the first instant that belongs to q of `before`, from one step to the next."""
    old = {p.path: np.real(p.value) for p in before.parameters() if p.driver is None}
    new = {p.path: np.real(p.value) for p in after.parameters() if p.driver is None}
    moved = {path: (x, new[path]) for path, x in old.items() if new[path] != x}
    done, h, halvings, sign = 0.0, 1.0, 0, way(before, q, t, at)
    while done < 1.0:
        share = min(done + h, 1.0)
        model = before.stepped({path: (1.0 - share) * a + share * b for path, (a, b) in moved.items()})
        equations, target = _held(model, t, at)
        found = newton(
            equations, target, q.real.astype(equations.dtype), float(t[0]), tolerance * equations.reach(target)
        )
        near = float(np.abs(found.q.real - q.real).max(initial=0.0)) <= LARGEST_TURN
        if found.closed and near and way(model, found.q, t, at) == sign:
            q, done, h, halvings = found.q, share, 2.0 * h, max(halvings - 1, 0)
            continue
        h, halvings = 0.5 * h, halvings + 1
        if halvings > HALVINGS:
            raise AssemblyError(
                f"model {after.name!r} can be put together with these numbers, but not in the way it was before: "
                f"after {100 * done:.3g} % of the way to them the mechanism comes to a dead point. Bounds or limits "
                "that keep it away from there help, or a start that is put together in the other way."
            )
    return q


def _held(model: Model, t: FloatArray, at: Mapping[Any, Any] | None) -> tuple[Equations, Array]:
    held = find_values(model, at)
    values = [as_drive(given, t, name)(float(t[0]))[0] for name, (_, given) in held.items()]
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), *values)
    return equations, np.array(values, equations.dtype)
