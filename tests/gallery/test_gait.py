"""The step of the walker as a problem: its sizes and phases, equations that do not repeat each other, and the numbers
of its check against motions that are known in closed form. The step itself is found by the example."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import walker, walker_limits
from mechgrad.gallery.gait import gait
from mechgrad.optimization.motion import MotionSolution

G, WEIGHT = 9.81, 77.5 * 9.81


@pytest.fixture(scope="module")
def step():
    return gait()


@pytest.fixture(scope="module")
def transcription(step):
    return step.problem.transcription()


# ---------------------------------------------------------------------------------------------------------- structure
def test_sizes(step, transcription):
    lower, upper = transcription.bounds
    assert transcription.n == (10 + 3) * 33
    assert transcription.m == lower.size == upper.size == len(transcription.names)
    labels = Counter(transcription.labels)
    assert labels["torque limits"] == 27 * (21 + 2)  # two instants per segment, and one before each change of support
    assert labels["friction"] == 5 * (21 + 2)
    assert labels["limits of q"] == (27 + 3) * 11 + 1
    assert labels["periodic q"] == labels["periodic v"] == labels["periodic a"] == 33
    assert labels["contact of heel_right"] == 3 * 8  # knots from 0 to 0.7
    assert labels["contact of heel_right, no slip"] == 3 * 2
    assert step.problem.model.n_v == 33


def test_data_of_the_step(step):
    limits = walker_limits(walker())
    assert step.actuated == tuple(limits)
    np.testing.assert_array_equal(step.torque_limits, [torque for _, _, torque in limits.values()])
    assert step.problem.duration == pytest.approx(0.6 / 1.2)
    slow = gait(speed=0.5, length=0.4, segments=20, per_segment=1, width=0.2)
    assert slow.problem.duration == pytest.approx(0.8)
    assert slow.problem.splines.segments == 20
    assert (slow.length, slow.tracks) == (0.4, (0.1, -0.1))
    assert slow.problem.transcription().n == 23 * 33


def test_phases(step):
    """Both feet until 0.2, the right one until 0.7, its toes until 1; polygons follow the feet."""
    standing = {xi: {s.body for s in step.ground if s.holds(np.array([xi]))[0]} for xi in (0, 0.19, 0.2, 0.69, 0.7, 1)}
    both, flat, toes = {"toes_left", "foot_right"}, {"foot_right"}, {"toes_right"}
    assert standing == {0: both, 0.19: both, 0.2: flat, 0.69: flat, 0.7: toes, 1: toes}
    times = [during for during, _ in step.supports]
    np.testing.assert_allclose(times, [(0, 0.2), (0.2, 0.7), (0.7, 1)], atol=2e-6)
    assert all(end < start for (_, end), (start, _) in pairwise(times))
    for (start, _), polygon in step.supports:
        low, high = polygon.min(axis=0), polygon.max(axis=0)
        places = np.array([s.place for s in step.ground if s.holds(np.array([start]))[0]])[:, :2]
        assert np.all((places >= low) & (places <= high))
    for stance in step.ground:
        assert stance.place[1] == {"left": 0.07, "right": -0.07}[stance.body.split("_")[1]]


@pytest.mark.parametrize("seed", [0, 1])
def test_equations_are_independent(transcription, seed):
    """Symmetry, contacts and their velocities state nothing twice: full rank at a posture without symmetry."""
    x = np.random.default_rng(seed).normal(0, 0.2, transcription.n)
    J = np.zeros((transcription.m, transcription.n))
    J[transcription.jacobian_structure] = transcription.jacobian(x)
    lower, upper = transcription.bounds
    equations = J[lower == upper]
    assert len(equations) == 199
    assert np.linalg.matrix_rank(equations / np.linalg.norm(equations, axis=1, keepdims=True), tol=1e-6) == 199


@pytest.mark.parametrize(
    ("numbers", "match"),
    [
        ({"segments": 15}, "segments is 15; the phases of the step need a multiple of 10"),
        ({"segments": 0}, "segments is 0"),
        ({"segments": -10}, "segments is -10"),
        ({"speed": 0.0}, r"speed is 0\.0 m/s, length 0\.6 m, width 0\.14 m; all must be positive"),
        ({"speed": -1.2}, "all must be positive"),
        ({"speed": np.nan}, "all must be positive"),
        ({"length": 0.0}, "all must be positive"),
        ({"per_segment": 0}, "per_segment is 0"),
    ],
)
def test_steps_that_cannot_be(numbers, match):
    with pytest.raises(mg.InputError, match=match):
        gait(**numbers)


# --------------------------------------------------------------------------------------------------------------- check
def motion(step, rise: float = 0.0) -> MotionSolution:
    """Upright, rising with constant acceleration: everything follows from statics."""
    splines, T = step.problem.splines, step.problem.duration
    xi = np.linspace(0, 1, 60)
    q = np.zeros((60, 33))
    q[:, 2] = 0.5 * rise * (T * xi) ** 2
    P = splines.fit(xi, q)
    return MotionSolution(step.model, splines, P, T, SimpleNamespace(x=P.ravel()))


def test_check_of_standing_still(step):
    """The feet stand side by side, 0.09 m from the midline instead of 0.07, and not 0.6 m apart."""
    solution = motion(step)
    found = step.check(solution, 41)
    mass = np.array([body.mass for body in step.model.bodies])
    com = (
        mass
        @ mg.kinematics.marker_motion(step.model, [f"{b.name}.com" for b in step.model.bodies], np.zeros(33)).position
    )
    assert found.variables == 429
    assert found.slip == pytest.approx(0.6)  # the left toes stand a step ahead of where they should
    assert found.sink == pytest.approx(0, abs=1e-9)
    assert found.asymmetry == pytest.approx(0.6)
    assert found.zmp_margin == pytest.approx(com[0] / mass.sum() - 0.12, abs=1e-6)  # behind the ball of the foot
    assert found.mid_stance_force == pytest.approx((1, 1))
    assert found.mean_force == pytest.approx(1)
    # all the weight on the right toes: about their hinge 0.12 m before the ankle, against 40 N m
    load = 0.2 * G * 0.03 - WEIGHT * (com[0] / mass.sum() - 0.12)
    assert found.torque_use == pytest.approx(abs(load) / 40, rel=1e-6)
    # the knee should be bent by 55 degrees in mid-swing, and torques should be below their limits
    assert found.violation == pytest.approx(max(np.deg2rad(55), found.torque_use - 1), rel=1e-6)
    assert 0 < found.active < found.constraints


def test_check_of_rising(step):
    found = step.check(motion(step, rise=2.0), 41)
    assert found.mean_force == pytest.approx(1 + 2 / G)
    assert found.mid_stance_force == pytest.approx((1 + 2 / G, 1 + 2 / G))
    assert found.sink == pytest.approx(0.5 * 2 * 0.5**2)
    assert found.slip == pytest.approx(0.6)
    assert found.asymmetry == pytest.approx(2 * 0.5)  # of the velocity, which exceeds that of the places
