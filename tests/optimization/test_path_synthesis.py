"""Paths of four-bars through published points, from many starts: what is found, by two circles."""

from __future__ import annotations

import numpy as np
import pytest
from support.example_modules import example_module

import mechgrad as mg


def example():
    return example_module("24_path_synthesis")


def by_circles(values: dict[str, float], n: int) -> np.ndarray:
    """Where the coupler point is at each angle of the crank (n, 2): the rocker's pin where two circles meet."""
    ground, crank, coupler, rocker = (values[f"{x}"] for x in example().BARS)
    turn = np.array([values[f"turn.function.values.{k}"] for k in range(n)])
    B = crank * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    d = np.array([ground, 0.0]) - B
    s = np.linalg.norm(d, axis=1)
    angle = np.arctan2(d[:, 1], d[:, 0]) + np.arccos((coupler**2 + s**2 - rocker**2) / (2.0 * coupler * s))
    along, across = np.stack([np.cos(angle), np.sin(angle)], 1), np.stack([-np.sin(angle), np.cos(angle)], 1)
    P = B + values["P.position.x"] * along + values["P.position.y"] * across
    c, s = np.cos(values["tilt.function.value"]), np.sin(values["tilt.function.value"])
    return P @ np.array([[c, s], [-s, c]]) + [values["O.origin.x"], values["O.origin.y"]]


def check(best: mg.design.Optimum, points: np.ndarray) -> None:
    """The error by circles; a crank that turns all around; points in their order."""
    x, n = best.values, len(points)
    missed = by_circles(x, n) - points
    assert np.sum(missed**2) == pytest.approx(2.0 * best.value, rel=1e-6, abs=1e-16)
    ground, crank, coupler, rocker = (x[name] for name in example().BARS)
    assert crank + max(ground, coupler, rocker) <= sorted((ground, coupler, rocker))[:2] @ np.ones(2) - 0.1 + 1e-9
    turn = np.array([x[f"turn.function.values.{k}"] for k in range(n)])
    assert np.diff(turn).min() >= 0.02 - 1e-9
    assert turn[-1] - turn[0] <= 2 * np.pi + 1e-9


def test_an_ellipse_from_one_start():
    module = example()
    problem = module.problem(module.ELLIPSE, 80.0)
    best = problem.solve()
    assert best.success
    assert best.result.solver == "least-squares"
    assert best.failures == ()  # limits keep every design on the way together
    assert best.value < 1e-4 * best.start_value
    check(best, module.ELLIPSE)


def test_starts_hold_linear_limits():
    """Sobol points that broke them are moved to the nearest ones that do not, and can all be put together."""
    from mechgrad.optimization.design.multistart import sobol_points

    module = example()
    problem = module.problem(module.LINE, 60.0)
    points = sobol_points(problem, 32, seed=4)
    space = problem.space
    assert ((points >= space.low) & (points <= space.high)).all()
    for item in problem.constraints:
        y = points @ item.row(space.names)
        assert ((y >= item.lower - 1e-9) & (y <= item.upper + 1e-9)).all()
    free = mg.DesignProblem(problem.scenarios, problem.variables, problem.minimize)
    raw = sobol_points(free, 32, seed=4)
    broken = [x for x in problem.constraints if (raw @ x.row(space.names) > x.upper).any()]
    assert len(broken) > 1
    # a point that holds all of them stays where it is
    inside = ((raw - points) == 0.0).all(axis=1)
    holds = np.array([all(i.lower <= r @ i.row(space.names) <= i.upper for i in problem.constraints) for r in raw])
    assert (inside >= holds).all()
    for x in points[:8]:
        assert problem.evaluator().at(x).failure == ""


def test_limits_that_leave_nothing_are_told():
    module = example()
    problem = module.problem(module.LINE, 60.0)
    both = [*problem.constraints, mg.design.Linear({module.CRANK: 1.0}, lower=61.0, name="too long")]
    nothing = mg.DesignProblem(problem.scenarios, problem.variables, problem.minimize, both)
    with pytest.raises(mg.errors.InputError, match=r"no design holds all linear limits between the bounds: .*too long"):
        nothing.multistart(3)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "size", "largest"), [("LINE", 60.0, 1e-10), ("ELLIPSE", 80.0, 4.1e-4)])
def test_sixty_four_sobol_starts(case, size, largest):
    module = example()
    points = getattr(module, case)
    found = module.problem(points, size).multistart(65, max_iterations=200)
    print(found)
    assert len(found.starts) == 65
    assert all(start.optimum is not None for start in found.starts)
    assert 2.0 * found.best.value < largest
    for basin in found.basins[:3]:
        check(basin.optimum, points)
    assert all(c.passed for c in found.best.certify().values())
