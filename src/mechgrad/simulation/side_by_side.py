"""The same call for many things, in threads: motions that know nothing of each other.

One thing is done by one thread from beginning to end, so that results are those of one call after the other, to the
last bit. Kernels release the interpreter's lock; what is Python takes turns (`steps.turns`). Failures are kept: one
does not lose the others.

Signals reach the main thread. It waits for the others in short intervals, and what a handler raises there (Ctrl-C) ends
the work of all: marches within a tenth of a second (`kernels.interrupt`), gradients between two pieces of a motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Generic, TypeVar, final

from mechgrad.kernels.interrupt import Ended, ended_by, go_on
from mechgrad.kinematics.batch import check_threads
from mechgrad.steps.turns import beside, taking_turns

Item = TypeVar("Item")
Result = TypeVar("Result")

LOOK = 0.05  # s between two looks at signals, where waiting does not hear them


@final
@dataclass(eq=False)
class Outcomes(Generic[Result]):
    """What some calls came to.

    results : what they returned, in the order of the items; None where there is nothing (yet)
    errors : what they raised, by position
    """

    results: list[Result | None]
    errors: dict[int, BaseException] = field(default_factory=dict)

    def first_error(self) -> int | None:
        """The position of the first call that failed, or None."""
        return min(self.errors, default=None)


def side_by_side(
    call: Callable[[Item], Result], items: Sequence[Item], threads: int, so_far: Outcomes[Result] | None = None
) -> Outcomes[Result]:
    """call(item) of all items, in threads (0: all cores), and what came of it; whatever ends all of them is raised.

    so_far : is filled meanwhile, for those who want to know what was done when an interrupt comes

    >>> found = side_by_side(lambda x: 1 / x, [1, 2, 0], threads=2)
    >>> found.results, found.errors
    ([1.0, 0.5, None], {2: ZeroDivisionError('division by zero')})
    """
    done = Outcomes([]) if so_far is None else so_far
    done.results = [None] * len(items)
    end = Event()

    def one(k: int) -> None:
        if end.is_set():
            return
        try:
            done.results[k] = call(items[k])
        except BaseException as error:
            done.errors[k] = error
            if not isinstance(error, Exception):
                end.set()  # no failure of one, but the end of all

    workers = min(check_threads(threads), len(items))
    if workers > 1:
        _in_threads(one, len(items), workers, end)
    else:
        for k in range(len(items)):
            one(k)
    if end.is_set():
        ends = [x for x in done.errors.values() if not isinstance(x, Exception)]
        raise next((x for x in ends if not isinstance(x, Ended)), ends[0])
    return done


def _in_threads(one: Callable[[int], None], count: int, workers: int, end: Event) -> None:
    """one(k) for all k, each in a thread of its own as far as there are any."""

    turns = Lock()

    def heard(k: int) -> None:
        with ended_by(end), taking_turns(turns):
            one(k)

    pool = ThreadPoolExecutor(workers, "mechgrad")
    # what holds here (np.errstate) holds there, too
    waiting = {pool.submit(copy_context().run, heard, k) for k in range(count)}
    try:
        with beside():  # where this is a thread of someone else's batch, which may end, too
            while waiting:
                go_on()
                waiting = wait(waiting, timeout=LOOK).not_done
    except BaseException:
        end.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
