"""Mechanisms that functions of time drive, with their equations of motion written by hand.

Two of them, moved by a motor, a driver, curves and a law of Python, none of which repeats itself or is the same at two
instants of a test. Every formula takes complex numbers, so derivatives by all numbers are complex steps through
`scipy`'s integrator: nothing of mechgrad's own dynamics is in here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import mechgrad as mg

T0 = 1.3
"""Where motions start [s]: not a whole number of periods of anything below."""

DURATION = 0.4
KNOTS = (0.9, 1.2, 1.75, 2.1, 2.4)
"""Of a spline [s]: the motions stay within one of its pieces, where it is smooth, and all its values are felt."""

CARDINAL = CubicSpline(KNOTS, np.eye(len(KNOTS)), bc_type="natural")
STEP = 1e-30
GRAVITY = 9.81

Numbers = dict[str, Any]


def harmonic(p: Numbers, owner: str, t: Any) -> tuple[Any, Any, Any]:
    """Value, rate and second rate of offset + amplitude sin(2 pi frequency t + phase)."""
    A, f, phase, offset = (p[f"{owner}.{name}"] for name in ("amplitude", "frequency", "phase", "offset"))
    w = 2.0 * np.pi * f
    return offset + A * np.sin(w * t + phase), A * w * np.cos(w * t + phase), -A * w * w * np.sin(w * t + phase)


def spline(p: Numbers, t: Any) -> Any:
    """The torque of the elbow: a natural spline, straight beyond its ends."""
    inside = min(max(t, KNOTS[0]), KNOTS[-1])
    shares = CARDINAL(inside) if inside == t else CARDINAL(inside) + (t - inside) * CARDINAL(inside, 1)
    return sum(shares[k] * p[f"second.torque.values.{k}"] for k in range(len(KNOTS)))


def _harmonic(p: Numbers, owner: str) -> mg.functions.Harmonic:
    return mg.functions.Harmonic(*(p[f"{owner}.{name}"] for name in ("amplitude", "frequency", "phase", "offset")))


# ---- a tree: two links, a motor in each hinge, a stiffening spring at the tip


ARM: Numbers = {
    "upper.mass": 1.3, "lower.mass": 0.8, "upper.inertia.yy": 0.15, "lower.inertia.yy": 0.12,
    "first.torque.amplitude": 4.0, "first.torque.frequency": 1.1, "first.torque.phase": 0.7,
    "first.torque.offset": 0.4,
    "second.torque.values.0": 0.5, "second.torque.values.1": -2.0, "second.torque.values.2": 2.5,
    "second.torque.values.3": 1.0, "second.torque.values.4": -1.5,
    "rope.curve.coefficients.1": 8.0, "rope.curve.coefficients.3": 15.0, "tide": 1.5,
    "start.position.shoulder": 0.6, "start.position.elbow": -0.9, "start.velocity.shoulder": 0.5,
    "start.velocity.elbow": -1.2,
}  # fmt: skip
L1, L2, C1, C2 = 0.7, 0.6, 0.3, 0.25
ANCHOR = np.array([0.9, -0.2])  # x, z
FREE = 0.3


def tides(t: Any) -> tuple[Any, Any]:
    """Stiffnesses at the elbow and between anchor and tip, in parts of `tide`."""
    return np.cos(3.0 * t), np.sin(2.0 * t)


def arm(p: Numbers = ARM) -> mg.Model:
    """In the plane y = 0, hinges about y; the tide is a law of Python, springs whose stiffness comes and goes."""
    upper = mg.Body("upper", p["upper.mass"], (0, 0, -C1), (0.1, p["upper.inertia.yy"], 0.1))
    lower = mg.Body("lower", p["lower.mass"], (0, 0, -C2), (0.1, p["lower.inertia.yy"], 0.1))
    joints = [
        mg.Revolute("shoulder", "ground", "upper", axis=(0, 1, 0)),
        mg.Revolute("elbow", "upper", "lower", (0, 0, -L1), axis=(0, 1, 0)),
    ]
    points = [mg.Point("tip", "lower", (0, 0, -L2)), mg.Point("anchor", "ground", (ANCHOR[0], 0, ANCHOR[1]))]
    curve = mg.functions.Polynomial((0.0, p["rope.curve.coefficients.1"], 0.0, p["rope.curve.coefficients.3"]))
    values = [p[f"second.torque.values.{k}"] for k in range(len(KNOTS))]
    forces = [
        mg.forces.Motor("first", "shoulder", _harmonic(p, "first.torque")),
        mg.forces.Motor("second", "elbow", mg.functions.Spline(KNOTS, values)),
        mg.forces.SpringCurve("rope", "anchor", "tip", curve, free_length=FREE),
    ]
    if p["tide"]:
        measures = [mg.measures.JointCoordinate("elbow"), mg.measures.Distance("anchor", "tip")]
        forces.append(mg.forces.UserForce("tide", measures, lambda t, g, gd: p["tide"] * np.array(tides(t)) * g))
    return mg.Model("arm", [upper, lower], joints, points, gravity=(0, 0, -GRAVITY), forces=forces)


@dataclass(frozen=True)
class ArmForces:
    """What acts on the arm at an instant."""

    M: Any  # (2, 2)
    rest: Any  # (2,) h - Q: of weights, velocities and forces
    motors: Any  # (2,)
    rope: Any  # (2,) force on the tip, x and z, of the spring curve and of the tide
    tide: Any


def arm_forces(p: Numbers, t: Any, q: Any, v: Any) -> ArmForces:
    """M a = -rest."""
    m1, m2, I1, I2 = (p[x] for x in ("upper.mass", "lower.mass", "upper.inertia.yy", "lower.inertia.yy"))
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    s12, c12 = np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    corner = I2 + m2 * (C2**2 + L1 * C2 * c2)
    M = np.array(
        [
            [I1 + m1 * C1**2 + I2 + m2 * (L1**2 + C2**2 + 2.0 * L1 * C2 * c2), corner],
            [corner, I2 + m2 * C2**2],
        ]
    )
    whirl = m2 * L1 * C2 * s2
    spin = np.array([-whirl * (2.0 * v[0] * v[1] + v[1] ** 2), whirl * v[0] ** 2])
    lift = GRAVITY * m2 * C2 * s12
    weight = np.array([GRAVITY * (m1 * C1 + m2 * L1) * s1 + lift, lift])
    motors = np.array([harmonic(p, "first.torque", t)[0], spline(p, t)])
    tip = -L1 * np.array([s1, c1]) - L2 * np.array([s12, c12])
    by_q = np.array([[-L1 * c1 - L2 * c12, -L2 * c12], [L1 * s1 + L2 * s12, L2 * s12]])
    d = tip - ANCHOR
    length = np.sqrt(d @ d)
    x = length - FREE
    rope = -(p["rope.curve.coefficients.1"] * x + p["rope.curve.coefficients.3"] * x**3) * d / length
    bend, tug = tides(t)
    tide = p["tide"] * bend * q[1]
    rope = rope - p["tide"] * tug * d
    return ArmForces(M, spin + weight - motors - by_q.T @ rope + np.array([0.0, 1.0]) * tide, motors, rope, tide)


def arm_accelerations(p: Numbers, t: Any, q: Any, v: Any) -> Any:
    """(2,)"""
    f = arm_forces(p, t, q, v)
    return np.linalg.solve(f.M, -f.rest)


def arm_start(p: Numbers) -> Any:
    """(q, v) in one array."""
    return np.array(
        [p[f"start.{level}.{name}"] for level in ("position", "velocity") for name in ("shoulder", "elbow")]
    )


def arm_slope(p: Numbers, t: Any, y: Any) -> Any:
    """d(q, v)/dt"""
    return np.concatenate([y[2:], arm_accelerations(p, t, y[:2], y[2:])])


# ---- a loop: a crank, a rod whose length is driven, a slider; a motor on the crank, a spring at the slider


RAM: Numbers = {
    "crank.inertia.zz": 0.2, "sleeve.mass": 0.7, "sleeve.inertia.zz": 0.04, "rod.mass": 0.5, "rod.inertia.zz": 0.03,
    "slider.mass": 1.1,
    "motor.torque.amplitude": 3.0, "motor.torque.frequency": 1.3, "motor.torque.phase": 0.4, "motor.torque.offset": 0.5,
    "drive.function.amplitude": 0.12, "drive.function.frequency": 0.9, "drive.function.phase": -0.3,
    "drive.function.offset": 0.9,
    "bumper.curve.coefficients.1": 12.0, "bumper.curve.coefficients.3": 20.0,
    "spring.stiffness": 9.0, "spring.damping": 0.6, "spring.free_angle": 0.8,
    "start.position.A": 0.7, "start.velocity.A": 1.1,
}  # fmt: skip
RADIUS = 0.35
WALL = 0.2
SLACK = 0.5


def ram(p: Numbers = RAM, *, crank: Any = None) -> mg.Model:
    """In the plane z = 0, no weight; `crank` drives its angle too, by a function of time."""
    bodies = [
        mg.Body("crank", 1.0, inertia=(0.2, 0.2, p["crank.inertia.zz"])),
        mg.Body("sleeve", p["sleeve.mass"], inertia=(0.2, 0.2, p["sleeve.inertia.zz"])),
        mg.Body("rod", p["rod.mass"], inertia=(0.2, 0.2, p["rod.inertia.zz"])),
        mg.Body("slider", p["slider.mass"], inertia=(0.01, 0.01, 0.01)),
    ]
    joints = [
        mg.Revolute("A", "ground", "crank"),
        mg.Revolute("B", "crank", "sleeve", (RADIUS, 0, 0)),
        mg.Prismatic("T", "sleeve", "rod", axis=(1, 0, 0)),
        mg.Revolute("C", "rod", "slider"),
        mg.Prismatic("S", "ground", "slider", axis=(1, 0, 0)),
    ]
    drivers = [mg.constraints.Driver("drive", "T", _harmonic(p, "drive.function"))]
    if crank is not None:
        drivers.append(mg.constraints.Driver("turn", "A", crank))
    curve = mg.functions.Polynomial((0.0, p["bumper.curve.coefficients.1"], 0.0, p["bumper.curve.coefficients.3"]))
    forces = [
        mg.forces.Motor("motor", "A", _harmonic(p, "motor.torque")),
        mg.forces.SpringCurve("bumper", "wall", "slider.origin", curve, free_length=SLACK),
        mg.forces.TorsionSpring("spring", "S", p["spring.stiffness"], p["spring.damping"], p["spring.free_angle"]),
    ]
    wall = mg.Point("wall", "ground", (WALL, 0, 0))
    east, along, up = (("east", "ground", (1, 0, 0)), ("along", "rod", (1, 0, 0)), ("up", "ground", (0, 0, 1)))
    return mg.Model(
        "ram", bodies, joints, [wall], [mg.Vector(*x) for x in (east, along, up)], gravity=(0, 0, 0),
        constraints=drivers, forces=forces, cut=("C",),
    )  # fmt: skip


@dataclass(frozen=True)
class RamState:
    """Everything about the ram at an instant.

    q, v, a : in the order A, B, T, S
    motor, bumper, spring : torque on the crank, forces on the slider along x
    push : force of the sleeve on the rod, x and y;    axial : the part of it that the driver exerts
    bearing, pin, guide : forces through A (on the crank), C (on the slider) and S (on the slider), x and y
    """

    q: Any
    v: Any
    a: Any
    motor: Any
    bumper: Any
    spring: Any
    push: Any
    axial: Any
    bearing: Any
    pin: Any
    guide: Any

    @property
    def power(self) -> tuple[Any, Any]:
        """Of forces, and of the driver."""
        return self.motor * self.v[0] + (self.bumper + self.spring) * self.v[3], self.axial * self.v[2]

    def kinetic(self, p: Numbers) -> Any:
        """Kinetic energy."""
        angle, psi, x = self.v[0], self.v[0] + self.v[1], self.v[3]
        J = p["crank.inertia.zz"] + p["sleeve.mass"] * RADIUS**2
        turning, m = p["sleeve.inertia.zz"] + p["rod.inertia.zz"], p["rod.mass"] + p["slider.mass"]
        return 0.5 * (J * angle**2 + turning * psi**2 + m * x**2)

    def stored(self, p: Numbers) -> Any:
        """Energy of the linear spring."""
        return 0.5 * p["spring.stiffness"] * (self.q[3] - p["spring.free_angle"]) ** 2


def ram_state(p: Numbers, t: Any, angle: Any, rate: Any, second: Any = None) -> RamState:
    """From the crank's angle and rate; its second rate follows from the forces unless it is given.

    r sin(angle) + L sin(psi) = 0,    x = r cos(angle) + L cos(psi),    L = drive(t)

    and both differentiated twice; then the sum of virtual powers along d(angle).
    """
    r = RADIUS
    L, L1, L2 = harmonic(p, "drive.function", t)
    s, c = np.sin(angle), np.cos(angle)
    sp = -r * s / L
    psi = np.arcsin(sp)
    cp = np.sqrt(1.0 - sp * sp)
    x = r * c + L * cp
    # rates by the crank's rate, and what the driver does alone
    psi_angle, x_angle = -r * c / (L * cp), -r * s + r * c * sp / cp
    psi1 = psi_angle * rate - L1 * sp / (L * cp)
    x1 = -r * s * rate + L1 * cp - L * sp * psi1
    psi_rest = (r * s * rate**2 - L2 * sp - 2.0 * L1 * cp * psi1 + L * sp * psi1**2) / (L * cp)
    x_rest = -r * c * rate**2 + L2 * cp - 2.0 * L1 * sp * psi1 - L * cp * psi1**2 - L * sp * psi_rest
    motor = harmonic(p, "motor.torque", t)[0]
    stretch = x - WALL - SLACK
    bumper = -(p["bumper.curve.coefficients.1"] * stretch + p["bumper.curve.coefficients.3"] * stretch**3)
    spring = -p["spring.stiffness"] * (x - p["spring.free_angle"]) - p["spring.damping"] * x1
    pull = bumper + spring
    turning = p["sleeve.inertia.zz"] + p["rod.inertia.zz"]
    m, J = p["rod.mass"] + p["slider.mass"], p["crank.inertia.zz"] + p["sleeve.mass"] * r * r
    if second is None:
        force = motor + pull * x_angle - m * x_rest * x_angle - turning * psi_rest * psi_angle
        second = force / (J + m * x_angle**2 + turning * psi_angle**2)
    psi2, x2 = psi_angle * second + psi_rest, x_angle * second + x_rest
    tip = r * np.array([-s * second - c * rate**2, c * second - s * rate**2])
    # slider and rod together along x; the moment of momentum of everything about the crank's bearing
    side = (J * second + turning * psi2 - motor) / x
    push = np.array([m * x2 - pull, -side])
    return RamState(
        q=np.array([angle, psi - angle, L, x]), v=np.array([rate, psi1 - rate, L1, x1]),
        a=np.array([second, psi2 - second, L2, x2]), motor=motor, bumper=bumper, spring=spring, push=push,
        axial=push[0] * cp + push[1] * sp, bearing=push + p["sleeve.mass"] * tip,
        pin=push - np.array([p["rod.mass"] * x2, 0.0]), guide=np.array([spring, side]),
    )  # fmt: skip


def ram_start(p: Numbers) -> Any:
    """Angle and rate of the crank."""
    return np.array([p["start.position.A"], p["start.velocity.A"]])


def ram_slope(p: Numbers, t: Any, y: Any) -> Any:
    """d(angle, rate)/dt"""
    return np.array([y[1], ram_state(p, t, y[0], y[1]).a[0]])


# ---- exact motions and their derivatives


def exact(slope: Any, start: Any, p: Numbers, times: Any) -> Any:
    """(nt, .) states at times, the first of which is the start, to about 1e-12."""
    y0 = np.asarray(start(p), complex if any(np.iscomplexobj(x) for x in p.values()) else float)
    found = solve_ivp(
        lambda t, y: slope(p, t, y), (times[0], times[-1]), y0, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13
    )
    assert found.success, found.message
    return found.y.T


def stepped(p: Numbers, name: str) -> Numbers:
    """With an imaginary step along one number."""
    return {**p, name: p[name] + 1j * STEP}
