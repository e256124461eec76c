"""Independent rows and coordinates for Matrix R, chosen where the motion starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space, qr

from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.system import RANK, System
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.kinematics.held import find_quantity
from mechgrad.kinematics.mechanism import evaluate_rows
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.rows import LINEAR, Row
from mechgrad.typing import Array, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

DEAD_POINT_START = 1e-6  # least singular value of [Gamma; B] beside the largest, from which on a motion may start


def _gamma(system: System, q: Array, t: float) -> Array:
    J: Array = system.constraints(q[None].real.astype(system.dtype), t=t).J[0].real
    return J


def independent_rows(system: System, q: Array, t: float) -> IntArray:
    """Positions (among all constraint rows of the model) of as many rows as the rank of Gamma at q."""
    J = _gamma(system, q, t)
    size = np.linalg.norm(J, axis=1)
    _, R, order = qr((J / np.where(size > 0, size, 1.0)[:, None]).T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > RANK * diagonal[0]))
    return np.asarray(system.rows[np.sort(order[:rank])])


def free_rows(system: System, form: MatrixR, q: Array, t: float, rank: int) -> list[Row]:
    """The rows of the independent coordinates; raises where they do not determine the motion."""
    model = system.model
    freedom = model.n_v - rank
    if not freedom:
        raise InputError(
            f"model {model.name!r} has no degree of freedom left; there is no motion to integrate. "
            "Use mg.kinematic_motion for driven mechanisms."
        )
    N = null_space(_gamma(system, q, t), rcond=RANK)
    layout = model._layout
    plain = dict(zip(layout.plain_v.tolist(), layout.plain_q.tolist(), strict=True))
    if form.independent is None:
        columns = np.array(sorted(plain))
        _, R, order = qr(N[columns].T, mode="economic", pivoting=True)
        if np.abs(np.diag(R)).min(initial=np.inf) < 1e-6 or len(columns) < freedom:
            raise InputError(
                f"no {freedom} joint coordinates of model {model.name!r} determine its motion at the start (balls have "
                "none that could). Name coordinates of points: MatrixR(['P.x', ...])."
            )
        return [_coordinate(model.q_names[plain[int(columns[k])]]) for k in np.sort(order[:freedom])]
    if len(form.independent) != freedom:
        raise InputError(
            f"MatrixR names {len(form.independent)} independent coordinates, and model {model.name!r} has {freedom} "
            "degrees of freedom at the start."
        )
    return named_rows(model, form.independent)


def least_determined(system: System, q: Array, t: float) -> tuple[str, float]:
    """The independent coordinate nearest to its turning point, and how near: the least singular value of W = [Gamma;
    B], rows of length one, beside the largest. Zero at a dead point, where rows of W depend on each other."""
    state: Array = q[None].real.astype(system.dtype)
    m = system.n_constraints
    parts = [(0, m), (system.n_rows, int(system.T.ints[N_ALL]))]
    W = np.concatenate([evaluate_rows(system.T, state, None, None, np.array([t]), *part).J[0].real for part in parts])
    size = np.linalg.norm(W, axis=1)
    U, values, _ = np.linalg.svd(W / np.where(size > 0.0, size, 1.0)[:, None])
    return system.free[int(np.argmax(np.abs(U[m:, -1])))], float(values[-1] / values[0])


def check_independent(system: System, q: Array, t: float) -> None:
    """Raise where named coordinates do not determine the motion at its start."""
    name, share = least_determined(system, q, t)
    if share < DEAD_POINT_START:
        raise InputError(
            f"independent coordinate {name!r} does not determine the motion of model {system.model.name!r} where it "
            f"starts: it stands still there, or follows from the others (smallest singular value {share:.1e}). Choose "
            "another, or leave the choice to MatrixR()."
        )


def named_rows(model: Model, names: Sequence[str]) -> list[Row]:
    """The rows of independent coordinates by name: of joints, of points ("P.x"), of vectors ("axis1.x").

    Names mean what they mean when something is held or driven (`kinematics.held`).
    """
    rows = []
    for name in names:
        try:
            found = find_quantity(model, name)
        except MechgradError as error:
            known = [model.q_names[i] for i in model._layout.plain_q]
            known += [f"{marker}.x" for marker in (*(p.name for p in model.points), *(u.name for u in model.vectors))]
            raise unknown_name("independent coordinate", name, known, f"model {model.name!r}") from error
        rows.append((found.row or _coordinate(found.name))._replace(label=name))
    return rows


def _coordinate(name: str) -> Row:
    return Row(LINEAR, coordinates=((name, 1.0),), label=name)
