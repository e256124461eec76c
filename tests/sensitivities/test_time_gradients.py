"""Derivatives of motions that start at t0 != 0 under forces and drivers that change in time.

The arm (a tree) and the ram (a loop) of `support.timed`: their hand-written equations are integrated by scipy with
complex steps along every number, those of motors, drivers and curves included. All methods, formulations and schemes
are compared with that; steps of finite length by the order in which they come closer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support import timed
from support.timed import ARM, DURATION, RAM, STEP, T0

import mechgrad as mg
from mechgrad.sensitivities.motion_parameters import Parameters

ARM_NAMES = [
    "lower.mass", "first.torque.amplitude", "first.torque.frequency", "first.torque.phase", "second.torque.values.1",
    "second.torque.values.2", "second.torque.values.4", "rope.curve.coefficients.3", "start.position.elbow",
    "start.velocity.shoulder",
]  # fmt: skip
RAM_NAMES = list(RAM)
TIGHT = {"scheme": "dop853", "rtol": 1e-12, "atol": 1e-12}
MIDDLE = T0 + 0.5 * DURATION


def moved_arm(**how: Any) -> mg.Trajectory:
    y = timed.arm_start(ARM)
    return mg.simulate(timed.arm(), mg.state(timed.arm(), y[:2], y[2:]), DURATION, t0=T0, **how)


def moved_ram(**how: Any) -> mg.Trajectory:
    model, (angle, rate) = timed.ram(), timed.ram_start(RAM)
    start = mg.assemble(model, {"A": angle}, {"A": rate}, guess=timed.ram_state(RAM, T0, angle, rate).q, t=T0)
    return mg.simulate(model, start, duration=DURATION, t0=T0, **how)


# ---- what is true


def _with_integral(slope: Any) -> Any:
    """The equations of motion, and the integral of t times the square of the first coordinate."""

    def both(p: Any, t: Any, y: Any) -> Any:
        return np.append(slope(p, t, y[:-1]), t * y[0] ** 2)

    return both


@cache
def path(which: str, parameter: str, t0: float = T0) -> np.ndarray:
    """States at start, middle and end, the integral last, with an imaginary step along a number."""
    slope, start, p = {
        "arm": (timed.arm_slope, timed.arm_start, ARM), "ram": (timed.ram_slope, timed.ram_start, RAM),
    }[which]  # fmt: skip
    times = t0 + np.array([0.0, 0.5, 1.0]) * DURATION
    return timed.exact(_with_integral(slope), lambda p: np.append(start(p), 0.0), timed.stepped(p, parameter), times)


@cache
def ram_at(parameter: str, k: int) -> timed.RamState:
    """The whole state at instant k, with an imaginary step along a number."""
    return timed.ram_state(
        timed.stepped(RAM, parameter), (T0, MIDDLE, T0 + DURATION)[k], *path("ram", parameter)[k, :2]
    )


def goals(which: str) -> dict[str, mg.objectives.Objective]:
    """First coordinate and its rate at the end, and an integral that knows the time."""
    first = "shoulder" if which == "arm" else "A"
    return {
        "place": mg.AtEnd(mg.measures.JointCoordinate(first)),
        "rate": mg.AtEnd(mg.measures.JointVelocity(first)),
        "integral": mg.Integral(lambda x, t: t * x**2, mg.measures.JointCoordinate(first)),
    }


def wanted(which: str, names: list[str]) -> np.ndarray:
    """(objectives, parameters) of `goals`."""
    n = 2 if which == "arm" else 1
    return np.array([path(which, parameter)[-1, [0, n, -1]].imag / STEP for parameter in names]).T


def test_every_number_has_an_influence_and_time_too() -> None:
    for which, names in (("arm", ARM_NAMES), ("ram", RAM_NAMES)):
        assert np.abs(wanted(which, names)).max(axis=0).min() > 1e-3
    for owner in ("motor.torque", "drive.function"):
        for parameter in (f"{owner}.{x}" for x in ("amplitude", "frequency", "phase", "offset")):
            early, late = (path("ram", parameter, t0)[-1].imag / STEP for t0 in (0.0, T0))
            assert np.abs(early - late).max() > 0.05, parameter


# ---- exact steps


EXACT = {
    "tree": None,
    "projected": mg.formulations.Index1(),
    "unprojected": mg.formulations.Index1(False),
    "matrix-r": mg.formulations.MatrixR(["A"]),
}
METHODS = [(key, method) for key in EXACT for method in ("direct", "adjoint")]
METHODS += [("tree", "complex"), ("projected", "complex")]


@pytest.mark.parametrize(("key", "method"), METHODS)
def test_order_eight(key: str, method: str) -> None:
    formulation = EXACT[key]
    which, moved, names = ("arm", moved_arm, ARM_NAMES) if formulation is None else ("ram", moved_ram, RAM_NAMES)
    # the steps are chosen for the motion: its derivatives are a thousand times as rough; 201 samples for the integral
    found = mg.gradient(moved(formulation=formulation, **TIGHT), goals(which), names, method=method)
    exact = wanted(which, names)
    np.testing.assert_allclose(found.array, exact, rtol=1e-7, atol=1e-7 * np.abs(exact).max())


def test_differences_and_certificates() -> None:
    names = ["drive.function.phase", "motor.torque.frequency", "start.position.A"]
    motion = moved_ram(formulation=mg.formulations.Index1(), scheme="rk4", step=DURATION / 128)
    found = mg.gradient(motion, goals("ram"), names, method="fd")
    np.testing.assert_allclose(found.array, wanted("ram", names), rtol=1e-5, atol=1e-5)
    assert mg.gradient(motion, goals("ram"), names).certify().passed
    assert mg.gradient(moved_ram(step=DURATION / 64), goals("ram"), names).certify().passed


# ---- every formulation and scheme, with its order


TREES = [
    (mg.formulations.SemiRecursive(), mg.schemes.Trapezoidal(), 2),
    (mg.formulations.SemiRecursive(), mg.schemes.Newmark(), 2),
    (mg.formulations.SemiRecursive(), mg.schemes.HHT(0.1), 2),
    (mg.formulations.SemiRecursive(), mg.schemes.GeneralizedAlpha(0.6), 2),
    (mg.formulations.FullyRecursive(), mg.schemes.Trapezoidal(), 2),
    (mg.formulations.FullyRecursive(), mg.schemes.RK4(), 4),
]
SCHEMES = [mg.schemes.Trapezoidal(), mg.schemes.HHT(0.1), mg.schemes.GeneralizedAlpha(0.6)]
LOOPS = [
    (form, scheme, 2)
    for form in (mg.formulations.ALI3P(), mg.formulations.Index1(), mg.formulations.MatrixR(["A"]))
    for scheme in SCHEMES
]
LOOPS += [(mg.formulations.Penalty(penalty=1e11), mg.schemes.Trapezoidal(), 2)]
LOOPS += [
    (form, mg.schemes.RK4(), 4)
    for form in (mg.formulations.Index1(), mg.formulations.Index1(projection=False), mg.formulations.MatrixR(["A"]))
]
# of Penalty with explicit steps, the motion is that of stiff springs: its gradient needs short steps to be close
LOOPS += [(mg.formulations.Penalty(penalty=1e11), mg.schemes.RK4(), 4)]
CASES = [("arm", *case) for case in TREES] + [("ram", *case) for case in LOOPS]


def name(x: Any) -> str:
    return x if isinstance(x, str) else str(x) if isinstance(x, int) else type(x).__name__


def observed(which: str, names: list[str], method: str, **how: Any) -> tuple[float, float]:
    """Order and last error of a gradient, largest over objectives and parameters."""
    moved = moved_arm if which == "arm" else moved_ram
    exact, steps = wanted(which, names), (32, 64, 128)
    errors = [
        np.abs(mg.gradient(moved(step=DURATION / n, **how), goals(which), names, method=method).array - exact)
        for n in steps
    ]
    # every objective by every parameter in parts of the largest derivative of the objective
    sizes = np.array([(x / np.abs(exact).max(axis=1, keepdims=True)).max() for x in errors])
    return float(-np.polyfit(np.log(steps), np.log(sizes), 1)[0]), float(sizes[-1])


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize(("which", "formulation", "scheme", "order"), CASES, ids=name)
def test_gradients_have_the_order_of_their_steps(
    which: str, formulation: Any, scheme: Any, order: int, method: str
) -> None:
    names = ARM_NAMES if which == "arm" else RAM_NAMES
    found, error = observed(which, names, method, formulation=formulation, scheme=scheme)
    assert found == pytest.approx(order, abs=0.1)
    assert error < (5e-3 if order == 2 else 1e-6)


CONTINUOUS = [
    ("arm", mg.formulations.SemiRecursive(), "continuous-adjoint"),
    ("ram", mg.formulations.ALI3P(), "continuous-adjoint"),
    ("ram", mg.formulations.Index1(), "continuous-adjoint-1"),
    ("ram", mg.formulations.Index1(), "continuous-adjoint-2"),
    ("ram", mg.formulations.MatrixR(["A"]), "continuous-adjoint"),
    ("ram", mg.formulations.Penalty(penalty=1e11), "continuous-adjoint"),
]


@pytest.mark.parametrize(("which", "formulation", "method"), CONTINUOUS, ids=name)
def test_continuous_adjoints_have_order_two(which: str, formulation: Any, method: str) -> None:
    names = ARM_NAMES if which == "arm" else RAM_NAMES
    how = {"formulation": formulation, "scheme": "trapezoidal"}
    found, error = observed(which, names, method, **how)
    assert found == pytest.approx(2.0, abs=0.05)
    assert error < 5e-3


@pytest.mark.parametrize(
    ("which", "formulation", "scheme"),
    [
        ("arm", mg.formulations.SemiRecursive(), "hht"),
        ("ram", mg.formulations.ALI3P(), "hht"),
        ("ram", mg.formulations.MatrixR(["A"]), "trapezoidal"),
        ("arm", mg.formulations.FullyRecursive(), "rk4"),
        ("ram", mg.formulations.Index1(), "rk4"),
    ],
    ids=name,
)
def test_checkpoints(which: str, formulation: Any, scheme: str) -> None:
    """Steps between reports are taken again, at their times: the same derivatives as with all of them reported."""
    moved, names = (moved_arm, ARM_NAMES) if which == "arm" else (moved_ram, RAM_NAMES)
    how = {"formulation": formulation, "scheme": scheme, "step": DURATION / 64}
    ends = {key: goal for key, goal in goals(which).items() if key != "integral"}
    for method in ("direct", "adjoint"):
        whole = mg.gradient(moved(**how), ends, names, method=method)
        parts = mg.gradient(moved(**how, samples=5), ends, names, method=method)
        size = np.abs(whole.array).max()
        np.testing.assert_allclose(parts.array, whole.array, rtol=1e-8, atol=1e-9 * size)


# ---- histories and starts


@pytest.mark.parametrize("how", [TIGHT, {"scheme": "rk4", "step": DURATION / 256}], ids=["dop853", "rk4"])
@pytest.mark.parametrize("formulation", [mg.formulations.Index1(), mg.formulations.MatrixR(["A"])], ids=name)
def test_histories_of_a_loop(formulation: Any, how: dict[str, Any]) -> None:
    """dq, dv, da and dlam over the motion: accelerations and multipliers of reports belong to their instants."""
    found = mg.motion_sensitivities(moved_ram(formulation=formulation, samples=3, **how), RAM_NAMES)
    for j, parameter in enumerate(found.parameters):
        for k in range(3):
            true = ram_at(parameter, k)
            for level in "qva":
                got, exact = getattr(found, level)[k, :, j], getattr(true, level).imag / STEP
                np.testing.assert_allclose(got, exact, rtol=0, atol=3e-7 * max(1.0, np.abs(exact).max()))
            got, exact = found.multipliers[k, 2, j], -true.axial.imag / STEP
            assert got == pytest.approx(exact, abs=3e-7 * max(1.0, abs(exact)))


@pytest.mark.parametrize("how", [TIGHT, {"scheme": "rk4", "step": DURATION / 256}], ids=["dop853", "rk4"])
def test_histories_of_a_tree(how: dict[str, Any]) -> None:
    found = mg.motion_sensitivities(moved_arm(samples=3, **how), ARM_NAMES)
    for j, parameter in enumerate(found.parameters):
        p = timed.stepped(ARM, parameter)
        for k, (t, y) in enumerate(zip((T0, MIDDLE, T0 + DURATION), path("arm", parameter), strict=True)):
            a = timed.arm_accelerations(p, t, y[:2], y[2:4])
            for got, exact in ((found.q, y[:2]), (found.v, y[2:4]), (found.a, a)):
                exact = exact.imag / STEP
                np.testing.assert_allclose(got[k, :, j], exact, rtol=0, atol=1e-5 * max(1.0, np.abs(exact).max()))


def test_the_start_depends_on_the_driver_at_its_time() -> None:
    """Held angle and rate, and what the driver says at t0, decide all of q and v."""
    motion = moved_ram(step=DURATION / 4)
    parameters = Parameters(motion, RAM_NAMES)
    dq, dv = parameters.start.slopes(parameters)
    for k, parameter in enumerate(parameters.names):
        p = timed.stepped(RAM, parameter)
        true = timed.ram_state(p, T0, *timed.ram_start(p))
        np.testing.assert_allclose(dq[k], np.imag(true.q) / STEP, rtol=0, atol=1e-11)
        np.testing.assert_allclose(dv[k], np.imag(true.v) / STEP, rtol=0, atol=1e-10)
    moving = [k for k, x in enumerate(parameters.names) if x.startswith(("drive.", "start."))]
    assert np.abs(dv[moving]).max(axis=1).min() > 0.01
    assert np.abs(dq[moving[:-1]]).max(axis=1).min() > 0.01
    for kind, value in (("position", RAM["start.position.A"]), ("velocity", RAM["start.velocity.A"])):
        assert parameters.start.values()[f"start.{kind}.A"] == pytest.approx(value, abs=1e-12)
    values = parameters.values() + 0.01
    model, _, forces, numbers = parameters.changed(values)
    again = parameters.start.again(model, numbers, forces)
    p = dict(zip(parameters.names, values, strict=True))
    there = timed.ram_state(p, T0, *timed.ram_start(p))
    assert again.t == T0
    np.testing.assert_allclose(again.q, there.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(again.v, there.v, rtol=0, atol=1e-10)


# ---- measures


def _vector(*parts: Any) -> np.ndarray:
    return np.array([*parts, 0.0])


MEASURES: list[tuple[mg.measures.Measure, Any]] = [
    (mg.measures.JointCoordinate("B"), lambda s, p: s.q[1]),
    (mg.measures.JointVelocity("S"), lambda s, p: s.v[3]),
    (mg.measures.JointAcceleration("B"), lambda s, p: s.a[1]),
    (mg.measures.PointPosition("slider.origin"), lambda s, p: _vector(s.q[3], 0.0)),
    (mg.measures.PointVelocity("slider.origin"), lambda s, p: _vector(s.v[3], 0.0)),
    (mg.measures.PointAcceleration("slider.origin"), lambda s, p: _vector(s.a[3], 0.0)),
    (mg.measures.Distance("sleeve.origin", "rod.origin"), lambda s, p: s.q[2]),
    (mg.measures.Angle("east", "along", "up"), lambda s, p: s.q[0] + s.q[1]),
    (mg.measures.KineticEnergy(), lambda s, p: s.kinetic(p)),
    (mg.measures.PotentialEnergy(), lambda s, p: s.stored(p)),
    (mg.measures.Multiplier("drive: drive"), lambda s, p: -s.axial),
    (mg.measures.JointReaction("A"), lambda s, p: np.array([0, 0, s.motor, *s.bearing, 0])),
    (mg.measures.Effort("motor"), lambda s, p: -s.motor),
    (mg.measures.JointReaction("C"), lambda s, p: np.array([0, 0, 0, *s.pin, 0])),
    (mg.measures.JointReaction("S"), lambda s, p: np.array([0, 0, 0, *s.guide, 0])),
    (mg.measures.Effort("bumper"), lambda s, p: -s.bumper),
    (mg.measures.Effort("spring"), lambda s, p: -s.spring),
]


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_measures(method: str) -> None:
    """Values and derivatives of many measures in the middle and at the end, by all numbers."""
    motion = moved_ram(formulation=mg.formulations.Index1(), samples=3, **TIGHT)
    pairs = MEASURES
    for k, objective in ((1, lambda x: mg.AtTime(MIDDLE, x)), (2, mg.AtEnd)):
        found = mg.gradient(motion, [objective(measure) for measure, _ in pairs], RAM_NAMES, method=method)
        exact = np.hstack(
            [
                np.concatenate([np.ravel(f(ram_at(x, k), timed.stepped(RAM, x))) for _, f in pairs])[:, None]
                for x in RAM_NAMES
            ]
        )
        np.testing.assert_allclose(found.values, exact[:, 0].real, rtol=0, atol=1e-9)
        scale = np.maximum(np.abs(exact.imag / STEP).max(axis=1, keepdims=True), 1.0)
        np.testing.assert_allclose(found.array / scale, exact.imag / STEP / scale, rtol=0, atol=1e-7)
        for _, f in pairs:
            assert max(np.abs(np.imag(f(ram_at(x, k), timed.stepped(RAM, x)))).max() for x in RAM_NAMES) > 0.05 * STEP


def test_reactions_know_the_time_of_a_phase() -> None:
    """At a fixed start the crank's bearing carries the motor's torque: its phase acts at once, A cos(w t0 + phase)."""
    motion = moved_ram(formulation=mg.formulations.Index1(), samples=3, **TIGHT)
    moment = mg.AtTime(T0, lambda r: r[:, 2], mg.measures.JointReaction("A"))
    effort = mg.AtTime(T0, mg.measures.Effort("motor"))
    A, f, phase = (RAM[f"motor.torque.{x}"] for x in ("amplitude", "frequency", "phase"))
    at_once = A * np.cos(2.0 * np.pi * f * T0 + phase)
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, [moment, effort], ["motor.torque.phase"], method=method)
        np.testing.assert_allclose(found.array[:, 0], [at_once, -at_once], rtol=1e-10)
        np.testing.assert_allclose(found.values, [timed.harmonic(RAM, "motor.torque", T0)[0]] * 2 * np.array([1, -1]))


def test_values_at_an_instant() -> None:
    """AtTime means the clock, not the time since the start."""
    motion = moved_ram(step=DURATION / 64)
    found = mg.gradient(motion, mg.AtTime(MIDDLE, mg.measures.JointVelocity("A")), ["motor.torque.offset"])
    assert found.values[0] == motion.v[32, 0]
    assert found.array[0, 0] == pytest.approx(path("ram", "motor.torque.offset")[1, 1].imag / STEP, rel=1e-3)
    with pytest.raises(mg.InputError, match=r"t = 0\.2 s of AtTime is not within the motion, .* from 1\.3 to 1\.7 s"):
        mg.gradient(motion, mg.AtTime(0.5 * DURATION, mg.measures.JointVelocity("A")), ["motor.torque.offset"])


# ---- in closed form


def test_a_slider_under_a_harmonic_force() -> None:
    """Integrated twice by hand, and differentiated by complex steps of the formula."""
    p = {
        "motor.torque.amplitude": 3.0, "motor.torque.frequency": 0.8, "motor.torque.phase": 0.6,
        "motor.torque.offset": 0.2, "b.mass": 1.7, "start.position.x": 0.1, "start.velocity.x": -0.4,
    }  # fmt: skip
    motor = mg.forces.Motor("motor", "x", mg.functions.Harmonic(*list(p.values())[:4]))
    model = mg.Model(
        "slider", [mg.Body("b", p["b.mass"])], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))], forces=[motor]
    )  # fmt: skip
    t0, s = 2.1, 0.5

    def end(p: dict[str, Any]) -> np.ndarray:
        A, f, phase, b, m, x0, v0 = p.values()
        w = 2.0 * np.pi * f
        first, last = w * t0 + phase, w * (t0 + s) + phase
        rate = v0 + (b * s - A / w * (np.cos(last) - np.cos(first))) / m
        drift = b * s * s / 2 + A / w * np.cos(first) * s
        return np.array([x0 + v0 * s + (drift - A / w**2 * (np.sin(last) - np.sin(first))) / m, rate])

    exact = np.array([end({**p, name: p[name] + 1j * STEP}).imag / STEP for name in p]).T
    places = [mg.AtEnd(mg.measures.JointCoordinate("x")), mg.AtEnd(mg.measures.JointVelocity("x"))]
    for how, atol in (
        ({"scheme": "dop853", "rtol": 1e-12, "atol": 1e-12}, 1e-9),
        ({"scheme": "rk4", "step": s / 100}, 1e-8),
        ({"scheme": "trapezoidal", "step": s / 1000}, 1e-5),
        ({"scheme": "generalized-alpha", "step": s / 1000}, 1e-5),
    ):
        motion = mg.simulate(model, mg.state(model, [0.1], [-0.4]), s, t0=t0, **how)
        for method in ("direct", "adjoint"):
            found = mg.gradient(motion, places, list(p), method=method)
            np.testing.assert_allclose(found.array, exact, rtol=0, atol=atol * np.abs(exact).max())
    found = mg.gradient(motion, places, list(p), method="continuous-adjoint")
    np.testing.assert_allclose(found.array, exact, rtol=0, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex"])
def test_motions_that_drivers_decide(method: str) -> None:
    """No integration at all: the ram with its crank driven as well, between 1.3 s and 1.9 s."""
    turn = {"turn.function.amplitude": 0.4, "turn.function.frequency": 0.6, "turn.function.phase": 0.9,
            "turn.function.offset": 0.8}  # fmt: skip
    p = {**RAM, **turn}
    t = T0 + np.linspace(0.0, 0.6, 7)
    names = [x for x in p if x.startswith(("turn.", "drive."))]

    def states(p: dict[str, Any]) -> list[timed.RamState]:
        return [timed.ram_state(p, s, *timed.harmonic(p, "turn.function", s)) for s in t]

    model = timed.ram(crank=mg.functions.Harmonic(*turn.values()))
    motion = mg.kinematic_motion(model, t, guess=states(p)[0].q)
    slider = [
        mg.measures.PointPosition("slider.origin"),
        mg.measures.PointVelocity("slider.origin"),
        mg.measures.PointAcceleration("slider.origin"),
    ]
    objectives = [mg.AtTime(float(t[k]), lambda x: x[:, 0], measure) for measure in slider for k in (0, 3, 6)]
    found = mg.gradient(motion, objectives, names, method=method)
    for j, x in enumerate(names):
        there = states(timed.stepped(p, x))
        exact = np.array([getattr(there[k], level)[3].imag / STEP for level in "qva" for k in (0, 3, 6)])
        assert np.abs(exact).max() > 0.1
        np.testing.assert_allclose(found.array[:, j], exact, rtol=1e-8, atol=1e-8)
