"""Which derivative belongs to which steps."""

from __future__ import annotations

from typing import Protocol

from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.open_trees import FullyRecursive
from mechgrad.dynamics.states import StateGradients, StateSlopes
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.matrix_r.derivative import IndependentSteps
from mechgrad.steps.newmark.derivative import ImplicitSteps
from mechgrad.steps.recursive.derivative import RecursiveSteps
from mechgrad.steps.runge_kutta.derivative import ExplicitSteps
from mechgrad.steps.schemes import RK4, NewmarkFamily
from mechgrad.steps.weights import WeightSink
from mechgrad.typing import FloatArray


class Steps(Protocol):
    """The steps of a motion, differentiated."""

    def direct(self, parameters: Parameters, dq: FloatArray, dv: FloatArray) -> StateSlopes:
        """Derivatives of all reported states, from those of the start (np, n_v)."""

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v); the weights that parameters act with go to `sink`."""


def steps_of(motion: Trajectory, threads: int = 1) -> Steps:
    """The derivative of a motion's steps; implicit ones share the work among threads."""
    if not isinstance(motion.scheme, NewmarkFamily):
        recursive = isinstance(motion.trace.job.formulation, FullyRecursive) and isinstance(motion.scheme, RK4)
        return RecursiveSteps(motion) if recursive else ExplicitSteps(motion)
    if isinstance(motion.trace.job.formulation, MatrixR):
        return IndependentSteps(motion)
    return ImplicitSteps(motion, threads)
