"""Independent rows and coordinates for Matrix R: which are offered, and which a motion begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.system import RANK, System
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.kinematics.held import Name, find_quantity
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.primitives.quantity_names import known_quantities
from mechgrad.model.primitives.rows import LINEAR, Row
from mechgrad.steps.independent.choices import Choices
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

TIE = 1e-9  # relative: sizes that differ by less are equal
DEAD_POINT_START = 1e-6  # least singular value of [Gamma; B] beside the largest, from which on a motion may start


def _gamma(system: System, q: Array, t: float) -> Array:
    J: Array = system.constraints(q[None].real.astype(system.dtype), t=t).J[0].real
    return J


def offered_rows(model: Model, form: Formulation) -> list[Row]:
    """Rows that can be independent coordinates: those that were named, or all coordinates of joints but of balls."""
    names = form.named_coordinates()
    if names is not None:
        return named_rows(model, names)
    layout = model.layout
    plain = dict(zip(layout.plain_v.tolist(), layout.plain_q.tolist(), strict=True))
    return [_coordinate(model.q_names[plain[j]]) for j in sorted(plain)]


def _constraint_rows(J: Array) -> IntArray:
    """As many rows as the rank of Gamma, the least dependent ones; none of an open tree."""
    if not len(J):
        return np.zeros(0, np.int64)
    size = np.linalg.norm(J, axis=1)
    order, left = pivoted(J / np.where(size > 0, size, 1.0)[:, None])
    return np.sort(order[left > RANK * left[0]])


def pivoted(lines: Array) -> tuple[IntArray, FloatArray]:
    """The order in which lines are least dependent on those before, and what is left of each then.

    Of lines that are equally good but for rounding the first is taken, on every machine: in symmetric mechanisms many
    are.
    """
    rest = np.array(lines, float)
    order: list[int] = []
    left: list[float] = []
    for _ in range(min(rest.shape)):
        size = np.linalg.norm(rest, axis=1)
        size[order] = -1.0
        best = int(np.flatnonzero(size >= (1.0 - TIE) * size.max())[0])
        order.append(best)
        left.append(max(float(size[best]), 0.0))
        if left[-1] > 0.0:
            direction = rest[best] / left[-1]
            for _ in range(2):  # once more, for what rounding leaves
                rest = rest - np.outer(rest @ direction, direction)
    return np.array(order, np.int64), np.array(left)


def start_choices(system: System, form: Formulation, q: Array, t: float) -> Choices:
    """The rows of W that a motion begins with; raises where none determine it."""
    model, named = system.model, form.named_coordinates() is not None
    J = _gamma(system, q, t)
    rows = _constraint_rows(J)
    freedom = model.n_v - len(rows)
    if not freedom:
        raise InputError(
            f"model {model.name!r} has no degree of freedom left; there is no motion to integrate. "
            "Use mg.kinematic_motion for driven mechanisms."
        )
    if named and len(system.independent) != freedom:
        raise InputError(
            f"MatrixR names {len(system.independent)} independent coordinates, and model {model.name!r} has {freedom} "
            "degrees of freedom at the start."
        )
    free = np.arange(freedom) if named else _free_coordinates(system, J, freedom)
    pick = np.concatenate([rows, system.n_rows + free]).astype(np.int64)
    choices = Choices(np.zeros(1, np.int64), np.array([float(t)]), pick[None], len(rows), named)
    name, share = least_determined(system, choices, q, t)
    if share < DEAD_POINT_START:
        raise InputError(
            f"independent coordinate {name!r} does not determine the motion of model {model.name!r} where it "
            f"starts: it stands still there, or follows from the others (smallest singular value {share:.1e}). Choose "
            "another, or leave the choice to MatrixR()."
        )
    return choices


def _free_coordinates(system: System, J: Array, freedom: int) -> IntArray:
    """Positions (among the rows that are offered) of the coordinates that determine the motion best."""
    columns = np.sort(system.model.layout.plain_v)
    order, left = pivoted(null_space(J, rcond=RANK)[columns])
    if left.min(initial=np.inf) < DEAD_POINT_START or len(columns) < freedom:
        raise InputError(
            f"no {freedom} joint coordinates of model {system.model.name!r} determine its motion at the start (balls "
            "have none that could). Name coordinates of points: MatrixR(['P.x', ...])."
        )
    return np.sort(order[:freedom])


def least_determined(system: System, choices: Choices, q: Array, t: float) -> tuple[str, float]:
    """The independent coordinate nearest to its turning point, of those chosen last, and how near: the least singular
    value of W = [Gamma; B], rows of length one, beside the largest. Zero at a dead point, where rows of W depend on
    each other."""
    state: Array = q[None].real.astype(system.dtype)
    pick, rank = choices.picks[-1], choices.rank
    W = evaluate_rows(system.T, state, None, None, np.array([t]), 0, int(system.T.ints[N_ALL])).J[0].real[pick]
    U, values, _ = np.linalg.svd(_unit(W))
    return system.independent[pick[rank + int(np.argmax(np.abs(U[rank:, -1])))] - system.n_rows], float(
        values[-1] / values[0]
    )


def rank_left(system: System, choices: Choices, q: Array, t: float) -> float:
    """The least of those singular values of Gamma that make its rank, beside the largest: zero at a change point, where
    constraints lose rank and two motions meet."""
    values = np.linalg.svd(_gamma(system, q, t), compute_uv=False)
    return float(values[choices.rank - 1] / values[0])


def _unit(W: Array) -> Array:
    size = np.linalg.norm(W, axis=1)
    return np.asarray(W / np.where(size > 0.0, size, 1.0)[:, None])


def named_rows(model: Model, names: Sequence[Name]) -> list[Row]:
    """The rows of independent coordinates by name: of joints, of points ("P.x"), of vectors ("axis1.x"), or measures.

    Names mean what they mean when something is held or driven (`kinematics.held`).
    """
    rows = []
    for name in names:
        try:
            found = find_quantity(model, name)
        except MechgradError as error:
            known = known_quantities(model)
            raise unknown_name("independent coordinate", str(name), known, f"model {model.name!r}") from error
        rows.append((found.row or _coordinate(found.name))._replace(label=found.name))
    return rows


def _coordinate(name: str) -> Row:
    return Row(LINEAR, coordinates=((name, 1.0),), label=name)
