"""What every joint of any mechanism transmits, in trees and in closed loops.

Cut joints transmit what the multipliers of their closure rows say, at the attachments of those rows; tree joints what
everything beyond them needs, with the forces of all rows (closures, constraints, force elements) as loads on bodies:

    cut joint     (f, m) = -sum over its rows of  lam (g, x cross g)      attachments on the child
    tree joint    `inverse.reactions` with the loads  -y (g, x cross g)   of all rows y on all bodies beyond
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import RANK, System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load, loads_are_complex
from mechgrad.inverse.reactions import AXES, JointReactions
from mechgrad.inverse.reactions import joint_reactions as tree_reactions
from mechgrad.inverse.spatial import inverse_dynamics as tree_torques
from mechgrad.kinematics.batch import Batch, tree_of
from mechgrad.kinematics.bodies import BodyMotion, body_motion
from mechgrad.kinematics.mechanism import RowValues, evaluate_rows
from mechgrad.kinematics.open_trees import has_elements
from mechgrad.mechanics.accelerations import forward_dynamics, instants
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.joints import Joint
from mechgrad.model.joints.base import inverted
from mechgrad.model.joints.reversed import Reversed
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Wrench = tuple[Array, Array]
"""Force and moment, (nt, 3) each."""

MISSED = 1e-6  # of the largest terms of a row, at least of 1: what a motion may miss its constraints by


def joint_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    t: ArrayLike = 0.0,
    loads: Sequence[Load] | None = None,
    joints: Sequence[str] | None = None,
    axes: str = "world",
    method: str = "spatial",
    threads: int = 1,
) -> JointReactions:
    """Force and moment at each joint of any mechanism, closed loops included: of a given motion, or under given forces.

        the motion is given      a, zero if left out: joints drive it, each with what its own coordinates need
        the forces are given     tau: a and lam follow from  M a + h + Gamma^T lam = Q  (`forward_dynamics`)

    Parameters
    ----------
    q : (n_q,) or (nt, n_q);    v, a : (n_v,) or (nt, n_v), optional
        Coordinates, velocities, accelerations; zeros if left out.
    tau : (n_v,) or (nt, n_v), or 0, optional
        Generalized forces, instead of a: what a mechanism does by itself is tau=0.
    t : float or (nt,)
        Time [s], for drivers, motors and other functions of it.
    loads : list of Load, optional
        External loads, constant or one row per sample.
    joints : list of str, optional
        Which joints; all if left out, in the order of `model.joints`, cut or not.
    axes : "world", "parent" or "child"
        In whose axes. Parent and child are the bodies' axes.
    method : "spatial" or "newton-euler"
        The fast recursion, or that of the literature (trees of hinges and slides alone, no threads), brought to the
        same point and axes.
    threads : int
        For many samples of a tree without elements; other mechanisms take one.

    Returns
    -------
    JointReactions
        What the parent exerts on the child, about the joint's point on the child (its `child_origin`), with parent and
        child as the joint names them. That includes the forces of tau, motors and springs on the joint's own
        coordinates. Complex if an input is complex.

    The result does not depend on which joints are cut, wherever the equations of motion determine it. They do not where
    constraints are redundant: multipliers are then those of minimum norm. They never determine what rows transmit that
    hold in every configuration (`idle` in `mobility`: the out-of-plane rows of a planar loop). Those rows carry
    nothing by convention, so that a cut joint has no out-of-plane reactions and the tree joints have all of them; in a
    loop that lies in its plane, bodies and loads too, they vanish anyway.

    A given motion of closed loops can be driven in many ways. Here all coordinates of the tree drive it, with torques
    of least norm. What drives at known places belongs to tau, a `Motor` or a `Driver`.

    Raises
    ------
    InputError
        If both a and tau are given, or if a given motion misses a constraint, naming it.

    A 2 kg bob on a 1 m rod: at rest the pin carries its weight, held horizontally with a moment; released there, it
    carries nothing at first.

    >>> joint_reactions(model, [0.0]).of("pin")[0]
    array([ 0.  ,  0.  , 19.62])
    >>> joint_reactions(model, [np.pi / 2]).of("pin")[1].round(9)
    array([ 0.  , 19.62,  0.  ])
    >>> bool(abs(joint_reactions(model, [np.pi / 2], tau=0).force).max() < 1e-12)
    True
    """
    chosen = _chosen(model, joints, axes)
    lam = None
    if tau is not None:
        if a is not None:
            raise InputError("both a and tau are given; give the motion (a) or the forces that decide it (tau).")
        note_idle_gravity(model, tree_of(model))  # here, since a warning names the line that called this function
        given = np.zeros(model.n_v) if np.ndim(tau) == 0 and not np.any(tau) else tau  # type: ignore[arg-type]
        a, lam = forward_dynamics(model, q, v, given, t=t, loads=loads, return_multipliers=True)
    if not has_elements(model):
        names = [joint.name for joint in chosen]
        if model.cached("backwards", _backwards).isdisjoint(names):
            return tree_reactions(model, q, v, a, loads=loads, joints=names, axes=axes, method=method, threads=threads)
    elif method != "spatial":
        raise InputError(
            f"method is {method!r}; model {model.name!r} is more than a tree of bodies, for which there is 'spatial'."
        )
    complex_too = loads_are_complex(loads) or (lam is not None and np.iscomplexobj(lam))
    given_states = (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v))
    batch = Batch(model, given_states, also_complex=complex_too)
    if has_elements(model):
        force, moment = _of_mechanism(model, batch, lam, instants(t, batch.nt), list(loads or ()), chosen, axes)
    else:
        tree = tree_reactions(model, *batch.arrays, loads=loads, method=method, threads=threads)
        bodies = body_motion(model, batch.arrays[0])
        found = [_through_tree(model, bodies, joint, tree) for joint in chosen]
        force, moment = _turned(bodies, chosen, axes, found)
    if batch.single:
        force, moment = force[0], moment[0]
    return JointReactions(tuple(joint.name for joint in chosen), force, moment, axes)


def _backwards(model: Model) -> frozenset[str]:
    """Names of the joints that the tree passes from child to parent."""
    return frozenset(joint.name for joint in model.tree_joints if isinstance(joint, Reversed))


def _chosen(model: Model, joints: Sequence[str] | None, axes: str) -> list[Joint]:
    if axes not in AXES:
        raise InputError(f"axes is {axes!r}; choose one of {', '.join(map(repr, AXES))}.")
    if isinstance(joints, str):
        raise InputError(f"joints is the string {joints!r}; give a list of names: [{joints!r}].")
    if joints is not None:
        return [model.joint(name) for name in joints]
    return [joint for joint in model.joints if not (model.is_open and joint.name in model.cut)]


def _of_mechanism(
    model: Model, batch: Batch, lam: Array | None, t: FloatArray, loads: list[Load], joints: list[Joint], axes: str
) -> Wrench:
    q, v, a = batch.arrays
    system = System(model, dtype=complex if batch.dtype is complex else None)
    if lam is None:
        lam = _holding(system, q, v, a, t, loads)
    return wrenches(system, q, v, a, lam.reshape(batch.nt, -1), t, joints, axes, loads)


def _holding(system: System, q: Array, v: Array, a: Array, t: FloatArray, loads: list[Load]) -> Array:
    """Multipliers of a given motion, which the coordinates of the tree drive with torques of least norm.

    M a + h - Q + Gamma^T lam = tau,    |tau| least: lam = -(Gamma^T)^+ (M a + h - Q)
    """
    m, laws = system.n_constraints, system.n_rows
    none: Array = np.zeros((len(q), m), system.dtype)
    if not m:
        return none
    rows = evaluate_rows(system.T, q, v, a, t, 0, laws)
    _check_motion(system, rows, v, a)
    y, _ = row_forces(system, q, v, a, none, t)
    missing = tree_torques(system.model.open_tree(), q, v, a, loads=loads)
    missing = missing + np.einsum("tkj,tk->tj", rows.J[:, m:], y[:, m:])
    return -least_norm(rows.J[:, :m].swapaxes(1, 2), missing)


def _check_motion(system: System, rows: RowValues, v: Array, a: Array) -> None:
    """Raise unless a given motion meets the constraints at all levels."""
    m, h = system.n_constraints, system.n_holonomic
    J = np.abs(rows.J[:, :m].real)
    does = "mg.kinematics.solve_{} does that"
    levels = (
        ("value", rows.values[:, :h], np.ones((len(v), h)), "mg.assemble finds coordinates that meet it"),
        ("rate", rows.rates[:, :m], 1.0 + np.einsum("tkj,tj->tk", J, np.abs(v.real)), does.format("velocities")),
        (
            "second rate", rows.seconds[:, :m], 1.0 + np.einsum("tkj,tj->tk", J, np.abs(a.real)),
            does.format("accelerations") + "; give tau, such as tau=0, where forces are to decide the motion",
        ),
    )  # fmt: skip
    for what, found, size, help_ in levels:
        miss = np.abs(found.real) / size
        if miss.size and not miss.max() <= MISSED:
            sample, row = np.unravel_index(int(np.argmax(np.nan_to_num(miss, nan=np.inf))), miss.shape)
            raise InputError(
                f"the given motion does not meet constraint {system.names[row]!r} of model {system.model.name!r}: its "
                f"{what} is {found.real[sample, row]:.3g}{'' if len(v) == 1 else f' at sample {sample}'}, which should "
                f"be 0. {help_[0].upper()}{help_[1:]}."
            )


def least_norm(A: Array, b: Array) -> Array:
    """x (nt, m) of least norm among those that leave least of A x - b, for A (nt, n, m); safe for complex steps.

    d(A^+) = -A^+ dA A^+ + A^+ A^+T dA^T (1 - A A^+) + (1 - A^+ A) dA^T A^+T A^+            where the rank stays
    """
    P = np.linalg.pinv(A.real, rcond=RANK)

    def times(X: Array, y: Array) -> Array:
        return np.asarray(np.einsum("tij,tj->ti", X, y))

    x = times(P, b.real)
    if not (np.iscomplexobj(A) or np.iscomplexobj(b)):
        return x
    dA, PT, left = A.imag, P.swapaxes(1, 2), b.real - times(A.real, x)
    turned = times(dA.swapaxes(1, 2), times(PT, x))
    dx = times(P, b.imag - times(dA, x)) + times(P, times(PT, times(dA.swapaxes(1, 2), left)))
    return np.asarray(x + 1j * (dx + turned - times(P, times(A.real, turned))))


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
        tree = tree_reactions(model.open_tree(), q, v, a, loads=loads)
    rows = closure_rows(model, system)
    found = []
    for joint in joints:
        if tree is None or joint.name in model.cut:
            own = np.zeros_like(lam)
            own[:, rows[joint.name]] = lam[:, rows[joint.name]]
            _, closing = row_forces(system, q, v, a, own, t, laws=False)
            found.append(_through_cut(model, bodies, joint, closing))
        else:
            found.append(_through_tree(model, bodies, joint, tree))
    return _turned(bodies, joints, axes, found)


def _turned(bodies: BodyMotion, joints: Sequence[Joint], axes: str, found: Sequence[Wrench]) -> Wrench:
    """Wrenches of joints in the axes asked for, (nt, joints, 3) each."""
    forces: list[Array] = []
    moments: list[Array] = []
    for joint, wrench in zip(joints, found, strict=True):
        turn = joint_axes(bodies, {"world": "ground", "parent": joint.parent, "child": joint.child}[axes])
        for out, x in zip((forces, moments), wrench, strict=True):
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
