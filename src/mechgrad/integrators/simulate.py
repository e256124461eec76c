"""From a state to a motion: open trees, explicit methods, the loop compiled.

q' = N(q) v        M(q) v' = tau + sum J^T load - h(q, v)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechgrad.errors import InputError, SingularMassMatrixError
from mechgrad.integrators import dop853
from mechgrad.integrators.kernels import explicit as _kernels
from mechgrad.integrators.trajectory import StepFailed, Trajectory
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.inverse.loads import Load, LoadTable, compile_loads, loads_are_complex
from mechgrad.kinematics.batch import tree_of
from mechgrad.model.tree import Tree
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

RK4_A = np.zeros((4, 4))
RK4_A[1, 0], RK4_A[2, 1], RK4_A[3, 2] = 0.5, 0.5, 1.0
RK4_B = np.array([1, 2, 2, 1]) / 6.0
for _table in (RK4_A, RK4_B):
    _table.setflags(write=False)

MOST_STEPS = 10_000_000
PARTS = 20  # of a march between two looks at a stop condition or a report

_REASONS = {
    _kernels.BAD_NUMBER: "a number is not finite any more",
    _kernels.SINGULAR: "the mass matrix is singular: some coordinate moves no inertia",
    _kernels.TOO_SMALL: "the step became too small for the tolerance",
    _kernels.TOO_MANY: f"more than {MOST_STEPS} steps",
}


class _March(NamedTuple):
    """Everything a kernel needs that does not change along the march."""

    model: Model
    tree: Tree
    tau: Array  # (1 or batch, n_v)
    table: LoadTable
    loads: tuple[Load, ...]
    rtol: float
    atol: float

    def arguments(self, q: Array, v: Array) -> tuple[Any, ...]:
        t = self.tree
        atoms_f = t.atoms_f.astype(complex) if q.dtype == complex and t.dtype is float else t.atoms_f
        return (
            t.atoms_i, atoms_f, q, v, self.tau, self.table.indices, self.table.rows(slice(0, 1)),
        )  # fmt: skip


def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    *,
    method: str | None = None,
    step: float | None = None,
    samples: int | None = None,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    stop: Callable[[Array, Array, Array], ArrayLike] | None = None,
    progress: bool = False,
) -> Trajectory:
    """Motion of a tree from a state, under gravity, constant generalized forces and loads.

    Parameters
    ----------
    q0, v0 : (n_q,), (n_v,), or (batch, ...) for many starts at once (method "rk4", in SIMD lanes)
    duration : float [s]
    method : "dop853" or "rk4"
        Order 8 with error control (default), or the classical method of order 4 with a fixed `step` (default if a
        step is given).
    step : float [s]
        Of "rk4"; the first trial step of "dop853".
    samples : int
        Number of instants reported, both ends included: 201, or every step of "rk4".
    tau : (n_v,), loads : list of Load
        Constant along the motion.
    rtol, atol : float
        Tolerances of the error control, relative and absolute [rad, m, and per second].
    stop : function (t (nt,), q (nt, n_q), v (nt, n_v)) -> (nt,)
        The motion ends where this changes sign, found to rounding by the order-8 method.
    progress : bool
        Print how far the march has come.

    Returns
    -------
    Trajectory

    Raises
    ------
    StepFailed
        If the march cannot go on; its `.trajectory` is the motion so far.

    >>> swing = simulate(model, [0.5], duration=2.0)
    >>> bool(np.ptp(swing.energy()) < 1e-7)
    True
    """
    q, v, single = _state(model, q0, v0)
    if not 0 < duration < np.inf:
        raise InputError(f"duration is {duration}; it must be positive [s].")
    method = method or ("dop853" if step is None else "rk4")
    if method not in ("dop853", "rk4"):
        raise InputError(f"method is {method!r}; choose 'dop853' or 'rk4'.")
    if step is not None and not 0 < step <= duration:
        raise InputError(f"step is {step}; it must be positive and not longer than the duration, {duration} s.")
    if not (rtol > 0 and atol > 0):
        raise InputError(f"rtol = {rtol}, atol = {atol}; tolerances must be positive.")
    if stop is not None and not single:
        raise InputError("a stop condition ends one motion; give one start, or look at the batch afterwards.")
    march = _prepared(model, q, tau, loads, rtol, atol)
    forward_dynamics(model, q, v, march.tau, loads=list(march.loads))  # names a coordinate that moves no inertia
    if method == "dop853":
        if not single or q.dtype == complex:
            raise InputError("method 'dop853' takes one real start; give a step (method 'rk4') for batches.")
        return _adaptive(march, q, v, float(duration), step, samples or 201, stop, progress)
    if step is None:
        raise InputError("method 'rk4' needs a step [s].")
    return _fixed(march, q, v, float(duration), step, samples, single, stop, progress)


def _state(model: Model, q0: ArrayLike, v0: ArrayLike | None) -> tuple[Array, Array, bool]:
    if model.n_v == 0:
        raise InputError(f"model {model.name!r} cannot move.")
    q = np.asarray(q0)
    v = np.zeros((*q.shape[:-1], model.n_v)) if v0 is None else np.asarray(v0)
    single = q.ndim == 1
    dtype = complex if np.iscomplexobj(q) or np.iscomplexobj(v) or tree_of(model).dtype is complex else float
    rows = []
    for name, x, n in (("q0", q, model.n_q), ("v0", v, model.n_v)):
        if x.ndim not in (1, 2) or x.shape[-1] != n or (x.ndim == 2) == single:
            raise InputError(
                f"{name} has shape {x.shape}; model {model.name!r} needs ({n},), or (batch, {n}) for both."
            )
        x = np.ascontiguousarray(np.atleast_2d(x), dtype=dtype).copy()
        bad = np.argwhere(~np.isfinite(x))
        if bad.size:
            names = model.q_names if name == "q0" else model.v_names
            raise InputError(f"{name} of {names[bad[0, 1]]!r} is {x[tuple(bad[0])]}; finite numbers are needed.")
        rows.append(x)
    if len(rows[0]) != len(rows[1]):
        raise InputError(f"q0 has {len(rows[0])} starts and v0 {len(rows[1])}.")
    return rows[0], rows[1], single


def _prepared(
    model: Model, q: Array, tau: ArrayLike | None, loads: Sequence[Load] | None, rtol: float, atol: float
) -> _March:
    tree = tree_of(model)
    forces = np.zeros(model.n_v) if tau is None else np.asarray(tau)
    if forces.shape != (model.n_v,) or not np.all(np.isfinite(forces)):
        raise InputError(
            f"tau has shape {forces.shape}; give {model.n_v} finite numbers, in the order of model.v_names."
        )
    if loads_are_complex(loads) and q.dtype != complex:
        raise InputError("complex loads need a complex start: q0 + 0j.")
    table = compile_loads(model, tree, loads, 1, complex if q.dtype == complex else float)
    rows = np.ascontiguousarray(np.broadcast_to(forces.astype(q.dtype), (len(q), model.n_v))).copy()
    return _March(model, tree, rows, table, tuple(loads or ()), rtol, atol)


def _report(progress: bool, share: float, t: float) -> None:
    if progress:
        sys.stdout.write(f"\r  {100 * share:3.0f} %  t = {t:.4g} s" + ("\n" if share >= 1 else ""))
        sys.stdout.flush()


def _trajectory(
    march: _March, t: Array, q: Array, v: Array, steps: int, rejected: int, ended: str, finite: bool = True
) -> Trajectory:
    q_, v_ = (np.ascontiguousarray(x.reshape(-1, x.shape[-1])) for x in (q, v))
    tau, a = march.tau[0], np.full_like(v_, np.nan)
    if len(q_) and finite:
        with suppress(SingularMassMatrixError):  # the end of a motion that ran into it
            a = forward_dynamics(march.model, q_, v_, tau, loads=list(march.loads))
    return Trajectory(march.model, t, q, v, a.reshape(v.shape), tau, march.loads, steps, rejected, ended)


def _failed(march: _March, reason: int, t: float, trajectory: Trajectory, hint: str) -> StepFailed:
    return StepFailed(
        f"the motion of {march.model.name!r} ends at t = {t:.6g} s: {_REASONS[reason]}. {hint} The motion until then "
        "is in `.trajectory` of this error.",
        trajectory,
    )


# ------------------------------------------------------------------------------------------------------ error control
def _first_step(march: _March, q: Array, v: Array, duration: float) -> float:
    """A cautious first step: a hundredth of the time in which the velocities change by their tolerance-free size."""
    a = forward_dynamics(march.model, q, v, march.tau, loads=list(march.loads))
    size, speed, change = (float(np.max(np.abs(x), initial=0.0)) for x in (q, v, a))
    guess = 0.01 * min(max(size, 0.1) / max(speed, 1e-6), max(speed, 0.1) / max(change, 1e-6))
    return min(max(guess, 1e-8 * duration), 0.1 * duration)


def _adaptive(
    march: _March,
    q: Array,
    v: Array,
    duration: float,
    step: float | None,
    samples: int,
    stop: Callable[[Array, Array, Array], ArrayLike] | None,
    progress: bool,
) -> Trajectory:
    if samples < 2:
        raise InputError(f"samples is {samples}; give at least 2.")
    t = np.linspace(0.0, duration, samples)
    Q, V = np.empty((samples, q.shape[1])), np.empty((samples, v.shape[1]))
    h = _first_step(march, q, v, duration) if step is None else step
    parts = PARTS if stop is not None or progress else 1
    done, steps, rejected = 0, 0, 0
    Q[0], V[0], done = q[0], v[0], 1
    for part in range(parts):
        ends = part * (samples - 1) // parts, (part + 1) * (samples - 1) // parts
        if ends[0] == ends[1]:
            continue
        here = slice(ends[0] + 1, ends[1] + 1)
        got, reason, s, r, h, at = _kernels.adaptive_one(
            *march.arguments(Q[ends[0]][None].copy(), V[ends[0]][None].copy()), dop853.A, dop853.B, dop853.D, dop853.E3,
            dop853.E5, t[ends[0]], t[ends[1]], h, march.rtol, march.atol, MOST_STEPS, t[here], Q[here], V[here],
        )  # fmt: skip
        done, steps, rejected = done + got, steps + s, rejected + r
        if reason != _kernels.DONE:
            partial = _trajectory(march, t[:done], Q[:done], V[:done], steps, rejected, _REASONS[reason])
            raise _failed(march, reason, at, partial, "Loosen rtol and atol, or look at what happens there.")
        if stop is not None:
            crossed = _crossing(stop, t[ends[0] : done], Q[ends[0] : done], V[ends[0] : done])
            if crossed is not None:
                return _stopped(march, stop, t, Q, V, ends[0] + crossed, steps, rejected)
        _report(progress, (part + 1) / parts, t[ends[1]])
    return _trajectory(march, t, Q, V, steps, rejected, "duration")


def _signs(stop: Callable[[Array, Array, Array], ArrayLike], t: Array, q: Array, v: Array) -> Array:
    values = np.asarray(stop(t, q, v), float)
    if values.shape != t.shape:
        raise InputError(f"stop returned shape {values.shape} for {t.size} instants; it must return ({t.size},).")
    if not np.all(np.isfinite(values)):
        raise InputError(f"stop returned {values[~np.isfinite(values)][0]} at t = {t[~np.isfinite(values)][0]:g} s.")
    return values


def _crossing(stop: Callable[[Array, Array, Array], ArrayLike], t: Array, q: Array, v: Array) -> int | None:
    """The first instant after which the sign differs from that before."""
    values = _signs(stop, t, q, v)
    changes = np.flatnonzero((values[:-1] != 0) & (np.sign(values[:-1]) != np.sign(values[1:])))
    return int(changes[0]) if changes.size else None


def _stopped(
    march: _March,
    stop: Callable[[Array, Array, Array], ArrayLike],
    t: Array,
    Q: Array,
    V: Array,
    k: int,
    steps: int,
    rejected: int,
) -> Trajectory:
    """The motion until the stop condition changes sign between instants k and k + 1, found by halving."""
    low, high = t[k], t[k + 1]
    q, v = Q[k].copy(), V[k].copy()
    before = _signs(stop, t[k : k + 1], Q[k : k + 1], V[k : k + 1])[0]
    while high - low > 1e-13 * max(abs(high), t[-1]):
        middle = 0.5 * (low + high)
        out_q, out_v = np.empty((1, q.size)), np.empty((1, v.size))
        _kernels.adaptive_one(
            *march.arguments(q[None].copy(), v[None].copy()), dop853.A, dop853.B, dop853.D, dop853.E3, dop853.E5, low,
            middle, middle - low, march.rtol, march.atol, MOST_STEPS, np.array([middle]), out_q, out_v,
        )  # fmt: skip
        if np.sign(_signs(stop, np.array([middle]), out_q, out_v)[0]) == np.sign(before):
            low, q, v = middle, out_q[0], out_v[0]
        else:
            high = middle
    t = np.append(t[: k + 1], low)
    return _trajectory(march, t, np.vstack([Q[: k + 1], q]), np.vstack([V[: k + 1], v]), steps, rejected, "stop")


# --------------------------------------------------------------------------------------------------------- fixed step
def _fixed(
    march: _March,
    q: Array,
    v: Array,
    duration: float,
    step: float,
    samples: int | None,
    single: bool,
    stop: Callable[[Array, Array, Array], ArrayLike] | None,
    progress: bool,
) -> Trajectory:
    n_steps = max(1, round(duration / step))
    if abs(n_steps * step - duration) > 1e-9 * duration:
        raise InputError(
            f"{duration} s are not a whole number of steps of {step} s; take {duration / n_steps:.12g} s, or another "
            "duration."
        )
    outputs = n_steps + 1 if samples is None else samples
    if outputs < 2 or n_steps % (outputs - 1):
        raise InputError(
            f"{n_steps} steps cannot give {outputs} evenly spaced samples; choose samples - 1 that divides them."
        )
    every, h = n_steps // (outputs - 1), duration / n_steps
    t = np.linspace(0.0, duration, outputs)
    Q = np.empty((outputs, len(q), q.shape[1]), q.dtype)
    V = np.empty((outputs, len(q), v.shape[1]), q.dtype)
    kernel = _kernels.fixed_complex if q.dtype == complex else _kernels.fixed_one if single else _kernels.fixed_lanes
    parts = PARTS if single and (stop is not None or progress) else 1
    Q[0], V[0] = q, v
    for part in range(parts):
        ends = part * (outputs - 1) // parts, (part + 1) * (outputs - 1) // parts
        if ends[0] == ends[1]:
            continue
        here = slice(ends[0], ends[1] + 1)
        got, reason = kernel(
            *march.arguments(Q[ends[0]].copy(), V[ends[0]].copy()), RK4_A, RK4_B, h, every, Q[here], V[here]
        )
        last = ends[0] + got
        finite = reason == _kernels.DONE and bool(np.all(np.isfinite(V[last - 1])))
        if not finite:
            reason = _kernels.BAD_NUMBER if reason == _kernels.DONE else reason
            whole = last if single else 0
            clean = bool(np.all(np.isfinite(V[:whole])))
            states = _shaped(Q[:whole], V[:whole], single)
            partial = _trajectory(march, t[:whole], *states, whole * every, 0, _REASONS[reason], clean)
            raise _failed(march, reason, t[min(last, outputs - 1)], partial, "Take a shorter step, or method='dop853'.")
        if stop is not None:
            crossed = _crossing(stop, t[here], Q[here, 0], V[here, 0])
            if crossed is not None:
                k = ends[0] + crossed
                return _stopped(march, stop, t, Q[:, 0], V[:, 0], k, k * every, 0)
        _report(progress, (part + 1) / parts, t[ends[1]])
    return _trajectory(march, t, *_shaped(Q, V, single), n_steps, 0, "duration")


def _shaped(Q: Array, V: Array, single: bool) -> tuple[Array, Array]:
    """(nt, n) for one start, (batch, nt, n) for many."""
    if single:
        return Q[:, 0], V[:, 0]
    return np.ascontiguousarray(Q.swapaxes(0, 1)), np.ascontiguousarray(V.swapaxes(0, 1))
