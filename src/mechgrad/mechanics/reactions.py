"""What every joint of any mechanism transmits, in trees and in closed loops.

Cut joints transmit what the multipliers of their closure rows say, at the attachments of those rows; tree joints what
everything beyond them needs, with the forces of all rows (closures, constraints, force elements) as loads on bodies:

    cut joint     (m, f) = -sum over its rows of  lam (x cross g, g)      attachments on the child
    tree joint    `inverse.tree_reactions` with the loads  -y (x cross g, g)   of all rows y on all bodies beyond
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load, loads_are_complex
from mechgrad.inverse.tree_reactions import AXES, JointReactions
from mechgrad.inverse.tree_reactions import joint_reactions as tree_reactions
from mechgrad.kinematics.batch import Batch, tree_of
from mechgrad.kinematics.bodies import BodyMotion, body_motion
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.accelerations import forward_dynamics
from mechgrad.mechanics.checked_states import TOLERANCE, States, system_of
from mechgrad.mechanics.named import states_of
from mechgrad.mechanics.torques import Given, balanced, refuse_guess
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.joints import Joint
from mechgrad.model.joints.base import inverted
from mechgrad.model.joints.reversed import Reversed
from mechgrad.model.tree import Tree
from mechgrad.typing import Array, ArrayLike, Wrench

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def joint_reactions(
    model: Model, q: Given, v: Given | None = None, a: Given | None = None, *, tau: ArrayLike | None = None,
    t: ArrayLike = 0.0, loads: Sequence[Load] | None = None, driven: Sequence[str] | None = None,
    guess: ArrayLike | None = None, tolerance: float = TOLERANCE, joints: Sequence[str] | None = None,
    axes: str = "world", method: str = "spatial", threads: int = 1,
) -> JointReactions:  # fmt: skip
    """Couple and force at each joint of any mechanism, closed loops included: of a given motion, or under given forces.

        the motion is given      a, zero if left out: what is driven drives it (`inverse_dynamics`)
        the forces are given     tau: a and lam follow from  M a + h + Gamma^T lam = Q  (`forward_dynamics`)

    Parameters
    ----------
    q, v, a, t, loads, driven, guess, tolerance, threads
        As in `inverse_dynamics`.
    tau : (n_v,) or (nt, n_v), or 0, optional
        Generalized forces, instead of a: what a mechanism does by itself is tau=0.
    joints : list of str, optional
        Which joints; all if left out, in the order of `model.joints`, cut or not.
    axes : "world", "parent" or "child"
        In whose axes. Parent and child are the bodies' axes.
    method : "spatial" or "newton-euler"
        The fast recursion, or that of the literature (trees of hinges and slides alone, no threads).

    Returns
    -------
    JointReactions
        What the parent exerts on the child, about the joint's point on the child (its `child_origin`), with parent and
        child as the joint names them; `.couple` [N m], `.force` [N]. That includes the forces of tau, motors and
        springs on the joint's own coordinates. Complex if an input is complex.

    The result does not depend on which joints are cut, wherever the equations of motion determine it. They do not where
    constraints are redundant: multipliers are then those of minimum norm. They never determine what rows transmit that
    hold in every configuration (`idle` in `mobility`: the out-of-plane rows of a planar loop); those carry nothing, so
    that a cut joint has no out-of-plane reactions and the tree joints have all of them.

    A 2 kg bob on a 1 m rod: at rest the pin carries its weight, held horizontally with a couple, released with nothing.

    >>> joint_reactions(model, [0.0]).of("pin").force
    array([ 0.  ,  0.  , 19.62])
    >>> joint_reactions(model, [np.pi / 2]).of("pin").couple.round(9)
    array([ 0.  , 19.62,  0.  ])
    >>> bool(abs(joint_reactions(model, [np.pi / 2], tau=0).force).max() < 1e-12)
    True
    """
    chosen = chosen_joints(model, joints, axes)
    lam = None
    if tau is not None:
        note_idle_gravity(model, tree_of(model))  # here, since a warning names the line that called this function
        q, v, a, lam = _under(model, q, v, a, tau, t, loads, driven, guess)
    if not has_elements(model) and driven is None and not isinstance(q, Mapping):
        refuse_guess(guess)
        return _of_tree(model, q, v, a, loads, chosen, axes, method, threads)  # type: ignore[arg-type]
    if method != "spatial":
        raise InputError(
            f"method is {method!r}; it is for trees of bodies alone whose coordinates are all given and driven. "
            f"Leave it out for model {model.name!r}."
        )
    states = states_of(model, q, v, a, t, loads, None if tau is not None else guess)
    return _of_mechanism(model, states, lam, loads, driven, tolerance, chosen, axes)


def _under(
    model: Model, q: Given, v: Given | None, a: Given | None, tau: ArrayLike, t: ArrayLike,
    loads: Sequence[Load] | None, driven: Sequence[str] | None, guess: ArrayLike | None,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """The motion that given forces make: q, v, a and multipliers."""
    if a is not None:
        raise InputError("both a and tau are given; give the motion (a) or the forces that decide it (tau).")
    if driven is not None:
        raise InputError("driven is for a given motion; with tau the forces of all coordinates are given already.")
    states = states_of(model, q, v, None, t, loads, guess)
    given = np.zeros(model.n_v) if np.ndim(tau) == 0 and not np.any(tau) else tau  # type: ignore[arg-type]
    here, speed = states.shaped(states.q), states.shaped(states.v)
    times = states.t[0] if states.single else states.t
    found, lam = forward_dynamics(model, here, speed, given, t=times, loads=loads, return_multipliers=True)
    return here, speed, found, lam


def _of_tree(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, loads: Sequence[Load] | None,
    chosen: Sequence[Joint], axes: str, method: str, threads: int,
) -> JointReactions:  # fmt: skip
    """Of a tree of bodies alone; joints that the tree passes backwards are reported as they are named."""
    names = tuple(joint.name for joint in chosen)
    if backwards(model).isdisjoint(names):
        return tree_reactions(model, q, v, a, loads=loads, joints=names, axes=axes, method=method, threads=threads)
    given = (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v))
    batch = Batch(model, given, also_complex=loads_are_complex(loads))
    tree = tree_reactions(model, *batch.arrays, loads=loads, method=method, threads=threads)
    bodies = body_motion(model, batch.arrays[0])
    couple, force = _turned(bodies, chosen, axes, [_through_tree(model, bodies, joint, tree) for joint in chosen])
    if batch.single:
        couple, force = couple[0], force[0]
    return JointReactions(names, couple, force, axes)


def _of_mechanism(
    model: Model, states: States, lam: Array | None, loads: Sequence[Load] | None, driven: Sequence[str] | None,
    tolerance: float, chosen: Sequence[Joint], axes: str,
) -> JointReactions:  # fmt: skip
    """Of any mechanism whose accelerations are known; multipliers are those of `inverse_dynamics` unless given."""
    if lam is None:
        found = balanced(model, states, loads, driven, tolerance)
        system, lam = found.system, found.lam
    else:
        system = system_of(model, complex if np.iscomplexobj(lam) else states.dtype)
    count = len(states.q)
    couple, force = wrenches(
        system, states.q, states.v, states.a, lam.reshape(count, -1), states.t, chosen, axes, list(loads or ())
    )  # fmt: skip
    names = tuple(joint.name for joint in chosen)
    return JointReactions(names, states.shaped(couple), states.shaped(force), axes)


def backwards(model: Model) -> frozenset[str]:
    """Names of the joints that the tree passes from child to parent."""
    return model.cached(
        "backwards", lambda m: frozenset(joint.name for joint in m.tree_joints if isinstance(joint, Reversed))
    )


def chosen_joints(model: Model, joints: Sequence[str] | None, axes: str) -> list[Joint]:
    """The joints that a user named, all of them for None; raise for names and axes that there are not."""
    if axes not in AXES:
        raise InputError(f"axes is {axes!r}; choose one of {', '.join(map(repr, AXES))}.")
    if isinstance(joints, str):
        raise InputError(f"joints is the string {joints!r}; give a list of names: [{joints!r}].")
    if joints is not None:
        return [model.joint(name) for name in joints]
    return [joint for joint in model.joints if not (model.is_open and joint.name in model.cut)]


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
    """Couple and force of some joints, (nt, joints, 3) each, where accelerations and multipliers are known.

    drives : loads over time besides those of the system
    """
    model = system.model
    bodies = body_motion(model, q.astype(system.dtype), v, a)
    tree = None
    if any(joint.name not in model.cut for joint in joints):
        _, on_bodies = row_forces(system, q, v, a, lam, t)
        loads = [*system.loads, *drives, *_as_loads(model, bodies, on_bodies)]
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
    couples: list[Array] = []
    forces: list[Array] = []
    for joint, wrench in zip(joints, found, strict=True):
        turn = joint_axes(bodies, {"world": "ground", "parent": joint.parent, "child": joint.child}[axes])
        for out, x in zip((couples, forces), wrench, strict=True):
            out.append(np.einsum("...ji,...j->...i", turn, x))
    return Wrench(np.stack(couples, axis=-2), np.stack(forces, axis=-2))


def _as_loads(model: Model, bodies: BodyMotion, on_bodies: Array) -> list[Load]:
    """The forces of rows as loads at the origins of bodies, in world axes."""
    tree, loads = tree_of(model), []
    acted_on = np.atleast_1d(on_bodies.any(axis=(0, 2)))
    for body in model.body_names:
        if acted_on[tree.body_atom[body]]:
            couple, force = np.split(on_bodies[:, tree.body_atom[body]], 2, axis=-1)
            arm = bodies.of(body).R @ _atom_in_body(tree, body)
            loads.append(Load(body, force, couple + np.cross(arm, force)))
    return loads


def _atom_in_body(tree: Tree, body: str) -> Array:
    """Where the origin of the atom that carries a body is, in the body's frame."""
    return inverted(tree.body_tail[body])[1]


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
    tree = tree_of(model)
    couple, force = np.split(closing[:, tree.body_atom[joint.child]], 2, axis=-1)
    # by lengths of the body: differences of positions in the world lose digits far from its origin
    arm = bodies.of(joint.child).R @ (inverted(joint.tail())[1] - _atom_in_body(tree, joint.child))
    return Wrench(couple - np.cross(arm, force), force)


def _through_tree(model: Model, bodies: BodyMotion, joint: Joint, tree: JointReactions) -> Wrench:
    """From the tree's balance; turned round where the tree runs from the joint's child to its parent."""
    couple, force = tree.of(joint.name)
    way = model.tree_joint(joint.name)
    if way.child == joint.child:
        return Wrench(couple, force)
    arm = joint_point(bodies, way) - joint_point(bodies, joint)
    return Wrench(-(couple + np.cross(arm, force)), -force)


def joint_point(bodies: BodyMotion, joint: Joint) -> Array:
    """The joint's point on the child, in the world."""
    child = bodies.of(joint.child)
    return np.asarray(child.p + child.R @ inverted(joint.tail())[1])


def joint_axes(bodies: BodyMotion, body: str) -> Array:
    """The axes of a body in the world, as columns."""
    return np.eye(3) if body == "ground" else bodies.of(body).R
