"""Certificates for what makes a mechanism more than a tree: closures, constraints, forces, drivers and motors.

    equations of motion    r = M a + h - Q + Gamma^T lam      by q, v, a and numbers of the model (`motion_terms`)
    constraints            values, rates and second rates     the same (`constraint_terms`)
    forward dynamics       a and lam                          by q, v, tau, numbers of the model and of loads

All hold at any state, whether it closes the loops or not, so states are random as for trees; multipliers and the time
are, too. Partials by q, v, a are those of `motion_terms` and `constraint_terms`; those by numbers of the model come
from the gradient by all tables of the mechanism, the way that gradients of motions take. Complex steps through the
equations judge them; central differences judge what `constraint_terms` finds by complex steps itself. Accelerations
and multipliers are judged by complex steps through their solution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mechgrad.dynamics.index1 import REGULAR
from mechgrad.dynamics.kernels.states import linearised_states
from mechgrad.dynamics.states import States as Motion
from mechgrad.dynamics.system import System
from mechgrad.dynamics.terms import constraint_terms, motion_terms
from mechgrad.errors import SingularMassMatrixError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.mechanics.acceleration_derivatives import forward_dynamics_derivatives
from mechgrad.mechanics.accelerations import mechanism_accelerations
from mechgrad.model.model import Model
from mechgrad.sensitivities.gradient_by_tables import TableGradient
from mechgrad.sensitivities.model_families import Family, States
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.numbers import Numbers
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

__all__ = ["acceleration_family", "constraint_family", "motion_family"]

DEPENDENT = 1e3 * REGULAR  # of Gamma M^-1 Gamma^T: below, what keeps its equations regular shows in the solution
ROUNDING = 1e-13  # that solving linear equations amplifies by their condition


def random_time(seed: int) -> float:
    """When: at 0 functions of time may stand at an end or at a zero."""
    return float(np.random.default_rng([seed, 1]).uniform(0.1, 0.9))


class _At:
    """States of a mechanism, with what gradients ask of a motion."""

    start = None

    def __init__(self, model: Model, state: States, lam: FloatArray, t: float) -> None:
        self.model, self.q, self.v = model, state.q, state.v
        self.t = np.full(state.nt, t)
        self.system = System(model, None, state.loads, rows=row_report(model).kept)
        self.tau, self.loads = self.system.tau, self.system.loads
        self.states = Motion(state.q, state.v, state.u, lam, self.t)

    def by_tables(self, paths: tuple[str, ...], width: int, weights: Callable[[FloatArray], Weights]) -> FloatArray:
        """Derivatives (nt, width, np) of what unit weights (nt * width, nt, width) pick out."""
        nt = len(self.t)
        if not paths or not width:
            return np.zeros((nt, width, len(paths)))
        parameters = Parameters(self, paths)  # type: ignore[arg-type]
        tables = TableGradient(self.system, nt * width, parameters)
        tables.add(weights(np.eye(nt * width).reshape(nt * width, nt, width)))
        return tables.by_parameters().reshape(nt, width, len(paths))


def motion_family(model: Model, state: States, numbers: Numbers, tolerance: float, seed: int) -> Family:
    """The residual of the equations of motion, with random multipliers."""
    rows, t = row_report(model).kept, random_time(seed)
    lam = np.random.default_rng([seed, 2]).uniform(-2.0, 2.0, (state.nt, len(rows)))
    found = motion_terms(model, *state.parts, lam, t=t, loads=state.loads)
    at = _At(model, state, lam, t)
    by_numbers = at.by_tables(numbers.paths, model.n_v, lambda units: Weights(at.states, units))

    def answer(changed: Model, q: Array, v: Array, a: Array, loads: list[Load]) -> Array:
        n, count = changed.n_v, len(q)
        is_complex = any(np.iscomplexobj(x) for x in (q, v, a))
        system = System(changed, None, state.loads, rows=rows, dtype=complex if is_complex else None)
        arrays: list[Array] = [np.array(x, system.dtype) for x in (q, v, a, np.tile(lam, (count // state.nt, 1)))]
        r: Array = np.zeros((count, n), system.dtype)
        parts: list[Array] = [np.zeros((count, n * n), system.dtype) for _ in range(3)]
        bad = linearised_states(system.T, *arrays, np.full(count, t), r, *parts)
        system.users.raise_pending()
        return np.asarray(np.where(np.arange(count)[:, None] == bad, np.nan, r))

    given = {"dq": found.r_q, "dv": found.r_v, "da": found.M, "dp": by_numbers}
    return Family("equations of motion", model.v_names, state, answer, given, numbers, tolerance)


def constraint_family(model: Model, state: States, numbers: Numbers, tolerance: float, seed: int) -> Family | None:
    """Constraint rows on all levels; None if there are none."""
    rows, t = row_report(model).kept, random_time(seed)
    system = System(model, rows=rows)
    if not len(rows):
        return None
    found = constraint_terms(model, *state.parts, t=t)
    at = _At(model, state, np.zeros((state.nt, len(rows))), t)
    by_numbers = [
        at.by_tables(numbers.paths, system.n_holonomic, lambda units: Weights(at.states, None, w0=units)),
        at.by_tables(numbers.paths, len(rows), lambda units: Weights(at.states, None, w1=units)),
        at.by_tables(numbers.paths, len(rows), lambda units: Weights(at.states, None, w2=units)),
    ]
    h, nothing = system.n_holonomic, np.zeros_like(found.gamma)  # rows of velocities have no values
    levels = {
        "dq": (found.gamma, found.rate_q, found.second_q),
        "dv": (nothing, found.gamma, found.second_v),
        "da": (nothing, nothing, found.gamma),
    }
    given = {key: np.concatenate((x[0][:, :h], x[1], x[2]), axis=1) for key, x in levels.items()}
    given["dp"] = np.concatenate(by_numbers, axis=1)
    names = (*(f"{n}" for n in system.names[:h]), *(f"{n}'" for n in system.names), *(f"{n}''" for n in system.names))

    def answer(changed: Model, q: Array, v: Array, a: Array, loads: list[Load]) -> Array:
        is_complex = any(np.iscomplexobj(x) for x in (q, v, a))
        there = System(changed, rows=rows, dtype=complex if is_complex else None)
        values = there.constraints(q, v, a, t)
        return np.concatenate((values.values[:, :h], values.rates, values.seconds), axis=1)

    by_differences = frozenset({"dq", "dv"})
    return Family("constraints", names, state, answer, given, numbers, tolerance, by_differences)


def acceleration_family(
    model: Model, state: States, numbers: Numbers, tolerance: float, seed: int, notes: list[str]
) -> Family | None:
    """Accelerations and multipliers under forces that random accelerations would take; None, with a note, where they
    are not determined or have no derivative."""
    t, kept = random_time(seed), row_report(model).kept
    terms, rows = motion_terms(model, *state.parts, t=t, loads=state.loads), constraint_terms(model, state.q)
    condition = 1.0
    for M, gamma in zip(terms.M, rows.gamma, strict=True):
        # coordinates have units: each is measured by its own inertia
        scale = 1.0 / np.sqrt(np.where(np.diagonal(M) > 0.0, np.diagonal(M), 1.0))
        unit, jacobian = M * np.outer(scale, scale), gamma * scale
        condition = max(condition, float(np.linalg.cond(unit)))
        if condition > 1.0 / ROUNDING:
            break  # singular; the solution says which coordinate moves no inertia
        sizes = np.linalg.eigvalsh(jacobian @ np.linalg.solve(unit, jacobian.T))
        if len(gamma) and sizes[0] < DEPENDENT:
            notes.append(
                "forward dynamics is not checked: constraint rows depend on each other here, or nearly so, and off the "
                "constraints accelerations have no derivative."
            )
            return None
        condition = max(condition, float(sizes[-1] / sizes[0])) if len(gamma) else condition
    there = state._replace(u=terms.r)
    try:
        D = forward_dynamics_derivatives(model, *there.parts, t=t, loads=there.loads, wrt=numbers.paths)
    except SingularMassMatrixError as error:
        notes.append(f"forward dynamics is not checked: {error}")
        return None
    if ROUNDING * condition > tolerance:
        tolerance = ROUNDING * condition
        notes.append(f"accelerations are accepted to {tolerance:.0e}: their equations have condition {condition:.0e}.")
    given = {name: getattr(D, name) for name in ("dq", "dv", "dtau", "dp")}
    if D.multipliers is not None:
        given = {name: np.concatenate([x, getattr(D.multipliers, name)], axis=1) for name, x in given.items()}

    def answer(changed: Model, q: Array, v: Array, tau: Array, loads: list[Load]) -> Array:
        return np.concatenate(mechanism_accelerations(changed, q, v, tau, t=t, loads=loads, rows=kept), axis=1)

    names = (*model.v_names, *(f"lam of {name}" for name in rows.names))
    return Family("forward dynamics", names, there, answer, given, numbers, tolerance)
