"""Splines for ball and floating joints: three numbers per ball about a reference attitude.

Euler parameters of a turn by phi about n, relative to the reference, are divided stereographically:

    s = n tan(phi / 4)        e = (1 - s.s, 2 s) e_ref        (of any length: R(e) = R(e / |e|))

so that, in parent axes, with u = (1 - s.s, 2 s) and n = u.u = (1 + s.s)^2,

    w = 2 vec(u' u*) / n        w' = (2 vec(u'' u*) - n' w) / n
    w'' = (2 vec(u''' u* + u'' u'*) - 2 n' w' - n'' w) / n

u is a polynomial of second degree in s: derivatives of everything by (s, s', s'', s''') are products and one quotient.
The map is regular for every finite s, that is for turns of less than a full circle either way from the reference.
Derivatives of a mechanism by q are along small rotations in parent axes, w = B(s) s', so L_s = B^T L_q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.primitives.frames import quaternion_product
from mechgrad.optimization.motion.measures.motion_samples import LEVELS, Samples
from mechgrad.typing import Array, ArrayLike, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

ORDERS = len(LEVELS)
N = 3 * ORDERS
FARTHEST = 4.0  # of |s|: turns beyond 304 degrees from the reference are asked for with another reference


class Jet:
    """Numbers with gradient (.., N) and, if asked for, Hessian (.., N, N) by s, s', s'', s'''."""

    __slots__ = ("hessian", "slope", "value")

    def __init__(self, value: Array, slope: Array, hessian: Array | None) -> None:
        self.value, self.slope, self.hessian = value, slope, hessian

    def __add__(self, other: Jet) -> Jet:
        H = None if self.hessian is None or other.hessian is None else self.hessian + other.hessian
        return Jet(self.value + other.value, self.slope + other.slope, H)

    def times(self, factor: float) -> Jet:
        """The multiple."""
        return Jet(factor * self.value, factor * self.slope, None if self.hessian is None else factor * self.hessian)

    def __sub__(self, other: Jet) -> Jet:
        return self + other.times(-1.0)

    def __mul__(self, other: Jet) -> Jet:
        x, y = self.value[..., None], other.value[..., None]
        H = None
        if self.hessian is not None and other.hessian is not None:
            cross = self.slope[..., :, None] * other.slope[..., None, :]
            H = self.hessian * y[..., None] + other.hessian * x[..., None] + cross + cross.swapaxes(-1, -2)
        return Jet(self.value * other.value, self.slope * y + other.slope * x, H)

    def inverse(self) -> Jet:
        """1 / x."""
        y = 1.0 / self.value
        slope = -self.slope * (y * y)[..., None]
        H = None
        if self.hessian is not None:
            outer = self.slope[..., :, None] * self.slope[..., None, :]
            H = 2 * outer * (y**3)[..., None, None] - self.hessian * (y * y)[..., None, None]
        return Jet(y, slope, H)


def _product(p: Sequence[Jet], r: Sequence[Jet]) -> list[Jet]:
    """Vector part of p r*."""
    out = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out.append(r[0] * p[i + 1] - p[0] * r[i + 1] + (r[j + 1] * p[k + 1] - r[k + 1] * p[j + 1]))
    return out


def spin_jets(z: Array, second: bool) -> list[list[Jet]]:
    """w, w', w'' (three components each) of s, s', s'', s''' (4, .., 3)."""
    shape, dtype = z.shape[1:-1], z.dtype
    zero = np.zeros((*shape, N, N), dtype) if second else None

    def variable(r: int, i: int) -> Jet:
        slope: Array = np.zeros((*shape, N), dtype)
        slope[..., 3 * r + i] = 1.0
        return Jet(z[r][..., i], slope, zero)

    x = [[variable(r, i) for i in range(3)] for r in range(ORDERS)]

    def dot(a: Sequence[Jet], b: Sequence[Jet]) -> Jet:
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

    one = Jet(np.ones(shape, dtype), np.zeros((*shape, N), dtype), zero)
    heads = [
        one - dot(x[0], x[0]),
        dot(x[0], x[1]).times(-2.0),
        (dot(x[1], x[1]) + dot(x[0], x[2])).times(-2.0),
        (dot(x[1], x[2]).times(3.0) + dot(x[0], x[3])).times(-2.0),
    ]
    u = [[heads[r], *(x[r][i].times(2.0) for i in range(3))] for r in range(ORDERS)]

    def four(a: Sequence[Jet], b: Sequence[Jet]) -> Jet:
        return a[0] * b[0] + dot(a[1:], b[1:])

    over = four(u[0], u[0]).inverse()
    n1, n2 = four(u[0], u[1]).times(2.0), (four(u[1], u[1]) + four(u[0], u[2])).times(2.0)
    w = [c.times(2.0) * over for c in _product(u[1], u[0])]
    a = [(c.times(2.0) - n1 * w[i]) * over for i, c in enumerate(_product(u[2], u[0]))]
    thirds = zip(_product(u[3], u[0]), _product(u[2], u[1]), strict=True)
    j = [((c + d).times(2.0) - n1.times(2.0) * a[i] - n2 * w[i]) * over for i, (c, d) in enumerate(thirds)]
    return [w, a, j]


@final
@dataclass(frozen=True, eq=False)
class Attitudes:
    """Balls of a model as profiles about a reference configuration (n_q,).

    `needed` tells whether there are any; the columns of a ball's three profiles are those of its three velocities.
    """

    model: Model
    reference: Array

    @staticmethod
    def of(model: Model, reference: ArrayLike | None = None) -> Attitudes:
        """About the reference, or about the neutral configuration."""
        q = np.asarray(model.neutral() if reference is None else reference, float)
        if q.shape != (model.n_q,) or not np.all(np.isfinite(q)):
            raise InputError(
                f"reference has shape {q.shape}; give {model.n_q} finite numbers, in the order of model.q_names."
            )
        found = Attitudes(model, q.copy())
        for e in q[found.q_columns]:
            if not np.any(e):
                raise InputError("reference: four Euler parameters are all zero; give the attitude of every ball.")
        return found

    @property
    def q_columns(self) -> IntArray:
        """(balls, 4)"""
        return self.model.layout.ball_q.reshape(-1, 4)

    @property
    def columns(self) -> IntArray:
        """(balls, 3)"""
        return self.model.layout.ball_v.reshape(-1, 3)

    @property
    def needed(self) -> bool:
        """Whether the model has Euler parameters."""
        return self.model.n_q != self.model.n_v

    @cached_property
    def _references(self) -> Array:
        e = self.reference[self.q_columns]
        return np.asarray(e / np.linalg.norm(e, axis=1, keepdims=True))

    def profiles(self, q: Array, label: str) -> Array:
        """Values (n_v,) of the profiles for a configuration (n_q,); the sign of Euler parameters is the way round."""
        out = np.zeros(self.model.n_v)
        layout = self.model.layout
        out[layout.plain_v] = q[layout.plain_q]
        for e, ref, columns in zip(q[self.q_columns], self._references, self.columns, strict=True):
            size = np.linalg.norm(e)
            if size == 0:
                raise InputError(f"{label}: four Euler parameters are all zero.")
            u = quaternion_product(e / size, ref * (1, -1, -1, -1))
            if u[0] <= -1 + 2 / (1 + FARTHEST**2):
                turn = np.degrees(2 * np.arccos(np.clip(u[0], -1, 1)))
                name = self.model.v_names[columns[0]]
                raise InputError(
                    f"{label}: the ball of {name!r} is to turn by {turn:.0f} degrees from its reference attitude, and "
                    "the splines of a ball reach less than 304 of them. Change the sign of these Euler parameters to "
                    "go the other way round, or give MotionProblem(..., reference=q), q in the middle of the motion."
                )
            out[columns] = u[1:] / (1 + u[0])
        return out

    def configuration(self, p: Array) -> Array:
        """q (nt, n_q) of profiles (nt, n_v); unit Euler parameters."""
        layout = self.model.layout
        q: Array = np.zeros((len(p), self.model.n_q), p.dtype)
        q[:, layout.plain_q] = p[:, layout.plain_v]
        for ref, columns, at in zip(self._references, self.columns, self.q_columns, strict=True):
            s = p[:, columns]
            square = np.sum(s * s, axis=1, keepdims=True)
            u = np.concatenate([1 - square, 2 * s], axis=1) / (1 + square)
            q[:, at] = quaternion_product(u, np.broadcast_to(ref, u.shape))
        return q

    def samples(self, s: Samples) -> Samples:
        """The motion of the mechanism for samples of the profiles."""
        if not self.needed:
            return s
        return s.remember("motion of balls", lambda: self._samples(s))

    def _samples(self, s: Samples) -> Samples:
        z = s.z.copy()
        for level, jets in enumerate(self.jets(s, False), start=1):
            for i in range(3):
                z[level][:, self.columns[:, i]] = jets[i].value
        return Samples(z, s.n_v, s.xi, self.configuration(s.z[0][:, : s.n_v]))

    def jets(self, s: Samples, second: bool) -> list[list[Jet]]:
        """w, w', w'' of all balls, (nt, balls)."""
        return s.remember(("spins", second), lambda: spin_jets(s.z[:, :, self.columns], second))
