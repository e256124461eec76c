"""Where constraints lock a mechanism up: which of them, on which bodies, told from the last state of a march.

With rows of length one, Gamma = U S V^T. A row that drives is followed while it does not depend on the others; at the
end of a linkage's reach the least singular value of Gamma falls to zero, and the combination U_r of rows that belongs
to it asks for a velocity that no motion has. Its largest entries are the constraints that meet there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.primitives.attached import places
from mechgrad.tolerances import RANK

if TYPE_CHECKING:
    from mechgrad.dynamics.system import System
    from mechgrad.typing import Array, FloatArray

NEAR = 0.3  # of the least singular value at the start: steps that fail are seldom at the very point
SHARE = 0.3  # of the largest entry of U_r: what has less part in it is not named
MOST_NAMES = 4
MOST_STATES = 64  # before the end, that are looked at


def lock_up_hint(system: System, q: Array, t: Array) -> str:
    """What stops the mechanism towards the end of the states (nt, n_q) at t, in a sentence or two; empty where
    constraints are about as independent as at the start."""
    if not system.n_constraints or system.dtype is complex:
        return ""
    first, last = _least(system, q[:1], t[:1]), _least(system, q[-MOST_STATES:], t[-MOST_STATES:])
    k = int(np.argmin(last.sizes))
    if not last.sizes[k] < NEAR * first.sizes[0]:  # or NaN
        return ""
    part = np.abs(last.parts[k])
    order = [i for i in np.argsort(-part) if part[i] > SHARE * part.max()]
    owners = list(dict.fromkeys(system.names[i].partition(": ")[0] for i in order))[:MOST_NAMES]
    bodies = list(dict.fromkeys(name for owner in owners for name in _bodies(system, owner)))
    return (
        f"Towards it {', '.join(map(repr, owners))} come to depend on each other, as at the end of a linkage's reach: "
        f"bodies {', '.join(map(repr, bodies))} lock up, about t = {float(t[-MOST_STATES:][k]):.6g} s (least singular "
        f"value of the constraints {last.sizes[k]:.1e}, at the start {first.sizes[0]:.1e}). Drive it less far, or "
        "change the geometry. "
    )


class _Least(NamedTuple):
    """Least singular values that make the rank of Gamma, beside the largest, and what rows have to do with each."""

    sizes: FloatArray
    parts: FloatArray


def _least(system: System, q: Array, t: Array) -> _Least:
    """In some states; infinite where it cannot be told."""
    J = evaluate_rows(system.T, q, None, None, np.array(t, float), 0, system.n_constraints).J.real
    size = np.linalg.norm(J, axis=2)
    told = np.isfinite(J).all(axis=(1, 2)) & (size > 0.0).all(axis=1)
    J, size = np.where(told[:, None, None], J, 1.0), np.where(told[:, None], size, 1.0)
    U, values, _ = np.linalg.svd(J / size[:, :, None], full_matrices=False)
    rank = int((values[0] > RANK * values[0, 0]).sum()) - 1
    return _Least(np.where(told, values[:, rank] / values[:, 0], np.inf), U[:, :, rank])


def _bodies(system: System, owner: str) -> tuple[str, ...]:
    """The bodies that a joint or a constraint connects, the ground left out."""
    model, where = system.model, places(system.model)
    for joint in model.cut_joints:
        if joint.name == owner:
            return tuple(body for body in (joint.parent, joint.child) if body != "ground")
    found: list[str] = []
    for constraint in model.constraints:
        if constraint.name == owner:
            for row in constraint.rows(where):
                found += [place.body for place in row.places]
                joints = [name.partition(".")[0] for name, _ in row.coordinates]
                found += [joint.child for joint in model.joints if joint.name in joints]
    return tuple(body for body in dict.fromkeys(found) if body != "ground")
