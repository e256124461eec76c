"""The few array types that signatures use."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
"""float64, or complex128 while a complex step travels through."""

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

Number: TypeAlias = float | complex

ArrayField: TypeAlias = Any
"""A field given as anything array-like (list, tuple, array) and held as a read-only `Array`."""

__all__ = ["Array", "ArrayField", "ArrayLike", "FloatArray", "IntArray", "Number"]
