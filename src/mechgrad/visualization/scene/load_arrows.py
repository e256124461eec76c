"""What acts from outside, as arrows: loads with their couples, and what drives hinges and slides."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.inverse.loads import Load
from mechgrad.model.forces.motor import Motor
from mechgrad.model.joints.base import FIXED
from mechgrad.model.joints.seat import Seat
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.outline import Outline, marker_place
from mechgrad.visualization.scene.poses import Drawn

Found = tuple[list[str], list[FloatArray], list[FloatArray]]
"""Labels, and for each where its arrow begins and the arrow itself, (nt, 3) in world axes."""


def loads_of(thing: Any) -> tuple[Load, ...]:
    """The loads that a motion or an equilibrium was made with."""
    return tuple(getattr(getattr(thing, "recipe", thing), "loads", None) or ())


def load_vectors(outline: Outline, states: Drawn, field: str) -> Found:
    """Of every load its `field`, "force" [N] or "torque" [N m]: the arrow of a force ends where it acts."""
    labels, at, vectors = [], [], []
    for k, load in enumerate(loads_of(states.thing)):
        given = np.real(np.asarray(getattr(load, field)))
        given = given[states.kept] if given.ndim == 2 else np.broadcast_to(given, (len(states.t), 3))
        frame = outline.frames[load.body]
        if load.axes == "body":
            given = np.einsum("tij,tj->ti", outline.poses.R[:, frame], given)
        labels.append(load.name or f"load.{k}")
        at.append(_acts_at(outline, states, load, frame))
        vectors.append(np.asarray(given))
    return labels, at, vectors


def _acts_at(outline: Outline, states: Drawn, load: Load, frame: int) -> FloatArray:
    if isinstance(load.point, str):
        place = marker_place(outline.model, load.point)
        return outline.poses.point(frame, np.zeros(3) if place is None else place[1])
    local = np.real(np.asarray(load.point))
    if local.ndim == 1:
        return outline.poses.point(frame, local)
    return np.asarray(
        outline.poses.p[:, frame] + np.einsum("tij,tj->ti", outline.poses.R[:, frame], local[states.kept])
    )


def drive_vectors(outline: Outline, states: Drawn, kind: int) -> Found:
    """Along the axis of every hinge (kind REVOLUTE) or slide (PRISMATIC) what drives it: constant forces that a
    motion was given, motors, and what holds driven coordinates."""
    given = driven(states)
    labels, at, vectors = [], [], []
    for joint in outline.model.joints:
        moving = [k for k, own in enumerate(joint.kinds) if own != FIXED]
        for k, label in zip(moving, joint.v_labels, strict=False):  # a ball has three labels, and comes last
            name = f"{joint.name}.{label}" if label else joint.name
            if joint.kinds[k] != kind or name not in given:
                continue
            frame = outline.frames[joint.parent]
            on_parent, place = (np.real(x) for x in Seat.of(joint, k).on_parent)
            axis = on_parent[:, 2]
            R = np.broadcast_to(np.eye(3), (len(states.t), 3, 3)) if frame < 0 else outline.poses.R[:, frame]
            labels.append(name)
            at.append(outline.poses.point(frame, place))
            vectors.append(np.asarray(given[name][:, None] * (R @ axis)))
    return labels, at, vectors


def driven(states: Drawn) -> dict[str, FloatArray]:
    """Generalized forces over time by the names of coordinates, those that are anything."""
    thing, found = states.thing, {}
    tau = getattr(getattr(thing, "recipe", thing), "tau", None)
    if tau is not None and np.shape(tau)[-1:] == (states.model.n_v,):
        each = np.real(np.asarray(tau))
        each = each[states.kept] if each.ndim == 2 else np.broadcast_to(each, (len(states.t), len(each)))
        found = {name: column for name, column in zip(states.model.v_names, each.T, strict=True) if np.any(column)}
    if not states.moves:
        return found
    if callable(getattr(thing, "driving", None)):
        for name, values in thing.driving().items():
            found[name] = np.real(values)[states.kept] + found.get(name, 0.0)
    for force in states.model.forces if callable(getattr(thing, "efforts", None)) else ():
        if isinstance(force, Motor) and isinstance(force.coordinate, str):
            pushed = -np.real(thing.efforts(force.name).values)[states.kept, 0]  # an effort holds back
            found[force.coordinate] = pushed + found.get(force.coordinate, 0.0)
    return found
