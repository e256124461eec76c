"""Measures that are held, driven, or read from files, against closed forms and certificates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.model.primitives.rows import MEASURE_TYPES, POINT, Row

REACH = mg.measures.Distance("PB", "P2", name="reach")


def jib():
    """A boom of 2 m about a hinge; a cylinder from 1 m beside the hinge to 1.5 m along the boom."""
    boom = mg.Body("boom", 3.0, com=(1.0, 0.0, 0.0), inertia=(0.1, 1.0, 1.0))
    points = [mg.Point("foot", "ground", (1.0, 0.0, 0.0)), mg.Point("eye", "boom", (1.5, 0.0, 0.0))]
    vectors = [mg.Vector("flat", "ground", (2, 0, 0)), mg.Vector("beam", "boom", (1, 0, 0)),
               mg.Vector("axle", "ground", (0, -3, 0))]  # fmt: skip
    return boom, [mg.Revolute("pin", "ground", "boom", axis=(0, -1, 0))], points, vectors


def length(angle):
    """Of the cylinder, by the law of cosines."""
    return np.sqrt(1.0 + 1.5**2 - 3.0 * np.cos(angle))


def driven(measure, **how):
    boom, joints, points, vectors = jib()
    return mg.Model(
        "jib", [boom], joints, points, vectors, constraints=[mg.constraints.Driver("drive", measure, **how)]
    )


def test_a_driven_distance_lifts_a_jib():
    """The angle follows from the law of cosines, the force of the cylinder from the power that it gives."""
    model = driven(mg.measures.Distance("foot", "eye"), speed=0.2, start=1.2)
    motion = mg.simulate(model, mg.assemble(model, guess=[0.9]), duration=1.0, step=5e-3)
    np.testing.assert_allclose(length(motion.q[:, 0]), 1.2 + 0.2 * motion.t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.q[-1, 0], np.arccos((3.25 - 1.4**2) / 3.0), rtol=0, atol=1e-9)
    energy = motion.kinetic_energy() + motion.potential_energy()
    given = -motion.multipliers[:, 0] * 0.2
    work = np.concatenate([[0.0], np.cumsum(np.diff(motion.t) * (given[1:] + given[:-1]) / 2)])
    np.testing.assert_allclose(energy - energy[0], work, rtol=0, atol=1e-3)  # trapezoid
    assert work[-1] > 2.0


@pytest.mark.parametrize(
    ("measure", "start"),
    [
        (mg.measures.Angle("flat", "beam", "axle"), 0.9),
        (mg.measures.JointCoordinate("pin"), 0.9),
        (mg.measures.Offset("eye", "foot", (0, 0, 3)), 1.5 * np.sin(0.9)),
        (mg.measures.Height("eye", "foot", "beam"), 1.5 - np.cos(0.9)),
    ],
)
def test_other_measures_drive_as_well(measure, start):
    model = driven(measure, function=float(start))
    assert mg.assemble(model, guess=[0.8]).q[0] == pytest.approx(0.9, abs=1e-10)
    assert model == mg.Model.from_dict(model.to_dict())


def test_gradients_by_the_driver_are_certified():
    model = driven(mg.measures.Distance("foot", "eye"), speed=0.2, start=1.2)
    motion = mg.simulate(model, mg.assemble(model, guess=[0.9]), duration=0.2, step=0.01)
    goal = mg.AtEnd(mg.measures.JointCoordinate("pin"))
    wrt = ["drive.function.coefficients.0", "drive.function.coefficients.1", "foot.position.x", "eye.position.x"]
    found = mg.gradient(motion, goal, wrt)
    rate = length(motion.q[-1, 0]) / (1.5 * np.sin(motion.q[-1, 0]))  # dq / dlength
    np.testing.assert_allclose(found.array[0, :2], [rate, 0.2 * rate], rtol=1e-7)
    assert found.certify(tolerance=1e-7).passed


def test_a_driver_of_a_distance_travels_through_a_file(tmp_path):
    measure = mg.measures.Distance("foot", "eye", name="cylinder")
    model = driven(measure, speed=0.2, start=1.2)
    mg.save_model(model, tmp_path / "jib.toml")
    assert 'measure = "Distance"' in (tmp_path / "jib.toml").read_text()
    again = mg.load_model(tmp_path / "jib.toml")
    assert again == model
    assert again.constraints[0].coordinate == measure
    assert again.constraints[0].coordinate.label == "cylinder"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"measure": "Distanz", "of": ["foot", "eye"]}, "Distance"),
        ({"measure": "Distance", "of": ["foot"]}, "it takes point_a, point_b"),
        ({"measure": "Distance", "of": ["foot", 3]}, "must be a list of names"),
        ({"measure": "Distance", "from": ["foot", "eye"]}, "unknown key 'from'"),
        ({"measure": "Distance", "of": ["foot", "flat"]}, "'flat' is a vector, but a point is needed"),
        ({"measure": "Distance", "of": ["foot", "tip"]}, "unknown point 'tip'"),
    ],
)
def test_bad_entries_are_told(entry, message):
    with pytest.raises(mg.ModelError, match=message):
        driven(entry, function=1.0)


def test_a_measure_of_ones_own_drives_but_is_not_written():
    @dataclass(frozen=True)
    class Doubled(mg.measures.GeometricMeasure):
        """Twice the height of a point: a row of its own, read by drivers and objectives alike."""

        point: str = field(metadata={"refers": "point"})

        def row(self, where):
            return Row(POINT, (where(self.point), where("ground.origin")), direction=(0.0, 0.0, 2.0))

    model = driven(Doubled("eye"), function=2.0)
    state = mg.assemble(model, guess=[0.8])
    assert np.sin(state.q[0]) == pytest.approx(2.0 / 3.0, abs=1e-10)
    assert mg.gradient(state, Doubled("eye"), ["drive.function.value"]).array[0, 0] == pytest.approx(1.0, abs=1e-9)
    MEASURE_TYPES.pop("Doubled")  # as one that was made somewhere else
    with pytest.raises(mg.ModelError, match="a measure of your own, which a file cannot hold"):
        model.to_dict()


def test_a_held_distance_closes_a_five_bar():
    model = mg.gallery.five_bar()
    state = mg.assemble(model, {REACH: 1.9, "A": 0.2}, {REACH: 0.3, "A": 0.5})
    x = mg.kinematics.marker_motion(model, ["PB", "P2"], state.q, state.v)
    d, rate = x.position[0] - x.position[1], x.velocity[0] - x.velocity[1]
    assert np.sqrt(d @ d) == pytest.approx(1.9, abs=1e-11)
    assert d @ rate / 1.9 == pytest.approx(0.3, abs=1e-11)
    assert state.held == {"reach": 1.9, "A": 0.2}
    assert "reach = 1.9" in repr(state)


def test_a_start_with_a_held_distance_is_differentiated():
    model = mg.gallery.five_bar()
    start = mg.assemble(model, {REACH: 1.9, "A": 0.2}, {REACH: 0.3, "A": 0.5})
    motion = mg.simulate(model, start, duration=0.05, step=0.01)
    wrt = ["start.position.reach", "start.velocity.reach", "P2.position.y", "A1.mass"]
    found = mg.gradient(motion, {"now": mg.AtTime(0.0, REACH), "end": mg.AtEnd(REACH)}, wrt)
    np.testing.assert_allclose(found.array[0], [1.0, 0.0, 0.0, 0.0], rtol=0, atol=1e-9)
    assert np.abs(found.array[1]).min() > 1e-6
    assert found.certify(tolerance=1e-7).passed


def test_a_guided_motion_follows_a_distance():
    model = mg.gallery.five_bar()
    t = np.linspace(0.0, 0.2, 5)
    motion = mg.kinematic_motion(model, t, {REACH: 1.9 + 0.1 * t, "A": 0.2 + 0.0 * t})
    x = motion.markers(["PB", "P2"]).position
    np.testing.assert_allclose(np.linalg.norm(x[:, 0] - x[:, 1], axis=1), 1.9 + 0.1 * t, rtol=0, atol=1e-10)


def test_two_measures_of_one_name_are_not_mistaken():
    """What is remembered about held quantities goes by what they are, not by what they are called."""
    model = mg.gallery.five_bar()
    other = mg.measures.Distance("P1", "P3", name="reach")
    first = mg.assemble(model, {REACH: 1.9, "A": 0.2})
    second = mg.assemble(model, {other: 1.6, "A": 0.2})
    gap = mg.kinematics.marker_motion(model, ["P1", "P3"], second.q).position
    assert np.linalg.norm(gap[0] - gap[1]) == pytest.approx(1.6, abs=1e-10)
    assert np.abs(first.q - second.q).max() > 1e-2


def test_what_cannot_be_held_is_told():
    model = mg.gallery.five_bar()
    with pytest.raises(mg.ModelError, match="unknown point 'P9'"):
        mg.assemble(model, {mg.measures.Distance("P9", "P2"): 1.0})
    with pytest.raises(mg.InputError, match=r"or a measure such as mg\.measures\.Distance"):
        mg.assemble(model, {mg.measures.KineticEnergy(): 1.0})


def test_laws_read_angles():
    """A torsion spring by an angle is one by the coordinate that it is."""
    boom, joints, points, vectors = jib()

    def swing(measure):
        law = mg.forces.UserForce("law", [measure], lambda t, g, gd: 30.0 * (g - 0.4) + 0.5 * gd)
        model = mg.Model("jib", [boom], joints, points, vectors, forces=[law])
        return mg.simulate(model, {"pin": 0.9}, 0.5, step=5e-3).q

    by_angle = swing(mg.measures.Angle("flat", "beam", "axle"))
    np.testing.assert_allclose(by_angle, swing(mg.measures.JointCoordinate("pin")), rtol=0, atol=1e-10)
    assert np.ptp(by_angle) > 0.1


def test_motions_measure_and_plot():
    model = driven(mg.measures.Distance("foot", "eye"), speed=0.2, start=1.2)
    motion = mg.simulate(model, mg.assemble(model, guess=[0.9]), duration=0.1, step=0.01)
    cylinder = mg.measures.Distance("foot", "eye", name="cylinder")
    np.testing.assert_allclose(motion.measured(cylinder), 1.2 + 0.2 * motion.t, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(motion.measured(mg.measures.Multiplier("drive: drive")), motion.multipliers[:, 0])
    figure = motion.plot(cylinder, mg.measures.PointVelocity("eye"))
    assert [ax.get_title("left") for ax in figure.axes] == ["cylinder", "PointVelocity(eye)"]
    np.testing.assert_array_equal(figure.axes[1].lines[2].get_ydata(), motion.markers(["eye"]).velocity[:, 0, 2])
    guided = mg.kinematic_motion(model, [0.0, 0.1])
    assert guided.measured(cylinder)[1] == pytest.approx(1.22, abs=1e-10)
    for wrong in (mg.measures.Multiplier("drive: drive"), mg.measures.JointReaction("pin")):
        with pytest.raises(mg.InputError, match="belongs to motions that forces decide"):
            guided.measured(wrong)
    with pytest.raises(mg.InputError, match="is no measure"):
        motion.measured("cylinder")
