"""Accelerations and multipliers that follow from states, differentiated, for many states at once.

    [ M      Gamma^T ] [ da   ]      [ K dq + C dv + r_p       ]      c = second + 2 Omega xi rate + Omega^2 value
    [ Gamma  -eps    ] [ dlam ] = -  [ c_q dq + c_v dv + c_p   ]

Explicit methods integrate these accelerations (`dynamics.kernels.state_accelerations`): Omega = 0 and no influence of
eps for index-1 equations, both for penalties, no second block for trees.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from mechgrad.dynamics.kernels import loop_gradient as _loops
from mechgrad.dynamics.kernels import state_gradient as _kernels
from mechgrad.dynamics.kernels.saddle import solve_saddles
from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import (
    States,
    as_complex,
    contiguous,
    linearised,
    slopes,
    unforced,
)
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.model.mechanism import Mechanism
from mechgrad.model.model import Model
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray


class Mechanics(NamedTuple):
    """A mechanism and how its accelerations are found.

    T : with its forces;   unforced : without them;   unforced_complex : that in complex numbers
    numbers : (eps, Omega, xi, compliant)
    """

    model: Model
    system: System
    T: Mechanism
    unforced: Mechanism
    unforced_complex: Mechanism
    numbers: FloatArray

    @staticmethod
    def of(system: System, numbers: FloatArray) -> Mechanics:
        """Of a system."""
        bare = unforced(system.T)
        return Mechanics(system.model, system, system.T, bare, as_complex(bare), numbers)

    @property
    def eps(self) -> FloatArray:
        """The second block of saddle matrices, one number per constraint row."""
        return np.full(self.system.n_constraints, self.numbers[0])

    @property
    def holonomic(self) -> FloatArray:
        """1 for rows that have a value, 0 for those at velocity level."""
        return np.where(np.arange(self.system.n_constraints) < self.system.n_holonomic, 1.0, 0.0)

    def solve(
        self, M: FloatArray, gamma: FloatArray, X: FloatArray, t: FloatArray, *, back: bool, compliant: bool
    ) -> FloatArray:
        """S^-1 or (back) S^-T times lines of X (N, columns, n + m)."""
        N = len(X)
        lines = np.array(X, float, order="C")
        flat = [np.ascontiguousarray(x.reshape(N, -1)) for x in (M, gamma)]
        check_regular(solve_saddles(*flat, self.eps, compliant, lines, back), t, self.model)
        return lines


def check_regular(bad: int, t: FloatArray, model: Model) -> None:
    """Raise where a linearised system of equations has no solution."""
    if bad >= 0:
        raise InputError(
            f"the linearised equations near t = {t[bad]:.6g} s of model {model.name!r} are singular: the motion has no "
            "derivative beyond. mg.mobility(model, q) tells what loses its rank there."
        )


class Pulled(NamedTuple):
    """Gradients by states, q and v (N, no, n_v), and the weights that parameters act with."""

    q: FloatArray
    v: FloatArray
    weights: Weights


def pulled_back(
    system: System, numbers: FloatArray, states: States, pulls: FloatArray, recursive: bool = False
) -> Pulled:
    """What pulls (no, N, n + m) at the accelerations and multipliers of N states are as such at q and v; of open trees,
    and of loops that are eliminated recursively, without a matrix, O(n).

    numbers : (eps, Omega, xi, compliant) of the formulation
    """
    if system.n_constraints and recursive:
        return _pulled_back_recursively(system, numbers, states, pulls)
    if system.n_constraints:
        found = StateAccelerations(Mechanics.of(system, numbers), states)
        lines = pulls.swapaxes(0, 1)
        return Pulled(lines @ found.by_q, lines @ found.by_v, found.weights(pulls))
    count, N, n = pulls.shape
    into = _kernels.Pulled(np.zeros((N, count, n)), np.zeros((N, count, n)), np.zeros((count, N, n)))
    here = States(*(contiguous(x, float) for x in states))
    check_regular(
        _kernels.pulled_accelerations(system.recursive, here, contiguous(pulls, float), into), states.t, system.model
    )
    return Pulled(into.q, into.v, Weights(states, into.mu))


def _pulled_back_recursively(system: System, numbers: FloatArray, states: States, pulls: FloatArray) -> Pulled:
    """`pulled_back` by elimination of loops."""
    count, (N, n), m = len(pulls), states.v.shape, system.n_constraints
    into = _loops.PulledLoops(*(np.zeros(shape) for shape in (*((N, count, n),) * 2, (count, N, n), (count, N, m))))
    here = States(*(contiguous(x, float) for x in states))
    loops, given = system.recursion(numbers, dtype=float), contiguous(pulls, float)
    bad = _loops.pulled_loop_accelerations(system.recursive, loops, here, given, into)
    check_regular(bad, states.t, system.model)
    return Pulled(into.q, into.v, weights_of_rows(system, numbers, states, into.mu, into.nu))


def weights_of_rows(
    system: System, numbers: FloatArray, states: States, mu: FloatArray, nu: FloatArray
) -> Weights:  # fmt: skip
    """Weights of residuals mu and of the rows of the acceleration problem, nu (no, N, m)."""
    _, frequency, damping, _ = numbers
    holonomic = np.where(np.arange(system.n_constraints) < system.n_holonomic, 1.0, 0.0)
    w0 = frequency**2 * holonomic * nu if frequency else None
    w1 = 2.0 * frequency * damping * nu if frequency * damping else None
    return Weights(states, mu, w0, w1, nu)


@final
class StateAccelerations:
    """Derivatives of a and lam in N states.

    by_q, by_v : (N, n + m, n_v)
    """

    def __init__(self, mechanics: Mechanics, states: States) -> None:
        self.mechanics, self.states = mechanics, states
        system, model = mechanics.system, mechanics.model
        _, frequency, damping, compliant = mechanics.numbers
        self.n, self.m, self.compliant = model.n_v, system.n_constraints, bool(compliant)
        # c = w0 value + w1 rate + second rate
        self.w0, self.w1 = frequency**2 * mechanics.holonomic, 2.0 * frequency * damping
        here = linearised(mechanics.T, states, False)
        self.M, self.gamma = here.M, np.ascontiguousarray(here.J[:, : self.m])
        by_q, by_v = here.K, here.C
        if self.m:
            rate_q, second_q = coordinate_slopes(model, mechanics.unforced_complex, states)
            holonomic = self.m == system.n_holonomic
            second_v = velocity_slopes(model, mechanics.unforced_complex, states, rate_q, self.gamma, holonomic)
            c_q = self.w0[:, None] * self.gamma + self.w1 * rate_q + second_q
            c_v = self.w1 * self.gamma + second_v
            by_q, by_v = np.concatenate([by_q, c_q], axis=1), np.concatenate([by_v, c_v], axis=1)
        right = np.concatenate([by_q, by_v], axis=2).swapaxes(1, 2)
        found = -self._solved(right).swapaxes(1, 2)
        self.by_q, self.by_v = found[:, :, : self.n], found[:, :, self.n :]

    def _solved(self, X: FloatArray, *, back: bool = False) -> FloatArray:
        return self.mechanics.solve(self.M, self.gamma, X, self.states.t, back=back, compliant=self.compliant)

    def by_parameters(self, parameters: ParameterColumns) -> FloatArray:
        """(N, np, n + m)."""
        right = np.zeros((len(self.M), len(parameters), self.n + self.m))
        for k in parameters.acting:
            found = slopes(parameters.record(k), self.states)
            right[:, k, : self.n] = found.r
            if self.m:
                values, rates, seconds = (x[:, : self.m] for x in found[1:])
                right[:, k, self.n :] = self.w0 * values + self.w1 * rates + seconds
        return -self._solved(right)

    def weights(self, pulls: FloatArray) -> Weights:
        """What parameters act with where objectives pull (no, N, n + m) at a and lam."""
        x = -self._solved(pulls.swapaxes(0, 1), back=True).swapaxes(0, 1)
        mu, nu = np.ascontiguousarray(x[:, :, : self.n]), x[:, :, self.n :]
        if not self.m:
            return Weights(self.states, mu)
        w0, w1 = self.w0 * nu if np.any(self.w0) else None, self.w1 * nu if self.w1 else None
        return Weights(self.states, mu, w0, w1, nu)
