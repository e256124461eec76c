"""What every joint transmits, in trees and in closed loops, and what forces deliver along a motion.

Cut joints transmit what the multipliers of their closure rows say, at the attachments of those rows; tree joints what
everything beyond them needs, with the forces of all rows (closures, constraints, force elements) as loads on bodies:

    cut joint     (f, m) = -sum over its rows of  lam (g, x cross g)      attachments on the child
    tree joint    `joint_reactions` with the loads  -y (g, x cross g)     of all rows y on all bodies beyond
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System, state_accelerations
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.reactions import AXES, JointReactions, joint_reactions
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.bodies import BodyMotion, body_motion
from mechgrad.model.joints import Joint
from mechgrad.model.joints.base import inverted
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Wrench = tuple[Array, Array]
"""Force and moment, (nt, 3) each."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Power:
    """Power over time, positive where it feeds the motion [W]:  d(kinetic + gravity)/dt = total.

    Attributes
    ----------
    laws : of all force elements together (springs, dampers, motors, contacts, ...)
    tau : of the constant generalized forces, tau . v
    loads : of the external loads
    constraints : of the constraints; only those that functions of time drive do any work

    >>> swing = simulate(model, [0.5], duration=1.0, tau=[2.0], samples=11)
    >>> power = swing.power()
    >>> bool(np.allclose(power.total, 2.0 * swing.v[:, 0])), float(abs(power.laws).max())
    (True, 0.0)
    """

    laws: Array
    tau: Array
    loads: Array
    constraints: Array

    @property
    def total(self) -> Array:
        """All of it."""
        return np.asarray(self.laws + self.tau + self.loads + self.constraints)


def state_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    axes: str = "world",
) -> JointReactions:
    """Force and moment at every joint of any mechanism in given states, closed loops included.

        M a + h + Gamma^T lam = Q        first, for accelerations and multipliers; then the balance of every body

    Parameters
    ----------
    q, v, t, tau, loads
        As in `state_accelerations`; loads are constant.
    axes : "world", "parent" or "child"
        In whose axes.

    Returns
    -------
    JointReactions
        All joints in the order of `model.joints`, cut or not: what the parent exerts on the child, about the joint's
        point on the child (its `child_origin`), with parent and child as the joint names them. That includes the
        forces of tau, motors and springs on the joint's own coordinates.

    The result does not depend on which joints are cut, wherever the equations of motion determine it. They do not where
    constraints are redundant: multipliers are then those of minimum norm. They never determine what rows transmit that
    hold in every configuration (`idle` in `mobility`: the out-of-plane rows of a planar loop). Those rows carry
    nothing by convention, so that a cut joint has no out-of-plane reactions and the tree joints have all of them; in a
    loop that lies in its plane, bodies and loads too, they vanish anyway.

    >>> state_reactions(model, [0.0]).of("pin")[0]
    array([ 0.  ,  0.  , 19.62])
    """
    if axes not in AXES:
        raise InputError(f"axes is {axes!r}; choose one of {', '.join(map(repr, AXES))}.")
    Q = np.atleast_2d(np.asarray(q))
    V = np.zeros((len(Q), model.n_v)) if v is None else np.atleast_2d(np.asarray(v))
    times = np.broadcast_to(np.asarray(t, float), (len(Q),))
    a, lam = state_accelerations(model, Q, V, t=times, tau=tau, loads=loads)
    system = System(model, tau, loads, dtype=complex if np.iscomplexobj(a) else None)
    force, moment = wrenches(system, Q, V, a, lam, times, model.joints, axes)
    if np.ndim(q) == 1:
        force, moment = force[0], moment[0]
    return JointReactions(model.joint_names, force, moment, axes)


def wrenches(
    system: System,
    q: Array,
    v: Array,
    a: Array,
    lam: Array,
    t: Array,
    joints: Sequence[Joint],
    axes: str,
    drives: Sequence[Load] = (),
) -> Wrench:
    """Force and moment of some joints, (nt, joints, 3) each, where accelerations and multipliers are known.

    drives : loads over time besides those of the system
    """
    model = system.model
    bodies = body_motion(model, q.astype(system.dtype), v, a)
    tree = None
    if any(joint.name not in model.cut for joint in joints):
        _, pushes = row_forces(system, q, v, a, lam, t)
        loads = [*system.loads, *drives, *_as_loads(model, bodies, pushes)]
        tree = joint_reactions(model.open_tree(), q, v, a, loads=loads)
    rows = closure_rows(model, system)
    forces: list[Array] = []
    moments: list[Array] = []
    for joint in joints:
        if tree is None or joint.name in model.cut:
            own = np.zeros_like(lam)
            own[:, rows[joint.name]] = lam[:, rows[joint.name]]
            _, closing = row_forces(system, q, v, a, own, t, laws=False)
            found = _through_cut(model, bodies, joint, closing)
        else:
            found = _through_tree(model, bodies, joint, tree)
        turn = joint_axes(bodies, {"world": "ground", "parent": joint.parent, "child": joint.child}[axes])
        for out, x in zip((forces, moments), found, strict=True):
            out.append(np.einsum("...ji,...j->...i", turn, x))
    return np.stack(forces, axis=-2), np.stack(moments, axis=-2)


def _as_loads(model: Model, bodies: BodyMotion, pushes: Array) -> list[Load]:
    """The forces of rows as loads at the origins of bodies, in world axes."""
    tree, loads = tree_of(model), []
    for body in model.body_names:
        force, moment = np.split(pushes[:, tree.body_atom[body]], 2, axis=-1)
        if force.any() or moment.any():
            loads.append(Load(body, force, moment - np.cross(bodies.of(body).p, force)))
    return loads


def closure_rows(model: Model, system: System) -> dict[str, Array]:
    """Which multipliers belong to which cut joint; closures come first among all rows."""
    found, first = {}, 0
    for joint in model.cut_joints:
        last = first + len(joint.closure())
        found[joint.name] = np.flatnonzero((system.rows >= first) & (system.rows < last))
        first = last
    return found


def _through_cut(model: Model, bodies: BodyMotion, joint: Joint, closing: Array) -> Wrench:
    """From what the joint's own rows do to its child, about its point there."""
    force, moment = np.split(closing[:, tree_of(model).body_atom[joint.child]], 2, axis=-1)
    return force, moment - np.cross(joint_point(bodies, joint), force)


def _through_tree(model: Model, bodies: BodyMotion, joint: Joint, tree: JointReactions) -> Wrench:
    """From the tree's balance; turned round where the tree runs from the joint's child to its parent."""
    force, moment = tree.of(joint.name)
    way = model.tree_joint(joint.name)
    if way.child == joint.child:
        return force, moment
    arm = joint_point(bodies, way) - joint_point(bodies, joint)
    return -force, -(moment + np.cross(arm, force))


def joint_point(bodies: BodyMotion, joint: Joint) -> Array:
    """The joint's point on the child, in the world."""
    child = bodies.of(joint.child)
    return np.asarray(child.p + child.R @ inverted(joint.tail())[1])


def joint_axes(bodies: BodyMotion, body: str) -> Array:
    """The axes of a body in the world, as columns."""
    return np.eye(3) if body == "ground" else bodies.of(body).R
