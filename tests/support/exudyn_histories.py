"""Histories that Exudyn makes: a double pendulum and a four-bar with springs, planar rigid bodies, its own integrator.

What identification is to find is known there, and nothing of mechgrad takes part: absolute coordinates of bodies with
joints between them, the trapezoidal rule of index 2. Its error is of second order: a third of the difference between
two runs, one with half the step of the other, is the error of the finer one (Richardson). Every history comes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import atan2
from typing import Any

import numpy as np

from support import exudyn_twins as twins
from support.exudyn_twins import exu, items

Array = np.ndarray
STEP = 1e-4  # s, the finer one of two


@dataclass(frozen=True)
class Bar:
    """A planar bar from one hinge to another: length, mass, distance of its centre of mass, inertia about that."""

    length: float
    mass: float
    com: float
    inertia: float


@dataclass(frozen=True)
class DoublePendulum:
    """Two bars that hang from a hinge with a spring and a damper; angles from -y, that of the lower bar relative."""

    upper: Bar = Bar(0.8, 1.2, 0.35, 0.06)
    lower: Bar = Bar(0.6, 0.7, 0.25, 0.02)
    stiffness: float = 8.0
    damping: float = 0.4
    angles: tuple[float, float] = (0.6, 0.3)
    gravity: float = 9.81


@dataclass(frozen=True)
class FourBar:
    """Crank, coupler and rocker; a spring with a damper from a point on the ground to the pin of coupler and rocker."""

    crank: Bar = Bar(0.4, 0.8, 0.2, 0.012)
    coupler: Bar = Bar(1.0, 1.5, 0.45, 0.13)
    rocker: Bar = Bar(0.8, 1.1, 0.4, 0.06)
    ground: float = 1.1
    anchor: tuple[float, float] = (1.7, 0.9)
    stiffness: float = 60.0
    damping: float = 3.0
    free_length: float = 0.5
    angle: float = 1.2  # of the crank at the start, at rest
    gravity: float = 9.81


@dataclass(frozen=True)
class History:
    """What was measured: instants (n,), values (n, k), and an estimate of the integration error of all of them."""

    t: Array
    values: Array
    error: float


def double_pendulum(duration: float, records: int, data: DoublePendulum = DoublePendulum()) -> History:
    """Both angles, the lower one relative to the upper bar [rad]."""

    def run(step: float) -> tuple[Array, Array]:
        first = data.angles[0] - np.pi / 2
        turned = (first, first + data.angles[1])
        elbow = data.upper.length * _along(turned[0])
        mbs = twins._system()
        ground = mbs.AddObject(items.ObjectGround())
        upper, lower = (
            _bar(mbs, bar, at, angle, data.gravity)
            for bar, at, angle in ((data.upper, np.zeros(2), turned[0]), (data.lower, elbow, turned[1]))
        )
        _hinge(mbs, twins._point(mbs, ground, (0.0, 0.0)), upper.first)
        _hinge(mbs, upper.last, lower.first)
        still = mbs.AddNode(items.NodePointGround())
        # coordinates count from where the bodies are at first: the spring is free at an angle of zero
        angles = [mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=n, coordinate=k)) for n, k in
                  ((still, 0), (upper.node, 2))]  # fmt: skip
        mbs.AddObject(
            items.ObjectConnectorCoordinateSpringDamper(
                markerNumbers=angles, stiffness=data.stiffness, damping=data.damping, offset=-data.angles[0]
            )
        )
        t, rows = _march(mbs, [_coordinates(mbs, x.node) for x in (upper, lower)], step, duration, records)
        absolute = [row[:, 2] for row in rows]
        return t, np.column_stack([data.angles[0] + absolute[0], data.angles[1] + absolute[1] - absolute[0]])

    return _history(run)


def four_bar(duration: float, records: int, data: FourBar = FourBar()) -> History:
    """The angle of the crank [rad], and x and y of the pin of coupler and rocker [m]."""
    B = data.crank.length * _along(data.angle)
    D = np.array([data.ground, 0.0])
    C = _corner(B, D, data.coupler.length, data.rocker.length)

    def run(step: float) -> tuple[Array, Array]:
        mbs = twins._system()
        ground = mbs.AddObject(items.ObjectGround())
        crank, coupler, rocker = (
            _bar(mbs, bar, at, atan2(*(to - at)[::-1]), data.gravity)
            for bar, at, to in ((data.crank, np.zeros(2), B), (data.coupler, B, C), (data.rocker, D, C))
        )
        _hinge(mbs, twins._point(mbs, ground, (0.0, 0.0)), crank.first)
        _hinge(mbs, crank.last, coupler.first)
        _hinge(mbs, coupler.last, rocker.last)
        _hinge(mbs, twins._point(mbs, ground, D), rocker.first)
        mbs.AddObject(
            items.ObjectConnectorSpringDamper(
                markerNumbers=[twins._point(mbs, ground, data.anchor), rocker.last],
                stiffness=data.stiffness, damping=data.damping, referenceLength=data.free_length,
            )
        )  # fmt: skip
        end = items.SensorBody(
            bodyNumber=rocker.body, localPosition=[data.rocker.length - data.rocker.com, 0.0, 0.0],
            outputVariableType=exu.OutputVariableType.Position, storeInternal=True, writeToFile=False,
        )  # fmt: skip
        watch = [_coordinates(mbs, crank.node), mbs.AddSensor(end)]
        t, (turned, pin) = _march(mbs, watch, step, duration, records)
        return t, np.column_stack([data.angle + turned[:, 2], pin[:, :2]])

    return _history(run)


# ---------------------------------------------------------------------------------------------------- pieces
@dataclass(frozen=True)
class _Built:
    body: int
    node: int
    first: int
    last: int


def _along(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


def _corner(B: Array, D: Array, b: float, c: float) -> Array:
    """Where bars of lengths b from B and c from D meet, above the line from B to D."""
    d = D - B
    s = np.linalg.norm(d)
    x = (b**2 - c**2 + s**2) / (2.0 * s)
    return np.asarray(B + (x * d + np.sqrt(b**2 - x**2) * np.array([-d[1], d[0]])) / s)


def _bar(mbs: Any, bar: Bar, at: Array, angle: float, gravity: float) -> _Built:
    place = at + bar.com * _along(angle)
    node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*place, angle]))
    body = mbs.AddObject(items.ObjectRigidBody2D(mass=bar.mass, inertia=bar.inertia, nodeNumber=node))
    ends = [twins._point(mbs, body, (x, 0.0)) for x in (0.0, -bar.com, bar.length - bar.com)]
    mbs.AddLoad(items.Force(markerNumber=ends[0], loadVector=[0.0, -bar.mass * gravity, 0.0]))
    return _Built(int(body), int(node), *ends[1:])


def _hinge(mbs: Any, one: int, other: int) -> None:
    mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[one, other]))


def _coordinates(mbs: Any, node: int) -> int:
    kind = exu.OutputVariableType.Coordinates
    return int(
        mbs.AddSensor(items.SensorNode(nodeNumber=node, outputVariableType=kind, storeInternal=True, writeToFile=False))
    )


def _march(mbs: Any, watch: list[int], step: float, duration: float, records: int) -> tuple[Array, list[Array]]:
    mbs.Assemble()
    settings = exu.SimulationSettings()
    time = settings.timeIntegration
    time.numberOfSteps, time.endTime, time.verboseMode = round(duration / step), duration, 0
    time.newton.useModifiedNewton = True
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = duration / records
    if not mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2):
        raise RuntimeError(f"Exudyn stopped, with steps of {step:g} s")
    rows = [mbs.GetSensorStoredData(sensor) for sensor in watch]
    return rows[0][1:, 0], [row[1:, 1:] for row in rows]


def _history(run: Callable[[float], tuple[Array, Array]]) -> History:
    (t, fine), (_, coarse) = run(STEP), run(2.0 * STEP)
    return History(t, fine, float(np.abs(fine - coarse).max()) / 3.0)
