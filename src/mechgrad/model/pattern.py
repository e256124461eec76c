"""Which entries of a derivative of the generalized forces can be non-zero, and how packed values map to matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from mechgrad.errors import InputError
from mechgrad.kernels.packing import spread
from mechgrad.memory import empty, require_memory


@dataclass(frozen=True, eq=False)
class Pattern:
    """Fixed sparsity pattern, entries sorted by row, then column (the order of a CSR matrix).

    Joint i depends on joint m only if one of them is an ancestor of the other: siblings and cousins never interact. The
    pattern is a property of the model, the same for every state, so that an optimizer needs to be told only once.

    Attributes
    ----------
    shape : (int, int)
        Of the matrix.
    rows, cols : (nnz,) int arrays
        Row and column of each packed value.
    """

    shape: tuple[int, int]
    rows: np.ndarray
    cols: np.ndarray
    _flat: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_flat", self.rows * self.shape[1] + self.cols)
        for array in (self.rows, self.cols, self._flat):
            array.setflags(write=False)

    @property
    def nnz(self) -> int:
        """Number of packed values."""
        return int(self.rows.size)

    def dense(self, values: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Spread packed values (..., nnz) over matrices (..., rows, cols); structural zeros are exact zeros."""
        lead = values.shape[:-1]
        shape = (*lead, *self.shape)
        if out is None:
            require_memory(
                float(np.prod(shape, dtype=float)) * values.itemsize,
                f"a dense array of shape {shape}",
                "Use the packed values, or .sparse().",
            )
            out = empty(shape, values.dtype)
        elif out.shape != shape or out.dtype != values.dtype or not out.flags.carray:
            raise InputError(
                f"out has shape {out.shape} and type {out.dtype}; dense() writes a C-contiguous array of "
                f"shape {shape} and type {values.dtype}."
            )
        rows = int(np.prod(lead))
        packed = values.reshape(rows, self.nnz)
        if not packed.flags.carray:
            packed = packed.copy()
        spread(packed, self._flat, out.reshape(rows, self.shape[0] * self.shape[1]))
        return out

    def position(self, row: int, col: int) -> int:
        """Where entry (row, col) stands in the packed values; raises if it is structurally zero."""
        at = int(np.searchsorted(self._flat, row * self.shape[1] + col))
        if at == self.nnz or self._flat[at] != row * self.shape[1] + col:
            raise InputError(
                f"entry ({row}, {col}) is structurally zero: the two do not lie on one path to the ground."
            )
        return at


@dataclass(frozen=True, eq=False)
class Packed:
    """Matrices of one pattern, one per sample, as packed values (nt, nnz), or (nnz,) for a single state.

    >>> D.dq.values.shape, D.dq.pattern.nnz        # doctest: +SKIP
    ((301, 747), 747)
    >>> D.dq.dense().shape                         # doctest: +SKIP
    (301, 43, 43)
    """

    values: np.ndarray
    pattern: Pattern

    def dense(self, out: np.ndarray | None = None) -> np.ndarray:
        """The matrices (nt, rows, cols), or (rows, cols) for a single state."""
        return self.pattern.dense(self.values, out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """`dense()`, so that np.asarray and functions of NumPy see matrices."""
        if copy is False:
            raise ValueError("packed values are spread over a new array; copy=False cannot be met.")
        return np.asarray(self.dense(), dtype)

    def sparse(self, sample: int | None = None) -> Any:
        """The matrix of one sample as a `scipy.sparse.csr_array` (sample is not needed for a single state)."""
        if self.values.ndim == 2 and sample is None:
            raise InputError(f"which of the {self.values.shape[0]} samples? Pass sample=0 ... or use dense().")
        values = self.values if self.values.ndim == 1 else self.values[sample]
        return sparse.csr_array((values, (self.pattern.rows, self.pattern.cols)), shape=self.pattern.shape)

    def entry(self, row: int, col: int) -> np.ndarray:
        """Time history of one entry (a view)."""
        return np.asarray(self.values[..., self.pattern.position(row, col)])
