"""A design problem with two known optima: a pendulum thrown to +-0.2 rad; other processes can import its functions."""

from __future__ import annotations

import os
from typing import Any

import mechgrad as mg

ANGLE = mg.measures.JointCoordinate("pin")
TARGET = 0.2


def pendulum() -> mg.Model:
    """A mass on a massless rod of 1 m."""
    return mg.Model(
        "pendulum", [mg.Body("bob", mass=2, com=(0, 0, -1))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
    )


def thrown(duration: float = 1.0, t0: float = 0.0) -> mg.Trajectory:
    """From the lowest point with 1 rad/s."""
    model = pendulum()
    return mg.simulate(model, mg.assemble(model, {"pin": 0.0}, {"pin": 1.0}, t=t0), duration, t0=t0, step=0.01)


def miss(q: Any) -> Any:
    """Zero at both targets."""
    return (q**2 - TARGET**2) ** 2


def two_wells(scenarios: Any = None, minimize: Any = None) -> mg.DesignProblem:
    """Which velocity at the start leads to an angle of +-0.2 rad at the end: two optima, mirrored."""
    return mg.DesignProblem(
        thrown() if scenarios is None else scenarios, {"start.velocity.pin": (-4.0, 4.0)},
        mg.AtEnd(miss, ANGLE) if minimize is None else minimize,
    )  # fmt: skip


def deadly(q: Any) -> Any:
    """Ends the process that computes a swing to the left; harmless where this module was imported first by a test."""
    if multiprocessing_child() and float(getattr(q, "value", q)[-1]) < 0.0:
        os._exit(1)
    return miss(q)


def multiprocessing_child() -> bool:
    """Whether this is a process that another one started."""
    import multiprocessing

    return multiprocessing.parent_process() is not None
