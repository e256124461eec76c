"""A motion once more, with other parameters: what complex steps and differences are made of."""

from __future__ import annotations

from mechgrad.errors import InputError
from mechgrad.integrators.schemes import NewmarkFamily
from mechgrad.integrators.simulate import simulate_again
from mechgrad.integrators.trajectory import Trajectory
from mechgrad.sensitivities.measures import Moments
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.start import repeated_start
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
    if motion.ended == "stop":
        raise InputError("the motion ended at a stop condition; where it ends depends on parameters.")
    changed = {parameters.names[k]: values[k] for k in parameters.in_model}
    model = motion.model._moved(changed) if changed else motion.model
    start, v0 = repeated_start(motion, parameters, values, model)
    return simulate_again(motion, model, start, v0)
