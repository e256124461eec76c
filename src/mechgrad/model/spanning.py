"""Which joints make the tree and which close its loops.

Bodies and the ground are nodes, joints are edges; a *spanning tree* of that graph reaches every body once. The joints
left over are *cut*: they have no coordinates and come back as constraints (`Joint.closure`). The choice is that of
Kruskal with coordinates as costs: joints are kept from the cheapest to the dearest, unless they close a loop.

    welds, then hinges and slides, then joints with more coordinates, then balls (4); earlier ones before later ones

Balls are thus the first to be cut: their closure is three rows, and no Euler parameters are left to normalise.

The motion does not depend on the choice, its error does. Every possible cut in 24 motions of 16 loops (a slider-crank,
four-bars slow and fast with equal and unequal masses, 5, 6 and 8 hinges in a plane, 7 in space, Bennett's linkage, a
wheel suspension), DOP853 at tolerances about 1e-9, largest error of bodies' positions and directions over the motion:

    largest beside smallest over all cuts, at one tolerance                               median 3.4, at most 24
    the same cut, nine tolerances from 0.7e-9 to 1.4e-9: how errors happen to cancel      median 2.4, at most 29
    over all cuts, each by the geometric mean over these tolerances                       median 2.3, at most 21

Looser tolerances and longer motions gave more: 110 for that slider-crank at 1e-8, over 1000 for Bennett's at 1e-7 and
3 at 1e-10; which cut was best then changed with the motion. That slider-crank is better by 2 to 21 with its ball cut,
the one of the gallery by nothing. For single loops of hinges, 67 random ones, five numbers were compared with the
error of each cut: depth of the tree, sum of depths, conditions of M and of Gamma M^-1 Gamma^T at the start, largest
speed. No rank correlation exceeds 0.5 (five hinges, depth), and none 0.2 for seven and eight hinges. Cutting where
Gamma M^-1 Gamma^T is best conditioned would change errors by 0.8 on average, less than another tolerance does, and asks
for a closed configuration, which a model need not know. So what is known decides: coordinates, then order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mechgrad.errors import ClosedLoopError, DisconnectedError, DuplicateNameError, ValueRangeError, unknown_name
from mechgrad.model.body import Body
from mechgrad.model.joints.base import Joint
from mechgrad.model.joints.floating import Floating
from mechgrad.model.joints.reversed import Reversed


class Spanning(NamedTuple):
    """Positions in the list of joints: those of the tree, parents first, with their sense, and the cut ones.

    >>> from mechgrad.model import Body, Revolute, Spherical
    >>> bars = [Body("a"), Body("b")]
    >>> joints = [Revolute("1", "ground", "a"), Revolute("2", "a", "b"), Spherical("3", "ground", "b")]
    >>> span(bars, joints)
    Spanning(order=(0, 1), backwards=(False, False), cut=(2,))
    """

    order: tuple[int, ...]
    backwards: tuple[bool, ...]
    cut: tuple[int, ...]

    def tree(self, joints: Sequence[Joint]) -> tuple[Joint, ...]:
        """The joints of the tree, each from parent to child as the tree runs."""
        if not self.cut and not any(self.backwards):
            return tuple(joints)
        return tuple(
            Reversed(joints[k]) if back else joints[k] for k, back in zip(self.order, self.backwards, strict=True)
        )


def span(bodies: Sequence[Body], joints: Sequence[Joint], cut: Iterable[str] | None = None) -> Spanning:
    """Choose a tree, or check the choice that was made by naming the joints to cut."""
    grounded = _reached(joints)
    for number, body in enumerate(bodies, start=1):
        if body.name not in grounded:
            raise DisconnectedError(
                f"body {body.name!r} (number {number}) is connected to the ground by no chain of joints. Add a joint "
                "to a body that is, or a Floating joint from the ground if it is free."
            )
    left_out = _cheapest(joints) if cut is None else _checked(bodies, joints, cut)
    for k in left_out:
        if isinstance(joints[k], Floating):
            raise ClosedLoopError(
                f"joint {joints[k].name!r} (number {k + 1}) is a {type(joints[k]).__name__} in a closed loop; it asks "
                "nothing of its bodies and cannot be cut. Remove it, or name the joints to cut instead: cut=[...]."
            )
    order, backwards = _parents_first(joints, left_out)
    return Spanning(order, backwards, tuple(sorted(left_out)))


def _cheapest(joints: Sequence[Joint]) -> set[int]:
    """The joints that Kruskal's algorithm leaves out."""
    forest = _Forest()
    return {k for k in sorted(range(len(joints)), key=lambda k: joints[k].n_q) if not forest.joins(joints[k])}


def _checked(bodies: Sequence[Body], joints: Sequence[Joint], cut: Iterable[str]) -> set[int]:
    """The joints named in `cut`, if the others make a tree."""
    if isinstance(cut, str):
        raise ValueRangeError(f"cut is the string {cut!r}; give a list of names of joints: [{cut!r}].")
    position = {joint.name: k for k, joint in enumerate(joints)}
    chosen: set[int] = set()
    for name in cut:
        if name not in position:
            raise unknown_name("joint", name, position, "cut")
        if position[name] in chosen:
            raise DuplicateNameError(f"cut names joint {name!r} twice. Name it once.")
        chosen.add(position[name])
    kept = [joint for k, joint in enumerate(joints) if k not in chosen]
    forest, text = _Forest(), "cut = [" + ", ".join(repr(joints[k].name) for k in sorted(chosen)) + "]"
    closing = [joint.name for joint in kept if not forest.joins(joint)]
    reached = _reached(kept)
    lost = [body.name for body in bodies if body.name not in reached]
    if lost:
        raise ClosedLoopError(
            f"{text} leaves {', '.join(map(repr, lost))} without a way to the ground. Keep one of the joints that hold "
            "it; each loop is cut once."
        )
    if closing:
        offered = ", ".join(repr(joints[k].name) for k in sorted(_cheapest(joints)))
        raise ClosedLoopError(
            f"{text} leaves a loop closed by {', and one by '.join(map(repr, closing))}. One joint of each loop "
            f"must be cut: cut=[{offered}] is what is chosen if cut is left out."
        )
    return chosen


def _parents_first(joints: Sequence[Joint], left_out: set[int]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Walk the tree from the ground, always through the first joint of the list that is within reach."""
    touching: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        if k not in left_out:
            touching.setdefault(joint.parent, []).append(k)
            touching.setdefault(joint.child, []).append(k)
    reached, order, backwards = {"ground"}, [], []
    within_reach = list(touching.get("ground", []))
    heapq.heapify(within_reach)
    while within_reach:
        k = heapq.heappop(within_reach)
        back = joints[k].child in reached
        body = joints[k].parent if back else joints[k].child
        order.append(k)
        backwards.append(back)
        reached.add(body)
        for other in touching[body]:
            if other != k:
                heapq.heappush(within_reach, other)
    return tuple(order), tuple(backwards)


def _reached(joints: Sequence[Joint]) -> set[str]:
    """Bodies that some chain of joints connects to the ground."""
    forest = _Forest()
    for joint in joints:
        forest.joins(joint)
    ends = {name for joint in joints for name in (joint.parent, joint.child)}
    root = forest.root("ground")
    return {"ground", *(name for name in ends if forest.root(name) == root)}


class _Forest:
    """Bodies in connected groups, each known by one of its members."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        """The member that stands for the group of this body."""
        above = self._above
        while name in above:
            if above[name] in above:
                above[name] = above[above[name]]  # halves the way of the next one that asks
            name = above[name]
        return name

    def joins(self, joint: Joint) -> bool:
        """Connect two groups; False if the joint's bodies are in one group already, so that it closes a loop."""
        a, b = self.root(joint.parent), self.root(joint.child)
        if a != b:
            self._above[b] = a
        return a != b
