"""Derivatives of smooth functions of one number, by a Chebyshev polynomial through a few values."""

from __future__ import annotations

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import FloatArray

VALUES = 12  # of the polynomial
ROUGH = 1e-6  # relative: what its last terms may have before it says nothing


def slope_at(values: FloatArray, at: float, low: float, high: float) -> FloatArray:
    """The derivative, at a point between low and high, of functions with values (k, no) at `chebyshev_points`."""
    y = values - values[0]  # constants say nothing, and their rounding would
    count, rounding = len(y), 4.0 * np.finfo(float).eps * np.abs(values).max(axis=0)
    angles = np.pi * (np.arange(count) + 0.5) / count
    coefficients = 2.0 / count * np.cos(np.outer(np.arange(count), angles)) @ y
    coefficients[0] *= 0.5
    size = np.abs(coefficients)
    if np.any(size[-2:].max(axis=0) > ROUGH * size[1:].max(axis=0) + 16.0 * rounding):
        raise InputError(
            f"the stop condition, or an objective, is not smooth around the end of the motion at t = {at:.9g} s: there "
            "is no derivative by where it ends."
        )
    said = np.flip(np.logical_or.accumulate(np.flip(size > rounding, axis=0), axis=0), axis=0)
    slopes = np.polynomial.chebyshev.chebder(np.where(said, coefficients, 0.0))
    there = (2.0 * at - low - high) / (high - low)
    return np.asarray(np.polynomial.chebyshev.chebval(there, slopes)) * 2.0 / (high - low)


def chebyshev_points(low: float, high: float) -> FloatArray:
    """Points between low and high, last first."""
    return 0.5 * (low + high) + 0.5 * (high - low) * np.cos(np.pi * (np.arange(VALUES) + 0.5) / VALUES)
