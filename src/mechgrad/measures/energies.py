"""Energies, with gradients in a few passes that are linear in the number of joints.

    T = v . M v / 2         T_v = M v,    T_q = (M v)_q^T v / 2,    T_p = v . M_p v / 2        residuals at a = v, v = 0
    V = -g . S + springs    V_q: the forces that hold the tree at rest,    S = sum of masses times centres

S shows in the moment that the ground exerts on a mechanism whose ground is accelerated by u:  S x u. So with a probe of
the ground and  u x w = -g,  -g . S = w . (S x u)  is a weighted residual, whose gradient by all parameters is one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.inverse.probes import probed
from mechgrad.inverse.second_order import inverse_dynamics_gradient
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.kinematics.marker_motions import marker_motion
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.measures.base import Gradients, Measure, StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.measures.probing import ProbedCase
from mechgrad.mechanics.energies import kinetic_energy, potential_energy, spring_energy, springs_of, weightless_tree
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import AT_LAW_NUMBERS, LAW_NUMBERS, N_ALL
from mechgrad.steps.gradients_by_state import gradients_by_state
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

GROUND = "ground"


@final
@dataclass(frozen=True)
class KineticEnergy(Measure):
    """v . M v / 2 over time, (nt,) [J].

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.KineticEnergy()), ["bob.mass"]).shape
    (1, 1)
    """

    uses: ClassVar[str] = "q v"
    unit: ClassVar[str] = "J"

    def values(self, at: StateSamples) -> Array:
        return kinetic_energy(at.model, at.states.q, at.states.v)

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        q, v, _, lam, t = at.states
        here = States(q, np.zeros_like(v), v, np.zeros_like(lam), t)
        by_q, _, half = inverse_dynamics_gradient(weightless_tree(at.model), q, None, v, 0.5 * v)
        residuals = Weights(here, _first(0.5 * weights * v[:, None, :]), forced=False)
        by_p = parameters.weighted(weights.shape[1], [residuals])
        return Gradients(weights * by_q[:, None, :], weights * (2.0 * half)[:, None, :], p=by_p)


@final
@dataclass(frozen=True)
class PotentialEnergy(Measure):
    """Of gravity and of linear springs over time, (nt,) [J].

    >>> PotentialEnergy()
    PotentialEnergy()
    """

    uses: ClassVar[str] = "q"
    unit: ClassVar[str] = "J"

    def values(self, at: StateSamples) -> Array:
        return potential_energy(at.model, at.states.q) + spring_energy(at.system(), at.states.q, at.states.t)

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        by_q = inverse_dynamics(at.model.open_tree(), at.states.q)
        by_p = np.zeros((weights.shape[1], len(parameters)))
        if parameters.in_model:
            by_p += _weight_by_parameters(at, parameters, weights)
        springs_q, springs_p = _springs(at, parameters, weights)
        return Gradients(weights * (by_q + springs_q)[:, None, :], p=by_p + springs_p)


def _first(x: FloatArray) -> FloatArray:
    """Weights (nt, k, .) as (k, nt, .)."""
    return np.ascontiguousarray(x.swapaxes(0, 1))


def _weight_by_parameters(at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> FloatArray:
    """What parameters do to the energy of gravity, (k, np)."""
    q, v, a, lam, t = at.states
    g = np.asarray(at.model.gravity, float)
    result = np.zeros((weights.shape[1], len(parameters)))
    size = float(np.sqrt(g @ g))
    if size:
        u = np.cross(g, np.eye(3)[int(np.argmin(np.abs(g)))])
        u /= np.sqrt(u @ u)
        w = np.cross(u, g)  # u x (u x g) = -g
        case = ProbedCase(at, at.model.cached("probe of the ground", lambda m: probed(m, ground=True)))
        here = case.states(q, 0 * v, 0 * a, 0 * lam, t)
        turns, slides = np.split(case.probes.probes[GROUND], 2)
        here.a[:, slides] = u
        mu = np.zeros((*weights.shape[:2], case.model.n_v))
        mu[:, :, turns] = weights * w
        result += case.by_parameters(parameters, weights.shape[1], [Weights(here, _first(mu), forced=False)])
    return result + _gravity_by_parameters(at, parameters, weights)


def _gravity_by_parameters(at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> FloatArray:
    """-S . dg/dp, (k, np)."""
    result = np.zeros((weights.shape[1], len(parameters)))
    change: dict[int, FloatArray] = {}
    for k in parameters.in_model:
        for path, factor in at.model.path_derivative(parameters.names[k]):
            if path.startswith("gravity."):
                change.setdefault(k, np.zeros(3))["xyz".index(path[-1])] += factor
    bodies = [body for body in at.model.bodies if body.mass]
    if change and bodies:
        x = marker_motion(at.model, [f"{body.name}.com" for body in bodies], at.states.q).position
        S = np.einsum("b,tbi->ti", np.array([body.mass for body in bodies]), x)
        for k, g_p in change.items():
            result[:, k] = -weights[:, :, 0].T @ (S @ g_p)
    return result


def _springs(at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> tuple[Any, FloatArray]:
    """What coordinates (nt, n_v) and parameters (k, np) do to the energy of springs."""
    system, count = parameters.motion.system, weights.shape[1]
    laws, rows, numbers = springs_of(system)
    if not laws:
        return 0.0, np.zeros((count, len(parameters)))
    T = system.recursive
    found = evaluate_rows(T, at.states.q, None, None, at.states.t, 0, system.n_rows, jacobians=False)
    stretch = found.values[:, rows] - numbers[:, 2]
    force = numbers[:, 0] * stretch
    w, forces = weights[:, :, 0].T, np.zeros((1, len(stretch), int(T.ints[N_ALL])))
    for j, row in enumerate(rows):
        forces[0, :, row] += force[:, j]
    by_q = gradients_by_state(system, Weights(at.states, None, forces)).q[:, 0]
    w0 = w[:, :, None] * forces
    by_p = parameters.weighted(count, [Weights(at.states, None, w0)])
    knots = {k for positions, *_ in parameters.knots() for k in positions}  # of splines, which springs have none of
    for k in set(parameters.in_model) - knots:
        change = parameters.record(k).numbers.imag / STEP
        for j, law in enumerate(laws):
            first = int(T.ints[AT_LAW_NUMBERS]) + law * LAW_NUMBERS
            if change[first]:
                by_p[:, k] += change[first] * (w @ (0.5 * stretch[:, j] ** 2))
            if change[first + 2]:
                by_p[:, k] -= change[first + 2] * (w @ force[:, j])
    return by_q, by_p
