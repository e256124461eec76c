"""One test kernel on the three scalars, and the way samples lie in scratch arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from mechgrad.kernels.jit import FASTMATH
from mechgrad.kernels.lanes import LANES, lane_zero

# Compiled like the library's entries, but never cached: an edit of the kernels must show at once.
compiled = numba.njit(error_model="numpy", fastmath=FASTMATH)


def on_every_scalar(function: Callable[..., Any]) -> dict[str, Any]:
    """Compile `function(like, *args)` for float64, lanes and complex128."""
    kernel = compiled(function)

    @compiled
    def one(*args):
        return kernel(0.0, *args)

    @compiled
    def lanes(*args):
        return kernel(lane_zero(), *args)

    @compiled
    def complex_(*args):
        return kernel(0j, *args)

    return {"one": one, "lanes": lanes, "complex": complex_}


@dataclass(frozen=True)
class Scalar:
    """How many samples a scalar carries and which numbers it is made of."""

    name: str
    width: int
    dtype: type

    def slots(self, samples: np.ndarray) -> np.ndarray:
        """(width, ...) samples as a scratch array: numbers one after the other, each with all its samples."""
        assert samples.shape[0] == self.width
        return np.array(samples.reshape(self.width, -1).T.ravel(), self.dtype)

    def samples(self, slots: np.ndarray, *shape: int) -> np.ndarray:
        """Inverse of `slots`: (width, *shape)."""
        return slots.reshape(-1, self.width).T.reshape(self.width, *shape)

    def normal(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Random samples (width, *shape); complex ones have an imaginary part of a tenth."""
        x = rng.standard_normal((self.width, *shape))
        return x + 0.1j * rng.standard_normal(x.shape) if self.dtype is complex else x


SCALARS = (Scalar("one", 1, float), Scalar("lanes", LANES, float), Scalar("complex", 1, complex))
NAMES = [scalar.name for scalar in SCALARS]
