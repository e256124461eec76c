"""What lies between two states of a march: polynomials on the tangent of the first, so that Euler parameters keep their
length.

    q(u) = Exp(d(u)) q0,      v(u) = J(d) d'(u) / h,      u = (t - t0) / h,  J = 1 + c1 skew(d) + c2 skew(d)^2

d is the polynomial with d(0) = 0, d(1) = Log(q1 q0^-1) and, at both ends, the derivatives that v (degree 3) and a
(degree 5) ask for; of plain coordinates J = 1. v is the derivative of q in time, exactly. Errors beside a smooth
motion: h^4 in q and h^3 in v for degree 3, h^6 and h^5 for degree 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.model.columns import STEP
from mechgrad.model.layout import Layout
from mechgrad.model.primitives.frames import quaternion_product, rotation_vector_to_quaternion
from mechgrad.steps.rotations import balls_between, small_turn
from mechgrad.typing import Array, FloatArray

# coefficients of u, u^2, .. u^5, of h v0, h^2 a0, d(1), d'(1), d''(1)
QUINTIC = np.array(
    [[1, 0, -6, 8, -3], [0, 0.5, -1.5, 1.5, -0.5], [0, 0, 10, -15, 6], [0, 0, -4, 7, -3], [0, 0, 0.5, -1, 0.5]]
)
CUBIC = np.array([[1, -2, 1, 0, 0], [0, 0, 0, 0, 0], [0, 3, -2, 0, 0], [0, -1, 1, 0, 0], [0, 0, 0, 0, 0]])
BASES = {3: CUBIC, 5: QUINTIC}


class Ends(NamedTuple):
    """States before and after the steps that instants lie in, a row each: q (S, n_q), v and a (S, n_v)."""

    q0: Array
    v0: Array
    a0: Array
    q1: Array
    v1: Array
    a1: Array


class EndPartials(NamedTuple):
    """Partials of q and v between the ends by those of `Ends`: of plain coordinates (6, S), of balls (6, S, balls, 3,
    3) along the tangent, row by column."""

    plain_q: FloatArray
    plain_v: FloatArray
    ball_q: FloatArray
    ball_v: FloatArray


def between(layout: Layout, ends: Ends, h: FloatArray, u: FloatArray, degree: int) -> tuple[Array, Array]:
    """q (S, n_q) and v (S, n_v) at shares u (S,) of steps of lengths h (S,)."""
    H, slope = _basis(u, degree)
    q, v = np.array(ends.q0), np.zeros_like(ends.v0)
    at, there = layout.plain_v, layout.plain_q
    given = _plain(ends, layout, h)
    q[:, there] = ends.q0[:, there] + np.einsum("ks,ksi->si", H, given)
    v[:, at] = np.einsum("ks,ksi->si", slope, given) / h[:, None]
    if layout.ball_q.size:
        turned = balls_between(_ball_ends(ends, layout), h, H, slope)
        q[:, layout.ball_q], v[:, layout.ball_v] = turned
    return q, v


def end_partials(layout: Layout, ends: Ends, h: FloatArray, u: FloatArray, degree: int) -> EndPartials:
    """How q and v between the ends change with these; of balls by complex steps, exact to rounding."""
    H, slope = _basis(u, degree)
    lengths = np.stack([np.ones_like(h), h, h * h])  # of d, d', d''
    plain_q = np.stack([1.0 - H[2], H[0] * h, H[1] * h * h, H[2], H[3] * h, H[4] * h * h])
    plain_v = np.stack([-slope[2], *(slope[k] * lengths[i] for k, i in ((0, 1), (1, 2), (2, 0), (3, 1), (4, 2)))]) / h
    balls = len(layout.ball_q)
    ball_q, ball_v = (np.zeros((6, len(h), balls, 3, 3)) for _ in range(2))
    if balls:
        given: list[Array] = [x + 0j for x in _ball_ends(ends, layout)]
        here = balls_between([x.real for x in given], h, H, slope)[0]
        for k in range(6):
            if degree == 3 and k in (2, 5):
                continue
            for j in range(3):
                moved, step = list(given), 1j * STEP * np.eye(3)[j]
                if k in (0, 3):
                    moved[k] = quaternion_product(rotation_vector_to_quaternion(step), given[k])
                else:
                    moved[k] = given[k] + step
                e, w = balls_between(moved, h, H, slope)
                ball_q[k, :, :, :, j] = small_turn(here, e.imag / STEP)
                ball_v[k, :, :, :, j] = w.imag / STEP
    return EndPartials(plain_q, plain_v, ball_q, ball_v)


def _basis(u: FloatArray, degree: int) -> tuple[FloatArray, FloatArray]:
    """Values and slopes (5, S) of the polynomials that the ends are multiplied with."""
    powers = np.arange(1, 6)
    coefficients = BASES[degree]
    return coefficients @ u ** powers[:, None], coefficients @ (powers[:, None] * u ** (powers[:, None] - 1))


def _plain(ends: Ends, layout: Layout, h: FloatArray) -> Array:
    """h v0, h^2 a0, q1 - q0, h v1, h^2 a1 of plain coordinates (5, S, k)."""
    at, there, h = layout.plain_v, layout.plain_q, h[:, None]
    moved = ends.q1[:, there] - ends.q0[:, there]
    return np.stack([h * ends.v0[:, at], h * h * ends.a0[:, at], moved, h * ends.v1[:, at], h * h * ends.a1[:, at]])


def _ball_ends(ends: Ends, layout: Layout) -> list[Array]:
    e, w = layout.ball_q, layout.ball_v
    return [ends.q0[:, e], ends.v0[:, w], ends.a0[:, w], ends.q1[:, e], ends.v1[:, w], ends.a1[:, w]]
