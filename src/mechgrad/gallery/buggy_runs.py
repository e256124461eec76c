"""Where the buggy starts and rests, what may count its freedoms, and how it is steered through a double lane change."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium, equilibrium
from mechgrad.errors import InputError
from mechgrad.gallery.buggy import CORNERS, SIDES
from mechgrad.kinematics.marker_motions import marker_motion
from mechgrad.kinematics.state import State, state
from mechgrad.measures.distance import Distance
from mechgrad.model import Model, Spline
from mechgrad.model.primitives.rows import RowMeasure
from mechgrad.typing import FloatArray

BURSTS = ((1.3, 2.5, -0.0158155), (5.9, 2.1, 0.0254023))  # begin, length [s], amplitude [m]: 3.5 m aside, and back


def buggy_freedoms() -> tuple[str | RowMeasure, ...]:
    """Fourteen independent coordinates for `mg.formulations.MatrixR`, of every kind: B changes with the configuration.

    World coordinates of the nose, components of two vectors of the chassis (pitch, yaw, roll), lengths of the four
    springs, angles of the four wheels. They serve while the chassis does not turn by a right angle.

    >>> len(buggy_freedoms()), buggy_freedoms()[3]
    (14, 'ahead.y')
    """
    springs = [Distance(f"{end} {side} {top} top", f"{end} {side} {top} foot") for end, top in
               (("front", "spring"), ("rear", "strut")) for side in SIDES]  # fmt: skip
    nose = ("point 1.x", "point 1.y", "point 1.z", "ahead.y", "ahead.z", "left.z")
    return (*nose, *springs, *(f"{corner} wheel hinge" for corner in CORNERS))


def buggy_start(model: Model, speed: float = 3.0, spin: float = 11.0, height: float = 0.0) -> State:
    """The buggy as it is drawn, on its way: a little above where it comes to rest.

    Parameters
    ----------
    speed : float
        Of all bodies, forwards [m/s].
    spin : float
        Of the wheels on their hinges [rad/s]; `speed / 0.30253` rolls without slip.
    height : float
        By which all of it is lifted [m]. Raises InputError where a hub would be in the ground, and where no tyre
        touches it.

    >>> start = buggy_start(buggy())
    >>> float(start.v[0])
    3.0
    """
    q, v = model.neutral(), np.zeros(model.n_v)
    q[model.q_names.index("chassis motion.z")] += height
    v[model.v_names.index("chassis motion.vx")] = speed
    for corner in CORNERS:
        v[model.v_names.index(f"{corner} wheel hinge")] = spin
    hubs, tyres = clearances(model, q)
    _check_clear(hubs, 0.0)
    if (tyres >= 0.0).all():
        raise InputError(
            f"no tyre is loaded at t = 0 s: those of bodies {_listed(CORNERS)} are {tyres.min():.4g} m and more off "
            f"the ground. Start lower: height = {height:.4g} m is too much."
        )
    return state(model, q, v)


def clearances(model: Model, q: Any) -> tuple[FloatArray, FloatArray]:
    """Heights of the four hubs over the ground below them, and of the tyres as they are unloaded [m], in one
    configuration."""
    hubs = marker_motion(model, [f"{corner} wheel.origin" for corner in CORNERS], np.asarray(q)).position
    tyres: list[Any] = [model.force(f"{corner} tyre") for corner in CORNERS]
    heights = [x[2] - float(tyre.ground.elevation(x[0], x[1])) for x, tyre in zip(hubs, tyres, strict=True)]
    return np.array(heights), np.array(heights) - [tyre.radius for tyre in tyres]


def _check_clear(clear: FloatArray, t: float) -> None:
    if (clear <= 0.0).any():
        under = [corner for corner, h in zip(CORNERS, clear, strict=True) if h <= 0.0]
        raise InputError(
            f"bodies {_listed(under)} start inside the ground at t = {t:.4g} s: hubs are {-clear.min():.4g} m below "
            "it. Lift the start, or lower the ground."
        )


def _listed(corners: Any) -> str:
    return ", ".join(f"'{corner} wheel'" for corner in corners)


def buggy_rest(model: Model) -> Equilibrium:
    """The buggy at rest on level ground, its wheels not turned.

    >>> buggy_rest(buggy()).q.shape
    (38,)
    """
    held = {"chassis motion.x": 0.0, "chassis motion.y": 0.0} | {f"{corner} wheel hinge": 0.0 for corner in CORNERS}
    return equilibrium(model, at=held)


def lane_change(offset: float = 1.0) -> Spline:
    """The rack over time [m] of a double lane change: two bursts of a sine, first to the right of the rack.

        A sin(2 pi s) (4 s (1 - s))^2,    s = (t - t0) / T from 0 to 1, zero elsewhere

    with t0 = 1.3 s and T = 2.5 s, then t0 = 5.9 s and T = 2.1 s, as a spline over 12 s: twice continuously
    differentiable.

    Parameters
    ----------
    offset : float
        In parts of the amplitudes that move the buggy by 3.5 m and back at 11.9 m/s, as the track of ISO 3888-1 asks.

    >>> float(lane_change()(0.0)), bool(abs(lane_change()(1.8)) > 1e-3)
    (0.0, True)
    """
    times = np.linspace(0.0, 12.0, 241)
    values = np.zeros_like(times)
    for start, length, amplitude in BURSTS:
        s = np.clip((times - start) / length, 0.0, 1.0)
        values += offset * amplitude * np.sin(2.0 * np.pi * s) * (4.0 * s * (1.0 - s)) ** 2
    return Spline(times, values)
