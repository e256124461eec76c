"""Memory of large results is used again once nobody looks at them: never while somebody does."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import memory
from mechgrad.gallery import human, human_motion

LARGE = memory.LENT // 8 + 7  # numbers of a result that takes a block


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    gc.collect()
    monkeypatch.setattr(memory, "_waiting", {})


def test_a_block_is_taken_again_when_the_last_view_is_gone():
    first = memory.empty((LARGE,))
    view = first[3:].reshape(2, -1)[1:]
    where = first.ctypes.data
    del first
    assert not memory._waiting  # somebody still looks at it
    view[:] = 1.0
    other = memory.empty((LARGE,))
    assert other.ctypes.data != where
    other[:] = 2.0
    assert np.all(view == 1.0)
    del view
    assert memory.empty((LARGE,)).ctypes.data == where


@pytest.mark.parametrize("dtype", [float, complex, np.int64])
def test_arrays_are_as_those_of_numpy(dtype):
    x = memory.empty((4, LARGE), dtype)
    assert x.shape == (4, LARGE)
    assert x.dtype == dtype
    assert x.flags.carray
    assert x.ctypes.data % 64 == 0
    x[:] = 5
    assert np.all(x == 5)


def test_what_waits_is_limited_and_small_results_take_nothing():
    several = [memory.empty((memory.KEPT // 8 // 3,)) for _ in range(5)]
    del several
    assert 0 < sum(x.nbytes for x in memory._waiting.values()) <= memory.KEPT
    memory._waiting.clear()
    small, huge = memory.empty((9,)), memory.empty((memory.KEPT // 8 + 1,))
    del small, huge
    assert not memory._waiting


def test_threads_never_share_a_block():
    def work(value: float) -> None:
        for _ in range(200):
            x = memory.empty((LARGE,))
            x[:] = value
            wrong.extend([value] * int(np.any(x != value)))
            del x

    wrong: list[float] = []
    workers = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_results_that_are_kept_stay_as_they_were():
    model = human()
    _, q, v, a = human_motion(301)
    kept = mg.inverse_dynamics_derivatives(model, q, v, a)
    dense, before = kept.dq.dense(), kept.dq.values.copy()
    for _ in range(3):
        mg.inverse_dynamics_derivatives(model, -q, v, a).dq.dense()
    assert np.array_equal(kept.dq.values, before)
    assert np.array_equal(dense, kept.dq.dense())
