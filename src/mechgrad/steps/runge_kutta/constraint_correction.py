"""States brought back to the constraints, differentiated, for many states at once.

Corrections are repeated a few times; what a state becomes is the result of the last repetition, so each of them is
differentiated. One repetition, q+ = q moved by d, changes along dq by

    projection      [ M  Gamma^T ; Gamma  0 ] [ d; s ] = [ 0; -value ]
                    S [ dd; ds ] = -[ (M d + Gamma^T s)_q dq + ..p;   (Gamma + (Gamma d)_q) dq + value_p + Gamma_p d ]
    dependent       W d = [ -value; z(q0) - z(q) ],      W = [ Gamma; B ]
                    W dd = -[ (W + (W d)_q) dq + value_p + W_p d ] + [ 0; B(q0) dq0 + z_p(q0) ]

and dq+ = E dq + D dd, E and D unit matrices but for balls (`dynamics.kernels.turning`). Velocities follow once: with
the matrix of the last repetition, M dv + Gamma^T s = 0, Gamma dv = -rate(q+, v); or all of them, W v = [ f'; z' ].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, final

import numpy as np

from mechgrad.dynamics.kernels.projection import CLOSE_ENOUGH
from mechgrad.dynamics.kernels.saddle import solve_lines
from mechgrad.dynamics.states import States, linearised, slopes, unforced
from mechgrad.errors import InputError
from mechgrad.kinematics.mechanism_record import RowValues, evaluate_rows
from mechgrad.model.joints.base import BALL
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.tree import KIND, V_AT
from mechgrad.steps.acceleration_slopes import Mechanics, check_regular
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.runge_kutta.kernels.blocks import CorrectionMatrices
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray, IntArray

MOST_PASSES = 30
START_Q, START_V = 0, 1  # the first two variables of a `_Chain`


class _Term(NamedTuple):
    """What parameters do to a relation through some states: residual to its first lines (mu), values and rates of rows,
    times w0 and w1, to its last ones."""

    states: States
    mu: bool
    w0: FloatArray | None
    w1: FloatArray | None


class _Relation(NamedTuple):
    """S x = -(sum by u + terms); the next variable is sum base u + D x[:n], over variables u before."""

    matrices: tuple[FloatArray, ...]  # M and Gamma of a saddle matrix, or W
    by: dict[int, FloatArray]
    base: dict[int, FloatArray]
    D: FloatArray
    terms: list[_Term]


def turned(atoms_i: IntArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E and D of tangent steps d, (N, n, n)."""
    N, n = d.shape
    E = np.broadcast_to(np.eye(n), (N, n, n)).copy()
    D = E.copy()
    for j in atoms_i[atoms_i[:, KIND] == BALL][:, V_AT]:
        x, y, z = d[:, j : j + 3].T
        zero = np.zeros(N)
        cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(N, 3, 3)
        square = x * x + y * y + z * z
        angle = np.sqrt(square)
        a, b = np.sinc(angle / np.pi), 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
        small = square < 1e-4
        c = np.where(small, (1.0 - square / 20.0) / 6.0, (1.0 - a) / np.where(small, 1.0, square))
        a, b, c = (f[:, None, None] for f in (a, b, c))
        here = slice(j, j + 3)
        E[:, here, here] += a * cross + b * (cross @ cross)
        D[:, here, here] += b * cross + c * (cross @ cross)
    return E, D


class _Chain:
    """Relations one after the other, for N states at once; rows: which of a record's rows their last lines are."""

    def __init__(self, mechanics: Mechanics, t: FloatArray, rows: IntArray, forced: bool) -> None:
        self.mechanics, self.t, self.rows, self.forced = mechanics, t, rows, forced
        self.n = mechanics.model.n_v
        self.relations: list[_Relation] = []
        self.last_q, self.last_v = START_Q, START_V

    def solve(self, matrices: tuple[FloatArray, ...], X: FloatArray, *, back: bool = False) -> FloatArray:
        """S^-1 or (back) S^-T times lines of X (N, columns, size)."""
        if len(matrices) == 2:
            return self.mechanics.solve(*matrices, X, self.t, back=back, compliant=False)
        lines = np.array(X, float, order="C")
        W = np.ascontiguousarray(matrices[0].reshape(len(X), -1))
        check_regular(solve_lines(W, lines, back), self.t, self.mechanics.model)
        return lines

    def add(self, relation: _Relation) -> int:
        """Append a relation; returns the number of the variable that it gives."""
        self.relations.append(relation)
        return len(self.relations) + 1

    def _through(self, variables: list[FloatArray], right: Sequence[FloatArray]) -> list[FloatArray]:
        """All variables as lines (N, columns, n), from the first two and right-hand sides of relations."""
        for relation, terms in zip(self.relations, right, strict=True):
            total = terms
            for u, B in relation.by.items():
                total = total + variables[u] @ B.swapaxes(1, 2)
            x = -self.solve(relation.matrices, total)[:, :, : self.n]
            following = x @ relation.D.swapaxes(1, 2)
            for u, B in relation.base.items():
                following = following + variables[u] @ B.swapaxes(1, 2)
            variables.append(following)
        return variables

    def matrices(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """X, Y, Z of the whole correction."""
        N, n = len(self.t), self.n
        unit = np.broadcast_to(np.eye(2 * n), (N, 2 * n, 2 * n))
        found = self._through([unit[:, :, :n], unit[:, :, n:]], [np.zeros(1)] * len(self.relations))
        q, v = found[self.last_q].swapaxes(1, 2), found[self.last_v].swapaxes(1, 2)
        return q[:, :, :n], v[:, :, n:], v[:, :, :n]

    def by_parameters(self, parameters: ParameterColumns) -> tuple[FloatArray, FloatArray]:
        """x_p, y_p (N, np, n)."""
        N, n, count = len(self.t), self.n, len(parameters)
        right = []
        for relation in self.relations:
            size = next(iter(relation.by.values())).shape[1]
            total = np.zeros((N, count, size))
            for term in relation.terms:
                for k in parameters.acting:
                    record = parameters.record(k) if self.forced else unforced(parameters.record(k))
                    found = slopes(record, term.states, residual=term.mu)
                    if term.mu:
                        total[:, k, :n] += found.r
                    for w, change in ((term.w0, found.values), (term.w1, found.rates)):
                        if w is not None:
                            total[:, k, size - len(w) :] += w * change[:, self.rows]
            right.append(total)
        still = np.zeros((N, count, n))
        variables = self._through([still, still], right)
        return variables[self.last_q], variables[self.last_v]

    def weights(self, xi: FloatArray, eta: FloatArray) -> list[Weights]:
        """What parameters act with where objectives pull (no, N, n) at q and v after the correction."""
        n = self.n
        pulls: list[FloatArray] = [np.zeros_like(xi.swapaxes(0, 1)) for _ in range(len(self.relations) + 2)]
        pulls[self.last_q] = pulls[self.last_q] + xi.swapaxes(0, 1)
        pulls[self.last_v] = pulls[self.last_v] + eta.swapaxes(0, 1)
        collected = []
        for number, relation in reversed(list(enumerate(self.relations, start=2))):
            pull = pulls[number]
            for u, B in relation.base.items():
                pulls[u] = pulls[u] + pull @ B
            size = next(iter(relation.by.values())).shape[1]
            x = np.zeros((*pull.shape[:2], size))
            x[:, :, :n] = pull @ relation.D
            x = -self.solve(relation.matrices, x, back=True)
            for u, B in relation.by.items():
                pulls[u] = pulls[u] + x @ B
            for term in relation.terms:
                mu = np.ascontiguousarray(x[:, :, :n].swapaxes(0, 1)) if term.mu else None
                w0, w1 = (None if w is None else self._spread(w * x[:, :, size - len(w) :]) for w in (term.w0, term.w1))
                collected.append(Weights(term.states, mu, w0, w1, forced=self.forced))
        return collected

    def _spread(self, x: FloatArray) -> FloatArray:
        """Weights (N, no, equations) as weights of rows (no, N, rows)."""
        whole = np.zeros((x.shape[1], x.shape[0], int(self.rows[-1]) + 1))
        whole[:, :, self.rows] = x.swapaxes(0, 1)
        return whole


class _Workspace(NamedTuple):
    """N states on their way: where they began, and zeros of their shape."""

    q: FloatArray
    v: FloatArray
    t: FloatArray
    none: FloatArray
    lam: FloatArray


def _rows_at(mechanics: Mechanics, q: Array, v: Array | None, t: FloatArray, last: int) -> RowValues:
    return evaluate_rows(mechanics.T, q, v, None, t, 0, last)


def _solve_saddle(chain: _Chain, M: FloatArray, gamma: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    right = np.concatenate([np.zeros((len(c), chain.n)), c], axis=1)[:, None]
    x = chain.solve((M, gamma), right)[:, 0]
    return np.ascontiguousarray(x[:, : chain.n]), np.ascontiguousarray(x[:, chain.n :])


def _projection(
    mechanics: Mechanics, given: _Workspace, passes: int, derive: bool
) -> tuple[FloatArray, FloatArray, _Chain, FloatArray]:
    """q and v after `passes` repetitions, their chain (empty unless `derive`), and the size of the last repetition."""
    m, t = mechanics.system.n_constraints, given.t
    chain = _Chain(mechanics, t, np.arange(m), False)
    q, zero, lam, one = given.q, given.none, given.lam, np.ones(m)
    size = np.zeros(len(q))
    theta = before = START_Q
    M = gamma = d = zero
    for _ in range(passes):
        here = linearised(mechanics.unforced, States(q, zero, zero, lam, t), False)
        M, gamma = here.M, np.ascontiguousarray(here.J[:, :m])
        d, s = _solve_saddle(chain, M, gamma, -_rows_at(mechanics, q, None, t, m).values * mechanics.holonomic)
        size = np.sqrt(np.sum(d * d, axis=1))
        before, at = theta, q
        if derive:
            still, moving = States(q, zero, d, s, t), States(q, d, zero, lam, t)
            K, turning = linearised(mechanics.unforced, still, False).K, _rows_at(mechanics, q, d, t, m).J_rate
            E, D = turned(mechanics.T.atoms_i, d)
            by = {theta: np.concatenate([K, mechanics.holonomic[:, None] * gamma + turning], axis=1)}
            terms = [_Term(still, True, mechanics.holonomic, -one), _Term(moving, False, None, one)]
            theta = chain.add(_Relation((M, gamma), by, {theta: E}, D, terms))
        q = np.asarray(mechanics.model.integrate(q, d))
    after = States(q, given.v, zero, lam, t)
    dv, s = _solve_saddle(chain, M, gamma, -_rows_at(mechanics, q, given.v, t, m).rates)
    if derive:
        still, moving = States(at, zero, dv, s, t), States(at, dv, zero, lam, t)
        K, turning = linearised(mechanics.unforced, still, False).K, _rows_at(mechanics, at, dv, t, m).J_rate
        there = _rows_at(mechanics, q, given.v, t, m)
        unit = np.broadcast_to(np.eye(chain.n), M.shape)
        none = np.zeros_like(M)
        by = {
            before: np.concatenate([K, turning], axis=1),
            theta: np.concatenate([none, there.J_rate], axis=1),
            START_V: np.concatenate([none, there.J], axis=1),
        }
        terms = [_Term(still, True, None, -one), _Term(moving, False, None, one), _Term(after, False, None, one)]
        chain.last_q, chain.last_v = theta, chain.add(_Relation((M, gamma), by, {START_V: unit}, unit, terms))
    return q, given.v + dv, chain, size


def _dependence(
    mechanics: Mechanics, given: _Workspace, passes: int, derive: bool, rows: IntArray
) -> tuple[FloatArray, FloatArray, _Chain, FloatArray]:
    """The same, where dependent coordinates are solved for; rows: those of W."""
    t, T = given.t, mechanics.T
    last = int(T.ints[N_ALL])
    chain = _Chain(mechanics, t, rows, True)
    free = np.where(rows < mechanics.system.n_constraints, 0.0, 1.0)
    q, zero, lam, one = given.q, given.none, given.lam, np.ones(len(rows))
    start = States(given.q, given.v, zero, lam, t)
    first = _rows_at(mechanics, given.q, given.v, t, last)
    B0 = free[:, None] * first.J[:, rows]
    size = np.zeros(len(q))
    theta = START_Q
    for _ in range(passes):
        here = _rows_at(mechanics, q, None, t, last)
        W = np.ascontiguousarray(here.J[:, rows])
        d = chain.solve((W,), (free * first.values[:, rows] - here.values[:, rows])[:, None])[:, 0]
        size = np.sqrt(np.sum(d * d, axis=1))
        if derive:
            still, moving = States(q, zero, zero, lam, t), States(q, d, zero, lam, t)
            E, D = turned(T.atoms_i, d)
            by = {theta: W + _rows_at(mechanics, q, d, t, last).J_rate[:, rows]}
            by[START_Q] = by.get(START_Q, 0.0) - B0
            terms = [_Term(still, False, one, -one), _Term(moving, False, None, one), _Term(start, False, -free, None)]
            theta = chain.add(_Relation((W,), by, {theta: E}, D, terms))
        q = np.asarray(mechanics.model.integrate(q, d))
    here = _rows_at(mechanics, q, zero, t, last)
    W = np.ascontiguousarray(here.J[:, rows])
    v = chain.solve((W,), (free * first.rates[:, rows] - here.rates[:, rows])[:, None])[:, 0]
    if derive:
        after = States(q, v, zero, lam, t)
        by = {theta: _rows_at(mechanics, q, v, t, last).J_rate[:, rows], START_V: -B0}
        by[START_Q] = -free[:, None] * first.J_rate[:, rows]
        unit = np.broadcast_to(np.eye(chain.n), W.shape)
        terms = [_Term(after, False, None, one), _Term(start, False, None, -free)]
        chain.last_q, chain.last_v = theta, chain.add(_Relation((W,), by, {}, unit, terms))
    return q, v, chain, size


@final
class ConstraintCorrection:
    """Corrections of N states by projection, or by solving for dependent coordinates.

    picks : (N, n) the rows of W in each state, where dependent coordinates are solved for
    q, v : (N, .) the corrected states
    """

    def __init__(
        self,
        mechanics: Mechanics,
        q: FloatArray,
        v: FloatArray,
        t: FloatArray,
        picks: IntArray | None,
        *,
        derive: bool = True,
    ) -> None:
        self.mechanics = mechanics
        self.q, self.v = np.array(q), np.array(v)
        self.groups: list[tuple[IntArray, _Chain]] = []
        self.shape = (len(q), mechanics.model.n_v)
        if picks is None:
            self._settle(_projection, q, v, t, np.arange(len(q)), derive)
            return
        choices, which = np.unique(picks, axis=0, return_inverse=True)
        for k, rows in enumerate(choices):
            left = np.flatnonzero(which.ravel() == k)
            self._settle(partial(_dependence, rows=rows), q, v, t, left, derive)

    def _settle(
        self,
        correct: Callable[..., tuple[FloatArray, FloatArray, _Chain, FloatArray]],
        q: FloatArray,
        v: FloatArray,
        t: FloatArray,
        left: IntArray,
        derive: bool,
    ) -> None:
        """Correct some states, those that need equally many repetitions together."""
        mechanics = self.mechanics
        n, m = mechanics.model.n_v, mechanics.system.n_constraints
        passes = 0
        while left.size:
            passes += 1
            if passes > MOST_PASSES:
                raise InputError(f"the state near t = {t[left[0]]:.6g} s could not be brought back to the constraints.")
            k = len(left)
            given = _Workspace(q[left], v[left], t[left], np.zeros((k, n)), np.zeros((k, m)))
            size = correct(mechanics, given, passes, False)[3]
            done = size <= CLOSE_ENOUGH
            if done.any():
                given = _Workspace(*(x[done] for x in given))
                here = left[done]
                self.q[here], self.v[here], chain, _ = correct(mechanics, given, passes, derive)
                self.groups.append((here, chain))
            left = left[~done]

    def matrices(self) -> CorrectionMatrices:
        """How changes pass through."""
        N, n = self.shape
        out = CorrectionMatrices(*(np.empty((N, n * n)) for _ in range(3)))
        for here, chain in self.groups:
            for whole, part in zip(out, chain.matrices(), strict=True):
                whole[here] = part.reshape(len(here), -1)
        return out

    def by_parameters(self, parameters: ParameterColumns) -> tuple[FloatArray, FloatArray]:
        """x_p, y_p (N, np, n)."""
        N, n = self.shape
        x, y = np.zeros((N, len(parameters), n)), np.zeros((N, len(parameters), n))
        for here, chain in self.groups:
            x[here], y[here] = chain.by_parameters(parameters)
        return x, y

    def weights(self, xi: FloatArray, eta: FloatArray) -> list[Weights]:
        """What parameters act with where objectives pull (no, N, n) at the corrected q and v."""
        return [w for here, chain in self.groups for w in chain.weights(xi[:, here], eta[:, here])]
