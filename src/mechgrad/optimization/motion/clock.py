"""How normalised time xi in [0, 1] becomes time: a given duration, a free one, or free lengths of all segments.

A clock gives the basis of a spline in real time as a function of its unknowns theta (none, T, or h_1 .. h_s),

    z^r = d^r q / dt^r = sum_j B^r_j(theta) P_j        r = 0 .. 3,

with first and second derivatives of B^r_j by theta. At a sample only a few of the theta act: `which` names them (-1:
none). For a duration T, B^r = T^-r d^r B / d xi^r.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.motion.spacing import spaced_basis, where
from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array

ORDERS = 4  # q, v, a and jerk


@dataclass(frozen=True, eq=False)
class TimeBasis:
    """A spline's basis at nt samples: w functions act at each, and L of the clock's unknowns.

    Attributes
    ----------
    B, B_t, B_tt : (4, nt, w), (4, nt, w, L), (4, nt, w, L, L)
    which : (nt, L)
    omega, omega_t : (nt,), (nt, L)
        Weights of an integral over time by the grid's rule, linear in theta.
    duration : float [s]
    """

    B: Array
    B_t: Array
    B_tt: Array
    which: Array
    omega: Array
    omega_t: Array
    duration: float


@dataclass(frozen=True, eq=False)
class Instants:
    """Samples of a spline in normalised time, and the rule by which integrals are taken over them."""

    splines: Splines
    xi: Array
    rule: str = "trapezoid"  # or "midpoint": the middles of equal parts

    @cached_property
    def basis(self) -> Array:
        """d^r B / d xi^r, (4, nt, w)."""
        return self.splines.basis(self.xi, ORDERS - 1)[0]

    @cached_property
    def first(self) -> Array:
        """The first control point that acts, (nt,)."""
        return self.splines.basis(self.xi, 0)[1]

    @property
    def gaps(self) -> Array:
        """Lengths in xi from each sample to the next."""
        return np.diff(self.xi)

    def weights(self) -> Array:
        """For an integral over xi."""
        if self.rule == "midpoint":
            return np.full(self.xi.size, 1.0 / self.xi.size)
        gaps = self.gaps
        return np.asarray(np.concatenate([gaps, [0.0]]) + np.concatenate([[0.0], gaps])) / 2


class Clock(ABC):
    """Unknowns of time, their bounds, and what they do to a spline."""

    names: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    @property
    @abstractmethod
    def start(self) -> Array:
        """Where the search begins."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the unknowns."""

    @abstractmethod
    def duration(self, theta: Array) -> float:
        """T [s]."""

    @abstractmethod
    def duration_gradient(self) -> Array:
        """dT / dtheta, constant."""

    @abstractmethod
    def at(self, theta: Array, instants: Instants) -> TimeBasis:
        """The basis in real time."""

    @abstractmethod
    def times(self, theta: Array, xi: Array) -> Array:
        """t(xi) [s]."""

    @abstractmethod
    def of_duration(self, duration: float) -> Array:
        """The unknowns of a motion in equal segments with this duration."""


def _scaled(instants: Instants, T: float, free: bool) -> TimeBasis:
    """The basis of equal segments for a duration T."""
    raw = instants.basis
    nt = raw.shape[1]
    r = np.arange(ORDERS)[:, None, None]
    L = int(free)
    B = raw * T ** (-r.astype(float))
    B_t = (B * (-r / T))[..., None][..., :L]
    B_tt = (B * (r * (r + 1) / T**2))[..., None, None][..., :L, :L]
    omega = instants.weights()
    return TimeBasis(B, B_t, B_tt, np.zeros((nt, L), int), omega * T, omega[:, None][:, :L], T)


@final
class GivenDuration(Clock):
    """T is known."""

    def __init__(self, duration: float) -> None:
        if not 0 < duration < np.inf:
            raise InputError(f"duration is {duration}; it must be positive [s], or Free(lower, upper).")
        self._T = float(duration)

    @property
    def start(self) -> Array:
        return np.zeros(0)

    @property
    def bounds(self) -> tuple[Array, Array]:
        return np.zeros(0), np.zeros(0)

    def duration(self, theta: Array) -> float:
        return self._T

    def duration_gradient(self) -> Array:
        return np.zeros(0)

    def at(self, theta: Array, instants: Instants) -> TimeBasis:
        return _scaled(instants, self._T, False)

    def times(self, theta: Array, xi: Array) -> Array:
        return np.asarray(xi * self._T)

    def of_duration(self, duration: float) -> Array:
        return np.zeros(0)


@final
class FreeDuration(Clock):
    """T is an unknown."""

    names = ("duration",)

    def __init__(self, lower: float, upper: float, start: float) -> None:
        self._bounds, self._start = (lower, upper), start

    @property
    def start(self) -> Array:
        return np.array([self._start])

    @property
    def bounds(self) -> tuple[Array, Array]:
        return np.array([self._bounds[0]]), np.array([self._bounds[1]])

    def duration(self, theta: Array) -> float:
        return float(theta[0])

    def duration_gradient(self) -> Array:
        return np.ones(1)

    def at(self, theta: Array, instants: Instants) -> TimeBasis:
        return _scaled(instants, float(theta[0]), True)

    def times(self, theta: Array, xi: Array) -> Array:
        return np.asarray(xi * theta[0])

    def of_duration(self, duration: float) -> Array:
        return np.array([duration])


@final
class FreeKnots(Clock):
    """The lengths of all segments are unknowns; a grid of normalised time keeps its place within each segment."""

    def __init__(self, segments: int, lower: float, upper: float, start: float) -> None:
        self._s, self._bounds, self._start = segments, (lower, upper), start
        self.names = tuple(f"segment {k + 1}" for k in range(segments))

    @property
    def start(self) -> Array:
        return np.full(self._s, self._start / self._s)

    @property
    def bounds(self) -> tuple[Array, Array]:
        return np.full(self._s, self._bounds[0] / self._s), np.full(self._s, self._bounds[1] / self._s)

    def duration(self, theta: Array) -> float:
        return float(np.sum(theta))

    def duration_gradient(self) -> Array:
        return np.ones(self._s)

    def at(self, theta: Array, instants: Instants) -> TimeBasis:
        segment, u = where(instants.splines, instants.xi)
        b = spaced_basis(instants.splines, theta, segment, u, ORDERS - 1)
        share = self._shares(instants, segment)
        local = np.take_along_axis(share, np.maximum(b.lengths, 0), axis=1) * (b.lengths >= 0)
        return TimeBasis(b.values, b.by_h, b.by_hh, b.lengths, share @ theta, local, float(np.sum(theta)))

    def _shares(self, instants: Instants, segment: Array) -> Array:
        """d omega / d h, (nt, s): which part of which segment a sample stands for."""
        nt, s = instants.xi.size, self._s
        share = np.zeros((nt, s))
        if instants.rule == "midpoint":
            share[np.arange(nt), segment] = s / nt
            return share
        half = instants.gaps * s / 2  # samples of integrals include all knots: a gap lies in one segment
        np.add.at(share, (np.arange(nt - 1), segment[:-1]), half)
        np.add.at(share, (np.arange(1, nt), segment[:-1]), half)
        return share

    def times(self, theta: Array, xi: Array) -> Array:
        knots = np.concatenate([[0.0], np.cumsum(theta)])
        return np.asarray(np.interp(xi * self._s, np.arange(self._s + 1), knots))

    def of_duration(self, duration: float) -> Array:
        return np.full(self._s, duration / self._s)
