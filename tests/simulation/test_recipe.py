"""Recipes: what makes a motion once more, with other numbers too."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError, UnknownNameError
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start
from mechgrad.simulation.simulate import simulate_again

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
    assert again.recipe.reference == how.get("reference", "root")
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


def jerked_arm(model: mg.Model) -> mg.Trajectory:
    """An arm whose hand has a given speed at the start: how fast the elbow turns depends on lengths."""
    start = mg.assemble(model, {"shoulder": 0.4, "elbow": 0.3}, {"tip.x": 1.0, "shoulder": 0.2}, t=0.7)
    return mg.simulate(model, start, 0.3, step=1e-2)


def test_gradients_of_a_recipe_know_how_its_start_was_found() -> None:
    """Against differences of motions that are assembled and simulated by hand: nothing of the recipe is in them."""
    model, path, end = double_pendulum(), "elbow.origin.z", mg.AtEnd(mg.measures.JointVelocity("elbow"))
    mass = 1.2 * model.value("lower.mass")
    motion = jerked_arm(model).recipe.with_values({"lower.mass": mass, "start.velocity.tip.x": 0.8}).simulate()
    assert motion.recipe.start.way == "assembled"
    assert motion.recipe.start.held_rates["tip.x"] == 0.8

    def by_hand(length: float) -> float:
        other = model.with_values({"lower.mass": mass, path: length})
        start = mg.assemble(other, {"shoulder": 0.4, "elbow": 0.3}, {"tip.x": 0.8, "shoulder": 0.2}, t=0.7)
        return float(mg.simulate(other, start, 0.3, step=1e-2).v[-1, 1])

    length, h = model.value(path), 1e-5
    expected = (by_hand(length + h) - by_hand(length - h)) / (2 * h)
    found = mg.gradient(motion, end, [path, "start.velocity.tip.x"])
    assert found[path][0] == pytest.approx(expected, rel=1e-7)  # h^2 times a third derivative
    as_given = mg.simulate(motion.model, mg.state(motion.model, motion.q[0], motion.v[0]), 0.3, step=1e-2)
    assert abs(mg.gradient(as_given, end, [path])[path][0] - expected) > 0.1  # what would be lost
    assert found.certify().passed


def test_recipes_are_checked_like_simulate() -> None:
    swing = mg.simulate(pendulum(), [0.5], 0.2, step=1e-2).recipe
    assert swing.changed(scheme="rk4", formulation="fully recursive").simulate().steps == 20
    for fields, message in (
        ({"duration": -1.0}, r"duration is -1\.0"),
        ({"t0": float("nan")}, "t0 is nan"),
        ({"samples": 2.5}, r"samples is 2\.5"),
        ({"step": 3.0}, r"step is 3\.0"),
        ({"rtol": 0.0}, r"rtol = 0\.0"),
        ({"reference": "moon"}, "unknown reference 'moon'"),
        ({"formulation": "ali3p"}, "ALI3-P has no explicit form"),
        ({"formulation": "matrix-r"}, "Matrix R is for mechanisms with constraints"),
    ):
        with pytest.raises((InputError, UnknownNameError), match=message):
            swing.changed(**fields).simulate()
    with pytest.raises(UnknownNameError, match="unknown scheme 'euler'"):
        swing.changed(scheme="euler")


def test_starts_of_other_models_are_refused() -> None:
    """Also where the loops of the other model would be closed by chance, and by those who repeat motions."""
    model = five_bar()
    motion = mg.simulate(model, mg.assemble(model, {"A": -2.3, "1": 1.7}, guess=five_bar_start()), 0.02, step=1e-3)
    heavier = model.with_values({"A1.mass": 2.0})
    with pytest.raises(InputError, match="the start belongs to another model"):
        motion.recipe.changed(model=heavier).simulate()
    with pytest.raises(InputError, match="the start belongs to another model"):
        simulate_again(motion, heavier, motion.recipe.start)


def test_batches_keep_all_their_starts() -> None:
    model = double_pendulum()
    motion = mg.simulate(model, mg.state(model, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), 0.1, step=1e-2)
    heavier = motion.recipe.with_values({"upper.mass": 2.0}).simulate()
    assert heavier.q.shape == motion.q.shape == (3, 11, 2)
    alone = mg.simulate(heavier.model, [0.3, 0.4], 0.1, step=1e-2)
    np.testing.assert_allclose(heavier.q[1], alone.q, atol=1e-13)
    with pytest.raises(InputError, match="a batch of 3 starts has no start values"):
        motion.recipe.with_values({"start.position.elbow": 0.0})


@pytest.mark.parametrize("formulation", ["matrix-r", "index1", "penalty"])
def test_tableaus_with_constraints(formulation: str) -> None:
    """Another method than the classical one, stages of which are corrected each in its own way, with outputs between
    which steps are taken again."""
    rule = mg.schemes.RungeKutta([[0, 0, 0], [0.5, 0, 0], [-1, 2, 0]], [1 / 6, 2 / 3, 1 / 6])
    step = 1e-4 if formulation == "penalty" else 1e-3
    motion = mg.simulate(five_bar(), five_bar_start(), 0.02, scheme=rule, step=step, samples=6, formulation=formulation)
    exact = mg.simulate(five_bar(), five_bar_start(), 0.02, rtol=1e-11, atol=1e-11, samples=6)
    assert np.abs(motion.q - exact.q).max() < (1e-4 if formulation == "penalty" else 1e-7)
    end, wrt = mg.AtEnd(mg.measures.PointVelocity("P2")), ["S1.stiffness", "A1.mass", "gravity.y"]
    by = {m: mg.gradient(motion, end, wrt, method=m).array for m in ("direct", "adjoint", "complex")}
    size = np.abs(by["complex"]).max()
    assert size > 1e-3
    assert np.abs(by["direct"] - by["complex"]).max() < 1e-9 * size
    assert np.abs(by["adjoint"] - by["complex"]).max() < 1e-9 * size
