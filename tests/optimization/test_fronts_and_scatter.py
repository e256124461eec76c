"""Two objectives at once, and numbers that scatter: closed forms of a block that slides without force."""

from __future__ import annotations

import numpy as np
import pytest
from support.design_cases import slider

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.optimization.design.robust import MeanDeviation, deviation, scattered

X, V = mg.measures.JointCoordinate("x"), mg.measures.JointVelocity("x")


def sliding(x0: float = 0.0, v0: float = 0.4) -> mg.Trajectory:
    """x(1) = x0 + v0."""
    model = slider()
    return mg.simulate(model, mg.assemble(model, {"x": x0}, {"x": v0}), 1.0, step=0.05)


def problem(**parts) -> mg.DesignProblem:
    """How fast to arrive at 1 m: f_1 = (v0 - 1)^2."""
    return mg.DesignProblem(
        sliding(), {"start.velocity.x": (-2.0, 3.0)}, mg.AtEnd(lambda x: (x - 1.0) ** 2, X), **parts
    )


SLOW = mg.AtTime(0.0, lambda v: v**2, V)

# ---- fronts


def test_a_front_is_the_closed_form_and_its_slope_the_multiplier():
    """f_1 = (v - 1)^2, f_2 = v^2: the front is f_1 = (1 - sqrt f_2)^2 with df_1/df_2 = -(1 - v) / v."""
    front = mg.design.pareto(problem(), SLOW, 6)
    assert len(front.points) == 6
    assert front.failed == front.dominated == ()
    first, second = front.array.T
    np.testing.assert_allclose(second, np.linspace(0.0, 1.0, 6), atol=1e-6)
    np.testing.assert_allclose(first, (1.0 - np.sqrt(np.maximum(second, 0.0))) ** 2, atol=2e-6)
    v = np.sqrt(second[1:-1])
    np.testing.assert_allclose([p.slope for p in front.points[1:-1]], -(1.0 - v) / v, rtol=1e-4)
    assert front.points[-1].slope == 0.0
    assert np.isnan(front.points[0].slope)
    assert front.points[2].values["start.velocity.x"] == pytest.approx(np.sqrt(0.4), rel=1e-5)
    assert "slope" in str(front)
    assert "6 designs" in repr(front)
    assert len(front.plot().axes[0].lines) == 1


def test_a_front_that_was_killed_goes_on_from_its_logs(tmp_path):
    """Every search has a log. The last two are missing, the one before is cut: the same front, the rest not again."""
    whole = mg.design.pareto(problem(), SLOW, 4, log=tmp_path / "run.jsonl")
    logs = sorted(tmp_path.glob("run.front-*.jsonl"))
    assert [log.name for log in logs] == [f"run.front-{k}.jsonl" for k in range(1, 5)]
    sizes = [len(log.read_text().splitlines()) for log in logs]
    for log in logs[2:]:
        log.unlink()
    logs[1].write_text("".join(logs[1].read_text().splitlines(keepends=True)[:2]))
    again = mg.design.pareto(problem(), SLOW, 4, resume=tmp_path / "run.jsonl")
    np.testing.assert_array_equal(again.array, whole.array)
    assert [len(log.read_text().splitlines()) for log in logs] == sizes
    first = again.points[-1].optimum
    assert first.program.evaluator.simulations == 0
    with pytest.raises(InputError, match="is there already"):
        mg.design.pareto(problem(), SLOW, 4, log=tmp_path / "run.jsonl")


def test_designs_that_others_beat_are_told():
    """Between wells of f_1 at 0.5 and 2.5 the search stays on the far side for a while, where others are better."""

    asked = mg.DesignProblem(
        sliding(0.0, 2.4), {"start.velocity.x": (-2.0, 3.0)}, mg.AtEnd(lambda x: (x - 2.5) ** 2 * (x - 0.5) ** 2, X)
    )
    front = mg.design.pareto(asked, SLOW, 6)
    assert front.dominated
    for p in front.dominated:
        assert any(q.first <= p.first + 1e-6 and q.second <= p.second + 1e-6 for q in front.points)
    for p in front.points:
        assert not any(q.first < p.first - 1e-6 and q.second < p.second - 1e-6 for q in front.points)
    assert "dominated, left out" in str(front)


def test_objectives_without_conflict_have_one_design():
    front = mg.design.pareto(problem(), mg.AtEnd(lambda x: 2.0 * (x - 1.0) ** 2 + 3.0, X), 5)
    assert len(front.points) == 1
    assert front.array[0] == pytest.approx([0.0, 3.0], abs=1e-8)


def test_bad_questions_about_fronts_are_refused():
    for arguments, message in (
        ((SLOW, 1), "count is 1"),
        ((X, 5), "Wrap it"),
    ):
        with pytest.raises(InputError, match=message):
            mg.design.pareto(problem(), *arguments)
    both = mg.DesignProblem(
        {"a": sliding(), "b": sliding(0.1)}, {"start.velocity.x": (-2.0, 3.0)}, mg.AtEnd(lambda x: x**2, X)
    )
    with pytest.raises(InputError, match="say whose motion"):
        mg.design.pareto(both, SLOW, 3)
    front = mg.design.pareto(both, mg.AtTime(0.0, lambda v: (v - 1.0) ** 2, V), 3, scenario="b")
    assert len(front.points) == 3


# ---- scatter

SIGMA = 0.05


def moments(d: float, s: float = SIGMA) -> tuple[float, float]:
    """Of (d + e)^2, e normal with deviation s."""
    return d**2 + s**2, float(np.sqrt(4.0 * d**2 * s**2 + 2.0 * s**4))


@pytest.mark.parametrize("v0", [0.4, 1.0, 1.7])
def test_mean_and_deviation_of_a_square_are_exact_with_their_slopes(v0):
    """F = (x0 + v0 - 1)^2 with x0 scattered: three points integrate what a normal distribution has up to degree 5."""
    k = 2.5
    cases = scattered(sliding(v0=v0), {"start.position.x": SIGMA})
    goal = MeanDeviation(mg.AtEnd(lambda x: (x - 1.0) ** 2, X), k)
    asked = mg.DesignProblem(cases, {"start.velocity.x": (-2.0, 3.0)}, goal)
    program = asked.program(asked.evaluator())
    m, s = moments(v0 - 1.0)
    assert program.objective(program.start) == pytest.approx(m + k * s, rel=1e-10)
    d = v0 - 1.0
    assert program.gradient(program.start)[0] == pytest.approx(2.0 * d + k * 4.0 * d * SIGMA**2 / s, rel=1e-8, abs=1e-9)


def pushed() -> mg.Trajectory:
    """x(1) = F / (2 m) of a constant force."""
    motor = mg.forces.Motor("push", "x", mg.functions.Constant(1.0))
    return mg.simulate(slider(forces=[motor]), {"x": 0.0}, 1.0, step=0.05)


def test_a_robust_design_is_another_one():
    """x = F / (2 m) with a mass that scatters: less force spreads less, so that the robust one falls short of 1 m.

    The oracle integrates over the normal distribution with forty points (Gauss-Hermite), and minimises on a grid.
    """
    k, s = 1.5, 0.1
    cases = scattered(pushed(), {"block.mass": s})
    goal = MeanDeviation(mg.AtEnd(lambda x: (x - 1.0) ** 2 + 0.2 * x, X), k)
    best = mg.DesignProblem(cases, {"push.torque.value": (0.5, 10.0)}, goal).solve()
    assert best.success
    z, w = np.polynomial.hermite_e.hermegauss(40)
    w = w / w.sum()
    force = np.linspace(2.0, 5.0, 30_001)
    x = force / (2.0 * (2.0 + s * z[:, None]))
    F = (x - 1.0) ** 2 + 0.2 * x
    m = w @ F
    closed = m + k * np.sqrt(w @ (F - m) ** 2)
    found = best.values["push.torque.value"]
    assert found == pytest.approx(force[np.argmin(closed)], rel=1e-3)
    assert best.value == pytest.approx(closed.min(), rel=1e-3)
    mean_alone = force[np.argmin(m)]
    assert abs(found - mean_alone) > 20.0 * abs(found - force[np.argmin(closed)])


def test_samples_and_the_linearised_spread_agree_with_the_closed_form():
    motion, objective = sliding(v0=0.4), mg.AtEnd(lambda x: (x - 1.0) ** 2, X)
    linear = deviation(motion, objective, {"start.position.x": SIGMA, "start.velocity.x": 2.0 * SIGMA})
    assert linear.value == pytest.approx(0.36)
    assert linear.sigma == pytest.approx(2.0 * 0.6 * SIGMA * np.sqrt(5.0), rel=1e-9)
    assert linear.shares == pytest.approx({"start.position.x": 0.2, "start.velocity.x": 0.8})
    cases = scattered(motion, {"start.position.x": SIGMA}, samples=64, seed=3)
    F = np.array([mg.simulate(s.model, s.repeat.made().recipe.start, 1.0, step=0.05).q[-1, 0] for s in cases.values()])
    F = (F - 1.0) ** 2
    m, s = moments(-0.6)
    assert F.mean() == pytest.approx(m, rel=2e-3)
    assert F.std() == pytest.approx(s, rel=0.03)
    again = scattered(motion, {"start.position.x": SIGMA}, samples=64, seed=3)
    assert [x.repeat.start_values() for x in again.values()] == [x.repeat.start_values() for x in cases.values()]


def test_sigma_points_have_the_covariance():
    C = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, -0.5], [0.0, -0.5, 1.0]]) * 1e-4
    model = slider()
    motion = mg.simulate(model, {"x": 0.0}, 0.1, step=0.05)
    paths = ["block.mass", "block.com.x", "block.com.y"]
    cases = scattered(motion, dict.fromkeys(paths, 1.0), covariance=C)
    w = np.array([c.weight for c in cases.values()])
    p = np.array([[c.model.value(path) for path in paths] for c in cases.values()])
    assert w.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(w @ p, [2.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose((w[:, None] * (p - w @ p)).T @ (p - w @ p), C, atol=1e-16)


def test_a_variable_that_is_made_with_a_tolerance():
    """A force that is a variable and scatters: what is made is the nominal value plus an error."""
    cases = scattered(pushed(), {"push.torque.value": 0.1}, varied=["push.torque.value"])
    goal = MeanDeviation(mg.AtEnd(lambda x: (x - 1.0) ** 2, X), 1.0)
    asked = mg.DesignProblem(cases, {"nominal push torque value": (0.0, 10.0)}, goal)
    d, s = 0.25 - 1.0, 0.1 / 4.0
    m, sd = moments(d, s)
    program = asked.program(asked.evaluator())
    assert program.objective(program.start) == pytest.approx(m + sd, rel=1e-6)
    assert asked.solve().values["nominal push torque value"] == pytest.approx(4.0, abs=1e-3)


def test_bad_scatter_is_refused():
    motion = sliding()
    for arguments, options, message in (
        ({}, {}, "nothing scatters"),
        ({"block.mass": 0.0}, {}, "positive and finite"),
        ({"block.mas": 0.1}, {}, "mass"),
        ({"start.position.y": 0.1}, {}, "start.position"),
        ({"block.mass": 0.1}, {"samples": 1}, "samples is 1"),
        ({"block.mass": 0.1}, {"varied": ["block.com.x"]}, "varied names"),
        ({"block.mass": 1.0}, {"covariance": [[0.0]]}, "positive definite"),
        ({"block.mass": 1.0}, {"covariance": [[1.0, 0.0]]}, "symmetric"),
    ):
        with pytest.raises(mg.MechgradError, match=message):
            scattered(motion, arguments, **options)
    with pytest.raises(InputError, match="k is -1"):
        MeanDeviation(mg.AtEnd(X), -1)
    two = MeanDeviation([mg.AtEnd(X), mg.AtEnd(V)])
    with pytest.raises(InputError, match="one objective of every scenario"):
        mg.DesignProblem(motion, {"start.velocity.x": (-1.0, 1.0)}, two)
