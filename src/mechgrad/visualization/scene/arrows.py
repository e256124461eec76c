"""Vectors as arrows: velocities, forces that joints transmit, forces of contacts, loads, what drives joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.model.forces.base import Force
from mechgrad.model.joints.base import PRISMATIC, REVOLUTE
from mechgrad.model.joints.seat import Seat
from mechgrad.model.primitives.attached import places
from mechgrad.model.primitives.rows import ADVANCE, CIRCLE, DOT, PLANE, POINT, ROLL_ACROSS, ROLL_ALONG, SLIP, Place, Row
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.load_arrows import Found, drive_vectors, load_vectors
from mechgrad.visualization.scene.nodes import Arrows
from mechgrad.visualization.scene.outline import Outline
from mechgrad.visualization.scene.poses import Drawn

LAYERS = (
    "velocities", "reactions", "contact forces", "loads", "load couples", "driving torques", "driving forces",
)  # fmt: skip
LONGEST = 0.4  # arrow at most instants, of the size
USUAL = 0.98  # share of the instants at which arrows are no longer than that


def arrow_layers(outline: Outline, states: Drawn, wanted: Sequence[str]) -> tuple[Arrows, ...]:
    """The layers that are wanted and that there is something of."""
    makers: dict[str, Callable[[Outline, Drawn], Arrows | None]] = {
        "velocities": _velocities,
        "reactions": _reactions,
        "contact forces": _contacts,
        "loads": lambda o, s: _found(o, "loads", "N", load_vectors(o, s, "force")),
        "load couples": lambda o, s: _found(o, "load couples", "N m", load_vectors(o, s, "torque")),
        "driving torques": lambda o, s: _found(o, "driving torques", "N m", drive_vectors(o, s, REVOLUTE)),
        "driving forces": lambda o, s: _found(o, "driving forces", "N", drive_vectors(o, s, PRISMATIC)),
    }
    for name in wanted:
        if name not in makers:
            raise unknown_name("arrows", name, makers, "scene")
    found = [makers[name](outline, states) for name in LAYERS if name in wanted]
    return tuple(layer for layer in found if layer is not None)


def nice(x: float) -> float:
    """The number of 1, 2, 5 times a power of ten that is next below x.

    >>> nice(0.0037), nice(780.0)
    (0.002, 500.0)
    """
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= x * (1 + 1e-12)))


def _layer(
    outline: Outline, name: str, unit: str, labels: Sequence[str], at: FloatArray, vectors: FloatArray
) -> Arrows | None:
    """With a scale of 1, 2 or 5 times a power of ten; None where nothing is longer than rounding."""
    lengths = np.linalg.norm(vectors, axis=-1)
    if not labels or not np.isfinite(lengths).all() or lengths.max(initial=0.0) < 1e-9:
        return None
    usual = float(np.quantile(lengths.max(axis=1), USUAL)) or float(lengths.max())
    return Arrows(name, unit, nice(LONGEST * outline.size / usual), tuple(labels), at, vectors)


def _found(outline: Outline, name: str, unit: str, found: Found) -> Arrows | None:
    """A layer of what there is, those that are nothing at any instant left out."""
    labels, at, vectors = found
    there = [k for k, x in enumerate(vectors) if np.any(x)]
    if not there:
        return None
    at, vectors = ([x[k] for k in there] for x in (at, vectors))
    return _layer(outline, name, unit, [labels[k] for k in there], np.stack(at, axis=1), np.stack(vectors, axis=1))


def _velocities(outline: Outline, states: Drawn) -> Arrows | None:
    poses = outline.poses
    bodies = [body for body in outline.model.bodies if body.mass]
    if not states.moves or not bodies:
        return None
    frames = [outline.frames[body.name] for body in bodies]
    arms = [np.einsum("tij,j->ti", poses.R[:, f], np.real(b.com)) for f, b in zip(frames, bodies, strict=True)]
    at = np.stack([poses.p[:, f] + arm for f, arm in zip(frames, arms, strict=True)], axis=1)
    v = np.stack([poses.v[:, f] + np.cross(poses.w[:, f], arm) for f, arm in zip(frames, arms, strict=True)], axis=1)
    return _layer(outline, "velocities", "m/s", [body.name for body in bodies], at, v)


def _reactions(outline: Outline, states: Drawn) -> Arrows | None:
    """What parents exert on children, where joints between bodies with mass are; free bodies have none."""
    reactions = getattr(states.thing, "reactions", None)
    if reactions is None or not states.moves:
        return None
    found = reactions()
    shown = [
        (k, joint)
        for k, joint in enumerate(outline.model.joints)
        if len(joint.kinds) < 3
        and joint.v_labels
        and outline.model.body(joint.child).mass
        and joint.name in found.names
    ]
    if not shown:
        return None
    force = np.real(np.asarray(found.force))[states.kept]
    columns = [found.names.index(joint.name) for _, joint in shown]
    at = np.stack(
        [outline.poses.point(outline.frames[joint.parent], np.real(Seat.of(joint).on_parent[1])) for _, joint in shown],
        axis=1,
    )
    return _layer(outline, "reactions", "N", [joint.name for _, joint in shown], at, force[:, columns])


def _contacts(outline: Outline, states: Drawn) -> Arrows | None:
    """Forces of planes on what touches them, at the point of contact."""
    efforts = getattr(states.thing, "efforts", None)
    if efforts is None or not states.moves:
        return None
    labels, at, vectors = [], [], []
    for force in outline.model.forces:
        radius = getattr(force, "radius", None)
        if getattr(force, "point", None) is None or getattr(force, "normal", None) is None or radius is None:
            continue
        rows = [row for law in force.laws(places(outline.model)) for row in law.rows]
        if not rows or any(row.kind not in (*_DIRECTIONS, *_NO_FORCE) for row in rows):
            continue
        found = np.real(efforts(force.name).values)[states.kept]
        pushing = [(k, row) for k, row in enumerate(rows) if row.kind not in _NO_FORCE]
        pushed = np.zeros((len(found), 3)) - sum(found[:, k, None] * _direction(outline, row) for k, row in pushing)
        labels.append(force.name)
        at.append(_touch(outline, force, float(np.real(radius))))
        vectors.append(pushed)
    if not labels:
        return None
    return _layer(outline, "contact forces", "N", labels, np.stack(at, axis=1), np.stack(vectors, axis=1))


_NO_FORCE = (ADVANCE, DOT)  # rows that are only read, and couples
_DIRECTIONS = (POINT, PLANE, CIRCLE, SLIP, ROLL_ALONG, ROLL_ACROSS)


def _seen(outline: Outline, place: Place) -> FloatArray:
    """A point or a direction in world axes, (nt, 3)."""
    frame, local = outline.frames[place.body], np.real(np.asarray(place.local))
    if place.is_point:
        return outline.poses.point(frame, local)
    if frame < 0:
        return np.broadcast_to(local, (len(outline.poses.p), 3))
    return np.asarray(outline.poses.R[:, frame] @ local)


def _direction(outline: Outline, row: Row) -> FloatArray:
    """The direction in which a row counts, (nt, 3): the force on the first body is minus the effort along it."""
    if row.kind == POINT:
        return np.broadcast_to(np.real(np.asarray(row.direction)), (len(outline.poses.p), 3))
    if row.kind == PLANE:
        return _seen(outline, row.places[0])
    if row.kind in (CIRCLE, SLIP):
        return _seen(outline, row.places[2])
    normal = _seen(outline, row.places[1])
    along = np.cross(_seen(outline, row.places[2]), normal)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return np.asarray(along if row.kind == ROLL_ALONG else np.cross(normal, along))


def _touch(outline: Outline, force: Force, radius: float) -> FloatArray:
    """The lowest point of a sphere or of a wheel over its plane, (nt, 3)."""
    where = places(outline.model)
    down, centre = _seen(outline, where(force.normal)), _seen(outline, where(force.point))  # type: ignore[attr-defined]
    axis = getattr(force, "axis", None)
    if axis is not None:
        turning = _seen(outline, where(axis))
        down = down - (down * turning).sum(1, keepdims=True) * turning
        down = down / np.linalg.norm(down, axis=1, keepdims=True)
    return np.asarray(centre - radius * down)
