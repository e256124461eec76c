"""Splines on segments of free lengths: equal segments, scipy, and derivatives by the lengths from a plain recursion."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.interpolate import BSpline

import mechgrad as mg
from mechgrad.optimization.motion.spacing import spaced_basis, where
from mechgrad.optimization.motion.splines import Splines

KINDS = [(k, kind) for k in (3, 5) for kind in ("uniform", "clamped")]
CASES = [(s, k, kind) for s in (1, 2, 3, 11) for k, kind in KINDS]


def some_lengths(segments):
    return np.random.default_rng(segments).uniform(0.3, 1.7, segments)


def some_samples(segments):
    """Two samples inside every segment, without symmetry."""
    segment = np.repeat(np.arange(segments), 2)
    return segment, np.random.default_rng(segments + 50).uniform(0.05, 0.95, segment.size)


def knots_of(h, k, kind):
    """All knots, from their definition; the lengths may be any numbers."""
    inside = [0.0 * h[0]]
    for length in h:
        inside.append(inside[-1] + length)
    outer = [n if kind == "uniform" else 0 for n in range(1, k + 1)]
    return [inside[0] - h[0] * n for n in reversed(outer)] + inside + [inside[-1] + h[-1] * n for n in outer]


def cox(knots, i, p, j, t, r=0):
    """d^r B_i,p / dt^r on the segment that starts at knot j; a quotient with an empty support counts as zero."""
    if p == 0:
        return 1.0 if i == j and r == 0 else 0.0
    total = 0.0
    for low, high, sign, at in ((i, i + p, 1, i), (i + 1, i + p + 1, -1, i + p + 1)):
        if low <= j < high:
            weight = (t - knots[at]) * sign if r == 0 else p * sign
            total = weight * cox(knots, low, p - 1, j, t, max(r - 1, 0)) / (knots[high] - knots[low]) + total
    return total


def plain(h, k, kind, segment, u):
    """Rows r = 0 .. 3 of the k + 1 functions at one sample, a list of numbers of the kind of h."""
    knots = knots_of(h, k, kind)
    t = knots[segment + k] + h[segment] * u
    return [cox(knots, segment + m, k, segment + k, t, r) for r in range(4) for m in range(k + 1)]


@dataclass(frozen=True)
class Dual:
    """a + b e with e^2 = 0; complex parts carry a second direction."""

    a: complex
    b: complex

    @staticmethod
    def of(x):
        return x if isinstance(x, Dual) else Dual(x, 0.0)

    def __add__(self, x):
        return Dual(self.a + Dual.of(x).a, self.b + Dual.of(x).b)

    def __sub__(self, x):
        return Dual(self.a - Dual.of(x).a, self.b - Dual.of(x).b)

    def __mul__(self, x):
        return Dual(self.a * Dual.of(x).a, self.a * Dual.of(x).b + self.b * Dual.of(x).a)

    def __truediv__(self, x):
        return Dual(self.a / x.a, self.b / x.a - self.a * x.b / x.a**2)

    def __rtruediv__(self, x):
        return Dual.of(x) / self

    __rmul__ = __mul__


def spread(basis, segments):
    """by_h and by_hh with all lengths on the last axes."""
    pick = np.zeros((*basis.lengths.shape, segments))
    sample, column = np.nonzero(basis.lengths >= 0)
    pick[sample, column, basis.lengths[sample, column]] = 1.0
    by_h = np.einsum("rnmw,nwa->rnma", basis.by_h, pick)
    return by_h, np.einsum("rnmwv,nwa,nvb->rnmab", basis.by_hh, pick, pick, optimize=True)


def near(got, expected, tolerance):
    """Equal to a part of the largest number of each time derivative r; where all vanish, to a part of 0.05."""
    for r, (g, e) in enumerate(zip(got, expected, strict=True)):
        atol = tolerance * max(np.abs(e).max(), 0.05)
        np.testing.assert_allclose(g, e, rtol=0, atol=atol, err_msg=f"time derivative {r}")


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_equal_lengths_are_the_splines_of_equal_segments(segments, degree, kind):
    splines, T = Splines(segments, degree, kind), 1.7
    xi = np.sort(np.concatenate([np.random.default_rng(0).uniform(0, 1, 30), splines.grid]))
    basis = spaced_basis(splines, np.full(segments, T / segments), *where(splines, xi))
    values, first = splines.basis(xi, 3)
    np.testing.assert_array_equal(basis.first, first)
    near(basis.values, values / T ** np.arange(4)[:, None, None], 1e-12)


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_values_are_scipys(segments, degree, kind):
    splines, h = Splines(segments, degree, kind), some_lengths(segments)
    segment, u = some_samples(segments)
    knots = np.array(knots_of(list(h), degree, kind))
    P = np.random.default_rng(3).standard_normal(splines.n_points)
    basis = spaced_basis(splines, h, segment, u)
    got = np.einsum("rnm,nm->rn", basis.values, P[segment[:, None] + np.arange(degree + 1)])
    t = knots[segment + degree] + u * h[segment]
    near(got, [BSpline(knots, P, degree)(t, r) for r in range(4)], 1e-12)
    dense = BSpline.design_matrix(t, knots, degree).toarray()
    np.testing.assert_allclose(
        basis.values[0], dense[np.arange(t.size)[:, None], segment[:, None] + np.arange(degree + 1)], atol=1e-14
    )


@pytest.mark.parametrize(("degree", "kind"), KINDS)
def test_both_sides_of_a_knot_agree(degree, kind):
    splines, h = Splines(6, degree, kind), some_lengths(6)
    P = np.random.default_rng(4).standard_normal(splines.n_points)
    left, right = (
        np.einsum("rnm,nm->rn", b.values, P[b.first[:, None] + np.arange(degree + 1)])
        for b in (
            spaced_basis(splines, h, np.arange(5), np.ones(5), degree - 1),
            spaced_basis(splines, h, np.arange(1, 6), np.zeros(5), degree - 1),
        )
    )
    near(left, right, 1e-12)


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_first_derivatives_by_complex_step(segments, degree, kind):
    splines, h = Splines(segments, degree, kind), some_lengths(segments)
    segment, u = some_samples(segments)
    basis = spaced_basis(splines, h, segment, u)
    expected = np.zeros((4, segment.size, degree + 1, segments))
    for a in range(segments):
        moved = [complex(x, 1e-30 * (m == a)) for m, x in enumerate(h)]
        for n, (j, at) in enumerate(zip(segment, u, strict=True)):
            expected[:, n, :, a] = np.reshape(np.imag(plain(moved, degree, kind, j, at)) / 1e-30, (4, -1))
    # the functions of a single segment depend on u alone; only their time derivatives feel its length
    assert np.all(np.abs(expected).max(axis=(1, 2, 3))[int(segments == 1) :] > 0.05)
    # no truncation: what is left are roundings of the recursion
    near(spread(basis, segments)[0], expected, 1e-12)


@pytest.mark.parametrize(("segments", "degree", "kind"), [case for case in CASES if case[0] < 11 or case[1] == 3])
def test_second_derivatives_by_complex_step_of_dual_numbers(segments, degree, kind):
    splines, h = Splines(segments, degree, kind), some_lengths(segments)
    segment, u = (x[::2] for x in some_samples(segments))
    basis = spaced_basis(splines, h, segment, u)
    expected = np.zeros((4, segment.size, degree + 1, segments, segments))
    for a, b in combinations_with_replacement(range(segments), 2):
        moved = [Dual(complex(x, 1e-30 * (m == a)), float(m == b)) for m, x in enumerate(h)]
        for n, (j, at) in enumerate(zip(segment, u, strict=True)):
            second = np.imag([x.b for x in plain(moved, degree, kind, j, at)]) / 1e-30
            expected[:, n, :, a, b] = expected[:, n, :, b, a] = np.reshape(second, (4, -1))
    assert np.all(np.abs(expected).max(axis=(1, 2, 3, 4))[int(segments == 1) :] > 0.05)
    near(spread(basis, segments)[1], expected, 1e-12)
    np.testing.assert_array_equal(basis.by_hh, basis.by_hh.swapaxes(-1, -2))


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_scaling_all_lengths_scales_the_time_derivatives(segments, degree, kind):
    """d^r B / dt^r is homogeneous of degree -r in h: h . B_h = -r B and h . B_hh h = r (r + 1) B."""
    splines, h = Splines(segments, degree, kind), some_lengths(segments)
    basis = spaced_basis(splines, h, *some_samples(segments), degree)
    r = np.arange(degree + 1)[:, None, None]
    by_h, by_hh = spread(basis, segments)
    size = np.abs(basis.values).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(by_h @ h / size, -r * basis.values / size, atol=1e-12)
    np.testing.assert_allclose(by_hh @ h @ h / size, r * (r + 1) * basis.values / size, atol=1e-10)


@pytest.mark.parametrize(("segments", "degree", "kind"), CASES)
def test_the_functions_sum_to_one_whatever_the_lengths(segments, degree, kind):
    basis = spaced_basis(Splines(segments, degree, kind), some_lengths(segments), *some_samples(segments))
    for r in range(4):
        for x in (basis.values, basis.by_h, basis.by_hh):
            expected = 1.0 if x is basis.values and r == 0 else 0.0
            np.testing.assert_allclose(x[r].sum(axis=1), expected, atol=1e-13 * max(np.abs(x[r]).max(), 1.0))


@pytest.mark.parametrize("kind", ["uniform", "clamped"])
def test_lengths_beyond_the_ends_are_padded(kind):
    splines = Splines(4, 3, kind)
    basis = spaced_basis(splines, some_lengths(4), np.arange(4), np.full(4, 0.3))
    assert basis.lengths.tolist() == [[-1, -1, 0, 1, 2], [-1, 0, 1, 2, 3], [0, 1, 2, 3, -1], [1, 2, 3, -1, -1]]
    padded = basis.lengths < 0
    acts = np.abs(basis.by_h[1]).max(axis=1)
    assert np.all(acts[~padded] > 1e-3)
    assert np.all(acts[padded] == 0)
    assert np.all(basis.by_hh.transpose(1, 3, 0, 2, 4)[padded] == 0)
    assert np.all(basis.by_hh.transpose(1, 4, 0, 2, 3)[padded] == 0)
    wide = spaced_basis(Splines(2, 5, kind), [0.4, 0.7], [0], [0.3])
    assert wide.lengths.tolist() == [[-1, -1, -1, -1, 0, 1, -1, -1, -1]]
    assert wide.by_hh.shape == (4, 1, 6, 9, 9)


@pytest.mark.parametrize("degree", [3, 5])
def test_fewer_time_derivatives_are_the_same_ones(degree):
    splines, h = Splines(5, degree), some_lengths(5)
    most = spaced_basis(splines, h, *some_samples(5), degree)
    for R in range(degree):
        basis = spaced_basis(splines, h, *some_samples(5), R)
        for name in ("values", "by_h", "by_hh"):
            np.testing.assert_allclose(getattr(basis, name), getattr(most, name)[: R + 1], rtol=1e-13)


@pytest.mark.parametrize("segments", [1, 3, 7, 49, 98])
def test_where_agrees_with_the_basis(segments):
    splines = Splines(segments)
    xi = np.concatenate([splines.grid, np.nextafter(splines.grid[1:], 0), np.random.default_rng(2).uniform(0, 1, 50)])
    segment, u = where(splines, xi)
    np.testing.assert_array_equal(segment, splines.basis(xi)[1])
    assert np.all((u >= 0) & (u <= 1))
    np.testing.assert_array_equal(u[: segments + 1], [0.0] * segments + [1.0])
    np.testing.assert_allclose((segment + u) / segments, xi, atol=1e-15)


def test_bad_input_is_named():
    splines, good = Splines(3), [0.1, 0.2, 0.3]
    for h, segment, u, match in (
        ([0.1, 0.2], [0], [0.5], r"h has shape \(2,\); it must be \(3,\)"),
        ([good], [0], [0.5], r"h has shape \(1, 3\)"),
        ([0.1, 0.0, 0.3], [0], [0.5], r"h\[1\] is 0.0; .* positive"),
        ([0.1, 0.2, -0.3], [0], [0.5], r"h\[2\] is -0.3"),
        ([np.nan, 0.2, 0.3], [0], [0.5], r"h\[0\] is nan"),
        ([0.1, np.inf, 0.3], [0], [0.5], r"h\[1\] is inf"),
        (good, [0, 1], [0.5], r"segment has shape \(2,\) and u \(1,\)"),
        (good, 0, 0.5, r"segment has shape \(\)"),
        (good, [3], [0.5], r"integers in 0 .. 2"),
        (good, [-1], [0.5], r"integers in 0 .. 2"),
        (good, [1.0], [0.5], r"integers in 0 .. 2"),
        (good, [1], [1.01], r"u must be numbers in \[0, 1\]"),
        (good, [1], [np.nan], r"u must be numbers in \[0, 1\]"),
    ):
        with pytest.raises(mg.InputError, match=match):
            spaced_basis(splines, h, segment, u)
    for derivatives in (-1, 4):
        with pytest.raises(mg.InputError, match=f"derivatives is {derivatives}; at degree 3 it may be 0 to 3"):
            spaced_basis(splines, good, [0], [0.5], derivatives)
    for xi in ([1.2], [-0.1], [np.nan], [[0.5]]):
        with pytest.raises(mg.InputError, match=r"xi must be numbers in \[0, 1\]"):
            where(splines, xi)
