"""Workspaces of short calls, made once for a mechanism and lent again and again.

To make forty small arrays takes longer than the work of a small mechanism does, and whoever makes them holds the
interpreter's lock. A workspace that was lent is nobody else's until it is given back, so that threads, and callbacks
within a call, never share one. It lasts as long as the record that it was made for, and serves that kind of call alone:
whatever it holds from before, a loop over samples would have left there as well.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

Room = TypeVar("Room", bound="tuple[Any, ...]")
LARGEST = 2**18  # bytes of a workspace that is kept: beyond, making it costs little beside its use
MOST = 8  # of one kind that wait at a time: as many as there are threads, within reason

_shelves: dict[int, tuple[weakref.ref[Any], dict[Any, list[Any]]]] = {}


def lent(mechanism: Any, kind: tuple[Any, ...], make: Callable[[], Room]) -> Room:
    """A workspace of some kind for a mechanism, one that was given back or a new one.

    kind : name of the call, and all sizes that the integers of the mechanism do not tell
    """
    shelf = _shelves.get(id(mechanism.ints))
    if shelf is not None and shelf[0]() is mechanism.ints:
        try:
            room: Room = shelf[1][kind].pop()
        except (KeyError, IndexError):
            pass
        else:
            return room
    return make()


def given_back(mechanism: Any, kind: tuple[Any, ...], room: tuple[Any, ...]) -> None:
    """Keep a workspace for the next call; not after one that met a bad number."""
    ints = mechanism.ints
    key = id(ints)
    shelf = _shelves.get(key)
    if shelf is None or shelf[0]() is not ints:
        shelf = _shelves[key] = weakref.ref(ints, lambda _: _shelves.pop(key, None)), {}
    rooms = shelf[1].get(kind)
    if rooms is None:
        if _size(room) > LARGEST:
            return
        rooms = shelf[1].setdefault(kind, [])
    if len(rooms) < MOST:
        rooms.append(room)


def _size(room: Iterable[Any]) -> int:
    """Bytes of all arrays of some records."""
    return sum(x.nbytes if isinstance(x, np.ndarray) else _size(x) for x in room if isinstance(x, np.ndarray | tuple))
