"""What a simulation returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, final, overload

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, MechgradError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.inverse.tree_reactions import JointReactions
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.kinematics.state import State, state
from mechgrad.mechanics.power import Power
from mechgrad.mechanics.reactions import joint_reactions
from mechgrad.simulation.motion import Motion
from mechgrad.steps.cuts import Cut, as_cuts
from mechgrad.steps.dense import read, read_batch
from mechgrad.steps.independent.choices import Chosen
from mechgrad.steps.methods import method_of
from mechgrad.steps.record import Record
from mechgrad.steps.schemes import Scheme
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.simulation.recipe_data import RecipeData

WITHIN = 1e-9  # of a motion: times that are outside by less are its ends


class StatesBetween(NamedTuple):
    """A motion at some times, as `Trajectory.at` reads it; many starts come first, (batch, k, .).

    t : (k,) [s];   q, v, a : (k, n_q), (k, n_v), (k, n_v);   multipliers : (k, m)
    norms : (k, 3) of constraint values, rates and second rates
    """

    t: FloatArray
    q: Array
    v: Array
    a: Array
    multipliers: Array
    norms: Array


@final
@dataclass(frozen=True, eq=False)
class Trajectory(Motion):
    """A motion over time; for a batch of starts all arrays of states have the batch as their first axis.

    Attributes
    ----------
    model : Model
    t : (nt,) [s]
    q, v, a : (nt, n_q), (nt, n_v), (nt, n_v)
    tau : (n_v,) generalized forces that acted, loads besides
    loads : external loads
    multipliers : (nt, m)
        Of the constraint rows that act, named by `constraint_names`; on the mechanism acts -Gamma^T lam.
    norms : (nt, 3)
        Norms of constraint values, rates and second rates.
    iterations : (nt,) or None
        Newton iterations since the instant before, of implicit schemes.
    steps, rejected : int
        Steps that were taken (one that had to be divided counts once: `cuts`), and trial steps that were not: beyond
        the tolerance, or across a switch of a contact.
    events : (k,)
        Instants at which contacts began or ceased to push, as DOP853 finds them [s]; other schemes do not look.
    ended : str
        "duration", "stop" if the stop condition was met, or why the march could not go on.
    formulation, scheme : how it was computed; `simulate` takes them as they are
    start : State of `assemble` or Equilibrium of `equilibrium` that it began with, or None
    recipe : all that makes it once more, with other numbers too
    record : what the march left, for those who differentiate its steps
    seconds : that its steps took, compilation included [s]; NaN of what was cut out of another motion

    >>> mg.simulate(model, {"pin": 0.5}, duration=2.0)
    Trajectory of 'pendulum': 201 instants from 0 to 2 s, n_q = 1, n_v = 1; ended by duration after ... steps ...
    """

    record: Record
    recipe: RecipeData[Trajectory]
    seconds: float = math.nan

    @classmethod
    def of(cls, record: Record, recipe: RecipeData[Trajectory], seconds: float = math.nan) -> Trajectory:
        """The motion of a record."""
        return cls(record.model, record.t, record.q, record.v, record.a, record, recipe, seconds)

    @property
    def system(self) -> System:
        """The mechanism that moved, made ready for its equations of motion."""
        return self.record.system

    @property
    def tau(self) -> Array:
        """Generalized forces that acted, (n_v,)."""
        return self.system.tau

    @property
    def loads(self) -> tuple[Load, ...]:
        """External loads that acted."""
        return self.system.loads

    @property
    def multipliers(self) -> Array:
        """Of the constraint rows that act, (nt, m)."""
        return self.record.multipliers

    @property
    def norms(self) -> Array:
        """Norms of constraint values, rates and second rates, (nt, 3)."""
        return self.record.norms

    @property
    def steps(self) -> int:
        """How many steps were taken; one that had to be divided counts once."""
        return self.record.steps

    @property
    def rejected(self) -> int:
        """Trial steps that were not taken."""
        return self.record.rejected

    @property
    def iterations(self) -> IntArray | None:
        """Newton iterations since the instant before, (nt,), of implicit schemes."""
        return self.record.iterations

    @property
    def dense_steps(self) -> int:
        """Steps that dense matrices took, since the factors of sparse ones had lost digits there."""
        return self.record.dense_steps

    @property
    def events(self) -> FloatArray:
        """Instants at which contacts began or ceased to push, as DOP853 finds them [s]."""
        return self.record.events

    @property
    def ended(self) -> str:
        """By "duration", by "stop", or why the march could not go on."""
        return self.record.ended

    @property
    def formulation(self) -> Formulation:
        """How the equations of motion were written."""
        return self.record.formulation

    @property
    def scheme(self) -> Scheme:
        """How time was stepped."""
        return self.record.scheme

    @property
    def start(self) -> State | Equilibrium | None:
        """State of `assemble` or Equilibrium of `equilibrium` that it began with; None where numbers were given."""
        return None if self.recipe.start.way == "given" else self.recipe.start

    def __repr__(self) -> str:
        many = f"{len(self.q)} motions, " if self.q.ndim == 3 else ""
        rows = f", {self.system.n_constraints} constraint rows" if self.system.n_constraints else ""
        how = f"ended by {self.ended}" if self.ended in ("duration", "stop") else f"ended early: {self.ended}"
        ends = [f"{float(np.real(self.t[k])):.6g}" for k in (0, -1)] if len(self.t) else []
        span = f" from {ends[0]} to {ends[1]} s" if ends else ""
        cuts = f", {len(self.cuts)} of them divided (.cuts)" if self.cuts else ""
        return (
            f"Trajectory of {self.model.name!r}: {many}{len(self.t)} instants{span}, n_q = {self.model.n_q}, n_v = "
            f"{self.model.n_v}{rows}; {how} after {self.steps} steps{cuts} ({self.formulation}, {self.scheme!r}). "
            "Next: .t, .q, .v, .a, .markers([...]), .energy(), .reactions(), .efforts(force), .plot(), "
            ".report('x.html'), "
            "gradient(motion, ...)"
        )

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraint rows, in the order of the multipliers."""
        return self.system.names

    @property
    def choices(self) -> tuple[Chosen, ...]:
        """What Matrix R chose and when: (t, independent coordinates, constraint rows) each; none of other
        formulations."""
        found = self.record.choices
        return () if found is None else found.described(self.system)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Fixed implicit steps that failed and were taken in shorter ones: (t, length, parts) each, none as a rule."""
        task, divisions = self.record.task, self.record.divisions
        if not divisions or not len(self.t):
            return ()
        found = as_cuts(divisions, float(self.t[0]), task.duration / task.count())
        return tuple(cut for cut in found if cut.t < self.t[-1])

    def rows(self) -> tuple[Trajectory, ...]:
        """The motions of a batch of starts, each as one of its own, with its own recipe; one motion alone: itself.

        >>> swings = mg.simulate(model, [[0.5], [0.6], [0.7]], 1.0, step=0.01)
        >>> [float(swing.q[0, 0]) for swing in swings.rows()]
        [0.5, 0.6, 0.7]
        """
        if self.q.ndim == 2:
            return (self,)
        start = self.recipe.start
        starts = [state(self.model, q, v, t=start.t) for q, v in zip(start.q, start.v, strict=True)][: len(self.q)]
        return tuple(
            Trajectory.of(self.record.one_of_batch(k), replace(self.recipe, start=one)) for k, one in enumerate(starts)
        )

    @overload
    def at(self, t: float) -> State: ...

    @overload
    def at(self, t: Sequence[float] | FloatArray) -> StatesBetween: ...

    def at(self, t: Any) -> State | StatesBetween:
        """The motion at any time within it [s], whether it was reported or not, by the steps that were taken.

        One time gives a `State`, which another motion may start with; an array of times `StatesBetween`. Errors fall as
        those of the scheme: order eight is read by its own interpolant of order seven, fixed explicit steps by
        polynomials of degree 5 through q, v and a at their ends, implicit ones by such of degree 3 through q and v, on
        the group, so that Euler parameters have length one. Between the ends of steps closed loops hold as well as
        these polynomials do: `position_error` and `velocity_error` of a State, `norms` of many, tell. Accelerations
        and multipliers there are those of the equations of motion in (q, v, t); of implicit steps that controlled their
        error they lie on straight lines between the ends, and velocities on cubics of their own. Motions that report
        fewer instants than steps are marched once more at the first question.

        >>> swing = mg.simulate(model, [0.5], 2.0, step=0.01)
        >>> swing.at(0.3712)
        State of 'pendulum' at t = 0.3712 s: 1 coordinates as given. Next: .q, .v, simulate(model, state), gradient(...)
        >>> swing.at([0.1, 0.3712]).v.shape
        (2, 1)
        """
        times = self._checked_times(t)
        record = self.record if self.record.marched is None else self.record.marched
        method = method_of(self.formulation, self.scheme, self.recipe.step is None)
        batch = self.q.ndim == 3
        states = read_batch(record, method, times) if batch else read(record, method, times).states
        flat = [x.reshape(-1, x.shape[-1]) for x in states[:3]]
        norms = self.record.task.norms(np.broadcast_to(times, states.q.shape[:-1]).ravel(), *flat)
        if np.ndim(t):
            return StatesBetween(times, *states[:4], norms.reshape(*states.q.shape[:-1], 3))
        q, v = (x[..., 0, :] for x in states[:2])
        missed = norms.max(axis=0)
        return State(self.model, q, v, float(times[0]), {}, {}, float(missed[0]), float(missed[1]), given=True)

    def _checked_times(self, t: Any) -> FloatArray:
        """Times (k,) within the motion; raise for others."""
        given = np.asarray(t)
        if given.ndim > 1 or given.dtype.kind not in "fiu" or not given.size:
            raise InputError(f"at({t!r}): give one time, or an array (k,) of times [s].")
        if not len(self.t):
            raise InputError("the motion has no instant: it could not begin.")
        times = np.atleast_1d(given.astype(float))
        first, last = float(self.t[0]), float(self.t[-1])
        slack = WITHIN * (last - first)
        outside = ~((times >= first - slack) & (times <= last + slack))
        if outside.any():
            raise InputError(
                f"t = {times[outside][0]:.9g} s is not within the motion, which goes from {first:.9g} to {last:.9g} s. "
                "Simulate longer, or ask within."
            )
        return np.asarray(np.clip(times, first, last))

    def _mechanism(self) -> System:
        return self.system

    def power(self) -> Power:
        """Power of force elements, of tau, of loads and of driven constraints at every instant [W].

            d(kinetic + gravity)/dt = -sum F_k (Gamma v)_k + tau . v + loads - sum lam_k (Gamma v)_k

        F_k are forces of laws on their rows, lam_k multipliers of constraints. Of rows that follow a function of time
        only the part Gamma v of the rate works on the mechanism.
        """
        q, v, a, t = self._flat(self.q), self._flat(self.v), self._flat(self.a), self._times()
        system, m = self.system, self.system.n_constraints
        y, _ = row_forces(system, q, v, a, self.multipliers.reshape(len(q), m), t)
        each = y
        if system.n_rows:
            each = -y * np.einsum("tkj,tj->tk", evaluate_rows(system.T, q, v, None, t, 0, system.n_rows).J, v)
        loads = np.zeros(len(q))
        if self.loads:
            still = self.model.open_tree()
            by_loads = inverse_dynamics(still, q) - inverse_dynamics(still, q, loads=list(self.loads))
            loads = np.sum(by_loads * v, axis=1)
        parts = (each[:, m:].sum(axis=1), v @ self.tau, loads, each[:, :m].sum(axis=1))
        return Power(*(np.asarray(x.reshape(self.q.shape[:-1])) for x in parts))

    def reactions(self, axes: str = "world") -> JointReactions:
        """What every joint transmits over time, cut joints included; for one start. As `joint_reactions` says.

        Accelerations and multipliers are those that meet the equations of motion in (q, v, t): the balance of every
        body holds to rounding, whatever formulation and scheme led to the state.
        """
        return joint_reactions(self.model, self.q, self.v, t=self.t, tau=self.tau, loads=list(self.loads), axes=axes)


class StepFailed(MechgradError, ArithmeticError):
    """A march could not go on; `.trajectory` is the motion until then."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory
