"""Least squares within linear constraints: the steps by their optimality conditions, solutions by closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from mechgrad import InputError
from mechgrad.optimization.solvers import NonlinearProgram, solve
from mechgrad.optimization.solvers.planes import least_squares_within, shortest, sides


@pytest.mark.parametrize("seed", range(20))
def test_a_step_between_planes_is_optimal(seed):
    """Karush, Kuhn and Tucker: inside, and the slope is a nonnegative sum of the sides that are reached."""
    rng = np.random.default_rng(seed)
    n, k, m = 6, 9, 15
    E, f, G = rng.normal(size=(k, n)), rng.normal(size=k), rng.normal(size=(m, n))
    h = G @ rng.normal(size=n) - rng.uniform(0.0, 0.5, m)  # there is a point inside
    d = least_squares_within(E, f, G, h)
    margins = G @ d - h
    assert margins.min() > -1e-10
    slope = E.T @ (E @ d - f)
    free = np.linalg.lstsq(E, f, rcond=None)[0]
    assert (G @ free < h).any()  # the sides have something to say
    reached = margins < 1e-9
    assert 1 <= reached.sum() <= n
    _, left = nnls(G[reached].T, slope)
    assert left < 1e-9 * np.linalg.norm(E.T @ f)


def test_equalities_and_what_cannot_be_met():
    G, h = sides(np.array([[1.0, 1.0, 0.0]]), np.array([2.0]), np.array([2.0]))
    assert shortest(G, h) == pytest.approx([1.0, 1.0, 0.0], abs=1e-9)
    far, h = sides(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, -np.inf]), np.array([np.inf, 0.5]))
    assert shortest(far, h) is None
    assert shortest(np.zeros((1, 2)), np.array([1.0])) is None


def line(points, **changes):
    """A straight line through points, a + b t, whose a and b add up to one."""
    t, y = points
    A = np.stack([np.ones_like(t), t], axis=1)
    given = {
        "residuals": lambda x: A @ x - y, "residual_jacobian": lambda x: A,
        "constraints": lambda x: np.array([x.sum()]), "jacobian": lambda x: np.ones(2),
        "jacobian_structure": ([0, 0], [0, 1]), "linear": True, "cl": 1.0, "cu": 1.0,
    }  # fmt: skip
    return NonlinearProgram(
        n=2, m=1, objective=lambda x: 0.5 * (A @ x - y) @ (A @ x - y), gradient=lambda x: A.T @ (A @ x - y),
        **given | changes,
    )  # fmt: skip


def test_a_line_whose_coefficients_add_up():
    """Lagrange: A^T (A x - y) + lam (1, 1) = 0, x_1 + x_2 = 1: three linear equations."""
    rng = np.random.default_rng(3)
    t = np.linspace(0.0, 2.0, 9)
    y = 0.3 + 1.4 * t + 0.1 * rng.normal(size=9)
    A = np.stack([np.ones(9), t], axis=1)
    K = np.block([[A.T @ A, np.ones((2, 1))], [np.ones((1, 2)), np.zeros((1, 1))]])
    wanted = np.linalg.solve(K, np.append(A.T @ y, 1.0))
    best = solve(line((t, y)), [5.0, 5.0], "least-squares", tolerance=1e-10)
    assert best.success, best
    assert best.x == pytest.approx(wanted[:2], abs=1e-9)
    assert best.multipliers.constraints == pytest.approx(wanted[2:], rel=1e-6)
    assert abs(wanted[2]) > 0.1


def rosenbrock(visited, **changes):
    """r = (10 (x_2 - x_1^2), 1 - x_1) with x_1 + x_2 <= 1.2, and a hole without values beyond x_1 = `hole`."""
    hole = changes.pop("hole", np.inf)

    def residuals(x):
        visited.append(np.array(x))
        return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0] if x[0] < hole else np.nan])

    return NonlinearProgram(
        n=2, m=1, objective=lambda x: 0.5 * residuals(x) @ residuals(x),
        gradient=lambda x: np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]]).T @ residuals(x),
        residuals=residuals, residual_jacobian=lambda x: np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]]),
        constraints=lambda x: np.array([x.sum()]), jacobian=lambda x: np.ones(2), linear=True,
        jacobian_structure=([0, 0], [0, 1]), cu=1.2, **changes,
    )  # fmt: skip


@pytest.mark.parametrize("scale", [None, (0.1, 20.0)])
@pytest.mark.parametrize("hole", [np.inf, 0.8])
def test_every_point_on_the_way_holds_the_limits(scale, hole):
    visited = []
    best = solve(rosenbrock(visited, hole=hole, variable_scale=scale), [-1.2, 1.0], "least-squares", tolerance=1e-10)
    assert best.success, best
    other = solve(rosenbrock([]), [0.5, 0.3], "slsqp", tolerance=1e-12)
    assert best.x == pytest.approx(other.x, abs=1e-6)
    assert best.x.sum() == pytest.approx(1.2, abs=1e-10)
    assert best.multipliers.constraints[0] > 1e-3
    assert best.x[0] < 0.8
    # the start was 0.4 below the limit; without it the search would go to (1, 1)
    assert max(x.sum() for x in visited) < 1.2 + 1e-9


def test_a_start_outside_is_moved_inside_first():
    visited = []
    best = solve(rosenbrock(visited), [3.0, 2.0], "least-squares", tolerance=1e-10)
    assert best.success
    # the objective is asked for at the start itself, whose value is part of the answer
    assert all(x.sum() < 1.2 + 1e-9 for x in visited if not np.array_equal(x, [3.0, 2.0]))


def test_what_cannot_be_done_is_told():
    points = np.linspace(0.0, 1.0, 3), np.zeros(3)
    nowhere = solve(line(points, lb=2.0), [3.0, 3.0], "least-squares")
    assert nowhere.status == "infeasible"
    assert "no point meets all bounds and linear constraints" in nowhere.reason
    with pytest.raises(InputError, match="takes no options, and got verbose"):
        solve(line(points), [0.0, 0.0], "least-squares", options={"verbose": 1})
    with pytest.raises(InputError, match="there are 1 constraints that are not linear"):
        solve(line(points, linear=False), [0.0, 0.0], "least-squares")
    with pytest.raises(InputError, match=r"linear has shape \(2,\)"):
        line(points, linear=[True, True])


def test_an_iteration_limit_ends_it():
    found = solve(rosenbrock([]), [-1.2, 1.0], "least-squares", max_iterations=3)
    assert found.status == "iteration limit"
