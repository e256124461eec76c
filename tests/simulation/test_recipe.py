"""Recipes: what makes a motion once more, with other numbers too."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError, UnknownNameError
from mechgrad.gallery import five_bar, five_bar_start

HOW = [
    {"step": 1e-3},
    {"formulation": "matrix-r", "scheme": "hht", "step": 1e-3},
    {"scheme": "rk4", "step": 1e-3},
    {"rtol": 1e-8, "atol": 1e-8, "samples": 31},
    {"formulation": "penalty", "scheme": "generalized-alpha", "step": 1e-3, "reference": "com"},
]


def pendulum() -> mg.Model:
    bob = mg.Body("bob", mass=2.0, com=(0, 0, -0.8), inertia=(0.01, 0.01, 0.002))
    spring = mg.forces.JointSpring("spring", "pin", stiffness=3.0)
    return mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))], forces=[spring])


@pytest.mark.parametrize("how", HOW)
def test_a_recipe_makes_the_same_motion(how: dict[str, object]) -> None:
    model = five_bar()
    start = mg.assemble(model, {"A": -2.3, "1": 1.7}, guess=five_bar_start(), t=0.4)
    motion = mg.simulate(model, start, 0.05, **how)  # type: ignore[arg-type]
    again = motion.recipe.simulate()
    for name in ("t", "q", "v", "a", "multipliers"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))
    assert again.t[0] == 0.4
    assert again.recipe.reference == how.get("reference", "origin")
    assert str(motion.formulation) in repr(motion.recipe)


def test_other_numbers_find_the_start_anew() -> None:
    model = five_bar()
    motion = mg.simulate(model, mg.assemble(model, {"A": -2.3, "1": 1.7}, guess=five_bar_start()), 0.02, step=1e-3)
    values = {"A1.mass": 2.0, "1.origin.x": 0.9 * model.value("1.origin.x"), "start.position.A": -2.2}
    other = motion.recipe.with_values(values)
    changed = model.with_values({k: x for k, x in values.items() if not k.startswith("start")})
    start = mg.assemble(changed, {"A": -2.2, "1": 1.7}, guess=motion.q[0])
    np.testing.assert_allclose(other.start.q, start.q, atol=1e-12)
    assert np.abs(other.start.q - motion.q[0]).max() > 0.01  # the loop is closed in another way
    expected = mg.simulate(changed, start, 0.02, step=1e-3)
    np.testing.assert_allclose(other.simulate().q, expected.q, atol=1e-11)


def test_given_starts_and_equilibria() -> None:
    model = pendulum()
    given = mg.simulate(model, mg.state(model, [0.3], [1.0], t=2.0), 0.1, step=1e-2)
    moved = given.recipe.with_values({"start.velocity.pin": 1.5})
    assert (moved.start.q[0], moved.start.v[0], moved.t0) == (0.3, 1.5, 2.0)
    rest = mg.equilibrium(model, tau=[1.0])
    resting = mg.simulate(model, rest, 0.1, step=1e-2, tau=[1.0])
    stiffer = resting.recipe.with_values({"spring.stiffness": 30.0}).simulate()
    np.testing.assert_allclose(stiffer.q, stiffer.q[0] + np.zeros_like(stiffer.q), atol=1e-9)  # it stays at rest
    assert abs(stiffer.q[0, 0] - resting.q[0, 0]) > 0.01


def test_fields_are_changed_by_name() -> None:
    swing = mg.simulate(pendulum(), [0.5], 0.2, step=1e-2)
    longer = swing.recipe.changed(
        duration=0.4, scheme=mg.schemes.Trapezoidal(), formulation=mg.formulations.SemiRecursive()
    )
    assert longer.simulate().t[-1] == pytest.approx(0.4)
    with pytest.raises(UnknownNameError, match="unknown field 'durration'"):
        swing.recipe.changed(durration=1.0)
    with pytest.raises(UnknownNameError, match=r"unknown start value 'start\.position\.pinn'"):
        swing.recipe.with_values({"start.position.pinn": 1.0})
    with pytest.raises(UnknownNameError, match="bobb"):
        swing.recipe.with_values({"bobb.mass": 1.0})


def test_a_tableau_is_a_scheme() -> None:
    """Kutta's rule of three eighths: order four, and gradients of its steps, without a line of code."""
    rule = mg.schemes.RungeKutta(
        [[0, 0, 0, 0], [1 / 3, 0, 0, 0], [-1 / 3, 1, 0, 0], [1, -1, 1, 0]], [1 / 8, 3 / 8, 3 / 8, 1 / 8]
    )
    heun = mg.schemes.RungeKutta([[0, 0], [1, 0]], [0.5, 0.5])
    model = pendulum()
    exact = mg.simulate(model, [0.5], 1.0, rtol=1e-12, atol=1e-12).q[-1, 0]
    for scheme, order in ((rule, 4), (heun, 2)):
        errors = [abs(mg.simulate(model, [0.5], 1.0, scheme=scheme, step=h).q[-1, 0] - exact) for h in (0.02, 0.01)]
        assert errors[1] > 1e-13
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
    end, wrt = mg.AtEnd(mg.measures.JointVelocity("pin")), ["bob.mass", "bob.com.z", "spring.stiffness", "gravity.z"]
    for form in ("fully-recursive",):
        motion = mg.simulate(model, [0.5], 0.5, scheme=rule, step=0.01, formulation=form, samples=11)
        by = {method: mg.gradient(motion, end, wrt, method=method).array for method in ("direct", "adjoint", "complex")}
        assert np.abs(by["complex"]).min() > 1e-3
        np.testing.assert_allclose(by["direct"], by["complex"], rtol=1e-11)
        np.testing.assert_allclose(by["adjoint"], by["complex"], rtol=1e-11)
    linkage = mg.simulate(five_bar(), five_bar_start(), 0.05, scheme=rule, step=1e-3)
    shake = mg.AtEnd(mg.measures.PointVelocity("P2"))
    by = {m: mg.gradient(linkage, shake, ["S1.stiffness", "A1.mass"], method=m).array for m in ("adjoint", "complex")}
    np.testing.assert_allclose(by["adjoint"], by["complex"], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        ([[0, 0], [1, 0]], [0.5], r"A has shape \(2, 2\), B \(1,\)"),
        ([[0, 0], [1, 0.5]], [0.5, 0.5], "zeros on and above its diagonal"),
        ([[0, 0], [1, 0]], [0.5, 0.4], r"the sum of B is 0\.9"),
        ([["x", 0], [1, 0]], [0.5, 0.5], "must be numbers"),
    ],
)
def test_bad_tableaus(A: list[list[float]], B: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mg.schemes.RungeKutta(A, B)
