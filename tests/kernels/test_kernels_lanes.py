"""The lane scalar: memory in and out, arithmetic, comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_scalars import NAMES, SCALARS, compiled, on_every_scalar

from mechgrad.kernels.elementary import reciprocal
from mechgrad.kernels.host import host_lanes
from mechgrad.kernels.lanes import (
    LANES,
    any_not_less,
    extract,
    gather,
    insert,
    lane_zero,
    load,
    scatter,
    store,
    where_less,
    width,
)

GUARD = -777.0
MARGIN = 3 * LANES  # guard numbers on either side: more than a whole misplaced register
SIZES = [(nt, m) for nt in range(1, 2 * LANES + 2) for m in range(2 * LANES + 4)]


def _gather(scalar, source, row, scratch, slot):
    gather(source, row, scratch, slot, scalar)


def _scatter(scalar, scratch, slot, target, row):
    scatter(scratch, slot, target, row, scalar)


GATHER, SCATTER = on_every_scalar(_gather), on_every_scalar(_scatter)


def guarded(shape: tuple[int, ...], dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """A C-contiguous array in the middle of a larger one; both."""
    n = int(np.prod(shape))
    whole = np.full(n + 2 * MARGIN, GUARD, dtype)
    return whole[MARGIN : MARGIN + n].reshape(shape), whole


def untouched(whole: np.ndarray, inside: int) -> bool:
    return bool(np.all(whole[:MARGIN] == GUARD) and np.all(whole[MARGIN + inside :] == GUARD))


def test_lanes_fit_the_machine() -> None:
    assert host_lanes() == LANES
    assert LANES in (1, 4, 8)


# ----------------------------------------------------------------------------------------------------- memory
@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_gather_and_scatter_are_inverse_for_all_sizes(scalar) -> None:
    """Every number of rows and columns around the block size; nothing outside the arrays is written."""
    rng = np.random.default_rng(4)
    slot = 2
    for nt, m in SIZES:
        source = scalar.normal(rng, nt, m)[0].astype(scalar.dtype)
        target, whole_target = guarded((nt, m), scalar.dtype)
        for row in range(0, nt, scalar.width):
            scratch, whole_scratch = guarded(((slot + m) * scalar.width,), scalar.dtype)
            GATHER[scalar.name](source, row, scratch, slot)
            rows = np.minimum(np.arange(row, row + scalar.width), nt - 1)  # past the end the last row repeats
            np.testing.assert_array_equal(scratch[slot * scalar.width :].reshape(m, scalar.width), source[rows].T)
            assert np.all(scratch[: slot * scalar.width] == GUARD), (nt, m, row)
            assert untouched(whole_scratch, scratch.size), (nt, m, row)
            SCATTER[scalar.name](scratch, slot, target, row)
            np.testing.assert_array_equal(target[: row + scalar.width], source[: row + scalar.width])
            assert np.all(target[row + scalar.width :] == GUARD), (nt, m, row)
        assert untouched(whole_target, target.size), (nt, m)


@pytest.mark.parametrize("row", range(2 * LANES + 1))
def test_blocks_may_start_at_any_row(row: int) -> None:
    rng = np.random.default_rng(5)
    nt, m = 2 * LANES + 1, LANES + 3
    source = rng.standard_normal((nt, m))
    target, whole = guarded((nt, m), float)
    scratch = np.empty(m * LANES)
    GATHER["lanes"](source, row, scratch, 0)
    SCATTER["lanes"](scratch, 0, target, row)
    rows = slice(row, row + LANES)
    np.testing.assert_array_equal(target[rows], source[rows])
    assert np.count_nonzero(target != GUARD) == source[rows].size
    assert untouched(whole, target.size)


def _copy(scalar, x, y):
    for k in range(x.size // width(scalar)):
        store(y, k + 1, load(x, k, scalar))


COPY = on_every_scalar(_copy)


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_load_and_store(scalar) -> None:
    x = scalar.slots(scalar.normal(np.random.default_rng(6), 5))
    y = np.full(x.size + 2 * scalar.width, GUARD, scalar.dtype)
    COPY[scalar.name](x, y)
    np.testing.assert_array_equal(y[scalar.width : -scalar.width], x)
    assert np.all(y[: scalar.width] == GUARD)
    assert np.all(y[-scalar.width :] == GUARD)


@compiled
def _one_lane(x, y, lane, value):
    whole = load(x, 0, lane_zero())
    store(y, 0, insert(whole, lane, value))
    return extract(whole, lane)


@pytest.mark.parametrize("lane", range(LANES))
def test_extract_and_insert_touch_one_lane(lane: int) -> None:
    x, y = np.arange(10.0, 10.0 + LANES), np.empty(LANES)
    assert _one_lane(x, y, lane, -1.5) == x[lane]
    np.testing.assert_array_equal(y, np.where(np.arange(LANES) == lane, -1.5, x))


# ------------------------------------------------------------------------------------------------- arithmetic
def _arithmetic(scalar, x, y, number, out):
    a, b = load(x, 0, scalar), load(y, 0, scalar)
    store(out, 0, a + b)
    store(out, 1, a - b)
    store(out, 2, a * b)
    store(out, 3, a / b)
    store(out, 4, -a)
    store(out, 5, a + number)
    store(out, 6, number + a)
    store(out, 7, a - number)
    store(out, 8, number - a)
    store(out, 9, a * number)
    store(out, 10, number * a)
    store(out, 11, a / number)
    store(out, 12, number / a)
    store(out, 13, 2 * a)
    store(out, 14, a - 1)


ARITHMETIC = on_every_scalar(_arithmetic)


def expected(a: np.ndarray, b: np.ndarray, number: float) -> list[np.ndarray]:
    return [
        a + b, a - b, a * b, a / b, -a, a + number, number + a, a - number, number - a, a * number, number * a,
        a / number, number / a, 2 * a, a - 1,
    ]  # fmt: skip


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_arithmetic_mixed_with_plain_numbers(scalar) -> None:
    rng = np.random.default_rng(7)
    a, b, number = scalar.normal(rng, 1), scalar.normal(rng, 1), 0.37
    wanted = np.stack(expected(a[:, 0], b[:, 0], number), axis=1)
    out = np.empty(wanted.size, scalar.dtype)
    ARITHMETIC[scalar.name](scalar.slots(a), scalar.slots(b), number, out)
    got = scalar.samples(out, wanted.shape[1])
    if scalar.dtype is complex:  # products and quotients of complex numbers may be fused
        np.testing.assert_allclose(got, wanted, rtol=8 * np.finfo(float).eps)
    else:  # one correctly rounded operation each
        np.testing.assert_array_equal(got, wanted)


def test_division_by_zero_stays_in_its_lane() -> None:
    a, b = np.ones((LANES, 1)), np.ones((LANES, 1))
    b[1], a[2], b[2] = 0.0, 0.0, 0.0
    out = np.empty(15 * LANES)
    ARITHMETIC["lanes"](SCALARS[1].slots(a), SCALARS[1].slots(b), 1.0, out)
    quotient = out[3 * LANES : 4 * LANES]
    assert quotient[1] == np.inf
    assert np.isnan(quotient[2])
    np.testing.assert_array_equal(np.delete(quotient, [1, 2]), 1.0)


def _reciprocal(scalar, x, out):
    for k in range(x.size // width(scalar)):
        store(out, k, reciprocal(load(x, k, scalar)))


RECIPROCAL = on_every_scalar(_reciprocal)


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_reciprocal(scalar) -> None:
    """At any magnitude whose inverse exists; a zero gives something not finite, in its own sample, and no exception."""
    rng = np.random.default_rng(8)
    x = scalar.normal(rng, 40) * 10.0 ** rng.uniform(-300.0, 300.0, 40)
    if scalar.dtype is complex:  # both orders of the two parts, and each alone
        x[:, 20:30] *= 1j
        x[:, 30:35] = x[:, 30:35].real
        x[:, 35:] = 1j * x[:, 35:].imag
    x[0, 3] = 0.0
    out = np.empty(x.size, scalar.dtype)
    RECIPROCAL[scalar.name](scalar.slots(x), out)
    got = scalar.samples(out, 40)
    regular = x != 0.0
    np.testing.assert_allclose(got[regular] * x[regular], 1.0, rtol=8 * np.finfo(float).eps)
    assert not np.any(np.isfinite(got[~regular]))
    assert np.count_nonzero(regular) == x.size - 1


# ------------------------------------------------------------------------------------------------ comparisons
def _choose(scalar, a, b, x, y, out):
    store(out, 0, where_less(load(a, 0, scalar), load(b, 0, scalar), load(x, 0, scalar), load(y, 0, scalar)))


def _any_not_less(scalar, x, bound):
    return any_not_less(load(x, 0, scalar), bound)


CHOOSE, ANY_NOT_LESS = on_every_scalar(_choose), on_every_scalar(_any_not_less)

COMPARED = [
    (1.0, 2.0),
    (2.0, 1.0),
    (1.0, 1.0),
    (-np.inf, 0.0),
    (np.nan, 0.0),
    (0.0, np.nan),
    (np.nan, np.nan),
    (-0.0, 0.0),
]


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_where_less_decides_sample_by_sample(scalar) -> None:
    """x only where a < b holds: equal numbers and NaN take y. Complex numbers are judged by their real parts."""
    hits = 0
    for shift in range(len(COMPARED)):
        pairs = np.array([COMPARED[(shift + k) % len(COMPARED)] for k in range(scalar.width)])
        a, b = (np.array(side[:, None], scalar.dtype) for side in pairs.T)
        if scalar.dtype is complex:
            a, b = a + 5j, b - 5j
        x, y = scalar.normal(np.random.default_rng(shift), 1), scalar.normal(np.random.default_rng(99 + shift), 1)
        out = np.empty(scalar.width, scalar.dtype)
        CHOOSE[scalar.name](*(scalar.slots(v) for v in (a, b, x, y)), out)
        less = pairs[:, 0] < pairs[:, 1]
        np.testing.assert_array_equal(out, np.where(less, x[:, 0], y[:, 0]))
        hits += np.count_nonzero(less)
    assert hits == 2 * scalar.width


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
@pytest.mark.parametrize(
    ("value", "answer"), [(0.5, False), (1.0, True), (1.5, True), (np.nan, True), (np.inf, True), (-np.inf, False)]
)
def test_any_not_less_sees_every_lane(scalar, value: float, answer: bool) -> None:
    for lane in range(scalar.width):
        x = np.full((scalar.width, 1), 0.25)
        x[lane] = value
        assert ANY_NOT_LESS[scalar.name](scalar.slots(x), 1.0) is answer
