"""The spatial slider-crank in one coordinate, by hand: crank angle h, generalized inertia I(h) in closed form, DOP853.

The crank turns about an axis parallel to X through A = (0, a, b), the slider's point C runs on the X axis:

    B = (0, a - r sin h, b + r cos h),   D = y_B^2 + z_B^2,   x_C = sqrt(L^2 - D).

The rod hangs on a ball joint at B and on a Cardan joint at C, whose axis on the slider is parallel to X and whose
axis on the rod is perpendicular to both X and the rod. Its spin about its own axis u is then s = u_x f' with the
angle f of the rod's trace in the YZ plane, s = (x_C / L) N / D with N = y_B z_B' - z_B y_B'. Primes are derivatives
by h. With

    I(h) = J_A + m_s x'^2 + (m_r / 4 + J_t / L^2) (x'^2 + r^2) + J_a s^2

the motion is I h'' + I' h'^2 / 2 = g r sin h (m_c + m_r) / 2 - x' F, F = k (x_D - l) + c dx_D/dt, x_D = x_C + d.

The objectives are integrated along with it: the squares of x_D - x_D0, of its velocity and of its acceleration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin, sqrt

import numpy as np
from scipy.integrate import solve_ivp

START_OF_D = 0.25  # the constant r_D0 of the first objective (m)


@dataclass(frozen=True, slots=True)
class SliderCrank:
    """Data in SI units; without spring unless stiffness and damping are given."""

    crank: float = 0.08
    rod: float = 0.3
    pivot: tuple[float, float] = (0.1, 0.12)  # y and z of A
    masses: tuple[float, float, float] = (0.12, 0.5, 2.0)  # crank, rod, slider
    crank_inertia: float = 1e-4  # about the crank's axis, central
    rod_axial: float = 4e-4
    rod_transverse: float = 4e-3
    offset: float = 0.05  # from C to D along X
    gravity: float = 9.81
    stiffness: float = 0.0
    damping: float = 0.0
    natural_length: float = 0.25
    angle: float = 0.0
    speed: float = 6.0


BENCHMARK = SliderCrank()
SPRING_SLENDER = SliderCrank(stiffness=10.0, damping=1.0)
SPRING_ISOTROPIC = SliderCrank(stiffness=10.0, damping=1.0, rod_axial=4e-3)


@dataclass(frozen=True, slots=True)
class Solution:
    """Crank angle and speed, position, velocity and acceleration of D along X, objectives up to each sample."""

    t: np.ndarray
    angle: np.ndarray
    speed: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    psi: np.ndarray


def _kinetics(data: SliderCrank) -> Callable[[float, float], tuple[float, float, float, float]]:
    """Function of (h, dh/dt) giving d2h/dt2 and position, velocity and acceleration of D."""
    r, L, (a, b), (m_c, m_r, m_s) = data.crank, data.rod, data.pivot, data.masses
    fixed = data.crank_inertia + m_c * r * r / 4
    swing = m_r / 4 + data.rod_transverse / (L * L)
    weight = data.gravity * r * (m_c + m_r) / 2
    k, c, rest, offset, axial = data.stiffness, data.damping, data.natural_length, data.offset, data.rod_axial

    def kinetics(h: float, w: float) -> tuple[float, float, float, float]:
        S, C = sin(h), cos(h)
        lean, lean1 = r * (b * C - a * S), -r * (b * S + a * C)  # lean'' = -lean
        D, D1 = a * a + b * b + r * r + 2 * lean, 2 * lean1
        x = sqrt(L * L - D)
        x1 = -D1 / (2 * x)
        x2 = (lean - x1 * x1) / x
        N = r * r + lean
        s = x * N / (L * D)
        s1 = (x1 * N + x * lean1) / (L * D) - s * D1 / D
        inertia = fixed + m_s * x1 * x1 + swing * (x1 * x1 + r * r) + axial * s * s
        half_slope = (m_s + swing) * x1 * x2 + axial * s * s1
        force = k * (x + offset - rest) + c * x1 * w
        dw = (weight * S - x1 * force - half_slope * w * w) / inertia
        return dw, x + offset, x1 * w, x2 * w * w + x1 * dw

    return kinetics


def equations(data: SliderCrank) -> Callable[[float, np.ndarray], list[float]]:
    """y' = f(t, y) for y = (h, dh/dt, psi1, psi2, psi3)."""
    kinetics = _kinetics(data)

    def rates(_: float, y: np.ndarray) -> list[float]:
        h, w = y[:2].tolist()
        dw, x, v, acceleration = kinetics(h, w)
        return [w, dw, (x - START_OF_D) ** 2, v * v, acceleration * acceleration]

    return rates


def solve(
    data: SliderCrank = BENCHMARK,
    duration: float = 5.0,
    rtol: float = 1e-12,
    atol: float = 1e-12,
    samples: np.ndarray | None = None,
) -> Solution:
    """Simulate; `samples` are instants (s), the end alone if none are given."""
    first = [data.angle, data.speed, 0.0, 0.0, 0.0]
    done = solve_ivp(equations(data), (0.0, duration), first, method="DOP853", rtol=rtol, atol=atol, t_eval=samples)
    if not done.success:
        raise RuntimeError(f"the reference solution stopped: {done.message}")
    states = done.y.T if samples is not None else done.y[:, -1:].T
    times = done.t if samples is not None else done.t[-1:]
    kinetics = _kinetics(data)
    points = np.array([kinetics(h, w)[1:] for h, w in states[:, :2].tolist()])
    return Solution(times, states[:, 0], states[:, 1], points[:, 0], points[:, 1], points[:, 2], states[:, 2:5])
