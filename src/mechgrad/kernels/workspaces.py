"""Workspaces of short calls, made once for a mechanism and borrowed again and again.

To make forty small arrays takes longer than the work of a small mechanism does, and whoever makes them holds the
interpreter's lock. A workspace that is borrowed is nobody else's until it is given back, so that threads, and callbacks
within a call, never share one. It lasts as long as the record that it was made for, and serves that kind of call alone:
whatever it holds from before, a loop over samples would have left there as well.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

Workspace = TypeVar("Workspace", bound="tuple[Any, ...]")
LARGEST = 2**18  # bytes of a workspace that is kept: beyond, making it costs little beside its use
MOST = 8  # of one kind that wait at a time: as many as there are threads, within reason

_kept: dict[int, tuple[weakref.ref[Any], dict[Any, list[Any]]]] = {}


def borrow(mechanism: Any, kind: tuple[Any, ...], make: Callable[[], Workspace]) -> Workspace:
    """A workspace of some kind for a mechanism, one that was given back or a new one.

    kind : name of the call, and all sizes that the integers of the mechanism do not tell
    """
    waiting = _kept.get(id(mechanism.ints))
    if waiting is not None and waiting[0]() is mechanism.ints:
        try:
            workspace: Workspace = waiting[1][kind].pop()
        except (KeyError, IndexError):
            pass
        else:
            return workspace
    return make()


def give_back(mechanism: Any, kind: tuple[Any, ...], workspace: tuple[Any, ...]) -> None:
    """Keep a workspace for the next call; not after one that met a bad number."""
    ints = mechanism.ints
    key = id(ints)
    waiting = _kept.get(key)
    if waiting is None or waiting[0]() is not ints:
        waiting = _kept[key] = weakref.ref(ints, lambda _: _kept.pop(key, None)), {}
    several = waiting[1].get(kind)
    if several is None:
        if _size(workspace) > LARGEST:
            return
        several = waiting[1].setdefault(kind, [])
    if len(several) < MOST:
        several.append(workspace)


def _size(workspace: Iterable[Any]) -> int:
    """Bytes of all arrays of some records."""
    return sum(
        x.nbytes if isinstance(x, np.ndarray) else _size(x) for x in workspace if isinstance(x, np.ndarray | tuple)
    )
