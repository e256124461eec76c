"""Linkages that are hard to integrate, with what is known of their motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from mechgrad.errors import InputError
from mechgrad.model.body import Body
from mechgrad.model.forces import Motor, SpringDamper
from mechgrad.model.joints import Revolute
from mechgrad.model.markers import Point
from mechgrad.model.model import Model
from mechgrad.typing import ArrayLike, FloatArray

GRAVITY = (0.0, -9.81, 0.0)
ACROSS, ALONG = 1.0 / 12.0, 1e-4  # inertia of a bar of 1 m and 1 kg [kg m^2]; about itself it could be anything


def four_bars(n: int) -> tuple[Model, Callable[[float, float], tuple[FloatArray, FloatArray]]]:
    """n parallelograms in a row that move as one pendulum, and pass two places where they could branch.

    Returned are the model and its states, start(angle [rad], speed [rad/s]) -> q, v.

    n + 1 upright bars stand on the ground at x = 0, 1 .. n m, n bars across join their tops; all of 1 m and 1 kg,
    gravity 9.81 m/s^2 along -y. One degree of freedom; where all bars are on one line (`angle` 0 or pi) the closing
    rows lose their rank, and the motion could go on along other branches. In the public multibody benchmarks such a row
    starts upright with tops at 1 m/s and passes that place twice each round.

    Coordinates: A0 .. An of the uprights, from the x axis, then B1 .. Bn of the bars across; C1 .. Cn are cut. The
    common angle over time is that of one pendulum: `four_bars_angle`.

    >>> model, start = four_bars(2)
    >>> q, v = start(np.pi / 2, -1.0)
    >>> model.n_v, len(model.cut_joints), v
    (5, 2, array([-1., -1., -1.,  1.,  1.]))
    """
    if n < 1:
        raise InputError(f"four_bars of {n} loops: give one at least.")

    def bar(name: str) -> Body:
        return Body(name, 1.0, (0.5, 0, 0), (ALONG, ACROSS, ACROSS))

    bodies = [bar(f"upright {i}") for i in range(n + 1)] + [bar(f"across {i}") for i in range(1, n + 1)]
    joints = [Revolute(f"A{i}", "ground", f"upright {i}", (i, 0, 0)) for i in range(n + 1)]
    joints += [Revolute(f"B{i}", f"upright {i - 1}", f"across {i}", (1, 0, 0)) for i in range(1, n + 1)]
    joints += [
        Revolute(f"C{i}", f"upright {i}", f"across {i}", (1, 0, 0), child_origin=(1, 0, 0)) for i in range(1, n + 1)
    ]
    cut = [f"C{i}" for i in range(1, n + 1)]
    model = Model("four-bars", bodies, joints, gravity=GRAVITY, cut=cut)

    def start(angle: float, speed: float) -> tuple[FloatArray, FloatArray]:
        return np.r_[np.full(n + 1, angle), np.full(n, -angle)], np.r_[np.full(n + 1, speed), np.full(n, -speed)]

    return model, start


def four_bars_angle(n: int, angle: float, speed: float, t: ArrayLike) -> FloatArray:
    """Angle [rad] of the uprights of `four_bars(n)` at times t [s] from 0 on, from `angle` and `speed` at 0.

        ((n + 1) / 3 + n) x'' = -g ((n + 1) / 2 + n) cos x        uprights turn, bars across are carried along

    One pendulum, integrated by itself to about 1e-12.

    >>> four_bars_angle(1, -np.pi / 2, 0.0, [0.0, 1.0]).round(6)      # hanging at rest
    array([-1.570796, -1.570796])
    """
    instants = np.asarray(t, float)
    ratio = -GRAVITY[1] * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)

    def slope(_: float, y: FloatArray) -> list[float]:
        return [y[1], -ratio * np.cos(y[0])]

    found = solve_ivp(slope, (0.0, float(instants[-1])), [angle, speed], "DOP853", instants, rtol=1e-12, atol=1e-12)
    return np.asarray(found.y[0])


def bricard() -> Model:
    """Bricard's six-bar along the edges of a cube: one degree of freedom, though counting says none.

    The closed hexagon (0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1) m, hinges A .. F at these
    corners, each perpendicular to the two bars it joins; the bar from F to A is the ground. Five moving bars of 1 m, 1
    kg and 1/12 kg m^2 across (1e-4 along). Gravity 9.81 m/s^2 along -y; at rest in the cube (q = 0) at the start, 10 s
    are usual. The hinge F is cut: five closing rows, of which one depends on the others wherever the linkage goes.

    Every other hinge turns alike, A = C = E = x and B = D = y, with sin x + sin y + sin x sin y = 0.

    >>> model = bricard()
    >>> model.q_names, [joint.name for joint in model.cut_joints]
    (('A', 'B', 'C', 'D', 'E'), ['F'])
    """
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    axes = np.array([(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)], float)
    bars = np.diff(corners, axis=0)
    names = ["ground", *(f"bar {k}" for k in range(1, 6))]
    bodies = [
        Body(name, 1.0, bar / 2, ACROSS * np.eye(3) + (ALONG - ACROSS) * np.outer(bar, bar))
        for name, bar in zip(names[1:], bars, strict=True)
    ]
    places = [corners[0], *bars]  # of each hinge in the bar before it, whose axes are those of the world at the start
    joints = [Revolute(letter, names[k], names[k + 1], places[k], axis=axes[k]) for k, letter in enumerate("ABCDE")]
    joints.append(Revolute("F", "ground", "bar 5", corners[5], child_origin=bars[4], axis=axes[5]))
    points = [Point(f"P{k}", names[k], bars[k - 1]) for k in range(1, 6)]
    return Model("Bricard", bodies, joints, points, gravity=GRAVITY, cut=["F"])


# mass [kg], inertia about the centre of mass [kg m^2], centre of mass [m] in axes that turn with the body
_SEVEN = {
    "K1": (0.04325, 2.194e-6, (0.00092, 0.0)),
    "K2": (0.00365, 4.410e-7, (-0.0115, 0.0)),
    "K3": (0.02373, 5.255e-6, (0.01043, -0.01874)),
    "K4": (0.00706, 5.667e-7, (0.0, -(0.02 - 0.01421))),
    "K5": (0.07050, 1.169e-5, (0.02308, 0.00916)),
    "K6": (0.00706, 5.667e-7, (0.02 - 0.01421, 0.0)),
    "K7": (0.05498, 1.912e-5, (-0.00449, -0.01228)),
}
_SEVEN_START = {
    "beta": -0.0617138900142764496,
    "Theta": 0.0,
    "gamma": 0.455279819163070380,
    "phi": 0.222668390165885884,
    "delta": 0.487364979543842550,
    "Omega": -0.222668390165885884,
    "epsilon": 1.23054744454982119,
}
_SEVEN_END = {
    "beta": 15.81077119629904,
    "Theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "Omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}


def seven_body() -> Model:
    """Andrews' squeezing mechanism: seven small bodies in a plane, three loops, a motor and a spring.

    One degree of freedom, millimetres and milliseconds: in 0.03 s the crank K1 turns two and a half times. A torque of
    0.033 N m turns K1 about the origin; a spring of 4530 N/m and 0.07785 m holds K3 from the point (0.014, 0.072) m. K3
    hangs at B (-0.03635, 0.03273) m, K5 and K7 at A (-0.06934, -0.00227) m; K2, K3, K4 and K6 meet in one point. No
    gravity. Numbers, start and end are those of the problem "Andrews' squeezing mechanism" in the public test set for
    initial value problem solvers.

    Coordinates have the names used there, beta .. epsilon; start from `seven_body_start(model)` at rest, and be at
    `seven_body_end(model)` after 0.03 s.

    >>> model = seven_body()
    >>> sorted(model.q_names), [joint.name for joint in model.cut_joints]
    (['Omega', 'Theta', 'beta', 'delta', 'epsilon', 'gamma', 'phi'], ['K2 K3', 'K2 K4', 'K2 K6'])
    """
    A, B = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0)
    rr, d, ss, e, zt, zf, u = 0.007, 0.028, 0.035, 0.02, 0.04, 0.02, 0.04
    bodies = [Body(name, m, (*com, 0.0), (J / 2, J / 2, J)) for name, (m, J, com) in _SEVEN.items()]
    joints = [
        Revolute("beta", "ground", "K1"),
        Revolute("Theta", "K1", "K2", (rr, 0, 0)),
        Revolute("gamma", "ground", "K3", B),
        Revolute("delta", "ground", "K5", A),
        Revolute("phi", "K5", "K4", (zt, 0, 0)),
        Revolute("epsilon", "ground", "K7", A),
        Revolute("Omega", "K7", "K6", (0, -u, 0)),
        Revolute("K2 K3", "K2", "K3", (-d, 0, 0), child_origin=(0, -ss, 0)),
        Revolute("K2 K4", "K2", "K4", (-d, 0, 0), child_origin=(0, -e, 0)),
        Revolute("K2 K6", "K2", "K6", (-d, 0, 0), child_origin=(zf, 0, 0)),
    ]
    points = [Point("C", "ground", (0.014, 0.072, 0.0)), Point("D", "K3", (0.02, -0.018, 0.0))]
    forces = [Motor("drive", "beta", 0.033), SpringDamper("spring", "C", "D", stiffness=4530.0, free_length=0.07785)]
    cut = ["K2 K3", "K2 K4", "K2 K6"]
    return Model("seven bodies", bodies, joints, points, gravity=(0, 0, 0), forces=forces, cut=cut)


def seven_body_start(model: Model) -> FloatArray:
    """Coordinates [rad] of `seven_body()` at the start, where it is at rest.

    >>> model = seven_body()
    >>> bool(seven_body_start(model)[model.q_names.index("Theta")] == 0.0)
    True
    """
    return np.array([_SEVEN_START[name] for name in model.q_names])


def seven_body_end(model: Model) -> FloatArray:
    """Coordinates [rad] of `seven_body()` after 0.03 s, to about 2e-9.

    >>> model = seven_body()
    >>> round(float(seven_body_end(model)[model.q_names.index("beta")]) / (2 * np.pi), 3)      # turns
    2.516
    """
    return np.array([_SEVEN_END[name] for name in model.q_names])
