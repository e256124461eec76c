"""Whether bodies and joints make a mechanism: names, connections, circles and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mechgrad.errors import (
    DisconnectedError,
    DuplicateNameError,
    LoopError,
    ParentOrderError,
    ValueRangeError,
    unknown_name,
)
from mechgrad.model.body import Body
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.forces.base import Force
from mechgrad.model.joints import Joint
from mechgrad.model.markers import Point, Vector
from mechgrad.model.spanning import Spanning, span
from mechgrad.model.variables import DesignVariable

GROUPS: dict[str, Any] = {
    "bodies": Body,
    "joints": Joint,
    "points": Point,
    "vectors": Vector,
    "constraints": Constraint,
    "forces": Force,
    "variables": DesignVariable,
}
"""The model's collections, in the order in which parameters are listed, and what each holds."""


RESERVED = {
    "start": "values that a motion starts with (start.position.hinge)",
    "tau": "generalized forces of a motion (tau.hinge)",
    "load": "loads without a name (load.0.force.x)",
}
"""Words that paths outside of the model begin with; "load" only where a number follows."""


def _check_reserved(item: Any) -> None:
    first, _, rest = item.name.partition(".")
    if first in RESERVED and (first != "load" or rest.split(".")[0].isdigit()):
        other = f"{first}_{rest}" if rest else f"{first}_{item.noun}"
        raise ValueRangeError(
            f"{item.noun} name {item.name!r} is reserved: paths that begin with {first!r} mean {RESERVED[first]}, and "
            f"its numbers would be mistaken for them. Choose another name, e.g. {other!r}."
        )


def check_names(groups: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, int]]:
    """Name -> (group, position), for one namespace over everything; raise when a name is used twice."""
    names: dict[str, tuple[str, int]] = {}
    for group, cls in GROUPS.items():
        for position, item in enumerate(groups[group]):
            if not isinstance(item, cls):
                raise ValueRangeError(
                    f"{group}[{position}] is {item!r}, not a {cls.__name__}. Put each thing into its own list."
                )
            _check_reserved(item)
            if item.name in names:
                first_group, first = names[item.name]
                raise DuplicateNameError(
                    f"the name {item.name!r} is used twice: by {groups[first_group][first].noun} number {first + 1} "
                    f"and by {item.noun} number {position + 1}. Names are unique over {', '.join(GROUPS)} together; "
                    "rename one."
                )
            names[item.name] = (group, position)
    return names


def check_tree(bodies: Sequence[Body], joints: Sequence[Joint], cut: Iterable[str] | None) -> Spanning:
    """The tree of a mechanism; raise unless the joints connect every body to the ground.

    Where each body is the child of one joint, the joints make a tree as they are, and their order is that of q:
    parents come first. Otherwise loops are closed, and the tree is chosen.
    """
    known = dict.fromkeys(["ground", *(body.name for body in bodies)])
    for number, joint in enumerate(joints, start=1):
        label = f"joint {joint.name!r} (number {number})"
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                raise unknown_name(f"{role} body", name, known, label)
        if joint.child == "ground":
            raise ValueRangeError(
                f"{label}: the ground cannot be a child. Swap parent and child: {joint.parent!r} moves."
            )
        if joint.parent == joint.child:
            raise LoopError(
                f"{label} connects body {joint.child!r} to itself: {joint.child} -> {joint.child}. "
                "Give it another body, or 'ground', as parent."
            )
    holder = {joint.child: position for position, joint in enumerate(joints)}
    if cut is not None and not isinstance(cut, str):
        cut = tuple(cut) if isinstance(cut, Iterable) else (cut,)
        if (odd := next((name for name in cut if not isinstance(name, str)), None)) is not None:
            raise ValueRangeError(f"cut has {odd!r}; give a list of names of joints.")
    if cut or len(holder) < len(joints):
        return span(bodies, joints, cut)
    for number, body in enumerate(bodies, start=1):
        if body.name not in holder:
            raise DisconnectedError(
                f"body {body.name!r} (number {number}) is not the child of any joint. Add the joint that holds it, "
                f"e.g. Fixed({body.name + ' joint'!r}, 'ground', {body.name!r}), or a Floating joint if it is free."
            )
    _check_circles(joints, holder)
    _check_order(joints, holder)
    return Spanning(tuple(range(len(joints))), (False,) * len(joints), ())


def check_markers(bodies: Sequence[Body], markers: Sequence[Point | Vector]) -> None:
    """Raise unless every marker sits on a body of the model or on the ground."""
    known = dict.fromkeys(["ground", *(body.name for body in bodies)])
    for marker in markers:
        if marker.body not in known:
            raise unknown_name("body", marker.body, known, f"{marker.noun} {marker.name!r}")


def _check_circles(joints: Sequence[Joint], holder: Mapping[str, int]) -> None:
    grounded = {"ground"}
    for joint in joints:
        trail: dict[str, None] = {}  # in order, and quick to search
        body = joint.child
        while body not in grounded:
            if body in trail:
                loop = list(trail)[list(trail).index(body) :]
                names = ", ".join(repr(joints[holder[name]].name) for name in loop)
                raise LoopError(
                    f"the parents of bodies run in a circle and never reach the ground: {' -> '.join([*loop, body])} "
                    f"({len(loop)} joints: {names}). Give one of these joints a parent outside of the circle."
                )
            trail[body] = None
            body = joints[holder[body]].parent
        grounded.update(trail)


def _check_order(joints: Sequence[Joint], holder: Mapping[str, int]) -> None:
    for position, joint in enumerate(joints):
        if joint.parent != "ground" and holder[joint.parent] > position:
            carrier = holder[joint.parent]
            raise ParentOrderError(
                f"joint {joint.name!r} (number {position + 1}) hangs on body {joint.parent!r}, which joint "
                f"{joints[carrier].name!r} (number {carrier + 1}) brings only later. "
                f"Move joint {joints[carrier].name!r} before joint {joint.name!r}."
            )
