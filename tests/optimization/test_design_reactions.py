"""Designs whose joints may not carry more than they can: reactions by balances of momentum, gradients certified."""

from __future__ import annotations

import numpy as np
import pytest
from support.example_modules import example_module

import mechgrad as mg


def example():
    return example_module("25_reactions")


@pytest.fixture(scope="module")
def five_bar():
    problem, bound = example().five_bar(0.9)
    return problem.solve(tolerance=1e-10), bound


@pytest.fixture(scope="module")
def slider_crank():
    problem, bound = example().slider_crank(0.9)
    return problem.solve(tolerance=1e-10), bound


def momentum(motion, bodies):
    """The sum of m a of centres of mass, and of weights, (nt, 3) each."""
    places = motion.markers([f"{body}.com" for body in bodies])
    masses = np.array([motion.model.body(body).mass for body in bodies])
    return np.einsum("b,tbi->ti", masses, places.acceleration), masses.sum() * motion.model.gravity


def pull(motion, name, at, anchor):
    """What a spring without damping does to the point `at`, (nt, 3)."""
    spring = next(x for x in motion.model.forces if x.name == name)
    d = motion.markers([anchor]).position[:, 0] - motion.markers([at]).position[:, 0]
    length = np.linalg.norm(d, axis=1)
    return spring.stiffness * ((length - spring.free_length) / length)[:, None] * d


def test_five_bar_holds_the_limit_and_its_forces_balance_momentum(five_bar):
    """F_A + F_B + springs + weight = sum m a: hinges from the library, everything else from positions."""
    best, bound = five_bar
    motion = best.motion
    assert best.success
    carried = motion.reactions()
    F = carried.of("A").force + carried.of("B").force
    moved, weight = momentum(motion, ("A1", "12", "23", "3B"))
    springs = pull(motion, "S1", "P1", "PB") + pull(motion, "S2", "P2", "PB")
    assert np.abs(F).max() > 5.0
    assert F + springs + weight == pytest.approx(moved, abs=1e-6 * np.abs(springs).max())
    assert np.linalg.norm(carried.of("A").force, axis=1).max() == pytest.approx(bound, rel=1e-6)


def test_slider_crank_holds_the_limit_and_its_forces_balance_momentum(slider_crank):
    """Along the slide nothing acts on rod and slider but the ball B and the spring with its damper."""
    best, bound = slider_crank
    motion = best.motion
    assert best.success
    F = motion.reactions().of("B").force
    moved, _ = momentum(motion, ("rod", "slider"))
    x, v = (getattr(motion.markers(["D"]), name)[:, 0, 0] for name in ("position", "velocity"))
    spring = next(f for f in motion.model.forces if f.name == "S1")
    push = -spring.stiffness * (x - spring.free_length) - spring.damping * v
    assert np.abs(F[:, 0]).max() > 5.0
    assert F[:, 0] + push == pytest.approx(moved[:, 0], abs=1e-6 * np.abs(F).max())
    assert np.linalg.norm(F, axis=1).max() == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("case", ["five_bar", "slider_crank"])
def test_gradients_of_reactions_are_certified(case, request):
    best, _ = request.getfixturevalue(case)
    certificate = next(iter(best.certify().values()))
    assert certificate.passed, certificate
    # of reactions at every instant, not of the objective alone
    slopes = best.problem.evaluate(best.values).gradient
    assert slopes.shape[0] > 40
    assert np.abs(slopes[1:]).max() > 1.0


@pytest.mark.parametrize("case", ["five_bar", "slider_crank"])
def test_multipliers_say_what_the_limit_costs(case, request):
    """The minimum with a limit that gives way by a thousandth, by the multipliers and by another search."""
    best, bound = request.getfixturevalue(case)
    old = best.problem.constraints[0]
    looser = mg.design.Limit(old.objective, upper=1.001 * bound**2)
    problem = best.problem
    again = mg.DesignProblem(problem.scenarios, problem.variables, problem.minimize, [looser]).solve(
        start=best.values, tolerance=1e-10
    )
    expected = -sum(side.multiplier for side in best.constraints) * 0.001 * bound**2
    assert expected < 0.0
    assert again.value - best.value == pytest.approx(expected, rel=0.05)


def test_a_table_names_the_nearest_of_many_instants(slider_crank):
    best, _ = slider_crank
    text = str(best)
    assert len(text.splitlines()) < 12
    assert "B: 40 more values, none of them nearer" in text
    assert sum(line.startswith("B[") and line.endswith("active") for line in text.splitlines()) == 1
    assert len(best.constraints) == 41


def test_the_smooth_maximum_stays_on_the_safe_side():
    """One limit in place of 41, with an error of 1 %: below the bound, by no more than that."""
    module = example()
    problem, bound = module.slider_crank(0.9)
    one = mg.objectives.SmoothMaximum(
        lambda w: (w[:, 3:] ** 2).sum(-1) / bound**2, mg.measures.JointReaction("B"), error=0.02
    )
    best = mg.DesignProblem(problem.scenarios, problem.variables, problem.minimize, [mg.design.Limit(one, upper=1.0)])
    found = best.solve()
    assert found.success
    strongest = module.strongest(found.motion, "B") / bound
    assert 0.99 <= strongest <= 1.0 + 1e-6
