"""A motion once more, with other parameters: what complex steps and differences are made of."""

from __future__ import annotations

from typing import Any

from mechgrad.errors import InputError
from mechgrad.integrators.schemes import NewmarkFamily
from mechgrad.integrators.simulate import simulate
from mechgrad.integrators.trajectory import Trajectory
from mechgrad.model.mechanism import REFERENCE
from mechgrad.sensitivities.measures import Moments
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.states import States
from mechgrad.typing import Array


def moments_of(motion: Trajectory) -> Moments:
    """The reported states of a motion, to be measured."""
    states = States(motion.q, motion.v, motion.a, motion.multipliers, motion.t)
    rule = "trapezoid"
    if not isinstance(motion.scheme, NewmarkFamily) and len(motion.t) >= 10:
        rule = "gregory"
    return Moments(motion.model, states, motion.tau, motion.loads, motion.constraint_names, rule)


def repeated(motion: Trajectory, parameters: Parameters, values: Array) -> Trajectory:
    """The motion with other values of its parameters, complex ones too."""
    job: Any = motion.trace.job
    if motion.ended == "stop":
        raise InputError("the motion ended at a stop condition; where it ends depends on parameters.")
    model, forces, start_forces, numbers = parameters.changed(values)
    start, v0 = parameters.start.again(model, numbers, start_forces)
    return simulate(
        model, start, v0, duration=job.duration, formulation=job.formulation, scheme=job.scheme, step=job.step,
        samples=job.samples, tau=forces.tau, loads=forces.loads, t0=job.t0, rtol=job.rtol, atol=job.atol,
        reference="com" if motion.system.T.ints[REFERENCE] else "origin",
    )  # fmt: skip
