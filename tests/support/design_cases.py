"""Small design problems that several tests share; their kernels are those of any slider and pendulum."""

from __future__ import annotations

import numpy as np

import mechgrad as mg


def slider(mass: float = 2.0, **parts) -> mg.Model:
    """A mass on a straight slide, no gravity along it."""
    return mg.Model(
        "slider", [mg.Body("block", mass=mass)], [mg.Prismatic("x", "ground", "block", axis=(1, 0, 0))],
        gravity=(0, 0, 0), **parts,
    )  # fmt: skip


def driven() -> mg.Trajectory:
    """A slider with a motor of five knots, for a second."""
    knots = np.linspace(0.0, 1.0, 5)
    motor = mg.forces.Motor("motor", "x", mg.functions.Spline(tuple(knots), tuple(1.0 - knots)))
    return mg.simulate(slider(forces=[motor]), {"x": 0.0}, 1.0, step=0.05)


def rest_to_rest(motion: mg.Trajectory | None = None) -> mg.DesignProblem:
    """A metre from rest to rest with little effort."""
    position, velocity = mg.measures.JointCoordinate("x"), mg.measures.JointVelocity("x")
    return mg.DesignProblem(
        driven() if motion is None else motion,
        {"motor.torque.values.*": (-40.0, 40.0)},
        mg.Integral(lambda f: f**2, mg.measures.Effort("motor")),
        [
            mg.design.Limit(mg.AtEnd(position), 1.0, 1.0, "arrives"),
            mg.design.Limit(mg.AtEnd(velocity), 0.0, 0.0, "rests"),
        ],
    )
