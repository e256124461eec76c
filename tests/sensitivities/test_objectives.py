"""Functions that users write in objectives: nothing is lost, nothing is written to, and everything is told."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import double_pendulum
from mechgrad.sensitivities.integrands import Integrand
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import as_objective
from mechgrad.sensitivities.repeat import samples_of

WRT = ["upper.mass", "lower.com.z", "start.velocity.elbow"]
SPEED = mg.measures.JointVelocity("elbow")


def swing(**options):
    options = {"duration": 0.6, "step": 0.01, "scheme": "trapezoidal"} | options
    return mg.simulate(double_pendulum(), mg.state(double_pendulum(), [0.4, -0.3], [0.5, 1.0]), **options)


MOTION = swing()


def compared(goal, *, tolerance=1e-9, motion=MOTION):
    """The adjoint gradient, compared with the complex step and with differences of whole motions; nonzero."""
    g = mg.gradient(motion, goal, WRT, method="adjoint")
    size = np.abs(g.array).max(axis=1, keepdims=True)
    assert size.min() > 1e-4
    exact = mg.gradient(motion, goal, WRT, method="complex")
    np.testing.assert_allclose(g.array / size, exact.array / size, atol=tolerance)
    differences = mg.gradient(motion, goal, WRT, method="fd")
    np.testing.assert_allclose(g.array / size, differences.array / size, atol=1e-6)
    np.testing.assert_allclose(exact.values, g.values, rtol=1e-14)
    return g


FUNCTIONS = {
    "beyond a limit": lambda v: np.maximum(np.abs(v) - 2.5, 0.0) ** 2,
    "absolute": lambda v: np.abs(v),
    "built-in absolute": lambda v: abs(v),
    "rows of different size": lambda v: np.stack([1e4 * v, np.abs(v)], -1),
    "where": lambda v: np.where(v > 0.0, v**3, 0.1 * v * v),
    "smooth": lambda v: mg.objectives.smooth_abs(v, 0.1),
    "clipped": lambda v: np.clip(v, -0.5, 2.5) ** 2,
    "put together": lambda v: put_together(v),
}


def put_together(v):
    out = np.zeros_like(v)
    out[v > 0.0] = v[v > 0.0] ** 2
    return out


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinked_functions_are_differentiated_exactly(name):
    v = MOTION.v[:, 1]
    assert v.max() > 3.0  # beyond every limit here
    assert v.min() < -1.0  # and on both sides of the kink
    compared(mg.Integral(FUNCTIONS[name], SPEED))


def test_norms():
    compared(mg.Integral(lambda x: np.linalg.norm(x, axis=-1), mg.measures.PointVelocity("tip")))


def test_a_start_at_rest_takes_the_subgradient_of_a_norm():
    still = mg.simulate(double_pendulum(), [0.4, -0.3], duration=0.1, step=0.01, scheme="trapezoidal")
    g = mg.gradient(still, mg.Integral(lambda x: np.linalg.norm(x, axis=-1), mg.measures.PointVelocity("tip")), WRT[:2])
    assert np.all(np.isfinite(g.array))
    assert g.certify().passed
    with pytest.raises(InputError, match=r"no finite derivative at t = 0 s"):
        mg.gradient(still, mg.Integral(lambda x: np.cbrt(x), SPEED), WRT[:2])


SLOW = {
    "loop": lambda v: np.array([math.sin(x) * x for x in v]),
    "array of rows": lambda v: np.array([v**2, np.exp(0.1 * v)]).T,
    "entries of an array": lambda v: into_zeros(v),
}


def into_zeros(v):
    out = np.zeros(len(v))
    out[:] = v**3
    return out


@pytest.mark.parametrize("name", SLOW)
def test_where_dual_numbers_end_differences_take_over_and_say_so(name):
    goal = mg.Integral(SLOW[name], SPEED)
    with pytest.warns(UserWarning, match="central differences"):
        mg.gradient(MOTION, goal, WRT)
    with warnings.catch_warnings():  # once for each objective
        warnings.simplefilter("error")
        compared(goal, tolerance=1e-8)


def test_functions_without_a_derivative_to_rely_on_are_refused():
    noise = np.random.default_rng(0)

    def rough(v):
        return np.array([math.floor(1e3 * x) * 1e-3 for x in v]) ** 2

    def restless(v):
        return v**2 + 1e-3 * noise.normal(size=v.shape)

    with pytest.raises(InputError, match=r"(?s)plain number.*partials="):
        mg.gradient(MOTION, mg.Integral(rough, SPEED), WRT)
    with pytest.raises(InputError, match="contradict"):
        mg.gradient(MOTION, mg.Integral(restless, SPEED), WRT)


def test_partials_that_are_given_are_checked():
    motion = MOTION
    squared = mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointVelocity("tip"))
    given = mg.Integral(
        lambda x: np.asarray(x * x).sum(-1), mg.measures.PointVelocity("tip"), partials=lambda x: 2.0 * x
    )
    exact = mg.gradient(motion, squared, WRT).array
    np.testing.assert_allclose(mg.gradient(motion, given, WRT).array, exact, rtol=1e-12)
    np.testing.assert_allclose(mg.gradient(motion, given, WRT, method="complex").array, exact, rtol=1e-8)
    timed = mg.Integral(lambda v, t: t * v, SPEED, partials=lambda v, t: t)
    assert mg.gradient(motion, timed, WRT).certify().passed

    def off_at_one_instant(v):
        slope = np.stack([np.ones_like(v), 2.0 * v], axis=1)
        slope[17, 1] *= 1.001
        return slope

    wrong = mg.Integral(lambda v: np.stack([v, v * v], -1), SPEED, partials=off_at_one_instant)
    with pytest.raises(InputError, match=r"t = 0\.17 s in row 1"):
        mg.gradient(motion, wrong, WRT)
    small = mg.Integral(
        lambda x: 1e4 * x[:, 0] + 1e-3 * x[:, 2],
        mg.measures.PointVelocity("tip"),
        partials=lambda x: [1e4, 0.0, 0.0] + 0 * x,
    )
    with pytest.raises(InputError, match="contradict"):
        mg.gradient(motion, small, WRT)
    with pytest.raises(InputError, match="2 arrays for 1"):
        mg.gradient(motion, mg.Integral(lambda v: v, SPEED, partials=lambda v: (v, v)), WRT)
    with pytest.raises(InputError, match="shapes"):
        mg.gradient(motion, mg.Integral(lambda v: v, SPEED, partials=lambda v: np.ones(3)), WRT)


MIXED = {
    "first": lambda x: (x - x[0]) ** 2,
    "mean": lambda x: x - x.mean(),
    "cumulative": lambda x: np.cumsum(x),
    "reversed": lambda x: x[::-1] * x,
    "by differences": lambda x: np.gradient(x),
}


@pytest.mark.parametrize("name", MIXED)
def test_functions_that_mix_instants_are_refused(name):
    with pytest.raises(InputError, match=r"mixes instants|every instant for itself"):
        mg.gradient(MOTION, mg.Integral(MIXED[name], SPEED), WRT)


@pytest.mark.parametrize("method", ["adjoint", "complex"])
@pytest.mark.parametrize(
    "measure",
    [mg.measures.JointCoordinate("elbow"), mg.measures.JointVelocity("elbow"), mg.measures.PointPosition("tip")],
)
def test_measures_cannot_be_written_to(measure, method):
    def shifted(x):
        x -= 0.5
        return (x * x).reshape(len(x), -1).sum(-1)

    motion = swing(duration=0.05)
    before = motion.q.copy(), motion.v.copy()
    for function in (shifted, lambda x, t: t.__imul__(2.0) + x.reshape(len(x), -1).sum(-1)):
        with pytest.raises(InputError, match="copy"):
            mg.gradient(motion, mg.Integral(function, measure), WRT, method=method)
    assert all(np.array_equal(a, b) for a, b in zip(before, (motion.q, motion.v), strict=True))
    g = mg.gradient(motion, mg.Integral(lambda x: shifted(x.copy()), measure), WRT, method=method)
    assert np.abs(g.array).max() > 0


def test_data_at_all_instants():
    """Of any length; functions always see all instants."""
    motion = swing(duration=3.0)
    data = np.sin(motion.t)
    assert len(data) == 301
    g = mg.gradient(motion, mg.Integral(lambda x: (x - data) ** 2, mg.measures.JointCoordinate("elbow")), WRT)
    timed = mg.gradient(
        motion, mg.Integral(lambda x, t: (x - np.sin(t)) ** 2, mg.measures.JointCoordinate("elbow")), WRT
    )
    np.testing.assert_array_equal(g.array, timed.array)
    assert g.certify().passed


def test_one_instant_is_evaluated_alone():
    """Where a function has no value elsewhere, and where it counts its calls."""
    shapes = []

    def logarithm(x, t):
        shapes.append(len(x))
        return np.log((x - 0.4) * np.sign(0.2 - t))  # at the start there is none

    shoulder = mg.measures.JointCoordinate("shoulder")
    assert MOTION.q[5, 0] > 0.4 > MOTION.q[-1, 0]
    for goal in (mg.AtEnd(logarithm, shoulder), mg.AtTime(0.05, logarithm, shoulder)):
        g = mg.gradient(MOTION, goal, WRT)
        assert np.abs(g.array).min() > 1e-3
        assert g.certify().passed
    assert set(shapes) == {1}
    with pytest.raises(InputError, match=r"t = 0 s"), np.errstate(all="ignore"):
        mg.gradient(MOTION, mg.Integral(logarithm, shoulder), WRT)


def test_algebra():
    a, b = mg.Integral(mg.measures.JointCoordinate("elbow")), mg.AtEnd(mg.measures.JointVelocity("elbow"))
    A, B = (mg.gradient(MOTION, x, WRT).array for x in (a, b))
    for goal, expected in (
        (a - b, A - B), (-a, -A), (a / 2, A / 2), (a * 2, 2 * A), (sum([a, b]), A + B),
        (2 * (a - b) / 4 + a, 1.5 * A - 0.5 * B), (np.float64(3) * a, 3 * A), (a - 0, A), (0 - b, -B), (a - a, 0 * A),
    ):  # fmt: skip
        np.testing.assert_allclose(mg.gradient(MOTION, goal, WRT).array, expected, rtol=1e-12, atol=1e-13)
    for wrong in (lambda: a + 3, lambda: 3 - a, lambda: a + mg.measures.JointCoordinate("elbow"), lambda: a + "b"):
        with pytest.raises(InputError, match=r"constant|Wrap it|no objective"):
            wrong()
    for wrong in (lambda: a * b, lambda: a * np.ones(2), lambda: np.ones(2) * a, lambda: a / 0, lambda: a * np.nan):
        with pytest.raises(InputError, match=r"factor|product|divided"):
            wrong()


def test_sums_have_as_many_numbers():
    at = samples_of(MOTION)
    goal = mg.AtEnd(mg.measures.PointPosition("tip")) + mg.AtEnd(mg.measures.JointCoordinate("elbow"))
    for ask in (lambda: goal.values(at), lambda: goal.gradients(at, Parameters(MOTION, WRT))):
        with pytest.raises(InputError, match=r"\[3, 1\] numbers"):
            ask()


def test_what_is_no_objective_is_told():
    goal = mg.AtEnd(mg.measures.JointCoordinate("elbow"))
    assert as_objective(goal) is goal
    with pytest.raises(InputError, match=r"Wrap it: mg\.AtEnd\(JointCoordinate"):
        as_objective(mg.measures.JointCoordinate("elbow"))
    with pytest.raises(InputError, match="no objective"):
        as_objective(3.0)
    with pytest.raises(InputError, match="comes first"):
        mg.AtTime(mg.measures.JointCoordinate("elbow"), 0.5)
    with pytest.raises(InputError, match="partials"):
        mg.AtEnd(mg.measures.JointCoordinate("elbow"), partials=lambda x: x)


def test_terms_add_up_over_any_instants():
    """Weights over the whole motion, values and gradients over parts of it: the parts add up."""
    at, parameters = samples_of(MOTION), Parameters(MOTION, [*WRT, "elbow.origin.z"])
    goals = (
        mg.Integral(lambda x, t: np.sum(x * x, -1) * (1.0 + t), mg.measures.PointVelocity("tip")),
        mg.AtEnd(mg.measures.JointVelocity("elbow")),
        mg.AtTime(0.2, lambda x: np.abs(x), mg.measures.PointPosition("tip")),
    )
    for goal in goals:
        ((factor, term),) = goal.terms()
        w = term.weights(at.states.t, at.rule)
        assert factor == 1.0
        assert np.flatnonzero(w).tolist() == list(range(len(w)))[term.instants(at.states.t)]
        parts = [slice(0, 17), slice(17, 30), slice(30, None)]
        whole = goal.gradients(at, parameters)
        found = [term.gradients_at(at.rows(part), parameters, w[part]) for part in parts]
        np.testing.assert_allclose(sum(term.values_at(at.rows(p), w[p]) for p in parts), goal.values(at), rtol=1e-12)
        np.testing.assert_allclose(sum(g.by_parameters for g in found), whole.by_parameters, rtol=1e-12, atol=1e-14)
        for x, pieces in zip(whole.by_states, zip(*(g.by_states for g in found), strict=True), strict=True):
            np.testing.assert_allclose(np.concatenate(pieces), x, rtol=1e-12, atol=1e-14)
        assert max(np.abs(x).max(initial=0.0) for x in whole.by_states) > 0.01


def test_functions_of_time_alone_know_their_arguments():
    t, y = np.linspace(0.0, 1.0, 5), [np.linspace(1.0, 2.0, 5)]
    for function in (np.square, lambda t: t * t, lambda x, t: x * x + 0 * t):
        g, (slope,) = Integrand(function, None, 1, "test").partials(y, t)
        np.testing.assert_allclose(g[:, 0], y[0] ** 2)
        np.testing.assert_allclose(slope[:, 0, 0], 2.0 * y[0])
