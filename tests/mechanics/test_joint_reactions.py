"""What joints transmit when the motion is given: balance with what drives it, any cut, complex steps, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import STEP, relative_error
from support.random_loops import random_linkage
from support.random_trees import random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.errors import AssemblyError
from mechgrad.gallery import bricard, double_pendulum, five_bar, five_bar_start, slider_crank


def driven_motion(model: mg.Model, state: mg.State, at: dict[str, float]) -> np.ndarray:
    """Accelerations that meet the constraints and are not those that forces alone would give."""
    return np.asarray(mg.kinematics.solve_accelerations(model, state.q, state.v, at))


def five_bar_motion() -> tuple[mg.Model, np.ndarray, np.ndarray, np.ndarray]:
    model = five_bar()
    state = mg.assemble(model, {"A": -2.3, "1": 1.7}, {"A": 1.1, "1": -0.7}, guess=five_bar_start())
    return model, state.q, state.v, driven_motion(model, state, {"A": 3.0, "1": -2.0})


def hinge_torques(model: mg.Model, found: mg.results.JointReactions) -> np.ndarray:
    """What the hinges of the tree do along their own axes, z: forces of springs between points are not in there."""
    return np.array([found.of(name).couple[2] for name in model.v_names])


def test_joints_of_a_given_motion_drive_it_with_the_least_torques() -> None:
    """The moments about the hinges, given as tau, lead to the accelerations again; no smaller ones do."""
    model, q, v, a = five_bar_motion()
    loads = [mg.Load("23", force=(3.0, -4.0, 0.0), point=(0.2, 0.1, 0.0))]
    found = mg.joint_reactions(model, q, v, a, loads=loads)
    tau = hinge_torques(model, found)
    assert np.abs(tau).max() > 1.0
    assert relative_error(mg.forward_dynamics(model, q, v, tau, loads=loads), a) < 1e-11
    # others that drive the same differ by Gamma^T y, so that the least ones have no part in it
    assert np.abs(mg.terms.constraint_terms(model, q).gamma @ tau).max() < 1e-11
    np.testing.assert_allclose(found.of("B").couple, 0.0, atol=1e-11)  # cut: it has no coordinate to drive
    again = mg.joint_reactions(model, q, v, tau=tau, loads=loads)
    assert again.names == found.names == model.joint_names
    for x, y in ((again.force, found.force), (again.couple, found.couple)):
        assert relative_error(x, y) < 1e-10
    alone = mg.joint_reactions(model, q, v, tau=0, loads=loads)
    assert np.abs(alone.force - found.force).max() > 1.0


def test_left_out_accelerations_are_zero() -> None:
    """A linkage that is held still, as a tree is."""
    model, q = five_bar(), five_bar_start()
    held, wanted = mg.joint_reactions(model, q), mg.joint_reactions(model, q, 0 * q, 0 * q)
    np.testing.assert_array_equal(held.force, wanted.force)
    assert np.abs(mg.forward_dynamics(model, q, tau=hinge_torques(model, held))).max() < 1e-11
    assert np.abs(mg.forward_dynamics(model, q)).max() > 1.0


def test_a_tree_with_springs_carries_them_besides_its_motion() -> None:
    """Against the same tree without the spring, whose force is a load on both bodies."""
    tree = random_tree(3, 5, massless=0.0)
    first, last = tree.bodies[1].name, tree.bodies[-1].name
    points = [mg.Point("P", first, (0.1, 0.2, -0.3)), mg.Point("Q", last, (-0.2, 0.1, 0.4))]
    spring = mg.forces.SpringDamper("spring", "P", "Q", 30.0, 2.0, 0.3)
    model = mg.Model("sprung", tree.bodies, tree.joints, points, gravity=tree.gravity, forces=[spring])
    q, v, a = random_state(tree, 3, 4)
    ends = mg.kinematics.marker_motion(model, ["P", "Q"], q, v)
    gap, rate = (x[:, 0] - x[:, 1] for x in (ends.position, ends.velocity))
    length = np.linalg.norm(gap, axis=1, keepdims=True)
    pull = (30.0 * (length - 0.3) + 2.0 * np.sum(gap * rate, axis=1, keepdims=True) / length) * gap / length
    loads = [mg.Load(first, -pull, point=points[0].position), mg.Load(last, pull, point=points[1].position)]
    for axes in ("world", "parent", "child"):
        found = mg.joint_reactions(model, q, v, a, axes=axes)
        wanted = mg.joint_reactions(tree, q, v, a, loads=loads, axes=axes)
        for x, y in ((found.force, wanted.force), (found.couple, wanted.couple)):
            assert relative_error(x, y) < 1e-12
        assert np.abs(wanted.force - mg.joint_reactions(tree, q, v, a, axes=axes).force).max() > 1.0
    some = mg.joint_reactions(model, q, v, a, joints=[tree.joint_names[3], tree.joint_names[0]])
    assert some.names == (tree.joint_names[3], tree.joint_names[0])
    np.testing.assert_allclose(some.force[:, 1], mg.joint_reactions(model, q, v, a).force[:, 0], rtol=1e-12, atol=1e-12)


def test_a_tree_that_runs_backwards_through_a_joint_reports_it_as_it_is_named() -> None:
    """Two ways to write one strut: what the piston exerts on the tube is the opposite of what the tube exerts."""
    bodies = [mg.Body(name, 1.0, (0.2, 0.1, 0.3), (0.1, 0.2, 0.3)) for name in ("tube", "piston")]
    pin = mg.Revolute("pin", "ground", "piston", child_origin=(0.4, 0, 0), axis=(0, 1, 0))
    # a hinge at one place of both bodies: about that point both ways have the same moment but for the sign
    named = mg.Revolute("strut", "tube", "piston", (0.1, 0, 0.2), child_origin=(0, 0.3, 0), axis=(1, 0, 1))
    turned = mg.Revolute("strut", "piston", "tube", (0, 0.3, 0), child_origin=(0.1, 0, 0.2), axis=(-1, 0, -1))
    one, other = (mg.Model("strut", bodies, [pin, strut]) for strut in (named, turned))
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, 4, 2))
    loads = random_loads(one, 3)
    for given in ({"a": a}, {"tau": a}):
        R, S = (mg.joint_reactions(model, q, v, loads=loads, **given) for model in (one, other))
        assert R.names == S.names == ("pin", "strut")
        for x, y in ((R.force, S.force), (R.couple, S.couple)):
            assert np.abs(x[:, 1]).max() > 1.0
            assert relative_error(x[:, 0], y[:, 0]) < 1e-12
            assert relative_error(x[:, 1], -y[:, 1]) < 1e-12
    parent, child = (mg.joint_reactions(m, q, v, a, axes=x) for m, x in ((one, "parent"), (other, "child")))
    assert relative_error(parent.force[:, 1], -child.force[:, 1]) < 1e-12


def test_samples_with_forces_of_their_own() -> None:
    """tau, loads and t sample by sample; the motion that follows, given, is another way to the same."""
    model, at = random_linkage(3, 4)
    states = [mg.assemble(model, {k: x + s for k, x in at.items()}, {"h0": 2.0 + s, "h1": -1.0}) for s in (0.0, 0.1)]
    q, v = np.array([x.q for x in states]), np.array([x.v for x in states])
    rng = np.random.default_rng(1)
    tau, force, t = rng.uniform(-2, 2, (2, 4)), rng.uniform(-5, 5, (2, 3)), np.array([0.07, 0.2])
    found = mg.joint_reactions(model, q, v, tau=tau, t=t, loads=[mg.Load("bar2", force, point=(0.2, 0.1, 0.3))])
    assert np.abs(found.force[1] - found.force[0]).max() > 1.0
    for k in range(2):
        loads = [mg.Load("bar2", force[k], point=(0.2, 0.1, 0.3))]
        one = mg.joint_reactions(model, q[k], v[k], tau=tau[k], t=t[k], loads=loads)
        assert relative_error(found.force[k], one.force) < 1e-11
        assert relative_error(found.couple[k], one.couple) < 1e-11


def test_complex_steps_pass_through_a_given_motion() -> None:
    """By a mass, which leaves the motion as it is: linear, so that one difference is exact but for rounding."""
    model, q, v, a = five_bar_motion()
    moved = mg.joint_reactions(model.with_values({"23.mass": 1.5 + 1j * STEP}), q, v, a)
    ends = [mg.joint_reactions(model.with_values({"23.mass": 1.5 + s}), q, v, a) for s in (0.5, -0.5)]
    for name in ("force", "couple"):
        wanted = getattr(ends[0], name) - getattr(ends[1], name)
        assert np.abs(wanted).max() > 0.5
        assert relative_error(getattr(moved, name).imag / STEP, wanted) < 1e-11


def test_redundant_rows_carry_least() -> None:
    """Bricard's linkage, left to itself, by its motion: multipliers of least norm either way."""
    model = bricard()
    motion = mg.simulate(model, model.neutral(), duration=0.3, samples=3, rtol=1e-11, atol=1e-11)
    q, v = motion.q[-1], motion.v[-1]
    a = mg.forward_dynamics(model, q, v)
    under, of = mg.joint_reactions(model, q, v, tau=0), mg.joint_reactions(model, q, v, a)
    assert np.abs(under.force).max() > 1.0
    assert relative_error(of.force, under.force) < 1e-8  # such a state closes its loops to about 1e-10
    assert relative_error(of.couple, under.couple) < 1e-8


def test_what_is_asked_wrongly_says_why() -> None:
    model, q, v, a = five_bar_motion()
    with pytest.raises(mg.InputError, match=r"both a and tau are given; give the motion \(a\) or the forces"):
        mg.joint_reactions(model, q, v, a, tau=0)
    with pytest.raises(AssemblyError, match=r"does not meet constraint 'B: point .'.* second rate is .*accelerations"):
        mg.joint_reactions(model, q, v)
    with pytest.raises(AssemblyError, match=r"state 1 does not meet .*its rate is .*solve_velocities"):
        mg.joint_reactions(model, [q, q], [v, v + 0.1 * np.eye(4)[0]], [a, a])
    with pytest.raises(AssemblyError, match=r"its value is .*assemble"):
        mg.joint_reactions(model, q + 0.1 * np.eye(4)[0], v, a)
    with pytest.raises(mg.InputError, match="driven is for a given motion; with tau"):
        mg.joint_reactions(model, q, v, tau=0, driven=["A"])
    with pytest.raises(mg.InputError, match="nothing drives a motion in which"):
        mg.joint_reactions(model, q, v, a, driven=["A"])
    with pytest.raises(mg.InputError, match="guess is for coordinates by name"):
        mg.joint_reactions(double_pendulum(), [0.1, 0.2], guess=[0.1, 0.2])
    with pytest.raises(mg.InputError, match="method is 'newton-euler'; it is for trees of bodies alone"):
        mg.joint_reactions(model, q, v, a, method="newton-euler")
    with pytest.raises(mg.ModelError, match="unknown joint 'knee'"):
        mg.joint_reactions(model, q, v, a, joints=["knee"])
    with pytest.raises(mg.InputError, match="give a list"):
        mg.joint_reactions(model, q, v, a, joints="A")
    with pytest.raises(mg.InputError, match="axes is 'body'"):
        mg.joint_reactions(model, q, v, a, axes="body")
    with pytest.raises(mg.InputError, match="tau has shape"):
        mg.joint_reactions(model, q, v, tau=1.0)
    crank = slider_crank()
    assert mg.joint_reactions(crank, mg.assemble(crank).q, tau=0, joints=["B"]).names == ("B",)
