"""Motions that start at t0 != 0 under forces and drivers that change in time: every march, with its observed order.

The arm (a tree: harmonic motor, spline motor, spring curve, a law of Python that reads the time) and the ram (a loop:
harmonic motor, a driver, spring curve) of `support.timed` are compared with their hand-written equations, solved by
scipy to about 1e-12.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from support import timed
from support.timed import ARM, DURATION, RAM, T0

import mechgrad as mg
from mechgrad.dynamics.system import INDEX_1
from mechgrad.steps.runge_kutta.step import first_step

SAMPLES = 5
STEPS = np.array([32, 64, 128, 256])
SECOND_ORDER = [mg.schemes.Trapezoidal(), mg.schemes.Newmark(), mg.schemes.HHT(0.1), mg.schemes.GeneralizedAlpha(0.6)]
FIRST_ORDER = mg.schemes.Newmark(0.3025, 0.6)  # damping beyond 1/2 costs an order
TREES = [mg.formulations.SemiRecursive(), mg.formulations.FullyRecursive()]
LOOPS = [
    mg.formulations.ALI3P(),
    mg.formulations.Index1(),
    mg.formulations.Index1(projection=False),
    mg.formulations.Penalty(penalty=1e11),
    mg.formulations.MatrixR(["A"]),
]
EXPLICIT_LOOPS = LOOPS[1:]


def name(x: Any) -> str:
    """Of a formulation, a scheme or a march, for the names of tests."""
    if isinstance(x, dict | str | float):
        return str(x.get("scheme")) if isinstance(x, dict) else str(x)
    if callable(x) or x is None:
        return x.__name__ if callable(x) else "tree"
    return f"{type(x).__name__}{'-unprojected' if x == LOOPS[2] else ''}{'-damped' if x == FIRST_ORDER else ''}"


class Exact(NamedTuple):
    """A motion by hand-written equations; lam: multiplier of the driver, or nothing."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray


@cache
def exact_arm(t0: float = T0) -> Exact:
    t = t0 + np.linspace(0.0, DURATION, SAMPLES)
    y = timed.exact(timed.arm_slope, timed.arm_start, ARM, t)
    a = [timed.arm_accelerations(ARM, at, x[:2], x[2:]) for at, x in zip(t, y, strict=True)]
    return Exact(t, y[:, :2], y[:, 2:], np.array(a), np.zeros((SAMPLES, 0)))


@cache
def exact_ram(t0: float = T0, duration: float = DURATION) -> Exact:
    t = t0 + np.linspace(0.0, duration, SAMPLES)
    y = timed.exact(timed.ram_slope, timed.ram_start, RAM, t)
    states = [timed.ram_state(RAM, at, *x) for at, x in zip(t, y, strict=True)]
    q, v, a = (np.array([getattr(x, level) for x in states]) for level in "qva")
    return Exact(t, q, v, a, np.array([[-x.axial] for x in states]))


def moved_arm(t0: float = T0, **how: Any) -> mg.Trajectory:
    y = timed.arm_start(ARM)
    return mg.simulate(
        timed.arm(), mg.state(timed.arm(), y[:2], y[2:]), DURATION, t0=t0, **({"samples": SAMPLES} | how)
    )


def moved_ram(t0: float = T0, duration: float = DURATION, **how: Any) -> mg.Trajectory:
    model, (angle, rate) = timed.ram(), timed.ram_start(RAM)
    guess = timed.ram_state(RAM, t0, angle, rate).q
    start = mg.assemble(model, {"A": angle}, {"A": rate}, guess=guess, t=t0)
    return mg.simulate(model, start, duration=duration, t0=t0, **({"samples": SAMPLES} | how))


def misses(motion: mg.Trajectory, exact: Exact) -> list[float]:
    """Largest errors of q, v, a and, of loops, of the driver's multiplier."""
    np.testing.assert_allclose(motion.t, exact.t, rtol=0, atol=1e-14)
    found = (motion.q, motion.v, motion.a, motion.multipliers[:, 2:])
    return [float(np.abs(x - y).max()) for x, y in zip(found, exact[1:], strict=True) if y.size]


def orders(moved: Any, exact: Exact, **how: Any) -> np.ndarray:
    """Observed orders, by regression over the steps."""
    errors = [misses(moved(step=DURATION / n, **how), exact) for n in STEPS]
    return -np.polyfit(np.log(STEPS), np.log(errors), 1)[0]


def test_time_matters() -> None:
    """The same start a little later leads elsewhere: what follows can see a wrong time of 1e-3 s and less."""
    for exact, later in ((exact_arm(), exact_arm(T0 + 1e-3)), (exact_ram(), exact_ram(T0 + 1e-3))):
        change = np.abs(later.v - exact.v).max()
        assert 1e-3 < change < 1.0
        assert np.abs(later.a - exact.a).max() > 1e-3
    assert np.abs(exact_ram(0.0).v - exact_ram().v).max() > 0.3
    assert np.abs(exact_arm(0.0).v - exact_arm().v).max() > 0.3


# ---- orders


@pytest.mark.parametrize("formulation", TREES, ids=name)
@pytest.mark.parametrize("scheme", [*SECOND_ORDER, FIRST_ORDER, mg.schemes.RK4()], ids=name)
def test_order_of_every_scheme_on_a_tree(formulation: Any, scheme: Any) -> None:
    if isinstance(scheme, mg.schemes.RK4) and isinstance(formulation, mg.formulations.SemiRecursive):
        with pytest.raises(mg.InputError, match="no explicit form"):
            moved_arm(formulation=formulation, scheme=scheme, step=0.01)
        return
    expected = {mg.schemes.RK4(): 4.0, FIRST_ORDER: 1.0}.get(scheme, 2.0)
    found = orders(moved_arm, exact_arm(), formulation=formulation, scheme=scheme)
    np.testing.assert_allclose(found, expected, atol=0.1)


@pytest.mark.parametrize("formulation", LOOPS, ids=name)
@pytest.mark.parametrize("scheme", [*SECOND_ORDER, FIRST_ORDER, mg.schemes.RK4()], ids=name)
def test_order_of_every_scheme_on_a_loop(formulation: Any, scheme: Any) -> None:
    """Multipliers too; those of ALI3-P, which stand for the unprojected step, are of order one."""
    if isinstance(scheme, mg.schemes.RK4) and isinstance(formulation, mg.formulations.ALI3P):
        with pytest.raises(mg.InputError, match="no explicit form"):
            moved_ram(formulation=formulation, scheme=scheme, step=0.01)
        return
    expected = np.full(4, {mg.schemes.RK4(): 4.0, FIRST_ORDER: 1.0}.get(scheme, 2.0))
    if isinstance(formulation, mg.formulations.ALI3P):
        expected[3] = 1.0
    found = orders(moved_ram, exact_ram(), formulation=formulation, scheme=scheme)
    np.testing.assert_allclose(found, expected, atol=0.1)


@pytest.mark.parametrize("t0", [T0, -0.7])
@pytest.mark.parametrize("formulation", [None, *EXPLICIT_LOOPS], ids=name)
def test_order_eight(formulation: Any, t0: float) -> None:
    """Errors go down with the eighth power of the number of steps; over a longer time, so that there are enough."""
    moved, exact = (moved_arm, exact_arm(t0)) if formulation is None else (moved_ram, exact_ram(t0, 2.0))
    longer = {} if formulation is None else {"duration": 2.0}
    found = []
    for tolerance in (1e-6, 1e-8, 1e-10, 1e-12):
        how = {"scheme": "dop853", "rtol": tolerance, "atol": tolerance}
        motion = moved(t0=t0, formulation=formulation, **how, **longer)
        found.append((motion.steps, max(misses(motion, exact)[:2])))
    steps, errors = np.array(found).T
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert errors[-1] < 1e-9, errors
    # steps of one length would show 8 more sharply; a wrong time anywhere in a step leaves an order of 2 at most
    assert 6.0 < order < 11.0, (steps, errors)


def test_the_first_step_is_chosen_for_the_forces_at_the_start() -> None:
    """A hundredth of the time in which coordinates or velocities change by their size, accelerations being those of
    t0: a motor that rests at t = 0 and pulls hard later must not be met with a long step."""
    motor = mg.forces.Motor("motor", "x", mg.functions.Polynomial((0.0, 1000.0)))
    slide = mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))
    model = mg.Model("slider", [mg.Body("b", 2.0)], [slide], forces=[motor])
    for t0, step in ((0.0, 0.01 * 0.5 / 0.25), (T0, 0.01 * 0.25 / (500.0 * T0))):
        motion = mg.simulate(model, mg.state(model, [0.5], [0.25]), 1.0, t0=t0, samples=3)
        assert first_step(motion.record.task, INDEX_1) == pytest.approx(step)


@pytest.mark.parametrize(
    ("formulation", "scheme"),
    [
        (mg.formulations.ALI3P(), "trapezoidal"),
        (mg.formulations.ALI3P(), "hht"),
        (mg.formulations.Index1(), "generalized-alpha"),
        (mg.formulations.Penalty(), "newmark"),
    ],
    ids=name,
)
def test_implicit_steps_that_control_their_error(formulation: Any, scheme: str) -> None:
    """Local errors are of third order: a hundredth of the tolerance leaves a twentieth of the error."""
    for moved, exact, form, bound in (
        (moved_arm, exact_arm(), None, 1e-5),
        (moved_ram, exact_ram(), formulation, 1e-6),
    ):
        tolerances = ({"rtol": 10.0**-k, "atol": 10.0**-k} for k in (5, 7, 9))
        errors = [misses(moved(formulation=form, scheme=scheme, **how), exact)[0] for how in tolerances]
        assert errors[-1] < bound
        assert errors[0] > 5.0 * errors[1] > 25.0 * errors[2]


# ---- what is reported


EXPLICIT = [(moved_arm, None)] + [(moved_ram, x) for x in EXPLICIT_LOOPS]


@pytest.mark.parametrize("how", [{"scheme": "rk4", "step": DURATION / 64}, {"scheme": "dop853"}], ids=["rk4", "dop853"])
@pytest.mark.parametrize(("moved", "formulation"), EXPLICIT, ids=name)
def test_reported_accelerations_belong_to_their_instants(moved: Any, formulation: Any, how: dict[str, Any]) -> None:
    """At the states as they are reported they meet the equations, to rounding where constraints hold to rounding."""
    motion = moved(formulation=formulation, **how)
    if moved is moved_arm:
        wanted = [
            timed.arm_accelerations(ARM, t, q, v) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)
        ]  # fmt: skip
        np.testing.assert_allclose(motion.a, wanted, rtol=1e-11, atol=1e-11)
        return
    # constraints hold to rounding where they are projected or solved for; Penalty yields, and plain Index1 drifts
    tight = isinstance(formulation, mg.formulations.MatrixR) or formulation == mg.formulations.Index1()
    states = [timed.ram_state(RAM, t, q[0], v[0]) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)]
    atol = 1e-9 if tight else 1e-4
    np.testing.assert_allclose(motion.a, [x.a for x in states], rtol=0, atol=atol)
    np.testing.assert_allclose(motion.multipliers[:, 2], [-x.axial for x in states], rtol=0, atol=atol)
    np.testing.assert_allclose(motion.norms[:, 2] if tight else 0.0, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("formulation", "how"),
    [
        (mg.formulations.ALI3P(), {"scheme": "hht", "step": DURATION / 64}),
        (mg.formulations.MatrixR(["A"]), {"scheme": "trapezoidal", "step": DURATION / 64}),
        (mg.formulations.Index1(), {"scheme": "rk4", "step": DURATION / 64}),
        (mg.formulations.Index1(), {"scheme": "dop853"}),
    ],
    ids=name,
)
def test_norms_know_the_time(formulation: Any, how: dict[str, Any]) -> None:
    """The driver is met at every reported instant: values, rates and second rates to rounding."""
    motion = moved_ram(formulation=formulation, **how)
    assert motion.norms.max() < 1e-8
    length, rate, second = timed.harmonic(RAM, "drive.function", motion.t)
    for level, wanted in ((motion.q, length), (motion.v, rate), (motion.a, second)):
        assert np.ptp(wanted) > 0.05
        np.testing.assert_allclose(level[:, 2], wanted, rtol=0, atol=1e-9)


def test_a_start_at_another_time_is_refused() -> None:
    model, (angle, rate) = timed.ram(), timed.ram_start(RAM)
    there = timed.ram_state(RAM, T0, angle, rate)
    with pytest.raises(mg.AssemblyError, match="drive"):
        mg.simulate(model, mg.state(model, there.q, there.v), DURATION, step=0.01)
    assert mg.simulate(model, mg.state(model, there.q, there.v), DURATION, step=0.01, t0=T0).t[0] == T0


# ---- batches, parts and stops


@pytest.mark.parametrize("count", [3, 9], ids=["part of the lanes", "more than the lanes"])
def test_batches(count: int) -> None:
    """Starts beside each other, in lanes: each its own motion, at the same time."""
    y = timed.arm_start(ARM) + np.linspace(0.0, 0.2, count)[:, None]
    together = mg.simulate(
        timed.arm({**ARM, "tide": 0.0}),
        mg.state(timed.arm({**ARM, "tide": 0.0}), y[:, :2], y[:, 2:]),
        0.1,
        step=0.1 / 64,
        samples=3,
        t0=T0,
    )
    np.testing.assert_allclose(together.t, [T0, T0 + 0.05, T0 + 0.1], atol=1e-15)
    p = {**ARM, "tide": 0.0}
    for k in (0, count - 1):
        exact = timed.exact(timed.arm_slope, lambda _, k=k: y[k], p, together.t)
        np.testing.assert_allclose(np.hstack([together.q[k], together.v[k]]), exact, rtol=0, atol=1e-6)
        a = [timed.arm_accelerations(p, t, *np.split(x, 2)) for t, x in zip(together.t, exact, strict=True)]
        np.testing.assert_allclose(together.a[k], a, rtol=0, atol=1e-4)
    late = mg.simulate(
        timed.arm({**ARM, "tide": 0.0}),
        mg.state(timed.arm({**ARM, "tide": 0.0}), y[:, :2], y[:, 2:]),
        0.1,
        step=0.1 / 64,
        samples=3,
    )
    assert np.abs(late.v - together.v).max() > 0.05


STOPPED = [
    (moved_arm, None, {"scheme": "dop853"}, 1e-8),
    (moved_arm, None, {"scheme": "rk4", "step": DURATION / 256}, 1e-6),
    (moved_arm, None, {"scheme": "trapezoidal", "step": DURATION / 256}, 1e-4),
    (moved_ram, mg.formulations.Index1(), {"scheme": "dop853"}, 1e-8),
    (moved_ram, mg.formulations.Index1(), {"scheme": "rk4", "step": DURATION / 256}, 1e-8),
    (moved_ram, mg.formulations.MatrixR(["A"]), {"scheme": "hht", "step": DURATION / 256}, 1e-4),
    (moved_ram, mg.formulations.ALI3P(), {"scheme": "trapezoidal", "step": DURATION / 256}, 1e-4),
]


@pytest.mark.parametrize(("moved", "formulation", "how", "tolerance"), STOPPED, ids=name)
def test_stops(moved: Any, formulation: Any, how: dict[str, Any], tolerance: float) -> None:
    """Where the first coordinate passes what it has at t0 + 0.23 s; and where the clock shows that instant."""
    slope, start, p = (
        (timed.arm_slope, timed.arm_start, ARM) if moved is moved_arm else (timed.ram_slope, timed.ram_start, RAM)
    )
    end = T0 + 0.23
    there = timed.exact(slope, start, p, np.array([T0, end]))[-1, 0]
    first = moved(formulation=formulation, stop=lambda t, q, v: q[:, 0] - there, **how | {"samples": 65})
    clock = moved(formulation=formulation, stop=lambda t, q, v: t - end, **how | {"samples": 65})
    assert first.ended == clock.ended == "stop"
    assert first.t[-1] == pytest.approx(end, abs=tolerance)
    assert clock.t[-1] == pytest.approx(end, abs=1e-12)
    assert clock.q[-1, 0] == pytest.approx(there, abs=10 * tolerance)
    assert abs(first.q[-1, 0] - there) < 1e-11


def test_a_motion_in_parts_is_one_motion(capsys: pytest.CaptureFixture[str]) -> None:
    """Reports on the way cut a march into parts; each goes on at its own time."""
    for how in ({"scheme": "rk4", "step": DURATION / 256}, {"scheme": "dop853"}):
        whole = moved_arm(**how, samples=65)
        parts = moved_arm(**how, samples=65, progress=True)
        assert f"100 %  t = {T0 + DURATION:.4g} s" in capsys.readouterr().out
        np.testing.assert_allclose(parts.v, whole.v, rtol=0, atol=1e-7)
    for formulation in (mg.formulations.ALI3P(), mg.formulations.MatrixR(["A"])):
        whole = moved_ram(formulation=formulation, scheme="hht", step=DURATION / 64, samples=65)
        parts = moved_ram(formulation=formulation, scheme="hht", step=DURATION / 64, samples=65, progress=True)
        np.testing.assert_allclose(parts.v, whole.v, rtol=0, atol=1e-8)


def test_a_motion_goes_on_where_another_ended() -> None:
    """Two motions, one after the other, are one: simulate(t0=) is where the clock stands."""
    y = timed.arm_start(ARM)
    tight = {"rtol": 1e-12, "atol": 1e-12, "samples": 3}
    first = mg.simulate(timed.arm(), mg.state(timed.arm(), y[:2], y[2:]), 0.5 * DURATION, t0=T0, **tight)
    second = mg.simulate(
        timed.arm(), mg.state(timed.arm(), first.q[-1], first.v[-1]), 0.5 * DURATION, t0=first.t[-1], **tight
    )
    np.testing.assert_allclose(second.q[-1], exact_arm().q[-1], rtol=0, atol=1e-10)


# ---- one coordinate, in closed form


def test_a_slider_under_a_harmonic_force() -> None:
    """m x'' = b + A sin(w t + phase): x by integrating twice; and when its rate first passes the middle."""
    A, f, phase, b, m, x0, v0 = 3.0, 0.8, 0.6, 0.2, 1.7, 0.1, -0.4
    w = 2.0 * np.pi * f
    motor = mg.forces.Motor("motor", "x", mg.functions.Harmonic(A, f, phase, b))
    model = mg.Model(
        "slider", [mg.Body("b", m)], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))], forces=[motor]
    )  # fmt: skip
    for t0 in (2.1, -3.3):

        def rate(t: Any, t0: float = t0) -> Any:
            return v0 + (b * (t - t0) - A / w * (np.cos(w * t + phase) - np.cos(w * t0 + phase))) / m

        def place(t: Any, t0: float = t0) -> Any:
            s = t - t0
            drift = b * s * s / 2 + A / w * np.cos(w * t0 + phase) * s
            return x0 + v0 * s + (drift - A / w**2 * (np.sin(w * t + phase) - np.sin(w * t0 + phase))) / m

        for how, atol in (
            ({"scheme": "dop853"}, 1e-8),
            ({"scheme": "rk4", "step": 0.01}, 1e-7),
            ({"scheme": "trapezoidal", "step": 0.001}, 1e-5),
        ):
            motion = mg.simulate(model, mg.state(model, [x0], [v0]), 1.0, t0=t0, samples=11, **how)
            np.testing.assert_allclose(motion.q[:, 0], place(motion.t), rtol=0, atol=atol)
            np.testing.assert_allclose(motion.v[:, 0], rate(motion.t), rtol=0, atol=atol)
            force = b + A * np.sin(w * motion.t + phase)
            np.testing.assert_allclose(motion.a[:, 0], force / m, rtol=0, atol=1e-12)
        dense = np.linspace(t0, t0 + 1.0, 1001)
        level = 0.5 * (rate(dense).max() + rate(dense).min())
        k = int(np.flatnonzero(np.diff(np.sign(rate(dense) - level)))[0])
        end = brentq(lambda t, rate=rate, level=level: rate(t) - level, dense[k], dense[k + 1])
        stopped = mg.simulate(
            model, mg.state(model, [x0], [v0]), 1.0, t0=t0, stop=lambda t, q, v, level=level: v[:, 0] - level
        )
        assert stopped.ended == "stop"
        assert stopped.t[-1] == pytest.approx(end, abs=1e-8)
