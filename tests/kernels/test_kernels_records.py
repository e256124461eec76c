"""Records by reference: passes read and write the arrays of the record itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from mechgrad.kernels.jit import inner, kernel
from mechgrad.kernels.records import allocate, refer


class Record(NamedTuple):
    x: np.ndarray
    factor: float
    counts: np.ndarray


@inner
def scaled(record):
    x, counts = record.x, record.counts
    for j in range(x.size):
        x[j] *= record.factor
        counts[j] += 1
    return x.size


@kernel
def scaled_twice(record):
    record = refer(record)
    return scaled(record) + scaled(record)


@kernel
def unknown_field(record):
    return refer(record).y


@njit
def counting_references(record):
    return refer(record).x[0]


class Pair(NamedTuple):
    """Records within a record, and a header of sizes."""

    before: Record
    after: Record
    ints: np.ndarray

    @staticmethod
    def header():
        return {"n_steps": 1, "unused": 0}


@kernel
def stepped(pair):
    pair = refer(pair)
    before, after = pair.before, pair.after
    for _ in range(pair.n_steps):
        for j in range(before.x.size):
            after.x[j] = before.x[j] + before.factor
        before, after = after, before
    return before.x[0]


@kernel
def advanced(progress):
    now = progress[0]
    now.t += 0.5
    now.steps, now.last = now.steps + 2, now.t > 1.0


def record():
    return Record(np.arange(4.0), 3.0, np.zeros(4, np.int64))


def test_passes_work_on_the_arrays_of_the_record():
    r = record()
    assert scaled_twice(r) == 8
    np.testing.assert_array_equal(r.x, 9.0 * np.arange(4.0))
    np.testing.assert_array_equal(r.counts, 2)


def test_a_field_that_does_not_exist_is_an_error():
    with pytest.raises(NumbaError, match="Unknown attribute 'y'"):
        unknown_field(record())


def test_functions_that_count_references_are_refused():
    with pytest.raises((NumbaError, TypeError), match="references are for passes"):
        counting_references(record())


def test_records_within_records_change_places():
    pair = Pair(record(), record()._replace(factor=10.0), np.array([7, 3]))
    assert stepped(pair) == 0.0 + 3.0 + 10.0 + 3.0
    np.testing.assert_array_equal(pair.after.x, np.arange(4.0) + 16.0)  # the third step
    np.testing.assert_array_equal(pair.before.x, np.arange(4.0) + 13.0)


def test_lines_of_structured_arrays_are_written():
    progress = np.zeros(1, np.dtype([("t", "f8"), ("steps", "i8"), ("last", "?")], align=True))
    for _ in range(3):
        advanced(progress)
    assert progress[0].item() == (1.5, 6, True)


def test_records_are_made_by_name():
    found = allocate(Record, {"counts": 2, "x": (3, 1)}, complex, factor=2.0)
    assert (found.x.shape, found.counts.shape, found.factor, found.x.dtype) == ((3, 1), (2,), 2.0, complex)
    assert not found.x.any()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'counts'"):
        allocate(Record, {"x": 3}, float, factor=2.0)
