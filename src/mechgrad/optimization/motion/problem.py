"""Motion prediction: from a task to the movement that does it best.

    problem = MotionProblem(arm, Splines(20), duration=Free(0.1, 2.0))
    problem.minimize(Duration())
    problem.subject_to(At(0, start), At(1, end), At(0, 0.0, "v"), At(1, 0.0, "v"), TorqueLimits(-10, 10))
    solution = problem.solve()

Joint profiles are splines; torques come from inverse dynamics, with exact sparse first and second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, replace
from typing import Any, Literal, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.optimization.motion.bundling import bundled
from mechgrad.optimization.motion.clock import Clock, FreeDuration, FreeKnots, GivenDuration
from mechgrad.optimization.motion.closing import (
    Clockwork,
    Closures,
    NaturalEnds,
    PassiveJoints,
    acting_loads,
    setting_of,
    standing,
)
from mechgrad.optimization.motion.constraints import Requires
from mechgrad.optimization.motion.cost_terms import Duration, Free, FreeNumber, Minimizes
from mechgrad.optimization.motion.first_guess import demanded, end_configurations, first_guess
from mechgrad.optimization.motion.grid import Grid
from mechgrad.optimization.motion.measures.base import numbers_of, with_numbers
from mechgrad.optimization.motion.measures.joint_torques import CutForce
from mechgrad.optimization.motion.overshoot import FINER, warn_of_overshoot
from mechgrad.optimization.motion.setting import Requirement
from mechgrad.optimization.motion.solution import MotionSolution
from mechgrad.optimization.motion.splines import Splines
from mechgrad.optimization.motion.transcription import Transcription
from mechgrad.optimization.solvers import NonlinearProgram, solve
from mechgrad.optimization.solvers.progress import Iteration, print_progress
from mechgrad.typing import Array, ArrayLike

HessianChoice = Literal["auto", "exact", "gauss-newton", "lbfgs"]


@final
class MotionProblem:
    """A motion to be found.

    Parameters
    ----------
    model : Model
        Any mechanism. Force elements act; loops and constraints close by themselves, with their multipliers as profiles
        to be found; balls are splines about a reference attitude (`motion.attitudes`).
    splines : Splines
    duration : float or Free
        Given [s], or to be found, with the lengths of all segments if `Free(..., knots=True)`.
    numbers : list of FreeNumber
        Numbers of the model to be found together with the motion (co-design).
    cuts : list of CutForce
        Forces between points that are kept together by hand (`Coincident`), to be found with the motion.
    driven : list of names, optional
        Coordinates with actuators, or joints for all of theirs, as in `inverse_dynamics`; all of a tree if left out,
        and to be named where constraints act. All others have no torque.
    reference : (n_q,), optional
        Attitudes about which balls turn, by less than a full circle; the neutral configuration if left out.

    >>> from mechgrad.optimization.motion import At, MotionProblem, Splines, TorqueSquares
    >>> problem = MotionProblem(five_bar(), Splines(4), 1.0, driven=["A", "1"])
    >>> problem.setting.multiplier_names
    ('B: point x', 'B: point y')
    """

    def __init__(
        self,
        model: Model,
        splines: Splines,
        duration: float | Free,
        numbers: Sequence[FreeNumber] = (),
        cuts: Sequence[CutForce] = (),
        driven: Sequence[str] | None = None,
        reference: ArrayLike | None = None,
    ) -> None:
        if not isinstance(splines, Splines) or isinstance(numbers, FreeNumber) or isinstance(cuts, CutForce):
            raise InputError(
                "MotionProblem(model, Splines(...), duration, numbers=[FreeNumber(...)], cuts=[CutForce(...)])."
            )
        if not isinstance(duration, Free | int | float | np.number):
            raise InputError(f"duration is {duration!r}; give seconds, or Free(lower, upper).")
        paths = [number.path for number in numbers]
        if len(set(paths)) != len(paths):
            raise InputError(f"numbers names a path twice: {', '.join(paths)}.")
        if model.n_v == 0:
            raise InputError(f"model {model.name!r} cannot move.")
        for number in numbers:
            (present,) = numbers_of(model, [number.path])
            if not number.lower <= present <= number.upper:
                raise InputError(
                    f"{number.path!r} is {present} in model {model.name!r}, outside of "
                    f"[{number.lower}, {number.upper}]; start inside."
                )
        self.model, self.splines, self.duration, self.numbers = model, splines, duration, tuple(numbers)
        self.clock = _clock(duration, splines)
        self.driven = None if driven is None else tuple(driven)
        given, typical = (None, duration.start) if isinstance(duration, Free) else (float(duration), float(duration))
        self.setting = setting_of(model, splines, tuple(cuts), driven, reference, given, typical)
        self.setting.torques(None, None)  # refuses unknown points of cuts
        self._duration_weight = 0.0
        self._terms: list[Minimizes] = []
        self._constraints: list[Requires] = []

    def minimize(self, *terms: Duration | Minimizes) -> MotionProblem:
        """Add to the cost; returns the problem."""
        for term in terms:
            if isinstance(term, Duration):
                if not isinstance(self.duration, Free):
                    raise InputError("the duration is given; make it Free(lower, upper) to minimise it.")
                self._duration_weight += term.weight
                continue
            if isinstance(term, type) or not hasattr(term, "integral"):
                raise InputError(f"{term!r} cannot be minimised; give Duration, TorqueSquares, ... or a UserTerm.")
            term.integral(self.setting)
            self._terms.append(term)
        return self

    def subject_to(self, *constraints: Requires) -> MotionProblem:
        """Add constraints; returns the problem. Limits that cross and unknown joints are refused here."""
        for constraint in constraints:
            if isinstance(constraint, type) or not hasattr(constraint, "requirements"):
                raise InputError(f"{constraint!r} is not a constraint on a motion.")
            constraint.requirements(self.setting)
        self._constraints += constraints
        return self

    @property
    def _reference(self) -> Array | None:
        attitudes = self.setting.attitudes
        return attitudes.reference if attitudes is not None and attitudes.needed else None

    @property
    def free(self) -> bool:
        """Whether the duration is to be found."""
        return isinstance(self.duration, Free)

    @property
    def paths(self) -> tuple[str, ...]:
        """The free numbers of the model."""
        return tuple(number.path for number in self.numbers)

    @property
    def width(self) -> int:
        """Profiles: coordinates, then forces in cut joints, multipliers, and time where laws ask for it."""
        return self.setting.width

    # --------------------------------------------------------------------------------------------------- transcription
    def _grid(self, xi: Array, rule: str = "trapezoid") -> Grid:
        return Grid(self.splines, self.width, self.model.n_v, xi, self.clock, len(self.numbers), rule)

    def _requirements(self) -> list[Requirement]:
        constraints = [*self._constraints, *self._automatic()]
        found = [r for constraint in constraints for r in constraint.requirements(self.setting)]
        return [replace(r, measure=self.setting.mapped(r.measure)) for r in found]

    def _automatic(self) -> list[Requires]:
        """What the mechanism asks for by itself."""
        setting = self.setting
        found: list[Requires] = []
        if len(setting.rows):
            given, periodic = demanded(self._constraints, setting)
            found += [Closures(given, periodic, self._ends()), NaturalEnds()]
        if setting.driven is not None:
            parts = [*self._terms, *self._constraints]
            found.append(PassiveJoints(acting_loads(parts), ground=standing(parts)))
        return [*found, Clockwork()] if setting.timed else found

    def transcription(self) -> Transcription:
        """The program's functions and patterns. What is asked of one measure is evaluated once."""
        requirements = self._requirements()
        self._check(requirements)
        integrals = [term.integral(self.setting) for term in self._terms]
        integrals = [replace(i, measure=self.setting.mapped(i.measure)) for i in integrals]
        bundles = bundled(requirements, integrals, self._grid, self.paths)
        return Transcription(self._grid(self.splines.grid), self._duration_weight, bundles)

    def _check(self, requirements: list[Requirement]) -> None:
        """Refuse what no spline of this size can do, and positions demanded outside of their limits."""
        fixed = sum(int(np.sum(r.lower == r.upper)) for r in requirements)
        unknowns = self.splines.n_points * self.width + self.clock.n + len(self.numbers)
        if fixed > unknowns:
            raise InputError(
                f"{fixed} equations for {unknowns} unknowns: the spline is too coarse for the constraints. "
                "Take more segments."
            )
        demanded: dict[str, tuple[float, float, str]] = {}
        for r in requirements:
            if r.names is None or r.combine is None or np.any(np.diff(r.combine.indptr) != 1):
                continue
            if not isinstance(r.measure.key, tuple) or r.measure.key[0] != "coordinates":
                continue
            for name, lower, upper in zip(r.names, r.lower, r.upper, strict=True):
                lo, up, label = demanded.get(name, (-np.inf, np.inf, ""))
                if lower > up + 1e-12 or upper < lo - 1e-12:
                    raise InputError(
                        f"{name} is demanded between {lower:g} and {upper:g} ({r.label}) and between {lo:g} and {up:g} "
                        f"({label}): both cannot be."
                    )
                demanded[name] = (max(lo, lower), min(up, upper), r.label)

    def bounds(self) -> tuple[Array, Array]:
        """Bounds of the unknowns."""
        n = self.splines.n_points * self.width
        lower, upper = self.clock.bounds
        numbers = [x.lower for x in self.numbers], [x.upper for x in self.numbers]
        return np.r_[np.full(n, -np.inf), lower, numbers[0]], np.r_[np.full(n, np.inf), upper, numbers[1]]

    def _ends(self) -> Array:
        return end_configurations(self.setting, self._constraints)

    def guess(self) -> Array:
        """Straight lines between the positions demanded at the start and at the end (zero where nothing is), closed at
        the knots where there are constraints."""
        x = first_guess(self.setting, self._constraints)
        return np.concatenate([x.ravel(), self.clock.start, numbers_of(self.model, self.paths)])

    def program(self) -> NonlinearProgram:
        """The problem as a nonlinear program, for any solver."""
        return self._program(self.transcription())

    def _program(self, t: Transcription, near: Array | None = None, nearness: float = 0.0) -> NonlinearProgram:
        """With `near`, the cost is the distance to it instead."""
        lower, upper = self.bounds()
        cl, cu = t.bounds
        profiles = self.setting.profile_names
        points = [f"P{i}({name})" for i in range(self.splines.n_points) for name in profiles]
        costs: dict[str, Any] = {"objective": t.objective, "gradient": t.gradient, "hessian": t.hessian}
        places = t.hessian_structure
        if near is not None:
            costs, places = _nearness(t, near, nearness)
        elif t.has_squares:
            costs |= {"gauss_newton": t.gauss_newton, "gauss_newton_structure": places}
        return NonlinearProgram(
            n=t.n, m=t.m, lb=lower, ub=upper, cl=cl, cu=cu,
            constraints=t.values, jacobian=t.jacobian, jacobian_structure=t.jacobian_structure,
            hessian_structure=places, constraint_scale=t.scales if t.m else None,
            variable_names=[*points, *self.clock.names, *self.paths], constraint_names=t.names, **costs,
        )  # fmt: skip

    # ----------------------------------------------------------------------------------------------------------- solve
    def solve(
        self,
        guess: Array | MotionSolution | None = None,
        *,
        solver: str = "ipopt",
        hessian: HessianChoice = "auto",
        max_iterations: int = 500,
        tolerance: float = 1e-8,
        time_limit: float | None = None,
        progress: bool | Callable[..., Any] = False,
        options: dict[str, Any] | None = None,
    ) -> MotionSolution:
        """The best motion. Ctrl-C ends the search with the best motion so far.

        Parameters
        ----------
        guess : array of unknowns, an earlier MotionSolution (also on other splines), or None
            Where to start; None takes straight lines.
        solver : "ipopt", "slsqp" or "trust-constr"
        hessian : "auto" (the best the solver takes), "exact", "gauss-newton" (of squares in the cost) or "lbfgs"
        progress : True prints a line per iteration; a function is called with each

        Warns (`OvershootWarning`) where torques exceed their limits by more than 1 % between the instants where these
        are enforced.
        """
        start = self._start(guess)
        result = solve(
            self.program(), start, solver=solver, hessian=hessian, max_iterations=max_iterations, tolerance=tolerance,
            time_limit=time_limit, progress=progress or None, options=options,
        )  # fmt: skip
        solution = self._solution(result)
        if result.success:
            warn_of_overshoot(
                self._constraints, self._finer, self._start(solution), self.splines.segments, solution.time
            )
        return solution

    def feasible(
        self,
        guess: Array | MotionSolution | None = None,
        *,
        solver: str = "ipopt",
        nearness: float = 1e-3,
        max_iterations: int = 500,
        tolerance: float = 1e-4,
        time_limit: float | None = None,
        progress: bool | Callable[..., Any] = False,
        options: dict[str, Any] | None = None,
    ) -> MotionSolution:
        """A motion that respects all constraints, near the guess: the first phase of a hard problem.

        The cost is replaced by nearness / 2 |x - guess|^2, and the search ends as soon as no constraint is violated by
        more than `tolerance` (scaled). `problem.solve(problem.feasible())` is the two-phase solve.
        """
        if not 0 < nearness < np.inf or not 0 < tolerance < 1:
            raise InputError(
                f"feasible: nearness is {nearness}, tolerance {tolerance}; give positive numbers, the second below 1."
            )
        start = self._start(guess)
        report = print_progress if progress is True else progress or None

        def until_feasible(record: Iteration) -> object:
            wish = report(record) if report else None
            return False if record.infeasibility <= tolerance else wish

        result = solve(
            self._program(self.transcription(), start, nearness), start, solver=solver, max_iterations=max_iterations,
            tolerance=min(tolerance, 1e-6), time_limit=time_limit, progress=until_feasible, options=options,
        )  # fmt: skip
        if result.status == "interrupted" and result.infeasibility <= tolerance:
            result = replace(result, status="converged", reason=f"all constraints are met to {tolerance:g}")
        return self._solution(result)

    def _start(self, guess: Array | MotionSolution | None) -> Array:
        if isinstance(guess, MotionSolution):
            if guess.model.v_names != self.model.v_names or guess.control_points.shape[1] != self.width:
                raise InputError(f"the guess is a motion of {guess.model.name!r} with other coordinates or cut joints.")
            return np.concatenate([guess.unknowns_on(self.splines, self.clock), numbers_of(guess.model, self.paths)])
        return self.guess() if guess is None else np.asarray(guess, float)

    def _solution(self, result: Any) -> MotionSolution:
        at = self.splines.n_points * self.width
        theta = result.x[at : at + self.clock.n]
        model = with_numbers(self.model, self.paths, result.x[at + self.clock.n :]) if self.paths else self.model
        lengths = theta if isinstance(self.clock, FreeKnots) else None
        return MotionSolution(
            model, self.splines, result.x[:at].reshape(-1, self.width), self.clock.duration(theta), result,
            self.setting.cuts, lengths, self, self.driven, self._reference,
        )  # fmt: skip

    def _finer(self, constraints: Sequence[Requires]) -> Transcription:
        """The program with other constraints, of which there may be more than unknowns: to look, not to solve."""
        other = copy(self)
        other._constraints, other._terms = list(constraints), []
        other._automatic = list  # type: ignore[method-assign]
        other._check = lambda requirements: None  # type: ignore[method-assign]
        return other.transcription()

    def residuals(self, solution: MotionSolution, finer: int = FINER) -> dict[str, float]:
        """How far each kind of constraint is violated anywhere, also between the instants where it is enforced.

        The constraints are evaluated on a grid `finer` times as fine (those with bounds per instant on their own one);
        the numbers are in their own units, squared for what is enforced on squares.
        """
        if isinstance(finer, bool) or not isinstance(finer, int | np.integer) or finer < 1:
            raise InputError(f"residuals: finer is {finer!r}; give 1, 2, ...")
        constraints = []
        for constraint in [*self._constraints, *self._automatic()]:
            names = [f.name for f in fields(constraint)]  # type: ignore[arg-type]
            by_instant = any(np.ndim(getattr(constraint, name, 0.0)) == 2 for name in ("lower", "upper"))
            if "per_segment" in names and not by_instant:
                constraint = replace(constraint, per_segment=constraint.per_segment * finer)  # type: ignore[type-var, attr-defined]
            constraints.append(constraint)
        t, x = self._finer(constraints), self._start(solution)
        values, (lower, upper) = t.values(x), t.bounds
        beyond = np.maximum(np.maximum(lower - values, values - upper), 0.0)
        worst: dict[str, float] = {}
        for label, amount in zip(t.labels, beyond, strict=True):
            worst[label] = max(worst.get(label, 0.0), float(amount))
        return worst


def _clock(duration: float | Free, splines: Splines) -> Clock:
    if not isinstance(duration, Free):
        return GivenDuration(duration)
    if duration.knots:
        return FreeKnots(splines.segments, duration.lower, duration.upper, duration.start)
    return FreeDuration(duration.lower, duration.upper, duration.start)


def _nearness(t: Transcription, near: Array, weight: float) -> tuple[dict[str, Any], tuple[Array, Array]]:
    """weight / 2 |x - near|^2 as a cost, with a diagonal added to the pattern of the Hessian."""
    rows, cols = t.hessian_structure
    keys = np.unique(np.concatenate([rows * t.n + cols, np.arange(t.n) * (t.n + 1)]))
    at = np.searchsorted(keys, rows * t.n + cols)
    diagonal = np.searchsorted(keys, np.arange(t.n) * (t.n + 1))

    def hessian(x: Array, sigma: float, multipliers: Array) -> Array:
        out = np.zeros(keys.size)
        out[at] = t.hessian(x, 0.0, multipliers)
        out[diagonal] += sigma * weight
        return out

    costs = {
        "objective": lambda x: 0.5 * weight * float(np.sum((x - near) ** 2)),
        "gradient": lambda x: weight * (x - near),
        "hessian": hessian,
    }
    return costs, (keys // t.n, keys % t.n)
