"""Records by reference: passes read and write the arrays of the record itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

from mechgrad.kernels.jit import inner, kernel
from mechgrad.kernels.records import refer


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
