"""How a motion's start depends on parameters: the assembly problem, differentiated.

    Phi(q, p) = 0,  h(q, p) = given              [ Gamma; H ] dq = [ -Phi_p; dgiven - h_p ]
    Gamma v = -Phi_t,  H v = given rates         the same at velocity level, along (dq, dp)

h are the quantities that `assemble` held. A tree has no constraints: its coordinates are the start values themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.errors import AssemblyError, InputError
from mechgrad.integrators.trajectory import Trajectory
from mechgrad.kinematics.assembly import assemble, least_squares
from mechgrad.kinematics.held import Equations, find_quantity
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import N_ALL, N_ROWS
from mechgrad.model.model import Model
from mechgrad.sensitivities.parameters import POSITION, VELOCITY, Parameters
from mechgrad.sensitivities.states import States, slopes
from mechgrad.typing import Array, FloatArray

MISS = 1e-7  # relative: what the equations may miss by before a parameter counts as one that tears loops apart


def start_value(motion: Trajectory, name: str) -> float:
    """The present value of a start parameter."""
    model, q, v = motion.model, motion.q[0], motion.v[0]
    kind = POSITION if name.startswith(POSITION) else VELOCITY
    quantity_name = name.removeprefix(kind)
    if not motion.system.n_constraints:
        j = model.v_names.index(quantity_name)
        if kind == VELOCITY:
            return float(v[j])
        plain = dict(zip(model._layout.plain_v.tolist(), model._layout.plain_q.tolist(), strict=True))
        return float(q[plain[j]]) if j in plain else 0.0
    rows = Equations.of(model, [find_quantity(model, quantity_name, rate=kind == VELOCITY)], q).at(q, v, motion.t[0])
    return float((rows.values if kind == POSITION else rows.rates)[-1].real)


def _quantities(motion: Trajectory, model: Model) -> tuple[list[Any], list[Any]]:
    start = motion.start
    held = [] if start is None else [find_quantity(model, name) for name in start.held]
    rates = [] if start is None else [find_quantity(model, name, rate=True) for name in start.held_rates]
    return held, rates


def start_slopes(motion: Trajectory, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """dq0/dp and dv0/dp, (np, n_v) each; positions along `model.integrate`."""
    model, n, t = motion.model, motion.model.n_v, float(motion.t[0])
    dq, dv = np.zeros((len(parameters), n)), np.zeros((len(parameters), n))
    q, v = np.asarray(motion.q[0], float), np.asarray(motion.v[0], float)
    loops = motion.system.n_constraints > 0
    if loops:
        held, rates = _quantities(motion, model)
        positions, velocities = Equations.of(model, held, q), Equations.of(model, rates, q)
        J, J_rate = positions.at(q, v, t).J[positions.finite_rows], velocities.at(q, v, t).J
        determined = least_squares(J, np.zeros(len(J)))[1] == n and least_squares(J_rate, np.zeros(len(J_rate)))[1] == n
    for k, name in enumerate(parameters.names):
        if not loops:
            if parameters.is_start(k):
                kind, out = (POSITION, dq) if name.startswith(POSITION) else (VELOCITY, dv)
                out[k, model.v_names.index(name.removeprefix(kind))] = 1.0
            continue
        if parameters.pushes(k):
            continue
        moved = model if parameters.is_start(k) else parameters.moved(k)
        quantities = _quantities(motion, moved)
        here = Equations.of(moved, quantities[0], q + 0j)
        b = -_row_slopes(here, q + 0j, v + 0j, t)[0][here.finite_rows]
        if name.startswith(POSITION):
            b[here.n_holonomic + motion.start.held.index(name.removeprefix(POSITION))] += 1.0  # type: ignore[union-attr]
        dq[k] = _solved(J, b, model, name, determined)
        displaced = np.asarray(model.integrate(q + 0j, 1j * STEP * dq[k]))
        there = Equations.of(moved, quantities[1], q + 0j)
        b = -_row_slopes(there, displaced, v + 0j, t)[1]
        if name.startswith(VELOCITY):
            b[there.n_constraints + motion.start.held_rates.index(name.removeprefix(VELOCITY))] += 1.0  # type: ignore[union-attr]
        dv[k] = _solved(J_rate, b, model, name, determined)
    return dq, dv


def _row_slopes(equations: Equations, q: Array, v: Array, t: float) -> tuple[FloatArray, FloatArray]:
    """Change of the values and rates of all equations along the imaginary parts of their numbers, q and v."""
    T, m = equations.T, equations.n_constraints
    state = States(q[None], v[None], np.zeros((1, len(v))), np.zeros((1, m)), np.array([t]))
    found = slopes(T, state, residual=False)
    values, rates = list(found.values[0, :m]), list(found.rates[0, :m])
    measured = iter(range(int(T.ints[N_ROWS]), int(T.ints[N_ALL])))
    for quantity in equations.held:
        if quantity.row is not None:
            k = next(measured)
            values.append(found.values[0, k])
            rates.append(found.rates[0, k])
        else:
            values.append(q[quantity.q_at].imag / STEP if quantity.q_at >= 0 else 0.0)
            rates.append(v[quantity.v_at].imag / STEP)
    return np.array(values), np.array(rates)


def _solved(J: Array, b: FloatArray, model: Model, name: str, determined: bool) -> FloatArray:
    if not np.abs(b).max(initial=0.0) > 0.0:
        return np.zeros(J.shape[1])
    if not determined:
        raise InputError(
            f"the start of model {model.name!r} depends on {name!r}, and what is held there does not say how. Start "
            "from mg.assemble(model, at={...}) with as many held quantities as there are degrees of freedom."
        )
    x = least_squares(J, b)[0].real
    miss = float(np.abs(J.real @ x - b).max())
    if miss > MISS * max(1.0, float(np.abs(b).max())):
        raise AssemblyError(
            f"{name!r} tears a loop of model {model.name!r} apart: its constraints cannot follow ({miss:.3g} per "
            "unit), so the motion has no derivative by it. Link it with the numbers that must change with it "
            "(DesignVariable)."
        )
    return np.asarray(x)


def repeated_start(motion: Trajectory, parameters: Parameters, values: Array, model: Model) -> tuple[Any, Any]:
    """What `simulate` starts with when parameters have other values: a State and None, or arrays q and v."""
    names, zero = parameters.names, 0.0 * values[0]
    steps = {names[k]: values[k] - parameters.value(k) for k in range(len(names)) if parameters.is_start(k)}
    q, v = motion.q[0] + zero, motion.v[0] + zero
    if not motion.system.n_constraints:
        change = np.zeros(model.n_v, q.dtype)
        for name, step in steps.items():
            kind, out = (POSITION, change) if name.startswith(POSITION) else (VELOCITY, v)
            out[model.v_names.index(name.removeprefix(kind))] += step
        return np.asarray(model.integrate(q, change)), v
    start = motion.start
    if start is None:
        return q, v
    at, rates = (
        {x: start_value(motion, kind + x) + steps.get(kind + x, zero) for x in held}
        for kind, held in ((POSITION, start.held), (VELOCITY, start.held_rates))
    )
    return assemble(model, at, rates, guess=motion.q[0], time=float(motion.t[0])), None
