"""Steps across folds: their tables, what they keep, what they say, and where they stay away."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import ToleranceWarning
from mechgrad.steps.runge_kutta.kernels.collocation import (
    AT_NODES,
    HIGHEST,
    LAGRANGE,
    N_NODES,
    NODES,
    collocate,
    fold_between,
    length_across,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dynamics"))

from random_linkages import Linkage

FOLD_BETWEEN, LENGTH = fold_between.py_func, length_across.py_func


@numba.njit
def collocated(y, K, h, u, at):
    collocate(y, K, 1, h, u, at, 0.0)


@pytest.mark.parametrize("u", [0.0, 0.13, 0.5, 1.0])
def test_tables_integrate_polynomials(u):
    """y' = 8 (1 + u)^7 over a step of 2 s: y(u) = 2 (1 + u)^8, exactly; at the end up to degree 15."""
    K, at = np.concatenate([[0.0], 8 * (1 + NODES) ** 7]), np.zeros(1)
    collocated(np.array([2.0]), K, 2.0, u, at)
    assert at[0] == pytest.approx(2 * (1 + u) ** 8, rel=1e-13)
    K[1:] = 16 * (1 + NODES) ** 15
    collocated(np.array([1.0]), K, 1.0, 1.0, at)
    assert at[0] == pytest.approx(2.0**16, rel=1e-12)


def test_the_highest_polynomial_is_told():
    x = 2 * NODES - 1
    assert HIGHEST @ np.polynomial.legendre.legval(x, [1, -2, 3, 4, 5, 6, 7]) == pytest.approx(0, abs=1e-12)
    assert HIGHEST @ np.polynomial.legendre.legval(x, [0] * 7 + [3.0]) == pytest.approx(3.0)
    assert LAGRANGE.shape == (N_NODES, N_NODES)


@pytest.mark.parametrize("ahead", [0.05, 0.3, 0.8, 2.0])
def test_a_fold_is_left_between_nodes(ahead):
    h = LENGTH(1.0, ahead)
    assert np.abs(NODES * h - ahead).min() > 0.05 * ahead
    assert h > 1.1 * ahead


@pytest.mark.parametrize("fold", [0.3, 0.45, 0.5, 0.6, 0.8, 1.1])
@pytest.mark.parametrize("left", [0.0, 0.15])
def test_folds_are_told_from_ranks_that_stay(fold, left):
    past = np.full(16, np.nan)
    past[AT_NODES:] = 1e4 * ((NODES - fold) ** 2 * (1 + 0.3 * NODES) + left**2)
    found = FOLD_BETWEEN(past)
    assert found == pytest.approx(fold, abs=0.03) if left == 0.0 else found == -1.0


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
def test_the_tolerance_is_kept_across_a_fold_with_few_steps(tolerance):
    """Two linkages that explicit stages alone leave with 1e-5 and 1e-4 at any tolerance, after 60 steps."""
    for drawn in ((1, "folds crossed", 1, True, False, False), (15893, "parallelogram", 2, True, False, False)):
        linkage = Linkage(*drawn)
        motion = mg.simulate(
            linkage.model,
            mg.state(linkage.model, linkage.q, linkage.v),
            linkage.duration,
            formulation="index1",
            scheme="dop853",
            rtol=tolerance,
            atol=tolerance,
        )
        wrong = np.abs(motion.markers(linkage.names).position[:, :, :2] - linkage.directions(motion.t)).max()
        assert wrong < 10 * tolerance
        assert motion.steps < 40
        assert motion.record.fold == pytest.approx(linkage.folds_at, abs=0.01)


def test_where_rounding_rules_it_says_so():
    """A tolerance of 1e-13 is more than any step across a fold can keep."""
    linkage = Linkage(98376, "kite at the crank", 3, True, True, False)
    message = r"passes change points, the first near t = 0\.08.* times its tolerance"
    with pytest.warns(ToleranceWarning, match=message) as told:
        mg.simulate(
            linkage.model, mg.state(linkage.model, linkage.q, linkage.v), linkage.duration, rtol=1e-13, atol=1e-13
        )
    assert {warning.filename for warning in told} == {__file__}  # the line that asked


def test_a_stop_behind_the_fold_says_so_too():
    linkage = Linkage(98376, "kite at the crank", 3, True, True, False)
    start, end = mg.state(linkage.model, linkage.q, linkage.v), 0.9 * linkage.duration
    with pytest.warns(ToleranceWarning, match="times its tolerance") as told:
        motion = mg.simulate(
            linkage.model, start, linkage.duration, rtol=1e-13, atol=1e-13, stop=lambda t, q, v: t - end
        )
    assert {warning.filename for warning in told} == {__file__}
    assert motion.ended == "stop"
    assert motion.record.fold is not None


def test_a_body_that_tumbles_beside_goes_on_tumbling():
    """Euler parameters in a step across: a free body in the same model moves as it does alone."""
    linkage = Linkage(1, "folds crossed", 1, True, False, False)
    bare, body = linkage.model, mg.Body("stone", 1.0, inertia=(0.1, 0.2, 0.25))
    both = mg.Model(
        "both", [*bare.bodies, body], [*bare.joints, mg.Floating("free", "ground", "stone")], bare.points, bare.vectors,
        bare.gravity, forces=bare.forces, cut=[joint.name for joint in bare.cut_joints],
    )  # fmt: skip
    alone = mg.Model("alone", [body], [mg.Floating("free", "ground", "stone")], gravity=bare.gravity)
    q, v = both.neutral(), np.r_[linkage.v, 0.3, -0.2, 0.1, 3.0, 5.0, 0.4]
    q[: bare.n_q] = linkage.q
    how = {"rtol": 1e-10, "atol": 1e-10, "samples": 31}
    together = mg.simulate(both, mg.state(both, q, v), linkage.duration, **how)
    assert together.record.fold == pytest.approx(linkage.folds_at, abs=0.01)
    apart = mg.simulate(alone, mg.state(alone, alone.neutral(), v[bare.n_v :]), linkage.duration, **how)
    assert np.abs(apart.q[-1] - apart.q[0]).max() > 0.1
    assert np.abs(together.q[:, bare.n_q :] - apart.q).max() < 1e-8
    assert np.abs(together.v[:, bare.n_v :] - apart.v).max() < 1e-7
    wrong = np.abs(together.markers(linkage.names).position[:, :, :2] - linkage.directions(together.t)).max()
    assert wrong < 1e-8


def test_in_parts_it_is_the_same_motion():
    """Whether a march is interrupted for a stop condition or not."""
    linkage = Linkage(1, "folds crossed", 1, True, False, False)
    how = {"formulation": "index1", "scheme": "dop853", "rtol": 1e-9, "atol": 1e-9}
    whole = mg.simulate(linkage.model, mg.state(linkage.model, linkage.q, linkage.v), linkage.duration, **how)
    parts = mg.simulate(
        linkage.model,
        mg.state(linkage.model, linkage.q, linkage.v),
        linkage.duration,
        stop=lambda t, q, v: 1.0 + 0 * t,
        **how,
    )
    assert parts.q[-1] == pytest.approx(whole.q[-1], abs=1e-8)


def nearly_a_parallelogram(longer):
    """A four-bar whose ground is a bit longer than its coupler passes beside its flat position."""
    bar = {"com": (0.5, 0.0, 0.0), "inertia": (0.0, 0.1, 0.1)}
    model = mg.Model(
        "nearly a parallelogram",
        [mg.Body("crank", 1.0, **bar), mg.Body("coupler", 1.0, **bar), mg.Body("rocker", 1.0, **bar)],
        [
            mg.Revolute("A", "ground", "crank"),
            mg.Revolute("B", "crank", "coupler", (1, 0, 0)),
            mg.Revolute("D", "ground", "rocker", (2 + longer, 0, 0)),
            mg.Revolute("C", "coupler", "rocker", (2, 0, 0), child_origin=(1, 0, 0)),
        ],
        gravity=(0, -9.81, 0),
        cut=["C"],
    )
    return model, mg.assemble(model, {"A": 0.6}, {"A": -2.0}, guess=[0.6, -0.6, 0.6])


def test_ranks_that_only_nearly_vanish_are_no_folds():
    """Their motions have derivatives, and these are those of the steps that were taken."""
    model, start = nearly_a_parallelogram(0.003)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = mg.simulate(model, start, duration=0.5, scheme="dop853", formulation="index1")
    rank = [np.linalg.svd(x, compute_uv=False)[-1] for x in mg.terms.constraint_terms(model, motion.q).gamma]
    assert min(rank) < 0.25 * rank[0]
    assert motion.record.fold is None
    goal, wrt = mg.AtEnd(mg.measures.JointCoordinate("A")), ["gravity.y", "start.velocity.A", "B.origin.x"]
    g = mg.gradient(motion, goal, wrt)
    assert np.all(np.abs(g.array) > 1e-3)
    assert g.array == pytest.approx(mg.gradient(motion, goal, wrt, method="fd").array, rel=1e-6)
