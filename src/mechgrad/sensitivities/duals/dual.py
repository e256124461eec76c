"""Values with slopes along several directions, which pass through NumPy's functions as arrays do.

    x = value + sum over directions of  slope_d e_d,      f(x) = f(value) + sum f'(value) slope_d e_d

A `Dual` is what a user's function gets instead of an array, and it either comes back with exact slopes or stops with
`Unsupported`: it never turns into a plain array, which is how derivatives are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mechgrad.sensitivities.duals.ufuncs import FLAT, RULES
from mechgrad.typing import Array, FloatArray

READ_ONLY = "output array is read-only"
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What `np.sum` and its like do with duals, by the function; `functions` fills it."""


class Unsupported(TypeError):
    """Something that duals do not pass through."""


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as what NumPy's functions do with duals."""

    def mark(implementation: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return mark


def plain(x: Any) -> Any:
    """The value of a dual; anything else as it is."""
    return x.value if isinstance(x, Dual) else x


def count_of(*args: Any) -> int:
    """How many slopes the duals among some arguments have."""
    return next(len(x.slopes) for x in args if isinstance(x, Dual))


def spread(slopes: FloatArray, ndim: int) -> FloatArray:
    """Slopes (directions, *shape) with axes of length one between, so that shapes of `ndim` axes broadcast."""
    missing = ndim - (slopes.ndim - 1)
    return slopes.reshape(slopes.shape[0], *(1,) * missing, *slopes.shape[1:]) if missing > 0 else slopes


def chained(derivative: Any, slopes: FloatArray) -> FloatArray:
    """derivative * slopes; a slope of zero stays zero where the derivative is infinite (sqrt at 0)."""
    product = derivative * slopes
    if not np.all(np.isfinite(derivative)):
        product = np.where(slopes == 0.0, 0.0, product)
    return np.asarray(product)


def _basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is Ellipsis or isinstance(part, int | np.integer | slice) for part in parts)


@final
class Dual(NDArrayOperatorsMixin):
    """An array (*shape) with slopes (directions, *shape).

    >>> x = Dual(np.array([3.0, -4.0]), np.eye(2))
    >>> np.hypot(x[0], x[1]).slopes.tolist()
    [0.6, -0.8]
    """

    __slots__ = ("slopes", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, slopes: Any) -> None:
        self.value: FloatArray = np.asarray(value, float)
        self.slopes: FloatArray = np.asarray(slopes, float)

    # what an array says of itself

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """As of an array."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """As of an array."""
        return self.value.size

    @property
    def dtype(self) -> np.dtype:
        """float64."""
        return self.value.dtype

    @property
    def T(self) -> Any:
        """Transposed."""
        return FUNCTIONS[np.transpose](self)

    @property
    def real(self) -> Dual:
        """Itself: duals are real."""
        return self

    @property
    def imag(self) -> FloatArray:
        """Zero: duals are real."""
        return np.zeros(self.shape)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Dual]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {len(self.slopes)} slopes)"

    def __getitem__(self, index: Any) -> Dual:
        index = tuple(plain(i) for i in index) if isinstance(index, tuple) else plain(index)
        if _basic(index):
            along = index if isinstance(index, tuple) else (index,)
            return Dual(self.value[index], self.slopes[(slice(None), *along)])
        return Dual(self.value[index], np.stack([slope[index] for slope in self.slopes]))

    def __setitem__(self, index: Any, new: Any) -> None:
        self.value[index] = plain(new)  # NumPy's own error if it is read-only
        for k, slope in enumerate(self.slopes):
            slope[index] = new.slopes[k] if isinstance(new, Dual) else 0.0

    def copy(self, order: str = "C") -> Dual:
        """One that may be written to."""
        return Dual(self.value.copy(), self.slopes.copy())

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """As of an array: one tuple or several numbers."""
        return FUNCTIONS[np.reshape](self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        """As of an array: none, one tuple or several numbers."""
        return FUNCTIONS[np.transpose](self, (axes[0] if len(axes) == 1 else axes) if axes else None)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Dual:
        """A copy; other types than float64 have no slopes."""
        if np.dtype(dtype) != np.float64:
            raise Unsupported(f"conversion to {np.dtype(dtype)}")
        return self.copy()

    # where slopes would be lost

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise Unsupported("conversion to an array (np.array, np.asarray, assignment to entries of an array)")

    def __float__(self) -> NoReturn:
        raise Unsupported("conversion to a plain number (float, math.*)")

    __int__ = __complex__ = __index__ = __float__

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            raise Unsupported(f"the attribute .{name} of arrays")
        raise AttributeError(f"arrays of measures have no attribute {name!r}")

    # NumPy's functions

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", (None,))[0]
        if out is not None and not isinstance(out, Dual):
            raise Unsupported(f"np.{ufunc.__name__} into a plain array")
        if method == "reduce" and ufunc in REDUCED:
            if out is not None:
                raise Unsupported(f"np.{ufunc.__name__}.reduce with out=")
            return FUNCTIONS[REDUCED[ufunc]](inputs[0], **({"axis": 0} | options))
        if method != "__call__":
            raise Unsupported(f"np.{ufunc.__name__}.{method}")
        if options.get("dtype") in (float, np.float64):
            options.pop("dtype")
        if options:
            raise Unsupported(f"np.{ufunc.__name__} with {', '.join(options)}")
        result = _applied(ufunc, inputs)
        return result if out is None else _written(out, result)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function not in FUNCTIONS:
            raise Unsupported(f"{getattr(function, '__module__', 'np')}.{function.__name__}")
        try:
            return FUNCTIONS[function](*args, **options)
        except TypeError as error:
            if isinstance(error, Unsupported) or "unexpected keyword" not in str(error):
                raise
            raise Unsupported(f"np.{function.__name__} with {', '.join(options)}") from error


REDUCED: dict[np.ufunc, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip


def _applied(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    values = [plain(x) for x in inputs]
    if ufunc in FLAT:
        return ufunc(*values)
    if ufunc is np.matmul:
        return FUNCTIONS[np.matmul](*inputs)
    if ufunc is np.multiply and inputs[0] is inputs[1]:
        ufunc, inputs, values = np.square, inputs[:1], values[:1]
    if ufunc not in RULES:
        raise Unsupported(f"np.{ufunc.__name__}")
    result = np.asarray(ufunc(*values))
    if result.dtype == object or np.iscomplexobj(result):
        raise Unsupported(f"np.{ufunc.__name__} of {result.dtype} numbers")
    with np.errstate(all="ignore"):
        derivatives = RULES[ufunc](result, *(np.asarray(x, float) for x in values))
        parts = [_part(d, x, result.ndim) for d, x in zip(derivatives, inputs, strict=True) if isinstance(x, Dual)]
        slopes = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    whole = (len(slopes), *result.shape)
    if slopes.shape != whole or any(slopes is x.slopes for x in inputs if isinstance(x, Dual)):
        slopes = np.array(np.broadcast_to(slopes, whole))  # own numbers, so that writing to one never changes another
    return Dual(result, slopes)


def _part(derivative: Any, x: Dual, ndim: int) -> FloatArray:
    """What one argument adds to the slopes."""
    if callable(derivative):
        derivative = derivative()
    own = spread(x.slopes, ndim)
    return own if isinstance(derivative, float) and derivative == 1.0 else chained(derivative, own)


def _written(out: Dual, result: Any) -> Dual:
    """x -= 1 and its like."""
    if not out.value.flags.writeable:
        raise ValueError(READ_ONLY)
    out.value[...] = plain(result)
    out.slopes[...] = result.slopes if isinstance(result, Dual) else 0.0
    return out


def as_dual(x: Any, count: int) -> Dual:
    """A dual as it is, anything else with slopes zero."""
    if isinstance(x, Dual):
        return x
    value: Array = np.asarray(x, float)
    return Dual(value, np.zeros((count, *value.shape)))


def _method(function: Any) -> Callable[..., Any]:
    def method(self: Dual, *args: Any, **options: Any) -> Any:
        return FUNCTIONS[function](self, *args, **options)

    return method


METHODS: dict[str, Any] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "std": np.std, "var": np.var,
    "cumsum": np.cumsum, "dot": np.dot, "ravel": np.ravel, "flatten": np.ravel, "swapaxes": np.swapaxes,
    "squeeze": np.squeeze, "clip": np.clip, "repeat": np.repeat, "trace": np.trace, "any": np.any, "all": np.all,
    "argmin": np.argmin, "argmax": np.argmax, "round": np.round, "conj": np.real, "conjugate": np.real,
}  # fmt: skip
for _name, _function in METHODS.items():
    setattr(Dual, _name, _method(_function))
