"""Gradients of weighted measures, as objectives ask for them, against complex steps through their values."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "sensitivities"))
import gradient_mechanisms as mechanisms

import mechgrad as mg
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.gallery import chain
from mechgrad.measures.base import Measure, product
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.repeat import samples_of

MADE = {}


def motion_of(name):
    if name not in MADE:
        model, start = {
            "five-bar": mechanisms.driven_five_bar,
            "slider-crank": mechanisms.spatial_slider_crank,
            "ball in the tree": lambda: mechanisms.spatial_slider_crank("slide"),
            "tree": mechanisms.forced_tree,
        }[name]()
        begin = mg.state(model, *start) if isinstance(start, tuple) else start
        MADE[name] = mg.simulate(model, begin, duration=0.004, step=1e-3)
    return MADE[name]


def compare(motion, measure, wrt=("*",), count=2, influence="qvp"):
    """All of `gradients` against complex steps along every coordinate and by every number of the model; rounding of
    sums of a few thousand terms is far below 1e-11."""
    at, parameters = samples_of(motion), Parameters(motion, list(wrt))
    W = np.random.default_rng(4).normal(size=(len(motion.t), count, measure.values(at)[0].size))

    class Everything(type(measure)):
        def depends_on(self, at, parameters):
            return parameters.in_model

    plain = Measure.partials(Everything(**vars(measure)), at, parameters)
    found = measure.gradients(at, parameters, W)
    for name in ("q", "v", "a", "lam", "p"):
        part, x = getattr(plain, name), getattr(found, name)
        if part is None:
            assert x is None or not np.any(x)
            continue
        expected = np.tensordot(W, part, ([0, 2], [0, 1])) if name == "p" else product(W, part)
        size = np.abs(expected).max(initial=0.0)
        assert size > 1e-4 or name not in influence
        np.testing.assert_allclose(np.zeros_like(expected) if x is None else x, expected, rtol=1e-9, atol=1e-11 * size)


FEW = ["S1.stiffness", "S1.free_length", "A1.mass", "A1.com.y", "A1.inertia.zz", "L_A1", "gravity.y", "B.origin.x",
       "B.child_origin.x", "1.child_origin.y", "A.axis.x", "2.orientation.z", "motor.torque.values.1",
       "rub.coulomb"]  # fmt: skip
CASES = [
    *(("five-bar", joint, axes, FEW) for joint, axes in
      (("A", "child"), ("1", "world"), ("2", "parent"), ("3", "child"), ("B", "world"), ("B", "child"))),
    ("slider-crank", "crank axis", "child", ["*"]), ("slider-crank", "B", "parent", ["*"]),
    ("slider-crank", "slide", "world", ["*.mass", "*.axis.*", "slide.*"]),
    ("ball in the tree", "C", "world", ["*"]), ("ball in the tree", "C", "child", ["C.*", "B.*", "*.mass"]),
    ("ball in the tree", "slide", "parent", ["*"]), ("ball in the tree", "B", "world", ["B.*", "*.com.*"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "joint", "axes", "wrt"), CASES, ids=[" ".join(case[:3]) for case in CASES])
def test_reactions_of_all_joints(name, joint, axes, wrt):
    """Cut or not, followed forwards or backwards by the tree, in all axes."""
    compare(motion_of(name), mg.measures.JointReaction(joint, axes), wrt)


def test_the_mechanisms_have_what_the_name_says():
    model = motion_of("ball in the tree").model
    assert model.cut == ("slide",)
    assert model.tree_joint("C").child != model.joint("C").child  # the tree follows it backwards


def test_reactions_in_a_tree_with_every_force():
    model = motion_of("tree").model
    hinge = next(joint.name for joint in model.joints if not isinstance(joint, mg.Floating))
    compare(
        motion_of("tree"), mg.measures.JointReaction(hinge, "child"), ["*.mass", "spring.*", "gravity.*", f"{hinge}.*"]
    )


@pytest.mark.parametrize("name", ["joint2", "joint40"])
def test_large_trees_ask_for_no_matrix(name, monkeypatch):
    """Reactions and energies with springs, and their gradients, run on the record without pairs of columns."""
    links = chain(60)
    hook, end = mg.Point("hook", "ground", (1.0, 0.5, 0.3)), mg.Point("end", "link50", (0.02, 0.01, 0.0))
    spring = mg.forces.SpringDamper("spring", "hook", "end", stiffness=50.0, free_length=0.2)
    model = mg.Model(
        "chain and spring", links.bodies, links.joints, [hook, end], gravity=links.gravity, forces=[spring]
    )
    motion = mg.simulate(model, np.linspace(-0.3, 0.2, 60), duration=0.004, step=1e-3, scheme="rk4")
    goals = [mg.AtEnd(mg.measures.JointReaction(name)), mg.Integral(mg.measures.PotentialEnergy())]
    wrt = ["link50.mass", "spring.stiffness", "start.position.joint45", "end.position.x", "gravity.z"]
    direct = mg.gradient(motion, goals, wrt, method="direct").array

    def refuse(system):
        raise AssertionError("a record of pairs")

    monkeypatch.setattr(System, "T", property(refuse))
    found = mg.gradient(motion, goals, wrt, method="adjoint").array
    assert np.all(np.abs(found).max(axis=0) > 1e-6)
    np.testing.assert_allclose(found, direct, rtol=1e-8, atol=1e-10 * np.abs(direct).max())


def test_more_sums_than_parameters():
    """Then parameters go one by one; the result is the same."""
    for measure in (
        mg.measures.JointReaction("1"),
        mg.measures.JointReaction("B"),
        mg.measures.KineticEnergy(),
        mg.measures.PotentialEnergy(),
    ):
        compare(motion_of("five-bar"), measure, ["S1.stiffness", "S1.free_length", "A1.mass", "L_A1", "gravity.y"], 9)


@pytest.mark.parametrize("name", ["five-bar", "ball in the tree", "tree"])
def test_energies(name):
    compare(motion_of(name), mg.measures.KineticEnergy())
    compare(motion_of(name), mg.measures.PotentialEnergy(), influence="qp")


@pytest.mark.parametrize("name", ["five-bar", "tree"])
def test_momenta(name):
    compare(motion_of(name), mg.measures.CentreOfMass(), influence="qp")
    compare(motion_of(name), mg.measures.Momentum())
    compare(motion_of(name), mg.measures.AngularMomentum())


def test_without_mass_there_is_no_centre():
    pin = mg.Revolute("pin", "ground", "rod")
    model = mg.Model("light", [mg.Body("rod", 0.0)], [pin])
    with pytest.raises(InputError, match="no mass together"):
        mg.measures.CentreOfMass().check_model(model, "goal")


FORCES = [
    ("five-bar", "S1", "qp"), ("five-bar", "rub", "vp"), ("ball in the tree", "S1", "qvp"), ("tree", "tyre", "qvp"),
    ("tree", "bushing", "qvp"), ("tree", "curve", "qvp"), ("tree", "wheel contact", "qvp"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "force", "influence"), FORCES)
def test_efforts(name, force, influence):
    wrt = ["*"] if name != "tree" else [f"{force}.*", "*.com.x", "spring.*", "*.position.*"]
    compare(motion_of(name), mg.measures.Effort(force), wrt, influence=influence)


def test_distances():
    compare(motion_of("five-bar"), mg.measures.Distance("P1", "P3"), influence="qp")
    compare(motion_of("tree"), mg.measures.Distance("ball.com", "wheel.com"), ["*.com.*", "*.origin.*"], influence="qp")


def test_knots_of_a_motor_at_once():
    knots = np.linspace(0.0, 0.3, 12)
    forces = [
        mg.forces.Motor("motor", "A", mg.functions.Spline(tuple(knots), tuple(np.cos(9.0 * knots)))),
        mg.forces.Motor("other", "1", mechanisms.SPLINE),
    ]
    model = mechanisms.linked_five_bar(forces=forces)
    motion = mg.simulate(model, mechanisms.held_five_bar(model, (0.4, -0.3)), duration=0.2, step=0.02)
    for wrt in (["motor.torque.values.*"], ["A1.mass", "motor.torque.values.*", "L_A1", "other.torque.values.*"]):
        compare(motion, mg.measures.Effort("motor"), wrt, influence="p")


def test_wrong_names_are_told():
    at = samples_of(motion_of("five-bar"))
    for measure in (
        mg.measures.JointReaction("C"),
        mg.measures.JointReaction("B", axes="body"),
        mg.measures.Effort("S3"),
    ):
        with pytest.raises((mg.InputError, mg.ModelError), match=r"choose|unknown"):
            measure.values(at)
