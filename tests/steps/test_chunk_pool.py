"""Threads: what they return, in which order, and what they raise."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import five_bar, five_bar_start
from mechgrad.steps.chunk_pool import ChunkPool

GOALS = [
    mg.AtEnd(mg.measures.PointVelocity("P2")),
    mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointAcceleration("P2")),
]
WRT = ["A1.mass", "A1.com.x", "S1.stiffness", "S2.free_length", "gravity.y", "12.inertia.zz"]


def failing(x):
    if x == 3:
        raise ValueError("three")
    return x


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_keep_their_order(threads):
    def slowly(x):
        time.sleep(0.002 * (5 - x % 5))
        return x * x

    with ChunkPool(threads) as pool:
        assert list(pool.ahead(slowly, range(12))) == [x * x for x in range(12)]


def test_work_is_done_in_several_threads():
    meeting = threading.Barrier(2, timeout=10)
    with ChunkPool(2) as pool:
        assert sorted(pool.ahead(lambda _: meeting.wait(), range(2))) == [0, 1]


@pytest.mark.parametrize("threads", [1, 3])
def test_what_fails_is_raised(threads):
    with pytest.raises(ValueError, match="three"), ChunkPool(threads) as pool:
        list(pool.ahead(failing, range(6)))
    with pytest.raises(ValueError, match="three"), ChunkPool(threads) as pool:
        [pool.later(failing, x) for x in range(6)]


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize("samples", [None, 11])
def test_gradients_do_not_depend_on_threads(method, samples):
    """Chunks are cut elsewhere, sums are added up in another order: rounding only."""
    swing = mg.simulate(five_bar(), five_bar_start(), duration=1.2, step=1e-3, samples=samples)
    one, four = (mg.gradient(swing, GOALS, WRT, method=method, threads=k).array for k in (1, 4))
    np.testing.assert_allclose(four, one, rtol=1e-11, atol=1e-11 * np.abs(one).max())
    assert np.abs(one).min(axis=1).max() > 0


def test_a_senseless_number_of_threads_is_refused():
    swing = mg.simulate(five_bar(), five_bar_start(), duration=0.01, step=1e-3)
    with pytest.raises(InputError, match="threads is -1"):
        mg.gradient(swing, GOALS, WRT, threads=-1)
