"""Joint coordinates from what is known of points and vectors: the pose of each body first, then joint by joint.

    body      R = argmin sum |x_i - R l_i - p|^2 + sum |u_k - R d_k|^2        (singular value decomposition)
    hinge     q = atan2(w . (u x v), u . v)        u, v across the axis w, on the parent and on the child
    ball      Euler parameters from the rotation matrix, by the largest of the four
    slider    distances along the axes, by projection

Where a body's own points do not tell its pose, its coordinates are found together with all others by least squares,
loops included.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.assembly import STARTS, find_positions, solve_velocities, worst_rows
from mechgrad.kinematics.held import Equations, checked_state, find_quantity
from mechgrad.kinematics.marker_motions import marker_body, marker_motion
from mechgrad.kinematics.mobility import null_space
from mechgrad.model.joints import BALL, PRISMATIC, REVOLUTE, Joint
from mechgrad.model.joints.base import Pose, chained, inverted, q_width
from mechgrad.model.primitives.frames import quaternion_to_matrix, rotation_z
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

PARALLEL = 1e-6  # sine of the smallest angle between directions that tell a rotation


def coordinates_from_points(
    model: Model,
    positions: Mapping[str, ArrayLike],
    *,
    guess: ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> FloatArray:
    """Coordinates q (n_q,) at which points and vectors of the model are where they are said to be.

    Parameters
    ----------
    positions : mapping from names of points and vectors (or "body.origin", "body.com") to world coordinates
        [m] for points; vectors with the length that the model gives them. A body whose markers make two directions
        that are not parallel, and one of them a point, is placed in closed form.
    guess : (n_q,), optional
        Start of the search for bodies that are not; `model.neutral()` if left out.
    tolerance : float
        Largest distance that is accepted between given and found positions [m or 1]; raise it for measured data,
        which are then fitted in the sense of least squares.

    Angles lie between -pi and pi.

    >>> arm = double_pendulum()
    >>> x = marker_motion(arm, ["tip", "upper.com"], [0.4, -0.9]).position
    >>> coordinates_from_points(arm, {"tip": x[0], "upper.com": x[1]}).round(9)
    array([ 0.4, -0.9])
    """
    given = _given(model, positions)
    poses = _body_poses(model, given)
    q = model.neutral() if guess is None else checked_state(model, "guess", guess, model.n_q).real
    missing = []
    for joint in model.tree_joints:
        found = None
        if joint.parent in poses and joint.child in poses:
            found = _joint_coordinates(joint, chained(inverted(poses[joint.parent]), poses[joint.child]))
        if found is None:
            missing.append(joint.name)
        else:
            q[model.q_slice(joint.name)] = found
    if missing:
        q = _fitted(model, given, q, tolerance)
    miss = (marker_motion(model, list(given), q).position - np.array(list(given.values()))).ravel()
    if np.abs(miss).max(initial=0.0) > tolerance:
        names = [f"{name}.{axis}" for name in given for axis in "xyz"]
        raise AssemblyError(
            f"model {model.name!r} cannot have its points where they are said to be: the nearest configuration misses "
            f"{worst_rows(names, miss)} [m or 1], more than {tolerance:g}. Check units and distances between the "
            "points of a body, or raise the tolerance for measured data."
        )
    return q


def velocities_from_points(model: Model, q: ArrayLike, velocities: Mapping[str, ArrayLike], t: float = 0.0) -> Array:
    """Velocities v (n_v,) at which points and vectors of the model move as they are said to.

        J v = velocities,    Gamma v = -Phi_t

    Parameters
    ----------
    velocities : mapping from names as in `coordinates_from_points` to world velocities [m/s or 1/s]

    Raises AssemblyError if the velocities contradict each other, or leave some coordinates open.

    >>> arm = double_pendulum()
    >>> motion = marker_motion(arm, ["tip", "upper.com"], [0.4, -0.9], [1.0, 2.0])
    >>> velocities_from_points(arm, [0.4, -0.9], dict(zip(motion.names, motion.velocity))).round(9)
    array([1., 2.])
    """
    given = _given(model, velocities)
    q = checked_state(model, "q", q, model.n_q)
    rates = {(name, axis): x[k] for name, x in given.items() for k, axis in enumerate("xyz")}
    equations = Equations.of(model, (find_quantity(model, name) for name in rates))
    _check_determined(model, equations.at(q.real.astype(equations.dtype), None, t).J)
    return solve_velocities(model, q, rates, t)


def _given(model: Model, positions: Mapping[str, Any]) -> dict[str, FloatArray]:
    given = {}
    for name, x in positions.items():
        marker_body(model, name)
        array = np.asarray(x)
        if array.shape != (3,) or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise InputError(f"{name!r}: {x!r} must be three finite real numbers, in world axes.")
        given[name] = array.astype(float)
    return given


# ---- bodies


def _body_poses(model: Model, given: Mapping[str, FloatArray]) -> dict[str, Pose]:
    """Poses of the bodies that their own markers place, and of the ground."""
    poses: dict[str, Pose] = {"ground": (np.eye(3), np.zeros(3))}
    vectors = {u.name for u in model.vectors}
    for body in model.body_names:
        mine = [name for name in given if marker_body(model, name) == body]
        points, directions = [n for n in mine if n not in vectors], [n for n in mine if n in vectors]
        if not points:
            continue
        local, x = np.array([_local(model, n) for n in points]), np.array([given[n] for n in points])
        here = [*(local - local.mean(axis=0)), *(_local(model, n) for n in directions)]
        there = [*(x - x.mean(axis=0)), *(given[n] for n in directions)]
        sizes = np.linalg.svd(np.array(here), compute_uv=False)
        if len(sizes) < 2 or sizes[1] <= PARALLEL * sizes[0]:
            continue
        R = _rotation(np.array(here), np.array(there))
        poses[body] = R, x.mean(axis=0) - R @ local.mean(axis=0)
    return poses


def _local(model: Model, name: str) -> FloatArray:
    """Where a marker is on its body."""
    known = {p.name: p.position for p in model.points} | {u.name: u.direction for u in model.vectors}
    body, _, part = name.rpartition(".")
    if name not in known and part == "origin":
        return np.zeros(3)
    local: Array = known[name] if name in known else model.body(body).com
    return np.asarray(local.real, np.float64)


def _rotation(here: FloatArray, there: FloatArray) -> FloatArray:
    """The rotation R with the smallest sum |there - R here|^2."""
    U, _, Vt = np.linalg.svd(there.T @ here)
    return np.asarray(U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt, float)


# ---- joints


def _joint_coordinates(joint: Joint, pose: Pose) -> FloatArray | None:
    """Coordinates of a joint from the pose of its child in its parent; None if it turns about more than two axes."""
    atoms, tail = joint.atoms(), joint.tail()
    turning = [k for k, atom in enumerate(atoms) if atom.kind in (REVOLUTE, BALL)]
    kinds = [atoms[k].kind for k in turning]
    if len(turning) > 2 or (len(turning) == 2 and BALL in kinds):
        return None
    frames = [atom.E.real for atom in atoms] + [tail[0].real]
    bounds = [0, *(k + 1 for k in turning), len(frames)]
    # pose = C_0 turn_0 C_1 turn_1 C_2, with the constant rotations between what turns
    between = [_product(frames[a:b]) for a, b in pairwise(bounds)]
    turns: dict[int, Any] = {}
    middle = between[0].T @ pose[0] @ between[-1].T
    if kinds == [BALL]:
        turns[turning[0]] = matrix_to_quaternion(middle)
    elif len(kinds) == 1:
        turns[turning[0]] = np.arctan2(middle[1, 0] - middle[0, 1], middle[0, 0] + middle[1, 1])
    elif len(kinds) == 2:
        # middle = Rz(q0) C Rz(q1): the second axis as the first turns it, and the first as the second turns it back
        C = between[1]
        turns[turning[0]] = _angle_about_z(C[:, 2], middle[:, 2])
        turns[turning[1]] = _angle_about_z(middle[2, :], C[2, :])
    return _with_distances(joint, pose, turns)


def _product(matrices: list[Array]) -> FloatArray:
    result = np.eye(3)
    for matrix in matrices:
        result = result @ matrix
    return result


def _angle_about_z(u: Array, v: Array) -> float:
    """Angle from u to v about z, of their parts across it."""
    return float(np.arctan2(u[0] * v[1] - u[1] * v[0], u[0] * v[0] + u[1] * v[1]))


def _with_distances(joint: Joint, pose: Pose, turns: dict[int, Any]) -> FloatArray:
    """All coordinates from the turns: the distances are what is left of the position, by projection."""
    R, p = np.eye(3), np.zeros(3)
    axes, q = [], np.zeros(joint.n_q)
    places, at = [], 0
    for k, (kind, E, r) in enumerate(joint.atoms()):
        p, R = p + R @ r.real, R @ E.real
        if kind == PRISMATIC:
            axes.append(R[:, 2])
            places.append(at)
        elif k in turns:
            R = R @ (quaternion_to_matrix(turns[k]) if kind == BALL else rotation_z(turns[k]))
            q[at : at + q_width(kind)] = turns[k]
        at += q_width(kind)
    if axes:
        q[places] = np.linalg.lstsq(np.array(axes).T, pose[1] - p - R @ joint.tail()[1].real, rcond=None)[0]
    return q


def matrix_to_quaternion(R: ArrayLike) -> FloatArray:
    """Euler parameters (w, x, y, z) of a rotation matrix, w >= 0, from the largest of the four.

        4 w^2 = 1 + R11 + R22 + R33,   4 x^2 = 1 + R11 - R22 - R33, ...;   4 w x = R32 - R23, 4 x y = R12 + R21, ...

    >>> matrix_to_quaternion([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(9).tolist()
    [0.707106781, 0.0, 0.0, 0.707106781]
    """
    R = np.asarray(R, float)
    K = np.empty((4, 4))  # four times the products of the parameters
    K[0, 0] = 1.0 + np.trace(R)
    K[0, 1:] = K[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[1:, 1:] = R + R.T + (1.0 - np.trace(R)) * np.eye(3)
    largest = int(np.argmax(np.diag(K)))
    e = K[largest] / np.linalg.norm(K[largest])
    return np.asarray(-e if e[0] < 0.0 else e, float)


# ---- what is left


def _fitted(model: Model, given: Mapping[str, FloatArray], guess: FloatArray, tolerance: float) -> FloatArray:
    """All coordinates at once by least squares, loops included."""
    names = [(name, axis) for name in given for axis in "xyz"]
    equations = Equations.of(model, (find_quantity(model, name) for name in names))
    target = np.concatenate([*given.values(), np.zeros(0)])
    # searches go on until nothing improves, so that good data are met to rounding; the tolerance says when to stop
    # looking for a better start
    q = find_positions(equations, target, guess, 0.0, tolerance, STARTS).q.real
    at = equations.at(q.astype(equations.dtype), None, 0.0)
    _check_determined(model, at.J[equations.finite_rows])
    return np.asarray(q, float)


def _check_determined(model: Model, J: Array) -> None:
    free = null_space(J)
    if free.shape[1]:
        moved = np.abs(free).max(axis=1)
        names = [model.v_names[k] for k in np.flatnonzero(moved > 1e-6 * moved.max())]
        raise AssemblyError(
            f"the points given for model {model.name!r} leave {free.shape[1]} degree(s) of freedom open, in "
            f"{', '.join(names[:8])}. Give more points or vectors of the bodies there, not all on one line."
        )
