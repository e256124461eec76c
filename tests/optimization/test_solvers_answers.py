"""Every solver against programs whose minima and multipliers are known."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs import (
    HS071_BEST,
    HS071_START,
    bounded,
    chain,
    chain_start,
    contradiction,
    hs071,
    quadratic,
    rosenbrock,
)

from mechgrad.optimization.solvers import NonlinearProgram, available_solvers, solve

SOLVERS = ["ipopt", "trust-constr", "slsqp"]
SECOND_ORDER = ["ipopt", "trust-constr"]

# Barrier methods stop with a complementarity of about the tolerance, 1e-8, and relax bounds by as much.
NEAR = 1e-6


def test_all_solvers_are_there():
    """The test environment has Ipopt: none of these tests is skipped."""
    assert set(SOLVERS) <= set(available_solvers())


def stationarity(program: NonlinearProgram, result) -> float:
    """Largest entry of f_x + c_x^T lam + z, built from the program alone."""
    rows, cols = program.jacobian_structure
    total = np.asarray(program.gradient(result.x), dtype=float) + result.multipliers.bounds
    if program.m:
        np.add.at(total, cols, program.jacobian(result.x) * result.multipliers.constraints[rows])
    return float(np.abs(total).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_hs071(solver):
    program = hs071()
    best = solve(program, HS071_START, solver)
    assert best.success, best
    assert best.objective == pytest.approx(HS071_BEST, abs=1e-6)
    assert best.infeasibility < NEAR
    assert stationarity(program, best) < 1e-5
    # The product is at its lower bound, x1 at its lower bound: both multipliers are negative and not small.
    assert best.multipliers.constraints[0] == pytest.approx(-0.552294, abs=1e-4)
    assert best.multipliers.bounds[0] == pytest.approx(-1.087871, abs=1e-4)
    assert best.solver == solver
    assert 5 <= best.iterations <= 40
    assert best.evaluations["jacobian"] > 5
    assert best.time_functions > 0.0
    assert best.time_solver > 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_rosenbrock_without_any_bound(solver):
    best = solve(rosenbrock(), [1.3, 0.7, 0.8, 1.9], solver)  # -1.2, ... would lead to its other minimum
    assert best.success, best
    assert best.x == pytest.approx(np.ones(4), abs=1e-4)
    assert best.constraints.shape == best.multipliers.constraints.shape == (0,)
    assert best.multipliers.bounds == pytest.approx(np.zeros(4))


@pytest.mark.parametrize("solver", SOLVERS)
def test_multiplier_of_an_equality(solver):
    """L = f + lam c; the minimum moves by -lam per unit of the right-hand side, checked by moving it."""
    lam = -36.0 / 11.0
    best = solve(quadratic(), np.zeros(3), solver)
    assert best.success, best
    assert best.multipliers.constraints == pytest.approx([lam], abs=1e-5)
    assert best.x == pytest.approx(np.array([1.0, 2.0, 0.0]) - lam * np.array([1 / 2, 1 / 4, 1 / 6]), abs=1e-5)
    shift = 1e-3
    moved = solve(quadratic(cl=6.0 + shift, cu=6.0 + shift), np.zeros(3), solver)
    # f is quadratic in the right-hand side with second derivative 12/11: the secant errs by 6/11 of the shift.
    assert (moved.objective - best.objective) / shift == pytest.approx(-lam, abs=6 / 11 * shift + 1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("target", "z"), [((3.0, 0.5), (2.0, 0.0)), ((-2.0, 0.5), (-2.0, 0.0)), ((-1.5, 4.0), (-1.5, 3.0))]
)
def test_sign_of_bound_multipliers(solver, target, z):
    """Positive at an upper bound, negative at a lower one."""
    best = solve(bounded(target), [0.4, 0.6], solver)
    assert best.success, best
    assert best.multipliers.bounds == pytest.approx(z, abs=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_fixed_variable(solver):
    best = solve(bounded((3.0, 0.5), lb=[0.25, 0.0], ub=[0.25, 1.0]), [0.25, 0.6], solver)
    assert best.success, best
    assert best.x == pytest.approx([0.25, 0.5], abs=1e-6)
    assert best.multipliers.bounds == pytest.approx([2.75, 0.0], abs=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_contradiction_is_infeasible_and_named(solver):
    end = solve(contradiction(), [0.5, 0.3], solver, max_iterations=2000)
    assert end.status == "infeasible"
    assert not end.success
    assert {v.name for v in end.worst} == {"far away", "close by"}
    assert end.worst[0].amount == pytest.approx(end.infeasibility)
    assert end.worst[0].amount + end.worst[1].amount == pytest.approx(3.0, abs=1e-6)
    assert f"violated: {end.worst[0].name}" in str(end)


@pytest.mark.parametrize("solver", SECOND_ORDER)
def test_five_hundred_variables_in_a_chain(solver):
    program = chain()
    best = solve(program, chain_start(), solver)
    assert best.success, best
    assert (program.n, program.m) == (498, 334)
    assert best.objective == pytest.approx(28.476172, abs=1e-5)  # two solvers agree
    assert stationarity(program, best) < 1e-5
    assert np.abs(best.multipliers.bounds).max() > 1e-3  # the torque limit is felt
    assert best.iterations <= (30 if solver == "ipopt" else 120)


@pytest.mark.parametrize("solver", SECOND_ORDER)
def test_exact_hessian_saves_iterations(solver):
    start = [-1.2, 1.0, -0.5, 0.8, 1.3, -0.7, 0.2, 1.1]
    exact = solve(rosenbrock(8), start, solver, hessian="exact")
    without = solve(rosenbrock(8), start, solver, hessian="lbfgs")
    assert exact.success, exact
    assert without.success, without
    assert exact.evaluations["hessian"] > 0
    assert without.evaluations["hessian"] == 0
    assert exact.iterations < without.iterations


@pytest.mark.parametrize("solver", SECOND_ORDER)
def test_gauss_newton_is_used(solver):
    """A stand-in on another pattern than the Hessian, which must not be called."""
    calls = []

    def forbidden(x, sigma, lam):
        calls.append(x)
        return np.zeros(3)

    program = quadratic(
        hessian=forbidden,
        gauss_newton=lambda x, sigma, lam: sigma * np.array([2.0, 4.0, 6.0, 0.0]),
        gauss_newton_structure=([0, 1, 2, 2], [0, 1, 2, 0]),
    )
    best = solve(program, np.zeros(3), solver, hessian="gauss-newton")
    assert best.success, best
    assert not calls
    assert best.multipliers.constraints == pytest.approx([-36 / 11], abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_scales_change_neither_point_nor_multipliers(solver):
    """The same program written in millimetres and solved with scales that undo it."""
    unit = np.array([1e3, 1.0, 1e-2, 10.0])
    row = np.array([1e4, 1e-3])
    plain = hs071()
    strange = hs071(
        objective=lambda x: 1e5 * plain.objective(x / unit),
        gradient=lambda x: 1e5 * plain.gradient(x / unit) / unit,
        constraints=lambda x: row * plain.constraints(x / unit),
        jacobian=lambda x: np.repeat(row, 4) * plain.jacobian(x / unit) / np.tile(unit, 2),
        hessian=lambda x, sigma, lam: (
            plain.hessian(x / unit, 1e5 * sigma, row * lam)
            / (unit[plain.hessian_structure[0]] * unit[plain.hessian_structure[1]])
        ),
        lb=plain.lb * unit,
        ub=plain.ub * unit,
        cl=plain.cl * row,
        cu=plain.cu * row,
        variable_scale=unit,
        constraint_scale=row,
        objective_scale=1e5,
    )
    a, b = solve(plain, HS071_START, solver), solve(strange, HS071_START * unit, solver)
    assert b.success, b
    assert b.iterations == a.iterations
    assert b.x / unit == pytest.approx(a.x, rel=1e-9)
    assert b.objective == pytest.approx(1e5 * a.objective, rel=1e-9)
    assert b.constraints / row == pytest.approx(a.constraints, rel=1e-9)
    assert b.multipliers.constraints == pytest.approx(1e5 / row * a.multipliers.constraints, rel=1e-6)
    assert b.multipliers.bounds * unit / 1e5 == pytest.approx(a.multipliers.bounds, rel=1e-6, abs=1e-8)
    assert b.history[3].objective == pytest.approx(1e5 * a.history[3].objective, rel=1e-9)


def test_warm_start_saves_iterations():
    first = solve(hs071(), HS071_START)
    cold = solve(hs071(cl=[25.1, 40.0]), first.x)
    warm = solve(hs071(cl=[25.1, 40.0]), first.x, warm_start=first.multipliers)
    assert warm.success, warm
    assert warm.objective == pytest.approx(cold.objective, abs=1e-6)
    assert warm.iterations < cold.iterations


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_input_same_bits(solver):
    first, second = solve(hs071(), HS071_START, solver), solve(hs071(), HS071_START, solver)
    assert np.array_equal(first.x, second.x)
    assert first.evaluations == second.evaluations


def test_options_in_the_words_of_the_solver():
    quick = solve(hs071(), HS071_START, options={"mu_strategy": "adaptive", "max_iter": 3, "mu_init": 1})
    assert quick.status == "iteration limit"
    assert quick.iterations == 3
