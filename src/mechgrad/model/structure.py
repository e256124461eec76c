"""The structure of a tree as flat arrays: atoms, columns, and which columns are related; made in O(n) time and memory.

A column is related to its ancestors and descendants. What relates pairs of them (`pairs`, `pattern`, `chain_positions`)
has O(n_v depth) entries, n_v^2 for a chain, and is made when a matrix is first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.memory import require_memory
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.pattern import Pattern

if TYPE_CHECKING:
    from mechgrad.model.model_parts import ModelParts


# columns of Tree.atoms_i
PARENT, KIND, Q_AT, V_AT, HAS_MASS, LAST_COLUMN, LAST_CHILD = range(7)
# columns of Tree.columns_i
C_ATOM, C_PARENT, C_DIAGONAL, C_PAIR = range(4)


@dataclass(frozen=True, eq=False)
class Structure:
    """What numbers cannot change: one for a model and all its `with_values` copies."""

    n_q: int
    n_v: int
    atoms_i: np.ndarray  # without HAS_MASS, which numbers decide
    columns_i: np.ndarray
    depth: np.ndarray  # number of columns before each column on its way to the ground
    body_atom: dict[str, int]
    joint_atoms: dict[str, range]
    parents: tuple[int, ...]  # of the atoms
    joints: tuple[int, ...]  # per joint of the tree: where it stands among the model's joints
    bodies: tuple[int, ...]  # per joint: where its child stands among the model's bodies
    carrier: np.ndarray  # per atom: the joint whose tail stands before it, or the number of joints where none does
    last: np.ndarray  # per joint: its last atom, the one that carries the child

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return len(self.parents)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a column and one of its ancestors; n_v (n_v - 1) / 2 for a chain."""
        return int(self.depth.sum())

    @cached_property
    def pairs(self) -> np.ndarray:
        """See `Tree.pairs`."""
        child, ancestor = self._related
        first = self.columns_i[:, C_DIAGONAL] - self.depth  # where each row of the packed values begins
        below = np.empty(child.size, np.int64)  # the descendants of each column stand behind its diagonal, ascending
        order = np.argsort(ancestor, kind="stable")
        beyond = np.bincount(ancestor, minlength=self.n_v)
        below[order] = np.arange(child.size) - np.repeat(np.cumsum(beyond) - beyond, beyond)
        pairs = np.stack(
            [self.columns_i[ancestor, C_DIAGONAL] + 1 + below, first[child] + self.depth[ancestor]], axis=1
        )
        pairs.setflags(write=False)
        return pairs

    @cached_property
    def pattern(self) -> Pattern:
        """See `Tree.pattern`."""
        (child, ancestor), pairs = self._related, self.pairs
        own = np.arange(self.n_v)
        rows, cols = np.empty((2, self.n_v + 2 * child.size), np.int64)
        for at, row, col in (
            (self.columns_i[:, C_DIAGONAL], own, own), (pairs[:, 0], ancestor, child), (pairs[:, 1], child, ancestor)
        ):  # fmt: skip
            rows[at], cols[at] = row, col
        return Pattern((self.n_v, self.n_v), rows, cols)

    @cached_property
    def _related(self) -> tuple[np.ndarray, np.ndarray]:
        """Column and ancestor of every pair, in the order of `pairs`."""
        require_memory(
            100.0 * self.n_pairs,
            f"a matrix of the {self.n_pairs} related pairs of {self.n_v} velocities",
            "inverse_dynamics, forward_dynamics and explicit motions of open trees do without it.",
        )
        child = np.repeat(np.arange(self.n_v), self.depth)
        ancestor = np.empty(child.size, np.int64)
        start = self.columns_i[:, C_PAIR].tolist()
        for j, (parent, depth) in enumerate(
            zip(self.columns_i[:, C_PARENT].tolist(), self.depth.tolist(), strict=True)
        ):
            if depth:
                ancestor[start[j]] = parent
                ancestor[start[j] + 1 : start[j] + depth] = ancestor[start[parent] : start[parent] + depth - 1]
        return child, ancestor

    @cached_property
    def chain_start(self) -> np.ndarray:
        """See `Tree.chain_start`."""
        return np.concatenate(([0], np.cumsum(self.depth + 1)[:-1])).astype(np.int64)

    @cached_property
    def chain_positions(self) -> np.ndarray:
        """See `Tree.chain_positions`."""
        return self._chain_positions(1)

    @cached_property
    def chain_transposed(self) -> np.ndarray:
        """See `Tree.chain_transposed`."""
        return self._chain_positions(0)

    def _chain_positions(self, side: int) -> np.ndarray:
        positions = np.empty(self.n_v + self.n_pairs, np.int64)
        own = np.zeros(positions.size, bool)
        own[self.chain_start[: self.n_v]] = True
        positions[own], positions[~own] = self.columns_i[:, C_DIAGONAL], self.pairs[:, side]
        return positions

    @cached_property
    def column_parent(self) -> np.ndarray:
        """See `Tree.column_parent`."""
        return np.ascontiguousarray(self.columns_i[:, C_PARENT])

    @cached_property
    def children(self) -> list[list[int]]:
        """The next atoms beyond each atom."""
        children: list[list[int]] = [[] for _ in self.parents]
        for atom, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(atom)
        return children

    def below(self, atom: int) -> list[int]:
        """All atoms beyond one atom."""
        found, at = list(self.children[atom]), 0
        while at < len(found):
            found += self.children[found[at]]
            at += 1
        return found


def n_columns(kind: int) -> int:
    """Number of velocities of an atom."""
    return 3 if kind == BALL else 0 if kind == FIXED else 1


def _n_positions(kind: int) -> int:
    return 4 if kind == BALL else 0 if kind == FIXED else 1


def make_structure(model: ModelParts) -> Structure:
    """Number the atoms and columns of a model's tree."""
    joints = model.tree_joints
    position = {body.name: i for i, body in enumerate(model.bodies)}
    rows: list[tuple[int, int, int, int, int, int]] = []
    carrier: list[int] = []
    body_atom, holder = {"ground": -1}, {"ground": len(joints)}
    joint_atoms = {}
    n_q = n_v = 0
    for k, joint in enumerate(joints):
        previous, before = body_atom[joint.parent], holder[joint.parent]
        joint_atoms[joint.name] = range(len(rows), len(rows) + len(joint.kinds))
        for kind in joint.kinds:
            columns = n_columns(kind)
            last_column = n_v + columns - 1 if columns else rows[previous][LAST_COLUMN] if previous >= 0 else -1
            rows.append((previous, kind, n_q, n_v, 0, last_column))
            carrier.append(before)
            n_q, n_v = n_q + _n_positions(kind), n_v + columns
            previous, before = len(rows) - 1, len(joints)
        body_atom[joint.child], holder[joint.child] = previous, k
    atoms_i = np.full((len(rows), 7), -1)
    atoms_i[:, :LAST_CHILD] = np.array(rows, np.int64).reshape(-1, LAST_CHILD)
    for atom, row in enumerate(rows):
        if row[PARENT] >= 0:
            atoms_i[row[PARENT], LAST_CHILD] = atom
    columns_i, depth = _columns(rows, n_v)
    for array in (atoms_i, columns_i, depth):
        array.setflags(write=False)
    return Structure(
        n_q, n_v, atoms_i, columns_i, depth, body_atom, joint_atoms,
        parents=tuple(row[PARENT] for row in rows),
        joints=model.layout.spanning.order, bodies=tuple(position[joint.child] for joint in joints),
        carrier=np.array(carrier, np.int64), last=np.array([atoms[-1] for atoms in joint_atoms.values()], np.int64),
    )  # fmt: skip


def _columns(rows: Sequence[tuple[int, ...]], n_v: int) -> tuple[np.ndarray, np.ndarray]:
    """The table of columns, and their depths; a row of packed values is ancestors, the column itself, descendants."""
    atom_of, parent_of, depth = [0] * n_v, [-1] * n_v, [0] * n_v
    for atom, row in enumerate(rows):
        before = -1 if row[PARENT] < 0 else rows[row[PARENT]][LAST_COLUMN]
        for column in range(row[V_AT], row[V_AT] + n_columns(row[KIND])):
            atom_of[column], parent_of[column] = atom, before
            depth[column] = 0 if before < 0 else depth[before] + 1
            before = column
    beyond = [0] * n_v  # descendants
    for column in range(n_v - 1, -1, -1):
        if (parent := parent_of[column]) >= 0:
            beyond[parent] += beyond[column] + 1
    depths = np.array(depth, np.int64)
    widths = depths + 1 + np.array(beyond, np.int64)
    columns_i = np.empty((n_v, 4), np.int64)
    columns_i[:, C_ATOM], columns_i[:, C_PARENT] = atom_of, parent_of
    columns_i[:, C_DIAGONAL] = np.cumsum(widths) - widths + depths
    columns_i[:, C_PAIR] = np.cumsum(depths) - depths
    return columns_i, depths
