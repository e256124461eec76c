"""The model as flat arrays: what kernels read. A new model is new data, never new code.

A joint is a chain of *atoms*: revolute (about its own z), prismatic (along its own z), ball (Euler parameters) or
fixed. Atom i carries at most one body. Frames: the atom's frame, after its motion, is the frame in which the body's
numbers, the placements of the next atoms, markers and loads are expressed; the constant pose of the body frame in
it (the joint's tail) is folded into those numbers here.

A *column* is one velocity: column j has the twist S_j, and moves everything beyond its atom. `parent` of a column
is the previous column on the way to the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.model.joints.base import BALL, FIXED, Atom
from mechgrad.model.pattern import Pattern

if TYPE_CHECKING:
    from mechgrad.model.model import Model

# columns of Tree.atoms_i
PARENT, KIND, Q_AT, V_AT, HAS_MASS, LAST_COLUMN = range(6)
# columns of Tree.atoms_f: axes of the frame at rest in the previous frame, its origin, the body's mass, centre of
# mass, second moments about it (xx xy xz yy yz zz of int x x^T dm), and the mass of everything beyond
X, Y, Z, ORIGIN, MASS, COM, MOMENTS, BEYOND = 0, 3, 6, 9, 12, 13, 16, 22
ATOM_SIZE = 23
# columns of Tree.columns_i
C_ATOM, C_PARENT, C_DIAGONAL, C_PAIR = range(4)

Pose = tuple[np.ndarray, np.ndarray]


def second_moments(inertia: np.ndarray) -> np.ndarray:
    """int x x^T dm about the centre of mass, from the inertia tensor: tr(I)/2 - I."""
    return np.asarray(0.5 * np.trace(inertia) * np.eye(3) - inertia)


def six(symmetric: np.ndarray) -> np.ndarray:
    """(xx, xy, xz, yy, yz, zz) of a symmetric matrix."""
    return np.asarray(symmetric[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)])


@dataclass(frozen=True, eq=False)
class Tree:
    """Compiled form of an open tree; see the module's text. Made by `compile_tree`, cached on the model."""

    dtype: type
    n_q: int
    n_v: int
    atoms_i: np.ndarray
    atoms_f: np.ndarray  # one row per atom, then one row for the world: gravity in its first three numbers
    columns_i: np.ndarray
    pairs: (
        np.ndarray
    )  # per column and ancestor, nearest first: position of (ancestor, column) and of (column, ancestor)
    pattern: Pattern
    body_atom: dict[str, int]
    body_tail: dict[str, Pose]
    joint_atoms: dict[str, range]

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return int(self.atoms_i.shape[0])

    @cached_property
    def as_complex(self) -> np.ndarray:
        """atoms_f for the complex kernels."""
        numbers = self.atoms_f.astype(complex)
        numbers.setflags(write=False)
        return numbers

    @cached_property
    def chain_start(self) -> np.ndarray:
        """Where each column's chain of ancestors starts when matrices are stored by chains
        (`kernels.small_dense`)."""
        depth = self.depth
        return np.concatenate(([0], np.cumsum(depth + 1)[:-1])).astype(np.int64)

    @cached_property
    def chain_positions(self) -> np.ndarray:
        """For every entry (j, ancestor) stored by chains, its position in packed values of `pattern`."""
        return self._chain_positions(1)

    @cached_property
    def chain_transposed(self) -> np.ndarray:
        """For every entry stored by chains, the position of its transpose (ancestor, j)."""
        return self._chain_positions(0)

    def _chain_positions(self, side: int) -> np.ndarray:
        positions = []
        for j in range(self.n_v):
            pair = self.columns_i[j, C_PAIR]
            positions += [self.columns_i[j, C_DIAGONAL], *self.pairs[pair : pair + self.depth[j], side]]
        return np.array(positions, np.int64)

    @cached_property
    def depth(self) -> np.ndarray:
        """Number of columns before each column on its way to the ground."""
        depth = np.zeros(self.n_v, np.int64)
        for j, parent in enumerate(self.columns_i[:, C_PARENT]):
            depth[j] = 0 if parent < 0 else depth[parent] + 1
        return depth

    @cached_property
    def column_parent(self) -> np.ndarray:
        """Previous column on the way to the ground, -1 at the root."""
        return np.ascontiguousarray(self.columns_i[:, C_PARENT])

    def path(self, column: int) -> list[int]:
        """Column and its ancestors, nearest first; empty for -1."""
        chain = []
        while column >= 0:
            chain.append(column)
            column = int(self.columns_i[column, C_PARENT])
        return chain

    def columns_of(self, atom: int) -> range:
        """The columns of one atom."""
        start = int(self.atoms_i[atom, V_AT])
        return range(start, start + _n_columns(int(self.atoms_i[atom, KIND])))

    @cached_property
    def _below(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in range(self.n_atoms)]
        for atom in range(self.n_atoms - 1, -1, -1):
            if (parent := int(self.atoms_i[atom, PARENT])) >= 0:
                below[parent] += [atom, *below[atom]]
        return below

    def atoms_below(self, atom: int) -> list[int]:
        """All atoms beyond this one."""
        return self._below[atom]

    def columns_below(self, atom: int, *, own: bool) -> list[int]:
        """Columns of all atoms beyond this one (of this one too if `own`), ascending."""
        atoms = [*([atom] if own else []), *self._below[atom]]
        return sorted(c for a in atoms for c in self.columns_of(a))


def _n_columns(kind: int) -> int:
    return 3 if kind == BALL else 0 if kind == FIXED else 1


def _n_positions(kind: int) -> int:
    return 4 if kind == BALL else 0 if kind == FIXED else 1


def compose(a: Pose, b: Pose) -> Pose:
    """Pose of C in A from poses of B in A and of C in B."""
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def compile_tree(model: Model) -> Tree:
    """Flatten a model."""
    joints = model.joints
    chains: list[tuple[Atom, ...]] = [joint.atoms() for joint in joints]
    n_atoms = sum(map(len, chains))
    atoms_i = np.zeros((n_atoms, 6), np.int64)
    gravity = np.asarray(model.gravity)
    numbers = [gravity, *(np.asarray(x) for chain in chains for atom in chain for x in (atom.E, atom.r))]
    numbers += [np.asarray(x) for body in model.bodies for x in (body.mass, body.com, body.inertia)]
    numbers += [np.asarray(x) for joint in joints for x in joint.tail()]
    numbers += [np.asarray(p.position) for p in model.points] + [np.asarray(u.direction) for u in model.vectors]
    dtype = complex if any(np.iscomplexobj(x) for x in numbers) else float
    atoms_f = np.zeros((n_atoms + 1, ATOM_SIZE), dtype)
    atoms_f[n_atoms, :3] = gravity

    body_atom, body_tail = {"ground": -1}, {"ground": (np.eye(3), np.zeros(3))}
    joint_atoms = {}
    atom = n_q = n_v = 0
    last_column = [-1] * (n_atoms + 1)  # [-1] is the world's
    for joint, chain in zip(joints, chains, strict=True):
        previous, tail = body_atom[joint.parent], body_tail[joint.parent]
        joint_atoms[joint.name] = range(atom, atom + len(chain))
        for kind, E, r in chain:
            axes, origin = compose(tail, (E, r))
            columns = _n_columns(kind)
            last_column[atom] = n_v + columns - 1 if columns else last_column[previous]
            atoms_i[atom] = previous, kind, n_q, n_v, 0, last_column[atom]
            atoms_f[atom, X:MASS] = *axes.T.ravel(), *origin
            n_q, n_v = n_q + _n_positions(kind), n_v + columns
            previous, tail, atom = atom, (np.eye(3), np.zeros(3)), atom + 1
        body = model.body(joint.child)
        axes, origin = joint.tail()
        body_atom[body.name], body_tail[body.name] = previous, (axes, origin)
        atoms_i[previous, HAS_MASS] = bool(body.mass != 0 or np.any(body.inertia != 0))
        atoms_f[previous, MASS] = body.mass
        atoms_f[previous, COM : COM + 3] = origin + axes @ body.com
        atoms_f[previous, MOMENTS : MOMENTS + 6] = six(axes @ second_moments(body.inertia) @ axes.T)
    atoms_f[:n_atoms, BEYOND] = atoms_f[:n_atoms, MASS]
    for i in range(n_atoms - 1, -1, -1):
        if atoms_i[i, PARENT] >= 0:
            atoms_f[atoms_i[i, PARENT], BEYOND] += atoms_f[i, BEYOND]

    columns_i, pairs, pattern = _columns(atoms_i, n_v)
    for array in (atoms_i, atoms_f, columns_i, pairs):
        array.setflags(write=False)
    return Tree(dtype, n_q, n_v, atoms_i, atoms_f, columns_i, pairs, pattern, body_atom, body_tail, joint_atoms)


def _columns(atoms_i: np.ndarray, n_v: int) -> tuple[np.ndarray, np.ndarray, Pattern]:
    columns_i = np.full((n_v, 4), -1, np.int64)
    for atom, (parent, kind, _, v_at, _, _) in enumerate(atoms_i):
        before = -1 if parent < 0 else atoms_i[parent, LAST_COLUMN]
        for k in range(_n_columns(kind)):
            columns_i[v_at + k, :2] = atom, before
            before = v_at + k
    related = np.eye(n_v, dtype=bool)
    chains = []
    for j in range(n_v):
        chain, i = [], columns_i[j, C_PARENT]
        while i >= 0:
            chain.append(i)
            i = columns_i[i, C_PARENT]
        related[j, chain] = related[chain, j] = True
        chains.append(chain)
    rows, cols = np.nonzero(related)
    at = np.full((n_v, n_v), -1, np.int64)
    at[rows, cols] = np.arange(rows.size)
    columns_i[:, C_DIAGONAL] = np.diagonal(at)
    pairs: list[tuple[int, int]] = []
    for j, chain in enumerate(chains):
        columns_i[j, C_PAIR] = len(pairs)
        pairs += [(at[i, j], at[j, i]) for i in chain]
    return columns_i, np.array(pairs, np.int64).reshape(-1, 2), Pattern((n_v, n_v), rows, cols)
