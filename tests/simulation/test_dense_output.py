"""Motions read between their steps: the order of every scheme, the length of Euler parameters, closed loops, ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_cuts import dropped

import mechgrad as mg
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start, free_top
from mechgrad.gallery.tops import free_top_motion
from mechgrad.model.primitives.frames import quaternion_to_matrix
from mechgrad.steps.hermite import Ends, between, end_partials
from mechgrad.tolerances import COMPLEX_STEP

TIMES = np.sort(np.random.default_rng(4).uniform(0.02, 0.98, 40))
TIGHT = {"rtol": 1e-13, "atol": 1e-13}


def top(**how: Any) -> mg.Trajectory:
    model, q, v = free_top()
    return mg.simulate(model, mg.state(model, q, v), 1.0, **how)


def linkage(**how: Any) -> mg.Trajectory:
    model = five_bar()
    start = mg.assemble(model, {"A": -2.3, "1": 1.7}, guess=five_bar_start())
    return mg.simulate(model, start, 1.0, **how)


def orders(make: Any, how: dict[str, Any], steps: list[float], exact: Any) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of log errors of q, v and a over log h, by regression; and the errors with the shortest step."""
    errors = []
    for h in steps:
        found = make(step=h, **how).at(TIMES)
        errors.append([np.abs(x - y).max() for x, y in ((found.q, exact.q), (found.v, exact.v), (found.a, exact.a))])
    return np.polyfit(np.log(steps), np.log(errors), 1)[0], np.array(errors[-1])


ORDERS = [
    (top, {"scheme": "rk4"}, 4),
    (top, {"scheme": "rk4", "samples": 17}, 4),
    (top, {"scheme": mg.schemes.RungeKutta([[0, 0], [0.5, 0]], [0, 1])}, 2),
    (top, {"scheme": "trapezoidal"}, 2),
    (top, {"scheme": "newmark"}, 2),
    (top, {"scheme": "hht", "samples": 17}, 2),
    (top, {"scheme": "generalized-alpha"}, 2),
    (linkage, {"formulation": "ali3p", "scheme": "trapezoidal"}, 2),
    (linkage, {"formulation": "ali3p", "scheme": "hht", "samples": 17}, 2),
    (linkage, {"formulation": "index1", "scheme": "rk4"}, 4),
    (linkage, {"formulation": "matrix-r", "scheme": "trapezoidal", "samples": 17}, 2),
    (linkage, {"formulation": "matrix-r", "scheme": "rk4"}, 4),
]


@pytest.mark.parametrize(("make", "how", "order"), ORDERS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_between_steps_errors_fall_as_those_of_the_scheme(make: Any, how: dict[str, Any], order: int) -> None:
    finest = 64 if make is top else 128
    exact = make(**TIGHT, **({"formulation": "index1"} if make is linkage else {})).at(TIMES)
    slopes, errors = orders(make, how, [1 / finest, 1 / (2 * finest), 1 / (4 * finest), 1 / (8 * finest)], exact)
    assert np.all(np.abs(slopes - order) < 0.2), slopes
    assert np.all(errors > 1e-13)  # beyond rounding, where there is no order


def test_the_reference_is_the_closed_form() -> None:
    model, *_ = free_top()
    exact = top(**TIGHT).at(TIMES)
    attitude, spin = free_top_motion(TIMES)
    np.testing.assert_allclose(exact.v[:, model.layout.ball_v[0]], spin, rtol=0, atol=1e-10)
    e = exact.q[:, model.layout.ball_q[0]]
    np.testing.assert_allclose(quaternion_to_matrix(e), attitude, rtol=0, atol=1e-10)


def test_order_eight_is_read_by_its_own_interpolant() -> None:
    """Samples that were asked for are the same numbers, but for roundings: the march fuses products and sums, NumPy
    does not, and weights are differences of coefficients of some hundreds. Errors fall with the tolerance."""
    many = top(samples=len(TIMES) + 1, rtol=1e-9, atol=1e-9)
    few = top(samples=3, rtol=1e-9, atol=1e-9)
    rounding = 300 * np.finfo(float).eps
    np.testing.assert_allclose(few.at(many.t).q, many.q, rtol=0, atol=rounding)
    np.testing.assert_allclose(few.at(many.t).v, many.v, rtol=0, atol=rounding * np.abs(many.v).max())
    exact = top(**TIGHT).at(TIMES)
    errors = [np.abs(top(rtol=x, atol=x).at(TIMES).v - exact.v).max() for x in (1e-6, 1e-9)]
    assert errors[1] < 1e-8
    assert errors[1] < 1e-2 * errors[0]


def test_euler_parameters_have_length_one() -> None:
    for how in ({"scheme": "rk4", "step": 1 / 16}, {"scheme": "hht", "step": 1 / 16}, {}):
        motion = top(**how)
        e = motion.at(TIMES).q[:, motion.model.layout.ball_q[0]]
        assert np.abs(np.linalg.norm(e, axis=1) - 1.0).max() < 1e-14
        assert np.abs(np.diff(e, axis=0)).max() > 1e-3


def test_loops_between_steps() -> None:
    """Closed to h^4 with schemes of order two; with order eight reports are put back on the constraints."""
    missed = []
    for h in (1 / 64, 1 / 128, 1 / 256):
        found = linkage(formulation="ali3p", scheme="trapezoidal", step=h).at(TIMES)
        missed.append(found.norms[:, 0].max())
    slope = np.polyfit(np.log([4.0, 2.0, 1.0]), np.log(missed), 1)[0]
    assert 3.5 < slope < 4.5
    assert missed[0] > 1e-12
    exact = linkage(formulation="index1")
    assert exact.at(TIMES).norms[:, 0].max() < 1e-12
    state = linkage(formulation="ali3p", scheme="trapezoidal", step=1 / 64).at(0.513)
    assert 0.0 < state.position_error < 1e-6


def test_a_late_start_and_reported_instants() -> None:
    model = double_pendulum()
    for how in ({"step": 0.01}, {"step": 0.01, "samples": 11}, {}, {"step": 0.01, "scheme": "hht"}):
        early = mg.simulate(model, [1.0, 0.5], 1.0, **how)
        late = mg.simulate(model, mg.state(model, [1.0, 0.5], t=37.0), 1.0, **how)
        np.testing.assert_allclose(late.at(37.0 + TIMES).q, early.at(TIMES).q, rtol=0, atol=1e-11)
        there = early.at(early.t)
        for x, y in ((there.q, early.q), (there.v, early.v), (there.a, early.a)):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(early.at(0.0).q, early.q[0])
        np.testing.assert_allclose(early.at([0.9, 0.1]).q[::-1], early.at([0.1, 0.9]).q, rtol=0, atol=1e-14)


def test_a_state_between_steps_starts_a_motion() -> None:
    model = double_pendulum()
    whole = mg.simulate(model, [1.0, 0.5], 1.0, **TIGHT)
    rest = mg.simulate(model, whole.at(0.3712), 1.0 - 0.3712, **TIGHT)
    assert rest.t[0] == 0.3712
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=0, atol=1e-10)


def test_many_starts() -> None:
    model = double_pendulum()
    starts = np.array([[1.0, 0.5], [0.3, -0.2], [2.0, 0.1]])
    batch = mg.simulate(model, starts, 1.0, step=0.01, samples=11)
    found = batch.at(TIMES)
    assert found.q.shape == (3, len(TIMES), 2)
    for k, start in enumerate(starts):
        one = mg.simulate(model, start, 1.0, step=0.01).at(TIMES)
        np.testing.assert_allclose(found.q[k], one.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.v[k], one.v, rtol=0, atol=1e-12)
    assert batch.at(0.5).q.shape == (3, 2)


def test_divided_steps_count_as_one() -> None:
    motion = dropped()
    cut = motion.cuts[0]
    inside = motion.at(cut.t + cut.length * np.array([0.0, 0.3, 1.0]))
    k = round(cut.t / cut.length)
    np.testing.assert_allclose(inside.q[[0, 2]], motion.q[k : k + 2], rtol=0, atol=1e-12)
    low, high = np.minimum(motion.q[k, 2], motion.q[k + 1, 2]), np.maximum(motion.q[k, 2], motion.q[k + 1, 2])
    assert low - 1e-4 < inside.q[1, 2] < high + 1e-4
    few = dropped(samples=13)
    assert few.cuts
    np.testing.assert_allclose(few.at(motion.t).q, motion.q, rtol=0, atol=1e-9)


def test_steps_that_an_implicit_scheme_controls() -> None:
    few, many = (top(scheme="trapezoidal", rtol=1e-5, atol=1e-5, samples=n) for n in (3, 41))
    np.testing.assert_array_equal(few.at(many.t).q, many.q)


def test_stopped_motions_end_where_they_do() -> None:
    motion = mg.simulate(double_pendulum(), [1.0, 0.5], 5.0, step=0.01, samples=51, stop=lambda t, q, v: q[:, 0])
    end = float(motion.t[-1])
    np.testing.assert_allclose(motion.at(end).q, motion.q[-1], rtol=0, atol=1e-12)
    with pytest.raises(mg.InputError, match="not within the motion"):
        motion.at(end + 1e-3)


def test_what_is_refused() -> None:
    motion = mg.simulate(double_pendulum(), [1.0, 0.5], 1.0, step=0.01)
    for bad, word in ((1.01, "from 0 to 1 s"), (-0.2, "t = -0.2 s"), (np.nan, "nan"), ([0.1, 2.0], "t = 2 s")):
        with pytest.raises(mg.InputError, match=word):
            motion.at(bad)  # type: ignore[arg-type]
    for bad in ("soon", [[0.1]], 0.1j, []):
        with pytest.raises(mg.InputError, match="give one time"):
            motion.at(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("degree", [3, 5])
def test_partials_by_the_ends_of_a_step(degree: int) -> None:
    """Against complex steps of all that the ends have; a floating body with a hinge, and a large turn."""
    bodies = [mg.Body("a"), mg.Body("b")]
    model = mg.Model("free", bodies, [mg.Floating("f", "ground", "a"), mg.Revolute("h", "a", "b")])
    rng = np.random.default_rng(7)
    q0 = np.asarray(model.integrate(model.neutral(), rng.normal(size=7)))
    q1 = np.asarray(model.integrate(q0, 0.6 * rng.normal(size=7)))
    given = [q0, rng.normal(size=7), rng.normal(size=7), q1, rng.normal(size=7), rng.normal(size=7)]
    h, u, layout = np.array([0.3]), np.array([0.37]), model.layout
    found = end_partials(layout, Ends(*(x[None] for x in given)), h, u, degree)
    q, _ = between(layout, Ends(*(x[None] for x in given)), h, u, degree)
    for k in range(6):
        for j in range(7):
            moved: list[Any] = [x + 0j for x in given]
            step = 1j * COMPLEX_STEP * np.eye(7)[j]
            moved[k] = np.asarray(model.integrate(moved[k], step)) if k in (0, 3) else moved[k] + step
            there, v = between(layout, Ends(*(x[None] for x in moved)), h, u, degree)
            de, e = there[0, layout.ball_q[0]].imag / COMPLEX_STEP, q[0, layout.ball_q[0]]
            turn = 2.0 * (e[0] * de[1:] - de[0] * e[1:] - np.cross(de[1:], e[1:]))
            if j in layout.ball_v[0]:
                i = list(layout.ball_v[0]).index(j)
                np.testing.assert_allclose(found.ball_q[k, 0, 0, :, i], turn, rtol=0, atol=1e-13)
                by_v = v[0, layout.ball_v[0]].imag / COMPLEX_STEP
                np.testing.assert_allclose(found.ball_v[k, 0, 0, :, i], by_v, rtol=0, atol=1e-13)
                assert (degree == 3 and k in (2, 5)) or np.abs(turn).max() > 1e-6
            else:
                at = list(layout.plain_v).index(j)
                dq = there[0, layout.plain_q[at]].imag / COMPLEX_STEP
                assert found.plain_q[k, 0] == pytest.approx(dq, abs=1e-13)
                assert found.plain_v[k, 0] == pytest.approx(v[0, j].imag / COMPLEX_STEP, abs=1e-13)


def test_velocities_are_the_rates_of_coordinates() -> None:
    """v is the derivative of q in time, exactly; and both ends are met, accelerations included for degree 5."""
    model, q, v = free_top()
    motion = mg.simulate(model, mg.state(model, q, v), 0.2, step=0.1)
    ends = Ends(*(x[k : k + 1] for k in (0, 1) for x in (motion.q, motion.v, motion.a)))
    h, layout = np.array([0.1]), model.layout
    for degree in (3, 5):
        for u in (0.0, 0.4, 1.0):
            e, w = between(layout, ends, h, np.array([u]), degree)
            ahead, behind = (between(layout, ends, h, np.array([u + d]), degree) for d in (1e-5, -1e-5))
            de = (ahead[0] - behind[0])[0, layout.ball_q[0]] / (2e-5 * h[0])
            e = e[0, layout.ball_q[0]]
            turn = 2.0 * (e[0] * de[1:] - de[0] * e[1:] - np.cross(de[1:], e[1:]))
            np.testing.assert_allclose(w[0, layout.ball_v[0]], turn, rtol=0, atol=1e-8)
            if u != 0.4:
                k = int(u)
                np.testing.assert_allclose(w[0], motion.v[k], rtol=0, atol=1e-12)
                dw = (ahead[1] - behind[1])[0] / (2e-5 * h[0])
                assert degree == 3 or np.abs(dw - motion.a[k]).max() < 1e-6
