"""What force elements exert along motions, by name and with units; energies of springs in pictures."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import UnknownNameError

UP = [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "wheel", (0, 1, 0))]


def corner() -> mg.Model:
    """A wheel that travels up and down under a sprung mass, and is turned by a motor."""
    return mg.Model(
        "corner",
        [mg.Body("body", 300.0), mg.Body("carrier", 20.0), mg.Body("wheel", 15.0, inertia=(0.5, 0.9, 0.5))],
        [
            mg.Prismatic("ride", "ground", "body", (0, 0, 0.8), axis=(0, 0, 1)),
            mg.Prismatic("travel", "body", "carrier", (0, 0, -0.5), axis=(0, 0, 1)),
            mg.Revolute("spin", "carrier", "wheel", axis=(0, 1, 0)),
        ],
        vectors=UP,
        forces=[
            mg.forces.Motor("drive", "spin", 40.0),
            mg.forces.JointSpring("strut", "travel", 2e4, 1.5e3, free_position=-0.15),
            mg.forces.Tyre("tyre", "wheel.origin", "axle", 0.3, "ground.origin", "up", stiffness=2e5, damping=0.1),
        ],
    )


def settled() -> mg.Trajectory:
    model = corner()
    start = mg.equilibrium(model, [-0.15, 0.0, 0.0], at={"spin": 0.0})
    return mg.simulate(model, start, duration=0.05, samples=6)


def test_tyre_has_named_rows_with_units():
    motion = settled()
    tyre = motion.efforts("tyre")
    assert tyre.rows == ("height", "slip along", "slip across", "advance")
    assert tyre.units == ("N",) * 4
    assert tyre.values.shape == (6, 4)
    weight = 335.0 * 9.81
    assert tyre.push("height")[0] == pytest.approx(weight, rel=1e-9)
    np.testing.assert_array_equal(tyre["height"], -tyre.push("height"))
    assert abs(tyre["slip along"][-1]) > 1.0  # the motor turns the wheel
    np.testing.assert_array_equal(tyre["slip along"], tyre.values[:, 1])
    with pytest.raises(UnknownNameError, match="height"):
        tyre["hight"]


def test_springs_and_motors_know_hinges_from_sliders():
    motion = settled()
    strut, drive = motion.efforts("strut"), motion.efforts("drive")
    assert (strut.rows, strut.units) == (("coordinate",), ("N",))
    travel, rate = motion.q[:, 1], motion.v[:, 1]
    np.testing.assert_allclose(strut["coordinate"], 2e4 * (travel + 0.15) + 1.5e3 * rate, rtol=1e-12)
    assert strut["coordinate"][0] == pytest.approx(300.0 * 9.81, rel=1e-9)  # travel presses the body up
    assert (drive.units, drive.push("coordinate")[2]) == (("N m",), 40.0)
    assert "Motor 'drive' over 6 instants: coordinate -40 to -40 N m" in repr(drive)
    with pytest.raises(UnknownNameError, match="strut"):
        motion.efforts("strutt")


def test_rows_are_those_of_the_measure():
    motion = settled()
    for force in ("drive", "strut", "tyre"):
        at_end = mg.gradient(motion, mg.AtEnd(mg.measures.Effort(force)), ["body.mass"]).values
        np.testing.assert_allclose(motion.efforts(force).values[-1], at_end, rtol=1e-12)


def test_bushings_have_forces_and_moments():
    body = mg.Body("b", 1.0, inertia=(1.0, 1.0, 1.0))
    mount = mg.forces.Bushing(
        "mount", "ground.origin", "b.origin", (5.0, 6.0, 7.0), rotational_stiffness=(1.0, 2.0, 3.0)
    )
    model = mg.Model("mounted", [body], [mg.Floating("free", "ground", "b")], forces=[mount])
    found = mg.simulate(model, {"free.x": 0.1}, duration=0.01, step=0.01).efforts("mount")
    assert found.units == ("N",) * 3 + ("N m",) * 3
    assert found["displacement x"][0] == pytest.approx(0.5)


def test_many_starts_have_efforts():
    spring = mg.forces.JointSpring("spring", "pin", 5.0)
    pin = mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))
    model = mg.Model("sprung", [mg.Body("bob", 2.0, (0, 0, -1.0))], [pin], forces=[spring])
    motion = mg.simulate(model, [[0.1], [0.2], [0.3]], duration=0.1, step=0.05)
    found = motion.efforts("spring")
    assert found.values.shape == (3, 3, 1)
    np.testing.assert_allclose(found["coordinate"], 5.0 * motion.q[..., 0], rtol=1e-12)


def test_pictures_show_the_energy_of_springs_beside_the_sum():
    motion = settled()
    energy = next(ax for ax in motion.plot().axes if ax.get_ylabel() == "energy [J]")
    lines = {line.get_label(): line.get_ydata() for line in energy.lines}
    assert [name.split(",")[0] for name in lines] == ["kinetic", "gravity", "springs", "sum"]
    np.testing.assert_allclose(lines["springs"], 1e4 * (motion.q[:, 1] + 0.15) ** 2, rtol=1e-12)
    energy = motion.energy()
    offset = energy[0] - lines["sum"][0]  # of heights, as the label of gravity says
    np.testing.assert_allclose(lines["sum"] + offset, energy, rtol=1e-12)
    assert list(lines)[1] == f"gravity, less {offset:.4g} J"
    assert lines["springs"][0] > 100.0
