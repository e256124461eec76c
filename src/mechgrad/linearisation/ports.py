"""Inputs and outputs of small motions: columns of B and D, rows of C.

An input is a generalized force on a coordinate, or any number of the model, of tau or of loads, held constant:

    x' = A x + B du,        y = y0 + C x + D du

Numbers that move joints or drive constraints take dependent coordinates with them, dq = q_p du, as parameters do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.linearisation.partials import Instant, Partials, equations
from mechgrad.linearisation.point import Point
from mechgrad.linearisation.reduction import Columns, Reduced, solve_rows
from mechgrad.measures.base import Measure, StateSamples
from mechgrad.mechanics.following import TORN
from mechgrad.model.forces import Motor
from mechgrad.model.functions import Constant
from mechgrad.model.model import Model
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.simulation.starts.base import coordinate_names
from mechgrad.tolerances import COMPLEX_STEP as STEP
from mechgrad.typing import FloatArray


@dataclass(frozen=True)
class Ports:
    """B (n, inputs), C (outputs, n), D (outputs, inputs), values of outputs y0 (outputs,), and names."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    B: FloatArray
    C: FloatArray
    D: FloatArray
    y0: FloatArray


@dataclass(frozen=True)
class _Changes:
    """What every coordinate and multiplier does with some numbers: (n_v or m, k)."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    lam: FloatArray


def ports(
    point: Point, at: Partials, columns: Columns, found: Reduced, inputs: Sequence[str], outputs: Any
) -> Ports:  # fmt: skip
    """Of a linearised mechanism."""
    paths = [_path(point.model, name) for name in inputs]
    parameters = Parameters(point, paths, needed=False)  # type: ignore[arg-type]
    if list(parameters.names) != paths:
        raise InputError(f"inputs {', '.join(inputs)} hold a pattern; name every input.")
    if wrong := [name for name in parameters.names if name.startswith("start.")]:
        raise InputError(f"input {wrong[0]!r} is a number of the start; inputs act while the mechanism moves.")
    by_inputs, B = _inputs(point, at, columns, found, parameters)
    names, C, D, y0 = _outputs(point, at, found, _named(point.model, outputs), parameters, by_inputs)
    return Ports(tuple(inputs), names, B, C, D, y0)


def _path(model: Model, name: str) -> str:
    """The path of an input: a coordinate stands for its generalized force, and so does a motor."""
    known = dict(zip(coordinate_names(model)[0], model.v_names, strict=True)) | {x: x for x in model.v_names}
    motors = {f.name: f for f in model.forces if isinstance(f, Motor) and f.name not in known}
    known |= {name: known[f.coordinate] for name, f in motors.items() if f.coordinate in known}
    if name in motors and name not in known and isinstance(motors[name].torque, Constant):
        return f"{name}.torque.value"  # on no coordinate of the tree: as the number that it is
    return f"tau.{known[name]}" if name in known else name


def _inputs(
    point: Point, at: Partials, columns: Columns, found: Reduced, parameters: Parameters
) -> tuple[_Changes, FloatArray]:
    """How everything follows inputs, z and u held, and B."""
    n, m, count = point.model.n_v, len(at.gamma), len(parameters)
    r_p, value, rate, second = (np.zeros((size, count)) for size in (n, m, m, m))
    now = point.instant
    here = Instant(now.q + 0j, now.v + 0j, now.a + 0j, now.lam + 0j, now.t)
    for k in range(count):
        moved = point.moved_system(parameters, k, np.zeros(n))
        r_p[:, k] = equations(moved, here)[0].imag / STEP
        rows = moved.constraints(here.q[None], here.v[None], here.a[None], here.t)
        for part, x in zip((value, rate, second), (rows.values, rows.rates, rows.seconds), strict=True):
            part[:, k] = x[0].imag / STEP
    h, f, g = columns.holonomic, len(columns.positions), len(columns.rates)
    q = solve_rows(at.gamma[:h], columns.positions, -value[:h], np.zeros((f, count)))
    v = solve_rows(at.gamma, columns.rates, -(rate + at.rate_q @ q), np.zeros((g, count)))
    a = solve_rows(at.gamma, columns.rates, -(second + at.second_q @ q + at.second_v @ v), np.zeros((g, count)))
    _require_closed(point, parameters, q)
    follow = found.following
    force = follow.v_u.T @ (r_p + at.K @ q + at.C @ v + at.M @ a)
    B = np.concatenate([(v + at.turning @ q)[columns.positions], -np.linalg.solve(found.mass, force)])
    a = a + follow.v_u @ B[f:]
    return _Changes(q, v, a, _multipliers(at, q, v, a, r_p)), B


def _require_closed(point: Point, parameters: Parameters, q: FloatArray) -> None:
    """Raise where rows that follow from others would be torn apart by a number."""
    kept = row_report(point.model).kept
    if len(kept) == len(point.rows):
        return
    for k in parameters.in_model:
        moved = System(parameters.moved(k), rows=kept, dtype=complex)
        there = np.asarray(point.model.integrate(point.q + 0j, 1j * STEP * q[None, :, k]))
        values = moved.constraints(there, t=point.t).values[0, : moved.n_holonomic].imag / STEP
        if np.abs(values).max(initial=0.0) > TORN * max(1.0, float(np.abs(q[:, k]).max())):
            raise AssemblyError(
                f"the constraints of model {point.model.name!r} cannot follow a change of {parameters.names[k]!r}: "
                "rows that depend on each other would be torn apart. Take a design variable that keeps loops closed."
            )


def _multipliers(
    at: Partials, q: FloatArray, v: FloatArray, a: FloatArray, r_p: FloatArray | float = 0.0
) -> FloatArray:
    """Changes of multipliers (m, k)."""
    b = at.M @ a + at.C @ v + at.K @ q + r_p
    if not len(at.gamma):
        return np.zeros((0, q.shape[1]))
    return -np.asarray(np.linalg.lstsq(at.gamma.T, b, rcond=None)[0])


def _named(model: Model, outputs: Any) -> dict[str, Measure]:
    """Measures by name."""
    given = outputs if isinstance(outputs, Mapping) else {x.label: x for x in _measures(outputs)}
    for name, measure in given.items():
        if not isinstance(measure, Measure):
            raise InputError(f"output {name!r} is {measure!r}; give measures, such as mg.measures.PointPosition('P').")
        measure.check_model(model, f"output {name!r}")
    return dict(given)


def _measures(outputs: Any) -> Sequence[Measure]:
    if isinstance(outputs, Measure):
        return (outputs,)
    wrong = [x for x in outputs if not isinstance(x, Measure)]
    if wrong:
        raise InputError(f"outputs hold {wrong[0]!r}; give measures, such as mg.measures.PointPosition('P').")
    return list(outputs)


def _outputs(
    point: Point, at: Partials, found: Reduced, measures: dict[str, Measure], parameters: Parameters, by_u: _Changes
) -> tuple[tuple[str, ...], FloatArray, FloatArray, FloatArray]:
    """Names of outputs, C, D and y0."""
    model, system, now, follow = point.model, point.system, point.instant, found.following
    f = follow.q_z.shape[1]
    n, zero = len(found.A), np.zeros((model.n_v, len(found.A) - f))
    q, v = np.hstack([follow.q_z, zero]), np.hstack([follow.v_z, follow.v_u])
    a = np.hstack([follow.a_z, follow.a_u]) + follow.v_u @ found.A[f:]
    by_x = _Changes(q, v, a, _multipliers(at, q, v, a))
    states = States(now.q[None], now.v[None], now.a[None], now.lam[None], point.t)
    samples = StateSamples(model, states, point.tau_given + point.holding, point.loads, system.names, "trapezoid")
    redundant = len(point.rows) < len(row_report(model).kept)
    names: list[str] = []
    C, D, y0 = [np.zeros((0, n))], [np.zeros((0, len(parameters)))], [np.zeros(0)]
    for name, measure in measures.items():
        if redundant and ("lam" in measure.uses.split() or measure.depends_on_forces):
            raise InputError(
                f"output {name!r} needs multipliers, and rows of model {model.name!r} depend on each other: how they "
                "share a load is open. Measure something else, or take away what is redundant (mg.mobility names it)."
            )
        values = np.asarray(measure.values(samples))[0]
        part = measure.partials(samples, parameters)
        both = []
        for change in (by_x, by_u):
            total = np.zeros((values.size, change.q.shape[1]))
            for slope, x in zip(part[:4], (change.q, change.v, change.a, change.lam), strict=True):
                if slope is not None:
                    total = total + slope[0] @ x
            both.append(total)
        if part.p is not None:
            both[1] = both[1] + part.p[0]
        C.append(both[0])
        D.append(both[1])
        y0.append(values.ravel())
        names += [name] if values.ndim == 0 else [f"{name}[{','.join(map(str, i))}]" for i in np.ndindex(values.shape)]
    return tuple(names), np.concatenate(C), np.concatenate(D), np.concatenate(y0)
