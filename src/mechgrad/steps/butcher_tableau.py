"""The coefficients of an explicit Runge-Kutta method, as schemes state them and kernels read them."""

from __future__ import annotations

from typing import NamedTuple

from mechgrad.typing import FloatArray


class Tableau(NamedTuple):
    """Coefficients of an explicit method: y_i = y + h sum_m A_im k_m at t + C_i h, and B for the end of a step."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
