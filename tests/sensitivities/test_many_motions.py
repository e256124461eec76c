"""Gradients of several motions in one call: each as it would be alone, their sum, their largest, what goes wrong."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gradient_mechanisms as mechanisms

import mechgrad as mg
from mechgrad.errors import CertificateError, InputError, UnknownNameError
from mechgrad.gallery import double_pendulum

GOALS = {
    "reach": mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointPosition("P2")),
    "speed": mg.AtEnd(lambda v: (v * v).sum(-1), mg.measures.PointVelocity("P2")),
}
WRT = ["A1.mass", "S1.stiffness", "1.origin.x", "start.position.A", "start.velocity.1"]
TIP = mg.AtEnd(lambda x: x[:, 0], mg.measures.PointPosition("tip"))
PENDULUM = ["upper.mass", "lower.com.z", "start.position.shoulder"]


def manoeuvre(k: int) -> mg.Trajectory:
    """A five-bar with a motor that follows a spline, later or earlier, from a start that was put together."""
    model, start = mechanisms.driven_five_bar()
    model = model.with_values({"A1.mass": 2.0 + 0.3 * k, "motor.torque.values.1": 1.0 + k})
    again = mg.assemble(model, start.held, {"A": 0.4 + 0.1 * k, "1": -0.3}, guess=start.q, t=0.02 * k)
    return mg.simulate(model, again, duration=0.1, step=1e-3, scheme="trapezoidal")


def swing(k: int = 0, **options) -> mg.Trajectory:
    options = {"duration": 0.2, "step": 0.01, "scheme": "trapezoidal"} | options
    return mg.simulate(double_pendulum(), [0.4 + 0.1 * k, -0.3], **options)


@pytest.fixture(scope="module")
def manoeuvres() -> list[mg.Trajectory]:
    return [manoeuvre(k) for k in range(4)]


@pytest.mark.parametrize("method", ["adjoint", "direct"])
def test_each_is_the_gradient_it_would_be_alone(method, manoeuvres):
    assert manoeuvres[3].t[0] == 0.06
    together = mg.gradient(manoeuvres, GOALS, WRT, method=method, threads=2)
    for motion, g in zip(manoeuvres, together, strict=True):
        alone = mg.gradient(motion, GOALS, WRT, method=method, threads=1)
        np.testing.assert_array_equal(g.array, alone.array)  # to the last bit
        np.testing.assert_array_equal(g.values, alone.values)
        assert g.motion is motion
    assert together.array.shape == together.shape == (4, 2, 5)
    assert np.abs(together.array).min(axis=(0, 1)).min() > 1e-9  # everything matters
    assert np.abs(together.array[0] - together.array[3]).max() > 1e-3
    np.testing.assert_array_equal(together.relative()[2], together[2].relative())
    np.testing.assert_array_equal(together.parameter_values[:, 0], [2.0, 2.3, 2.6, 2.9])


def shaken(recipes, name, step):
    """Objectives of all motions with one number changed, by simulations alone."""
    moved = [
        r.with_values({name: (r.model.value(name) if name in PENDULUM[:2] else r.start.q[0]) + step}) for r in recipes
    ]
    return np.array([mg.gradient(m, TIP, ["upper.mass"]).values[0] for m in mg.recipes.simulate_all(moved, threads=1)])


def test_sums_and_maxima_have_the_derivatives_of_sums_and_maxima():
    motions, w, h = [swing(k) for k in range(3)], np.array([0.5, -1.0, 2.0]), 1e-5
    g = mg.gradient(dict(zip("abc", motions, strict=True)), {"x": TIP}, PENDULUM)
    total, plain, most = g.sum(dict(zip("abc", w, strict=True))), g.sum(objective="x"), g.max()
    for k, name in enumerate(PENDULUM):
        ahead, behind = (shaken([m.recipe for m in motions], name, s) for s in (h, -h))
        for found, combine in ((total, lambda x: w @ x), (plain, np.sum), (most, np.max)):
            by_steps = (combine(ahead) - combine(behind)) / (2 * h)
            assert abs(found.array[0, k] - by_steps) < 1e-7
            assert abs(by_steps) > 1e-4
    assert total.values == pytest.approx(w @ g.values)
    assert most.attained_by == (("a",),)
    assert most.note == ""
    np.testing.assert_array_equal(most.array[0], g["a"].array[0])
    assert "sum over 3 motions, weighted" in str(total)
    assert "x of 'a'" in str(most)


def test_a_tie_is_told():
    first, other = swing(1), swing(0)
    g = mg.gradient([other, first, swing(1)], {"minus": -1.0 * TIP, "x": TIP}, PENDULUM)
    most = g.max(objective="minus")
    assert most.attained_by == (("1", "2"),)
    assert "'1', '2' have the same value, where the maximum has a kink; the gradient is that of '1'" in most.note
    assert most.note in str(most)
    np.testing.assert_array_equal(most.array, g[1].array[:1])
    assert g.max().attained_by == (("1", "2"), ("0",))


def test_all_kinds_together(tmp_path):
    model = double_pendulum()
    mg.io.save_trajectory(swing(), tmp_path / "swing")
    at = {"shoulder": 0.4, "elbow": -0.3}
    kinds = {
        "moving": swing(1),
        "saved": mg.io.load_trajectory(tmp_path / "swing"),
        "driven": mg.kinematic_motion(model, [0.0, 0.1], {"shoulder": [0.4, 0.5], "elbow": -0.3}),
        "resting": mg.equilibrium(model, [0.1, 0.1]),
        "placed": mg.assemble(model, at),
    }
    g = mg.gradient(kinds, {"x": TIP}, ["elbow.origin.z", "elbow.origin.x"], threads=2)
    for name, subject in kinds.items():
        alone = mg.gradient(subject, {"x": TIP}, ["elbow.origin.z", "elbow.origin.x"], threads=1)
        np.testing.assert_array_equal(g[name].array, alone.array)
    # a closed form: the tip of a pendulum that is placed, z of the elbow downwards from the shoulder
    assert g["placed"]["x", "elbow.origin.z"] == pytest.approx(np.sin(0.4))
    assert len(g.held.splitlines()) > 1
    assert "what is held differs" in repr(g)
    table = str(g)
    assert all(name in table for name in (*kinds, "elbow.origin.x"))
    found = g.certify()
    assert found.passed
    assert len(found) == 5
    assert "5 of 5 passed" in str(found)
    assert found["driven"] is found[2]


def test_certificates_name_the_motion_that_fails():
    g = mg.gradient({"good": swing(), "bad": swing(1)}, TIP, PENDULUM)
    g["bad"].array[0, 1] *= 1.01
    found = g.certify()
    assert found.failed == ("bad",)
    with pytest.raises(CertificateError, match=r"(?s)motion 'bad'.*lower\.com\.z"):
        found.raise_if_failed()


def test_rows_of_a_batch_are_motions():
    model, starts = double_pendulum(), np.array([[0.4, -0.3], [0.5, -0.3], [0.6, 0.1]])
    batch = mg.simulate(model, starts, duration=0.2, step=0.01)
    g = mg.gradient({"many": batch, "one": swing(scheme="rk4")}, TIP, PENDULUM)
    assert g.names == ("many[0]", "many[1]", "many[2]", "one")
    for k in range(3):
        alone = mg.gradient(mg.simulate(model, starts[k], duration=0.2, step=0.01), TIP, PENDULUM)
        np.testing.assert_allclose(g[k].array, alone.array, rtol=1e-12)
    assert g["many[2]"].certify().passed
    with pytest.raises(InputError, match=r"gradient\(\[motion\], \.\.\.\)"):
        mg.gradient(batch, TIP, PENDULUM)


def test_each_motion_may_have_objectives_of_its_own():
    motions, goal = {"a": swing(), "b": swing(1)}, {"a": 1.0, "b": 3.0}
    g = mg.gradient(motions, lambda name: {"far": goal[name] * TIP}, PENDULUM)
    np.testing.assert_allclose(g["b"].array, 3.0 * mg.gradient(motions["b"], TIP, PENDULUM).array, rtol=1e-12)
    g = mg.gradient([swing(), swing(1)], lambda k: (1.0 + k) * TIP, PENDULUM)
    np.testing.assert_allclose(g[1].array, 2.0 * mg.gradient(motions["b"], TIP, PENDULUM).array, rtol=1e-12)
    with pytest.raises(InputError, match="motion 'b' has other objectives than motion 'a': 'b' is not in both"):
        mg.gradient(motions, lambda name: {name: TIP}, PENDULUM)


def test_what_is_wrong_is_said_with_the_name_of_the_motion(manoeuvres):
    motions = {"arm": swing(), "bars": manoeuvres[0]}
    with pytest.raises(UnknownNameError, match=r"motion 'bars': .*upper"):
        mg.gradient(motions, mg.AtEnd(mg.measures.KineticEnergy()), ["upper.mass"])
    with pytest.raises(UnknownNameError, match=r"motion 'arm': .*start value 'start.position.A'"):
        mg.gradient(motions, mg.AtEnd(mg.measures.KineticEnergy()), ["start.position.A"])
    with pytest.raises(InputError, match=r"motion 'bars' has other parameters than motion 'arm'"):
        mg.gradient(motions, mg.AtEnd(mg.measures.KineticEnergy()), ["*.mass"])
    with pytest.raises(InputError, match="no motion"):
        mg.gradient([], TIP, PENDULUM)
    with pytest.raises(InputError, match=r"motion '1'.*cannot be differentiated"):
        mg.gradient([swing(), "swing"], TIP, PENDULUM)  # type: ignore[list-item]
    with pytest.raises(UnknownNameError, match="method"):
        mg.gradient([swing()], TIP, PENDULUM, method="best")
    g = mg.gradient({"arm": swing()}, TIP, PENDULUM)
    for wrong in ([1.0, 2.0], [np.nan], ["a"]):
        with pytest.raises(InputError, match="1 finite numbers"):
            g.sum(wrong)
    with pytest.raises(InputError, match="no number for motion 'arm'"):
        g.sum({})
    with pytest.raises(UnknownNameError, match="'leg'"):
        g.sum({"arm": 1.0, "leg": 1.0})
    with pytest.raises(UnknownNameError, match="'leg'"):
        g["leg"]
    with pytest.raises(UnknownNameError, match="objective"):
        g.max(objective="y")


def test_failures_of_one_keep_the_others():
    late = mg.AtTime(0.15, mg.measures.PointPosition("tip"))  # which one motion does not reach
    with pytest.raises(InputError, match=r"motion '1': .*0\.15") as caught:
        mg.gradient([swing(), swing(1, duration=0.1), swing(2)], late, PENDULUM, threads=2)
    found = caught.value.gradients  # type: ignore[attr-defined]
    assert [g is None for g in found] == [False, True, False]
    np.testing.assert_array_equal(found[2].array, mg.gradient(swing(2), late, PENDULUM, threads=1).array)


def test_functions_of_users_are_called_by_one_thread_at_a_time():
    inside, most = [0], [0]

    def watched(x):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        inside[0] -= 1
        return x[:, 0]

    mg.gradient([swing(k) for k in range(4)], mg.AtEnd(watched, mg.measures.PointPosition("tip")), PENDULUM, threads=4)
    assert most[0] == 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends a signal")
def test_an_interrupt_ends_all(manoeuvres):
    class Enough(BaseException):
        pass

    recipe = manoeuvres[0].recipe.changed(duration=2.0, step=1e-5, samples=201)
    motions = mg.recipes.simulate_all([recipe, recipe, recipe.changed(duration=0.002, samples=3)])
    called: list[float] = []

    def handler(number: int, frame: object) -> None:
        called.append(time.perf_counter())
        raise Enough

    before, threads = signal.signal(signal.SIGALRM, handler), threading.active_count()
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(Enough) as caught:
            mg.gradient(motions * 8, GOALS, WRT, threads=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.perf_counter() - called[0] < 2.0
    assert threading.active_count() == threads
    assert any(g is None for g in caught.value.gradients)  # type: ignore[attr-defined]
