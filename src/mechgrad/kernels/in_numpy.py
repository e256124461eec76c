"""Passes of kernels as Python runs them, on arrays: one source for what is compiled and what NumPy evaluates.

`in_numpy(pass)` is the function that a pass was compiled from, with the passes that it calls in NumPy as well. What is
one scalar in a kernel is an array then, of any shape, real or complex, and slots are the first axis of an array. For
passes that are formulas: they may ask for kinds and numbers of a table, and not compare scalars or know of lanes.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from mechgrad.kernels import elementary, lanes
from mechgrad.typing import Array


def _reciprocal(x: Array) -> Array:
    return 1.0 / x


def _angle_of(y: Array, x: Array) -> Array:
    """atan2(y, x), of complex numbers to first order in their imaginary parts."""
    angle = np.arctan2(np.real(y), np.real(x))
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return np.asarray(angle)
    turn = np.real(x) * np.imag(y) - np.real(y) * np.imag(x)
    return np.asarray(angle + 1j * turn / (np.real(x) ** 2 + np.real(y) ** 2))


def _load(slots: Array, k: int, scalar: Any) -> Array:
    return np.asarray(slots[k])


def _store(slots: Array, k: int, x: Array) -> None:
    slots[k] = x


ELEMENTARY: dict[Any, Any] = {
    elementary.reciprocal: _reciprocal,
    elementary.square_root: np.sqrt,
    elementary.angle_of: _angle_of,
    lanes.load: _load,
    lanes.store: _store,
}


@cache
def in_numpy(compiled: Any) -> Any:
    """The Python function behind a pass, on arrays.

    >>> from mechgrad.kernels.vec3 import dot
    >>> in_numpy(dot)(np.eye(3), (1.0, 2.0, 3.0))
    array([1., 2., 3.])
    """
    if compiled in ELEMENTARY:
        return ELEMENTARY[compiled]
    source: FunctionType = getattr(compiled, "py_func", compiled)
    known = dict(source.__globals__)
    for name in source.__code__.co_names:
        called = known.get(name)
        function = getattr(called, "py_func", called)
        ours = isinstance(function, FunctionType) and function.__module__.startswith("mechgrad.")
        if ours or any(called is known_one for known_one in ELEMENTARY):
            known[name] = in_numpy(called)
    return FunctionType(source.__code__, known, source.__name__, source.__defaults__, source.__closure__)
