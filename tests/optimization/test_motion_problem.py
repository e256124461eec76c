"""Motions with known answers: minimum time and lifting of the two-link arm, both readings of the slide-and-hinge
arm."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Duration,
    Free,
    FreeNumber,
    JointLimits,
    MotionProblem,
    OvershootWarning,
    PointLimits,
    TorqueLimits,
    TorqueSquares,
)
from mechgrad.optimization.motion.splines import Splines


def two_link(gravity=(0, 0, 0)):
    row = mg.drawing.DHRow("revolute", a=0.4)
    bodies = [mg.Body(f"link{i}", 0.5, (-0.2, 0, 0), (0.1, 0.1, 0.1)) for i in (1, 2)]
    return mg.dh_model("two-link arm", [row, row], bodies=bodies, gravity=gravity)


def rest_to_rest(problem, start, end):
    return problem.subject_to(At(0, start), At(1, end), At(0, 0.0, "v"), At(1, 0.0, "v"))


def minimum_time(per_segment=1, segments=20):
    problem = MotionProblem(two_link(), Splines(segments), Free(0.1, 2.0)).minimize(Duration())
    return rest_to_rest(problem, (0, -2), (1, -1)).subject_to(TorqueLimits(-10, 10, per_segment=per_segment))


LOADS = [mg.Load("link2", force=(0, -10, 0))]


def lifting(per_segment=1):
    model = two_link((0, -9.8062, 0))
    problem = MotionProblem(model, Splines(20), Free(0.1, 2.0))
    problem.minimize(Duration(0.99), TorqueSquares(0.01, loads=LOADS, per_segment=per_segment))
    rest_to_rest(problem, (1.32, -2.37), (2.8, -2.37))
    return problem.subject_to(TorqueLimits(-10, 10, loads=LOADS, per_segment=per_segment))


@pytest.mark.parametrize(("per_segment", "segments", "T"), [(1, 20, 0.392659), (4, 20, 0.393150), (1, 19, 0.392183)])
def test_minimum_time(per_segment, segments, T):
    solution = minimum_time(per_segment, segments).solve()
    assert solution.result.success, solution.result.reason
    assert solution.duration == pytest.approx(T, abs=2e-6)
    assert solution.result.iterations <= 40
    tau = solution.torques(segments * per_segment + 1)
    assert np.max(np.abs(tau)) < 10 + 1e-6
    assert np.max(np.abs(tau)) > 9.99, "a time optimum uses all the torque there is"
    t, q, v, _ = solution.motion(51)
    np.testing.assert_allclose(q[[0, -1]], [(0, -2), (1, -1)], atol=1e-7)
    np.testing.assert_allclose(v[[0, -1]], 0, atol=1e-6)
    assert t[-1] == solution.duration


def test_enforcing_between_knots_removes_the_overshoot():
    coarse, fine = minimum_time(1).solve(), minimum_time(4).solve()
    assert np.max(coarse.overshoot(10.0)) > 2 * np.max(fine.overshoot(10.0))


@pytest.mark.parametrize(("per_segment", "T", "cost"), [(1, 0.519293, 0.846608), (4, 0.519192, 0.845075)])
def test_lifting(per_segment, T, cost):
    solution = lifting(per_segment).solve()
    assert solution.result.success, solution.result.reason
    assert solution.duration == pytest.approx(T, abs=2e-5)
    assert solution.result.objective == pytest.approx(cost, abs=2e-6)
    assert solution.result.iterations <= 40


@pytest.mark.parametrize(("theta", "T", "cost"), [(np.pi / 2, 0.647030, 0.854080), (0.0, 0.586492, 0.774169)])
def test_slide_and_hinge(theta, T, cost):
    rows = [
        mg.drawing.DHRow("prismatic", theta=np.pi / 2, d=0.4, alpha=np.pi / 2),
        mg.drawing.DHRow("revolute", theta=theta, a=0.4),
    ]
    bodies = [mg.Body("link1", 0.5, (0, -0.2, 0), (0.1,) * 3), mg.Body("link2", 0.5, (-0.2, 0, 0), (0.1,) * 3)]
    model = mg.dh_model("P-R arm", rows, bodies=bodies, gravity=(0, 0, 0))
    problem = MotionProblem(model, Splines(20), Free(0.1, 2.0)).minimize(Duration(0.99), TorqueSquares(0.01))
    rest_to_rest(problem, (0.1, 0.6), (np.pi / 4, -np.pi / 4)).subject_to(TorqueLimits(-10, 10))
    solution = problem.solve()
    assert solution.result.success
    assert solution.duration == pytest.approx(T, abs=2e-4)
    assert solution.result.objective == pytest.approx(cost, abs=2e-5)


def test_random_starts_find_the_same_motion():
    problem = minimum_time()
    rng = np.random.default_rng(0)
    base = problem.guess()
    for _ in range(5):
        start = base + rng.normal(0, 0.3, base.size)
        start[-1] = rng.uniform(0.3, 1.5)
        solution = problem.solve(start)
        assert solution.result.success
        assert solution.duration == pytest.approx(0.392659, abs=2e-6)


def test_refinement_starts_from_a_coarser_solution():
    with pytest.warns(OvershootWarning, match="per_segment=2"):
        coarse = minimum_time(segments=10).solve()
    fine = minimum_time(segments=40).solve(coarse)
    assert fine.result.success
    assert fine.duration == pytest.approx(0.392054, abs=5e-6)
    again = minimum_time(segments=40).solve(fine)
    assert again.duration == pytest.approx(fine.duration, abs=1e-7)


def test_slsqp_agrees():
    solution = minimum_time().solve(solver="slsqp", tolerance=1e-9)
    assert solution.duration == pytest.approx(0.392659, abs=1e-5)


def test_a_point_stays_below_the_ceiling():
    """Without the limit the tip rises above it; with it, it does not, and the cost rises instead."""
    base = two_link((0, -9.81, 0))
    model = mg.Model(base.name, base.bodies, base.joints, [mg.Point("tip", "link2")], gravity=base.gravity)

    def reach(*more):
        problem = MotionProblem(model, Splines(10), 1.0).minimize(TorqueSquares())
        rest_to_rest(problem, (0.2, 0.3), (np.pi - 0.2, -0.3)).subject_to(JointLimits(-7, 7), *more)
        return problem.solve()

    free = reach()
    highest = lambda s: mg.kinematics.marker_motion(model, ["tip"], s.motion(201)[1]).position[:, 0, 1].max()  # noqa: E731
    ceiling = highest(free) - 0.1
    kept = reach(PointLimits("tip", -np.inf, (np.inf, ceiling, np.inf), per_segment=4))
    assert kept.result.success, kept.result.reason
    assert highest(kept) < ceiling + 1e-3
    assert kept.result.objective > free.result.objective


def test_a_free_mass_goes_to_its_lower_bound_and_the_time_falls():
    """Lighter is faster: the bound is met, and the motion is that of the lighter arm."""
    light = two_link().with_values({"link2.mass": 0.3})
    problem = MotionProblem(light, Splines(20), Free(0.1, 2.0)).minimize(Duration())
    wanted = rest_to_rest(problem, (0, -2), (1, -1)).subject_to(TorqueLimits(-10, 10)).solve().duration
    problem = MotionProblem(two_link(), Splines(20), Free(0.1, 2.0), [FreeNumber("link2.mass", 0.3, 1.0)])
    rest_to_rest(problem.minimize(Duration()), (0, -2), (1, -1)).subject_to(TorqueLimits(-10, 10))
    solution = problem.solve()
    assert solution.result.success
    assert solution.model.value("link2.mass") == pytest.approx(0.3, abs=1e-6)
    assert solution.duration == pytest.approx(wanted, abs=1e-6)
    assert solution.duration < 0.3926
    with pytest.raises(mg.InputError, match=r"'link2\.mass' is 0\.5 .*outside of \[0\.6, 1\.0\]"):
        MotionProblem(two_link(), Splines(4), 1.0, [FreeNumber("link2.mass", 0.6, 1.0)])
    with pytest.raises(mg.InputError, match="need finite bounds"):
        FreeNumber("link2.mass", 1.0, 0.5)


def test_solutions_plot(tmp_path):
    solution = minimum_time(2, segments=8).solve()
    figure = solution.plot()
    figure.savefig(tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 10_000


def test_bad_problems_are_refused_before_they_are_solved():
    model = two_link()
    with pytest.raises(mg.InputError, match="duration is -1"):
        MotionProblem(model, Splines(4), -1.0)
    with pytest.raises(mg.InputError, match="need 0 < lower < upper"):
        Free(2.0, 1.0)
    problem = MotionProblem(model, Splines(4), 1.0)
    with pytest.raises(mg.InputError, match="make it Free"):
        problem.minimize(Duration())
    with pytest.raises(mg.InputError, match=r"tau\(dh\.1\) between 10\.0 and -10\.0; the limits cross"):
        problem.subject_to(TorqueLimits(10, -10))
    with pytest.raises(mg.ModelError, match=r"unknown joint coordinate 'dh\.9'"):
        problem.subject_to(TorqueLimits(-1, 1, joints=["dh.9"]))
    with pytest.raises(mg.InputError, match="is not a constraint"):
        problem.subject_to(3)
    coarse = MotionProblem(model, Splines(1), 1.0)
    for xi in (0, 0.3, 0.6, 1):
        coarse.subject_to(At(xi, (0, 0)), At(xi, 0.0, "v"))
    with pytest.raises(mg.InputError, match="too coarse"):
        coarse.solve()


def test_an_impossible_task_names_what_cannot_be_met():
    """One metre in ten milliseconds with ten newtons."""
    model = mg.Model("slider", [mg.Body("b", 1.0)], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))])
    problem = MotionProblem(model, Splines(6), 0.01).minimize(TorqueSquares())
    rest_to_rest(problem, 0.0, 1.0).subject_to(TorqueLimits(-10, 10))
    solution = problem.solve()
    assert not solution.result.success
    assert solution.result.worst
    assert any("tau(x)" in violation.name or "at xi" in violation.name for violation in solution.result.worst)
