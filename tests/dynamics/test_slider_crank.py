"""The spatial slider-crank against its equation in one coordinate: all four cuts, with and without spring."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support import slider_crank_reference as by_hand

import mechgrad as mg
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.errors import InputError
from mechgrad.gallery.mechanisms import slider_crank
from mechgrad.kinematics.assembly import assemble
from mechgrad.simulation.simulate import simulate

CUTS = ("crank axis", "B", "C", "slide")
DATA = {"bare": by_hand.BENCHMARK, "slender": by_hand.SPRING_SLENDER, "isotropic": by_hand.SPRING_ISOTROPIC}
INSTANTS = np.linspace(0.0, 5.0, 11)


@cache
def reference(which="bare"):
    return by_hand.solve(DATA[which], samples=INSTANTS)


def started(which="bare", cut="B"):
    """The model as drawn, with the slider as fast as a crank speed of 6 rad/s asks for."""
    data = DATA[which]
    model = slider_crank(cut=cut, axial_inertia=data.rod_axial, spring=data.stiffness > 0)
    return model, assemble(model, guess=model.neutral(), rates={"PC.x": reference(which).velocity[0]})


def x_of_D(motion):
    return motion.markers(["D"]).position[:, 0, 0]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("which", DATA)
def test_benchmark_curve(which, cut):
    """Ten instants of five seconds, in which the crank of the bare mechanism makes several turns."""
    model, start = started(which, cut)
    motion = simulate(model, start, duration=5.0, samples=11, rtol=1e-11, atol=1e-11)
    at = motion.markers(["D"])
    np.testing.assert_allclose(at.position[:, 0, 0], reference(which).position, rtol=0, atol=1e-8)
    np.testing.assert_allclose(at.velocity[:, 0, 0], reference(which).velocity, rtol=0, atol=1e-6)
    np.testing.assert_allclose(at.acceleration[:, 0, 0], reference(which).acceleration, rtol=0, atol=1e-4)
    assert np.ptp(x_of_D(motion)) > 0.02
    assert motion.formulation == mg.formulations.Index1()
    assert motion.norms.max() < 1e-10


@pytest.mark.parametrize("cut", CUTS)
def test_second_order_whatever_is_cut(cut):
    model, start = started("bare", cut)
    steps, errors = np.array([5e-4, 2.5e-4, 1.25e-4]), []
    for h in steps:
        motion = simulate(model, start, duration=2.0, step=h, samples=5)
        errors.append(np.abs(x_of_D(motion) - reference().position[:5]).max())
        assert motion.formulation == mg.formulations.ALI3P()
        assert np.all(motion.norms.max(axis=0) < [3e-9, 1e-8, 3e-5])  # what projections leave
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.15), errors
    assert errors[-1] < 1e-4


@pytest.mark.parametrize("formulation", ["index1", "penalty", MatrixR(["crank axis"])])
@pytest.mark.parametrize("scheme", ["rk4", "trapezoidal"])
def test_formulations_agree(formulation, scheme):
    """At 1 ms; penalty is the least accurate of them, by a factor of ten."""
    model, start = started("slender")
    motion = simulate(model, start, duration=1.0, formulation=formulation, scheme=scheme, step=1e-3, samples=3)
    bound = 3e-7 if scheme == "rk4" else 5e-4
    np.testing.assert_allclose(x_of_D(motion), reference("slender").position[:3], rtol=0, atol=bound)


@pytest.mark.parametrize(
    ("formulation", "scheme", "share"),
    [("index1", "dop853", 1e-7), ("matrix-r", "rk4", 1e-6), ("penalty", "rk4", 1e-6), ("ali3p", "trapezoidal", 5e-3),
     ("index1", "trapezoidal", 5e-3)],
)  # fmt: skip
def test_force_in_the_cut_ball(formulation, scheme, share):
    """Along x nothing but the ball drives rod and slider: F = (m_rod / 2 + m_slider) x''; the crank feels -F."""
    model, start = started("bare", "B")
    form = MatrixR(["crank axis"]) if formulation == "matrix-r" else formulation
    options = {"rtol": 1e-11, "atol": 1e-11} if scheme == "dop853" else {"step": 5e-4}
    motion = simulate(model, start, duration=1.0, formulation=form, scheme=scheme, samples=3, **options)
    exact = by_hand.solve(DATA["bare"], 1.0, samples=np.linspace(0, 1, 3)).acceleration * (0.25 + 2.0)
    assert motion.constraint_names[0] == "B: point x"
    found = -motion.multipliers[:, 0]  # rows are child less parent, the rod is the child and feels -lam
    np.testing.assert_allclose(found, exact, rtol=0, atol=share * np.abs(exact).max())


def test_a_ball_has_no_independent_coordinate():
    """With the crank's hinge cut, the slide or the universal joint can be chosen, never the ball's parameters."""
    model, start = started("bare", "crank axis")
    for name in ("slide", "PC.x"):
        motion = simulate(
            model, start, duration=0.05, formulation=MatrixR([name]), scheme="trapezoidal", step=1e-4, samples=2
        )
        exact = by_hand.solve(DATA["bare"], 0.05)
        np.testing.assert_allclose(x_of_D(motion)[-1], exact.position[-1], atol=1e-6)
    with pytest.raises((InputError, KeyError), match=r"independent coordinate 'B\.e0'"):
        simulate(model, start, duration=0.05, formulation=MatrixR(["B.e0"]), scheme="trapezoidal", step=1e-3)
