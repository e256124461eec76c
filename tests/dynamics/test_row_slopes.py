"""How rates and second rates of rows change: groups of columns against single ones, velocities against evaluation."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics import row_slopes
from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import States, as_complex, linearised, without_laws
from mechgrad.dynamics.system import System
from mechgrad.gallery import buggy, buggy_freedoms
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.mechanism import N_ALL
from mechgrad.steps.independent.candidates import offered_rows


@pytest.fixture(scope="module")
def car():
    """The buggy with rows that may be independent coordinates, in states without symmetry, on no constraint."""
    model = buggy()
    form = mg.formulations.MatrixR(buggy_freedoms())
    system = System(model, independent=offered_rows(model, form))
    rng, n = np.random.default_rng(3), model.n_v
    q = np.asarray(model.integrate(np.tile(model.neutral(), (3, 1)), 0.1 * rng.normal(size=(3, n))))
    v, a = rng.normal(size=(2, 3, n))
    return model, system, States(q, v, a, np.zeros((3, system.n_constraints)), np.zeros(3))


def test_rows_without_forces_are_the_same_rows(car):
    _, system, at = car
    m, first, last = system.n_constraints, system.n_rows, int(system.T.ints[N_ALL])
    bare = without_laws(system.T)
    assert (first - m, int(bare.ints[N_ALL])) == (4 + 4 * 9, m + 14)
    whole = evaluate_rows(system.T, at.q, at.v, at.a, at.t, 0, last)
    alone = evaluate_rows(bare, at.q, at.v, at.a, at.t, 0, m + 14)
    kept = np.r_[0:m, first:last]
    for name in ("values", "rates", "seconds", "J"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[:, kept])


def test_columns_that_share_no_row_are_stepped_together(car, monkeypatch):
    model, system, at = car
    T = as_complex(without_laws(system.T))
    together = coordinate_slopes(model, T, at)
    groups = row_slopes._Groups.of(model, T)
    assert len(groups.columns) < model.n_v / 2
    monkeypatch.setattr(row_slopes, "column_groups", lambda n, rows, m: np.arange(n))
    fresh = buggy()  # remembers no groups
    alone = coordinate_slopes(fresh, T, at)
    assert len(row_slopes._Groups.of(fresh, T).columns) == model.n_v
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_array_equal(a, b)
        assert (np.abs(b).max(axis=(0, 1)) > 1e-3).sum() > 20  # columns with an influence


def test_second_rates_by_velocities_need_no_evaluation(car):
    """2 rate_q w + Gamma (w x v): the last term is what turns in another order do, of balls alone."""
    model, system, at = car
    T = as_complex(without_laws(system.T))
    rate_q, _ = coordinate_slopes(model, T, at)
    J = linearised(without_laws(system.T), at, False).J
    found = velocity_slopes(model, T, at, rate_q, J, holonomic=True)
    evaluated = velocity_slopes(model, T, at, rate_q, J, holonomic=False)
    np.testing.assert_allclose(found, evaluated, rtol=0, atol=1e-13 * np.abs(evaluated).max())
    balls = np.ravel(model.layout.ball_v)
    assert np.abs(evaluated - 2.0 * rate_q)[:, :, balls].max() > 0.1
