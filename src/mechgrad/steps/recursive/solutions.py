"""Solutions of closed mechanisms' saddle-point systems at many configurations, by recursive elimination."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.loop_gradient import solve_loop_lines
from mechgrad.dynamics.system import System
from mechgrad.steps.acceleration_slopes import check_regular
from mechgrad.typing import Array, FloatArray


def solved_recursively(
    system: System, numbers: FloatArray, q: Array, t: FloatArray, right: FloatArray
) -> FloatArray:  # fmt: skip
    """S^-1 of lines (N, columns, n + m) at N configurations, by elimination of loops."""
    X = np.array(right, float, order="C")
    loops = system.recursion(numbers, dtype=float)
    Q, times = np.array(q.real, float, order="C"), np.array(t, float)
    check_regular(solve_loop_lines(system.recursive, loops, Q, times, X), times, system.model)
    return X
