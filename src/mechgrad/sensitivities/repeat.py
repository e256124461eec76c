"""A motion once more, with other parameters: what complex steps and differences are made of."""

from __future__ import annotations

from mechgrad.dynamics.states import States
from mechgrad.measures.base import StateSamples
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.simulation.simulate import simulate_again
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.base import StepMethod
from mechgrad.steps.methods import method_of
from mechgrad.typing import Array


def method_that_made(motion: Trajectory) -> StepMethod:
    """The kind of step that made a motion."""
    return method_of(motion.formulation, motion.scheme, motion.recipe.step is None)


def samples_of(motion: Trajectory) -> StateSamples:
    """The reported states of a motion, to be measured."""
    states = States(motion.q, motion.v, motion.a, motion.multipliers, motion.t)
    rule = "trapezoid"
    if method_that_made(motion).smooth_reports and len(motion.t) >= 10:
        rule = "gregory"
    return StateSamples(motion.model, states, motion.tau, motion.loads, motion.constraint_names, rule)


def refined(motion: Trajectory, per_step: int) -> Trajectory:
    """The same motion, the same steps, reported at every step and more: all fixed steps and those that implicit schemes
    controlled, or at least `per_step` instants for each of order eight. Itself, if it reports as many."""
    method = method_that_made(motion)
    reported, wanted = len(motion.t) - 1, method.outputs(motion.record, per_step)
    if wanted <= reported:
        return motion
    if method.nodes is not None:
        return Trajectory.of(method.nodes(motion.record), motion.recipe)
    return simulate_again(motion, motion.model, motion.recipe.start, samples=wanted + 1)


def repeated(
    motion: Trajectory, parameters: Parameters, values: Array, *, own_steps: bool = False, stops: bool = False
) -> Trajectory:
    """The motion with other values of its parameters, complex ones too; by the same steps, or by steps of its own; for
    its whole duration, or until its stop condition is met (`stops`)."""
    model, forces, start_forces, numbers = parameters.changed(values)
    start = parameters.start.again(model, numbers, start_forces)
    return simulate_again(motion, model, start, tau=forces.tau, loads=forces.loads, own_steps=own_steps, stops=stops)
