"""Scenarios computed elsewhere: the same numbers, whoever computes them and whoever ends on the way."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import distributed
import numpy as np
import pytest
from support.two_wells import ANGLE, deadly, miss, thrown, two_wells

import mechgrad as mg
from mechgrad.errors import InputError, UnknownNameError
from mechgrad.io.expressions import Expression
from mechgrad.optimization.design import executors, parcels
from mechgrad.optimization.design.evaluation import Question, WorkError
from mechgrad.optimization.design.parcels import packed
from mechgrad.optimization.design.stretches import stretch

LIMIT = mg.design.Limit(mg.AtEnd(mg.measures.JointVelocity("pin")), upper=1.5, name="slow")


def scenarios():
    return {"short": thrown(0.6), "long": thrown(0.7), "later": thrown(0.65, t0=2.0)}


def problem(**changes):
    return mg.DesignProblem(
        scenarios(), {"start.velocity.pin": (-4.0, 4.0), "bob.com.z": (-1.5, -0.5)}, mg.AtEnd(miss, ANGLE), LIMIT,
        **changes,
    )  # fmt: skip


@pytest.fixture(scope="module")
def serial():
    return problem().solve(executor="serial")


def check_same(best, other):
    """Every evaluation, to the last bit."""
    assert best.values == other.values
    assert len(best.history) == len(other.history)
    for a, b in zip(best.history, other.history, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
        assert a.failure == b.failure
        if a.gradient is not None and b.gradient is not None:  # processes send it unasked
            np.testing.assert_array_equal(a.gradient, b.gradient)


class Inline(Executor):
    """Sends work as bytes, and computes it on the spot; some of it is lost on the way."""

    def __init__(self, *losses: BaseException) -> None:
        self.losses, self.jobs = list(losses), 0

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        self.jobs += 1
        if self.losses and self.jobs >= 5:
            future.set_exception(self.losses.pop())
            return future
        call, sent = pickle.loads(pickle.dumps((fn, args)))
        future.set_result(pickle.loads(pickle.dumps(call(*sent))))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


@pytest.fixture
def spare(monkeypatch):
    """New processes of the package, computed on the spot; how many were begun."""
    begun = []

    def process(count):
        begun.append(Inline())
        return begun[-1]

    monkeypatch.setattr(executors, "_processes", process)
    return begun


def test_threads_and_bytes_give_the_numbers_of_one_after_the_other(serial):
    assert serial.success
    assert serial.value < 1e-3
    check_same(problem().solve(), serial)
    check_same(problem().solve(executor="threads"), serial)
    with ThreadPoolExecutor(2) as pool:
        check_same(problem().solve(executor=pool), serial)
    sent = Inline()
    best = problem().solve(executor=sent)
    check_same(best, serial)
    assert sent.jobs > 10
    assert best.motion.q.shape == (61, 1)  # made here, afterwards


@pytest.mark.parametrize("loss", [BrokenExecutor("a worker is gone"), CancelledError("closed")])
def test_a_pool_that_ends_is_replaced_and_nothing_is_lost(serial, spare, loss):
    with pytest.warns(mg.design.ExecutorWarning, match="nothing is lost"):
        best = problem().solve(executor=Inline(loss))
    check_same(best, serial)
    assert len(spare) == 1
    assert spare[0].jobs > 5


def test_work_that_a_cluster_gives_up_gets_a_process_of_its_own(serial, spare):
    class KilledWorker(Exception):
        """As Dask says it of work that ended several workers."""

    sent = Inline(KilledWorker("thrice"))
    check_same(problem().solve(executor=sent), serial)
    assert [x.jobs for x in spare] == [1]
    assert sent.jobs > 10  # the cluster goes on


def test_a_design_that_ends_its_process_is_a_bad_point(monkeypatch):
    class Deadly(Inline):
        def submit(self, fn, /, *args, **kwargs):
            if fn is stretch or args[1]["start.velocity.pin"] > 2.0:
                future: Future = Future()
                future.set_exception(BrokenExecutor("ended"))
                return future
            return super().submit(fn, *args, **kwargs)

    monkeypatch.setattr(executors, "_processes", lambda count: Deadly())
    with pytest.warns(mg.design.ExecutorWarning):
        best = two_wells(minimize=mg.AtEnd(negative, ANGLE)).solve(executor="processes")
    assert best.failures
    assert all("WorkerEnded: the process that computed this design ended" in e.failure for e in best.failures)
    assert max(e.x[0] for e in best.history if not e.failure) <= 2.0


def negative(q):
    return -q


def test_processes_that_never_answer_are_an_error(monkeypatch):
    class Dead(Inline):
        def submit(self, fn, /, *args, **kwargs):
            raise BrokenExecutor("ended")

    monkeypatch.setattr(executors, "_processes", lambda count: Dead())
    with pytest.raises(WorkError, match="__main__"), pytest.warns(mg.design.ExecutorWarning):
        two_wells().solve(executor="processes")


def test_failures_elsewhere_read_as_those_here(tmp_path):
    """A start without a value, in one of several scenarios; and an exception of a user's function."""
    bad = two_wells({"a": thrown(0.5), "b": thrown()}, mg.AtEnd(Expression("log(-1 - x ** 2)", ["x"]), ANGLE))
    told = []
    for executor in ("serial", Inline()):
        with pytest.raises(InputError) as caught:
            bad.solve(executor=executor)
        told.append(str(caught.value))
    assert told[0] == told[1]
    wrong = two_wells(minimize=mg.AtEnd(mistaken, ANGLE))
    for executor in ("serial", Inline()):
        with pytest.raises(ZeroDivisionError, match="mine"):
            wrong.solve(executor=executor)


def mistaken(q):
    raise ZeroDivisionError("mine")


def test_functions_that_cannot_be_sent_are_named(monkeypatch):
    monkeypatch.setattr(parcels, "_dumps", pickle.dumps)  # as without cloudpickle
    local = two_wells(minimize=mg.AtEnd(lambda q: q**2, ANGLE))
    with pytest.raises(WorkError, match=r"AtEnd.*its function holds .*test_executors.*<lambda>.*mechgrad\[cluster\]"):
        local.solve(executor=Inline())
    question = local.evaluator().questions[0]
    packed(Question(question.repeat, (mg.AtEnd(miss, ANGLE),), question.wrt))


def test_lambdas_are_sent_by_cloudpickle():
    here = two_wells(minimize=mg.AtEnd(lambda q: miss(q), ANGLE)).solve(executor="serial")
    check_same(two_wells(minimize=mg.AtEnd(lambda q: miss(q), ANGLE)).solve(executor=Inline()), here)


def test_what_cannot_be_read_there_is_told():
    reply = parcels.answered(parcels.Parcel("no such", b"cnowhere\nnothing\n."), {})
    assert reply.kind == "unreadable"
    with pytest.raises(WorkError, match=r"a worker cannot read its work \(ModuleNotFoundError.*nowhere"):
        parcels.unpacked(reply)


def test_parcels_are_small_and_the_same_for_the_same_question():
    a, b = (packed(problem().evaluator().questions[0]) for _ in range(2))
    assert a.key == b.key
    assert len(a.data) < 20_000
    motion = pickle.dumps(thrown(10.0))
    assert len(packed(two_wells(thrown(10.0)).evaluator().questions[0]).data) < len(motion) / 5  # no live arrays


def test_bad_executors_are_refused():
    with pytest.raises(UnknownNameError, match="processes"):
        two_wells().solve(executor="process")
    with pytest.raises(InputError, match=r"executor is 3; give 'serial'"):
        two_wells().solve(executor=3)
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(WorkError, match="the executor takes no work"):
        two_wells().solve(executor=closed)


# ---- real processes


@pytest.mark.slow
def test_a_killed_process_is_replaced():
    serial = two_wells().multistart(9, executor="serial")
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        killed = []

        def kill(started):
            if not killed:
                killed.append(next(iter(pool._processes)))
                os.kill(killed[0], signal.SIGKILL)

        with pytest.warns(mg.design.ExecutorWarning, match="killed"):
            found = two_wells().multistart(9, executor=pool, progress=kill)
    assert killed
    for a, b in zip(found.starts, serial.starts, strict=True):
        check_same(a.optimum, b.optimum)


@pytest.mark.slow
def test_a_design_that_ends_every_process_is_a_bad_point_with_a_reason():
    """A user's function that ends its process where the pendulum swings to the left, as memory that runs out does."""
    problem = two_wells(minimize=mg.AtEnd(deadly, ANGLE))
    with pytest.warns(mg.design.ExecutorWarning):
        found = problem.multistart(3, executor="processes")
    left = [s for s in found.starts if s.start["start.velocity.pin"] > 0.0 and s.optimum is None]
    assert all("WorkerEnded" in s.failure for s in found.starts if s.optimum is None)
    assert len(left) < 3
    assert found.best.success


@pytest.mark.slow
def test_a_cluster_goes_on_when_a_worker_is_killed():
    serial = two_wells().multistart(9, executor="serial")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def kill(started):
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        found = two_wells().multistart(9, executor=client.get_executor(), progress=kill)
    assert killed
    for a, b in zip(found.starts, serial.starts, strict=True):
        check_same(a.optimum, b.optimum)
