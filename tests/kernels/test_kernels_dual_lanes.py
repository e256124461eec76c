"""Dual lanes: memory, arithmetic, elementary functions and comparisons of values with slopes, against complex128."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_scalars import compiled
from numba.core.errors import TypingError

from mechgrad.kernels.dual_lanes import dual_zero
from mechgrad.kernels.elementary import angle_of, magnitude, reciprocal, sincos, square_root
from mechgrad.kernels.lanes import LANES, any_not_less, extract, gather, insert, load, scatter, store, where_less, width

SLOPE = 1e-30
ROUNDINGS = 1e-14
GUARD = -777.0 - 555.0j
MARGIN = 3 * LANES
SIZES = [(nt, m) for nt in range(1, 2 * LANES + 2) for m in range(2 * LANES + 4)]


def random_samples(rng, *shape, slope=SLOPE):
    """(LANES, *shape) numbers away from zero, with slopes."""
    x = rng.uniform(0.3, 2.0, (LANES, *shape)) * rng.choice([-1.0, 1.0], (LANES, *shape))
    return x + 1j * slope * rng.normal(size=x.shape)


def slots(samples):
    """(LANES, m) samples as a scratch array: the values of each number, then its slopes."""
    return np.stack([samples.real.T, samples.imag.T], axis=1).ravel().view(complex)


def samples(scratch):
    """Inverse of `slots`."""
    parts = scratch.view(float).reshape(-1, 2, LANES)
    return (parts[:, 0] + 1j * parts[:, 1]).T


def assert_close(got, wanted):
    """Values and slopes apart: a slope would vanish behind its value."""
    size = np.abs(wanted.imag).max()
    assert size > 0
    np.testing.assert_allclose(got.real, wanted.real, rtol=ROUNDINGS)
    np.testing.assert_allclose(got.imag, wanted.imag, rtol=ROUNDINGS, atol=ROUNDINGS * size)


# ----------------------------------------------------------------------------------------------------- memory
@compiled
def _gather(source, row, scratch, slot):
    gather(source, row, scratch, slot, dual_zero())


@compiled
def _scatter(scratch, slot, target, row):
    scatter(scratch, slot, target, row, dual_zero())


def guarded(shape):
    n = int(np.prod(shape))
    whole = np.full(n + 2 * MARGIN, GUARD)
    return whole[MARGIN : MARGIN + n].reshape(shape), whole


def untouched(whole, inside):
    return bool(np.all(whole[:MARGIN] == GUARD) and np.all(whole[MARGIN + inside :] == GUARD))


def test_gather_and_scatter_are_inverse_for_all_sizes():
    """Every number of rows and columns around the block size; nothing outside the arrays is written."""
    rng = np.random.default_rng(1)
    slot = 2
    for nt, m in SIZES:
        source = rng.normal(size=(nt, m)) + 1j * rng.normal(size=(nt, m))
        target, whole_target = guarded((nt, m))
        for row in range(0, nt, LANES):
            scratch, whole_scratch = guarded(((slot + m) * LANES,))
            _gather(source, row, scratch, slot)
            rows = np.minimum(np.arange(row, row + LANES), nt - 1)  # past the end the last row repeats
            np.testing.assert_array_equal(scratch[slot * LANES :], slots(source[rows]))
            assert np.all(scratch[: slot * LANES] == GUARD), (nt, m, row)
            assert untouched(whole_scratch, scratch.size), (nt, m, row)
            _scatter(scratch, slot, target, row)
            np.testing.assert_array_equal(target[: row + LANES], source[: row + LANES])
            assert np.all(target[row + LANES :] == GUARD), (nt, m, row)
        assert untouched(whole_target, target.size), (nt, m)


@compiled
def _copy(x, y):
    scalar = dual_zero()
    for k in range(x.size // width(scalar)):
        store(y, k + 1, load(x, k, scalar))


def test_load_and_store():
    x = slots(random_samples(np.random.default_rng(2), 5))
    y = np.full(x.size + 2 * LANES, GUARD)
    _copy(x, y)
    np.testing.assert_array_equal(y[LANES:-LANES], x)
    assert np.all(y[:LANES] == GUARD)
    assert np.all(y[-LANES:] == GUARD)


def test_real_scratch_is_refused():
    """A slot of doubles is half as long: reading it would run into its neighbour."""
    with pytest.raises(TypingError, match="lives in arrays of complex128, not of float64"):
        _copy(np.zeros(LANES), np.zeros(3 * LANES))


@compiled
def _one_lane(x, y, lane, value):
    whole = load(x, 0, dual_zero())
    store(y, 0, insert(whole, lane, value))
    return extract(whole, lane)


@pytest.mark.parametrize("lane", range(LANES))
def test_extract_and_insert_touch_one_lane(lane):
    x = random_samples(np.random.default_rng(3), 1)
    y = np.empty(LANES, complex)
    assert _one_lane(slots(x), y, lane, 1.5 - 2.5j) == x[lane, 0]
    np.testing.assert_array_equal(samples(y)[:, 0], np.where(np.arange(LANES) == lane, 1.5 - 2.5j, x[:, 0]))


# ------------------------------------------------------------------------------------------------- arithmetic
@compiled
def _arithmetic(x, y, real, entry, out):
    scalar = dual_zero()
    a, b = load(x, 0, scalar), load(y, 0, scalar)
    store(out, 0, a + b)
    store(out, 1, a - b)
    store(out, 2, a * b)
    store(out, 3, a / b)
    store(out, 4, -a)
    store(out, 5, a + real)
    store(out, 6, real + a)
    store(out, 7, a - real)
    store(out, 8, real - a)
    store(out, 9, a * real)
    store(out, 10, real * a)
    store(out, 11, a / real)
    store(out, 12, real / a)
    store(out, 13, a + entry)
    store(out, 14, entry + a)
    store(out, 15, a - entry)
    store(out, 16, entry - a)
    store(out, 17, a * entry)
    store(out, 18, entry * a)
    store(out, 19, a / entry)
    store(out, 20, entry / a)
    store(out, 21, 2 * a)
    store(out, 22, a - 1)
    store(out, 23, reciprocal(a))


def arithmetic(a, b, real, entry):
    """Dual lanes: (LANES, 24)."""
    out = np.empty(24 * LANES, complex)
    _arithmetic(slots(a), slots(b), real, entry, out)
    return samples(out)


def expected(a, b, real, entry):
    return np.stack(
        [
            a + b, a - b, a * b, a / b, -a, a + real, real + a, a - real, real - a, a * real, real * a, a / real,
            real / a, a + entry, entry + a, a - entry, entry - a, a * entry, entry * a, a / entry, entry / a, 2 * a,
            a - 1, 1 / a,
        ],
        axis=1,
    )  # fmt: skip


def operands(seed, slope=SLOPE):
    rng = np.random.default_rng(seed)
    return random_samples(rng, 1, slope=slope), random_samples(rng, 1, slope=slope), 0.37, 0.81 + 1.3j * slope


@pytest.mark.parametrize("seed", [4, 5])
def test_arithmetic_with_numbers_and_table_entries(seed):
    """A plain number is constant, a complex one has a slope."""
    a, b, real, entry = operands(seed)
    wanted = expected(a[:, 0], b[:, 0], real, entry)
    got = arithmetic(a, b, real, entry)
    for k in range(wanted.shape[1]):
        assert_close(got[:, k], wanted[:, k])


def test_values_do_not_feel_slopes_and_slopes_are_linear():
    """With slopes of the size 1 complex numbers would feel their products. A power of two rounds nothing."""
    small, large = arithmetic(*operands(6, slope=2.0**-100)), arithmetic(*operands(6, slope=1.0))
    np.testing.assert_array_equal(small.real, large.real)
    np.testing.assert_array_equal(small.imag * 2.0**100, large.imag)


def test_division_by_zero_stays_in_its_lane():
    a, b, real, entry = operands(7)
    wanted = arithmetic(a, b, real, entry)
    a[1 % LANES] = 0.0
    got = arithmetic(a, b, real, entry)
    others = np.arange(LANES) != 1 % LANES
    np.testing.assert_array_equal(got[others], wanted[others])
    for quotient in (12, 20, 23):
        assert not np.isfinite(got[~others, quotient]).any()


# ----------------------------------------------------------------------------------------- elementary functions
@compiled
def _functions(x, y, out):
    scalar = dual_zero()
    for k in range(x.size // width(scalar)):
        a, b = load(x, k, scalar), load(y, k, scalar)
        sine, cosine = sincos(a)
        store(out, 5 * k, sine)
        store(out, 5 * k + 1, cosine)
        store(out, 5 * k + 2, square_root(a * a))
        store(out, 5 * k + 3, angle_of(a, b))
        store(out, 5 * k + 4, magnitude(a))


def functions(x, y):
    out = np.empty(5 * x.size, complex)
    _functions(slots(x), slots(y), out)
    return samples(out).reshape(LANES, -1, 5).transpose(2, 0, 1)


def test_elementary_functions():
    """In all quadrants; one lane beyond the reach of the short reduction of angles."""
    rng = np.random.default_rng(8)
    x, y = random_samples(rng, 20), random_samples(rng, 20)
    x[0, 3] += 3.0e4
    sine, cosine, root, angle, size = functions(x, y)
    assert_close(sine, np.sin(x))
    assert_close(cosine, np.cos(x))
    assert_close(root, np.sqrt(x * x))
    slope = (y.real * x.imag - x.real * y.imag) / (x.real**2 + y.real**2)
    assert_close(angle, np.arctan2(x.real, y.real) + 1j * slope)
    np.testing.assert_array_equal(size, np.abs(x.real))  # to which a slope of 1e-30 adds nothing


def test_magnitude_feels_slopes_and_has_none():
    """What vanishes but has a slope does not vanish."""
    x = np.zeros((LANES, 1), complex)
    x.imag[:, 0] = np.arange(LANES) * -SLOPE
    np.testing.assert_array_equal(functions(x, x + 1.0)[4][:, 0], np.arange(LANES) * SLOPE)


# ------------------------------------------------------------------------------------------------ comparisons
@compiled
def _choose(a, b, x, y, out):
    scalar = dual_zero()
    store(out, 0, where_less(load(a, 0, scalar), load(b, 0, scalar), load(x, 0, scalar), load(y, 0, scalar)))


@compiled
def _any_not_less(x, bound):
    return any_not_less(load(x, 0, dual_zero()), bound)


@pytest.mark.parametrize("less", range(LANES))
def test_where_less_compares_values_and_chooses_both(less):
    """Slopes that say the opposite have no say; equal values and NaN take y."""
    rng = np.random.default_rng(9)
    a = np.where(np.arange(LANES) == less, 1.0, 2.0)[:, None] + 5j
    a[(less + 1) % LANES] = np.nan + 0j if LANES > 1 else a[0]
    b = np.full((LANES, 1), 2.0 - 5j)
    x, y = random_samples(rng, 1, slope=1.0), random_samples(rng, 1, slope=1.0)
    out = np.empty(LANES, complex)
    _choose(slots(a), slots(b), slots(x), slots(y), out)
    np.testing.assert_array_equal(samples(out), np.where(np.arange(LANES)[:, None] == less, x, y))


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (0.5, False), (1.0, True), (1.5, True), (-np.inf, False), (0.5 + 3j, False), (complex(np.nan, 0.0), True),
        (complex(0.5, np.nan), True), (complex(np.inf, 0.0), True), (complex(0.5, np.inf), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lane", range(LANES))
def test_any_not_less_sees_every_lane_and_nan_in_slopes(lane, value, answer):
    x = np.full((LANES, 1), 0.25 + 0j)
    x[lane] = value
    assert _any_not_less(slots(x), 1.0) is answer
