"""The five-bar linkage, every formulation with every scheme, against equations derived by hand.

Tolerances follow the order of a scheme: the error constants of the second-order schemes are about 25 1/s^2 m over five
seconds of this motion (natural frequencies near 3 Hz), so 1 ms gives 2.5e-5 m.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import romb
from support import five_bar_reference

from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.penalty import Penalty
from mechgrad.errors import InputError, UnknownNameError
from mechgrad.gallery.mechanisms import five_bar, five_bar_start
from mechgrad.simulation.simulate import simulate
from mechgrad.steps.schemes import HHT, GeneralizedAlpha, Newmark

MODEL, START, DURATION = five_bar(), five_bar_start(), 5.0
FORMULATIONS = ("ali3p", "index1", "penalty", "matrix-r")
EXPLICIT = FORMULATIONS[1:]
SECOND_ORDER = {
    "trapezoidal": "trapezoidal",
    "newmark": "newmark",
    "linear acceleration": Newmark(beta=1 / 6),
    "hht": "hht",
    "hht 0.3": HHT(0.3),
    "generalized-alpha": "generalized-alpha",
    "generalized-alpha 0.5": GeneralizedAlpha(0.5),
}


@cache
def reference():
    return five_bar_reference.solve(DURATION, samples=np.linspace(0.0, DURATION, 11))


def moved(formulation, scheme, step=None, duration=DURATION, samples=11, **options):
    return simulate(
        MODEL, START, duration=duration, formulation=formulation, scheme=scheme, step=step, samples=samples, **options
    )


def point_2(motion):
    return motion.markers(["P2"]).position[:, 0, :2]


def miss(motion):
    """Largest distance of point 2 from the reference at its eleven instants."""
    return np.linalg.norm(point_2(motion) - reference().position, axis=1).max()


def objectives(motion, quadrature):
    """psi 1..3 of the reference, from the samples of a motion."""
    at = motion.markers(["P2"])
    away = at.position[:, 0, :2] - np.array(five_bar_reference.START_OF_POINT_2)
    squares = [np.sum(x**2, axis=1) for x in (away, at.velocity[:, 0], at.acceleration[:, 0])]
    return np.array([quadrature(x, dx=motion.t[1] - motion.t[0]) for x in squares])


def order(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# ---- accuracy and order


@pytest.mark.parametrize("about", ["origin", "com"])
@pytest.mark.parametrize("scheme", SECOND_ORDER)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_second_order_schemes_follow_the_reference(formulation, scheme, about):
    motion = moved(formulation, SECOND_ORDER[scheme], 1e-3, reference=about)
    assert miss(motion) < 1.5e-4
    assert np.ptp(point_2(motion), axis=0).min() > 0.3  # it does move
    assert motion.ended == "duration"
    assert motion.steps == 5000
    assert motion.iterations is not None
    assert motion.iterations[1:].max() <= 3 * 500  # Newton's, in 500 steps


@pytest.mark.parametrize("about", ["origin", "com"])
@pytest.mark.parametrize("formulation", EXPLICIT)
def test_explicit_methods_follow_the_reference(formulation, about):
    """Penalty violates the constraints by 1e-10 m, which its motion inherits."""
    tight = {"rtol": 1e-11, "atol": 1e-11, "reference": about}
    assert miss(moved(formulation, "dop853", **tight)) < 1e-9
    assert miss(moved(formulation, "rk4", 1e-3, reference=about)) < 1e-9


@pytest.mark.parametrize("scheme", SECOND_ORDER)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_second_order_by_regression(formulation, scheme):
    steps = np.array([4e-3, 2e-3, 1e-3, 5e-4])
    errors = [miss(moved(formulation, SECOND_ORDER[scheme], h)) for h in steps]
    assert order(steps, errors) == pytest.approx(2.0, abs=0.02), errors


@pytest.mark.parametrize("scheme", ["trapezoidal", "linear acceleration", "hht", "generalized-alpha"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_objectives_converge_with_second_order(formulation, scheme):
    """Integrals by the trapezoidal rule over the steps. Damping adds terms of third order: short steps are needed."""
    steps = np.array([1e-3, 5e-4, 2.5e-4])
    motions = [moved(formulation, SECOND_ORDER[scheme], h, samples=None) for h in steps]
    errors = np.array([np.abs(objectives(motion, np.trapezoid) - reference().psi[-1]) for motion in motions])
    assert np.all(errors[-1] < 1e-6 * reference().psi[-1])
    for k in range(3):
        assert order(steps, errors[:, k]) == pytest.approx(2.0, abs=0.1), (k + 1, errors[:, k])


@pytest.mark.parametrize("formulation", ["index1", "matrix-r"])
def test_fourth_order_by_regression(formulation):
    steps = np.array([20e-3, 10e-3, 5e-3, 2.5e-3])
    errors = [miss(moved(formulation, "rk4", h)) for h in steps]
    assert order(steps, errors) == pytest.approx(4.0, abs=0.3), errors


@pytest.mark.parametrize("formulation", ["index1", "matrix-r"])
def test_objectives_to_nine_digits(formulation):
    """2049 samples of order-seven interpolation, integrated by Romberg's method."""
    motion = moved(formulation, "dop853", samples=2049, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(objectives(motion, romb), reference().psi[-1], rtol=1e-9)


def test_damping_above_one_half_costs_an_order():
    steps = np.array([4e-3, 2e-3, 1e-3])
    errors = [miss(moved("ali3p", Newmark(beta=0.3025, gamma=0.6), h)) for h in steps]
    assert order(steps, errors) == pytest.approx(1.0, abs=0.15), errors


# ---- constraints


@pytest.mark.parametrize("scheme", ["trapezoidal", "hht", "generalized-alpha"])
def test_norms_of_projected_motions(scheme):
    """Velocities and accelerations are projected to rounding; positions to Newton's last, quadratic, increment."""
    motion = moved("ali3p", scheme, 1e-3, samples=None)
    rows = motion.system.constraints(motion.q, motion.v, motion.a, motion.t)
    levels = (rows.values, rows.rates, rows.seconds)
    for values, reported, bound in zip(levels, motion.norms.T, (1e-10, 1e-13, 1e-11), strict=True):
        assert np.linalg.norm(values, axis=1).max() < bound
        assert reported.max() < bound
    np.testing.assert_allclose(motion.norms[:, 0], np.linalg.norm(rows.values, axis=1), atol=1e-15)
    assert motion.constraint_names == ("B: point x", "B: point y")


@pytest.mark.parametrize(
    ("formulation", "scheme"), [("matrix-r", "trapezoidal"), ("matrix-r", "rk4"), ("index1", "rk4")]
)
def test_norms_at_rounding(formulation, scheme):
    assert np.all(moved(formulation, scheme, 1e-3, samples=None).norms.max(axis=0) < [1e-13, 1e-12, 1e-11])


def test_norms_of_penalty_shrink_with_it():
    loose, tight = (moved(Penalty(penalty=p), "rk4", 1e-3).norms[:, 0].max() for p in (1e6, 1e9))
    assert loose / tight == pytest.approx(1e3, rel=0.05)


def test_positions_drift_unless_projected():
    """Index-1 without projection: a drift of the method's order, gone with it."""
    bare = moved(Index1(projection=False), "rk4", 5e-3)
    kept = moved(Index1(), "rk4", 5e-3)
    assert bare.norms[:, 0].max() > 1e-9
    assert kept.norms[:, 0].max() < 1e-13


def test_unprojected_velocities_violate_their_constraints():
    bare = moved(ALI3P(projection=None), "trapezoidal", 1e-3)
    assert bare.norms[:, 0].max() < 1e-10
    assert bare.norms[:, 1].max() > 1e-8


@pytest.mark.parametrize("above", [1e-4, 1e-3])
def test_conditional_projections_keep_norms_below_their_threshold(above):
    """Skipped while both norms are below: what is reported never exceeds the threshold."""
    motion = moved(ALI3P(project_above=above), "trapezoidal", 1e-3, samples=None)
    largest = motion.norms[:, 1:].max()
    assert 0.1 * above < largest <= above
    assert miss(moved(ALI3P(project_above=above), "trapezoidal", 1e-3)) < 1.5e-4


# ---- the same motion, however it is computed


@cache
def plain_ali3p():
    return moved("ali3p", "trapezoidal", 1e-3)


@pytest.mark.parametrize(
    ("variant", "tolerance"),
    [
        (ALI3P(tangent="approximate"), 1e-9),
        (ALI3P(reuse=True), 3e-9),
        (ALI3P(reuse=True, tangent="approximate"), 3e-9),
        (ALI3P(projection="penalty"), 1e-8),
        (ALI3P(penalty=1e10, scaling=1e-4, projection="penalty"), 1e-5),
        *((ALI3P(penalty=10.0**k), 1e-8 if k == 6 else 1e-9) for k in range(6, 13)),
    ],
    ids=lambda x: f"{x.tangent}-{x.reuse}-{x.projection}-{x.penalty:g}" if isinstance(x, ALI3P) else None,
)
def test_settings_do_not_change_the_motion(variant, tolerance):
    """Neither the Newton matrix nor the penalty is felt: iteration goes on until values are below the tolerance."""
    motion = moved(variant, "trapezoidal", 1e-3)
    np.testing.assert_allclose(motion.q, plain_ali3p().q, rtol=0, atol=tolerance)
    np.testing.assert_allclose(motion.v, plain_ali3p().v, rtol=0, atol=20 * tolerance)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_reference_points_do_not_change_the_motion(formulation):
    about_origin, about_com = (
        moved(formulation, "trapezoidal", 1e-3, duration=1.0, reference=where) for where in ("origin", "com")
    )
    np.testing.assert_allclose(about_com.q, about_origin.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(about_com.multipliers, about_origin.multipliers, rtol=1e-7)


@pytest.mark.parametrize("tangent", ["exact", "approximate"])
@pytest.mark.parametrize("independent", [("P2.x", "P2.y"), ("A", "3"), ("1", "2")])
def test_independent_coordinates_do_not_change_the_motion(independent, tangent):
    """They change the discrete one, within its error; the differences vanish with the second order."""
    chosen = MatrixR(independent, tangent=tangent)
    gaps = [
        np.abs(point_2(moved(chosen, "trapezoidal", h, duration=1.0, samples=3)) - exact).max()
        for exact in [five_bar_reference.solve(1.0, samples=np.array([0.0, 0.5, 1.0])).position]
        for h in (2e-3, 1e-3)
    ]
    assert gaps[1] < 5e-5
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.05)
    still = moved(MatrixR(independent), "trapezoidal", 1e-3, duration=1.0, samples=3)
    np.testing.assert_allclose(moved(chosen, "trapezoidal", 1e-3, duration=1.0, samples=3).q, still.q, atol=1e-9)


@pytest.mark.parametrize("formulation", ["ali3p", "index1", "matrix-r", "penalty"])
def test_multipliers_are_the_force_in_the_hinge(formulation):
    """All formulations find the same reaction at B, to the error of a step; penalty to that of its violation."""
    wanted = moved("index1", "dop853", rtol=1e-11, atol=1e-11)
    found = moved(formulation, "trapezoidal", 1e-3)
    largest = np.abs(wanted.multipliers).max()
    assert largest > 10  # [N]
    np.testing.assert_allclose(found.multipliers, wanted.multipliers, rtol=0, atol=2e-4 * largest)


def test_energy_is_that_of_the_reference():
    state = reference().state
    wanted = [five_bar_reference.energy(five_bar_reference.DATA, *row) for row in state]
    found = moved("index1", "dop853", rtol=1e-11, atol=1e-11).energy()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


# ---- what is refused


def test_unknown_names_and_wrong_choices():
    with pytest.raises(UnknownNameError, match="'index-2'"):
        moved("index-2", "rk4", 1e-3)
    with pytest.raises(UnknownNameError, match="reference 'centre'"):
        moved("ali3p", "hht", 1e-3, reference="centre")
    with pytest.raises(InputError, match="ALI3-P has no explicit form"):
        moved("ali3p", "rk4", 1e-3)
    with pytest.raises(InputError, match="is for open trees"):
        moved("semi-recursive", "trapezoidal", 1e-3)
    with pytest.raises(InputError, match=r"implicit steps of open trees alone.*Give an explicit scheme"):
        moved("fully-recursive", "trapezoidal", 1e-3)
    with pytest.raises(InputError, match=r"names 1 independent coordinates, and .* 2 degrees"):
        moved(MatrixR(["A"]), "trapezoidal", 1e-3)
    with pytest.raises(UnknownNameError, match="independent coordinate 'Q'"):
        moved(MatrixR(["A", "Q"]), "trapezoidal", 1e-3)
    with pytest.raises(InputError, match="projection is 'some'"):
        ALI3P(projection="some")
    with pytest.raises(InputError, match="must be positive"):
        Penalty(penalty=-1.0)
