"""Motion prediction: from a task to the movement that does it best.

    problem = MotionProblem(arm, Splines(20), duration=Free(0.1, 2.0))
    problem.minimize(Duration())
    problem.subject_to(At(0, start), At(1, end), At(0, 0.0, "v"), At(1, 0.0, "v"), TorqueLimits(-10, 10))
    solution = problem.solve()

Joint profiles are splines; torques come from inverse dynamics, with exact sparse first and second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.optimization.motion.collocation import Collocation
from mechgrad.optimization.motion.measures import numbers_of, with_numbers
from mechgrad.optimization.motion.solution import MotionSolution
from mechgrad.optimization.motion.splines import Splines
from mechgrad.optimization.motion.terms import At, Duration, Free, FreeNumber, Requirement, TorqueSquares
from mechgrad.optimization.motion.transcription import Constraint, SquaresTerm, Transcription
from mechgrad.optimization.solvers import NonlinearProgram, solve
from mechgrad.typing import Array


class Requires(Protocol):
    """Anything that can be demanded of a motion: it states a measure, bounds and instants."""

    def requirement(self, model: Model, segments: int, parameters: tuple[str, ...] = ()) -> Requirement:
        """What the problem enforces."""
        ...


Term = Duration | TorqueSquares


@final
class MotionProblem:
    """A motion to be found.

    Parameters
    ----------
    model : Model
        A tree of hinges and slides (n_q = n_v): control points interpolate plain coordinates.
    splines : Splines
    duration : float or Free
        Given [s], or to be found.
    numbers : list of FreeNumber
        Numbers of the model to be found together with the motion (co-design).
    """

    def __init__(
        self, model: Model, splines: Splines, duration: float | Free, numbers: Sequence[FreeNumber] = ()
    ) -> None:
        if model.n_q != model.n_v:
            joints = [j.name for j in model.joints if j.n_q != j.n_v]
            raise InputError(
                f"splines interpolate plain coordinates; {', '.join(joints)} of model {model.name!r} have Euler "
                "parameters. Model them as hinges and slides."
            )
        if model.n_v == 0:
            raise InputError(f"model {model.name!r} cannot move.")
        if not isinstance(duration, Free) and not 0 < duration < np.inf:
            raise InputError(f"duration is {duration}; it must be positive [s], or Free(lower, upper).")
        for number in numbers:
            (present,) = numbers_of(model, [number.path])
            if not number.lower <= present <= number.upper:
                raise InputError(
                    f"{number.path!r} is {present} in model {model.name!r}, outside of "
                    f"[{number.lower}, {number.upper}]; start inside."
                )
        self.model, self.splines, self.duration, self.numbers = model, splines, duration, tuple(numbers)
        self._terms: list[Term] = []
        self._constraints: list[Requires] = []

    def minimize(self, *terms: Term) -> MotionProblem:
        """Add to the cost; returns the problem."""
        for term in terms:
            if not isinstance(term, Duration | TorqueSquares):
                raise InputError(f"{term!r} cannot be minimised; give Duration or TorqueSquares.")
            if isinstance(term, Duration) and not isinstance(self.duration, Free):
                raise InputError("the duration is given; make it Free(lower, upper) to minimise it.")
        self._terms += terms
        return self

    def subject_to(self, *constraints: Requires) -> MotionProblem:
        """Add constraints; returns the problem. Limits that cross and unknown joints are refused here."""
        for constraint in constraints:
            if not hasattr(constraint, "requirement"):
                raise InputError(f"{constraint!r} is not a constraint on a motion.")
            constraint.requirement(self.model, self.splines.segments)
        self._constraints += constraints
        return self

    @property
    def free(self) -> bool:
        """Whether the duration is to be found."""
        return isinstance(self.duration, Free)

    @property
    def paths(self) -> tuple[str, ...]:
        """The free numbers of the model."""
        return tuple(number.path for number in self.numbers)

    def _collocation(self, xi: Array) -> Collocation:
        return Collocation(self.splines, self.model.n_v, xi, self.free, len(self.numbers))

    def transcription(self) -> Transcription:
        """The program's functions and patterns."""
        terms, weight = [], 0.0
        for term in self._terms:
            if isinstance(term, Duration):
                weight += term.weight
                continue
            measure = term.measure(self.model, self.paths)
            xi = np.linspace(0.0, 1.0, self.splines.segments * term.per_segment + 1)
            scale = np.broadcast_to(np.asarray(term.scale, float), (measure.m,))
            terms.append(SquaresTerm(measure, self._collocation(xi), term.weight, scale))
        constraints = []
        for constraint in self._constraints:
            r = constraint.requirement(self.model, self.splines.segments, self.paths)
            constraints.append(Constraint(r.label, r.measure, self._collocation(r.xi), r.lower, r.upper))
        self._check_freedom(constraints)
        duration = self.duration.start if isinstance(self.duration, Free) else float(self.duration)
        return Transcription(self._collocation(self.splines.grid), duration, weight, terms, constraints)

    def _check_freedom(self, constraints: list[Constraint]) -> None:
        """Refuse what no spline of this size can do."""
        fixed = sum(int(np.sum(c.lower == c.upper)) * c.collocation.nt for c in constraints)
        unknowns = self.splines.n_points * self.model.n_v + int(self.free) + len(self.numbers)
        if fixed > unknowns:
            raise InputError(
                f"{fixed} equations for {unknowns} unknowns: the spline is too coarse for the constraints. "
                "Take more segments."
            )

    def bounds(self) -> tuple[Array, Array]:
        """Bounds of the unknowns."""
        n = self.splines.n_points * self.model.n_v
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        if isinstance(self.duration, Free):
            lower, upper = np.r_[lower, self.duration.lower], np.r_[upper, self.duration.upper]
        return np.r_[lower, [n.lower for n in self.numbers]], np.r_[upper, [n.upper for n in self.numbers]]

    def guess(self) -> Array:
        """Straight lines between the positions demanded at the start and at the end (zero where nothing is)."""
        ends = []
        for xi in (0.0, 1.0):
            q = np.zeros(self.model.n_v)
            for constraint in self._constraints:
                if isinstance(constraint, At) and constraint.level == "q" and constraint.xi == xi:
                    r = constraint.requirement(self.model, self.splines.segments)
                    q[r.measure.structure[1]] = r.lower
            ends.append(q)
        x = self.splines.between(*ends).ravel()
        duration = [self.duration.start] if isinstance(self.duration, Free) else []
        return np.concatenate([x, duration, numbers_of(self.model, self.paths)])

    def program(self) -> NonlinearProgram:
        """The problem as a nonlinear program, for any solver."""
        t = self.transcription()
        lower, upper = self.bounds()
        cl, cu = t.bounds
        points = [f"P{i}({name})" for i in range(self.splines.n_points) for name in self.model.v_names]
        return NonlinearProgram(
            n=t.n, m=t.m, lb=lower, ub=upper, cl=cl, cu=cu,
            objective=t.objective, gradient=t.gradient, constraints=t.values,
            jacobian=t.jacobian, jacobian_structure=t.jacobian_structure,
            hessian=t.hessian, hessian_structure=t.hessian_structure,
            variable_names=[*points, *(["duration"] if self.free else []), *self.paths], constraint_names=t.names,
        )  # fmt: skip

    def solve(
        self,
        guess: Array | MotionSolution | None = None,
        *,
        solver: str = "ipopt",
        hessian: Literal["auto", "exact", "gauss-newton", "lbfgs"] = "auto",
        max_iterations: int = 500,
        tolerance: float = 1e-8,
        progress: bool | Callable[..., None] = False,
    ) -> MotionSolution:
        """Find the best motion.

        Parameters
        ----------
        guess : array of unknowns, an earlier MotionSolution (also on other splines), or None
            Where to start; None takes straight lines.
        solver : "ipopt", "slsqp" or "trust-constr"
        hessian : "auto" (the best the solver takes), "exact" or "lbfgs"
        """
        if isinstance(guess, MotionSolution):
            start = np.r_[guess.unknowns_on(self.splines, self.free), numbers_of(guess.model, self.paths)]
        else:
            start = self.guess() if guess is None else np.asarray(guess, float)
        result = solve(
            self.program(), start, solver=solver, hessian=hessian, max_iterations=max_iterations, tolerance=tolerance,
            progress=progress,
        )  # fmt: skip
        duration = self.duration.start if isinstance(self.duration, Free) else float(self.duration)
        collocation = self._collocation(self.splines.grid)
        P, T = collocation.split(result.x, duration)
        model = with_numbers(self.model, self.paths, collocation.parameters(result.x)) if self.paths else self.model
        return MotionSolution(model, self.splines, P, T, result)
