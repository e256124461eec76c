"""Threads for what need not wait: steps follow each other, but all that is linearised around them does not.

Kernels release the interpreter's lock, so that threads do run at the same time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar, final

from mechgrad.kernels.interrupt import go_on
from mechgrad.kinematics.batch import check_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


@final
class ChunkPool:
    """Some threads; with one, everything happens where it stands.

    threads : as everywhere, 0 for all cores

    >>> with ChunkPool(2) as pool:
    ...     list(pool.ahead(abs, [-1, -2, -3]))
    [1, 2, 3]
    """

    def __init__(self, threads: int) -> None:
        self.size = check_threads(threads)
        self._pool: ThreadPoolExecutor | None = None
        self._promised: deque[Future[Any]] = deque()

    def __enter__(self) -> ChunkPool:
        if self.size > 1:
            self._pool = ThreadPoolExecutor(self.size)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        try:
            while self._promised and error is None:
                self._promised.popleft().result()
        finally:
            self._pool.shutdown(cancel_futures=True)

    def ahead(self, call: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """call(item) of all items in their order, the next ones already under way; ends with the thread's own work."""
        if self._pool is None:
            for item in items:
                go_on()
                yield call(item)
            return
        waiting: deque[Future[Result]] = deque()
        for item in items:
            go_on()
            waiting.append(self._pool.submit(call, item))
            if len(waiting) > self.size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def later(self, call: Callable[[Item], object], item: Item) -> None:
        """call(item) at some time before the pool closes; what it raises is raised there."""
        if self._pool is None:
            call(item)
            return
        self._promised.append(self._pool.submit(call, item))
