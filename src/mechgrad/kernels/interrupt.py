"""Ctrl-C in the middle of a compiled march.

Python handles signals between its own instructions, and a march has none. So a march calls Python from time to time, by
address: whatever a handler raises there (`KeyboardInterrupt`, as a rule) is kept, the march ends at once, and its
caller raises what was kept, together with the motion so far. A call takes a microsecond or two, and after the first
ones there are about twenty in a second.

    begin_listening(work.countdown, n)
    ...                                   # in the loop
        if interrupted(work.listener, work.countdown):
            return .., INTERRUPTED

Signals reach the main thread only. Whoever has work done in other threads hands them an event (`ended_by`): marches
there find it set in the same calls, and end in the same way; between marches `go_on` asks.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mechgrad.kernels.jit import inlined

EVERY = 0.05  # s between two calls
FIRST_CALL = 20000  # operations, about, before the first one
REST, ASKED = range(2)  # countdown of a march: steps left until the next call, steps between the last two
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


@intrinsic
def ask(typingctx, address, asked):
    """How many steps may go by until the next call, after `asked` since the last; -1: end now."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), [args[1]])

    return types.int64(types.int64, types.int64), codegen


@inlined
def begin_listening(countdown, n):
    """Steps of n equations before the first call: far less than a tenth of a second, whatever a step costs."""
    countdown[REST] = countdown[ASKED] = 1 + FIRST_CALL // (1 + n * n)


@inlined
def interrupted(listener, countdown):
    """Counts a step of a march, and calls when it is time to. Returns whether the march is to end now."""
    countdown[REST] -= 1
    if countdown[REST] > 0:
        return False
    countdown[ASKED] = ask(listener[0], countdown[ASKED])
    countdown[REST] = countdown[ASKED]
    return countdown[ASKED] < 0


_here = threading.local()


@final
class Ended(BaseException):
    """Work in a thread that is not wanted any more: whoever began it was interrupted."""


@contextmanager
def ended_by(event: threading.Event) -> Iterator[None]:
    """Within the block, marches of this thread end when an event is set, and `go_on` raises."""
    before, _here.event = getattr(_here, "event", None), event
    try:
        yield
    finally:
        _here.event = before


def go_on() -> None:
    """Raise `Ended` where the work of this thread is not wanted any more.

    >>> event = threading.Event()
    >>> with ended_by(event):
    ...     go_on()
    """
    event = getattr(_here, "event", None)
    if event is not None and event.is_set():
        raise Ended


def _listening() -> Generator[int, int, None]:
    """Answers calls, one after the other.

    A generator, since Python looks for signals where one goes on, and that is within its `try`; it also looks where a
    function begins, and that is outside of any.
    """
    reply, last = 0, 0.0
    while True:
        try:
            asked = yield reply
            go_on()
            now = time.perf_counter()
            passed, last = now - last, now
            # the last call may belong to another march: change slowly
            reply = int(min(max(asked * EVERY / max(passed, 1e-9), asked / 8, 1), 8 * asked))
        except GeneratorExit:
            raise
        except BaseException as error:
            _here.error, reply = error, -1


def listener() -> np.ndarray:
    """The address that marches of this thread call, (1,)."""
    generator = getattr(_here, "generator", None)
    if generator is None or generator.gi_frame is None:
        _here.generator = generator = _listening()
        next(generator)
        _here.callback = SIGNATURE(generator.send)
        _here.address = np.array([ctypes.cast(_here.callback, ctypes.c_void_p).value or 0], np.int64)
    address: np.ndarray = _here.address
    return address


def raised(trajectory: Any, note: str) -> BaseException:
    """What a handler raised in the march that ended here, with the motion so far as its `trajectory`."""
    error: BaseException = _here.__dict__.pop("error", None) or KeyboardInterrupt()
    error.trajectory = trajectory  # type: ignore[attr-defined]
    error.add_note(note)
    return error
