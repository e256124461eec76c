"""B-splines on segments of free lengths h_1 .. h_s [s], with derivatives by the lengths.

The knots inside are 0, h_1, h_1 + h_2, ..., T. *Uniform* knots run on beyond the ends in steps of h_1 and of h_s,
*clamped* ones pile up there. A sample is a segment j and a local coordinate u in [0, 1], t = t_j + u h_j, so it moves
with its segment. There the recursion of Cox and de Boor raises the degree from B_{j,0} = 1:

    Q_i = B_{i,p-1} / (t_{i+p} - t_i)
    B_{i,p} = (t - t_i) Q_i + (t_{i+p+1} - t) Q_{i+1}          d^r B_{i,p} / dt^r = p d^(r-1) (Q_i - Q_{i+1}) / dt^(r-1)

All factors and divisors are linear in the lengths. For such a form l and a function f of the lengths

    (f l)_h = f_h l + f l_h                   (f l)_hh = f_hh l + f_h l_h' + l_h f_h'
    (f / l)_h = q_h = (f_h - q l_h) / l       (f / l)_hh = (f_hh - q_h l_h' - l_h q_h') / l        q = f / l

Every divisor contains h_j, so that knots that pile up never divide by zero. The basis of degree k on a segment depends
on 2 k knots, hence on 2 k - 1 lengths: its own and k - 1 on either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array, ArrayLike


@final
@dataclass(frozen=True, eq=False)
class SpacedBasis:
    """The basis functions that act at nt samples, and their derivatives by the w = 2 degree - 1 lengths about each.

    Attributes
    ----------
    values : (derivatives + 1, nt, degree + 1)
        d^r B / dt^r [s^-r].
    by_h : (derivatives + 1, nt, degree + 1, w)
        Derivatives of the values by the lengths, each sample at its u.
    by_hh : (derivatives + 1, nt, degree + 1, w, w)
    first : (nt,) int
        Index of the first of the degree + 1 control points that act: the segment.
    lengths : (nt, w) int
        The lengths that the last axes of by_h and by_hh stand for, of 0 .. segments - 1. Beyond the ends there are
        none: -1, and zero derivatives.
    """

    values: Array
    by_h: Array
    by_hh: Array
    first: Array
    lengths: Array


def where(splines: Splines, xi: ArrayLike) -> tuple[Array, Array]:
    """Segment (nt,) and local coordinate u (nt,) of points xi in [0, 1] on equal segments.

    A point on a knot belongs to the segment on its right, xi = 1 to the last one, as in `Splines.basis`.

    >>> segment, u = where(Splines(4), [0.0, 0.375, 0.5, 1.0])
    >>> segment.tolist(), u.tolist()
    ([0, 1, 2, 3], [0.0, 0.5, 0.0, 1.0])
    """
    x = np.atleast_1d(np.asarray(xi, float))
    if x.ndim != 1 or not np.all((x >= 0) & (x <= 1)):
        raise InputError("xi must be numbers in [0, 1].")
    grid = splines.grid
    segment = np.minimum(np.searchsorted(grid, x, side="right") - 1, splines.segments - 1)
    # the quotient of differences is exactly 0 and 1 at the ends of a segment; x s - segment may round to beyond them
    return segment, (x - grid[segment]) / (grid[segment + 1] - grid[segment])


def spaced_basis(splines: Splines, h: ArrayLike, segment: ArrayLike, u: ArrayLike, derivatives: int = 3) -> SpacedBasis:
    """Basis functions, their time derivatives and the derivatives of all these by the lengths.

    Parameters
    ----------
    splines : Splines
        Number of segments, degree and kind of knots; that its segments are equal does not matter here.
    h : (segments,) [s]
        Lengths of the segments, positive.
    segment, u : (nt,)
        The samples, for instance from `where`.
    derivatives : int
        Highest time derivative, up to the degree.

    >>> splines = Splines(4)
    >>> basis = spaced_basis(splines, [0.1, 0.2, 0.2, 0.1], *where(splines, [0.0, 0.6]))
    >>> basis.values.shape, basis.by_h.shape, basis.first.tolist()
    ((4, 2, 4), (4, 2, 4, 5), [0, 2])
    >>> basis.lengths.tolist()
    [[-1, -1, 0, 1, 2], [0, 1, 2, 3, -1]]
    """
    k, s = splines.degree, splines.segments
    spans, first, at = np.asarray(h, float), np.asarray(segment), np.asarray(u, float)
    _check(s, spans, first, at)
    if derivatives not in range(k + 1):
        raise InputError(f"derivatives is {derivatives}; at degree {k} it may be 0 to {k}.")
    first = first.astype(np.int64)
    w, nt = 2 * k - 1, first.size
    index = first + np.arange(1 - k, k)[:, None]
    left, right = _distances(splines, spans, index, at)

    # Levels of degree p = 0 .. k; the axes are (jet, time derivative, function, sample).
    jets = np.zeros((1 + w + w * w, 1, 1, nt))
    jets[0] = 1.0
    for p in range(1, k + 1):
        before, after = _Linear(*(x[..., k - p :, :] for x in left)), _Linear(*(x[..., :p, :] for x in right))
        quotient = _over(jets, _Linear(before.value + after.value, before.slope + after.slope))
        # a time derivative is taken from one level below, so the lower levels need only the last few
        rows = max(0, derivatives - (k - p))
        jets = np.zeros((1 + w + w * w, rows + 1, p + 1, nt))
        jets[:, :1, 1:] = _times(quotient[:, :1], before)
        jets[:, :1, :-1] += _times(quotient[:, :1], after)
        if rows:
            quotient *= p
            jets[:, 1:, 1:] = quotient[:, :rows]
            jets[:, 1:, :-1] -= quotient[:, :rows]

    return SpacedBasis(
        values=np.ascontiguousarray(jets[0].transpose(0, 2, 1)),
        by_h=np.ascontiguousarray(jets[1 : 1 + w].transpose(1, 3, 2, 0)),
        by_hh=np.ascontiguousarray(jets[1 + w :].transpose(1, 3, 2, 0)).reshape(derivatives + 1, nt, k + 1, w, w),
        first=first,
        lengths=np.where((index >= 0) & (index < s), index, -1).T,
    )


class _Linear(NamedTuple):
    """Linear forms in the lengths: value (n, nt), gradient (w, n, nt)."""

    value: Array
    slope: Array


def _over(f: Array, form: _Linear) -> Array:
    """f / l for jets f (1 + w + w^2, rows, n, nt): value, gradient and Hessian along the first axis.

    The samples come last since numpy's inner loops run along the last axis.
    """
    quotient = f / form.value
    # the gradient of the quotient is complete when its Hessian asks for it
    _add_product_rule(quotient, quotient, -form.slope / form.value)
    return quotient


def _times(f: Array, form: _Linear) -> Array:
    """f l for jets f (1 + w + w^2, rows, n, nt)."""
    product = f * form.value
    _add_product_rule(product, f, form.slope)
    return product


def _add_product_rule(out: Array, f: Array, slope: Array) -> None:
    """Add f l_h to the gradient of out, then f_h l_h' + l_h f_h' to its Hessian; l_h is slope (w, n, nt)."""
    w = len(slope)
    slope = slope[:, None]
    out[1 : 1 + w] += f[0] * slope
    cross = f[1 : 1 + w, None] * slope
    hessian = out[1 + w :].reshape(cross.shape)
    hessian += cross + cross.swapaxes(0, 1)  # the sum first: symmetric to the last bit


def _distances(splines: Splines, h: Array, index: Array, u: Array) -> tuple[_Linear, _Linear]:
    """Times from the k knots before a sample, the farthest first, and to the k knots after it, the nearest first."""
    k, s = splines.degree, splines.segments
    nearest = np.clip(index, 0, s - 1)
    # (w, w, nt): what each column (first axis) contributes to each length between the 2 k knots (second axis)
    part = (index[:, None] == nearest).astype(float)
    if splines.knots == "clamped":
        part *= index == nearest
    own = part[:, k - 1 : k]
    before = np.cumsum(np.concatenate([u * own, part[:, k - 2 :: -1]], axis=1), axis=1)[:, ::-1]
    after = np.cumsum(np.concatenate([(1 - u) * own, part[:, k:]], axis=1), axis=1)
    near = h[nearest][:, None]
    return _Linear((before * near).sum(axis=0), before), _Linear((after * near).sum(axis=0), after)


def _check(s: int, h: Array, segment: Array, u: Array) -> None:
    if h.shape != (s,):
        raise InputError(f"h has shape {h.shape}; it must be ({s},), one length per segment.")
    bad = np.flatnonzero(~((h > 0) & np.isfinite(h)))
    if bad.size:
        raise InputError(f"h[{bad[0]}] is {h[bad[0]]}; the length of a segment must be a positive number of seconds.")
    if segment.ndim != 1 or segment.shape != u.shape:
        raise InputError(f"segment has shape {segment.shape} and u {u.shape}; both must be (nt,), one per sample.")
    if segment.dtype.kind not in "iu" or np.any((segment < 0) | (segment >= s)):
        raise InputError(f"segment must be integers in 0 .. {s - 1}.")
    if not np.all((u >= 0) & (u <= 1)):
        raise InputError("u must be numbers in [0, 1].")
