"""What a program refuses, and the scaled view of it."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs import HS071_START, bounded, hs071, quadratic

from mechgrad.errors import InputError, UnknownNameError
from mechgrad.optimization.solvers import Multipliers, NonlinearProgram, scaled, solve

BAD_PROGRAMS = [
    ({"n": 0}, "n is 0; an integer of at least 1"),
    ({"m": 1.5}, "m is 1.5"),
    ({"constraints": None}, "2 constraints need"),
    ({"lb": [1.0, 1.0]}, r"lb has shape \(2,\); \(4,\)"),
    ({"lb": [0, 6, 0, 0]}, r"bounds of x\[1\] leave nothing: lb = 6, ub = 5"),
    ({"lb": np.inf, "ub": np.inf}, "leave nothing"),
    ({"cl": [25.0, 41.0]}, "bounds of square leave nothing: cl = 41, cu = 40"),
    ({"ub": [5, np.nan, 5, 5]}, r"ub of x\[1\] is NaN"),
    ({"constraint_names": ["one"]}, "1 constraint_names for 2 entries"),
    ({"variable_scale": [1, 0, 1, 1]}, r"variable_scale\[1\] is 0.0"),
    ({"objective_scale": -1.0}, r"objective_scale\[0\] is -1.0"),
    ({"jacobian_structure": ([0, 2], [0, 0])}, r"entry 1 of jacobian_structure is \(2, 0\), outside of a 2 x 4 matrix"),
    ({"jacobian_structure": ([0, -1], [0, 0])}, r"is \(-1, 0\)"),
    ({"jacobian_structure": ([0, 1, 0], [3, 0, 3])}, r"\(0, 3\) more than once \(1 duplicates"),
    ({"jacobian_structure": ([0, 1], [0])}, r"rows of shape \(2,\) and columns of shape \(1,\)"),
    ({"jacobian_structure": ([0.0, 1.0], [0, 1])}, "integers are needed"),
    ({"jacobian_structure": 3}, "a pair"),
    ({"hessian_structure": ([0, 1], [0, 2])}, r"above the diagonal, the first at \(1, 2\)"),
    ({"hessian_structure": ([0, 4], [0, 2])}, "outside of a 4 x 4 matrix"),
    ({"hessian_structure": None}, "without `hessian_structure`"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_PROGRAMS)
def test_bad_programs(changes, message):
    with pytest.raises(InputError, match=message):
        hs071(**changes)


@pytest.mark.parametrize(
    ("x0", "message"),
    [([1, 2], r"shape \(2,\); the program has 4"), ([1, np.nan, 2, np.inf], r"x\[1\], x\[3\] is nan; start from")],
)
def test_bad_starts(x0, message):
    with pytest.raises(InputError, match=message):
        solve(hs071(), x0, "slsqp")


def test_many_bad_names_are_cut():
    with pytest.raises(InputError, match=r"x\[4\] and 5 more leave"):
        NonlinearProgram(n=10, objective=np.sum, gradient=np.ones_like, lb=1.0, ub=0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hessian": "newton"}, "choose auto, exact"),
        ({"hessian": "gauss-newton"}, "does not have one; it offers exact, lbfgs"),
        ({"hessian": "exact", "solver": "slsqp"}, "'slsqp' takes lbfgs only"),
        ({"max_iterations": 0}, "at least one iteration"),
        ({"tolerance": 0.0}, "a tolerance between"),
        ({"time_limit": -1.0}, "a positive time"),
        ({"warm_start": Multipliers(np.zeros(3), np.zeros(4))}, r"shapes \(3,\) and \(4,\); \(2,\)"),
        ({"warm_start": Multipliers(np.full(2, np.nan), np.zeros(4))}, "NaN: the earlier solve ended"),
        ({"options": {"no_such_option": 1}}, "does not take the option no_such_option = 1"),
        ({"options": {"mu_strategy": "brave"}}, "does not take the option mu_strategy = 'brave'"),
    ],
)
def test_bad_requests(arguments, message):
    with pytest.raises(InputError, match=message):
        solve(hs071(), HS071_START, **{"solver": "ipopt", **arguments})


def test_unknown_solver():
    with pytest.raises(UnknownNameError, match="Did you mean 'ipopt'"):
        solve(hs071(), HS071_START, "ipot")


def test_defaults_and_immutability():
    program = bounded((1.0, 2.0))
    assert program.m == 0
    assert program.variable_names == ("x[0]", "x[1]")
    assert program.jacobian_structure[0].shape == (0,)
    assert not program.is_scaled
    assert scaled(program).program is program
    with pytest.raises(ValueError, match="read-only"):
        program.lb[0] = 3.0


def test_scaled_derivatives_are_those_of_the_scaled_functions():
    """Complex steps through the scaled program: gradient, Jacobian, and the Hessian of its Lagrangian."""
    unit, row = np.array([2.0, 0.5, 30.0]), np.array([7.0])
    view = scaled(
        quadratic(
            constraints=lambda x: np.array([x[0] * x[1] * x[2]]),
            jacobian=lambda x: np.array([x[1] * x[2], x[0] * x[2], x[0] * x[1]]),
            hessian=lambda x, s, y: np.array([2 * s, y[0] * x[2], 4 * s, y[0] * x[1], y[0] * x[0], 6 * s]),
            hessian_structure=np.tril_indices(3),
            variable_scale=unit,
            constraint_scale=row,
            objective_scale=5.0,
        )
    ).program
    x, y = np.array([0.3, -1.1, 0.7]), np.array([1.7])
    h = 1e-6

    def lagrangian_x(x):
        return 0.9 * view.gradient(x) + view.jacobian(x) * y[0]

    for i, e in enumerate(np.eye(3)):
        # central differences of polynomials of degree 3: the error is h^2 times a number near one, and rounding / h
        difference = (view.objective(x + h * e) - view.objective(x - h * e)) / (2 * h)
        assert difference == pytest.approx(view.gradient(x)[i], rel=1e-7)
        assert abs(difference) > 1e-2
        slope = (view.constraints(x + h * e) - view.constraints(x - h * e)) / (2 * h)
        assert slope == pytest.approx(view.jacobian(x)[i], rel=1e-7)
    dense = np.zeros((3, 3))
    dense[view.hessian_structure] = view.hessian(x, 0.9, y)
    dense += np.tril(dense, -1).T
    rates = np.array([(lagrangian_x(x + h * e) - lagrangian_x(x - h * e)) / (2 * h) for e in np.eye(3)])
    assert rates == pytest.approx(dense, rel=1e-6)
    assert np.abs(dense).min() > 1e-2


def test_scaled_maps_back():
    program = hs071(variable_scale=[2.0, 3.0, 0.1, 7.0], constraint_scale=[4.0, 0.2], objective_scale=9.0)
    view = scaled(program)
    x = np.array([1.0, 5.0, 2.3, 4.0])
    assert view.outward(view.inward(x)) == pytest.approx(x, rel=1e-15)
    assert view.outward(view.program.ub).max() <= 5.0
    multipliers = Multipliers(np.array([1.0, -2.0]), np.arange(4.0))
    back = view.multipliers_outward(view.multipliers_inward(multipliers))
    assert back.constraints == pytest.approx(multipliers.constraints)
    assert back.bounds == pytest.approx(multipliers.bounds)
