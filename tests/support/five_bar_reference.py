"""The five-bar linkage from equations derived by hand: two absolute angles, closed-form closure, scipy's DOP853.

Bars A1, 12, 23 and 3B hang between the fixed points A = (0, 0) and B = (1, 0), springs join B with 1 and B with 2.
With e(x) = (cos x, sin x), n(x) = e'(x) and the angles p1..p4 of the bars A1, 12, 23 and B3

    r1 = L1 e1,   r2 = r1 + L2 e2,   r2 + L3 e3 = B + L4 e4.

The last equation gives bars 3 and 4 from r2 alone, so the right half is a force that point 2 feels, linear in the
acceleration of point 2; two equations of moments for p1 and p2 remain. Scalars rather than arrays: at this size
a NumPy call costs more than the arithmetic in it. The objectives are integrated along with the motion:

    psi1 = int |r2 - r20|^2 dt,   psi2 = int |r2'|^2 dt,   psi3 = int |r2''|^2 dt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import atan2, cos, hypot, pi, sin, sqrt

import numpy as np
from scipy.integrate import solve_ivp

START_OF_POINT_2 = (0.5, -2.0)  # the constant r20 of the first objective (m)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: length (m), mass (kg), distance of the centre of mass from its first end (m), central inertia (kg m2).

    offset : of the centre of mass to the left of the axis (m); the twin in Exudyn alone knows it
    """

    length: float
    mass: float
    com: float
    inertia: float
    offset: float = 0.0


def slender(length: float, mass: float) -> Bar:
    """A uniform thin rod, J = m L^2 / 12."""
    return Bar(length, mass, length / 2, mass * length**2 / 12)


OUTER, INNER = slender(sqrt(2), 1.0), slender(sqrt(13) / 2, 1.5)


@dataclass(frozen=True, slots=True)
class FiveBar:
    """Data of the linkage in SI units, and its state at rest: angles at A and at 1 relative to the bar before."""

    a1: Bar = OUTER
    b12: Bar = INNER
    b23: Bar = INNER
    b3: Bar = OUTER  # its first end is B
    ground: float = 1.0
    gravity: float = 9.81
    stiffness: tuple[float, float] = (100.0, 100.0)
    natural_length: tuple[float, float] = (sqrt(5), sqrt(17) / 2)
    angles: tuple[float, float] = (-3 * pi / 4, pi / 4 + atan2(3, 2))


DATA = FiveBar()


@dataclass(frozen=True, slots=True)
class Solution:
    """Point 2 over time, one row per sample, and the objectives up to each sample (columns psi 1..3).

    `state` has the columns p1, p2, p1', p2'.
    """

    t: np.ndarray
    state: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    psi: np.ndarray
    evaluations: int


def closure(data: FiveBar, x: float, y: float) -> tuple[float, float]:
    """Angles of bars 23 and B3 when point 2 is at (x, y), with point 3 to the right of the line from 2 to B."""
    dx, dy = data.ground - x, -y
    gap = hypot(dx, dy)
    along = (gap**2 + data.b23.length**2 - data.b3.length**2) / (2 * gap)
    across = sqrt(data.b23.length**2 - along**2)
    x3 = x + (along * dx + across * dy) / gap
    y3 = y + (along * dy - across * dx) / gap
    return atan2(y3 - y, x3 - x), atan2(y3, x3 - data.ground)


def equations(data: FiveBar) -> Callable[[float, np.ndarray], list[float]]:
    """y' = f(t, y) for y = (p1, p2, p1', p2', psi1, psi2, psi3)."""
    kinetics = _kinetics(data)
    x0, y0 = START_OF_POINT_2

    def rates(_: float, y: np.ndarray) -> list[float]:
        p1, p2, w1, w2 = y[:4].tolist()
        d1, d2, x, z, vx, vy, ax, ay = kinetics(p1, p2, w1, w2)
        return [w1, w2, d1, d2, (x - x0) ** 2 + (z - y0) ** 2, vx * vx + vy * vy, ax * ax + ay * ay]

    return rates


def _kinetics(data: FiveBar) -> Callable[[float, float, float, float], tuple[float, ...]]:
    """Function of (p1, p2, p1', p2') giving p1'', p2'' and position, velocity and acceleration of point 2."""
    L1, L2, L3, L4 = data.a1.length, data.b12.length, data.b23.length, data.b3.length
    c1, c2, c3, c4 = data.a1.com, data.b12.com, data.b23.com, data.b3.com
    m1, m2, m3, m4 = data.a1.mass, data.b12.mass, data.b23.mass, data.b3.mass
    J1 = data.a1.inertia + m1 * c1**2
    J2, J3 = data.b12.inertia, data.b23.inertia
    J4 = data.b3.inertia + m4 * c4**2
    M11, M22 = J1 + m2 * L1**2, J2 + m2 * c2**2
    b, g = data.ground, data.gravity
    (k1, k2), (l1, l2) = data.stiffness, data.natural_length

    def kinetics(p1: float, p2: float, w1: float, w2: float) -> tuple[float, ...]:
        C1, S1, C2, S2 = cos(p1), sin(p1), cos(p2), sin(p2)
        x1, y1 = L1 * C1, L1 * S1
        x, y = x1 + L2 * C2, y1 + L2 * S2
        vx, vy = -w1 * y1 - w2 * L2 * S2, w1 * x1 + w2 * L2 * C2
        # the part of point 2's acceleration that the angular accelerations do not explain
        bx, by = -w1 * w1 * x1 - w2 * w2 * L2 * C2, -w1 * w1 * y1 - w2 * w2 * L2 * S2

        # where point 3 is: the closure as above, directions instead of angles
        dx, dy = b - x, -y
        gap2 = dx * dx + dy * dy
        along = (gap2 + L3 * L3 - L4 * L4) / (2 * gap2)
        across = sqrt(L3 * L3 / gap2 - along * along)
        sx, sy = along * dx + across * dy, along * dy - across * dx
        C3, S3, C4, S4 = sx / L3, sy / L3, (x + sx - b) / L4, (y + sy) / L4
        s, c = C3 * S4 - S3 * C4, C3 * C4 + S3 * S4

        # w3 = u . v2 and w4 = q . v2, and what their derivatives have besides u . a2 and q . a2
        ux, uy, qx, qy = -C4 / (L3 * s), -S4 / (L3 * s), -C3 / (L4 * s), -S3 / (L4 * s)
        w3, w4 = ux * vx + uy * vy, qx * vx + qy * vy
        f3, f4 = L3 * w3 * w3, L4 * w4 * w4
        e3, e4 = (f3 * c - f4) / (L3 * s), (f3 - f4 * c) / (L4 * s)

        # the right half seen from point 2: force = N a2 + r. Columns of G move the centre of bar 23 with point 2
        n3x, n3y = -c3 * S3, c3 * C3
        Gxx, Gxy, Gyx, Gyy = 1 + n3x * ux, n3x * uy, n3y * ux, 1 + n3y * uy
        hx, hy = n3x * e3 - c3 * w3 * w3 * C3, n3y * e3 - c3 * w3 * w3 * S3 + g
        Nxx = m3 * (Gxx * Gxx + Gyx * Gyx) + J3 * ux * ux + J4 * qx * qx
        Nxy = m3 * (Gxx * Gxy + Gyx * Gyy) + J3 * ux * uy + J4 * qx * qy
        Nyy = m3 * (Gxy * Gxy + Gyy * Gyy) + J3 * uy * uy + J4 * qy * qy
        moment = J4 * e4 + m4 * g * c4 * C4
        rx = m3 * (Gxx * hx + Gyx * hy) + J3 * e3 * ux + moment * qx
        ry = m3 * (Gxy * hx + Gyy * hy) + J3 * e3 * uy + moment * qy

        # springs: F = k (l - l0) towards B
        l = sqrt(gap2)  # noqa: E741
        pull2 = k2 * (1 - l2 / l)
        rx, ry = rx - pull2 * dx, ry - pull2 * dy
        l = sqrt((b - x1) ** 2 + y1 * y1)  # noqa: E741
        pull1 = k1 * (1 - l1 / l)

        # moments about A and about 1: columns of the Jacobian of point 2 are (-y1, x1) and L2 n2
        rx, ry = rx + Nxx * bx + Nxy * by, ry + Nxy * bx + Nyy * by
        a, d = -L2 * S2, L2 * C2
        N1x, N1y, N2x, N2y = Nxy * x1 - Nxx * y1, Nyy * x1 - Nxy * y1, Nxx * a + Nxy * d, Nxy * a + Nyy * d
        turn, lag = m2 * L1 * c2 * (C1 * C2 + S1 * S2), m2 * L1 * c2 * (S1 * C2 - C1 * S2)
        A11 = M11 - N1x * y1 + N1y * x1
        A12 = turn + N1x * a + N1y * d
        A22 = M22 + N2x * a + N2y * d
        Q1 = pull1 * (-(b - x1) * y1 - y1 * x1) - g * (m1 * c1 + m2 * L1) * C1 - lag * w2 * w2 + rx * y1 - ry * x1
        Q2 = -g * m2 * c2 * C2 + lag * w1 * w1 - rx * a - ry * d
        det = A11 * A22 - A12 * A12
        d1, d2 = (A22 * Q1 - A12 * Q2) / det, (A11 * Q2 - A12 * Q1) / det
        return d1, d2, x, y, vx, vy, bx - d1 * y1 + d2 * a, by + d1 * x1 + d2 * d

    return kinetics


def start(data: FiveBar) -> list[float]:
    """The state at rest at t = 0."""
    first, second = data.angles
    return [first, first + second, 0.0, 0.0, 0.0, 0.0, 0.0]


def solve(
    duration: float = 5.0,
    rtol: float = 1e-12,
    atol: float = 1e-12,
    samples: np.ndarray | None = None,
    data: FiveBar = DATA,
) -> Solution:
    """Simulate; `samples` are instants (s), the end alone if none are given (the quickest)."""
    done = solve_ivp(
        equations(data), (0.0, duration), start(data), method="DOP853", rtol=rtol, atol=atol, t_eval=samples
    )
    if not done.success:
        raise RuntimeError(f"the reference solution stopped: {done.message}")
    states = done.y.T if samples is not None else done.y[:, -1:].T
    kinetics = _kinetics(data)
    points = np.array([kinetics(*state[:4])[2:] for state in states.tolist()])
    times = done.t if samples is not None else done.t[-1:]
    return Solution(times, states[:, :4], points[:, 0:2], points[:, 2:4], points[:, 4:6], states[:, 4:7], done.nfev)


def energy(data: FiveBar, p1: float, p2: float, w1: float, w2: float) -> float:
    """Kinetic, gravitational and elastic energy (J), summed bar by bar from points and speeds."""
    e1, e2 = np.array([cos(p1), sin(p1)]), np.array([cos(p2), sin(p2)])
    r1 = data.a1.length * e1
    r2 = r1 + data.b12.length * e2
    p3, p4 = closure(data, *r2)
    e3, e4 = np.array([cos(p3), sin(p3)]), np.array([cos(p4), sin(p4)])
    normal = np.array([[0.0, -1.0], [1.0, 0.0]])
    v1 = w1 * data.a1.length * (normal @ e1)
    v2 = v1 + w2 * data.b12.length * (normal @ e2)
    w3, w4 = np.linalg.solve(np.column_stack([data.b23.length * (normal @ e3), -data.b3.length * (normal @ e4)]), -v2)
    total = 0.0
    for bar, origin, speed, e, w in (
        (data.a1, np.zeros(2), np.zeros(2), e1, w1),
        (data.b12, r1, v1, e2, w2),
        (data.b23, r2, v2, e3, w3),
        (data.b3, np.array([data.ground, 0.0]), np.zeros(2), e4, w4),
    ):
        v = speed + w * bar.com * (normal @ e)
        total += bar.mass * (v @ v) / 2 + bar.inertia * w**2 / 2 + bar.mass * data.gravity * (origin + bar.com * e)[1]
    for k, rest, r in zip(data.stiffness, data.natural_length, (r1, r2), strict=True):
        total += k * (hypot(data.ground - r[0], r[1]) - rest) ** 2 / 2
    return float(total)
