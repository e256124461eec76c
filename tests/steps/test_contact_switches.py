"""Motions through touch-down and lift-off with error control: located switches, held steps, and what gradients are
worth."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.sensitivities.accuracy import accuracy_note, expected_accuracy
from mechgrad.simulation.simulate import simulate_again
from mechgrad.steps.runge_kutta.step import steps_taken

WRT = ["floor.stiffness", "floor.damping", "floor.radius", "ball.mass", "spring.stiffness", "start.velocity.free.wy"]
GOALS = [
    mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointVelocity("top.origin")),
    mg.AtEnd(mg.measures.PointPosition("top.origin")),
]
NUMBERS = {"sphere": (2e4, 0.3, 1.5), "wheel": (2e4, 0.3, 1.0), "tyre": (2e4, 0.2, 1.0)}


def hopper(kind: str = "sphere", *numbers: float) -> tuple[mg.Model, np.ndarray, np.ndarray]:
    """A spinning ball that is thrown on the floor, with a sprung mass on it."""
    ball = mg.Body("ball", 1.0, com=(0.01, 0.0, 0.005), inertia=(0.02, 0.025, 0.03))
    top = mg.Body("top", 0.5, inertia=(0.01, 0.01, 0.01))
    up, axle = mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "ball", (0, 1, 0))
    plane = "ground.origin", "up", *(numbers or NUMBERS[kind])
    floor: mg.forces.Force
    if kind == "sphere":
        floor = mg.forces.SphereContact("floor", "ball.origin", 0.2, *plane, 0.3, 0.05)
    elif kind == "wheel":
        floor = mg.forces.WheelContact("floor", "ball.origin", "axle", 0.2, *plane, 0.3, 0.05)
    else:
        floor = mg.forces.Tyre("floor", "ball.origin", "axle", 0.2, *plane, low_speed=0.5)
    spring = mg.forces.SpringDamper("spring", "ball.origin", "top.origin", 300.0, 0.5, 0.5)
    joints = [mg.Floating("free", "ground", "ball"), mg.Prismatic("rod", "ball", "top", axis=(0, 0.1, 1))]
    model = mg.Model("hopper", [ball, top], joints, vectors=[up, axle], forces=[floor, spring])
    q, v = model.neutral(), np.zeros(model.n_v)
    q[2], q[model.q_names.index("rod")] = 0.3, 0.52
    v[:5] = 0.7, 0.1, -0.8, 0.2, 1.5
    return model, q, v


def hop(kind: str = "sphere", rtol: float = 1e-8, numbers: tuple[float, ...] = ()) -> mg.Trajectory:
    model, q, v = hopper(kind, *numbers)
    return mg.simulate(model, mg.state(model, q, v), duration=0.35, scheme="dop853", samples=36, rtol=rtol, atol=rtol)


def gap(model: mg.Model, q: np.ndarray) -> np.ndarray:
    """Height of the sphere over the floor."""
    return np.asarray(mg.kinematics.marker_motion(model, ["ball.origin"], np.atleast_2d(q)).position[:, 0, 2] - 0.2)


def test_steps_lie_on_one_side_of_every_switch() -> None:
    motion = hop(numbers=(2e4, 0.0, 1.0))  # without damping contacts switch where the gap is zero
    path = steps_taken(motion.record)
    n_q = motion.model.n_q
    gaps = gap(motion.model, path[:, 2 : 2 + n_q])
    across = np.flatnonzero(gaps[:-1] * gaps[1:] < 0.0)
    assert len(across) == len(motion.events) >= 2
    # the steps that cross are shorter than a thousandth of the tolerance beside a usual step
    assert path[across, 1].max() < 1e-3 * 1e-8 * 0.35
    np.testing.assert_allclose(motion.events, path[across + 1, 0], rtol=0, atol=0)
    assert np.abs(gaps[across]).max() < 1e-11
    assert path[:, 1].max() > 1e-3


def test_a_switch_is_found_where_it_is() -> None:
    """Free fall from rest: touch-down after sqrt(2 h / g); a ball without damping leaves as fast as it came."""
    up = mg.Vector("up", "ground", (0, 0, 1))
    floor = mg.forces.SphereContact("floor", "ball.origin", 0.1, "ground.origin", "up", 3e4, 0.0, 1.0)
    joint = mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1))
    model = mg.Model("drop", [mg.Body("ball", 1.3)], [joint], vectors=[up], forces=[floor])
    motion = mg.simulate(model, [0.3], duration=0.7, scheme="dop853", rtol=1e-10, atol=1e-10)
    fall = np.sqrt(2 * 0.2 / 9.81)
    w, speed = np.sqrt(3e4 / 1.3), 9.81 * fall
    push = 2.0 / w * (np.pi - np.arctan(speed * w / 9.81))  # half a swing about the depth of rest, and a little more
    np.testing.assert_allclose(motion.events, [fall, fall + push, 3 * fall + push, 3 * fall + 2 * push], rtol=1e-9)


def test_a_push_that_damping_ends_is_a_switch() -> None:
    """A ball is torn off the floor: the push ends where 1 + damping d' = 0, still within the floor."""
    up, D = mg.Vector("up", "ground", (0, 0, 1)), 2.0
    floor = mg.forces.SphereContact("floor", "ball.origin", 0.1, "ground.origin", "up", 3e4, D, 1.0)
    joint = mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1))
    model = mg.Model("thrown", [mg.Body("ball", 1.3)], [joint], vectors=[up], forces=[floor])
    how = {"duration": 0.2, "scheme": "dop853", "rtol": 1e-9, "atol": 1e-9, "samples": 11}
    motion = mg.simulate(model, [0.06], tau=[200.0], **how)
    path = steps_taken(motion.record)
    (event,) = motion.events
    k = int(np.flatnonzero(path[:, 0] == event)[0])
    depth, rate = 0.1 - path[k, 2], -path[k, 3]
    assert depth > 1e-3
    assert 1.0 + D * rate == pytest.approx(0.0, abs=1e-11)
    assert (
        mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("z")), ["floor.damping", "ball.mass"]).certify().passed
    )


@pytest.mark.parametrize("kind", ["sphere", "wheel", "tyre"])
def test_gradients_through_contact_are_those_of_the_steps(kind: str) -> None:
    motion = hop(kind)
    assert len(motion.events) >= 2
    sums = "Integrals are sums over 246 instants" if kind == "wheel" else "Integrals are sums over "
    assert sums in str(mg.gradient(motion, GOALS, WRT))
    assert "Integrals" not in str(mg.gradient(motion, GOALS[1:], WRT))
    direct, adjoint = (mg.gradient(motion, GOALS, WRT, method=method) for method in ("direct", "adjoint"))
    exact = mg.gradient(motion, GOALS, WRT, method="complex")
    size = np.abs(exact.array).max(axis=0)
    assert size.min() > 1e-7
    np.testing.assert_allclose(direct.array / size, exact.array / size, atol=1e-9)
    np.testing.assert_allclose(adjoint.array / size, exact.array / size, atol=1e-9)
    if kind != "wheel":  # its integral is a sum over instants, with a kink where a switch passes one, as it does here
        assert direct.certify().passed


@pytest.mark.parametrize("numbers", [(2e4, 0.3, 1.5), (2e4, 0.3, 1.0)], ids=["1.5", "1"])
def test_gradients_are_as_good_as_the_motion(numbers: tuple[float, ...]) -> None:
    """Against central differences of motions with a ten thousandth of the tolerance: errors fall with the tolerance, as
    is expected of them. Integrals are left out: how many instants they see depends on the steps."""
    model, q, v = hopper("sphere", *numbers)
    name, h = "floor.stiffness", 2.0

    def values(change: float) -> np.ndarray:
        other = model.with_values({name: numbers[0] + change})
        motion = mg.simulate(
            other, mg.state(other, q, v), duration=0.35, scheme="dop853", samples=36, rtol=1e-13, atol=1e-13
        )
        return mg.gradient(motion, GOALS[1:], [name], method="direct").values

    reference = (8 * (values(h) - values(-h)) - values(2 * h) + values(-2 * h)) / (12 * h)
    size = np.abs(reference).max()
    assert numbers[0] * size > 1e-3
    for rtol in (1e-5, 1e-7, 1e-9):
        motion = hop(rtol=rtol, numbers=numbers)
        found = mg.gradient(motion, GOALS[1:], [name], method="direct").array[:, 0]
        expected = expected_accuracy(motion)
        assert expected is not None
        assert 300 * rtol < expected < 3000 * rtol
        assert np.abs(found - reference).max() < expected * size


@pytest.mark.parametrize("kind", ["sphere", "wheel"])
def test_steps_can_be_held(kind: str) -> None:
    motion = hop(kind)
    model, q, v = hopper(kind)
    again = simulate_again(motion, model, mg.state(model, q, v))
    assert again.steps == motion.steps
    for name in ("q", "v", "a", "events"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))
    other = model.with_values({"floor.stiffness": 2.002e4, "ball.mass": 1.001})
    held, free = (
        simulate_again(motion, other, mg.state(other, q, v)),
        mg.simulate(other, mg.state(other, q, v), duration=0.35, rtol=1e-8, atol=1e-8),
    )
    assert held.steps == motion.steps
    taken = steps_taken(motion.record)[:, :2]
    np.testing.assert_array_equal(steps_taken(held.record)[:, :2], taken)
    assert not np.array_equal(steps_taken(free.record)[:, :2], taken)
    # switches lie elsewhere now, within steps: less accurate, but the same motion
    change = np.abs(free.q[-1] - motion.q[-1]).max()
    assert change > 1e-5
    assert np.abs(held.q[-1] - free.q[-1]).max() < 0.5 * change


def test_differences_hold_the_steps_too() -> None:
    motion = hop()
    wrt = ["floor.stiffness", "ball.mass"]
    direct, differences = (mg.gradient(motion, GOALS, wrt, method=method).array for method in ("direct", "fd"))
    size = np.abs(direct).max(axis=0)
    # without the steps held, error control alone would change values by 1e-8, and differences by 1e-3 and more
    np.testing.assert_allclose(differences / size, direct / size, atol=1e-5)


def test_held_steps_of_a_loop() -> None:
    """Matrix R keeps its independent coordinates and rows too."""
    from mechgrad.gallery import five_bar, five_bar_start

    for formulation in (mg.formulations.Index1(), mg.formulations.MatrixR()):
        motion = mg.simulate(five_bar(), five_bar_start(), duration=0.2, formulation=formulation, samples=5)
        again = simulate_again(motion, five_bar(), mg.state(five_bar(), five_bar_start()))
        np.testing.assert_array_equal(again.q, motion.q)


def test_a_loop_that_hits_the_floor() -> None:
    """Projections after steps move a state a little: switches stay located, and repetitions on the steps."""
    from mechgrad.gallery import five_bar, five_bar_start

    plain, q = five_bar(), five_bar_start()
    points = [*plain.points, mg.Point("low", "ground", (0, -2.35, 0))]
    floor = mg.forces.SphereContact("floor", "P2", 0.1, "low", "up", 2e4, 0.1, 1.0, 0.2, 0.05)
    up = [mg.Vector("up", "ground", (0, 1, 0))]
    model = mg.Model(
        "hit", plain.bodies, plain.joints, points, up, gravity=plain.gravity, forces=[*plain.forces, floor]
    )
    start = mg.assemble(model, {"A": q[0], "1": q[1]}, guess=q)
    wrt = ["floor.stiffness", "A1.mass", "1.origin.x", "start.position.A"]
    found = []
    for rtol in (1e-7, 1e-11):
        motion = mg.simulate(model, start, duration=1.0, samples=5, rtol=rtol, atol=rtol)
        assert len(motion.events) == 4
        found.append(mg.gradient(motion, mg.AtEnd(mg.measures.PointPosition("P2")), wrt))
    assert found[0].certify(tolerance=1e-9).passed
    size = np.abs(found[1].array).max(axis=0)
    assert size.min() > 1e-7
    expected = expected_accuracy(found[0].motion)
    assert expected is not None
    np.testing.assert_allclose(found[0].array / size, found[1].array / size, atol=expected)


def gap_of_feet(model: mg.Model, q: np.ndarray) -> np.ndarray:
    return np.asarray(mg.kinematics.marker_motion(model, ["foot 0", "foot 1"], q[None]).position[0, :, 2] - 0.05)


def test_two_contacts_and_a_start_on_the_switch() -> None:
    """A plank on two feet, one of which touches where the motion starts."""
    up = mg.Vector("up", "ground", (0, 0, 1))
    feet = [mg.Point(f"foot {k}", "plank", (x, 0, 0)) for k, x in enumerate((-0.5, 0.6))]
    floors = [
        mg.forces.SphereContact(f"floor {k}", p.name, 0.05, "ground.origin", "up", 1e4, 0.1, 1.5)
        for k, p in enumerate(feet)
    ]
    plank = mg.Body("plank", 2.0, inertia=(0.1, 0.2, 0.2))
    joints = [
        mg.Prismatic("z", "ground", "slide", axis=(0, 0, 1)),
        mg.Revolute("y", "slide", "plank", axis=(0, 1, 0)),
    ]
    slide = mg.Body("slide", 0.1, inertia=(0.01, 0.01, 0.01))
    model = mg.Model("plank", [slide, plank], joints, points=feet, vectors=[up], forces=floors)
    q = np.array([0.05 + 0.5 * np.sin(0.1), -0.1])  # foot 0 at the height of its radius, foot 1 above
    assert gap_of_feet(model, q).tolist() == pytest.approx([0.0, 1.1 * np.sin(0.1)], abs=1e-16)
    motion = mg.simulate(model, q, duration=0.4, scheme="dop853", rtol=1e-8, atol=1e-8, samples=21)
    assert len(motion.events) >= 3
    found = mg.gradient(
        motion, mg.AtEnd(mg.measures.PointPosition("foot 1")), ["floor 0.stiffness", "floor 1.damping", "plank.mass"]
    )
    assert found.certify(tolerance=1e-8).passed


def test_models_without_contacts_report_no_events() -> None:
    from mechgrad.gallery import double_pendulum

    motion = mg.simulate(double_pendulum(), [1.0, 0.5], duration=0.2)
    assert motion.events.shape == (0,)
    assert "switch" not in accuracy_note(motion)


def test_more_switches_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from mechgrad.steps.runge_kutta import step as explicit

    events = hop().events
    monkeypatch.setattr(explicit, "SWITCHES", 1)
    np.testing.assert_array_equal(hop().events, events)
    assert len(events) > 1


def test_what_is_said_about_accuracy() -> None:
    model, q, v = hopper()
    fixed = mg.simulate(model, mg.state(model, q, v), duration=0.01, step=1e-3)
    assert expected_accuracy(fixed) is None
    assert "of 0.001 s; contacts switch within steps" in accuracy_note(fixed)
    motion = hop()
    text = accuracy_note(motion)
    assert "rtol = 1e-08" in text
    assert f"{len(motion.events)} switches of contacts located" in text
    assert f"{motion.events[0]:.6g}" in text
