"""Reactions in the axes of the parent and of the child: the world's answer, turned by the poses of the bodies."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_trees import random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import slider_crank

CUTS = ("B", "C", "crank axis")


def axes_of(model, body, q):
    """R_WB at all instants."""
    turn = np.eye(3) if body == "ground" else mg.kinematics.body_motion(model, q).of(body).R
    return np.broadcast_to(turn, (len(q), 3, 3))


def check_turned(model, q, ask, joints):
    """Compare the three answers; returns how far parent and child axes change the numbers."""
    world = ask("world")
    changes = {}
    for axes in ("parent", "child"):
        found = ask(axes)
        assert found.axes == axes
        for joint in joints:
            turn = axes_of(model, getattr(joint, axes), q)
            for x, turned in zip(world.of(joint.name), found.of(joint.name), strict=True):
                wanted = np.array([R.T @ one for R, one in zip(turn, x, strict=True)])
                np.testing.assert_allclose(turned, wanted, rtol=0, atol=1e-12 * max(1.0, np.abs(x).max()))
                change = float(np.abs(turned - x).max())
                changes[joint.name, axes] = max(change, changes.get((joint.name, axes), 0.0))
    return changes


def moving(cut):
    """The spatial slider-crank for a tenth of a second, from 0.4 rad on."""
    model = slider_crank(cut=cut, axial_inertia=1e-3, spring=True)
    uncut = slider_crank(axial_inertia=1e-3, spring=True)
    start = mg.assemble(uncut, {"crank axis": 0.4}, {"crank axis": 3.0})
    at = mg.kinematics.marker_motion(uncut, ["PC"], start.q, start.v)
    held = ({"PC.x": at.position[0, 0]}, {"PC.x": at.velocity[0, 0]})
    if cut != "crank axis":
        held = ({"crank axis": 0.4}, {"crank axis": 3.0})
    return mg.simulate(model, mg.assemble(model, *held), duration=0.1, step=5e-3)


@pytest.mark.parametrize("cut", CUTS)
def test_trajectory_of_a_loop(cut):
    """The ball B hangs on the crank, which turns; cut, or traversed backwards, it still does."""
    motion = moving(cut)
    changes = check_turned(motion.model, motion.q, motion.reactions, motion.model.joints)
    for joint, axes in (("B", "parent"), ("B", "child"), ("C", "child"), ("crank axis", "child")):
        assert changes[joint, axes] > 0.1
    for joint in ("crank axis", "slide"):
        assert changes[joint, "parent"] == 0.0  # they stand on the ground


@pytest.mark.parametrize("cut", CUTS)
def test_states_of_a_loop(cut):
    """Many states and one."""
    motion = moving(cut)
    model, q, v = motion.model, motion.q[::5], motion.v[::5]
    check_turned(model, q, lambda axes: mg.joint_reactions(model, q, v, axes=axes, tau=0), model.joints)
    one = mg.joint_reactions(model, q[2], v[2], axes="parent", tau=0).of("B")
    many = mg.joint_reactions(model, q, v, axes="parent", tau=0).of("B")
    for x, y in zip(one, many, strict=True):
        np.testing.assert_allclose(x, y[2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [2, 5])
def test_states_of_a_tree(seed):
    """Of any joints, with loads: from inverse dynamics, and from the equations of motion."""
    model = random_tree(seed, 8)
    q, v, a = (np.array(x) for x in zip(*(random_state(model, seed + k) for k in range(3)), strict=True))
    loads = random_loads(model, seed)
    inverse = check_turned(
        model, q, lambda axes: mg.joint_reactions(model, q, v, a, loads=loads, axes=axes), model.joints
    )
    states = check_turned(
        model, q, lambda axes: mg.joint_reactions(model, q, v, loads=loads, axes=axes, tau=0), model.joints
    )
    for changes in (inverse, states):
        turned = [change for (name, axes), change in changes.items() if axes == "parent" and not_on_ground(model, name)]
        assert len(turned) > 4
        assert min(turned) > 0.1


def not_on_ground(model, name):
    return next(joint for joint in model.joints if joint.name == name).parent != "ground"
