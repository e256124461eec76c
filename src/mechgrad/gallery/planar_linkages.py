"""Linkages whose points draw curves that they are known for: Watt's straight line, the foot of Theo Jansen's leg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mechgrad.errors import InputError
from mechgrad.gallery.solids import rod
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.state import State
from mechgrad.model import Body, Model, Point, Revolute
from mechgrad.typing import FloatArray

__all__ = ["theo_jansen_leg", "theo_jansen_leg_start", "watts_linkage"]

DOWN = (0.0, -9.81, 0.0)

# Watt's linkage [m]
ARM, HALF_COUPLER = 0.5, 0.25

# lengths of Theo Jansen's leg, as published; here a unit is a centimetre
JANSEN: Mapping[str, float] = {
    "a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7, "i": 49.0, "j": 50.0,
    "k": 61.9, "l": 7.8, "m": 15.0,
}  # fmt: skip
TUBE, RADIUS = 1.0, 0.01  # mass per length [kg/m] and radius [m] of the leg's tubes


def watts_linkage() -> Model:
    """Watt's linkage: a point of a four-bar that goes almost straight up and down, without a guide.

    Two arms of b = 0.5 m, level at q = 0, from A (-0.5, 0.25) m to the right and from B (0.5, -0.25) m to the left,
    and a coupler of 2c = 0.5 m that stands between their ends; P is its middle. Lengths are this project's choice, the
    proportions those that make the line straightest: arms at right angles to the coupler, a^2 = b^2 + c^2 with 2a
    between A and B. Bars weigh 1 kg/m, gravity 9.81 m/s^2 along -y.

        A ------- D
                  |
                  P
                  |
                  E ------- B

    P stays on Watt's curve. About the middle of A and B, with angles t from the line between them,

        r^2 = b^2 - (a sin t + s sqrt(c^2 - a^2 cos^2 t))^2,      s = 1 or -1

    and leaves its tangent, the y axis, with the fifth power of the way only. Coordinates A, D, B from the picture; the
    hinge E is cut. One degree of freedom.

    >>> model = watts_linkage()
    >>> model.q_names, mg.mobility(model, model.neutral()).freedoms
    (('A', 'D', 'B'), 1)
    """
    b, c = ARM, HALF_COUPLER
    bodies = [
        rod("left arm", b, (b, 0, 0), RADIUS),
        rod("coupler", 2 * c, (0, -2 * c, 0), RADIUS),
        rod("right arm", b, (-b, 0, 0), RADIUS),
    ]
    joints = [
        Revolute("A", "ground", "left arm", (-b, c, 0)),
        Revolute("D", "left arm", "coupler", (b, 0, 0)),
        Revolute("B", "ground", "right arm", (b, -c, 0)),
        Revolute("E", "coupler", "right arm", (0, -2 * c, 0), child_origin=(-b, 0, 0)),
    ]
    middle = [Point("P", "coupler", (0, -c, 0))]
    return Model("Watt's linkage", bodies, joints, middle, gravity=DOWN, cut=["E"])


def theo_jansen_leg() -> Model:
    """A leg of Theo Jansen's Strandbeest: a crank turns, and the foot walks, flat on the ground and high over it.

    Jansen's thirteen lengths ("The Great Pretender", 2007), here in centimetres:

        a 38    b 41.5    c 39.3    d 40.1    e 55.8    f 39.4    g 36.7    h 65.7    i 49    j 50    k 61.9    l 7.8
        m 15

    The crank m turns about O at the origin; the fixed point Z is a to the left and l below. Its pin Y holds two rods:

        j  from Y up to X        b  from Z to X,  d  from Z to W,  e  from X to W:    the upper triangle, on Z
        k  from Y down to V      c  from Z to V
        f  from W down to U      g  from V to U,  h  from U to the foot,  i  from V to the foot:    the lower triangle

    Seven bodies of tubes, 1 kg/m (this project's choice), gravity 9.81 m/s^2 along -y. Coordinates: `crank` from the x
    axis, and the turns of the others against what carries them, from where they are at crank = 0: `upper on Z`, `c on
    Z`, `j on Y`, `k on Y`, `f on W`, `lower on V`. The hinges `j on X`, `k on V`, `f on U` are cut. One degree of
    freedom. Points: X, Y, Z, W, V, U, foot. `theo_jansen_leg_start` has the leg at any angle of the crank.

    >>> model = theo_jansen_leg()
    >>> mg.mobility(model, model.neutral()).freedoms, [joint.name for joint in model.cut_joints]
    (1, ['j on X', 'k on V', 'f on U'])
    """
    at = _jansen_points(0.0)
    bodies = [
        _frame("m", at, ("O", "Y")),
        _frame("upper", at, ("Z", "X", "W")),
        _frame("c", at, ("Z", "V")),
        _frame("j", at, ("Y", "X")),
        _frame("k", at, ("Y", "V")),
        _frame("f", at, ("W", "U")),
        _frame("lower", at, ("V", "U", "foot")),
    ]
    joints = [
        Revolute("crank", "ground", "m", at["O"]),
        Revolute("upper on Z", "ground", "upper", at["Z"]),
        Revolute("c on Z", "ground", "c", at["Z"]),
        Revolute("j on Y", "m", "j", at["Y"] - at["O"]),
        Revolute("k on Y", "m", "k", at["Y"] - at["O"]),
        Revolute("f on W", "upper", "f", at["W"] - at["Z"]),
        Revolute("lower on V", "c", "lower", at["V"] - at["Z"]),
        Revolute("j on X", "upper", "j", at["X"] - at["Z"], child_origin=at["X"] - at["Y"]),
        Revolute("k on V", "c", "k", at["V"] - at["Z"], child_origin=at["V"] - at["Y"]),
        Revolute("f on U", "lower", "f", at["U"] - at["V"], child_origin=at["U"] - at["W"]),
    ]
    points = [
        Point("Y", "m", at["Y"] - at["O"]),
        Point("Z", "ground", at["Z"]),
        *(Point(name, "upper", at[name] - at["Z"]) for name in ("X", "W")),
        *(Point(name, "lower", at[name] - at["V"]) for name in ("V", "U", "foot")),
    ]
    return Model("Theo Jansen's leg", bodies, joints, points, gravity=DOWN, cut=["j on X", "k on V", "f on U"])


def theo_jansen_leg_start(model: Model, crank: float = 0.0, speed: float = 0.0) -> State:
    """The leg with its crank at an angle [rad] from the x axis, turning at a speed [rad/s].

    >>> start = theo_jansen_leg_start(theo_jansen_leg(), crank=1.0, speed=-6.0)
    >>> start.held, round(float(start.v[0]), 9)
    ({'crank': 1.0}, -6.0)
    """
    if not (np.isfinite(crank) and np.isfinite(speed)):
        raise InputError(f"crank is {crank} rad, speed {speed} rad/s; give finite numbers.")
    first, now = _jansen_points(0.0), _jansen_points(crank)

    def swung(tail: str, head: str) -> float:
        """How far a bar has turned in the plane since crank = 0: bars but the crank swing by less than half a turn."""
        turn = _heading(now, tail, head) - _heading(first, tail, head)
        return float(np.angle(np.exp(1j * turn)))

    upper, c = swung("Z", "X"), swung("Z", "V")
    turns = {
        "crank": float(crank),
        "upper on Z": upper,
        "c on Z": c,
        "j on Y": swung("Y", "X") - crank,
        "k on Y": swung("Y", "V") - crank,
        "f on W": swung("W", "U") - upper,
        "lower on V": swung("V", "U") - c,
    }
    guess = np.array([turns[name] for name in model.q_names])
    return assemble(model, {"crank": float(crank)}, {"crank": float(speed)}, guess=guess)


def _jansen_points(crank: float) -> dict[str, FloatArray]:
    """Joints of the leg [m] at an angle of the crank: every one from two circles about others."""
    s = {name: 0.01 * length for name, length in JANSEN.items()}
    at = {"O": np.zeros(3), "Z": np.array([-s["a"], -s["l"], 0.0])}
    at["Y"] = s["m"] * np.array([np.cos(crank), np.sin(crank), 0.0])
    at["X"] = _to_the_left(at["Z"], at["Y"], s["b"], s["j"])
    at["W"] = _to_the_left(at["Z"], at["X"], s["d"], s["e"])
    at["V"] = _to_the_left(at["Y"], at["Z"], s["k"], s["c"])
    at["U"] = _to_the_left(at["V"], at["W"], s["g"], s["f"])
    at["foot"] = _to_the_left(at["V"], at["U"], s["i"], s["h"])
    return at


def _to_the_left(a: FloatArray, b: FloatArray, from_a: float, from_b: float) -> FloatArray:
    """The point at given distances from a and b, to the left of the way from a to b."""
    way = b - a
    square = float(way @ way)
    along = (square + from_a**2 - from_b**2) / (2 * square)
    across = np.sqrt(from_a**2 / square - along**2)
    return np.asarray(a + along * way + across * np.array([-way[1], way[0], 0.0]))


def _heading(at: Mapping[str, FloatArray], tail: str, head: str) -> float:
    x, y, _ = at[head] - at[tail]
    return float(np.arctan2(y, x))


def _frame(name: str, at: Mapping[str, FloatArray], corners: Sequence[str]) -> Body:
    """A body of tubes between all corners, its origin at the first one, its axes those of the world at crank = 0."""
    pairs = [(p, q) for k, p in enumerate(corners) for q in corners[k + 1 :]]
    tubes = []
    for p, q in pairs:
        way = at[q] - at[p]
        tube = rod(name, TUBE * float(np.sqrt(way @ way)), way, RADIUS)
        tubes.append((float(tube.mass.real), at[p] - at[corners[0]] + way / 2, tube.inertia))
    mass = sum(m for m, _, _ in tubes)
    com = sum(m * x for m, x, _ in tubes) / mass
    inertia = np.zeros((3, 3))
    for m, x, J in tubes:
        r = x - com
        inertia += J + m * ((r @ r) * np.eye(3) - np.outer(r, r))
    return Body(name, mass, com, inertia)
