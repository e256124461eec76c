"""The equations of motion and the constraint rows in one state, with all partials, in real and in complex numbers.

    r(q, v, a, lam, t) = M a + h - Q + Gamma^T lam,          second = second rates of the rows

K = r_q, C = r_v, M and the rates by q are analytic, in complex numbers as well, so that one complex step differentiates
them once more, exactly. Partials of second rates are complex steps themselves. To differentiate these,

    second = Gamma a + B(q, v, t)       B: a polynomial of second degree in v

second_v is a difference that is exact for such polynomials, the part of a the difference of two analytic rates, and
B_q, which is there only where a mechanism with constraints moves, a difference of order eight of complex steps, by the
best of several lengths: its error is 1e-13 or so of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mechgrad.dynamics.kernels import states as _kernels
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.tolerances import COMPLEX_STEP as STEP
from mechgrad.typing import Array, FloatArray

EIGHTH_ORDER = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # central differences: nodes and weights
LENGTHS = (0.08, 0.02, 0.005, 1.25e-3)  # of such differences [rad or m]
NOTHING = 1e-11  # of squares of velocities and their slopes: smaller is rounding
TRUSTED = 1e-8  # relative: how well the two best lengths must agree


@dataclass(frozen=True)
class Instant:
    """A state of one instant: q (n_q,), v, a (n_v,), multipliers lam (m,), t; complex where it carries slopes."""

    q: Array
    v: Array
    a: Array
    lam: Array
    t: float


@dataclass(frozen=True)
class Partials:
    """In one state: r (n,), K = r_q, C = r_v, M (n, n); of the m rows gamma, rate_q, second_q, second_v (m, n);
    turning (n, n): d(displacement)/dt = dv + turning . displacement.

    Turns of balls are displacements in parent axes, which go with the ball: theta' = d omega + omega x theta.
    """

    r: Array
    K: Array
    C: Array
    M: Array
    gamma: Array
    rate_q: Array
    second_q: Array
    second_v: Array
    turning: Array


def equations(system: System, now: Instant) -> tuple[Array, Array, Array, Array]:
    """r, K, C, M in the numbers of the system."""
    n, dtype = system.model.n_v, system.dtype
    r: Array = np.zeros((1, n), dtype)
    parts: list[Array] = [np.zeros((1, n * n), dtype) for _ in range(3)]
    arrays: list[Array] = [np.array(x[None], dtype, order="C") for x in (now.q, now.v, now.a, now.lam)]
    bad = _kernels.linearised_states(system.T, *arrays, np.array([now.t]), r, *parts)
    system.users.raise_pending()
    if bad >= 0 or not np.isfinite(r).all():
        raise InputError(
            f"the forces on the state of model {system.model.name!r} at t = {now.t:.6g} s are not finite numbers. Look "
            "at the force elements there, or linearise about another state."
        )
    K, C, M = (x.reshape(n, n) for x in parts)
    return r[0], K, C, M


def partials(system: System, twin: System, now: Instant) -> Partials:
    """Of a real state. twin: the same system in complex numbers."""
    model = system.model
    r, K, C, M = equations(system, now)
    rows = system.constraints(now.q[None], now.v[None], now.a[None], now.t)
    second_q, second_v = _second_partials(twin, now)
    return Partials(r, K, C, M, rows.J[0], rows.J_rate[0], second_q, second_v,
                    turning(model, now.v))  # fmt: skip


def moved_partials(base: Partials, moved: System, now: Instant) -> Partials:
    """Partials whose imaginary parts are slopes of size STEP.

    base : those of the real state;   moved : a complex system, with a step along a parameter or without
    now : the state with its slopes as imaginary parts
    """
    r, K, C, M = equations(moved, now)
    rows = moved.constraints(now.q[None], now.v[None], now.a[None], now.t)
    dq, dv = _slopes_of_second_partials(moved, now)
    second_q, second_v = base.second_q + 1j * STEP * dq, base.second_v + 1j * STEP * dv
    return Partials(r, K, C, M, rows.J[0], rows.J_rate[0], second_q, second_v, turning(moved.model, now.v))


def turning(model: Model, v: Array) -> Array:
    """How displacements in parent axes turn with the balls they belong to, (n_v, n_v)."""
    W: Array = np.zeros((model.n_v, model.n_v), v.dtype)
    for ball in model.layout.ball_v:
        x, y, z = v[ball]
        W[np.ix_(ball, ball)] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    return W


def _second_partials(twin: System, now: Instant) -> tuple[FloatArray, FloatArray]:
    """second_q and second_v (m, n) of a real state, by complex steps."""
    model, n, m = twin.model, twin.model.n_v, twin.n_constraints
    if not m:
        return np.zeros((0, n)), np.zeros((0, n))
    steps = 1j * STEP * np.eye(n)
    q, v, a = (np.tile(np.asarray(x, complex), (n, 1)) for x in (now.q, now.v, now.a))
    by_q = twin.constraints(np.asarray(model.integrate(q, steps)), v, a, now.t).seconds
    by_v = twin.constraints(q, v + steps, a, now.t).seconds
    return by_q.imag.T / STEP, by_v.imag.T / STEP


def _slopes_of_second_partials(moved: System, now: Instant) -> tuple[FloatArray, FloatArray]:
    """What second_q and second_v (m, n) change by along the imaginary parts of a system and a state."""
    n, m = moved.model.n_v, moved.n_constraints
    if not m:
        return np.zeros((0, n)), np.zeros((0, n))
    q, v, a = (np.asarray(x, complex)[None] for x in (now.q, now.v, now.a))
    still = np.zeros_like(v)
    many_q, many_v, many_still = (np.tile(x, (n, 1)) for x in (q, v, still))
    ahead, behind = (
        moved.constraints(many_q, many_v + sign * np.eye(n), many_still, now.t).seconds for sign in (1.0, -1.0)
    )
    by_v = (0.5 * (ahead - behind)).imag.T / STEP
    by_q = moved.constraints(q, a, still, now.t).J_rate[0] - moved.constraints(q, still, still, now.t).J_rate[0]
    found = by_q.imag / STEP
    if np.any(now.v != 0.0):
        found = found + _moving_part(moved, now)
    return found, by_v


def _moving_part(moved: System, now: Instant) -> FloatArray:
    """d(B_q) (m, n), along the imaginary parts of a system and a state."""
    model, n = moved.model, moved.model.n_v
    still, speed = np.zeros((n, n)), float(np.abs(now.v.real).max())
    change = float(max(np.abs(x.imag).max() for x in (now.q, now.v))) / STEP
    q, v = (np.tile(np.asarray(x, complex), (n, 1)) for x in (now.q, now.v))

    def at(s: float) -> FloatArray:
        there = np.asarray(model.integrate(q, s * np.eye(n)))
        return np.asarray(moved.constraints(there, v, still, now.t).seconds.imag.T / STEP)

    return smooth_slope(at, 1.0, f"constraints of model {model.name!r}", NOTHING * speed * (speed + change))


def smooth_slope(function: Callable[[float], FloatArray], size: float, what: str, nothing: float = 0.0) -> FloatArray:
    """d(function)/ds at s = 0, of a smooth function, by the best of some differences of order eight; raise where these
    disagree.

    size : steps are divided by it;   nothing : differences of that size are rounding
    """
    found: list[FloatArray] = []
    largest = 0.0
    for length in LENGTHS:
        h, total = length / size, np.zeros(())
        for k, weight in EIGHTH_ORDER:
            ahead, behind = function(k * h), function(-k * h)
            total = total + weight / h * (ahead - behind)
            largest = max(largest, float(np.abs(ahead).max(initial=0.0)))
        found.append(np.asarray(total))
    misses = [float(np.abs(x - y).max(initial=0.0)) for x, y in pairwise(found)]
    best = int(np.argmin(misses))
    if not misses[best] <= max(TRUSTED * largest * size, nothing):
        raise InputError(
            f"{what} change too abruptly about this state for the derivative of its linearisation: differences agree "
            f"to {misses[best]:.1g} only. Linearise about a state further from where they do."
        )
    return found[best]
