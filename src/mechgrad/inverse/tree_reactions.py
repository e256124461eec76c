"""Couples and forces that joints transmit, for all joint kinds, with derivatives by q, v, a and parameters.

The parent exerts on the child, at the joint's point on the child, the couple m and the force f that everything
beyond the joint needs to move as it does (actuator forces included):

    f = sum over bodies beyond (m_b (a_b - g) - loads),    m = their moment about the joint's point

The six numbers stand as (couple, force), as in all spatial vectors.

The joint's point is its `child_origin`. A row of a Denavit-Hartenberg table is a hinge at the origin of the parent's
frame (standard convention; at x = a in the modified one), or a slide whose point travels with the child, before the
row's remaining lengths. The part of the reaction along the joint's freedom is the generalized force: for a hinge,
tau = axis . m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.kernels import tree_reactions as _kernels
from mechgrad.inverse.kernels.tree_reactions import REACTION
from mechgrad.inverse.kernels.wrenches import FORCE, MOMENT
from mechgrad.inverse.loads import Load, LoadTable, compile_loads, loads_are_complex
from mechgrad.inverse.newton_euler import newton_euler_reactions
from mechgrad.inverse.spatial import columns_for
from mechgrad.kinematics.batch import Batch, Kernels, tree_of
from mechgrad.kinematics.bodies import body_motion
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.model.columns import (
    BEFORE,
    BEHIND,
    GRAVITY,
    INERTIAL,
    T_COLUMN,
    T_KIND,
    T_NODE,
    ParameterColumns,
    column_index,
)
from mechgrad.model.pattern import Packed, Pattern
from mechgrad.model.tree import C_ATOM, LAST_COLUMN, PARENT, Tree
from mechgrad.typing import Array, ArrayLike, Wrench

if TYPE_CHECKING:
    from mechgrad.model.model import Model

REACTIONS = Kernels(_kernels.reactions_one, _kernels.reactions_lanes, _kernels.reactions_complex)
AXES = ("world", "parent", "child")


@final
@dataclass(frozen=True, eq=False)
class JointReactions:
    """What each joint transmits from its parent to its child.

    Attributes
    ----------
    names : the joints
    couple : (joints, 3) or (nt, joints, 3) [N m], the moment about the joint's point on the child
    force : (joints, 3) or (nt, joints, 3) [N]
    axes : "world", "parent" or "child"
    """

    names: tuple[str, ...]
    couple: Array
    force: Array
    axes: str

    def of(self, joint: str) -> Wrench:
        """Couple and force of one joint: `.couple` and `.force`, (3,) or (nt, 3) each."""
        if joint not in self.names:
            raise unknown_name("joint", joint, self.names)
        k = self.names.index(joint)
        return Wrench(self.couple[..., k, :], self.force[..., k, :])


@final
@dataclass(frozen=True, eq=False)
class ReactionDerivatives:
    """Reactions and their derivatives. Row 6 k + i of a matrix: component i of (couple, force) of joint k.

    Attributes
    ----------
    reactions : JointReactions
    dq, dv, da : Packed
        By q (along `model.integrate`), v, a; a joint depends on the columns on its way to the ground and beyond it.
    dp : Packed
        By parameters, one column per entry of `parameters`.
    """

    reactions: JointReactions
    dq: Packed
    dv: Packed
    da: Packed
    dp: Packed
    parameters: tuple[str, ...]

    def of(self, joint: str, by: str) -> Wrench:
        """Derivatives of one joint's couple and force: `by` is "q", "v", "a", `.couple` and `.force` are then (...,
        3, n_v), or a parameter path (..., 3)."""
        names = self.reactions.names
        if joint not in names:
            raise unknown_name("joint", joint, names)
        first = REACTION * names.index(joint)
        couple, force = (slice(first + part, first + part + 3) for part in (MOMENT, FORCE))
        if by in ("q", "v", "a"):
            packed: Packed = getattr(self, f"d{by}")
            dense = packed.dense()
            return Wrench(dense[..., couple, :], dense[..., force, :])
        column = self.dp.dense()[..., column_index(self.parameters, by)]
        return Wrench(column[..., couple], column[..., force])


@dataclass(frozen=True, eq=False)
class _Table:
    """Joints as the kernels read them."""

    names: tuple[str, ...]
    indices: Array
    tails: Array


def _table(model: Model, tree: Tree, joints: Sequence[str] | None, axes: str, dtype: type) -> _Table:
    if axes not in AXES:
        raise InputError(f"axes is {axes!r}; choose one of {', '.join(map(repr, AXES))}.")
    if isinstance(joints, str):
        raise InputError(f"joints is the string {joints!r}; give a list of names: [{joints!r}].")
    names = tuple(joint.name for joint in model.tree_joints) if joints is None else tuple(joints)
    rows, tails = [], []
    for name in names:
        joint = model.tree_joint(name)
        body = {"world": "ground", "parent": joint.parent, "child": joint.child}[axes]
        atom = tree.body_atom[body]
        rows.append((tree.joint_atoms[name][-1], tree.n_atoms if atom < 0 else atom))
        tails.append(tree.body_tail[body][0].T.ravel())
    indices = np.array(rows, np.int64).reshape(-1, 2)
    rotations: Array = np.array(tails, dtype).reshape(-1, 9)
    for array in (indices, rotations):
        array.setflags(write=False)
    return _Table(names, indices, rotations)


def joint_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
    joints: Sequence[str] | None = None,
    axes: str = "world",
    method: str = "spatial",
    threads: int = 1,
) -> JointReactions:
    """Couple and force at each joint of a tree for a given motion; `mechanics.reactions` takes every mechanism.

    Parameters
    ----------
    q, v, a, loads, threads
        As in `inverse_dynamics`.
    joints : list of str, optional
        Which joints; all if left out.
    axes : "world", "parent" or "child"
        In whose axes. Parent and child are the bodies' axes.
    method : "spatial" or "newton-euler"
        The fast recursion, or that of the literature (hinges and slides only, no threads), brought to the same
        point and axes.

    Returns
    -------
    JointReactions
        What the parent exerts on the child, about the joint's point on the child. Complex if an input is complex.
        Parent and child are those of `model.tree_joints`; joints that are cut have no part in this.

    A 2 kg bob on a 1 m rod at rest: the pin carries its weight.

    >>> joint_reactions(model, [0.0]).force
    array([[ 0.  ,  0.  , 19.62]])
    """
    require_tree(model)
    if method != "spatial":
        return _by_newton_euler(model, q, v, a, loads, joints, axes, method, threads)
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)), also_complex=loads_are_complex(loads)
    )  # fmt: skip
    tree = batch.tree
    loading = compile_loads(model, tree, loads, batch.nt, batch.dtype)
    table = _table(model, tree, joints, axes, batch.dtype)
    out = batch.empty(len(table.names) * REACTION)
    kernel, atoms_f = batch.pick(REACTIONS), batch.atoms_f

    def call(part: slice) -> int:
        return kernel(  # type: ignore[no-any-return]
            tree.atoms_i, atoms_f, *batch.rows(part), loading.indices, loading.rows(part), table.indices, table.tails,
            out[part],
        )  # fmt: skip

    batch.sweep(call, threads)
    return _shaped(table, out, batch, axes)


def _by_newton_euler(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    loads: Sequence[Load] | None,
    joints: Sequence[str] | None,
    axes: str,
    method: str,
    threads: int,
) -> JointReactions:
    """Reactions in link frames, moved to the joint's point on the child and into the axes asked for."""
    if method != "newton-euler":
        raise InputError(f"method is {method!r}; choose 'spatial' or 'newton-euler'.")
    if threads != 1:
        raise InputError("method 'newton-euler' takes no threads; use method='spatial' for those.")
    tree = tree_of(model)
    names = _table(model, tree, joints, axes, tree.dtype).names
    links, motion = newton_euler_reactions(model, q, v, a, loads=loads), body_motion(model, q)
    couples, forces = [], []
    for name in names:
        joint = model.tree_joint(name)
        k = links.names.index(name)
        R = motion.of(joint.child).R
        tail_R, tail_r = tree.body_tail[joint.child]
        # both points in child axes: theirs as given, ours where the last atom of the joint is
        arm = links.point[..., k, :] + tail_R.T @ tail_r
        force = links.force[..., k, :]
        couple = links.couple[..., k, :] + np.cross(arm, force)
        turn = {"world": R, "child": np.eye(3)}.get(axes)
        if turn is None:
            parent = np.eye(3) if joint.parent == "ground" else np.swapaxes(motion.of(joint.parent).R, -1, -2)
            turn = parent @ R
        couples.append((turn @ couple[..., None])[..., 0])
        forces.append((turn @ force[..., None])[..., 0])
    return JointReactions(names, np.stack(couples, axis=-2), np.stack(forces, axis=-2), axes)


def _shaped(table: _Table, out: Array, batch: Batch, axes: str) -> JointReactions:
    x = out.reshape(batch.nt, len(table.names), REACTION)
    x = x[0] if batch.single else x
    return JointReactions(table.names, x[..., MOMENT : MOMENT + 3], x[..., FORCE : FORCE + 3], axes)


def joint_reactions_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None,
    joints: Sequence[str] | None = None,
    axes: str = "world",
    threads: int = 1,
) -> ReactionDerivatives:
    """Reactions of a tree and their exact derivatives; `mechanics.reaction_derivatives` takes every mechanism.

    Parameters are those of `joint_reactions`, and `wrt` as in `inverse_dynamics_derivatives`. Joints are those of
    `model.tree_joints`: one that the tree passes backwards has its child for a parent here.

    >>> joint_reactions_derivatives(model, [0.0], wrt=["bob.mass"]).of("pin", "bob.mass").force
    array([0.  , 0.  , 9.81])
    """
    require_tree(model)
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)), also_complex=loads_are_complex(loads)
    )  # fmt: skip
    if batch.dtype is complex:
        raise InputError(
            "joint_reactions_derivatives takes real numbers; take a complex step through joint_reactions instead."
        )
    tree = batch.tree
    loading = compile_loads(model, tree, loads, batch.nt, float)
    table = _table(model, tree, joints, axes, float)
    columns = columns_for(model, tree, wrt, loading)
    pairs, pattern = _pairs(tree, table)
    actions, pattern_p = _actions(tree, table, columns, loading)
    out, by_q, by_v, by_a, by_p = batch.empties(
        (len(table.names) * REACTION, pattern.nnz, pattern.nnz, pattern.nnz, pattern_p.nnz)
    )
    kernel = _kernels.reaction_derivatives_one if batch.nt == 1 else _kernels.reaction_derivatives_lanes

    def call(part: slice) -> int:
        return kernel(  # type: ignore[no-any-return]
            batch.tables, batch.rows(part), loading.record(part), (columns.terms_i, columns.terms_f),
            (table.indices, table.tails, pairs, actions), batch.parts((out, by_q, by_v, by_a, by_p), part),
        )  # fmt: skip

    batch.sweep(call, threads)
    reactions = _shaped(table, out, batch, axes)
    if batch.single:
        by_q, by_v, by_a, by_p = by_q[0], by_v[0], by_a[0], by_p[0]
    return ReactionDerivatives(
        reactions, Packed(by_q, pattern), Packed(by_v, pattern), Packed(by_a, pattern), Packed(by_p, pattern_p),
        columns.paths,
    )  # fmt: skip


def _path(tree: Tree, atom: int) -> set[int]:
    """An atom and those before it; empty for the world."""
    found: set[int] = set()
    while 0 <= atom < tree.n_atoms:
        found.add(atom)
        atom = int(tree.atoms_i[atom, PARENT])
    return found


def _six_rows(related: list[list[int]], n_columns: int) -> tuple[list[dict[int, int]], list[int], Pattern]:
    """Pattern of six equal rows per joint; per joint the first slot of each column, and the distance between its
    six slots."""
    rows, cols, slots, strides = [], [], [], []
    at = 0
    for k, columns in enumerate(related):
        slots.append({c: at + i for i, c in enumerate(columns)})
        strides.append(len(columns))
        for component in range(REACTION):
            rows += [REACTION * k + component] * len(columns)
            cols += columns
        at += REACTION * len(columns)
    pattern = Pattern((REACTION * len(related), n_columns), np.array(rows, np.int64), np.array(cols, np.int64))
    return slots, strides, pattern


def _pairs(tree: Tree, table: _Table) -> tuple[Array, Pattern]:
    """(joint, column, is it beyond, does it turn the axes, slot, stride) of all related pairs."""
    before, beyond = [], []
    for atom, _ in table.indices:
        before.append(set(tree.path(int(tree.atoms_i[atom, LAST_COLUMN]))))
        beyond.append(set(tree.columns_below(int(atom), own=False)))
    slots, strides, pattern = _six_rows([sorted(b | y) for b, y in zip(before, beyond, strict=True)], tree.n_v)
    rows = []
    for k, (_, axes) in enumerate(table.indices):
        carriers = _path(tree, int(axes))
        for c, slot in slots[k].items():
            turns = c in before[k] and int(tree.columns_i[c, C_ATOM]) in carriers
            rows.append((k, c, c in beyond[k], turns, slot, strides[k]))
    pairs = np.array(rows, np.int64).reshape(-1, 6)
    pairs.setflags(write=False)
    return pairs, pattern


def _actions(tree: Tree, table: _Table, columns: ParameterColumns, loading: LoadTable) -> tuple[Array, Pattern]:
    """(joint, term, is it beyond, does it move the point, does it turn the axes, slot, stride) of every term that
    acts on a joint."""
    found = []
    for k, (atom, axes) in enumerate(table.indices):
        above, carriers, below = (
            _path(tree, int(atom)),
            _path(tree, int(axes)),
            {int(atom), *tree.atoms_below(int(atom))},
        )
        for t, (kind, node) in enumerate(columns.terms_i[:, [T_KIND, T_NODE]]):
            column = int(columns.terms_i[t, T_COLUMN])
            if kind in (BEFORE, BEHIND):
                if node in above:
                    moves = kind == BEFORE or node != atom
                    found.append((k, t, column, False, moves, node in carriers))
                elif node in below:
                    found.append((k, t, column, True, False, False))
            elif kind == GRAVITY or (node if kind == INERTIAL else loading.indices[node, 0]) in below:
                found.append((k, t, column, False, False, False))
    related = [sorted({c for joint, _, c, *_ in found if joint == k}) for k in range(len(table.names))]
    slots, strides, pattern = _six_rows(related, len(columns.paths))
    rows = [(k, t, *flags, slots[k][c], strides[k]) for k, t, c, *flags in found]
    actions = np.array(rows, np.int64).reshape(-1, 7)
    actions.setflags(write=False)
    return actions, pattern
