"""The Newmark family in NumPy, from the same source as its kernels: what follows from four numbers and a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.solver import Settings
from mechgrad.steps.newmark.kernels import scheme as _kernels
from mechgrad.typing import Array, FloatArray


def _source(kernel: Any) -> Any:
    """The Python function that a kernel was compiled from."""
    return getattr(kernel, "py_func", kernel)


def coefficients(settings: Settings, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """beta h^2, and how velocities and accelerations follow the coordinates of steps of lengths h: cv, ca."""
    found: tuple[FloatArray, FloatArray, FloatArray] = _source(_kernels.step_factors)(settings, h)
    return found


def row_weights(settings: Settings, m: int, n_holonomic: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What each of m constraint rows is solved for: weights of value, rate and second rate, (m,) each."""
    found = [_source(_kernels.weights)(settings, n_holonomic, k) for k in range(m)]
    w0, w1, w2 = np.array(found, float).reshape(m, 3).T
    return w0, w1, w2


def scheme_update(
    settings: Settings, h: float | FloatArray, v0: Array, a0: Array, x0: Array, x: Array
) -> tuple[Array, ...]:
    """The step d, v and a that the memory x at the new time stands for; arrays of any shape."""
    found: tuple[Array, ...] = _source(_kernels.update)(settings[:4], h, v0, a0, x0, x)
    return found
