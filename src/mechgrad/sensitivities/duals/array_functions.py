"""What NumPy's functions on whole arrays do with duals: shapes, sums, products, norms, choices.

Functions that are linear act on every slope as on the value. Axes are counted on the value; slopes have the directions
in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mechgrad.sensitivities.duals.dual import (
    FUNCTIONS,
    Dual,
    Unsupported,
    as_dual,
    chained,
    count_of,
    implements,
    plain,
    spread,
)
from mechgrad.typing import Array

SHORT = 8  # sums over so few numbers are written out
LETTER = "Z"  # of the directions in np.einsum


def _each(x: Dual, function: Callable[[Array], Array]) -> Dual:
    """A linear function of the value and of every slope."""
    return Dual(function(x.value), np.stack([function(slope) for slope in x.slopes]))


def _duals(parts: Sequence[Any]) -> list[Dual]:
    count = count_of(*parts)
    return [as_dual(x, count) for x in parts]


def _joined(name: Any) -> None:
    @implements(name)
    def join(parts: Sequence[Any], *args: Any, **options: Any) -> Dual:
        if set(options) - {"axis"}:
            raise Unsupported(f"np.{name.__name__} with {', '.join(options)}")
        all_ = _duals(parts)
        slopes = [name([x.slopes[k] for x in all_], *args, **options) for k in range(count_of(*parts))]
        return Dual(name([x.value for x in all_], *args, **options), np.stack(slopes))


JOINED: tuple[Any, ...] = (np.stack, np.concatenate, np.vstack, np.hstack, np.dstack, np.column_stack)
for _joining in JOINED:
    _joined(_joining)


def _shaped(name: Any, *allowed: str) -> None:
    @implements(name)
    def shape(x: Any, *args: Any, **options: Any) -> Any:
        if set(options) - set(allowed) or options.get("order", "C") != "C" or not isinstance(x, Dual):
            raise Unsupported(f"np.{name.__name__} with {', '.join(options) or 'such arguments'}")
        return _each(x, lambda part: np.asarray(name(part, *args, **options)))


SHAPED: tuple[tuple[Any, ...], ...] = (
    (np.reshape, "shape", "order"), (np.ravel, "order"), (np.transpose, "axes"), (np.swapaxes, "axis1", "axis2"),
    (np.moveaxis, "source", "destination"), (np.squeeze, "axis"), (np.expand_dims, "axis"), (np.flip, "axis"),
    (np.broadcast_to, "shape"), (np.roll, "shift", "axis"), (np.tile, "reps"), (np.repeat, "repeats", "axis"),
    (np.cumsum, "axis"), (np.diff, "n", "axis"), (np.atleast_1d,), (np.atleast_2d,), (np.trace, "axis1", "axis2"),
    (np.take, "indices", "axis"), (np.rollaxis, "axis", "start"),
)  # fmt: skip
for _shaping, *_allowed in SHAPED:
    _shaped(_shaping, *_allowed)


@implements(np.copy)
def _copy(x: Dual, order: str = "K") -> Dual:
    return x.copy()


@implements(np.real, np.real_if_close)
def _real(x: Dual) -> Dual:
    return x


def _flat(name: Any) -> None:
    @implements(name)
    def flat(*args: Any, **options: Any) -> Any:
        return name(*(plain(x) for x in args), **{k: plain(x) for k, x in options.items()})


PLAIN: tuple[Any, ...] = (
    np.shape, np.ndim, np.size, np.any, np.all, np.argmax, np.argmin, np.argsort, np.round, np.fix, np.count_nonzero,
    np.nonzero, np.isclose, np.allclose, np.array_equal, np.searchsorted, np.imag, np.iscomplexobj, np.isrealobj,
    np.result_type, np.argwhere, np.flatnonzero, np.may_share_memory, np.shares_memory, np.digitize,
)  # fmt: skip
for _counting in PLAIN:
    _flat(_counting)


@implements(np.zeros_like, np.empty_like)
def _zeros_like(x: Dual, dtype: Any = None, **options: Any) -> Any:
    return _full_like(x, 0.0, dtype, **options)


@implements(np.ones_like)
def _ones_like(x: Dual, dtype: Any = None, **options: Any) -> Any:
    return _full_like(x, 1.0, dtype, **options)


@implements(np.full_like)
def _full_like(x: Any, fill: Any, dtype: Any = None, **options: Any) -> Dual:
    """Writeable, so that results can be put together entry by entry."""
    if options or (dtype is not None and np.dtype(dtype) != np.float64) or not isinstance(x, Dual):
        raise Unsupported("arrays of another type or shape than the measure's")
    out = Dual(np.zeros(x.shape), np.zeros(x.slopes.shape))
    out[...] = fill
    return out


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(int(np.lib.array_utils.normalize_axis_index(k, ndim)) for k in given)


def _check_options(name: str, options: dict[str, Any]) -> None:
    """Defaults and double precision pass."""
    default = {
        "dtype": (None, float, np.float64),
        "out": (None,),
        "initial": (np._NoValue,),
        "where": (np._NoValue, True),
    }
    for key, x in options.items():
        if key not in default or not any(x is one for one in default[key]):
            raise Unsupported(f"np.{name} with {key}=")


@implements(np.sum)
def _sum(x: Dual, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Dual:
    _check_options("sum", {"dtype": dtype, "out": out} | options)
    over, sink = _axes(axis, x.ndim), keepdims is True
    value = np.sum(x.value, axis=over, keepdims=sink)
    if over == (x.ndim - 1,) and 0 < x.shape[-1] <= SHORT and not sink:
        slopes = x.slopes[..., 0].copy()
        for k in range(1, x.shape[-1]):  # quicker than NumPy over few numbers
            slopes += x.slopes[..., k]
        return Dual(value, slopes)
    return Dual(value, np.sum(x.slopes, axis=tuple(k + 1 for k in over), keepdims=sink))


@implements(np.mean)
def _mean(x: Dual, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
    _check_options("mean", {"dtype": dtype, "out": out} | options)
    count = int(np.prod([x.shape[k] for k in _axes(axis, x.ndim)]))
    return _sum(x, axis, keepdims=keepdims) / count


@implements(np.var)
def _var(
    x: Dual, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: Any = False, **options: Any
) -> Any:
    _check_options("var", {"dtype": dtype, "out": out} | options)
    count = int(np.prod([x.shape[k] for k in _axes(axis, x.ndim)]))
    return _sum((x - _mean(x, axis, keepdims=True)) ** 2, axis, keepdims=keepdims) / (count - ddof)


@implements(np.std)
def _std(x: Dual, *args: Any, **options: Any) -> Any:
    return np.sqrt(_var(x, *args, **options))


@implements(np.prod)
def _prod(x: Dual, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
    """Factor by factor, so that zeros do no harm."""
    _check_options("prod", {"dtype": dtype, "out": out} | options)
    over = _axes(axis, x.ndim)
    if len(over) != 1:
        raise Unsupported("np.prod over several axes")
    total: Any = 1.0
    for part in FUNCTIONS[np.moveaxis](x, over[0], 0):
        total = total * part
    return FUNCTIONS[np.expand_dims](total, axis=over[0]) if keepdims is True else total


def _extreme(name: Any, where: Any) -> Callable[..., Any]:
    def extreme(x: Dual, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        _check_options(name.__name__, {"out": out} | options)
        over = _axes(axis, x.ndim)
        if axis is not None and len(over) != 1:
            raise Unsupported(f"np.{name.__name__} over several axes")
        lines = FUNCTIONS[np.ravel](x) if axis is None else FUNCTIONS[np.moveaxis](x, over[0], -1)
        chosen = where(lines.value, axis=-1)[..., None]
        found = Dual(
            np.take_along_axis(lines.value, chosen, -1)[..., 0],
            np.stack([np.take_along_axis(slope, chosen, -1)[..., 0] for slope in lines.slopes]),
        )
        if keepdims is True:
            return FUNCTIONS[np.expand_dims](found, axis=over)
        return found

    return extreme


implements(np.max, np.amax, np.nanmax)(_extreme(np.max, np.argmax))
implements(np.min, np.amin, np.nanmin)(_extreme(np.min, np.argmin))


@implements(np.clip)
def _clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    if out is not None:
        raise Unsupported("np.clip with out=")
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    found = x if low is None else np.maximum(x, low)
    return found if high is None else np.minimum(found, high)


@implements(np.where)
def _where(condition: Any, *branches: Any) -> Any:
    chosen = plain(condition)
    if not branches:
        return np.where(chosen)
    values = [plain(x) for x in branches]
    result = np.where(chosen, *values)
    if not any(isinstance(x, Dual) for x in branches):
        return result
    first, second = (spread(x.slopes, result.ndim) for x in _duals(branches))
    slopes = np.where(chosen, first, second)
    return Dual(result, np.array(np.broadcast_to(slopes, (len(slopes), *result.shape))))


@implements(np.select)
def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0.0) -> Any:
    found = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = np.where(condition, choice, found)
    return found


@implements(np.matmul)
def _matmul(a: Any, b: Any) -> Any:
    a, b = (x if isinstance(x, Dual) else np.asarray(x) for x in (a, b))
    if np.ndim(a) == 1:
        return _matmul(a[None, :], b)[..., 0, :] if np.ndim(b) > 1 else _sum(a * b)
    if np.ndim(b) == 1:
        return _matmul(a, b[:, None])[..., 0]
    result = plain(a) @ plain(b)
    slopes: Any = 0.0
    if isinstance(a, Dual):
        slopes = spread(a.slopes, result.ndim) @ plain(b)
    if isinstance(b, Dual):
        slopes = slopes + plain(a) @ spread(b.slopes, result.ndim)
    return Dual(result, slopes)


@implements(np.dot, np.vdot, np.inner)
def _dot(a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(b) == 1:
        return _matmul(a, b)
    raise Unsupported("np.dot or np.inner of matrices (use @, or np.einsum)")


@implements(np.outer)
def _outer(a: Any, b: Any) -> Any:
    return np.reshape(a, -1)[:, None] * np.reshape(b, -1)


@implements(np.linalg.norm)
def _norm(x: Dual, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Of vectors; at zero its slope is zero, a subgradient."""
    over = _axes(axis, x.ndim)
    if ord in (None, "fro") or (ord == 2 and len(over) == 1):
        return np.sqrt(_sum(x * x, over, keepdims=keepdims))
    if len(over) != 1:
        raise Unsupported(f"np.linalg.norm of matrices with ord = {ord}")
    if ord == 1:
        return _sum(np.abs(x), over, keepdims=keepdims)
    if ord in (np.inf, -np.inf):
        return FUNCTIONS[np.max if ord > 0 else np.min](np.abs(x), over[0], keepdims=keepdims)
    raise Unsupported(f"np.linalg.norm with ord = {ord}")


@implements(np.cross)
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    a, b = (x if isinstance(x, Dual) else np.asarray(x) for x in (a, b))
    if (axisa, axisb, axisc) != (-1, -1, -1) or axis not in (None, -1) or not a.shape[-1] == b.shape[-1] == 3:
        raise Unsupported("np.cross but of vectors (..., 3) along the last axis")
    return FUNCTIONS[np.stack](
        [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1
    )


@implements(np.einsum)
def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    if not isinstance(subscripts, str):
        raise Unsupported("np.einsum without a string of subscripts")
    text = subscripts.replace(" ", "")
    if LETTER in text:
        raise Unsupported(f"np.einsum with the subscript {LETTER}")
    left, arrow, right = text.partition("->")
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    terms, values = left.split(","), [np.asarray(plain(x)) for x in operands]
    slopes: Any = 0.0
    for k, x in enumerate(operands):
        if isinstance(x, Dual):
            moved = [*terms[:k], LETTER + terms[k], *terms[k + 1 :]]
            slopes = slopes + np.einsum(
                f"{','.join(moved)}->{LETTER}{right}", *values[:k], x.slopes, *values[k + 1 :], optimize=optimize
            )
    return Dual(np.einsum(f"{left}->{right}", *values, optimize=optimize), slopes)


@implements(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Of plain tables: the slope of the piece, zero outside."""
    if isinstance(xp, Dual) or isinstance(fp, Dual) or period is not None:
        raise Unsupported("np.interp with a table that depends on measures, or with period=")
    knots, values = np.asarray(xp, float), np.asarray(fp, float)
    result = np.interp(x.value, knots, values, left, right)
    piece = np.clip(np.searchsorted(knots, x.value, side="right") - 1, 0, len(knots) - 2)
    rise = (np.diff(values) / np.diff(knots))[piece]
    inside = (x.value >= knots[0]) & (x.value <= knots[-1])
    return Dual(result, chained(np.where(inside, rise, 0.0), x.slopes))


@implements(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    total: Any = 0.0
    for c in p:
        total = total * x + c
    return total


@implements(np.nan_to_num)
def _nan_to_num(x: Dual, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.where(np.isfinite(x.value), x, np.nan_to_num(x.value, nan=nan, posinf=posinf, neginf=neginf))


def supported() -> tuple[str, ...]:
    """Names of the functions on whole arrays that duals pass through.

    >>> "einsum" in supported(), "fft" in supported()
    (True, False)
    """
    return tuple(sorted({function.__name__ for function in FUNCTIONS}))
