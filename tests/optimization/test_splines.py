"""Splines: scipy's own evaluation, partition of unity, lines, and the ends of clamped ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

import mechgrad as mg
from mechgrad.optimization.motion.splines import Splines

CASES = [(s, k, kind) for s in (1, 2, 7, 20) for k in (3, 5) for kind in ("uniform", "clamped")]


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_basis_is_scipys_with_all_derivatives(segments, degree, kind):
    splines = Splines(segments, degree, kind)
    rng = np.random.default_rng(segments)
    P = rng.standard_normal((splines.n_points, 2))
    xi = np.sort(np.concatenate([rng.uniform(0, 1, 40), splines.grid, [0.0, 1.0]]))
    values, first = splines.basis(xi, 3)
    reference = BSpline(splines.knot_vector, P, degree)
    for r in range(4):
        got = np.stack([values[r, k] @ P[first[k] : first[k] + degree + 1] for k in range(xi.size)])
        inside = xi < 1  # on the last knot scipy's third derivative of a cubic jumps
        np.testing.assert_allclose(got[inside], reference(xi, r)[inside], rtol=1e-9, atol=1e-8 * segments**r)
    assert np.all(first + degree < splines.n_points)
    np.testing.assert_allclose(values[0].sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(values[1].sum(axis=1), 0.0, atol=1e-11 * segments)


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_lines_are_lines(segments, degree, kind):
    splines = Splines(segments, degree, kind)
    P = splines.between([1.0, -2.0], [3.0, 5.0])
    xi = np.linspace(0, 1, 9)
    values, first = splines.basis(xi)
    q = np.stack([values[0, k] @ P[first[k] : first[k] + degree + 1] for k in range(9)])
    np.testing.assert_allclose(q, np.array([1.0, -2.0]) + xi[:, None] * np.array([2.0, 7.0]), atol=1e-12)
    a = np.stack([values[2, k] @ P[first[k] : first[k] + degree + 1] for k in range(9)])
    np.testing.assert_allclose(a, 0.0, atol=1e-9 * segments**2)


def test_clamped_splines_start_and_end_at_their_control_points():
    splines = Splines(6, 3, "clamped")
    values, first = splines.basis([0.0, 1.0])
    np.testing.assert_allclose(values[0], [[1, 0, 0, 0], [0, 0, 0, 1]], atol=1e-14)
    assert list(first) == [0, 5]


def test_fit_returns_what_was_sampled():
    splines = Splines(8)
    P = np.random.default_rng(1).standard_normal((splines.n_points, 3))
    xi = np.linspace(0, 1, 60)
    values, first = splines.basis(xi)
    q = np.stack([values[0, k] @ P[first[k] : first[k] + 4] for k in range(60)])
    np.testing.assert_allclose(splines.fit(xi, q), P, atol=1e-6)


def test_bad_input_is_named():
    for arguments, match in (((0,), "segments is 0"), ((4, 4), "degree is 4"), ((4, 3, "open"), "knots is 'open'")):
        with pytest.raises(mg.InputError, match=match):
            Splines(*arguments)
    with pytest.raises(mg.InputError, match=r"\[0, 1\]"):
        Splines(4).basis([1.2])
    with pytest.raises(mg.InputError, match=r"must be \(2, n\)"):
        Splines(4).fit([0.0, 1.0], [1.0, 2.0])
