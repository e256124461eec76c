"""Torques between the instants where their limits are enforced: reported by name, instant and remedy."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Duration,
    Free,
    FreeNumber,
    MotionProblem,
    MotionSolution,
    OvershootWarning,
    Splines,
    TorqueLimits,
    TorqueSquares,
)

HINGE = mg.Model(
    "swinging arm", [mg.Body("arm", 2.0, (0.5, 0, 0), (0.1, 0.1, 0.1))], [mg.Revolute("shoulder", "ground", "arm")],
    gravity=(0, -9.81, 0),
)  # fmt: skip


def swing(per_segment: int = 1, knots: bool = False, **more) -> MotionProblem:
    problem = MotionProblem(HINGE, Splines(6), Free(0.2, 2.0, knots=knots), **more).minimize(Duration())
    return problem.subject_to(
        At(0, -1.0), At(1, 1.3), At(0, 0.0, "v"), At(1, 0.0, "v"), TorqueLimits(-14.0, 15.0, per_segment=per_segment)
    )


def dense(solution: MotionSolution, samples: int = 2401) -> tuple[np.ndarray, np.ndarray]:
    """Instants and torques in closed form: tau = (I + m c^2) a + m g c cos q, the hinge about z."""
    t, q, _, a = solution.motion(samples)
    return t, 0.6 * a[:, 0] + 2.0 * 9.81 * 0.5 * np.cos(q[:, 0])


@pytest.mark.parametrize("knots", [False, True])
def test_the_warning_names_joint_instant_amount_and_remedy(knots):
    with pytest.warns(OvershootWarning) as found:
        solution = swing(knots=knots).solve()
    assert solution.result.success
    text = str(found[0].message)
    words = re.fullmatch(
        r"tau\(shoulder\) is ([\d.]+) % \(([\d.]+)\) beyond its limit at t = ([\d.]+) s \(xi = [\d.]+\), between the "
        r"instants where it is enforced\. Enforce it at more of them: TorqueLimits\(\.\.\., per_segment=(\d+)\) "
        r"instead of 1\. solution\.residuals\(\) tells how far all constraints are violated\.",
        text,
    )
    assert words, text
    part, amount, when = map(float, words.groups()[:3])
    t, tau = dense(solution)
    beyond = np.maximum(tau - 15.0, -14.0 - tau)
    # the grid of the warning is 50 times coarser than this one: it may miss the top by a little
    assert amount == pytest.approx(beyond.max(), rel=0.05)
    assert np.interp(when, t, beyond) == pytest.approx(amount, rel=0.02)
    assert part == pytest.approx(100 * amount / 15.0, abs=0.05 + 0.5 / 15.0)  # digits shown
    assert found[0].filename == __file__


def test_the_remedy_helps():
    with pytest.warns(OvershootWarning) as found:
        coarse = swing().solve()
    enough = int(re.search(r"per_segment=(\d+)", str(found[0].message)).group(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = swing(enough).solve()
    assert dense(fine)[1].max() < 15.0 * 1.01
    assert fine.duration > coarse.duration


def test_residuals_of_a_solution_look_between_the_instants():
    with pytest.warns(OvershootWarning):
        solution = swing().solve()
    beyond = np.maximum(dense(solution, 49)[1] - 15.0, -14.0 - dense(solution, 49)[1]).max()
    assert beyond > 0.15
    found, at_knots = solution.residuals(), solution.residuals(1)
    assert found["torque limits"] == pytest.approx(beyond, rel=1e-6)
    assert max(at_knots.values()) < 1e-6
    assert {"q at xi = 0", "v at xi = 1"} < set(found)
    assert solution.problem.residuals(solution) == found
    for bad in (0, 2.5, True):
        with pytest.raises(mg.InputError, match="finer is"):
            solution.residuals(bad)
    loaded = MotionSolution(HINGE, solution.splines, solution.control_points, solution.duration, None)
    with pytest.raises(mg.InputError, match=r"problem\.residuals\(solution\)"):
        loaded.residuals()


def test_free_numbers_and_limits_by_instant():
    """The torques are those of the model that was found; limits that are given instant by instant cannot be refined."""
    with pytest.warns(OvershootWarning) as found:
        solution = swing(numbers=[FreeNumber("arm.mass", 1.0, 3.0)]).solve()
    assert solution.model.value("arm.mass") == pytest.approx(1.0, abs=1e-5)
    amount = float(re.search(r"\(([\d.]+)\)", str(found[0].message)).group(1))
    _, q, _, a = solution.motion(49)
    mass = solution.model.value("arm.mass")
    tau = (0.1 + mass * 0.25) * a[:, 0] + mass * 9.81 * 0.5 * np.cos(q[:, 0])
    assert amount == pytest.approx(np.maximum(tau - 15.0, -14.0 - tau).max(), rel=5e-3)
    by_instant = MotionProblem(HINGE, Splines(6), 0.8).minimize(TorqueSquares())
    by_instant.subject_to(At(0, -1.0), At(1, 1.3), At(0, 0.0, "v"), At(1, 0.0, "v"))
    by_instant.subject_to(TorqueLimits(np.full((7, 1), -14.0), np.full((7, 1), 15.0)))
    assert by_instant.solve().result.success
