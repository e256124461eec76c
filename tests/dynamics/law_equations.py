"""The equations that force elements state in their docstrings, in plain NumPy, on bodies whose poses are written down.

Two bodies, "base" and "other", float in the world; "arm" hangs on a hinge and "cart" on a slider. All have unit mass
and unit inertia about their origin, and there is no gravity, so that accelerations are the generalized forces. Poses
are made here, not by the library; points and vectors are rotated here; every force is put on its bodies here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import mechgrad as mg

POINTS = {
    "on base": ("base", (0.3, -0.2, 0.1)),
    "on other": ("other", (-0.1, 0.4, 0.2)),
    "hook": ("ground", (0.7, 0.5, -0.4)),
}
VECTORS = {"normal": ("base", (0.2, -0.5, 1.6)), "axle": ("other", (0.3, 1.1, -0.4))}
BODIES = ("base", "other")
HINGE, SLIDE = 12, 13  # places of the two coordinates among the velocities; among the positions two further on
SIZE = 14


@dataclass(frozen=True)
class Pose:
    """Rotation, origin, angular velocity and velocity of the origin of a body, world axes."""

    R: np.ndarray
    p: np.ndarray
    w: np.ndarray
    v: np.ndarray

    def velocity(self, x):
        """Of the material point at x."""
        return self.v + np.cross(self.w, x - self.p)


GROUND = Pose(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))


@dataclass(frozen=True)
class Instant:
    """A state, and the generalized forces that equations add up in it."""

    base: Pose
    other: Pose
    hinge: tuple[float, float] = (0.4, -0.7)
    slide: tuple[float, float] = (-0.3, 0.6)
    t: float = 0.0
    forces: np.ndarray = field(default_factory=lambda: np.zeros(SIZE))

    def body(self, name):
        return GROUND if name == "ground" else getattr(self, name)

    def point(self, name):
        """Body and world coordinates of a point."""
        body, local = POINTS[name]
        pose = self.body(body)
        return body, pose.p + pose.R @ local

    def direction(self, name):
        """World components of a vector, length one."""
        body, local = VECTORS[name]
        return self.body(body).R @ np.asarray(local) / np.linalg.norm(local)

    def between(self, first, second, x):
        """Velocity of the first body's material point at x, seen from the second's."""
        return self.body(first).velocity(x) - self.body(second).velocity(x)

    def push(self, body, force, x):
        """A force at a point of the world."""
        if body != "ground":
            at = 6 * BODIES.index(body)
            self.forces[at : at + 3] += force
            self.forces[at + 3 : at + 6] += np.cross(x - self.body(body).p, force)

    def push_apart(self, first, second, force, x):
        """A force on the first body, and against the second."""
        self.push(first, force, x)
        self.push(second, -np.asarray(force), x)

    def turn(self, body, couple):
        if body != "ground":
            at = 6 * BODIES.index(body) + 3
            self.forces[at : at + 3] += couple

    def q(self):
        quaternions = [np.roll(Rotation.from_matrix(b.R).as_quat(), 1) for b in (self.base, self.other)]
        floating = [np.concatenate((b.p, e)) for b, e in zip((self.base, self.other), quaternions, strict=True)]
        return np.concatenate((*floating, [self.hinge[0], self.slide[0]]))

    def v(self):
        floating = [np.concatenate((b.v, b.w)) for b in (self.base, self.other)]
        return np.concatenate((*floating, [self.hinge[1], self.slide[1]]))


def random_pose(rng):
    turn = Rotation.from_rotvec(rng.uniform(-1.2, 1.2, 3)).as_matrix()
    return Pose(turn, rng.uniform(-0.8, 0.8, 3), rng.uniform(-1.5, 1.5, 3), rng.uniform(-1.5, 1.5, 3))


def model_with(*forces):
    """The four bodies and some forces."""
    bodies = [mg.Body(name, 1.0, inertia=(1.0, 1.0, 1.0)) for name in (*BODIES, "arm", "cart")]
    joints = [mg.Floating(f"{name} free", "ground", name) for name in BODIES]
    joints += [mg.Revolute("hinge", "ground", "arm", (0.1, 0.2, 0.3), axis=(0.2, 1.0, 0.4))]
    joints += [mg.Prismatic("slide", "ground", "cart", (0.3, 0.1, 0.2), axis=(1.0, 0.3, -0.5))]
    points = [mg.Point(name, body, local) for name, (body, local) in POINTS.items()]
    vectors = [mg.Vector(name, body, local) for name, (body, local) in VECTORS.items()]
    return mg.Model("floating", bodies, joints, points, vectors, gravity=(0, 0, 0), forces=forces)


def spline(times, values, ends="natural"):
    """A cubic spline, beyond its ends a straight line."""
    inner = CubicSpline(times, values, bc_type=ends)

    def at(x):
        within = min(max(x, times[0]), times[-1])
        return float(inner(within) + inner(within, 1) * (x - within))

    return at


def lines(times, values):
    """Straight lines between values; the first and the last go on."""

    def at(x):
        k = min(max(int(np.searchsorted(times, x, side="right")) - 1, 0), len(times) - 2)
        return values[k] + (values[k + 1] - values[k]) * (x - times[k]) / (times[k + 1] - times[k])

    return at


def stretch(s, first, second):
    """Bodies, ends, unit vector from the second to the first, length and its rate."""
    (a, x_a), (b, x_b) = s.point(first), s.point(second)
    d = np.linalg.norm(x_a - x_b)
    u = (x_a - x_b) / d
    return (a, x_a), (b, x_b), u, d, u @ (s.body(a).velocity(x_a) - s.body(b).velocity(x_b))


def pull(s, first, second, force):
    """Pull two points together."""
    (a, x_a), (b, x_b), u, _, _ = stretch(s, first, second)
    s.push(a, -force * u, x_a)
    s.push(b, force * u, x_b)


def spring_damper(s, f):
    _, _, _, d, rate = stretch(s, f.point_a, f.point_b)
    pull(s, f.point_a, f.point_b, f.stiffness * (d - f.free_length) + f.damping * rate)


def spring_curve(s, f, curve, damper=lambda rate: 0.0):
    _, _, _, d, rate = stretch(s, f.point_a, f.point_b)
    pull(s, f.point_a, f.point_b, curve(d - f.free_length) + damper(rate))


def torsion_spring(s, f):
    q, rate = getattr(s, f.coordinate)
    free = f.free_position if hasattr(f, "free_position") else f.free_angle
    s.forces[HINGE if f.coordinate == "hinge" else SLIDE] += -f.stiffness * (q - free) - f.damping * rate


def motor(s, f, torque):
    s.forces[HINGE if f.coordinate == "hinge" else SLIDE] += torque(s.t)


def joint_friction(s, f):
    rate = getattr(s, f.coordinate)[1]
    s.forces[HINGE if f.coordinate == "hinge" else SLIDE] += (
        -f.coulomb * np.tanh(rate / f.speed) - f.viscous * rate
    )  # fmt: skip


def bushing(s, f):
    """Displacements push at x_b, along axes that turn with the body of point_a. A rotation dw of b against a changes
    s_i by dw . (b_j x a_k - b_k x a_j) / 2, so that the couple on b is minus that vector times T_i, summed up."""
    (a, x_a), (b, x_b) = s.point(f.point_a), s.point(f.point_b)
    frame = [s.body(name).R @ Rotation.from_quat(np.roll(e, -1)).as_matrix() for name, e in
             ((a, f.orientation_a), (b, f.orientation_b))]  # fmt: skip
    A, B = frame[0].T, frame[1].T  # axes as rows
    spin = s.body(b).w - s.body(a).w
    for i in range(3):
        d, rate = A[i] @ (x_b - x_a), A[i] @ s.between(b, a, x_b)
        s.push_apart(b, a, -(f.stiffness[i] * d + f.damping[i] * rate) * A[i], x_b)
        j, k = (i + 1) % 3, (i + 2) % 3
        sine = (A[k] @ B[j] - A[j] @ B[k]) / 2
        lever = (np.cross(B[j], A[k]) - np.cross(B[k], A[j])) / 2
        couple = (f.rotational_stiffness[i] * sine + f.rotational_damping[i] * (lever @ spin)) * lever
        s.turn(b, -couple)
        s.turn(a, couple)


def lowest_point(s, f):
    """Bodies, normal, height of the centre, and the point that touches: of a sphere or of a circle."""
    centre = f.point
    (a, x), (b, foot), n = s.point(centre), s.point(f.plane_point), s.direction(f.normal)
    if not hasattr(f, "axis"):
        return a, b, n, f.radius - n @ (x - foot), x, x - f.radius * n
    w = s.direction(f.axis)
    down = n - (n @ w) * w
    depth = f.radius * np.sqrt(1 - (n @ w) ** 2) - n @ (x - foot)
    return a, b, n, depth, x, x - f.radius * down / np.linalg.norm(down)


def normal_force(f, depth, approach):
    """N = K d^n (1 + D d') while d > 0 and N > 0, else 0."""
    if depth <= 0:
        return 0.0
    return max(f.stiffness * depth**f.exponent * (1 + f.damping * approach), 0.0)


def contact(s, f):
    """Sphere and wheel: N along n, friction against the slip, both at the point that touches."""
    a, b, n, depth, _, c = lowest_point(s, f)
    relative = s.between(a, b, c)
    N = normal_force(f, depth, -n @ relative)  # the lowest point sinks as fast as its material point does
    slip = relative - (n @ relative) * n
    s.push_apart(a, b, N * n - f.friction * N * slip / np.sqrt(slip @ slip + f.slip_speed**2), c)


def tyre(s, f):
    a, b, n, depth, x, c = lowest_point(s, f)
    relative = s.between(a, b, c)
    N = normal_force(f, depth, -n @ relative)
    along = np.cross(s.direction(f.axis), n)
    along /= np.linalg.norm(along)
    across = np.cross(n, along)
    U = np.sqrt((along @ s.between(a, b, x)) ** 2 + f.slip_speed**2)
    drive = f.friction_x * N * np.tanh(along @ relative / (f.critical_slip * U))
    side = f.friction_y * N * np.tanh(across @ relative / (f.critical_angle * U))
    s.push_apart(a, b, N * n - drive * along - side * across, c)


def user_force(s, f, gap, coordinate, height, offset):
    """Forces on a Distance, a JointCoordinate, a Height and an Offset of these points, all given."""
    pull(s, "on base", "on other", gap)
    s.forces[HINGE] -= coordinate
    (_, x), n = s.point("on other"), s.direction("normal")
    s.push_apart("other", "base", -height * n, x)
    e = np.asarray(f.measures[3].direction)
    s.push("other", -offset * e, x)


def touching(rng, f, depth, approach, slip, spin=0.0):
    """A state in which a contact has a depth, and its lowest point relative to the plane a speed of approach and a slip
    (along and across a track, or any two directions); a wheel turns about its axis with `spin` besides."""
    while True:
        base, turn = random_pose(rng), random_pose(rng)
        s = Instant(base, turn)
        n, w = s.direction("normal"), s.direction("axle")
        if 0.2 < abs(n @ w) < 0.7:
            break
    _, foot = s.point("on base")
    circle = np.sqrt(1 - (n @ w) ** 2) if hasattr(f, "axis") else 1.0
    e = np.cross(w, n) / np.linalg.norm(np.cross(w, n))
    centre = foot + (f.radius * circle - depth) * n + 0.4 * e - 0.3 * np.cross(n, e)
    p = centre - turn.R @ np.asarray(POINTS["on other"][1])
    other = Pose(turn.R, p, base.w + spin * w + 0.3 * turn.w, np.zeros(3))
    *_, c = lowest_point(Instant(base, other), f)
    wanted = base.velocity(c) - approach * n + slip[0] * e + slip[1] * np.cross(n, e)
    return Instant(base, Pose(turn.R, p, other.w, wanted - other.velocity(c)))
