"""A design problem as a nonlinear program: which values make the objective, which have limits, and in what units.

    x: variables, and s behind them where the objective is the largest of some values

    scale of a variable      as given, or the distance of its bounds, or the size of its start
    scale of a function      the largest change that one scale of one variable makes at the start, to first order

so that in the solver's units variables have a range of about one and slopes at the start are at most one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from mechgrad.optimization.design.evaluation import Evaluation, Evaluator
from mechgrad.optimization.design.goals import Goal
from mechgrad.optimization.design.requirements import Limit, Linear
from mechgrad.optimization.solvers import Multipliers, NonlinearProgram
from mechgrad.typing import FloatArray, IntArray

HARDLY = 1e-12  # of a function's own size: slopes below are none


@final
@dataclass(frozen=True, eq=False)
class DesignProgram:
    """The functions of a problem as a solver wants them.

    Attributes
    ----------
    evaluator : values and gradients F(x), F_x
    goal, limits, linear : what is wanted and what must hold
    goal_parts, limit_parts : how many of `evaluator.asked` belong to the goal and to each limit, in this order
    first : at the start, with its gradient
    scaled_at : where scales of functions are taken, with its gradient, if not at the start
    """

    evaluator: Evaluator
    goal: Goal
    limits: tuple[Limit, ...]
    linear: tuple[Linear, ...]
    goal_parts: int
    limit_parts: tuple[int, ...]
    first: Evaluation
    scaled_at: Evaluation | None = None

    # ---- which value is what

    @cached_property
    def goal_size(self) -> int:
        """How many values make the objective."""
        return sum(self.evaluator.counts[: self.goal_parts])

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the scenarios, for each value of the objective."""
        parts = self.evaluator.asked[: self.goal_parts]
        w = [self.evaluator.scenarios[a.scenario].weight for a in parts]
        return np.repeat(np.array(w, float), self.evaluator.counts[: self.goal_parts])

    @cached_property
    def _of_limits(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """For each limited value: its position, lower, upper."""
        count = len(self.first.values) - self.goal_size
        sizes, k = [], self.goal_parts
        for parts in self.limit_parts:
            sizes.append(sum(self.evaluator.counts[k : k + parts]))
            k += parts
        lower = np.repeat([limit.lower for limit in self.limits], sizes).astype(float)
        upper = np.repeat([limit.upper for limit in self.limits], sizes).astype(float)
        return self.goal_size + np.arange(count), lower, upper

    @cached_property
    def value_names(self) -> tuple[str, ...]:
        """Names of all values."""
        pairs = zip(self.evaluator.asked, self.evaluator.counts, strict=True)
        return tuple(
            a.name if count == 1 else f"{a.name}[{k}]" for a, count in pairs for k in range(count)
        )  # fmt: skip

    @cached_property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraint rows: values of the worst case, limits, linear limits."""
        worst = self.value_names[: self.goal_size] if self.goal.epigraph else ()
        linear = tuple(x.name or f"linear {k + 1}" for k, x in enumerate(self.linear))
        return (*worst, *self.value_names[self.goal_size :], *linear)

    # ---- functions

    @property
    def _n(self) -> int:
        return len(self.evaluator.space.names)

    def _values(self, z: FloatArray) -> FloatArray | None:
        found = self.evaluator.at(z[: self._n])
        return None if found.failure else found.values

    def _slopes(self, z: FloatArray) -> FloatArray | None:
        found = self.evaluator.at(z[: self._n], with_gradient=True)
        return None if found.failure else found.gradient

    def value(self, F: FloatArray) -> float:
        """The objective of values."""
        return self.goal.value(F[: self.goal_size], self.weights)

    def objective(self, z: FloatArray) -> float:
        """f; NaN at a bad point."""
        F = self._values(z)
        if F is None:
            return np.nan
        return float(z[-1]) if self.goal.epigraph else self.value(F)

    def gradient(self, z: FloatArray) -> FloatArray:
        """f by the variables."""
        slope = np.zeros(len(z))
        if self.goal.epigraph:
            slope[-1] = 1.0
            return slope
        F, J = self._values(z), self._slopes(z)
        if F is None or J is None:
            return np.full(len(z), np.nan)
        return np.asarray(self.goal.slope(F[: self.goal_size], self.weights) @ J[: self.goal_size])

    def constraints(self, z: FloatArray) -> FloatArray:
        """Of the worst case w F - s; limited values; linear sums."""
        F = self._values(z)
        if F is None:
            return np.full(len(self.constraint_names), np.nan)
        worst = self.weights * F[: self.goal_size] - z[-1] if self.goal.epigraph else np.zeros(0)
        return np.concatenate([worst, F[self.goal_size :], self._linear @ z[: self._n]])

    @cached_property
    def _linear(self) -> FloatArray:
        rows = [x.row(self.evaluator.space.names) for x in self.linear]
        return np.array(rows, float).reshape(len(rows), self._n)

    def jacobian(self, z: FloatArray) -> FloatArray:
        """Their derivatives, row by row."""
        J = self._slopes(z)
        if J is None:
            return np.full(len(self.constraint_names) * len(z), np.nan)
        return self._jacobian_of(J, len(z)).ravel()

    def _jacobian_of(self, J: FloatArray, width: int) -> FloatArray:
        goal = self.goal_size if self.goal.epigraph else 0
        rows = np.concatenate([self.weights[:, None] * J[:goal] if goal else J[:0], J[self.goal_size :], self._linear])
        dense = np.zeros((len(rows), width))
        dense[:, : self._n] = rows
        dense[:goal, self._n :] = -1.0
        return dense

    def residuals(self, z: FloatArray) -> FloatArray:
        """sqrt(w) F of least squares."""
        F = self._values(z)
        return np.full(self.goal_size, np.nan) if F is None else np.sqrt(self.weights) * F[: self.goal_size]

    def residual_jacobian(self, z: FloatArray) -> FloatArray:
        """Their derivatives (k, n)."""
        J = self._slopes(z)
        if J is None:
            return np.full((self.goal_size, self._n), np.nan)
        return np.asarray(np.sqrt(self.weights)[:, None] * J[: self.goal_size])

    def gauss_newton(self, z: FloatArray, sigma: float, lam: FloatArray) -> FloatArray:
        """sigma J^T J of the residuals, its lower triangle."""
        J = self.residual_jacobian(z)
        return np.asarray(sigma * (J.T @ J)[np.tril_indices(self._n)])

    def lagrangian_weights(self, F: FloatArray, multipliers: Multipliers) -> FloatArray:
        """dL/dF (k,) at an optimum: what a change of any value, for whatever reason, costs."""
        lam = multipliers.constraints
        goal = self.goal_size if self.goal.epigraph else 0
        of_goal = lam[:goal] * self.weights if goal else self.goal.slope(F[: self.goal_size], self.weights)
        return np.concatenate([of_goal, lam[goal : goal + len(F) - self.goal_size]])

    # ---- the program

    @cached_property
    def start(self) -> FloatArray:
        """Where the solver starts."""
        x = self.first.x
        return np.append(x, self.value(self.first.values)) if self.goal.epigraph else x

    @cached_property
    def scales(self) -> tuple[FloatArray, FloatArray, float]:
        """Of variables, of constraints and of the objective."""
        there = self.scaled_at or self.first
        space, F, J = self.evaluator.space, there.values, there.gradient
        assert J is not None
        changes = np.abs(J * space.scale).max(axis=1, initial=0.0)
        sizes = _sizes(changes, np.abs(F))
        goal, w = sizes[: self.goal_size], self.weights
        if self.goal.epigraph or self.goal_size == 0:
            f = float((w * goal).max(initial=0.0)) or 1.0
        else:
            slope = np.abs(self.goal.slope(F[: self.goal_size], w) @ J[: self.goal_size] * space.scale)
            f = float(_sizes(np.array([slope.max(initial=0.0)]), np.array([abs(self.value(F))]))[0])
        linear = np.abs(self._linear * space.scale).max(axis=1, initial=0.0)
        worst = np.full(self.goal_size if self.goal.epigraph else 0, f)
        x = np.append(space.scale, f) if self.goal.epigraph else space.scale
        return x, np.concatenate([worst, sizes[self.goal_size :], np.where(linear > 0.0, linear, 1.0)]), f

    def program(self) -> NonlinearProgram:
        """For any solver."""
        space, m = self.evaluator.space, len(self.constraint_names)
        extra = 1 if self.goal.epigraph else 0
        n = self._n + extra
        free = np.full(extra, np.inf)
        worst = self.goal_size if extra else 0
        _, lower, upper = self._of_limits
        sides = [(x.lower, x.upper) for x in self.linear]
        squares = self.goal.squares
        x_scale, c_scale, f_scale = self.scales
        return NonlinearProgram(
            n=n, m=m, objective=self.objective, gradient=self.gradient,
            constraints=self.constraints if m else None, jacobian=self.jacobian if m else None,
            jacobian_structure=tuple(x.ravel() for x in np.indices((m, n))) if m else None,
            residuals=self.residuals if squares else None,
            residual_jacobian=self.residual_jacobian if squares else None,
            gauss_newton=self.gauss_newton if squares else None,
            gauss_newton_structure=np.tril_indices(n) if squares else None,
            linear=np.arange(m) >= m - len(self.linear),
            lb=np.concatenate([space.low, -free]), ub=np.concatenate([space.high, free]),
            cl=np.concatenate([np.full(worst, -np.inf), lower, [low for low, _ in sides]]),
            cu=np.concatenate([np.zeros(worst), upper, [high for _, high in sides]]),
            variable_names=(*space.names, *("the worst case" for _ in range(extra))),
            constraint_names=self.constraint_names,
            variable_scale=x_scale, constraint_scale=c_scale, objective_scale=f_scale,
        )  # fmt: skip


def _sizes(changes: FloatArray, values: FloatArray) -> FloatArray:
    """Scales of functions: their changes; their sizes where nothing changes them; one where they are zero."""
    hardly = changes <= HARDLY * values
    return np.where(~hardly & (changes > 0.0), changes, np.where(values > 0.0, values, 1.0))


def without_influence(names: Sequence[str], first: Evaluation, scale: FloatArray) -> list[str]:
    """Variables that change no value at the start, to first order and beside rounding."""
    assert first.gradient is not None
    changes = np.abs(first.gradient * scale)
    largest = np.maximum(changes.max(axis=1, keepdims=True, initial=0.0), np.finfo(float).tiny)
    idle = (changes <= HARDLY * largest).all(axis=0)
    return [name for name, nothing in zip(names, idle, strict=True) if nothing]
