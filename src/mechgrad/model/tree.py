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
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from mechgrad.model.limits import LARGEST, too_large
from mechgrad.model.pattern import Pattern
from mechgrad.model.structure import (
    C_ATOM,
    C_DIAGONAL,
    C_PAIR,
    C_PARENT,
    HAS_MASS,
    KIND,
    LAST_CHILD,
    LAST_COLUMN,
    PARENT,
    Q_AT,
    V_AT,
    Structure,
    make_structure,
    n_columns,
)

if TYPE_CHECKING:
    from mechgrad.model.body import Body
    from mechgrad.model.joints import Joint
    from mechgrad.model.model_parts import ModelParts

# columns of Tree.atoms_f: axes of the frame at rest in the previous frame, its origin, the body's mass, centre of
# mass, second moments about it (xx xy xz yy yz zz of int x x^T dm), and the mass of everything beyond
X, Y, Z, ORIGIN, MASS, COM, MOMENTS, BEYOND = 0, 3, 6, 9, 12, 13, 16, 22
ATOM_SIZE = 23
# its last row, the world: gravity, then whether spatial quantities are about the mechanism's root (1) or the origin (0)
ABOUT = 3
# where these are taken; "com": residual and mass matrix about each body's centre of mass, the rest about the root
Reference = Literal["root", "com", "origin"]

__all__ = [  # the tables of `structure` too: kernels read all of them
    "ABOUT", "ATOM_SIZE", "BEYOND", "COM", "C_ATOM", "C_DIAGONAL", "C_PAIR", "C_PARENT", "HAS_MASS", "KIND",
    "LAST_CHILD", "LAST_COLUMN", "MASS", "MOMENTS", "ORIGIN", "PARENT", "Q_AT", "V_AT", "Numbers", "Pose", "Reference",
    "Structure", "Tree", "X", "Y", "Z", "about_origin", "compile_tree", "compose", "second_moments", "six",
]  # fmt: skip

Pose = tuple[np.ndarray, np.ndarray]
T = TypeVar("T")


def about_origin(atoms_f: np.ndarray) -> np.ndarray:
    """The table with spatial quantities about the world's origin, instead of where the mechanism's root is."""
    numbers = atoms_f.copy()
    numbers[-1, ABOUT] = 0.0
    numbers.setflags(write=False)
    return numbers


def second_moments(inertia: np.ndarray) -> np.ndarray:
    """int x x^T dm about the centre of mass, from the inertia tensor: tr(I)/2 - I; batched over leading axes."""
    half = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)
    return np.asarray(half[..., None, None] * np.eye(3) - inertia)


def six(symmetric: np.ndarray) -> np.ndarray:
    """(xx, xy, xz, yy, yz, zz) of a symmetric matrix; batched over leading axes."""
    return np.asarray(symmetric[..., (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)])


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
    atoms_f: np.ndarray  # one row per atom, then one row for the world: gravity in its first three numbers, ABOUT
    body_atom: dict[str, int]
    body_tail: dict[str, Pose]
    # of the structure, at hand for every call
    n_q: int = field(init=False)
    n_v: int = field(init=False)
    columns_i: np.ndarray = field(init=False)
    joint_atoms: dict[str, range] = field(init=False)

    def __post_init__(self) -> None:
        s = self.structure
        vars(self).update(n_q=s.n_q, n_v=s.n_v, columns_i=s.columns_i, joint_atoms=s.joint_atoms)

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
    def pattern(self) -> Pattern:
        """Which entries of a matrix of all velocities can differ from zero; taken when it is first asked for."""
        return self.structure.pattern

    @cached_property
    def pairs(self) -> np.ndarray:
        """Per column and ancestor, nearest first: position of (ancestor, column) and of (column, ancestor)."""
        return self.structure.pairs

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
        return range(start, start + n_columns(int(self.atoms_i[atom, KIND])))

    def atoms_below(self, atom: int) -> list[int]:
        """All atoms beyond this one."""
        return self.structure.below(atom)

    def columns_below(self, atom: int, *, own: bool) -> list[int]:
        """Columns of all atoms beyond this one (of this one too if `own`), ascending."""
        atoms = [*([atom] if own else []), *self.structure.below(atom)]
        return sorted(c for a in atoms for c in self.columns_of(a))


def compose(a: Pose, b: Pose) -> Pose:
    """Pose of C in A from poses of B in A and of C in B; batched over leading axes."""
    return a[0] @ b[0], a[1] + (a[0] @ b[1][..., None])[..., 0]


def compile_tree(model: ModelParts) -> Tree:
    """Flatten a model."""
    structure: Structure = model.shared("structure", make_structure)
    near: Tree | None = model.of_original("tree")
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
    same = near is not None and near.dtype is dtype and not new_joints and not new_bodies
    if near is not None and same and np.array_equal(near.atoms_f[-1, :3], model.gravity):
        return near  # what changed is none of a tree's: forces, constraints, points

    E, r, tail_E, tail_r, mass, com, inertia = arrays = tuple(x.astype(dtype) for x in numbers.arrays)
    body_tail = {"ground": (np.eye(3), np.zeros(3))} if near is None else near.body_tail.copy()
    for k, joint, atoms, tail in new_joints:
        for atom, (_, axes, origin) in zip(structure.joint_atoms[joint.name], atoms, strict=True):
            E[atom], r[atom] = axes, origin
        tail_E[k], tail_r[k] = tail
        body_tail[joint.child] = tail
    for k, body in new_bodies:
        mass[k], com[k], inertia[k] = body.mass, body.com, body.inertia

    with np.errstate(over="ignore", invalid="ignore"):  # judged right below
        atoms_f = _flat_numbers(structure, *arrays)
    atoms_f[-1, :3] = model.gravity
    atoms_f[-1, ABOUT] = 1.0
    if not np.abs(atoms_f).max() <= LARGEST:
        raise too_large(model)
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
