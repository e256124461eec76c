"""A tree as links with distal frames, the form in which the recursions of the literature are written.

Link i carries a frame at its far end; joint i is at its near end and moves about or along z of the parent link's
frame:

    A_i(q) = Screw_z(sigma_i q_i) C_i          T_i = T_parent A_i          (4x4; C_i constant)

A standard Denavit-Hartenberg row is exactly one such link, C = Rz(theta) Tz(d) Tx(a) Rx(alpha). Every other joint
made of hinges and slides becomes one, after a fixed link (A_i = C_i, no coordinate) that brings z onto its axis.
The last link of a joint carries the child body and has the body's own frame; the ones before it are virtual and
massless.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.joints import BALL, FIXED, PRISMATIC, REVOLUTE
from mechgrad.model.topology import BranchMatrices, branch_matrices
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True, eq=False)
class Links:
    """Arrays of a tree of links, numbered so that parents come first.

    Attributes
    ----------
    parent : (n,) int
        Parent link, -1 for the ground.
    kind : (n,) int
        REVOLUTE, PRISMATIC or FIXED.
    column : (n,) int
        Which coordinate moves the link, -1 for fixed ones.
    sign : (n,)
        sigma: +1 or -1.
    C : (n, 4, 4)
        Constant part of the transform.
    mass, com, inertia : (n,), (n, 3), (n, 3, 3)
        Of the link's body, in the link's frame; inertia about the centre of mass.
    gravity : (3,)
    body : dict
        Link of each body.
    joint : dict
        Links of each joint, nearest to the ground first.
    """

    parent: Array
    kind: Array
    column: Array
    sign: Array
    C: Array
    mass: Array
    com: Array
    inertia: Array
    gravity: Array
    body: dict[str, int]
    joint: dict[str, range]

    @property
    def n(self) -> int:
        """Number of links."""
        return int(self.parent.size)

    @cached_property
    def branches(self) -> BranchMatrices:
        """Branch parent matrix and joint-branch matrix of the links (1-based, as in the literature)."""
        return branch_matrices(self.parent + 1)


def _matrix(E: Array, r: Array) -> Array:
    T = np.zeros((4, 4), np.result_type(E, r))
    T[:3, :3], T[:3, 3], T[3, 3] = E, r, 1.0
    return T


def _screws_along(E: Array, r: Array) -> int:
    """+1 or -1 if a motion along z commutes with this placement (up to that sign), else 0."""
    z = np.real(E[:, 2])
    straight = z[0] == 0 and z[1] == 0 and np.real(r[0]) == 0 and np.real(r[1]) == 0
    # a complex step that tilts the axis must not be folded away
    touched = np.any(np.imag(E[:2, 2]) != 0) or np.any(np.imag(r[:2]) != 0)
    return int(np.sign(z[2])) if straight and not touched else 0


def compile_links(model: Model, method: str) -> Links:
    """Links of a model; `method` is named in the error for joints that are not made of hinges and slides."""
    rows: list[tuple[int, int, int, int, Array]] = []
    masses: list[tuple[Array, Array, Array]] = []
    body_link, joint_links = {"ground": -1}, {}
    nothing = (np.array(0.0), np.zeros(3), np.zeros((3, 3)))
    column = 0
    for joint in model.tree_joints:
        atoms = joint.atoms()
        if any(atom.kind == BALL for atom in atoms):
            raise InputError(
                f"method {method!r} works with hinges and slides; joint {joint.name!r} is {type(joint).__name__}, "
                "which has Euler parameters. Use method='spatial', or model it as three hinges."
            )
        parent, first = body_link[joint.parent], len(rows)
        placements = [_matrix(atom.E, atom.r) for atom in atoms] + [_matrix(*joint.tail())]
        carried = np.eye(4)
        for k, atom in enumerate(atoms):
            place = carried @ placements[k]
            if atom.kind == FIXED:
                carried = place
                continue
            sign = _screws_along(place[:3, :3], place[:3, 3])
            if sign == 0:
                rows.append((parent, FIXED, -1, 1, place))
                masses.append(nothing)
                parent, place, sign = len(rows) - 1, np.eye(4), 1
            carried = place
            behind = k == len(atoms) - 1
            rows.append((parent, atom.kind, column, sign, carried @ placements[-1] if behind else carried))
            masses.append(nothing)
            parent, carried, column = len(rows) - 1, np.eye(4), column + 1
        if len(rows) == first:  # a weld
            rows.append((parent, FIXED, -1, 1, carried @ placements[-1]))
            masses.append(nothing)
        body = model.body(joint.child)
        masses[-1] = (np.asarray(body.mass), body.com, body.inertia)
        body_link[body.name], joint_links[joint.name] = len(rows) - 1, range(first, len(rows))
    assert all(kind in (REVOLUTE, PRISMATIC, FIXED) for _, kind, _, _, _ in rows)
    n = len(rows)
    parent_, kind_, column_, sign_ = (np.array([row[k] for row in rows], np.int64).reshape(n) for k in range(4))
    return Links(
        parent_, kind_, column_, sign_.astype(float),
        np.array([row[4] for row in rows]).reshape(n, 4, 4),
        np.array([m for m, _, _ in masses]).reshape(n),
        np.array([c for _, c, _ in masses]).reshape(n, 3),
        np.array([i for _, _, i in masses]).reshape(n, 3, 3),
        np.asarray(model.gravity), body_link, joint_links,
    )  # fmt: skip
