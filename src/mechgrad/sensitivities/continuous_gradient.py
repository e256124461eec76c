"""Gradients by continuous adjoints: which one belongs to which motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.errors import InputError, unknown_name
from mechgrad.sensitivities.continuous.ali3p_adjoint import ALI3PAdjoint
from mechgrad.sensitivities.continuous.first_order_adjoint import FirstOrderAdjoint
from mechgrad.sensitivities.continuous.index1_adjoint import Index1Adjoint
from mechgrad.sensitivities.continuous.linearised_motion import AdjointResult, Terminal
from mechgrad.sensitivities.continuous.matrix_r_adjoint import MatrixRAdjoint
from mechgrad.sensitivities.densities import densities, joined
from mechgrad.sensitivities.gradient_by_tables import TableGradient
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.repeat import samples_of
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.typing import FloatArray

VARIANTS = ("approach-1", "approach-2")

ADJOINTS: dict[str, Callable[[Trajectory], ContinuousAdjoint]] = {
    "first order": FirstOrderAdjoint,
    "index 1": Index1Adjoint,
    "Matrix R": MatrixRAdjoint,
    "ALI3-P": ALI3PAdjoint,
}
"""By `Formulation.adjoint_equations`."""


class ContinuousAdjoint(Protocol):
    """The differential adjoint equations of a formulation, along one motion."""

    def adjoint(self, g: StateGradients, terminal: Terminal) -> AdjointResult:
        """Gradients by the start and weights of parameters, from densities g and terminal terms."""


def adjoint_of(motion: Trajectory, variant: str | None = None) -> ContinuousAdjoint:
    """The continuous adjoint that belongs to the formulation of a motion.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> type(adjoint_of(swing)).__name__
    'FirstOrderAdjoint'
    """
    form = motion.formulation
    if variant is not None:
        if variant not in VARIANTS:
            raise unknown_name("variant", variant, VARIANTS)
        if form.adjoint_equations != "index 1":
            raise InputError(
                f"variant {variant!r} belongs to index-1 motions, and this one is of {form.name}. Leave it out."
            )
        return Index1Adjoint(motion, eliminate=variant != "approach-1")
    # recursive elimination solves index-1 equations where there are loops
    loops = form.recursive and motion.system.n_constraints > 0
    return ADJOINTS["index 1" if loops else form.adjoint_equations](motion)


def continuous_gradient(
    motion: Trajectory, objectives: Sequence[Objective], parameters: Parameters, variant: str | None = None
) -> FloatArray:
    """Derivatives of objectives by parameters (no, np), from the differential adjoint equations of the formulation.

        psi = integral g(q, v, a, lam, p) dt + Theta(q, v) at the end

    They are discretised by the trapezoidal rule at the instants of the motion, which `gradient` refines to all of its
    steps: an approximation of the derivative of the
    computed motion, whose error goes down with the square of the distance of the instants; for objectives of the
    multipliers of ALI3-P, which are of first order themselves, with the distance.

    Parameters
    ----------
    objectives : `Integral`, `AtEnd` of positions and velocities, and sums of these
    variant : "approach-1" or "approach-2", of index-1 motions: whether objectives are differentiated over time, or
        accelerations and multipliers eliminated from them first (the default)

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> height = mg.Integral(lambda x: x[:, 2], mg.measures.PointPosition("bob.com"))
    >>> continuous_gradient(swing, [height], Parameters(swing, ["bob.com.z"])).shape
    (1, 1)
    """
    at = samples_of(motion)
    parts = joined([densities(term, at, parameters) for term in objectives])
    found = adjoint_of(motion, variant).adjoint(parts.by_states, parts.terminal)
    dq, dv = parameters.start.slopes(parameters)
    tables = TableGradient(motion.system, len(parts.by_parameters), parameters)
    for weights in found.weights:
        tables.add(weights)
    return np.asarray(parts.by_parameters + found.yq @ dq.T + found.yv @ dv.T + tables.by_parameters())
