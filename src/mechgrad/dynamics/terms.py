"""The terms that formulations are written on: the residual of motion and the constraints, with all partials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.kernels import states as _kernels
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.model.columns import STEP, expand_paths
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class MotionTerms:
    """r = M a + h - Q + Gamma^T lam and its partials; a leading axis nt for many states.

    Attributes
    ----------
    r : (n_v,) what the equations of motion miss [N m, N]
    r_q, r_v, M : (n_v, n_v) partials by q (along `model.integrate`), v and a
    r_p : (n_v, np) by parameters
    """

    r: Array
    r_q: Array
    r_v: Array
    M: Array
    r_p: Array
    parameters: tuple[str, ...]


@final
@dataclass(frozen=True, eq=False)
class ConstraintTerms:
    """Constraint rows that act, and their partials; a leading axis nt for many states.

    Attributes
    ----------
    names : of the m rows
    value, rate, second : (m,) value, first and second time derivative; value is 0 for rows of velocities
    rate_t, second_t : (m,) rate at v = 0, and second rate at v = 0 and a = 0: what time alone does
    gamma : (m, n_v) value by q, rate by v, second rate by a
    rate_q, second_q, second_v : (m, n_v)
    curvature : (n_v, n_v) of Gamma^T y by q, y the multipliers given
    value_p, rate_p, second_p : (m, np) by parameters;   gamma_p : (n_v, np) of Gamma^T y
    """

    names: tuple[str, ...]
    value: Array
    rate: Array
    second: Array
    rate_t: Array
    second_t: Array
    gamma: Array
    rate_q: Array
    second_q: Array
    second_v: Array
    curvature: Array
    value_p: Array
    rate_p: Array
    second_p: Array
    gamma_p: Array
    parameters: tuple[str, ...]


def motion_terms(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    multipliers: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    wrt: str | Sequence[str] = (),
) -> MotionTerms:
    """Residual of the equations of motion of any mechanism, with its partials by q, v, a and parameters.

        r(q, v, a, lam, t) = M a + h - Q + Gamma^T lam

    Partials by q, v and a are analytic, those by parameters complex steps: exact to rounding. v, a and multipliers are
    zero if left out.

    >>> motion_terms(model, [0.3], wrt=["bob.mass"]).r_p.shape
    (1, 1)
    """
    states = _States(model, q, v, a, t)
    lam = states.multipliers(multipliers)
    n, paths = model.n_v, expand_paths(model, wrt)

    def linearised(system: System) -> list[Array]:
        dtype = system.dtype
        r: Array = np.zeros((states.count, n), dtype)
        parts: list[Array] = [np.zeros((states.count, n * n), dtype) for _ in range(3)]
        arrays: list[Array] = [np.array(x, dtype, order="C") for x in (states.q, states.v, states.a, lam)]
        bad = _kernels.linearised_states(system.T, *arrays, states.t.copy(), r, *parts)
        system.users.raise_pending()
        if bad >= 0:
            raise InputError(f"state {bad} holds a number that is not finite, or the forces on it do.")
        return [r, *(x.reshape(-1, n, n) for x in parts)]

    rows = row_report(model).kept
    r, r_q, r_v, M = linearised(System(model, tau, loads, rows=rows))
    r_p = np.zeros((states.count, n, len(paths)))
    for k, path in enumerate(paths):
        r_p[:, :, k] = linearised(System(_stepped(model, path), tau, loads, rows=rows))[0].imag / STEP
    arrays = {"r": r, "r_q": r_q, "r_v": r_v, "M": M, "r_p": r_p}
    return MotionTerms(parameters=paths, **{k: states.shaped(x) for k, x in arrays.items()})


def constraint_terms(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    multipliers: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    wrt: str | Sequence[str] = (),
) -> ConstraintTerms:
    """Constraint rows of a mechanism (closures of cut joints, constraints) with every derivative that dynamics needs.

        value(q, t),    rate = Gamma v + rate_t,    second = Gamma a + ..

    Values, rates and Gamma are analytic; second_q, second_v, the curvature and what parameters do are complex steps:
    exact to rounding. v, a and multipliers are zero if left out.

    >>> constraint_terms(model, [0.3]).gamma.shape
    (0, 1)
    """
    states = _States(model, q, v, a, t)
    y = states.multipliers(multipliers)
    n, paths = model.n_v, expand_paths(model, wrt)
    rows = row_report(model).kept
    system, twin = System(model, rows=rows), System(model, rows=rows, dtype=complex)
    here = system.constraints(states.q, states.v, states.a, states.t)
    m = system.n_constraints
    rest = system.constraints(states.q, None, None, states.t)
    second_q, second_v = np.zeros((states.count, m, n)), np.zeros((states.count, m, n))
    curvature = np.zeros((states.count, n, n))
    for j in range(n if m else 0):
        step = 1j * STEP * np.eye(n)[j]
        moved = np.asarray(model.integrate(states.q + 0j, np.tile(step, (states.count, 1))))
        by_q = twin.constraints(moved, states.v, states.a, states.t)
        second_q[:, :, j] = by_q.seconds.imag / STEP
        curvature[:, :, j] = np.einsum("tm,tmn->tn", y, by_q.J.imag) / STEP
        second_v[:, :, j] = twin.constraints(states.q, states.v + step, states.a, states.t).seconds.imag / STEP
    by_p = [np.zeros((states.count, m, len(paths))) for _ in range(3)]
    gamma_p = np.zeros((states.count, n, len(paths)))
    for k, path in enumerate(paths):
        stepped = System(_stepped(model, path), rows=rows, dtype=complex)
        found = stepped.constraints(states.q, states.v, states.a, states.t)
        for part, x in zip(by_p, (found.values, found.rates, found.seconds), strict=True):
            part[:, :, k] = x.imag / STEP
        gamma_p[:, :, k] = np.einsum("tm,tmn->tn", y, found.J.imag) / STEP
    arrays = {
        "value": here.values, "rate": here.rates, "second": here.seconds, "rate_t": rest.rates,
        "second_t": rest.seconds, "gamma": here.J, "rate_q": here.J_rate, "second_q": second_q, "second_v": second_v,
        "curvature": curvature, "value_p": by_p[0], "rate_p": by_p[1], "second_p": by_p[2], "gamma_p": gamma_p,
    }  # fmt: skip
    return ConstraintTerms(system.names, parameters=paths, **{k: states.shaped(x) for k, x in arrays.items()})


class _States:
    """Batches of states from single ones."""

    def __init__(self, model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, t: ArrayLike) -> None:
        self.model, self.single = model, np.ndim(q) == 1  # type: ignore[arg-type]
        self.q: FloatArray = np.atleast_2d(np.asarray(q, float))
        self.count = len(self.q)
        self.v, self.a = (
            np.zeros((self.count, model.n_v)) if x is None else np.atleast_2d(np.asarray(x, float)) for x in (v, a)
        )
        for name, x, size in (("q", self.q, model.n_q), ("v", self.v, model.n_v), ("a", self.a, model.n_v)):
            if x.shape != (self.count, size):
                raise InputError(f"{name} has shape {x.shape}; model {model.name!r} needs ({self.count}, {size}).")
        self.t = np.array(np.broadcast_to(np.asarray(t, float), (self.count,)))

    def multipliers(self, given: ArrayLike | None) -> FloatArray:
        """One per constraint row that acts."""
        names = row_report(self.model).names
        y = np.zeros((self.count, len(names))) if given is None else np.atleast_2d(np.asarray(given, float))
        if y.shape != (self.count, len(names)):
            raise InputError(
                f"multipliers have shape {y.shape}; there are {len(names)} rows: {', '.join(names[:6]) or 'none'}."
            )
        return y

    def shaped(self, x: Array) -> Array:
        """Without the leading axis for a single state."""
        return x[0] if self.single else x


def _stepped(model: Model, path: str) -> Model:
    """The model with an imaginary step along a parameter."""
    return model.stepped({path: model.value(path) + 1j * STEP})
