"""What a model keeps while only its numbers change: names, the tree, and where each coordinate sits in q and v."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mechgrad.errors import DuplicateNameError
from mechgrad.model.joints import BALL, Joint
from mechgrad.model.primitives.fields import Entry, Index
from mechgrad.model.spanning import Spanning
from mechgrad.typing import IntArray


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a path leads.

    owner, label : the two halves of the path, e.g. "arm" and "com.x"
    group, position : which collection of the model ("bodies", ..., or "gravity"), and where in it
    field, index : which field of that noun, and which entry of the field
    """

    owner: str
    label: str
    group: str
    position: int
    field: str
    index: Index
    kind: str
    unit: str


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Derived from the structure alone; shared by every model that differs in numbers only.

    names : name -> (group, position) over everything that has a name
    spanning : which joints make the tree; what follows is about these
    parents : 1-based parent joint of each joint, 0 = ground
    plain_q, plain_v : positions of the coordinates that add up (hinges and sliders)
    ball_q, ball_v : (n_balls, 4) and (n_balls, 3) positions of Euler parameters and of their angular velocities
    slots, entries : where paths that were asked for lead, and the numbers of the nouns that were
    """

    names: dict[str, tuple[str, int]]
    spanning: Spanning
    parents: IntArray
    q_slices: dict[str, slice]
    v_slices: dict[str, slice]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    plain_q: IntArray
    plain_v: IntArray
    ball_q: IntArray
    ball_v: IntArray
    slots: dict[str, Slot] = field(default_factory=dict)
    entries: dict[tuple[str, int], dict[str, Entry]] = field(default_factory=dict)
    driven: dict[str, str] = field(default_factory=dict)


def build_layout(names: dict[str, tuple[str, int]], spanning: Spanning, joints: Sequence[Joint]) -> Layout:
    """Number the coordinates of the tree's joints."""
    number = {"ground": 0} | {joint.child: i for i, joint in enumerate(joints, start=1)}
    q_slices, v_slices = {}, {}
    plain_q, plain_v, ball_q, ball_v = [], [], [], []
    n_q = n_v = 0
    for joint in joints:
        q_slices[joint.name] = slice(n_q, n_q + joint.n_q)
        v_slices[joint.name] = slice(n_v, n_v + joint.n_v)
        for kind in joint.kinds:
            if kind == BALL:
                ball_q.append(range(n_q, n_q + 4))
                ball_v.append(range(n_v, n_v + 3))
                n_q, n_v = n_q + 4, n_v + 3
            elif n_q < q_slices[joint.name].stop:
                plain_q.append(n_q)
                plain_v.append(n_v)
                n_q, n_v = n_q + 1, n_v + 1
    return Layout(
        names=names,
        spanning=spanning,
        parents=_read_only(np.array([number[joint.parent] for joint in joints], dtype=np.int64)),
        q_slices=q_slices,
        v_slices=v_slices,
        q_names=_coordinate_names([(joint.name, joint.q_labels) for joint in joints]),
        v_names=_coordinate_names([(joint.name, joint.v_labels) for joint in joints]),
        plain_q=np.array(plain_q, dtype=np.int64),
        plain_v=np.array(plain_v, dtype=np.int64),
        ball_q=np.array(ball_q, dtype=np.int64).reshape(-1, 4),
        ball_v=np.array(ball_v, dtype=np.int64).reshape(-1, 3),
    )


def _coordinate_names(labels: list[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    owner: dict[str, str] = {}
    for joint, texts in labels:
        for text in texts:
            name = f"{joint}.{text}" if text else joint
            if name in owner:
                raise DuplicateNameError(
                    f"joints {owner[name]!r} and {joint!r} both have a coordinate called {name!r}. "
                    "Rename one of the joints."
                )
            owner[name] = joint
    return tuple(owner)


def _read_only(array: IntArray) -> IntArray:
    array.setflags(write=False)
    return array
