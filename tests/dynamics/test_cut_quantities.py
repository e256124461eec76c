"""Coordinates of cut joints, components of points and vectors, and measures: they carry motors, springs, friction and
drivers, are held, and are independent coordinates of Matrix R.

Oracles: the same mechanism with another joint cut, where the coordinate is one of the tree; complex steps and
differences (`certify`) for derivatives.
"""

from __future__ import annotations

import numpy as np
import pytest
import test_cut_joints as rings

import mechgrad as mg
from mechgrad.errors import MechgradError, ShapeError, ValueRangeError
from mechgrad.io.recipes import recipe_from_dict, recipe_to_dict
from mechgrad.kinematics.from_points import velocities_from_points
from mechgrad.simulation.run import march

COORDINATES = {
    mg.Revolute: ("tested",),
    mg.Prismatic: ("tested",),
    mg.Cylindrical: ("tested.distance", "tested.angle"),
    mg.Cardan: ("tested.angle1", "tested.angle2"),
    mg.Planar: ("tested.x", "tested.y", "tested.angle"),
}


def ring(kind, turned, cut):
    """A ring with a motor on the first coordinate of the joint under test, springs on all, friction in the last."""
    bare = rings.mechanism(kind, turned, 7, cut)
    names = COORDINATES[kind]
    forces = [mg.forces.Motor("motor", names[0], mg.functions.Harmonic(2.0, frequency=1.5, phase=0.4))]
    forces += [
        mg.forces.JointSpring(f"spring{k}", name, stiffness=30.0 + 7 * k, damping=0.4, free_position=0.2 - 0.15 * k)
        for k, name in enumerate(names)
    ]
    forces.append(mg.forces.JointFriction("friction", names[-1], coulomb=0.5, viscous=0.1, speed=0.2))
    return mg.Model("ring", bare.bodies, bare.joints, bare.points, forces=forces, cut=[cut])


@pytest.mark.parametrize("turned", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("kind", COORDINATES, ids=lambda kind: kind.__name__)
def test_forces_on_a_cut_joint_are_those_on_a_kept_one(kind, turned):
    kept, cut = (ring(kind, turned, name) for name in ("last", "tested"))
    q, q_cut = kept.neutral(), cut.neutral()
    v = rings.allowed_velocities(kept, q, 7)
    at = mg.kinematics.marker_motion(kept, rings.MARKERS, q, v)
    v_cut = velocities_from_points(cut, q_cut, dict(zip(rings.MARKERS, at.velocity, strict=True)))
    tight = {"duration": 0.3, "samples": 4, "rtol": 1e-11, "atol": 1e-11}
    first, second = (
        mg.simulate(kept, mg.state(kept, q, v), **tight), mg.simulate(cut, mg.state(cut, q_cut, v_cut), **tight)
    )  # fmt: skip
    np.testing.assert_allclose(
        second.markers(rings.MARKERS).position, first.markers(rings.MARKERS).position, rtol=0, atol=1e-8
    )
    for name in COORDINATES[kind]:
        angle = mg.measures.JointCoordinate(name)
        assert np.ptp(first.measured(angle)) > 1e-3  # it moves
        np.testing.assert_allclose(second.measured(angle), first.measured(angle), rtol=0, atol=1e-8)
    for force in kept.forces:
        ours, theirs = second.efforts(force.name), first.efforts(force.name)
        assert ours.units == theirs.units
        assert ours.rows == theirs.rows == ("coordinate",)
        np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-6)
        assert np.abs(ours.values).max() > 1e-2
    free = mg.simulate(rings.mechanism(kind, turned, 7, "tested"), mg.state(cut, q_cut, v_cut), **tight)
    assert np.abs(free.q[-1] - second.q[-1]).max() > 1e-3  # the forces matter


def dh_ring(cut):
    """A slider-crank whose hinge and slide are Denavit-Hartenberg rows, both with sign -1 and offsets."""
    bodies = [mg.Body(n, 1.0 + k, (-0.2, 0.05, 0), (0.02, 0.03, 0.04)) for k, n in enumerate(("crank", "rod", "block"))]
    joints = [
        mg.Revolute("A", "ground", "crank", axis=(0, 0, 1)),
        mg.drawing.DenavitHartenberg("B", "crank", "rod", theta=0.3, a=0.9, d=0.1, sign=-1),
        mg.Revolute("C", "rod", "block", origin=(0.0, 0, 0), axis=(0, 0, 1)),
        mg.Prismatic("D", "ground", "block", origin=(0, 0, 0.1), axis=(1, 0, 0)),
    ]
    forces = [mg.forces.JointSpring("spring", "B", stiffness=4.0, free_position=0.7, damping=0.1)]
    return mg.Model("slider-crank", bodies, joints, forces=forces, gravity=(0, -9.81, 0), cut=[cut])


def four_bar(cut="D", *, forces=True, extra=()):
    """A crank-rocker with forces on its last hinge, which is cut, on a distance, on an angle and on a point."""
    bodies = [mg.Body(n, 0.6 + 0.2 * k, (0.25, 0.02, 0.01), (0.01, 0.02, 0.03)) for k, n in enumerate("abc")]
    joints = [
        mg.Revolute("A", "ground", "a", axis=(0, 0, 1)),
        mg.Revolute("B", "a", "b", origin=(0.3, 0, 0), axis=(0, 0, 1)),
        mg.Revolute("C", "b", "c", origin=(0.9, 0, 0), axis=(0, 0, 1)),
        mg.Revolute("D", "ground", "c", origin=(0.8, 0, 0), child_origin=(0.7, 0, 0), axis=(0, 0, 1)),
    ]
    points = [mg.Point("P", "b", (0.5, 0.2, 0)), mg.Point("Q", "ground", (0.2, 1.1, 0))]
    vectors = [mg.Vector("ahead", "ground", (1, 0, 0)), mg.Vector("rod", "b", (1, 0.1, 0))]
    vectors.append(mg.Vector("up", "ground", (0, 0, 2)))
    acting = [
        mg.forces.Motor("motor", "D", mg.functions.Harmonic(1.5, frequency=0.7)),
        mg.forces.JointSpring("spring", "D", stiffness=3.0, damping=0.2, free_position=2.9),
        mg.forces.JointFriction("friction", "D", coulomb=0.3, viscous=0.05, speed=0.5),
        mg.forces.Motor("winch", mg.measures.Distance("P", "Q"), -2.0),
        mg.forces.TorsionSpring("coil", mg.measures.Angle("ahead", "rod", "up"), stiffness=1.2, free_angle=0.4),
        mg.forces.JointFriction("guide", "P.y", coulomb=0.4, speed=0.3),
    ]
    given = acting if forces else []
    return mg.Model("four-bar", bodies, joints, points, vectors, constraints=list(extra), forces=given, cut=[cut],
                    gravity=(0, -9.81, 0))  # fmt: skip


GUESS = [0.9, -0.5, -1.3]
NUMBERS = [
    "motor.torque.amplitude", "spring.stiffness", "spring.free_position", "friction.coulomb", "winch.torque.value",
    "coil.stiffness", "coil.free_angle", "guide.coulomb", "D.origin.x", "D.child_origin.y", "c.mass", "rod.direction.y",
    "P.position.x", "Q.position.y",
]  # fmt: skip
GOALS = [
    mg.Integral(lambda x, w: (x * x).sum(-1) + w**2, mg.measures.PointVelocity("P"), mg.measures.JointCoordinate("D")),
    mg.AtEnd(mg.measures.Angle("ahead", "rod", "up")),
]


def test_gradients_by_every_number_of_forces_on_measured_quantities():
    """Direct, adjoint, complex steps and differences, by implicit steps with multipliers."""
    model = four_bar()
    start = mg.assemble(model, {"A": 0.9}, {"A": 2.0}, guess=GUESS)
    motion = mg.simulate(model, start, 0.3, step=0.01)
    for goal in GOALS:
        g = mg.gradient(motion, goal, [*NUMBERS, "start.position.A"])
        assert g.certify(tolerance=1e-7).passed
        assert (np.abs(g.array) > 1e-7).all(), dict(zip(g.names, g.array[0], strict=True))


STRUT, TILT = mg.measures.Distance("P", "Q"), mg.measures.Angle("ahead", "rod", "up")


@pytest.mark.parametrize("independent", [["D"], [STRUT], [TILT], ["P.y"]], ids=str)
def test_measured_quantities_are_independent_coordinates(independent):
    """The same motion as in a joint's coordinate, but for the error of the scheme; its gradient is exact as it is."""
    model = four_bar()
    start = mg.assemble(model, {"A": 0.9}, {"A": 2.0}, guess=GUESS)
    form = mg.formulations.MatrixR(independent)
    short = {"duration": 0.2, "step": 1e-3}
    near, far = (mg.simulate(model, start, formulation=f, **short) for f in (form, mg.formulations.MatrixR(["A"])))
    np.testing.assert_allclose(near.q[-1], far.q[-1], rtol=0, atol=5e-5)
    motion = mg.simulate(model, start, 0.2, step=0.01, formulation=form)
    g = mg.gradient(motion, GOALS[0], [*NUMBERS, "start.position.A"])
    assert g.certify(tolerance=1e-7).passed
    again = recipe_from_dict(recipe_to_dict(motion.recipe))
    assert again.formulation == motion.recipe.formulation
    np.testing.assert_array_equal(march(again).q, motion.q)


def test_an_independent_angle_goes_round():
    """The crank's angle as one between two vectors: turn after turn, where its value jumps."""
    model = four_bar(forces=False)
    crank = [*model.vectors, mg.Vector("crank", "a", (1, 0, 0))]
    model = mg.Model("four-bar", model.bodies, model.joints, model.points, crank, cut=["D"], gravity=(0, -1.0, 0))
    start = mg.assemble(model, {"A": 0.9}, {"A": 12.0}, guess=GUESS)
    angle = mg.measures.Angle("ahead", "crank", "up")
    first, second = (
        mg.simulate(model, start, 1.5, step=0.005, formulation=mg.formulations.MatrixR([z])) for z in ("A", angle)
    )
    assert first.q[-1, 0] > 4 * np.pi
    np.testing.assert_allclose(second.q, first.q, rtol=0, atol=1e-8)


def test_held_and_driven_by_name():
    """A cut hinge is held at the start, driven by a constraint, and driven from outside."""
    model = four_bar(forces=False)
    start = mg.assemble(model, {"A": 0.9}, guess=GUESS)
    motion = mg.simulate(model, start, 0.01, step=0.01)
    angle = float(motion.measured(mg.measures.JointCoordinate("D"))[0])
    again = mg.assemble(model, {"D": angle}, {"D": 0.3}, guess=start.q + 0.05)
    np.testing.assert_allclose(again.q, start.q, atol=1e-9)
    way = mg.functions.Polynomial((angle, 0.3))
    driven = four_bar(forces=False, extra=[mg.constraints.Driver("drive", "D", way)])
    t = np.linspace(0.0, 0.5, 6)
    inside = mg.kinematic_motion(driven, t, guess=start.q)
    outside = mg.kinematic_motion(model, t, {"D": way}, guess=start.q)
    np.testing.assert_allclose(inside.q, outside.q, atol=1e-9)
    np.testing.assert_allclose(inside.measured(mg.measures.JointCoordinate("D")), angle + 0.3 * t, atol=1e-9)
    np.testing.assert_allclose(inside.driving()["drive"], outside.driving()["D"], rtol=1e-8, atol=1e-9)
    assert np.abs(outside.driving()["D"]).max() > 0.1
    for joint in ("A", "B", "C", "D"):
        mine, theirs = (m.reactions().of(joint).couple[:, 2] for m in (outside, inside))
        np.testing.assert_allclose(mine, theirs, atol=1e-8)


def test_what_drives_a_measure_from_outside_loads_its_bodies():
    """A strut that is driven by name gives the reactions of one that is a constraint."""
    strut, model = mg.measures.Distance("P", "Q"), four_bar(forces=False)
    start = mg.assemble(model, {"A": 0.9}, guess=GUESS)
    length = float(mg.simulate(model, start, 0.01, step=0.01).measured(strut)[0])
    way = mg.functions.Polynomial((length, 0.05))
    t = np.linspace(0.0, 0.4, 5)
    outside = mg.kinematic_motion(model, t, {strut: way}, guess=start.q)
    inside = mg.kinematic_motion(
        four_bar(forces=False, extra=[mg.constraints.Driver("oil", strut, way)]), t, guess=start.q
    )
    for joint in "ABCD":
        mine, theirs = (m.reactions().of(joint).force for m in (outside, inside))
        np.testing.assert_allclose(mine, theirs, atol=1e-8)
        assert np.abs(mine).max() > 1.0


def test_a_hinge_by_denavit_and_hartenberg():
    kept, cut = dh_ring("D"), dh_ring("B")
    q = mg.assemble(kept, {"A": 0.8}, guess=[0.8, 1.2, 0.5]).q
    angle = mg.measures.JointCoordinate("B")
    start = mg.assemble(cut, {"A": 0.8}, guess=[0.8, 0.1, 0.9])
    at = (
        mg.assemble(kept, {"A": 0.8, "C": float(start.q[1])}, guess=q)
        if False
        else mg.assemble(kept, {"A": 0.8}, guess=q)
    )
    motions = [mg.simulate(m, s, 0.2, rtol=1e-11, atol=1e-11, samples=3) for m, s in ((kept, at), (cut, start))]
    found = [m.measured(angle) for m in motions]
    np.testing.assert_allclose(np.cos(found[1] - found[0]), 1.0, atol=1e-12)


def test_files_hold_measures():
    model = four_bar(extra=[mg.constraints.Driver("drive", "P.x", mg.functions.Polynomial((0.5, 0.1)))])
    assert mg.Model.from_dict(model.to_dict()) == model


def test_names_that_are_no_quantity_are_refused():
    model = four_bar(forces=False)

    def with_motor(name, of=model):
        return mg.Model("m", of.bodies, of.joints, of.points, of.vectors, forces=[mg.forces.Motor("f", name, 1)],
                        cut=of.cut)  # fmt: skip

    ball = rings.mechanism(mg.Spherical, False, 7, "tested")
    slide = rings.mechanism(mg.Cylindrical, False, 7, "tested")
    with pytest.raises(ValueRangeError, match="no coordinate that could be measured"):
        with_motor("tested.e1", ball)
    with pytest.raises(ValueRangeError, match=r"more than one coordinate: tested.distance, tested.angle"):
        with_motor("tested", slide)
    with pytest.raises(MechgradError, match=r"f.*'P.w'.*Known: A, B, C, D, P.x"):
        with_motor("P.w")
    with pytest.raises(ShapeError, match="a measure that is one row"):
        with_motor(3)
    with pytest.raises(ShapeError, match="name of a coordinate"):
        mg.Model("m", model.bodies, model.joints, model.points, cut=["D"],
                 constraints=[mg.constraints.Gear("g", "A", mg.measures.Distance("P", "Q"), ratio=1)])  # fmt: skip
    with pytest.raises(MechgradError, match=r"more than one|cut to open a loop"):
        mg.Model("m", model.bodies, model.joints, cut=["D"], constraints=[mg.constraints.Gear("g", "A", "D", ratio=1)])
