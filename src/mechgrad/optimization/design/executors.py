"""Where scenarios are computed: here, in threads, in processes, on a cluster; whoever ends on the way is replaced.

    "serial"       one scenario after the other
    "threads"      of this process: kernels release the interpreter's lock
    "processes"    of this machine; one that is killed is replaced, and its work done once more
    an executor    any of `concurrent.futures`: a pool of threads or processes, `client.get_executor()` of Dask

Processes and clusters are sent a question for every scenario at every point; where there are at least as many searches
as scenarios, whole stretches of a search (`stretches`).

Results are the same to the last bit wherever they are computed by the same machine code.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar, final

from mechgrad.errors import InputError, MechgradError, MechgradWarning, unknown_name
from mechgrad.optimization.design.evaluation import (
    Ahead,
    Answer,
    Answers,
    Evaluator,
    Question,
    Stretch,
    WorkError,
    answer,
    in_turn,
)
from mechgrad.optimization.design.parcels import Parcel, Reply, answered, packed, unpacked
from mechgrad.optimization.design.stretches import SECONDS, stretch

ExecutorGiven: TypeAlias = Executor | str | None
NAMED: Final = ("serial", "threads", "processes")
Found = TypeVar("Found")
TRIES: Final = 2  # in pools that work is shared in; after that a process of its own decides
LISTEN: Final = 0.2  # s between two looks at whether the run is to end
GUARD: Final = (
    "processes end before they answer. A script that starts processes keeps its own calls below "
    'if __name__ == "__main__":, since every process imports it; or their memory is too small.'
)


class ExecutorWarning(MechgradWarning):
    """Workers that ended on the way; their work is done once more."""


@final
class Workers:
    """Computes scenarios wherever it was told to; a context, after which everything is computed here.

    executor : a name, an executor, or None for threads where there is more than one scenario
    jobs : scenarios at one point
    searches : that run at the same time

    >>> with Workers("serial", 1) as workers:
    ...     workers.answers([], [], False, [])
    []
    """

    def __init__(self, executor: ExecutorGiven, jobs: int, searches: int = 1) -> None:
        given: ExecutorGiven = ("threads" if jobs > 1 else "serial") if executor is None else executor
        self.ended = threading.Event()
        self._sent: _Sent | None = None
        self._threads: ThreadPoolExecutor | None = None
        if isinstance(given, str):
            if given not in NAMED:
                raise unknown_name("executor", given, NAMED)
            if given == "processes":
                self._sent = _Sent(None, self.ended)
            elif given == "threads" and jobs > 1:
                self._threads = ThreadPoolExecutor(min(jobs, os.cpu_count() or 1), "mechgrad scenario")
            self._ask: Answers = in_turn if self._threads is None else _in_threads(self._threads)
        elif isinstance(given, ThreadPoolExecutor):
            self._ask = _in_threads(given)
        elif isinstance(given, Executor):
            self._sent = _Sent(given, self.ended)
        else:
            raise InputError(
                f"executor is {given!r}; give {', '.join(map(repr, NAMED))} or an executor of concurrent.futures, such "
                "as ProcessPoolExecutor(4), or client.get_executor() of Dask."
            )
        if self._sent is not None:
            self._ask = self._sent.answers
        self.ahead: Ahead | None = self._ahead if self._sent is not None and searches >= jobs else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask = in_turn
        self.ended.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=error is None, cancel_futures=True)
        if self._sent is not None:
            self._sent.close(wait=error is None)
            self._sent = None

    def end(self) -> None:
        """Let everything that is asked from now on raise KeyboardInterrupt."""
        self.ended.set()

    def _ahead(self, evaluator: Evaluator) -> Stretch | None:
        """What a search makes next, in another process."""
        if self.ended.is_set():
            raise KeyboardInterrupt
        return None if self._sent is None else self._sent.ahead(evaluator)

    def answers(
        self, questions: Sequence[Question], values: Sequence[Mapping[str, float]], with_gradient: bool,
        motions: Sequence[Any],
    ) -> list[Answer | MechgradError]:  # fmt: skip
        """What every scenario says, up to the first failure; the same wherever it is computed."""
        if self.ended.is_set():
            raise KeyboardInterrupt
        found = self._ask(questions, values, with_gradient, motions)
        bad = next((k for k, x in enumerate(found) if isinstance(x, MechgradError)), len(found))
        return found[: bad + 1]


def _in_threads(pool: ThreadPoolExecutor) -> Answers:
    """Scenarios at the same time, in threads of this process."""

    def one(question: Question, values: Mapping[str, float], with_gradient: bool, motion: Any) -> Answer:
        return answer(question, values, with_gradient=with_gradient, motion=motion)

    def answers(
        questions: Sequence[Question], values: Sequence[Mapping[str, float]], with_gradient: bool,
        motions: Sequence[Any],
    ) -> list[Answer | MechgradError]:  # fmt: skip
        futures: list[Future[Answer]] = []
        found: list[Answer | MechgradError] = []
        try:
            for question, numbers, motion in zip(questions, values, motions, strict=True):
                futures.append(_submitted(pool, one, question, numbers, with_gradient, motion))
            for future in futures:
                try:
                    found.append(future.result())
                except MechgradError as error:
                    found.append(error)
        finally:
            for future in futures:
                future.cancel()
        return found

    return answers


def _submitted(pool: ThreadPoolExecutor, call: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
    try:
        return pool.submit(call, *arguments)
    except RuntimeError as error:
        raise WorkError(f"the executor takes no work ({error}); give one that stays open.") from error


@final
class _Sent:
    """Scenarios, or stretches of searches, as bytes to processes or machines.

    A pool that breaks, since one of its processes was killed, is replaced by processes of this machine. Scenarios that
    were lost are sent again; where that ends a pool once more, a process of its own decides whether they were the
    reason. A search whose stretch was lost goes on point by point, so that a point can be named.
    """

    def __init__(self, executor: Executor | None, ended: threading.Event) -> None:
        self._ended, self._lock, self._alone = ended, threading.Lock(), threading.Lock()
        self._own: ProcessPoolExecutor | None = None
        self._pool = executor if executor is not None else self._fresh()
        self._parcels: dict[int, tuple[Any, Parcel]] = {}
        self._heard, self._renewals = 0, 0

    def _fresh(self) -> ProcessPoolExecutor:
        self._own = _processes(os.cpu_count() or 1)
        return self._own

    def close(self, *, wait: bool) -> None:
        """Let go of processes of ours."""
        if self._own is not None:
            self._own.shutdown(wait=wait, cancel_futures=True)

    def answers(
        self, questions: Sequence[Question], values: Sequence[Mapping[str, float]], with_gradient: bool,
        motions: Sequence[Any],
    ) -> list[Answer | MechgradError]:  # fmt: skip
        """One job for each scenario."""
        jobs = [(answered, self._parcel(q, [q]), dict(x)) for q, x in zip(questions, values, strict=True)]
        sent = [self._submit(job) for job in jobs]
        return [unpacked(self._reply(job, *first)) for job, first in zip(jobs, sent, strict=True)]

    def ahead(self, evaluator: Evaluator) -> Stretch | None:
        """The next stretch of a search; None where it was lost."""
        parcel = self._parcel(evaluator.course, evaluator.questions)
        pool, future = self._submit((stretch, parcel, evaluator.counts, evaluator.threads, evaluator.history, SECONDS))
        try:
            reply = self._waited(future)
        except (BrokenExecutor, CancelledError, RuntimeError) as error:
            self._renew(pool, error)
            return None
        except Exception:  # as Dask says of work that ended several workers
            return None
        return reply.content if reply.kind == "answer" else None

    def _parcel(self, thing: Any, questions: Sequence[Question]) -> Parcel:
        known = self._parcels.get(id(thing))
        if known is None:
            known = self._parcels[id(thing)] = (thing, packed(thing, questions))
        return known[1]

    def _submit(self, job: Any) -> tuple[Executor, Future[Reply]]:
        for _ in range(TRIES + 1):
            pool = self._pool
            try:
                return pool, pool.submit(*job)
            except RuntimeError as error:  # broken, or closed
                self._renew(pool, error)
        raise WorkError(GUARD)

    def _reply(self, job: Any, pool: Executor, future: Future[Reply]) -> Reply:
        for trial in range(TRIES):
            try:
                return self._waited(future)
            except (BrokenExecutor, CancelledError, RuntimeError) as error:
                self._renew(pool, error)
                if trial + 1 < TRIES:
                    pool, future = self._submit(job)
            except Exception:  # Dask says so of work that ended several workers
                break
        return self._on_its_own(job)

    def _waited(self, future: Future[Found]) -> Found:
        while True:
            try:
                reply = future.result(LISTEN)
            except TimeoutError:
                if self._ended.is_set():
                    future.cancel()
                    raise KeyboardInterrupt from None
            else:
                self._heard += 1
                return reply

    def _renew(self, pool: Executor, error: BaseException) -> None:
        """Processes of ours in place of a pool that does not work any more."""
        with self._lock:
            if pool is not self._pool:
                return
            self._renewals += 1
            if self._renewals > TRIES and not self._anybody_answers():
                raise WorkError(GUARD) from error
            old, self._pool = self._own, self._fresh()
            if old is not None:
                old.shutdown(wait=False, cancel_futures=True)
        warnings.warn(
            f"the executor ended ({type(error).__name__}: {error}): a worker was killed or ran out of memory, or the "
            "executor was closed. What it had is done once more by new processes of this machine, and so is all that "
            "follows; nothing is lost.",
            ExecutorWarning,
            stacklevel=2,
        )

    def _anybody_answers(self) -> bool:
        """Whether it is the work that ends processes, or processes of this machine end whatever they do."""
        if not self._heard:
            with contextlib.suppress(BrokenExecutor), _processes(1) as pool:
                self._waited(pool.submit(os.getpid))
        return self._heard > 0

    def _on_its_own(self, job: Any) -> Reply:
        """The work in a process that has nothing else to do; if that ends, it is the work."""
        with self._alone, _processes(1) as pool:
            try:
                reply: Reply = self._waited(pool.submit(*job))
                return reply
            except BrokenExecutor as error:
                if not self._anybody_answers():
                    raise WorkError(GUARD) from error
                text = "the process that computed this design ended, and so did others before: killed, or out of memory"
                return Reply("failure", ("WorkerEnded", text))


def _processes(count: int) -> ProcessPoolExecutor:
    """Processes of this machine, begun anew: a copy of a process with threads may hang."""
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _leave_interrupts)


def _leave_interrupts() -> None:
    """Ctrl-C reaches all processes of a terminal; whoever asked decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
