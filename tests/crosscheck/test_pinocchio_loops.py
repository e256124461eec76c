"""Torques, multipliers and joint reactions of closed linkages against Pinocchio's constrained forward dynamics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from support.pinocchio_twin import Twin, se3

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start, slider_crank


@pytest.mark.parametrize("driven", [["A", "1"], ["A", "3"], ["A", "1", "2", "3"]])
def test_pinocchio_turns_the_torques_into_the_motion(driven):
    """The five-bar without springs; its last hinge holds a point in Pinocchio, whose third row is redundant in a
    plane and left to the proximal iteration."""
    model = five_bar(springs=False)
    at, rates, second = {"A": -2.2, "1": 1.6}, {"A": 0.7, "1": -1.1}, {"A": 2.0, "1": 1.3}
    state = mg.assemble(model, at, rates, guess=five_bar_start())
    a = mg.kinematics.solve_accelerations(model, state.q, state.v, second)
    tau = mg.inverse_dynamics(model, state.q, state.v, a, driven=driven)
    assert np.abs(tau).max() > 1.0

    tree = mg.Model("tree", model.bodies, model.joints[:4], gravity=model.gravity)
    twin, hinge = Twin(tree), model.joint("B")
    index, place = twin.frames["3B"]
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, twin.model, index, place * se3(None, hinge.child_origin), 0,
        se3(None, hinge.origin), pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    closures, data = [closure], [closure.createData()]
    pin.initConstraintDynamics(twin.model, twin.data, closures, data)
    settings = pin.ProximalSettings(1e-14, 1e-10, 100)

    def accelerations(torques):
        given = twin.theirs(state.q, state.v, torques)
        return pin.constraintDynamics(twin.model, twin.data, *given, closures, data, settings)[twin.order]

    np.testing.assert_allclose(accelerations(tau), a, atol=1e-8)
    assert np.abs(accelerations(0 * tau) - a).max() > 1.0  # torques matter


def four_bar():
    def rod(name, length):
        return mg.Body(name, 1.0 + length, (length / 2, 0.02, 0.03), (0.01, 0.02, 0.03))

    joints = [
        mg.Revolute("A", "ground", "crank"),
        mg.Revolute("B", "crank", "coupler", origin=(0.3, 0, 0.05)),
        mg.Revolute("D", "ground", "rocker", origin=(1.0, 0, 0.1)),
        mg.Revolute("C", "coupler", "rocker", origin=(0.9, 0, 0), child_origin=(0.8, 0, -0.05)),
    ]
    bodies = [rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.8)]
    return mg.Model("four-bar", bodies, joints, gravity=(0.5, -9.81, 0.7), cut=["C"])


# mechanism, joint that is cut, state, torque, a start for the assembly
LINKAGES = {
    "four-bar": (four_bar, "C", {"A": 0.7}, {"A": 1.3}, {"A": 5.0}, None),
    "five-bar": (
        lambda: five_bar(springs=False), "B", {"A": -2.2, "1": 1.6}, {"A": 0.7, "1": -1.1}, {"A": 3.0, "1": -2.0},
        five_bar_start(),
    ),
    "slider-crank": (slider_crank, "B", {"crank axis": 0.4}, {"crank axis": 3.0}, {"crank axis": 0.8}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKAGES)
def test_reactions_and_multipliers_of_closed_linkages(name):
    """Pinocchio: accelerations and the force in the closure by its constrained forward dynamics, then what its joints
    transmit by its inverse dynamics under that force. Ours: `joint_reactions` and `forward_dynamics`, with the force in
    the cut joint. Wrenches are compared in world axes, about the world's origin. Planar loops say nothing about forces
    out of the plane in a joint that is cut: there both leave it without."""
    make, cut, at, rates, pushed, guess = LINKAGES[name]
    model = make()
    state = mg.assemble(model, at, rates, guess=guess)
    tau = np.zeros(model.n_v)
    for coordinate, torque in pushed.items():
        tau[model.v_names.index(coordinate)] = torque
    ours = mg.joint_reactions(model, state.q, state.v, tau=tau)
    a, lam = mg.forward_dynamics(model, state.q, state.v, tau, return_multipliers=True)

    tree = mg.Model("tree", model.bodies, [model.joint(x.name) for x in model.tree_joints], gravity=model.gravity)
    twin, closing = Twin(tree), model.joint(cut)
    assert tree.v_names == model.v_names
    (one, on_one), (two, on_two) = twin.frames[closing.child], twin.frames[closing.parent]
    on_one, on_two = on_one * se3(None, closing.child_origin), on_two * se3(None, closing.origin)
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, twin.model, one, on_one, two, on_two, pin.ReferenceFrame.LOCAL
    )
    data = closure.createData()
    pin.initConstraintDynamics(twin.model, twin.data, [closure], [data])
    q, v, torques = twin.theirs(state.q, state.v, tau)
    settings = pin.ProximalSettings(1e-14, 1e-10, 100)
    theirs = pin.constraintDynamics(twin.model, twin.data, q, v, torques, [closure], [data], settings)
    np.testing.assert_allclose(theirs[twin.order], a, atol=1e-7 * np.abs(a).max())

    # the force on the child, in the closure's frame there; its opposite on the parent, at the same place
    force = pin.Force(np.array(data.contact_force.linear), np.zeros(3))
    external = [pin.Force.Zero() for _ in range(twin.model.njoints)]
    external[one] = on_one.act(force)
    world = twin.data.oMi[one].act(external[one])
    if two:
        external[two] = -twin.data.oMi[two].actInv(world)
    balance = pin.rnea(twin.model, twin.data, q, v, theirs, external)
    np.testing.assert_allclose(balance, torques, atol=1e-7 * np.abs(tau).max())  # signs and places are right

    points = {x.name: x for x in model.joints}
    size = np.abs(ours.force).max()
    motion = mg.kinematics.body_motion(model, state.q)
    for joint in points.values():
        couple, through = ours.of(joint.name)
        child = motion.of(joint.child)
        moment = couple + np.cross(child.p + child.R @ joint.child_origin, through)
        if joint.name == cut:
            expected = world
        else:
            index = next(k for k in range(1, twin.model.njoints) if twin.model.names[k] == f"{joint.name}/0")
            expected = twin.data.oMi[index].act(twin.data.f[index])
        np.testing.assert_allclose(through, expected.linear, atol=1e-7 * size)
        np.testing.assert_allclose(moment, expected.angular, atol=1e-7 * size)
        assert np.abs(through).max() > 1e-2 * size
    # rows of the closure are x' - x along world axes: multipliers resist, and the joint pushes with their opposite
    rows = [
        k for k, axis in enumerate("xyz") if f"{cut}: point {axis}" in mg.terms.constraint_terms(model, state.q).names
    ]
    np.testing.assert_allclose(-lam, world.linear[rows], atol=1e-7 * size)
