"""From a user's arrays to kernel calls: one state or many samples, real or complex, in blocks, on threads.

Kernels are compiled for C-contiguous, writeable, aligned arrays of float64 or complex128. Anything else (a slice,
float32, a read-only array) is copied block by block, so that a million samples need no second copy of themselves.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kernels.host import LANES
from mechgrad.memory import UNASKED, empty, require_memory
from mechgrad.model.joints import BALL
from mechgrad.model.tree import KIND, Q_AT, Tree, compile_tree
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

_FLOAT = np.dtype(float)
BLOCK = 512 * LANES  # samples per call where inputs must be converted or threads share the work


class Kernels(NamedTuple):
    """One kernel, compiled for a single state, for lanes and for complex numbers."""

    one: Any
    lanes: Any
    complex: Any


def tree_of(model: Model) -> Tree:
    """The compiled tree of a model, made once."""
    return model.cached("tree", compile_tree)


class Batch:
    """Samples of q, v, ... as (nt, n) arrays of one type.

    Parameters
    ----------
    given : names, arrays and their numbers of columns
        Arrays are (n,) for a single state or (nt, n); None stands for zeros, but for q. A single state among many
        samples serves them all.
    """

    __slots__ = ("arrays", "convert", "dtype", "given", "nt", "single", "tree")
    arrays: tuple[Array, ...]
    convert: bool
    dtype: type
    nt: int
    single: bool

    def __init__(self, model: Model, given: Sequence[tuple[str, ArrayLike | None, int]], *, also_complex: bool = False):
        self.tree = tree_of(model)
        self.given = given
        if not also_complex and self.tree.dtype is float and self._is_plain_state():
            return
        self._take_any(model, also_complex)

    def _is_plain_state(self) -> bool:
        """The common single state, ready for a kernel as it is: no more than a few looks at each array."""
        arrays = []
        for _, x, n in self.given:
            if type(x) is not np.ndarray or x.dtype is not _FLOAT or x.shape != (n,) or not x.flags.carray:
                return False
            arrays.append(x[None])
        self.single, self.nt, self.dtype, self.convert, self.arrays = True, 1, float, False, tuple(arrays)
        return True

    def _take_any(self, model: Model, also_complex: bool) -> None:
        given = self.given
        arrays: list[Array | None] = []
        self.single, self.nt, is_complex = True, 1, also_complex or self.tree.dtype is complex
        for name, values, n in given:
            if values is None:
                if name == "q":
                    raise InputError(
                        f"q is None; model {model.name!r} needs ({n},) or (nt, {n}), e.g. model.neutral()."
                    )
                arrays.append(None)
                continue
            x = values if type(values) is np.ndarray else np.asarray(values)
            if x.dtype.kind not in "fiubc":
                raise InputError(f"{name} holds {x.dtype}; numbers are needed.")
            if x.ndim == 1:
                x = x[None, :]
            elif x.ndim == 2:
                self.single = False
                if self.nt == 1:
                    self.nt = x.shape[0]
            if x.ndim != 2 or x.shape[1] != n:
                what = f"({n},) or (nt, {n})"
                raise InputError(
                    f"{name} has shape {np.shape(values)}; model {model.name!r} needs {what}. "
                    f"Its order is model.{'q' if name == 'q' else 'v'}_names."
                )
            is_complex = is_complex or x.dtype.kind == "c"
            arrays.append(x)
        self.dtype = complex if is_complex else float
        ready: list[Array] = []
        self.convert = False
        for (name, _, n), rows in zip(given, arrays, strict=True):
            x = np.zeros((1, n), self.dtype) if rows is None else rows
            if x.shape[0] != self.nt:
                if x.shape[0] != 1:
                    raise InputError(
                        f"{name} has {x.shape[0]} samples and {given[0][0]} has {self.nt}; "
                        "give all the same number of samples."
                    )
                x = np.broadcast_to(x, (self.nt, n))
            if not (x.flags.carray and x.dtype == self.dtype):
                self.convert = True
            ready.append(x)
        self.arrays = tuple(ready)

    @property
    def atoms_f(self) -> Array:
        """The tree's numbers in the batch's type."""
        tree = self.tree
        return tree.atoms_f if tree.dtype is self.dtype else tree.as_complex

    @property
    def tables(self) -> tuple[Array, Array, Array]:
        """The tree for a kernel (`kinematics.kernels.tables.TreeTables`), its numbers in the batch's type."""
        return self.tree.atoms_i, self.atoms_f, self.tree.columns_i

    def rows(self, part: slice) -> tuple[Array, ...]:
        """The samples of one block, ready for a kernel."""
        if part.start == 0 and part.stop == self.nt and not self.convert:
            return self.arrays
        return tuple(
            x if x.flags.carray and x.dtype == self.dtype else np.array(x, self.dtype, order="C")
            for x in (y[part] for y in self.arrays)
        )

    def parts(self, arrays: Sequence[Array], part: slice) -> tuple[Array, ...]:
        """One block of each of some results (nt, n)."""
        if part.start == 0 and part.stop == self.nt:
            return tuple(arrays)
        return tuple(x[part] for x in arrays)

    def pick(self, kernels: Kernels) -> Any:
        """The kernel for this batch."""
        if self.dtype is complex:
            return kernels.complex
        return kernels.one if self.nt == 1 else kernels.lanes

    def empty(self, *shape: int) -> Array:
        """An uninitialised array (nt, *shape) of the batch's type."""
        self._require(math.prod(shape))
        return empty((self.nt, *shape), self.dtype)

    def empties(self, sizes: Sequence[int]) -> list[Array]:
        """Uninitialised arrays (nt, size), carved from one block: from 4 MB on NumPy asks for huge pages, and
        taking fresh memory page by page can cost more than computing what goes into it."""
        self._require(sum(sizes))
        block = empty((self.nt * sum(sizes),), self.dtype)
        arrays, at = [], 0
        for size in sizes:
            arrays.append(block[at : at + self.nt * size].reshape(self.nt, size))
            at += self.nt * size
        return arrays

    def _require(self, numbers: int) -> None:
        """Raise unless there is room for so many numbers per sample."""
        needed = float(self.nt) * numbers * (16 if self.dtype is complex else 8)
        if needed > UNASKED:
            samples = "a single state" if self.nt == 1 else f"{self.nt} samples"
            require_memory(
                needed,
                f"a result of {numbers} numbers for {samples}",
                "Take fewer samples at a time." if self.nt > 1 else "Take a smaller model, or a result of size O(n_v).",
            )

    def sweep(self, call: Callable[[slice], int], threads: int = 1) -> None:
        """Call `call(rows)` for all samples, in blocks where needed; it returns the offending row of its block, or
        -1."""
        if threads == 1 and not self.convert:
            bad = call(slice(0, self.nt))
            if bad >= 0:
                self._complain(slice(0, self.nt), bad)
            return
        parts = [slice(k, min(k + BLOCK, self.nt)) for k in range(0, self.nt, BLOCK)]
        workers = check_threads(threads)
        if workers == 1 or len(parts) == 1:
            for part in parts:
                if (bad := call(part)) >= 0:
                    self._complain(part, bad)
            return
        with ThreadPoolExecutor(workers) as pool:
            for part, bad in zip(parts, pool.map(call, parts), strict=True):
                if bad >= 0:
                    self._complain(part, bad)

    def complain(self, sample: int) -> None:
        """Raise, saying which number of the samples from this one on is bad."""
        self._complain(slice(sample, self.nt), 0)

    def _complain(self, part: slice, row: int) -> None:
        """Say which number of the block that starts at `row` is bad."""
        first = part.start + row
        for name, x in zip((name for name, _, _ in self.given), self.arrays, strict=True):
            block = np.asarray(x[first : first + LANES])
            bad = np.argwhere(~np.isfinite(block))
            if bad.size:
                sample, column = bad[0]
                raise InputError(
                    f"{name} is {block[sample, column]} at {self._where(first + sample)}column {column}; "
                    "every number must be finite."
                )
        q = np.asarray(self.arrays[0][first : first + LANES])
        for atom in np.flatnonzero(self.tree.atoms_i[:, KIND] == BALL):
            at = self.tree.atoms_i[atom, Q_AT]
            for sample in np.flatnonzero(np.all(q[:, at : at + 4] == 0, axis=1)):
                where = "" if self.single else f" at sample {first + sample}"
                raise InputError(
                    f"the Euler parameters q[{at}:{at + 4}] are all zero{where}: they "
                    "stand for no rotation. Start from model.neutral()."
                )
        raise InputError(f"numbers near sample {first} overflow: their values are finite, the motion's are not.")

    def _where(self, sample: int) -> str:
        return "" if self.single else f"sample {sample}, "


def check_threads(threads: int) -> int:
    """Number of worker threads: as given, or all cores for 0."""
    if threads < 0 or threads != int(threads):
        raise InputError(f"threads is {threads}; give 1 (none), a number of threads, or 0 for all cores.")
    return int(threads) or os.cpu_count() or 1


def check_samples(samples: int, least: int = 2) -> int:
    """A number of samples, if it is one; 2 and more have both ends."""
    try:
        count = operator.index(samples)
    except TypeError:
        count = least - 1
    if count < least or isinstance(samples, bool):
        raise InputError(
            f"samples is {samples!r}; give a whole number, at least {least}"
            + (", both ends included." if least == 2 else ".")
        )
    return count


def check_out(out: Array, shape: tuple[int, ...], dtype: type, name: str = "out") -> Array:
    """`out` if a kernel can write into it."""
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.carray:
        got = f"{type(out).__name__}" if not isinstance(out, np.ndarray) else f"shape {out.shape}, type {out.dtype}"
        raise InputError(
            f"{name} has {got}; it must be a writeable C-contiguous array of shape {shape} and type {np.dtype(dtype)}."
        )
    return out
