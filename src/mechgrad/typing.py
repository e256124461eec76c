"""The few array types that signatures use, and the order of six numbers that belong together."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
"""float64, or complex128 while a complex step travels through."""

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

Number: TypeAlias = float | complex

ArrayField: TypeAlias = Any
"""A field given as anything array-like (list, tuple, array) and held as a read-only `Array`."""


class Wrench(NamedTuple):
    """A force and the couple that goes with it where the force acts at a given point; the couple comes first, as in
    all spatial vectors.

    >>> Wrench(couple=np.zeros(3), force=np.ones(3)).force
    array([1., 1., 1.])
    """

    couple: Array
    """(..., 3) [N m]"""
    force: Array
    """(..., 3) [N]"""


__all__ = ["Array", "ArrayField", "ArrayLike", "FloatArray", "IntArray", "Number", "Wrench"]
