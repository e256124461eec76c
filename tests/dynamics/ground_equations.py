"""What surfaces push, in plain NumPy: the equations of the docstrings, closest and lowest points by scipy's search.

Nothing is taken from the library but the numbers of the elements: heights are written down here once more.
"""

from __future__ import annotations

import law_equations as eq
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize, minimize_scalar


def height(surface, x, y):
    """z of a surface."""
    kind = type(surface).__name__
    if kind == "Step":
        u = np.clip((x - surface.start) / surface.width, 0.0, 1.0)
        return surface.height * (10 * u**3 - 15 * u**4 + 6 * u**5)
    if kind == "Bump":
        u = np.clip(2 * (x - surface.centre) / surface.length, -1.0, 1.0)
        return surface.height * (1 - u**2) ** 3
    if kind == "HeightMap":
        lines = CubicSpline(surface.y, surface.heights.reshape(len(surface.x), -1), axis=1, bc_type="natural")(y)
        return float(CubicSpline(surface.x, lines, bc_type="natural")(x))
    return 0.0


def normal(surface, x, y, h=1e-4):
    """Upward normal, by differences of eighth order."""
    slopes = []
    for dx, dy in ((1, 0), (0, 1)):
        steps = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
        rise = sum(
            c * (height(surface, x + k * h * dx, y + k * h * dy) - height(surface, x - k * h * dx, y - k * h * dy))
            for k, c in steps
        )
        slopes.append(rise / h)
    n = np.array([-slopes[0], -slopes[1], 1.0])
    return n / np.linalg.norm(n)


def axes(surface, n):
    """Axes of a surface over a normal, as columns."""
    heading = np.asarray(getattr(surface, "heading", (1.0, 0.0, 0.0)))
    x = heading - (heading @ n) * n
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(n, x), n], axis=1)


def touch(s, f):
    """Bodies, centre, place that touches, normal and depth; all in the world but for `axes`."""
    (a, x), (b, foot) = s.point(f.point), s.point(f.plane_point)
    R = s.body(b).R @ axes(f.ground, s.body(b).R.T @ s.direction(f.normal))
    p = R.T @ (x - foot)
    p[2] -= 0.0 if not hasattr(f.ground, "position") else float(f.ground.position(s.t))
    w = None if not hasattr(f, "axis") else R.T @ s.direction(f.axis)
    c, n, depth = place(f, p, w)
    return a, b, x, x + R @ (c - p), R @ n, depth, R


def place(f, p, w):
    """Where a sphere, a rim or a tyre touches: point, normal, depth, in axes of the surface."""
    S, radius = f.ground, f.radius
    if w is None:
        start = p[:2] + (0.0 if type(S).__name__ in ("Plane", "MovingPlane") else 1e-3)
        away = minimize(lambda z: (z[0] - p[0]) ** 2 + (z[1] - p[1]) ** 2 + (height(S, *z) - p[2]) ** 2, start,
                        tol=1e-15).x  # fmt: skip
        n = normal(S, *away)
        distance = n @ (p - np.array([*away, height(S, *away)]))
        return p - radius * n, n, radius - distance
    if type(f).__name__ == "WheelContact":
        down = -(np.array([0.0, 0.0, 1.0]) - w[2] * w) / np.sqrt(1 - w[2] ** 2)

        def rim(angle):
            return p + radius * (np.cos(angle) * down + np.sin(angle) * np.cross(w, down))

        def gap(angle):
            return rim(angle)[2] - height(S, *rim(angle)[:2])

        best = min(np.linspace(-1.2, 1.2, 241), key=gap)
        angle = minimize_scalar(gap, bracket=(best - 0.02, best, best + 0.02), tol=1e-15).x
        c = rim(angle)
        n = normal(S, *c[:2])
        return c, n, -gap(angle) * n[2]
    n = normal(S, *p[:2])
    lean = n @ w
    e = (n - lean * w) / np.sqrt(1 - lean**2)
    return p - radius * e, n, radius * np.sqrt(1 - lean**2) - n[2] * (p[2] - height(S, *p[:2]))


def normal_force(f, depth, approach):
    """Hunt-Crossley and Kelvin-Voigt together."""
    if depth <= 0:
        return 0.0
    share = (1 + np.tanh(approach / f.damping_speed)) / 2
    c = f.restitution_damping + (f.compression_damping - f.restitution_damping) * share
    u = min(depth / f.damping_depth, 1.0)
    push = f.stiffness * depth**f.exponent * (1 + f.damping * approach) + c * approach * u**2 * (3 - 2 * u)
    return max(push, 0.0)


def sphere_or_rim(s, f):
    a, b, _, c, n, depth, _ = touch(s, f)
    relative = seen(s, f, a, b, c, n)
    N = normal_force(f, depth, -n @ relative)
    slip = relative - (n @ relative) * n
    s.push_apart(a, b, N * n - f.friction * N * slip / np.sqrt(slip @ slip + f.slip_speed**2), c)
    return N


def seen(s, f, a, b, c, n):
    """Velocity of the first body's material point as the surface sees it."""
    lift = float(f.ground.position.rate(s.t)) if hasattr(f.ground, "position") else 0.0
    return s.between(a, b, c) - lift * s.direction(f.normal)


def slips(s, f):
    """N, slip along and across, speed along the track, lean, and what the forces act on."""
    a, b, x, c, n, depth, _ = touch(s, f)
    relative, hub = seen(s, f, a, b, c, n), seen(s, f, a, b, x, n)
    along = np.cross(s.direction(f.axis), n)
    along /= np.linalg.norm(along)
    across = np.cross(n, along)
    N = normal_force(f, depth, -n @ relative)
    U = np.sqrt((along @ hub) ** 2 + f.slip_speed**2)
    return N, along @ relative, across @ relative, along @ hub, U, n @ s.direction(f.axis), (a, b, c, n, along, across)


def tyre(s, f):
    N, slip, side, _, U, _, (a, b, c, n, along, across) = slips(s, f)
    fx = -f.friction_x * N * np.tanh(slip / (f.critical_slip * U))
    fy = -f.friction_y * N * np.tanh(side / (f.critical_angle * U))
    s.push_apart(a, b, N * n + fx * along + fy * across, c)
    return N


def ellipse_tyre(s, f):
    N, slip, side, _, U, _, (a, b, c, n, along, across) = slips(s, f)
    x, y = slip / (f.critical_slip * U), side / (f.critical_angle * U)
    rho = np.hypot(x, y)
    fx, fy = (-mu * N * part / rho * np.tanh(rho) for mu, part in ((f.friction_x, x), (f.friction_y, y)))
    s.push_apart(a, b, N * n + fx * along + fy * across, c)
    return N


def magic(rho, C, E):
    B = 1 / C
    return np.sin(C * np.arctan(B * rho - E * (B * rho - np.arctan(B * rho))))


def magic_formula_tyre(s, f):
    N, slip, side, u, U, lean, (a, b, c, n, along, across) = slips(s, f)
    if N == 0.0:
        return 0.0
    g = np.exp(f.load_sensitivity * (1 - N / f.nominal_load))
    mx, my = f.friction_x * g, f.friction_y * g
    Ky = f.cornering_stiffness / (1 + f.stiffness_load_sensitivity * (N / f.nominal_load) ** 2)
    x = f.slip_stiffness * slip / (mx * U)
    y = (Ky * side / U + f.camber_stiffness * lean * (u / U) ** 2) / my
    rho = np.hypot(x, y)
    fx = -mx * N * x / rho * magic(rho, f.shape_x, f.curvature_x)
    fy = -my * N * y / rho * magic(rho, f.shape_y, f.curvature_y)
    s.push_apart(a, b, N * n + fx * along + fy * across, c)
    couple = -f.trail * u / U * fy / (1 + rho**2) * n
    s.turn(a, couple)
    s.turn(b, -couple)
    return N


EQUATIONS = {
    "SphereContact": sphere_or_rim,
    "WheelContact": sphere_or_rim,
    "Tyre": tyre,
    "EllipseTyre": ellipse_tyre,
    "MagicFormulaTyre": magic_formula_tyre,
}


def states(seed, count):
    """Random states of the bodies of `law_equations`."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        base, other = eq.random_pose(rng), eq.random_pose(rng)
        away = rng.uniform(-0.7, 1.8) * base.R @ (0.1, -0.3, 0.95)
        found.append(eq.Instant(base, eq.Pose(other.R, other.p + away, other.w, other.v), t=0.3 * k))
    return found
