"""Energies of states: kinetic, of gravity, of linear springs. Complex-safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.kinematics.marker_motions import marker_motion
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.mechanism import AT_LAW_NUMBERS, AT_LAWS, L_FIRST, L_KIND, LAW, LAW_NUMBERS, N_LAWS
from mechgrad.model.primitives.rows import SPRING
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def weightless_tree(model: Model) -> Model:
    """The bodies and tree joints of a model without gravity: its torques at v = 0 are M a."""
    return model.cached("weightless tree", lambda m: m.open_tree().with_values({f"gravity.{x}": 0.0 for x in "xyz"}))


def momenta(model: Model, q: Array, v: Array) -> Array:
    """M v of rows of states, without the matrix: O(n) [kg m^2/s, kg m/s]."""
    return np.asarray(inverse_dynamics(weightless_tree(model), q, None, v))


def kinetic_energy(model: Model, q: Array, v: Array) -> Array:
    """v . M v / 2 of rows of states [J]."""
    return np.asarray(0.5 * np.sum(momenta(model, q, v) * v, axis=1))


def potential_energy(model: Model, q: Array) -> Array:
    """Of gravity, -sum m g . x with x the centres of mass [J]; zero at the world's origin."""
    bodies = [body for body in model.bodies if body.mass]
    if not bodies:
        return np.zeros(len(q))
    x = marker_motion(model, [f"{body.name}.com" for body in bodies], q).position
    weights = np.array([body.mass for body in bodies])
    return np.asarray(-np.einsum("b,tbk,k->t", weights, x, np.asarray(model.gravity)))


def springs_of(system: System) -> tuple[list[int], list[int], Array]:
    """Linear springs of a system: positions of their laws, of their rows, and the laws' numbers (stiffness first, free
    value third)."""
    T = system.recursive
    laws = [k for k in range(int(T.ints[N_LAWS])) if T.ints[T.ints[AT_LAWS] + k * LAW + L_KIND] == SPRING]
    rows = [int(T.ints[T.ints[AT_LAWS] + k * LAW + L_FIRST]) for k in laws]
    numbers = np.array([T.numbers[T.ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS :][:3] for k in laws])
    return laws, rows, numbers


def spring_energy(system: System, q: Array, t: Array) -> Array:
    """Of linear springs, sum k (g - g0)^2 / 2, translational and rotational [J]."""
    laws, rows, numbers = springs_of(system)
    if not laws or not q.size:
        return np.zeros(len(q))
    g = evaluate_rows(system.recursive, q, None, None, t, 0, system.n_rows, jacobians=False).values[:, rows]
    return np.asarray((0.5 * numbers[:, 0] * (g - numbers[:, 2]) ** 2).sum(axis=1))
