"""The model as flat arrays: what kernels read. A new model is new data, never new code.

A joint is a chain of *atoms*: revolute (about its own z), prismatic (along its own z), ball (Euler parameters) or
fixed. Atom i carries at most one body. Frames: the atom's frame, after its motion, is the frame in which the body's
numbers, the placements of the next atoms, markers and loads are expressed; the constant pose of the body frame in
it (the joint's tail) is folded into those numbers here.

A *column* is one velocity: column j has the twist S_j, and moves everything beyond its atom. `parent` of a column
is the previous column on the way to the ground.

Numbers never change the structure: `with_values` copies share one `Structure`, and a copy takes the numbers of the
nearest compiled model it was made from, joint by joint and body by body, where these are still the same objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.pattern import Pattern

if TYPE_CHECKING:
    from mechgrad.model.body import Body
    from mechgrad.model.joints import Joint
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
T = TypeVar("T")


def second_moments(inertia: np.ndarray) -> np.ndarray:
    """int x x^T dm about the centre of mass, from the inertia tensor: tr(I)/2 - I; batched over leading axes."""
    half = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)
    return np.asarray(half[..., None, None] * np.eye(3) - inertia)


def six(symmetric: np.ndarray) -> np.ndarray:
    """(xx, xy, xz, yy, yz, zz) of a symmetric matrix; batched over leading axes."""
    return np.asarray(symmetric[..., (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)])


@dataclass(frozen=True, eq=False)
class Structure:
    """What numbers cannot change: one for a model and all its `with_values` copies."""

    n_q: int
    n_v: int
    atoms_i: np.ndarray  # without HAS_MASS, which numbers decide
    columns_i: np.ndarray
    pairs: (
        np.ndarray
    )  # per column and ancestor, nearest first: position of (ancestor, column) and of (column, ancestor)
    pattern: Pattern
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

    @cached_property
    def depth(self) -> np.ndarray:
        """Number of columns before each column on its way to the ground."""
        depth = np.zeros(self.n_v, np.int64)
        for j, parent in enumerate(self.columns_i[:, C_PARENT].tolist()):
            depth[j] = 0 if parent < 0 else depth[parent] + 1
        return depth

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
        positions = []
        for j in range(self.n_v):
            pair = self.columns_i[j, C_PAIR]
            positions += [self.columns_i[j, C_DIAGONAL], *self.pairs[pair : pair + self.depth[j], side]]
        return np.array(positions, np.int64)

    @cached_property
    def column_parent(self) -> np.ndarray:
        """See `Tree.column_parent`."""
        return np.ascontiguousarray(self.columns_i[:, C_PARENT])

    @cached_property
    def below(self) -> list[list[int]]:
        """All atoms beyond each atom."""
        below: list[list[int]] = [[] for _ in self.parents]
        for atom in range(self.n_atoms - 1, -1, -1):
            if (parent := self.parents[atom]) >= 0:
                below[parent] += [atom, *below[atom]]
        return below


@dataclass(frozen=True, eq=False)
class Numbers:
    """Placements and mass properties as the joints and bodies state them, and who stated them.

    All real: where a joint or a body is complex, None stands in its place, and no model takes its numbers over.
    """

    joints: tuple[Joint | None, ...]  # as the model states them, not as the tree runs through them
    bodies: tuple[Body | None, ...]  # in the order of the joints that hold them
    E: np.ndarray  # (n_atoms, 3, 3) and (n_atoms, 3): each atom in the moved frame before it
    r: np.ndarray
    tail_E: np.ndarray  # (n_joints + 1, 3, 3) and (n_joints + 1, 3): the last row is no displacement
    tail_r: np.ndarray
    mass: np.ndarray  # (n_joints,), (n_joints, 3), (n_joints, 3, 3)
    com: np.ndarray
    inertia: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All of them."""
        return self.E, self.r, self.tail_E, self.tail_r, self.mass, self.com, self.inertia


def _no_numbers(structure: Structure) -> Numbers:
    n, n_joints = structure.n_atoms, len(structure.bodies)
    return Numbers(
        (None,) * n_joints, (None,) * n_joints, np.zeros((n, 3, 3)), np.zeros((n, 3)),
        np.tile(np.eye(3), (n_joints + 1, 1, 1)), np.zeros((n_joints + 1, 3)),
        np.zeros(n_joints), np.zeros((n_joints, 3)), np.zeros((n_joints, 3, 3)),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tree:
    """Compiled form of a model's tree; see the module's text. Made by `compile_tree`, cached on the model."""

    structure: Structure
    numbers: Numbers = field(repr=False)
    dtype: type
    atoms_i: np.ndarray
    atoms_f: np.ndarray  # one row per atom, then one row for the world: gravity in its first three numbers
    body_atom: dict[str, int]
    body_tail: dict[str, Pose]
    # of the structure, at hand for every call
    n_q: int = field(init=False)
    n_v: int = field(init=False)
    columns_i: np.ndarray = field(init=False)
    pairs: np.ndarray = field(init=False)
    pattern: Pattern = field(init=False)
    joint_atoms: dict[str, range] = field(init=False)

    def __post_init__(self) -> None:
        s = self.structure
        vars(self).update(
            n_q=s.n_q, n_v=s.n_v, columns_i=s.columns_i, pairs=s.pairs, pattern=s.pattern, joint_atoms=s.joint_atoms
        )

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

    @property
    def chain_start(self) -> np.ndarray:
        """Where each column's chain of ancestors starts when matrices are stored by chains
        (`kernels.small_dense`)."""
        return self.structure.chain_start

    @property
    def chain_positions(self) -> np.ndarray:
        """For every entry (j, ancestor) stored by chains, its position in packed values of `pattern`."""
        return self.structure.chain_positions

    @property
    def chain_transposed(self) -> np.ndarray:
        """For every entry stored by chains, the position of its transpose (ancestor, j)."""
        return self.structure.chain_transposed

    @property
    def depth(self) -> np.ndarray:
        """Number of columns before each column on its way to the ground."""
        return self.structure.depth

    @property
    def column_parent(self) -> np.ndarray:
        """Previous column on the way to the ground, -1 at the root."""
        return self.structure.column_parent

    def path(self, column: int) -> list[int]:
        """Column and its ancestors, nearest first; empty for -1."""
        found = []
        while column >= 0:
            found.append(column)
            column = int(self.columns_i[column, C_PARENT])
        return found

    def columns_of(self, atom: int) -> range:
        """The columns of one atom."""
        start = int(self.atoms_i[atom, V_AT])
        return range(start, start + _n_columns(int(self.atoms_i[atom, KIND])))

    def atoms_below(self, atom: int) -> list[int]:
        """All atoms beyond this one."""
        return self.structure.below[atom]

    def columns_below(self, atom: int, *, own: bool) -> list[int]:
        """Columns of all atoms beyond this one (of this one too if `own`), ascending."""
        atoms = [*([atom] if own else []), *self.structure.below[atom]]
        return sorted(c for a in atoms for c in self.columns_of(a))


def _n_columns(kind: int) -> int:
    return 3 if kind == BALL else 0 if kind == FIXED else 1


def _n_positions(kind: int) -> int:
    return 4 if kind == BALL else 0 if kind == FIXED else 1


def compose(a: Pose, b: Pose) -> Pose:
    """Pose of C in A from poses of B in A and of C in B; batched over leading axes."""
    return a[0] @ b[0], a[1] + (a[0] @ b[1][..., None])[..., 0]


def compile_tree(model: Model) -> Tree:
    """Flatten a model."""
    structure: Structure = model.shared("structure", _make_structure)
    near: Tree | None = model._near
    numbers = _no_numbers(structure) if near is None else near.numbers
    bodies = [model.bodies[i] for i in structure.bodies]
    stated, oriented = [model.joints[i] for i in structure.joints], model.tree_joints
    new_joints = [
        (k, oriented[k], oriented[k].atoms(), oriented[k].tail())
        for k, (joint, old) in enumerate(zip(stated, numbers.joints, strict=True))
        if joint is not old
    ]
    new_bodies = [(k, b) for k, (b, old) in enumerate(zip(bodies, numbers.bodies, strict=True)) if b is not old]
    complex_joints = [
        k for k, _, atoms, tail in new_joints if _any_complex(*(x for _, E, r in atoms for x in (E, r)), *tail)
    ]
    complex_bodies = [k for k, body in new_bodies if _any_complex(body.mass, body.com, body.inertia)]
    is_complex = (
        complex_joints or complex_bodies
        or _any_complex(model.gravity, *(p.position for p in model.points), *(u.direction for u in model.vectors))
    )  # fmt: skip
    dtype = complex if is_complex else float

    E, r, tail_E, tail_r, mass, com, inertia = arrays = tuple(x.astype(dtype) for x in numbers.arrays)
    body_tail = {"ground": (np.eye(3), np.zeros(3))} if near is None else near.body_tail.copy()
    for k, joint, atoms, tail in new_joints:
        for atom, (_, axes, origin) in zip(structure.joint_atoms[joint.name], atoms, strict=True):
            E[atom], r[atom] = axes, origin
        tail_E[k], tail_r[k] = tail
        body_tail[joint.child] = tail
    for k, body in new_bodies:
        mass[k], com[k], inertia[k] = body.mass, body.com, body.inertia

    atoms_f = _flat_numbers(structure, *arrays)
    atoms_f[-1, :3] = model.gravity
    has_mass = (mass != 0) | (inertia != 0).any(axis=(1, 2))
    atoms_i = structure.atoms_i if near is None else near.atoms_i
    if not np.array_equal(atoms_i[structure.last, HAS_MASS], has_mass):
        atoms_i = structure.atoms_i.copy()
        atoms_i[structure.last, HAS_MASS] = has_mass
    atoms_f.setflags(write=False)
    atoms_i.setflags(write=False)
    numbers = Numbers(_without(stated, complex_joints), _without(bodies, complex_bodies), *(x.real for x in arrays))
    return Tree(structure, numbers, dtype, atoms_i, atoms_f, structure.body_atom, body_tail)


def _any_complex(*numbers: np.ndarray | complex) -> bool:
    return any(map(np.iscomplexobj, numbers))


def _without(items: Sequence[T], positions: Sequence[int]) -> tuple[T | None, ...]:
    if not positions:
        return tuple(items)
    kept: list[T | None] = list(items)
    for k in positions:
        kept[k] = None
    return tuple(kept)


def _flat_numbers(
    structure: Structure,
    E: np.ndarray,
    r: np.ndarray,
    tail_E: np.ndarray,
    tail_r: np.ndarray,
    mass: np.ndarray,
    com: np.ndarray,
    inertia: np.ndarray,
) -> np.ndarray:
    """`Tree.atoms_f` but for gravity: tails folded into the next atoms and into the numbers of the bodies."""
    n = structure.n_atoms
    atoms_f = np.zeros((n + 1, ATOM_SIZE), E.dtype)
    axes, origin = compose((tail_E[structure.carrier], tail_r[structure.carrier]), (E, r))
    atoms_f[:n, X:ORIGIN] = axes.transpose(0, 2, 1).reshape(n, 9)
    atoms_f[:n, ORIGIN:MASS] = origin

    tail = tail_E[:-1]
    S = tail @ second_moments(inertia) @ tail.transpose(0, 2, 1)
    carried = np.empty((mass.size, BEYOND - MASS), E.dtype)
    carried[:, 0] = mass
    carried[:, COM - MASS : MOMENTS - MASS] = tail_r[:-1] + (tail @ com[..., None])[..., 0]
    carried[:, MOMENTS - MASS :] = six(S)
    atoms_f[structure.last, MASS:BEYOND] = carried

    beyond = atoms_f[:n, MASS].tolist()
    for atom in range(n - 1, -1, -1):
        if (parent := structure.parents[atom]) >= 0:
            beyond[parent] += beyond[atom]
    atoms_f[:n, BEYOND] = beyond
    return atoms_f


def _make_structure(model: Model) -> Structure:
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
            columns = _n_columns(kind)
            last_column = n_v + columns - 1 if columns else rows[previous][LAST_COLUMN] if previous >= 0 else -1
            rows.append((previous, kind, n_q, n_v, 0, last_column))
            carrier.append(before)
            n_q, n_v = n_q + _n_positions(kind), n_v + columns
            previous, before = len(rows) - 1, len(joints)
        body_atom[joint.child], holder[joint.child] = previous, k
    atoms_i = np.array(rows, np.int64).reshape(-1, 6)
    columns_i, pairs, pattern = _columns(rows, n_v)
    for array in (atoms_i, columns_i, pairs):
        array.setflags(write=False)
    return Structure(
        n_q, n_v, atoms_i, columns_i, pairs, pattern, body_atom, joint_atoms,
        parents=tuple(row[PARENT] for row in rows),
        joints=model._layout.spanning.order, bodies=tuple(position[joint.child] for joint in joints),
        carrier=np.array(carrier, np.int64), last=np.array([atoms[-1] for atoms in joint_atoms.values()], np.int64),
    )  # fmt: skip


def _columns(rows: Sequence[tuple[int, ...]], n_v: int) -> tuple[np.ndarray, np.ndarray, Pattern]:
    columns_i = np.full((n_v, 4), -1, np.int64)
    chains: list[list[int]] = []  # ancestors of each column, nearest first
    for atom, row in enumerate(rows):
        before = -1 if row[PARENT] < 0 else rows[row[PARENT]][LAST_COLUMN]
        for column in range(row[V_AT], row[V_AT] + _n_columns(row[KIND])):
            columns_i[column, : C_PARENT + 1] = atom, before
            chains.append([] if before < 0 else [before, *chains[before]])
            before = column
    lengths = [len(c) for c in chains]
    child, ancestor = np.repeat(np.arange(n_v), lengths), np.array([i for c in chains for i in c], np.int64)
    related = np.eye(n_v, dtype=bool)
    related[child, ancestor] = related[ancestor, child] = True
    rows_, cols = np.nonzero(related)
    at = np.full((n_v, n_v), -1, np.int64)
    at[rows_, cols] = np.arange(rows_.size)
    columns_i[:, C_DIAGONAL] = np.diagonal(at)
    columns_i[:, C_PAIR] = np.cumsum([0, *lengths])[:-1]
    pairs = np.stack([at[ancestor, child], at[child, ancestor]], axis=1)
    return columns_i, pairs, Pattern((n_v, n_v), rows_, cols)
