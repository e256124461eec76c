"""Motions that drivers decide, differentiated: at every instant for itself, since geometry has no memory.

    W q' = -value_p,    W v' = -rate_q q' - rate_p,    W a' = -second_q q' - second_v v' - second_p        direct
    W^T x2 = g_a,    W^T x1 = g_v - second_v^T x2,    W^T x0 = g_q - rate_q^T x1 - second_q^T x2           adjoint

W holds Gamma of all constraint rows and of what was driven besides; the shortest solution where rows are redundant. The
adjoint goes from accelerations to positions; its sum is  psi_p - x0 . value_p - x1 . rate_p - x2 . second_p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast, final

import numpy as np

from mechgrad.dynamics.states import (
    StateGradients,
    States,
    StateSlopes,
    as_complex,
    coordinate_slopes,
    linearised,
    slopes,
    velocity_slopes,
)
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.model import Model
from mechgrad.sensitivities.measures import JointReaction, Multiplier, StateSamples
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.starts.base import MISS, torn
from mechgrad.steps.guided.step import GuidedMotion, kinematic_motion
from mechgrad.steps.matrix_r.independent import named_rows
from mechgrad.steps.weights import TableGradient, Weights
from mechgrad.tolerances import RANK
from mechgrad.typing import Array, FloatArray, IntArray

INSTANTS = 8  # at which adjoints look for parameters that redundant rows cannot follow
METHODS = ("direct", "adjoint")


@final
@dataclass(frozen=True, eq=False)
class GuidedCase:
    """A guided motion with what gradients ask of any motion: a system, and no start values, multipliers or forces.

    >>> GuidedCase.of(mg.kinematic_motion(model, [0.0, 0.5], {"pin": [0.0, 1.0]})).system.free
    ('pin',)
    """

    model: Model
    t: FloatArray
    q: Array
    v: Array
    a: Array
    multipliers: FloatArray
    tau: FloatArray
    loads: tuple[Load, ...]
    constraint_names: tuple[str, ...]
    system: System
    start: None = None
    forced: ClassVar[bool] = False  # tau and loads decide nothing

    @classmethod
    def of(cls, motion: GuidedMotion) -> GuidedCase:
        """Of the result of `kinematic_motion`."""
        model = motion.model
        system = System(model, free=named_rows(model, motion.held))
        nothing = np.zeros((len(motion.t), 0))
        return cls(model, motion.t, motion.q, motion.v, motion.a, nothing, np.zeros(model.n_v), (), (), system)

    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        """Parameters of the model; start values have no meaning here."""
        names = [wrt] if isinstance(wrt, str) else list(wrt)
        if start := [name for name in names if name.startswith("start.")]:
            raise InputError(
                f"{start[0]!r}: a motion that drivers decide has no start values. Differentiate by the numbers of the "
                "driver's function instead."
            )
        return Parameters(cast(Any, self), names)

    def samples(self) -> StateSamples:
        """Its states, to be measured."""
        states = States(self.q, self.v, self.a, self.multipliers, self.t)
        return StateSamples(self.model, states, self.tau, self.loads, self.constraint_names, "trapezoid")


@final
class GuidedSteps:
    """The instants of a motion that drivers decide.

    >>> turn = mg.kinematic_motion(model, [0.0, 0.5], {"pin": [0.0, 1.0]})
    >>> case = GuidedCase.of(turn)
    >>> GuidedSteps(case).direct(case.parameters(["bob.com.z"])).q.shape
    (2, 1, 1)
    """

    def __init__(self, case: GuidedCase) -> None:
        system, model = case.system, case.model
        self.case, self.n, self.n_holonomic = case, model.n_v, system.n_holonomic
        m, first, last = system.n_constraints, system.n_rows, int(system.T.ints[N_ALL])
        self.width = last
        self.rows = np.r_[0:m, first:last]
        # rows of velocities ask nothing of positions
        self.finite = np.flatnonzero((self.rows < system.n_holonomic) | (self.rows >= first))
        self.states = States(case.q, case.v, case.a, np.zeros((len(case.t), m)), case.t)
        W = linearised(system.T, self.states, False).J[:, self.rows]
        T = as_complex(system.T)
        rate_q, second_q = coordinate_slopes(model, T, self.states)
        second_v = velocity_slopes(model, T, self.states, rate_q, m == system.n_holonomic)
        self.W, self.rate_q, self.second_q, self.second_v = (
            W, rate_q[:, self.rows], second_q[:, self.rows], second_v[:, self.rows],
        )  # fmt: skip
        self.inverse: FloatArray = np.asarray(np.linalg.pinv(W, rcond=RANK), float)
        self.position_inverse = self.inverse
        if len(self.finite) < len(self.rows):
            self.position_inverse = np.zeros_like(self.inverse)
            self.position_inverse[:, :, self.finite] = np.linalg.pinv(W[:, self.finite], rcond=RANK)

    def direct(self, parameters: Parameters) -> StateSlopes:
        """Derivatives of all states."""
        nt, count = len(self.states.t), len(parameters)
        out = StateSlopes(*(np.zeros((nt, count, k)) for k in (self.n, self.n, self.n, 0)))
        everywhere = np.arange(nt)
        for k in parameters.in_model:
            q, v, second = self._followed(parameters, k, everywhere)
            second = second + _applied(self.second_q, q) + _applied(self.second_v, v)
            out.q[:, k], out.v[:, k], out.a[:, k] = q, v, -_applied(self.inverse, second)
        return out

    def _followed(self, parameters: Parameters, k: int, which: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dq and dv by a parameter at some instants, and its part in second rates; raises where redundant rows cannot
        follow it, in positions or in velocities."""
        states = States(*(np.asarray(x)[which] for x in self.states))
        found = slopes(parameters.record(k), states, residual=False)
        value, rate, second = (x[:, self.rows] for x in found[1:])
        q = -_applied(self.position_inverse[which], value)
        rate = rate + _applied(self.rate_q[which], q)
        v = -_applied(self.inverse[which], rate)
        W, finite = self.W[which], self.finite
        for left, change in ((_applied(W, q)[:, finite] + value[:, finite], value), (_applied(W, v) + rate, rate)):
            miss, size = float(np.abs(left).max(initial=0.0)), float(np.abs(change).max(initial=0.0))
            if miss > MISS * max(1.0, size):
                raise torn(self.case.model, parameters.names[k], miss)
        return q, v, second

    def adjoint(self, g: StateGradients) -> Weights:
        """The weights that parameters act with; g holds gradients of objectives by the states, (nt, no, .)."""
        x2 = g.a @ self.inverse
        x1 = (g.v - x2 @ self.second_v) @ self.inverse
        x0 = (g.q - x1 @ self.rate_q - x2 @ self.second_q) @ self.position_inverse
        return Weights(self.states, None, self._spread(-x0), self._spread(-x1), self._spread(-x2))

    def check(self, parameters: Parameters) -> None:
        """Raise for a parameter that redundant rows cannot follow, as seen at some instants."""
        if len(self.rows) == self.n:
            return
        some = np.unique(np.linspace(0, len(self.states.t) - 1, INSTANTS).astype(int))
        for k in parameters.in_model:
            self._followed(parameters, k, some)

    def _spread(self, x: FloatArray) -> FloatArray:
        """Weights (no, nt, rows) among all rows."""
        out = np.zeros((x.shape[1], x.shape[0], self.width))
        out[:, :, self.rows] = x.swapaxes(0, 1)
        return out


def _applied(A: FloatArray, x: FloatArray) -> FloatArray:
    """A x at all instants: A (nt, k, n), x (nt, n)."""
    return np.asarray((A @ x[:, :, None])[:, :, 0])


def guided_gradient(
    motion: GuidedMotion, objectives: Sequence[Objective], wrt: str | Sequence[str], *, method: str = "adjoint"
) -> tuple[FloatArray, FloatArray, Parameters]:
    """Values (no,) of objectives of a guided motion, their derivatives (no, np), and the parameters these belong to.

    Parameters
    ----------
    objectives : of positions, velocities and accelerations; a motion that geometry decides has no multipliers
    wrt : numbers of the model, those of the functions of its drivers included; what `kinematic_motion` drove by `at`
        stays as it was given
    method : "direct" or "adjoint", which agree to rounding

    >>> turn = mg.kinematic_motion(model, [0.0, 0.5], {"pin": [0.0, 1.0]})
    >>> values, array, _ = guided_gradient(turn, [mg.AtEnd(mg.measures.PointPosition("bob.com"))], ["bob.com.z"])
    >>> values.shape, array.shape
    ((3,), (3, 1))
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if np.iscomplexobj(motion.q):
        raise InputError("the motion is complex already; gradients belong to real motions.")
    _check_measures(objectives)
    case = GuidedCase.of(motion)
    parameters, at = case.parameters(wrt), case.samples()
    found = [objective.gradients(at, parameters) for objective in objectives]
    values, explicit = (np.concatenate([getattr(x, name) for x in found]) for name in ("values", "by_parameters"))
    g = StateGradients(*(np.concatenate(x, axis=1) for x in zip(*(x.by_states for x in found), strict=True)))
    steps = GuidedSteps(case)
    if method == "direct":
        pairs = zip(g, steps.direct(parameters), strict=True)
        return values, explicit + sum(np.einsum("toi,tpi->op", x, slope) for x, slope in pairs), parameters
    steps.check(parameters)
    tables = TableGradient(case.system, len(values), parameters)
    tables.add(steps.adjoint(g))
    return values, explicit + tables.by_parameters(), parameters


def repeated_guided(motion: GuidedMotion, parameters: Parameters, values: Array) -> GuidedMotion:
    """The motion with other values of its parameters, complex ones too."""
    return kinematic_motion(parameters.changed(values)[0], motion.t, motion.at, guess=motion.q[0])


def guided_sensitivities(motion: GuidedMotion, wrt: str | Sequence[str]) -> tuple[StateSlopes, Parameters]:
    """Derivatives of all states of a guided motion, q, v, a (nt, np, n_v), and the parameters they belong to.

    Multipliers have none (nt, np, 0): geometry decides the motion, forces do not.

    >>> turn = mg.kinematic_motion(model, [0.0, 0.5], {"pin": [0.0, 1.0]})
    >>> slopes, parameters = guided_sensitivities(turn, "bob.com.z")
    >>> slopes.a.shape, parameters.names
    ((2, 1, 1), ('bob.com.z',))
    """
    if np.iscomplexobj(motion.q):
        raise InputError("the motion is complex already; derivatives belong to real motions.")
    case = GuidedCase.of(motion)
    parameters = case.parameters(wrt)
    return GuidedSteps(case).direct(parameters), parameters


def check_measure(measure: object) -> None:
    """Raise for a measure that a motion decided by drivers does not have."""
    if isinstance(measure, Multiplier | JointReaction):
        raise InputError(
            f"{type(measure).__name__} belongs to motions that forces decide, and this one is decided by its drivers. "
            "Use mg.simulate, with Driver or GuidedPoint in the model."
        )


def _check_measures(objectives: Sequence[Objective]) -> None:
    for objective in objectives:
        for _, term in objective.terms():
            for measure in term.measures:
                check_measure(measure)
