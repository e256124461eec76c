"""Motions that geometry alone decides: drivers fix all degrees of freedom, and each instant follows from the last.

    Phi(q, t) = 0,  h(q) = f(t);    Gamma v = -Phi_t,  H v = f';    Gamma a = c,  H a + H' v = f''

From one instant to the next, q + dt v + dt^2/2 a predicts and Newton's method corrects. Where the correction is not
small against the prediction, or the determinant of the equations changes its sign, the step is halved: this is what
keeps a mechanism in the way it was put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import AssemblyError, InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.reactions import AXES, JointReactions
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.kinematics.assembly import assemble, linear_rates, newton, worst_rows
from mechgrad.kinematics.bodies import body_motion
from mechgrad.kinematics.held import Equations, find_quantity, find_values
from mechgrad.kinematics.mechanism import elements_of, evaluate_rows
from mechgrad.kinematics.mobility import independent_quantities, null_space
from mechgrad.mechanics.reactions import wrenches
from mechgrad.model.constraints import Driver
from mechgrad.model.functions import Function, Spline, as_function
from mechgrad.model.mechanism import N_ALL, R_FUNCTION
from mechgrad.model.rows import POINT
from mechgrad.simulation.motion import Motion
from mechgrad.steps.matrix_r.independent import named_rows
from mechgrad.tolerances import COMPLEX_STEP, RANK
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

HALVINGS = 12
LARGEST_TURN = 1.0  # of one step [rad]: beyond, a prediction from two derivatives is worth nothing
CORRECTION = 0.3  # largest correction that still is one and not a jump, as a part of the step; angles and lengths apart
ALWAYS_SMALL = 1e-3  # [rad or m]: corrections below this are accepted from any prediction
STENCIL = 1e-3  # [s]: second derivatives of plain callables, error of the order STENCIL^4 f''''''


@final
@dataclass(frozen=True, eq=False)
class GuidedMotion(Motion):
    """A motion that drivers decide.

    Attributes
    ----------
    model : Model
    t : (nt,) [s]
    q, v, a : (nt, n_q), (nt, n_v), (nt, n_v)
    held : tuple of str
        What was driven besides the constraints of the model.
    norms : (nt, 3)
        Largest miss of the rows in positions, velocities and accelerations.
    at : how what was held moves, as it was given

    >>> turning = kinematic_motion(pendulum, [0.0, 1.0], {"pin": mg.functions.Polynomial((0, 2))})
    >>> turning.markers(["bob.com"]).velocity[0, 0]
    array([-2.,  0.,  0.])
    >>> turning
    GuidedMotion of 'pendulum': 2 instants from 0 to 1 s, n_q = 1, n_v = 1; driven pin, positions missed by at most ...
    """

    held: tuple[str, ...]
    norms: FloatArray
    at: Mapping[Any, Any]

    def __repr__(self) -> str:
        driven = f"driven {', '.join(self.held)}" if self.held else "driven by its constraints"
        return (
            f"GuidedMotion of {self.model.name!r}: {len(self.t)} instants from {self.t[0]:.6g} to {self.t[-1]:.6g} s, "
            f"n_q = {self.model.n_q}, n_v = {self.model.n_v}; {driven}, positions missed by at most "
            f"{self.norms[:, 0].max():.1g}. Next: .t, .q, .v, .a, .markers([...]), .driving(), .reactions(), "
            ".efforts(force), .plot(), gradient(motion, ...)"
        )

    def _mechanism(self) -> System:
        return System(self.model, dtype=complex if np.iscomplexobj(self.q) else None)

    def _misses(self) -> Array:
        return self.norms

    def driving(self, loads: Sequence[Load] | None = None) -> dict[str, Array]:
        """What drives it: for everything that is held, and for each constraint of the model that follows a function of
        time, the generalized force that makes it follow, (nt,) [N m or N], positive where it pushes forwards.

        Constraints with several rows have one entry for each, "guide: point x". A driven distance is a strut: positive
        where it pushes its points apart.

        loads : external loads that act besides the forces of the model

        >>> turn = kinematic_motion(pendulum, [0.0, 1.0], {"pin": mg.functions.Polynomial((0, 0.5))})
        >>> bool(np.allclose(turn.driving()["pin"], 19.62 * np.sin(turn.q[:, 0])))
        True
        """
        found = guided_forces(self, loads)
        # a driver that holds its coordinate in one place is one all the same
        drivers = {c.name for c in self.model.constraints if isinstance(c, Driver)}
        moving = elements_of(self.model).rows_i[found.system.rows, R_FUNCTION] >= 0
        owners = [name.rpartition(": ")[0] or name for name in found.system.names]
        driven: dict[str, Array] = {}
        for name, owner, moves, y in zip(found.system.names, owners, moving, found.multipliers.T, strict=True):
            if moves or owner in drivers:
                driven[owner if owners.count(owner) == 1 else name] = -y
        return driven | dict(zip(self.held, -found.driving.T, strict=True))

    def reactions(self, axes: str = "world", loads: Sequence[Load] | None = None) -> JointReactions:
        """What every joint transmits over time, cut joints included, as `joint_reactions` says: what parents exert on
        children, drives at their own coordinates included.

        Accelerations are given here; multipliers, and the forces of what is driven besides the model, balance

            M a + h + Gamma^T lam + H^T s = Q

        loads : external loads that act besides the forces of the model
        """
        if axes not in AXES:
            raise InputError(f"axes is {axes!r}; choose one of {', '.join(map(repr, AXES))}.")
        model, found = self.model, guided_forces(self, loads)
        force, moment = wrenches(
            found.system, self.q, self.v, self.a, found.multipliers, self.t, model.joints, axes, found.loads(self)
        )
        return JointReactions(model.joint_names, force, moment, axes)


Drive = Callable[[float], tuple[Any, Any, Any]]
"""Value, rate and second rate at a time."""


def kinematic_motion(
    model: Model,
    t: ArrayLike,
    at: Mapping[Any, Any] | None = None,
    *,
    guess: ArrayLike | None = None,
    tolerance: float = 1e-12,
) -> GuidedMotion:
    """Positions, velocities and accelerations over time of a mechanism whose drivers fix all degrees of freedom.

        Phi(q, t) = 0,    h(q) = at(t)        and their first and second rates

    Parameters
    ----------
    t : (nt,)
        Increasing [s].
    at : mapping from names (as in `assemble`) to how they move, besides `Driver` and `GuidedPoint` of the model
        A `Function`; a number; (nt,) values at the times, joined by a cubic spline; or a callable of the time that
        returns (value, rate, second rate), or the value alone if it accepts complex numbers (its second rate is then
        good to about ten digits).
    guess : (n_q,), optional
        Where the search for the first instant starts; it decides how the mechanism is put together.
    tolerance : float
        Largest miss of a row [m or 1], for lengths up to a metre.

    Raises
    ------
    AssemblyError
        If some freedom is not driven, if the drivers cannot be followed, or at a dead point, where velocities are not
        determined.

    >>> crank = mg.constraints.Driver("motor", "pin", mg.functions.Harmonic(0.5, frequency=1.0))
    >>> driven = mg.Model("driven", pendulum.bodies, pendulum.joints, constraints=[crank])
    >>> kinematic_motion(driven, [0.0, 0.25]).q.ravel()
    array([0. , 0.5])
    """
    t = np.array(t, float)
    if t.ndim != 1 or not len(t) or not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise InputError(f"t has shape {t.shape}; give increasing, finite instants, at least one.")
    held = find_values(model, at)
    drives = [_as_drive(given, t, name) for name, (_, given) in held.items()]
    values = {name: drive(float(t[0]))[0] for name, drive in zip(held, drives, strict=True)}
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), *values.values())
    guide = _Guide(model, drives, equations, tolerance)
    start = assemble(model, values, guess=guess, t=float(t[0]), tolerance=tolerance)
    guide.check_determined(start.q, float(t[0]))
    instants = [guide.rates(start.q, float(t[0]), start.position_error)]
    for instant in t[1:]:
        instants.append(guide.advance(instants[-1], float(instant)))
    q, v, a = (np.array([getattr(x, name) for x in instants]) for name in ("q", "v", "a"))
    return GuidedMotion(model, t, q, v, a, tuple(held), np.array([x.norms for x in instants]), dict(at or {}))


class GuidedForces(NamedTuple):
    """What balances a guided motion: multipliers (nt, m) of the constraint rows, and of what is driven besides them
    (nt, held); the mechanism feels both with a minus."""

    system: System
    multipliers: Array
    driving: Array

    def loads(self, motion: GuidedMotion) -> list[Load]:
        """Drives of points and vectors as loads over time; those of coordinates act within their joints."""
        model, found = motion.model, []
        bodies = body_motion(model, motion.q)
        for name, y in zip(motion.held, self.driving.T, strict=True):
            row = find_quantity(model, name).row
            if row is None:
                continue
            place = row.places[0]
            if row.kind == POINT:
                found.append(Load(place.body, -y[:, None] * np.asarray(row.direction), point=place.local))
            else:
                u, e = bodies.of(place.body).R @ np.asarray(place.local), np.asarray(row.places[1].local)
                found.append(Load(place.body, torque=-y[:, None] * np.cross(u, e)))
        return found


def guided_forces(motion: GuidedMotion, loads: Sequence[Load] | None = None) -> GuidedForces:
    """The forces that a guided motion takes; the smallest ones where rows depend on each other.

    M a + h + Gamma^T lam + H^T s = Q        H: rows of what is driven besides the model
    """
    model, q, v, a, t = motion.model, motion.q, motion.v, motion.a, motion.t
    dtype = complex if np.iscomplexobj(q) else None
    system = System(model, None, loads, free=named_rows(model, motion.held), dtype=dtype)
    m, laws, last = system.n_constraints, system.n_rows, int(system.T.ints[N_ALL])
    J = evaluate_rows(system.T, q, v, None, t, 0, last).J
    y, _ = row_forces(system, q, v, a, np.zeros((len(q), m), system.dtype), t)
    unbalanced = inverse_dynamics(model.open_tree(), q, v, a, loads=list(system.loads))
    unbalanced = unbalanced + np.einsum("tkj,tk->tj", J[:, m:laws], y[:, m:laws])
    W = np.concatenate([J[:, :m], J[:, laws:last]], axis=1)
    found = -np.einsum("tkj,tj->tk", np.linalg.pinv(W.swapaxes(1, 2), rcond=RANK), unbalanced)
    return GuidedForces(system, found[:, :m], found[:, m:])


class _Instant(NamedTuple):
    t: float
    q: Array
    v: Array
    a: Array
    J: FloatArray
    norms: tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Guide:
    """Carries a motion from one instant to another."""

    model: Model
    drives: list[Drive]
    equations: Equations
    tolerance: float

    def target(self, t: float, order: int) -> Array:
        return np.array([drive(t)[order] for drive in self.drives], self.equations.dtype)

    def check_determined(self, q: Array, t: float) -> None:
        """Raise unless drivers and constraints fix all positions."""
        equations = self.equations
        J = equations.at(q.astype(equations.dtype), None, t).J[equations.finite_rows]
        free = null_space(J)
        if free.shape[1]:
            names = ", ".join(independent_quantities(self.model, q.real, free, t))
            raise AssemblyError(
                f"model {self.model.name!r} keeps {free.shape[1]} degree(s) of freedom at t = {t:g} s beside its "
                f"constraints and drivers. Drive them as well, for example {names}; at a dead "
                "point, start elsewhere."
            )

    def rates(self, q: Array, t: float, miss: float) -> _Instant:
        """Velocities and accelerations at a configuration."""
        equations = self.equations
        J = equations.at(q.astype(equations.dtype), None, t).J.real
        if left := null_space(J).shape[1]:
            raise AssemblyError(
                f"model {self.model.name!r} is at a dead point or change point at t = {t:g} s: its drivers leave "
                f"{left} velocities open. Shift the instants, or drive another coordinate."
            )
        v, miss_v = linear_rates(self.equations, q, None, t, self.target(t, 1))
        a, miss_a = linear_rates(self.equations, q, v, t, self.target(t, 2))
        return _Instant(t, q, v, a, J, (miss, miss_v, miss_a))

    def advance(self, last: _Instant, end: float) -> _Instant:
        """The instant at `end`, by steps that are halved while their correction is too large."""
        h, halvings = end - last.t, 0
        while last.t < end:
            t = end if last.t + 1.001 * h >= end else last.t + h
            step = self._step(last, t)
            if isinstance(step, str):
                halvings, h = halvings + 1, 0.5 * h
                if halvings > HALVINGS:
                    raise AssemblyError(
                        f"model {self.model.name!r} cannot follow its drivers beyond t = {last.t:.6g} s: {step} "
                        "Drive it within its reach, and around dead points."
                    )
                continue
            last, halvings, h = step, max(halvings - 1, 0), 2.0 * h
        return last

    def _step(self, last: _Instant, t: float) -> _Instant | str:
        """The instant at t, or why a shorter step is needed."""
        h, equations = t - last.t, self.equations
        target = self.target(t, 0)
        move = h * last.v + 0.5 * h * h * last.a
        if (turn := _largest(move, _angles(self.model, "v"))) > LARGEST_TURN:
            return f"in the next {h:.2g} s it would turn by {turn:.2g} rad."
        predicted = self.model.integrate(last.q, move)
        found = newton(equations, target, predicted, t, self.tolerance * equations.reach(target))
        if not found.closed:
            names = [equations.names[k] for k in equations.finite_rows]
            return f"the nearest configuration misses {worst_rows(names, found.miss)} [m or 1]."
        in_q, in_v = _angles(self.model, "q"), _angles(self.model, "v")
        for here, there in ((in_q, in_v), (~in_q, ~in_v)):
            jump = _largest(found.q - predicted, here)
            if jump > max(CORRECTION * _largest(move, there), ALWAYS_SMALL):
                return f"the configuration would jump by {jump:.2g} [rad or m]."
        new = self.rates(found.q, t, found.size)
        # the ratio of their determinants: two ways to put a mechanism together are parted by a singular configuration
        if np.linalg.det(np.linalg.pinv(last.J) @ new.J) <= 0.0:
            return "the mechanism would change the way it is put together."
        return new


def _angles(model: Model, which: str) -> Array:
    """Which entries of q or v belong to rotations."""
    return model.shared(
        ("angles", which),
        lambda m: np.array([not u.startswith("m") for j in m.tree_joints for u in getattr(j, f"{which}_units")], bool),
    )


def _largest(x: Array, chosen: Array) -> float:
    return float(np.abs(x.real[chosen]).max(initial=0.0))


def _as_drive(given: Any, t: FloatArray, name: str) -> Drive:
    if isinstance(given, Function):
        return _of_function(given)
    if callable(given):
        return lambda instant: _differentiated(given, instant, name)
    values = np.asarray(given)
    if values.ndim == 0:
        return _of_function(as_function(values[()], f"at[{name!r}]"))
    if values.shape != t.shape:
        raise InputError(
            f"at[{name!r}] has shape {values.shape}, but there are {len(t)} times. Give one value per time, a number, "
            "a Function, or a callable."
        )
    return _of_function(Spline(t, values, ends="not-a-knot" if len(t) >= 4 else "natural"))


def _of_function(f: Function) -> Drive:
    return lambda t: (f(t), f.rate(t), f.second(t))


def _differentiated(f: Callable[[Any], Any], t: float, name: str) -> tuple[Any, Any, Any]:
    value = f(t)
    if np.shape(value) == (3,):
        return value[0], value[1], value[2]

    def rate(at: float) -> float:
        return float(np.imag(f(complex(at, COMPLEX_STEP))) / COMPLEX_STEP)

    try:
        beside = [rate(t + k * STENCIL) for k in (-2, -1, 1, 2)]
        return value, rate(t), (beside[0] - 8.0 * beside[1] + 8.0 * beside[2] - beside[3]) / (12.0 * STENCIL)
    except TypeError as error:
        raise InputError(
            f"at[{name!r}] does not accept complex times ({error}), which is how its rate is found. Use functions of "
            "NumPy in it, or return (value, rate, second rate)."
        ) from error
