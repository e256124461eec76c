"""Inverse dynamics by the Newton-Euler recursion in moving link frames, with the internal forces of the joints.

    tau_j = e_j . T_j (hinge),  e_j . F_j (slide)          F_j, T_j: what the parent link exerts on link j

Newton's and Euler's equations are written link by link, each in the link's own frame with 3 x 3 rotations (Barman 2020;
docs/newton_euler.md says what had to be corrected). Generalized forces and derivatives equal those of
`inverse_dynamics`; what comes on top are the forces and moments that the joints carry.

Choose it for the forces that joints carry and their gradients, and as an independent check. Avoid it for ball joints,
for derivatives by parameters, and where only derivatives of torques are wanted: the spatial method is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.inverse.kernels import newton_euler as _values
from mechgrad.inverse.kernels import newton_euler_partials as _partials
from mechgrad.inverse.kernels.wrenches import FORCE, MOMENT, WRENCH
from mechgrad.inverse.links import Links, compile_links
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.kinematics.batch import Batch, Kernels, tree_of
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.model.joints import FIXED, PRISMATIC
from mechgrad.model.pattern import Pattern
from mechgrad.model.tree import Tree, six
from mechgrad.typing import Array, ArrayLike, Wrench

if TYPE_CHECKING:
    from mechgrad.model.model import Model

METHOD = "newton-euler"
TORQUES = Kernels(_values.torques_one, _values.torques_lanes, _values.torques_complex)
DERIVATIVES = Kernels(_partials.derivatives_one, _partials.derivatives_lanes, _partials.derivatives_complex)


@final
@dataclass(frozen=True, eq=False)
class LinkReactions:
    """Couples and forces in all joints, and how they change with the motion.

    A joint is its last link, that of the child body, held by the link before it: the parent body, or the last but one
    where a joint has several links. Couple and force are what that link exerts on the child body, drive included, in
    the axes of the child body; the couple is the moment about `point`, the origin of the holding link.

    Shapes are (nt, joints, 3) for vectors and (nt, joints, 3, n_v) for derivatives, without nt for a single state.

    Attributes
    ----------
    names : tuple of str
        The joints, in the order of the second axis.
    couple, force : arrays
        [N m], [N].
    point : array
        About which the couple is taken, from the child body's origin in its axes [m]. About another point r it is
        `couple + cross(point - r, force)`.
    couple_q, couple_v, couple_a, force_q, force_v, force_a : arrays or None
        Partials by q, v, a; None unless asked for. Columns of joints that share no path to the ground are exact zeros.
    """

    names: tuple[str, ...]
    couple: Array
    force: Array
    point: Array
    couple_q: Array | None = None
    couple_v: Array | None = None
    couple_a: Array | None = None
    force_q: Array | None = None
    force_v: Array | None = None
    force_a: Array | None = None

    def of(self, joint: str) -> Wrench:
        """Couple and force of one joint: `.couple` and `.force`, (3,) or (nt, 3) each."""
        if joint not in self.names:
            raise unknown_name("joint", joint, self.names)
        k = self.names.index(joint)
        return Wrench(self.couple[..., k, :], self.force[..., k, :])


@dataclass(frozen=True, eq=False)
class _Tables:
    """Links as kernels read them; `entries` (k, 3) says where packed reaction partials stand among dense ones."""

    links: Links
    links_i: Array
    links_f: Array
    beyond: Array
    positions: Array
    entries: Array
    bodies: Tree  # where loads find their links
    last: Array

    @cached_property
    def as_complex(self) -> Array:
        """links_f for the complex kernels."""
        return self.links_f.astype(complex)


def _numbers(links: Links, dtype: type) -> Array:
    """A link's constants in its own frame: axis e = sigma R_C^T z and arm X = R_C^T p_C (a slide adds q e)."""
    numbers: Array = np.zeros((links.n + 1, _values.NUMBERS), dtype)
    for row, sign, C, m, c, inertia in zip(
        numbers, links.sign, links.C, links.mass, links.com, links.inertia, strict=False
    ):
        R, p = C[:3, :3], C[:3, 3]
        row[_values.F_SIGN] = sign
        row[_values.F_TURN : _values.F_TURN + 9] = R.ravel()
        row[_values.F_AXIS : _values.F_AXIS + 3] = sign * R[2]
        row[_values.F_ARM : _values.F_ARM + 3] = p @ R
        row[_values.F_MASS] = m
        row[_values.F_COM : _values.F_COM + 3] = c
        row[_values.F_INERTIA : _values.F_INERTIA + 6] = six(inertia)
    numbers[-1, :3] = links.gravity
    return numbers


def _make_tables(model: Model) -> _Tables:
    links, tree = compile_links(model, METHOD), tree_of(model)
    n = links.n
    before: list[list[int]] = []  # columns on the way to each link, its own last
    beyond: list[list[int]] = [[] for _ in range(n)]
    for j in range(n):
        path = list(before[links.parent[j]]) if links.parent[j] >= 0 else []
        before.append([*path, int(links.column[j])] if links.kind[j] != FIXED else path)
    for j in range(n - 1, -1, -1):
        if (parent := links.parent[j]) >= 0:
            own = [] if links.kind[j] == FIXED else [int(links.column[j])]
            beyond[parent] += own + beyond[j]
    last = np.array([links.joint[joint.name][-1] for joint in model.tree_joints], np.int64)
    joint_of = {int(link): k for k, link in enumerate(last)}
    indices = np.full((n, _values.INDICES), -1, np.int64)
    positions: list[int] = []
    entries: list[list[int]] = []
    start = at_beyond = 0
    for j in range(n):
        related = before[j] + beyond[j]
        has_mass = bool(links.mass[j] != 0 or np.any(links.inertia[j] != 0))
        indices[j] = (
            links.parent[j], links.kind[j], links.column[j], has_mass, joint_of.get(j, -1), len(before[j]), start,
            at_beyond, at_beyond + len(beyond[j]), len(positions), len(entries),
        )  # fmt: skip
        start, at_beyond = start + len(before[j]), at_beyond + len(beyond[j])
        if links.kind[j] != FIXED:
            positions += [tree.pattern.position(int(links.column[j]), m) for m in related]
        if j in joint_of:
            entries += [[(3 * joint_of[j] + i) * tree.n_v + m for i in range(3)] for m in related]
    here = {name: (np.eye(3), np.zeros(3)) for name in links.body}
    return _Tables(
        links, indices, _numbers(links, tree.dtype), np.array([c for cs in beyond for c in cs], np.int64),
        np.array(positions, np.int64), np.array(entries, np.int64).reshape(-1, 3),
        replace(tree, body_atom=links.body, body_tail=here), last,
    )  # fmt: skip


class _Call:
    """Inputs of one call, checked and laid out."""

    def __init__(
        self, model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, loads: Sequence[Load] | None
    ) -> None:
        self.tables = model.cached(METHOD, _make_tables)
        self.batch = batch = Batch(
            model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)),
            also_complex=loads_are_complex(loads),
        )  # fmt: skip
        self.loads = compile_loads(model, self.tables.bodies, loads, batch.nt, batch.dtype)
        self.n_v, self.nnz = batch.tree.n_v, batch.tree.pattern.nnz
        self.numbers = self.tables.links_f if batch.tree.dtype is batch.dtype else self.tables.as_complex

    def torques(self, n_reactions: int = 0) -> list[Array]:
        """tau and reactions."""
        arrays = self.batch.empties((self.n_v, n_reactions * WRENCH))
        kernel = self.batch.pick(TORQUES)

        def call(part: slice) -> int:
            return kernel(  # type: ignore[no-any-return]
                self.tables.links_i, self.numbers, *self.batch.rows(part), self.loads.indices, self.loads.rows(part),
                *(x[part] for x in arrays),
            )  # fmt: skip

        self.batch.sweep(call)
        return arrays

    def derivatives(self, n_reactions: int = 0) -> list[Array]:
        """tau, dq, dv, da, reactions and their packed partials."""
        t = self.tables
        n_partials = len(t.entries) * _partials.WRENCHES if n_reactions else 0
        arrays = self.batch.empties((self.n_v, self.nnz, self.nnz, self.nnz, n_reactions * WRENCH, n_partials))
        kernel = self.batch.pick(DERIVATIVES)

        links = (t.links_i, self.numbers, t.beyond, t.positions)

        def call(part: slice) -> int:
            tau, dq, dv, da, reactions, partials = self.batch.parts(arrays, part)
            return kernel(  # type: ignore[no-any-return]
                links, self.batch.rows(part), self.loads.record(part), tau, reactions, (dq, dv, da, partials)
            )

        self.batch.sweep(call)
        return arrays


def newton_euler_torques(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
) -> Array:
    """Generalized forces that produce a motion: `inverse_dynamics` by the Newton-Euler recursion in link frames.

    Parameters
    ----------
    model : Model
        Of hinges and slides: every joint but `Spherical` and `Floating`.
    q, v, a : (n_v,) or (nt, n_v)
        Coordinates, velocities, accelerations; v and a are zeros if left out. Complex numbers are accepted.
    loads : list of Load, optional
        Forces and couples of the environment on any number of bodies.

    Returns
    -------
    tau : (n_v,) or (nt, n_v)
        Positive when it increases the coordinate [N m, N].
    """
    require_tree(model)
    call = _Call(model, q, v, a, loads)
    tau = call.torques()[0]
    return tau[0] if call.batch.single else tau


def newton_euler_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
) -> InverseDynamicsDerivatives:
    """Generalized forces and their exact derivatives by q, v and a, by the Newton-Euler recursion in link frames.

    Parameters as in `newton_euler_torques`. The result is that of `inverse_dynamics_derivatives` without parameters.
    """
    require_tree(model)
    call = _Call(model, q, v, a, loads)
    arrays = [*call.derivatives()[:4], call.batch.empty(0)]
    none = np.zeros(0, np.int64)
    if call.batch.single:
        arrays = [x[0] for x in arrays]
    return InverseDynamicsDerivatives(arrays, call.batch.tree.pattern, Pattern((call.n_v, 0), none, none.copy()), ())


def newton_euler_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
    derivatives: bool = False,
) -> LinkReactions:
    """Couple and force in every joint, as the holding link exerts them on the child body.

    Parameters
    ----------
    model, q, v, a, loads
        As in `newton_euler_torques`.
    derivatives : bool
        Also give the partials by q, v and a, dense: 18 n_v numbers per sample and joint.

    Returns
    -------
    LinkReactions

    Examples
    --------
    A bob of 2 kg on a rod of 1 m, held horizontally: the pin carries its weight and, as drive, its moment.

    >>> from mechgrad import Body, Model, Revolute
    >>> pendulum = Model("pendulum", [Body("bob", 2, (1, 0, 0))], [Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    >>> carried = newton_euler_reactions(pendulum, [0.0])
    >>> carried.couple, carried.force
    (array([[  0.  , -19.62,   0.  ]]), array([[ 0.  ,  0.  , 19.62]]))
    """
    require_tree(model)
    call = _Call(model, q, v, a, loads)
    batch, n_joints = call.batch, len(model.tree_joints)
    wrenches, packed = call.derivatives(n_joints)[4:] if derivatives else (call.torques(n_joints)[1], None)
    wrenches = wrenches.reshape(batch.nt, n_joints, WRENCH)
    values = [wrenches[..., MOMENT : MOMENT + 3].copy(), wrenches[..., FORCE : FORCE + 3].copy(), _points(call)]
    if packed is not None:
        packed = packed.reshape(batch.nt, len(call.tables.entries), _partials.WRENCHES)
        for part in (MOMENT, FORCE):
            for by in (_partials.BY_Q, _partials.BY_V, _partials.BY_A):
                dense: Array = np.zeros((batch.nt, n_joints * 3 * call.n_v), batch.dtype)
                dense[:, call.tables.entries] = packed[..., by + part : by + part + 3]
                values.append(dense.reshape(batch.nt, n_joints, 3, call.n_v))
    if batch.single:
        values = [x[0] for x in values]
    return LinkReactions(tuple(joint.name for joint in model.tree_joints), *values)


def _points(call: _Call) -> Array:
    """Origin of each joint's holding link, seen from the child body: -X."""
    tables, last = call.tables, call.tables.last
    axis, arm = call.numbers[last, _values.F_AXIS :][:, :3], call.numbers[last, _values.F_ARM :][:, :3]
    slides = tables.links.kind[last] == PRISMATIC
    way: Array = np.zeros((call.batch.nt, last.size), call.batch.dtype)
    way[:, slides] = call.batch.arrays[0][:, tables.links.column[last[slides]]]
    result: Array = -(arm + way[..., None] * axis)
    return result
