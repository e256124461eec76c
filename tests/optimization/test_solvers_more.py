"""Solvers for bounds alone, for sums of squares and for inequalities: L-BFGS-B, least squares, MMA."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs import hs071, rosenbrock

from mechgrad.errors import InputError
from mechgrad.optimization.solvers import NonlinearProgram, solve

NEW = ["l-bfgs-b", "least-squares", "mma"]


def squares(**parts) -> NonlinearProgram:
    """Rosenbrock's function as residuals: r = (10 (y - x^2), 1 - x)."""
    r = lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])  # noqa: E731
    J = lambda x: np.array([[-20 * x[0], 10.0], [-1.0, 0.0]])  # noqa: E731
    given = {
        "objective": lambda x: 0.5 * r(x) @ r(x), "gradient": lambda x: r(x) @ J(x), "residuals": r,
        "residual_jacobian": J, "lb": [-2.0, -2.0], "ub": [2.0, 2.0],
    }  # fmt: skip
    return NonlinearProgram(n=2, **{**given, **parts})


@pytest.mark.parametrize("solver", NEW)
def test_rosenbrock_within_bounds(solver):
    end = solve(squares(), [-1.2, 1.0], solver, tolerance=1e-10, max_iterations=20000)
    assert end.success, end
    assert end.x == pytest.approx([1.0, 1.0], abs=1e-3 if solver == "mma" else 1e-7)
    assert end.multipliers.bounds == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("solver", NEW)
def test_a_bound_that_holds_and_what_it_costs(solver):
    """x <= 1/2: y = 1/4, f = (1 - x)^2 / 2, and the bound costs 1 - x = 1/2; in other units as well."""
    for scale in (None, [0.1, 7.0]):
        end = solve(squares(ub=[0.5, 2.0], variable_scale=scale, objective_scale=3.0), [-1.2, 1.0], solver,
                    tolerance=1e-9, max_iterations=20000)  # fmt: skip
        assert end.success, end
        digits = 1e-4 if solver == "mma" else 1e-6
        assert end.x == pytest.approx([0.5, 0.25], abs=digits)
        assert end.multipliers.bounds == pytest.approx([0.5, 0.0], abs=100 * digits)


@pytest.mark.parametrize("solver", NEW)
def test_ends_before_its_time(solver):
    limited = solve(squares(), [-1.2, 1.0], solver, max_iterations=3)
    assert limited.status == "iteration limit"
    told = solve(squares(), [-1.2, 1.0], solver, progress=lambda record: record.iteration < 2)
    assert told.status == "interrupted"
    assert told.objective == min(record.objective for record in told.history)
    nothing = solve(squares(objective=lambda x: np.nan, residuals=lambda x: np.full(2, np.nan)), [-1.2, 1.0], solver)
    assert nothing.status == "failed"
    assert "not a number" in nothing.reason

    def broken(x):
        raise ZeroDivisionError("no such thing")

    with pytest.raises(ZeroDivisionError):
        solve(squares(gradient=broken, residual_jacobian=broken), [-1.2, 1.0], solver)


@pytest.mark.parametrize("solver", NEW)
def test_points_without_a_value_are_stepped_back_from(solver):
    """r = (log x, ...): the first step from afar leaves the domain."""
    r = lambda x: np.array([np.log(x[0]) if x[0] > 0.0 else np.nan])  # noqa: E731
    log = NonlinearProgram(
        n=1, objective=lambda x: 0.5 * r(x) @ r(x), gradient=lambda x: r(x) / x, residuals=r,
        residual_jacobian=lambda x: np.array([[1 / x[0]]]),
    )  # fmt: skip
    end = solve(log, [20.0], solver, max_iterations=2000)
    assert end.success, end
    assert end.x == pytest.approx([1.0], abs=1e-4)


def test_what_a_solver_does_not_take_is_refused():
    start = [1.0, 5.0, 5.0, 1.0]
    with pytest.raises(InputError, match="l-bfgs-b keeps bounds of variables alone, and there are 2 constraints"):
        solve(hs071(), start, "l-bfgs-b")
    with pytest.raises(
        InputError, match="within bounds and linear constraints, and there are 2 constraints that are not linear"
    ):
        solve(hs071(), start, "least-squares")
    with pytest.raises(InputError, match="the objective is no sum of squares"):
        solve(rosenbrock(), [-1.2, 1.0, -1.2, 1.0], "least-squares")
    with pytest.raises(InputError, match="mma takes inequalities only, and square is an equality"):
        solve(hs071(), start, "mma")
    with pytest.raises(InputError, match="belong together"):
        squares(residual_jacobian=None)


def test_mma_keeps_inequalities_from_a_start_that_violates_them():
    """Nearest point of a disc to (2, 2), from outside: (1, 1) / sqrt(2), with (2 - x) = 2 lam x there."""
    disc = NonlinearProgram(
        n=2, m=1, objective=lambda x: 0.5 * (x - 2) @ (x - 2), gradient=lambda x: x - 2,
        constraints=lambda x: np.array([x @ x]), jacobian=lambda x: 2 * x, jacobian_structure=([0, 0], [0, 1]), cu=1.0,
    )  # fmt: skip
    end = solve(disc, [3.0, -1.0], "mma", tolerance=1e-9, max_iterations=2000)
    assert end.success, end
    assert end.x == pytest.approx(np.full(2, np.sqrt(0.5)), abs=1e-5)
    assert end.multipliers.constraints == pytest.approx([(2 - np.sqrt(0.5)) / np.sqrt(2)], abs=1e-4)


def clamped(gap: float) -> NonlinearProgram:
    """min (x - 2)^2 + y^2 with x <= 1 and, as a row of its own, x >= 1 + gap: no point meets both if gap > 0."""
    J = np.array([1.0, 0.0, 1.0, 0.0])
    return NonlinearProgram(
        n=2, m=2, objective=lambda x: (x[0] - 2.0) ** 2 + x[1] ** 2,
        gradient=lambda x: np.array([2.0 * (x[0] - 2.0), 2.0 * x[1]]), constraints=lambda x: np.array([x[0], x[0]]),
        jacobian=lambda x: J, jacobian_structure=tuple(x.ravel() for x in np.indices((2, 2))),
        cl=[-np.inf, 1.0 + gap], cu=[1.0, np.inf],
    )  # fmt: skip


def test_an_optimum_that_slsqp_cannot_leave_is_one():
    """Limits that contradict each other by less than the tolerance: SLSQP ends with 'incompatible' wherever it starts.
    At the optimum that is convergence, elsewhere it is not, and limits apart by more have no optimum."""
    there = solve(clamped(1e-10), [1.0, 0.0], "slsqp")
    assert there.success, there
    assert "incompatible" in there.reason
    assert there.multipliers.constraints.sum() == pytest.approx(2.0)
    for gap, start in ((1e-10, [1.0, 0.5]), (1e-3, [1.0, 0.0])):
        apart = solve(clamped(gap), start, "slsqp")
        assert not apart.success, apart


def test_points_without_a_gradient_are_stepped_back_from():
    """log(x)^2 / 2, which has a tempting value and no slope for x <= 0, where the first step from afar leads."""
    met = []

    def slope(x):
        met.append(x[0])
        return np.log(x) / x if x[0] > 0.0 else np.array([np.nan])

    half = NonlinearProgram(
        n=1, objective=lambda x: 0.5 * np.log(x[0]) ** 2 if x[0] > 0.0 else -1.0, gradient=slope
    )  # fmt: skip
    end = solve(half, [20.0], "l-bfgs-b")
    assert end.success, end
    assert end.x == pytest.approx([1.0], abs=1e-6)
    assert min(met) <= 0.0


def valley(flatness: float) -> NonlinearProgram:
    """x . A x / 2 about a point within [0, 1]^16, eigenvalues from 1 down to `flatness` along directions of no axis."""
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    A, c = (turn * np.geomspace(1.0, flatness, 16)) @ turn.T, rng.uniform(0.3, 0.7, 16)
    return NonlinearProgram(
        n=16,
        objective=lambda x: 0.5 * (x - c) @ A @ (x - c),
        gradient=lambda x: A @ (x - c),
        lb=np.zeros(16),
        ub=np.ones(16),
    )


@pytest.mark.parametrize(("flatness", "less_is_better"), [(1e-4, True), (0.5, False)])
def test_first_curvature_of_slsqp_suits_flat_valleys_only(flatness, less_is_better):
    start = np.random.default_rng(5).uniform(0.1, 0.9, 16)
    usual = solve(valley(flatness), start, "slsqp")
    less = solve(valley(flatness), start, "slsqp", options={"first_curvature": 0.01})
    assert usual.success
    assert less.success
    assert max(usual.objective, less.objective) < 1e-6
    few, many = (less, usual) if less_is_better else (usual, less)
    assert few.evaluations["objective"] < 0.75 * many.evaluations["objective"]


@pytest.mark.parametrize("given", [0.0, -1.0, np.inf, np.nan, "small", True])
def test_first_curvatures_that_are_none(given):
    with pytest.raises(InputError, match=r"first_curvature is .* give a positive number"):
        solve(valley(0.5), np.full(16, 0.2), "slsqp", options={"first_curvature": given})
