"""Turns between threads that do the same work for many motions: Python one at a time, compiled sweeps beside it.

Threads that run Python at the same time pass its lock on at every small array operation, and each time the other core
has to fetch what it works on: that costs more than such operations take. So a thread keeps its turn while it prepares
and collects, and lets the others go on for as long as it marches or sweeps, which is compiled code for the most part.
Functions of users are called by one thread of a batch at a time, too, except for forces, which belong to the marches.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


@contextmanager
def taking_turns(turns: threading.Lock) -> Iterator[None]:
    """Within the block this thread has its turn, but for what it does `beside` the others.

    >>> with taking_turns(threading.Lock()):
    ...     with beside():
    ...         "the others may go on"
    'the others may go on'
    """
    before = getattr(_here, "turns", None)
    with turns:
        _here.turns = turns
        try:
            yield
        finally:
            _here.turns = before


@contextmanager
def beside() -> Iterator[None]:
    """Within the block the others may go on; nothing happens where nobody takes turns."""
    turns: threading.Lock | None = getattr(_here, "turns", None)
    if turns is None:
        yield
        return
    _here.turns = None
    turns.release()
    try:
        yield
    finally:
        turns.acquire()
        _here.turns = turns
