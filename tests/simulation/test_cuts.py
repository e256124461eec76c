"""Implicit steps that fail at a hard touch-down are taken in shorter ones, noted, and differentiated as taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.dead_points import rockers

import mechgrad as mg
from mechgrad.simulation.trajectory import StepFailed

STEP, DURATION = 1e-3, 0.12
WRT = ["tyre.stiffness", "tyre.damping", "tyre.radius", "hub.mass", "spring.stiffness", "start.velocity.rod"]
GOALS = {
    "path": mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointVelocity("body.origin")),
    "end": mg.AtEnd(mg.measures.PointPosition("hub.origin")),
}


def corner(*, led: bool = False, stiffness: float = 2e6) -> tuple[mg.Model, np.ndarray, np.ndarray]:
    """A rolling wheel that is dropped on the road, with a sprung body above it; led by a rod on the ground or not."""
    hub = mg.Body("hub", 1.0, com=(0.01, 0.0, 0.005), inertia=(0.02, 0.025, 0.03))
    body = mg.Body("body", 0.5, inertia=(0.01, 0.01, 0.01))
    post = mg.Point("post", "ground", (-0.6, 0.0, 0.3))
    up, axle = mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "hub", (0, 1, 0))
    tyre = mg.forces.Tyre("tyre", "hub.origin", "axle", 0.2, "ground.origin", "up", stiffness, 0.3, low_speed=0.5)
    spring = mg.forces.SpringDamper("spring", "hub.origin", "body.origin", 300.0, 0.5, 0.5)
    joints = [mg.Floating("free", "ground", "hub"), mg.Prismatic("rod", "hub", "body", axis=(0, 0.1, 1))]
    model = mg.Model(
        "corner", [hub, body], joints, points=[post], vectors=[up, axle], forces=[tyre, spring],
        constraints=[mg.constraints.FixedDistance("leader", "hub.origin", "post", 0.6)] if led else [],
    )  # fmt: skip
    q, v = model.neutral(), np.zeros(model.n_v)
    q[2], q[model.q_names.index("rod")] = 0.3, 0.52
    v[:5] = 0.0 if led else 0.7, 0.1, -0.8, 0.2, 1.5
    return model, q, v


def dropped(led: bool = False, **options: object) -> mg.Trajectory:
    model, q, v = corner(led=led)
    more = {"duration": DURATION, "step": STEP, "scheme": "hht"} | options
    return mg.simulate(model, mg.state(model, q, v), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("led", [False, True])
def test_steps_that_fail_are_divided_and_noted(led: bool) -> None:
    motion = dropped(led)
    assert motion.ended == "duration"
    assert motion.steps == 120
    assert motion.cuts
    assert all(0.08 < cut.t < 0.11 and cut.length == STEP and cut.parts > 1 for cut in motion.cuts)
    assert f"120 steps, {len(motion.cuts)} of them divided (.cuts)" in repr(motion)
    in_the_air = dropped(led, duration=0.08)
    assert not in_the_air.cuts
    assert "divided" not in repr(in_the_air)
    early = replace(in_the_air.record, ended="at its start")
    nothing = replace(in_the_air, t=in_the_air.t[:0], q=in_the_air.q[:0], record=early)
    assert "0 instants, n_q" in repr(nothing)
    # the motion itself, as well as steps of this length can tell: the wheel is on the road for two of them
    exact, finer = (
        dropped(led, step=None, scheme="dop853", samples=121, rtol=1e-9, atol=1e-9),
        dropped(led, step=STEP / 8),
    )
    error, less = (np.abs(q - exact.q).max() for q in (motion.q, finer.q[::8]))
    assert error < 0.1 * np.abs(exact.q - exact.q[0]).max()
    assert less < error / 6


def test_the_time_of_the_start_is_that_of_the_cuts() -> None:
    first, later = dropped(), dropped(t0=2.5)
    assert [cut.parts for cut in later.cuts] == [cut.parts for cut in first.cuts]
    np.testing.assert_allclose([cut.t - 2.5 for cut in later.cuts], [cut.t for cut in first.cuts], atol=1e-12)
    np.testing.assert_allclose(later.q, first.q, rtol=0, atol=1e-9)  # nothing here changes in time


def test_few_samples_report_the_same_motion() -> None:
    whole, few = dropped(), dropped(samples=13)
    assert few.cuts == whole.cuts
    np.testing.assert_allclose(few.q, whole.q[::10], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(few.iterations[1:] > 0, True)


@pytest.mark.parametrize("led", [False, True])
@pytest.mark.parametrize("samples", [None, 13])
def test_gradients_are_those_of_the_steps_taken(led: bool, samples: int | None) -> None:
    wrt = WRT[:-1] if led else WRT  # a start that constraints hold has no free numbers
    motion = dropped(led, samples=samples)
    assert motion.cuts
    exact = mg.gradient(motion, GOALS, wrt, method="complex")
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, GOALS, wrt, method=method)
        size = np.abs(exact.array).max(axis=0)
        assert np.all(size > 0.0)  # everything has an influence
        assert np.all(np.abs(found.array - exact.array) < 1e-8 * size), method


def test_a_stop_within_a_divided_step() -> None:
    whole = dropped()
    cut = whole.cuts[0]
    middle = cut.t + 0.4 * cut.length
    stopped = dropped(stop=lambda t, q, v: t - middle)
    assert stopped.ended == "stop"
    assert stopped.t[-1] == pytest.approx(middle, abs=1e-12)
    assert np.all(np.isfinite(stopped.q))


def test_a_law_that_cannot_be_satisfied_ends_the_motion() -> None:
    """The hole of a force without end is met by no step, however short."""
    joint = mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1))
    wall = mg.forces.UserForce(
        "wall", [mg.measures.JointCoordinate("z")], lambda t, g, gd: np.where(g.real < 0.2, np.nan, 0.0 * g)
    )
    model = mg.Model("drop", [mg.Body("ball", 1.3)], [joint], forces=[wall])
    with pytest.raises(StepFailed, match=r"ends at t = 0\.14") as caught:
        mg.simulate(model, [0.3], duration=0.3, step=1e-3, scheme="trapezoidal")
    assert caught.value.trajectory.t[-1] == pytest.approx(0.142, abs=1.1e-3)  # sqrt(2 0.1 / 9.81)


def knocking(floor: float = -0.88) -> tuple[mg.Model, mg.State]:
    """Rockers, all of whose coordinates turn back on the way, that knock against a floor with friction."""
    plain, start = rockers()
    knock = mg.forces.SphereContact("knock", "P", 0.05, "floor", "up", 2e7, 0.3, friction=0.4, slip_speed=1e-3)
    model = mg.Model(
        "knocking", plain.bodies, plain.joints, [*plain.points, mg.Point("floor", "ground", (0.0, floor, 0.0))],
        [mg.Vector("up", "ground", (0, 1, 0))], gravity=plain.gravity, forces=[knock],
    )  # fmt: skip
    return model, mg.assemble(model, {"A": 0.4}, {"A": 2.0}, guess=start.q)


def knocked(**options: object) -> mg.Trajectory:
    model, start = knocking()
    more = {"duration": 2.0, "step": 4e-3, "scheme": "hht", "formulation": "matrix-r"} | options
    return mg.simulate(model, start, **more)  # type: ignore[arg-type]


def test_matrix_r_divides_steps_and_goes_on_choosing() -> None:
    motion = knocked()
    assert motion.ended == "duration"
    assert motion.cuts
    # coordinates were chosen anew before and after a divided step
    changes = [chosen.t for chosen in motion.choices[1:]]
    assert min(changes) < motion.cuts[0].t < max(changes)
    same = knocked(formulation="ali3p")
    assert np.abs(motion.q - same.q)[motion.t <= motion.cuts[0].t + 0.01].max() < 0.05  # order two, and a hard knock
    few = knocked(samples=51)
    assert few.cuts == motion.cuts
    np.testing.assert_allclose(few.q, motion.q[::10], rtol=0, atol=1e-8)
    assert [c.independent for c in few.choices] == [c.independent for c in motion.choices]


@pytest.mark.parametrize("samples", [None, 51])
def test_gradients_of_matrix_r_are_those_of_the_steps_taken(samples: int | None) -> None:
    motion = knocked(samples=samples)
    goals = [mg.AtEnd(mg.measures.JointCoordinate("A")), mg.Integral(mg.measures.KineticEnergy())]
    wrt = ["crank.mass", "knock.stiffness", "P.position.y", "gravity.y", "B.origin.x"]
    exact = mg.gradient(motion, goals, wrt, method="complex")
    size = np.abs(exact.array).max(axis=0)
    assert np.all(size > 0.0)
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, goals, wrt, method=method)
        assert np.all(np.abs(found.array - exact.array) < 1e-7 * size), method


def test_matrix_r_stops_within_a_divided_step() -> None:
    cut = knocked().cuts[0]
    middle = cut.t + 0.4 * cut.length
    stopped = knocked(stop=lambda t, q, v: t - middle)
    assert stopped.ended == "stop"
    assert stopped.t[-1] == pytest.approx(middle, abs=1e-12)
