"""Motions that drivers decide: what drives them, what their joints carry, energies, efforts and pictures."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start

TIMES = np.linspace(0.0, 0.4, 81)
CRANK = {"A": mg.functions.Harmonic(0.2, frequency=0.6, offset=-2.3), "1": mg.functions.Polynomial((1.768, 0.3, -0.8))}


def with_constraints(*constraints: mg.constraints.Constraint) -> mg.Model:
    m = five_bar()
    return mg.Model(m.name, m.bodies, m.joints, m.points, m.vectors, m.gravity, (), constraints, m.forces, m.cut)


def along_points() -> dict[str, mg.functions.Function]:
    x = mg.kinematics.marker_motion(five_bar(), ["P2"], five_bar_start()).position[0]
    return {"P2.x": mg.functions.Polynomial((x[0], 0.3, 0.5)), "P2.y": mg.functions.Polynomial((x[1], -0.4, 1.0))}


def drivers(at: dict[str, mg.functions.Function]) -> list[mg.constraints.Constraint]:
    if "A" in at:
        return [mg.constraints.Driver(f"drive {name}", name, f) for name, f in at.items()]
    return [mg.constraints.GuidedPoint("guide", "P2", x=at["P2.x"], y=at["P2.y"])]


@pytest.mark.parametrize("at", [CRANK, along_points()], ids=["coordinates", "a point"])
def test_reactions_and_drives_are_those_of_the_equations_of_motion(at):
    """The same drives as constraints of the model, where accelerations and multipliers follow from M a + h = Q."""
    free = mg.kinematic_motion(five_bar(), TIMES, at, guess=five_bar_start())
    model = with_constraints(*drivers(at))
    wanted = mg.joint_reactions(model, free.q, free.v, t=TIMES, tau=0)
    found = free.reactions()
    assert np.ptp(wanted.force, axis=0).max() > 5.0
    np.testing.assert_allclose(found.force, wanted.force, atol=1e-8)
    np.testing.assert_allclose(found.couple, wanted.couple, atol=1e-8)
    _, lam = mg.forward_dynamics(model, free.q, free.v, t=TIMES, return_multipliers=True)
    np.testing.assert_allclose(np.stack(list(free.driving().values()), axis=1), -lam[:, -2:], atol=1e-8)
    held = mg.kinematic_motion(model, TIMES, guess=five_bar_start())
    np.testing.assert_allclose(held.reactions().force, wanted.force, atol=1e-8)
    assert list(held.driving()) == (["drive A", "drive 1"] if "A" in at else ["guide: point x", "guide: point y"])
    np.testing.assert_allclose(
        np.stack(list(held.driving().values())), np.stack(list(free.driving().values())), atol=1e-8
    )


def test_drives_deliver_what_the_mechanism_gains():
    motion = mg.kinematic_motion(five_bar(), TIMES, CRANK, guess=five_bar_start())
    power = sum(motion.driving()[name] * motion.v[:, motion.model.v_names.index(name)] for name in CRANK)
    gained = np.ptp(motion.energy()[[0, -1]])
    assert gained > 0.5
    # Simpson's rule over 80 intervals of 5 ms, errors of the order h^4
    h = TIMES[1] - TIMES[0]
    work = h / 3 * (power[0] + 4 * power[1:-1:2].sum() + 2 * power[2:-2:2].sum() + power[-1])
    assert work == pytest.approx(motion.energy()[-1] - motion.energy()[0], abs=1e-6)


def test_loads_are_balanced_too():
    motion = mg.kinematic_motion(five_bar(), TIMES, CRANK, guess=five_bar_start())
    push = [mg.Load("A1", force=(7.0, 3.0, 0.0), point=(0.2, 0.1, 0.0))]
    model = with_constraints(*drivers(CRANK))
    _, lam = mg.forward_dynamics(model, motion.q, motion.v, t=TIMES, loads=push, return_multipliers=True)
    np.testing.assert_allclose(motion.driving(push)["A"], -lam[:, -2], atol=1e-8)
    assert np.abs(motion.driving(push)["A"] - motion.driving()["A"]).max() > 1.0
    wanted = mg.joint_reactions(model, motion.q, motion.v, t=TIMES, loads=push, tau=0)
    np.testing.assert_allclose(motion.reactions(loads=push).force, wanted.force, atol=1e-8)


def test_a_driven_vector_is_turned_from_outside():
    """A pendulum whose direction is held: the couple acts on the bob, the pin transmits no moment about its axis."""
    pin = mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))
    bob = mg.Body("bob", 2.0, (0, 0, -1.0))
    model = mg.Model("pendulum", [bob], [pin], vectors=[mg.Vector("rod", "bob", (0, 0, -2.0))])
    t = np.linspace(0.0, 1.0, 5)
    motion = mg.kinematic_motion(model, t, {"rod.x": mg.functions.Polynomial((-0.6, -0.3))}, guess=[0.3])
    turned = mg.kinematic_motion(model, t, {"pin": motion.q[:, 0]})
    assert abs(turned.reactions().of("pin").couple[:, 1]).max() > 1.0
    np.testing.assert_allclose(motion.reactions().of("pin").couple, 0.0, atol=1e-12)
    torque = 2.0 * motion.a[:, 0] + 19.62 * np.sin(motion.q[:, 0])
    # virtual work: the drive is the torque over d(rod.x)/d(pin)
    np.testing.assert_allclose(motion.driving()["rod.x"], torque / (-2.0 * np.cos(motion.q[:, 0])), rtol=1e-9)


def test_efforts_energies_and_pictures():
    motion = mg.kinematic_motion(five_bar(), TIMES, CRANK, guess=five_bar_start())
    assert np.ptp(motion.efforts("S1")["length"]) > 1.0
    spring = motion.model.force("S1")
    ends = mg.kinematics.marker_motion(motion.model, [spring.point_a, spring.point_b], motion.q).position
    length = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    np.testing.assert_allclose(
        motion.efforts("S1")["length"], spring.stiffness * (length - spring.free_length), rtol=1e-9
    )
    figure = motion.plot()
    assert [ax.get_title("left") for ax in figure.axes] == [
        "coordinates", "velocities", "energy", "constraints missed by",
    ]  # fmt: skip
    figure.canvas.draw()
    with pytest.raises(mg.InputError, match="axes is 'body'"):
        motion.reactions(axes="body")
