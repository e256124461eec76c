"""Joints: hinges and sliders with their axes, balls, crosses, rails and what holds them to the ground."""

from __future__ import annotations

import numpy as np

from mechgrad.model.joints import Joint
from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE
from mechgrad.model.joints.seat import Seat
from mechgrad.model.shapes import Box, Capsule, Cylinder, Sphere
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.colours import AXIS, GROUND, JOINT, RAIL
from mechgrad.visualization.scene.nodes import GROUND_FRAME, Node
from mechgrad.visualization.scene.outline import SAME, Outline
from mechgrad.visualization.scene.quaternions import euler_parameters

PIN, PIN_HALF, BALL_SIZE = 0.72, 1.35, 1.3  # radius and half length of a hinge, radius of a ball, in radii of the links
RAIL_SIZE = 0.028  # of the size
AXIS_LENGTH = 0.09  # half the length of an axis, of the size


def joint_nodes(outline: Outline, up: FloatArray) -> list[Node]:
    """Every joint that is to be seen: not those of massless bodies that carry a free body, nor those within shapes."""
    nodes: list[Node] = []
    balls: list[tuple[int, FloatArray]] = []
    for joint in outline.model.joints:
        if _floats(outline, joint) or not joint.kinds:
            continue
        frame, place = _seat(outline, joint)
        nodes += _axes(outline, joint, frame, place)
        if outline.shaped(_solid_above(outline, joint)) and outline.shaped(_solid_below(outline, joint)):
            continue
        r = outline.joint_radius(joint)
        several = not (outline.solid(joint.parent) and outline.solid(joint.child))
        if BALL in joint.kinds or several:
            known = any(f == frame and np.abs(x - place).max() < 10 * SAME * outline.size for f, x in balls)
            if not known and PRISMATIC not in joint.kinds:
                balls.append((frame, place))
                nodes.append(Node(joint.name, "joints", frame, Sphere(BALL_SIZE * r, tuple(place)), JOINT))
        else:
            nodes += _drawn(outline, joint, frame, place, r)
        if joint.parent == "ground" and PRISMATIC not in joint.kinds:
            nodes += _pedestal(joint.name, place, r, up)
    return nodes


def _floats(outline: Outline, joint: Joint) -> bool:
    """Whether a joint is one of those that let a body move freely: Floating, or a chain that begins with slides."""
    if BALL in joint.kinds and PRISMATIC in joint.kinds:
        return True
    above = joint.parent
    by_child = {j.child: j for j in outline.model.joints if j.name not in outline.model.cut}
    chain = [joint]
    while above != "ground" and not outline.solid(above) and above in by_child:
        chain.append(by_child[above])
        above = by_child[above].parent
    slides = sum(PRISMATIC in j.kinds for j in chain)
    return above == "ground" and (len(chain) > 1 or not outline.solid(joint.child)) and slides > 0


def _seat(outline: Outline, joint: Joint) -> tuple[int, FloatArray]:
    """Frame and place of a joint on its parent."""
    return outline.frames[joint.parent], np.real(Seat.of(joint).on_parent[1])


def _solid_above(outline: Outline, joint: Joint) -> str:
    by_child = {j.child: j for j in outline.model.joints}
    above = joint.parent
    while above != "ground" and not outline.solid(above):
        above = by_child[above].parent
    return above


def _solid_below(outline: Outline, joint: Joint) -> str:
    by_parent: dict[str, list[str]] = {}
    for j in outline.model.joints:
        by_parent.setdefault(j.parent, []).append(j.child)
    below = joint.child
    while not outline.solid(below) and below in by_parent:
        below = by_parent[below][0]
    return below


def _pin(name: str, frame: int, place: FloatArray, axis: FloatArray, r: float, half: float) -> Node:
    shape = Cylinder(tuple(place - half * axis), tuple(place + half * axis), r)
    return Node(name, "joints", frame, shape, JOINT)


def _drawn(outline: Outline, joint: Joint, frame: int, place: FloatArray, r: float) -> list[Node]:
    axes = [np.real(Seat.of(joint, k).on_parent[0])[:, 2] for k in range(len(joint.kinds))]
    kinds = joint.kinds
    if kinds == (REVOLUTE,):
        return [_pin(joint.name, frame, place, axes[0], PIN * r, PIN_HALF * r)]
    if kinds == (REVOLUTE, REVOLUTE):
        cross = [_pin(joint.name, frame, place, axis, 0.45 * r, 1.7 * r) for axis in axes]
        return [Node(joint.name, "joints", frame, Sphere(0.95 * r, tuple(place)), JOINT), *cross]
    if kinds[0] == PRISMATIC and PRISMATIC not in kinds[1:]:
        return _slider(outline, joint, frame, place, axes[0])
    return []


def _slider(outline: Outline, joint: Joint, frame: int, place: FloatArray, axis: FloatArray) -> list[Node]:
    """A rail along all the way it goes, and a block on it; telescopes have none."""
    poses, child = outline.poses, outline.frames[joint.child]
    if outline.shaped(joint.child) or (outline.rod_on_slide(joint.parent) and outline.rod_on_slide(joint.child)):
        return []
    r = RAIL_SIZE * outline.size
    child_place = np.real(Seat.of(joint).on_child[1])
    here = poses.point(child, child_place)
    R = poses.R[:, frame] if frame >= 0 else np.broadcast_to(np.eye(3), (len(here), 3, 3))
    along = np.einsum("tji,tj->ti", R, here - poses.point(frame, place)) @ axis
    turned = np.real(Seat.of(joint).on_child[0])
    ends = [(x - child_place) @ turned[:, 2] for x in outline.places(joint.child)] or [0.0]
    low, high = min(*ends, -1.0 * r) - 0.6 * r, max(*ends, 1.0 * r) + 0.6 * r
    begin, end = float(along.min()) + low - 2 * r, float(along.max()) + high + 2 * r
    rail = Cylinder(tuple(place + begin * axis), tuple(place + end * axis), 0.34 * r)
    nodes = [Node(joint.name, "joints", frame, rail, RAIL)]
    if joint.child in outline.on_rails:
        middle = child_place + 0.5 * (low + high) * turned[:, 2]
        block = Box((2.2 * r, 2.2 * r, float(high - low)), tuple(middle), _quaternion(turned))
        nodes.append(Node(joint.child, "bodies", child, block, outline.colours.get(joint.child, JOINT)))
    return nodes


def _quaternion(R: FloatArray) -> tuple[float, float, float, float]:
    w, x, y, z = euler_parameters(R[None, None])[0, 0].tolist()
    return w, x, y, z


def _pedestal(name: str, place: FloatArray, r: float, up: FloatArray) -> list[Node]:
    """The support of a joint on the ground: a cone with a foot."""
    cone = Capsule(tuple(place - 2.5 * r * up), tuple(place), 1.5 * r, 0.75 * r)
    plate = Cylinder(tuple(place - 4.1 * r * up), tuple(place - 3.3 * r * up), 2.8 * r)
    return [Node(name, "ground", GROUND_FRAME, shape, GROUND) for shape in (cone, plate)]


def _axes(outline: Outline, joint: Joint, frame: int, place: FloatArray) -> list[Node]:
    """Thin lines along the axes of hinges and slides, hidden at first."""
    nodes, half = [], AXIS_LENGTH * outline.size
    for k, kind in enumerate(joint.kinds):
        if kind in (REVOLUTE, PRISMATIC):
            on_parent = Seat.of(joint, k).on_parent
            axis, middle = np.real(on_parent[0])[:, 2], np.real(on_parent[1])
            line = Cylinder(tuple(middle - half * axis), tuple(middle + half * axis), 0.02 * half)
            nodes.append(Node(f"axis of {joint.name}", "axes", frame, line, AXIS))
    return nodes
