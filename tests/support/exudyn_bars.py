"""Bars in a plane that hinges join, in Exudyn: rows of parallelograms and chains between two pins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from support.exudyn_twins import SPARSE, Run, Solver, _point, _solve, _system, _watch, items

Array = np.ndarray
GROUND = -1


class Bar(NamedTuple):
    """Centre and angle [m, rad], their rates, and the length of a bar of 1 kg with its mass spread evenly."""

    centre: Array
    angle: float
    velocity: Array
    spin: float
    length: float = 1.0


class Hinge(NamedTuple):
    """Two bodies, `GROUND` or the number of a bar, and where along the bars from their centres, or on the ground."""

    first: int
    second: int
    at_first: Array
    at_second: Array


def bars_in_a_plane(
    bars: Sequence[Bar], hinges: Sequence[Hinge], step: float, duration: float, records: int = 0,
    solver: Solver = SPARSE, watched: int = 0,
) -> Run:  # fmt: skip
    """The motion of the centre of one bar; gravity 9.81 m/s^2 along -y."""
    mbs = _system()
    ground = mbs.AddObject(items.ObjectGround())
    bodies = []
    for bar in bars:
        node = mbs.AddNode(
            items.NodeRigidBody2D(
                referenceCoordinates=[*bar.centre, bar.angle], initialVelocities=[*bar.velocity, bar.spin]
            )
        )
        body = mbs.AddObject(items.ObjectRigidBody2D(mass=1.0, inertia=bar.length**2 / 12.0, nodeNumber=node))
        mbs.AddLoad(items.Force(markerNumber=_point(mbs, body, (0.0, 0.0)), loadVector=[0.0, -9.81, 0.0]))
        bodies.append(body)
    for hinge in hinges:
        ends = [
            _point(mbs, ground if body == GROUND else bodies[body], place)
            for body, place in ((hinge.first, hinge.at_first), (hinge.second, hinge.at_second))
        ]
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=ends))
    return _solve(mbs, _watch(mbs, bodies[watched], (0.0, 0.0, 0.0), records), step, duration, records, solver)


def four_bars(n: int, step: float, duration: float, records: int = 0, solver: Solver = SPARSE) -> Run:
    """The row of `mechgrad.gallery.four_bars`, upright with tops at 1 m/s; the centre of the last bar across."""
    low, high, across = np.array([-0.5, 0.0]), np.array([0.5, 0.0]), np.array([1.0, 0.0])
    bars = [Bar(np.array([i, 0.5]), np.pi / 2, 0.5 * across, -1.0) for i in range(n + 1)]
    bars += [Bar(np.array([i + 0.5, 1.0]), 0.0, across, 0.0) for i in range(n)]
    hinges = [Hinge(GROUND, i, np.array([float(i), 0.0]), low) for i in range(n + 1)]
    for i in range(n):
        hinges += [Hinge(i, n + 1 + i, high, low), Hinge(i + 1, n + 1 + i, high, high)]
    return bars_in_a_plane(bars, hinges, step, duration, records, solver, watched=2 * n)


def hanging_angles(n: int) -> Array:
    """Angles of the bars of a chain between two pins at one height, from 60 degrees down to 60 degrees up [rad]."""
    return np.deg2rad(120.0) * ((np.arange(n) + 0.5) / n - 0.5)


def closed_chain(n: int, step: float, duration: float, records: int = 0, solver: Solver = SPARSE) -> Run:
    """n bars of 1 m, at rest at first, between two pins; the centre of the bar in the middle."""
    angles = hanging_angles(n)
    along = np.column_stack([np.cos(angles), np.sin(angles)])
    ends = np.vstack([np.zeros(2), np.cumsum(along, axis=0)])
    rest, low, high = np.zeros(2), np.array([-0.5, 0.0]), np.array([0.5, 0.0])
    bars = [Bar(ends[k] + 0.5 * along[k], float(angles[k]), rest, 0.0) for k in range(n)]
    hinges = [Hinge(GROUND, 0, ends[0], low)]
    hinges += [Hinge(k, k + 1, high, low) for k in range(n - 1)]
    hinges += [Hinge(GROUND, n - 1, ends[-1], high)]
    return bars_in_a_plane(bars, hinges, step, duration, records, solver, watched=n // 2)
