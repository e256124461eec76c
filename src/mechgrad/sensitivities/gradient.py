"""Gradients of objectives of a motion by any parameters: one entry for all formulations, schemes and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.integrators.trajectory import Trajectory
from mechgrad.kinematics.batch import check_threads
from mechgrad.kinematics.guided import GuidedMotion
from mechgrad.model.columns import STEP
from mechgrad.sensitivities.certificate import Certificate, certify
from mechgrad.sensitivities.continuous import continuous_gradient
from mechgrad.sensitivities.guided import GuidedCase, guided_gradient, guided_sensitivities, repeated_guided
from mechgrad.sensitivities.histories import Histories, measure_histories
from mechgrad.sensitivities.implicit import ImplicitSteps
from mechgrad.sensitivities.measures import Measure, Moments
from mechgrad.sensitivities.numeric import differentiate
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.rank import check_rank_of_motion
from mechgrad.sensitivities.repeat import moments_of, repeated
from mechgrad.sensitivities.start import start_slopes
from mechgrad.sensitivities.states import StateGradients, StateSlopes
from mechgrad.sensitivities.steps import Steps, steps_of
from mechgrad.sensitivities.weights import TableGradient
from mechgrad.typing import Array, FloatArray

CONTINUOUS = {
    "continuous-adjoint": None,
    "continuous-adjoint-1": "approach-1",
    "continuous-adjoint-2": "approach-2",
}
METHODS = ("auto", "direct", "adjoint", *CONTINUOUS, "complex", "fd")
Motion = Trajectory | GuidedMotion
Objectives = Objective | Sequence[Objective] | Mapping[str, Objective]


@final
@dataclass(frozen=True, eq=False)
class Gradient:
    """Objectives of a motion and their derivatives by parameters.

    Attributes
    ----------
    values : (no,) the objectives
    array : (no, np) their derivatives
    objectives, parameters : names of rows and columns
    parameter_values : (np,)
    method : how it was computed;   choice : why, if the choice was left to `gradient`

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> g = mg.gradient(swing, mg.AtEnd(mg.JointVelocity("pin")), ["bob.mass", "bob.com.z", "gravity.z"])
    >>> g.method, g.shape, bool(g.certify().passed)
    ('adjoint', (1, 3), True)
    """

    values: FloatArray
    array: FloatArray
    objectives: tuple[str, ...]
    parameters: tuple[str, ...]
    parameter_values: FloatArray
    method: str
    choice: str
    motion: Motion
    terms: tuple[Objective, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """(no, np)."""
        return self.array.shape

    def of(self, parameter: str) -> FloatArray:
        """The column of a parameter, (no,)."""
        if parameter not in self.parameters:
            raise unknown_name("parameter", parameter, self.parameters, "the gradient")
        return np.asarray(self.array[:, self.parameters.index(parameter)])

    def relative(self) -> FloatArray:
        """Relative sensitivities (no, np): per cent of the objective per per cent of the parameter.

        (p / psi) dpsi/dp        NaN where an objective is zero
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = self.array * self.parameter_values / self.values[:, None]
        return np.asarray(np.where(np.isfinite(relative), relative, np.nan))

    def certify(self, *, tolerance: float = 1e-7, steps: Sequence[float] = ()) -> Certificate:
        """Judge the gradient: simulate again with complex steps along every parameter (and with differences, if `steps`
        are given: relative steps of a sweep)."""
        motion, names = self.motion, list(self.parameters)
        known = (
            GuidedCase.of(motion).parameters(names) if isinstance(motion, GuidedMotion) else Parameters(motion, names)
        )

        def function(x: Array) -> Array:
            return _values(self.terms, _repeated(self.motion, known, np.asarray(x)))

        return certify(
            function, self.parameter_values, self.array, names=self.parameters, outputs=self.objectives, steps=steps,
            tolerance=tolerance, title=f"gradient of {self.motion.model.name!r}, {self.method}",
        )  # fmt: skip

    def plot(self, *, relative: bool = False) -> Any:
        """A bar per parameter, a panel per objective; returns the matplotlib figure."""
        from mechgrad.sensitivities.plots import plot_gradient

        return plot_gradient(self, relative=relative)

    def __str__(self) -> str:
        width = max(map(len, self.parameters))
        lines = [f"{'':{width}}  " + "  ".join(f"{name:>14}" for name in self.objectives)]
        lines += [f"{'value':{width}}  " + "  ".join(f"{x:14.7g}" for x in self.values)]
        lines += [
            f"{name:{width}}  " + "  ".join(f"{x:14.7g}" for x in column)
            for name, column in zip(self.parameters, self.array.T, strict=True)
        ]
        return "\n".join([*lines, self.choice])


def gradient(
    motion: Motion,
    objectives: Objectives,
    wrt: str | Sequence[str],
    *,
    method: str = "auto",
    threads: int = 0,
) -> Gradient:
    """Derivatives of objectives of a motion, exact for the motion as it was computed.

        dpsi/dp = sum over instants of  psi_x dx/dp + psi_p

    Parameters
    ----------
    motion : Trajectory of `simulate`, one start, or GuidedMotion of `kinematic_motion`
        Any formulation and scheme; the derivative is that of the same discrete steps.
    objectives : an `Integral`, `AtEnd`, `AtTime` or a sum of these; a list of them, or a mapping from names to them
    wrt : list of str
        Parameters of the model (paths, patterns, design variables), and what the motion starts with:
        "start.position.hinge", "start.velocity.hinge" (what `assemble` held; any coordinate of a tree). Numbers that
        shape loops change the start through the assembly problem.
    method :
        "direct"              tangents of all steps: cost grows with the number of parameters
        "adjoint"             the transpose: cost grows with the number of objectives only
        "auto"                the cheaper of these two; `Gradient.choice` says which and why
        "continuous-adjoint"  the differential adjoint equations, discretised: needs smaller steps, see the docs;
                              "continuous-adjoint-1" and "-2" are the two ways of index-1 equations
        "complex"             a complex step through the whole simulation, per parameter
        "fd"                  central differences, per parameter
    threads :
        Of "direct" and "adjoint" around implicit steps: all cores for 0. The steps themselves follow each other.

    Returns
    -------
    Gradient

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> g = mg.gradient(swing, mg.AtEnd(mg.JointCoordinate("pin")), ["start.position.pin"])
    >>> bool(abs(g.array[0, 0]) <= 1.0)
    True
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    check_threads(threads)
    names, terms = _named(objectives)
    if isinstance(motion, Trajectory):
        _check_motion(motion)
    parameters = _parameters(motion, wrt)
    each = [np.atleast_1d(term.values(at)) for at in [_moments(motion)] for term in terms]
    values, labels = np.concatenate(each), _labels(names, [len(x) for x in each])
    choice = method
    if method == "auto":
        method, choice = _chosen(len(labels), len(parameters))
    if isinstance(motion, Trajectory) and method not in ("direct", "adjoint"):
        check_rank_of_motion(motion)
    if method == "complex":
        columns = [_complex_column(motion, parameters, terms, k) for k in range(len(parameters))]
        array = np.stack(columns, axis=1)
    elif method == "fd":
        array = _differences(motion, parameters, terms)
    elif isinstance(motion, GuidedMotion):
        if method in CONTINUOUS:
            raise InputError("a motion that its drivers decide has no differential adjoint; use 'adjoint'.")
        array = guided_gradient(motion, terms, wrt, method=method)[1]
    elif method in CONTINUOUS:
        array = continuous_gradient(motion, terms, parameters, CONTINUOUS[method])
    else:
        array = _analytic(motion, parameters, terms, method, threads)
    return Gradient(values, array, labels, parameters.names, parameters.values(), method, choice, motion, terms)


def _check_motion(motion: Trajectory) -> None:
    if motion.q.ndim != 2:
        raise InputError("gradient takes the motion of one start; take one row of the batch at a time.")
    if motion.ended != "duration":
        raise InputError(
            f"the motion ended because of: {motion.ended}. Where it ends depends on parameters; simulate a fixed "
            "duration."
        )
    if np.iscomplexobj(motion.q):
        raise InputError("the motion is complex already; gradients belong to real motions.")


def _named(objectives: Objectives) -> tuple[tuple[str, ...], tuple[Objective, ...]]:
    if isinstance(objectives, Objective):
        return ("",), (objectives,)
    if isinstance(objectives, Mapping):
        names, terms = tuple(map(str, objectives)), tuple(objectives.values())
    else:
        terms = tuple(objectives)
        names = tuple(f"psi{k + 1}" for k in range(len(terms)))
    if not terms or not all(isinstance(x, Objective) for x in terms):
        raise InputError(f"objectives is {objectives!r}; give Integral, AtEnd or AtTime, a list or a mapping of them.")
    return names, terms


def _labels(names: Sequence[str], counts: Sequence[int]) -> tuple[str, ...]:
    labels: list[str] = []
    for name, count in zip(names, counts, strict=True):
        base = name or "psi"
        labels += [base] if count == 1 else [f"{base}[{k}]" for k in range(count)]
    return tuple(labels)


def _chosen(objectives: int, parameters: int) -> tuple[str, str]:
    if objectives < parameters:
        return "adjoint", f"adjoint, since there are fewer objectives ({objectives}) than parameters ({parameters})."
    return "direct", f"direct, since there are no more parameters ({parameters}) than objectives ({objectives})."


def _parameters(motion: Motion, wrt: str | Sequence[str]) -> Parameters:
    return GuidedCase.of(motion).parameters(wrt) if isinstance(motion, GuidedMotion) else Parameters(motion, wrt)


def _moments(motion: Motion) -> Moments:
    return GuidedCase.of(motion).moments() if isinstance(motion, GuidedMotion) else moments_of(motion)


def _repeated(motion: Motion, parameters: Parameters, values: Array) -> Motion:
    if isinstance(motion, GuidedMotion):
        return repeated_guided(motion, parameters, values)
    return repeated(motion, parameters, values)


def _values(terms: Sequence[Objective], motion: Motion) -> Array:
    at = _moments(motion)
    return np.concatenate([np.atleast_1d(term.values(at)) for term in terms])


def _complex_column(motion: Motion, parameters: Parameters, terms: Sequence[Objective], k: int) -> FloatArray:
    values = parameters.values().astype(complex)
    values[k] += 1j * STEP
    return np.asarray(_values(terms, _repeated(motion, parameters, values)).imag / STEP)


def _differences(motion: Motion, parameters: Parameters, terms: Sequence[Objective]) -> FloatArray:
    numeric = differentiate(
        lambda x: _values(terms, _repeated(motion, parameters, np.asarray(x))),
        parameters.values(),
        complex_step=False,
    )
    found = numeric.differences()
    assert found is not None
    return found.values


def _steps(motion: Trajectory, threads: int) -> Steps:
    """The derivative of a motion's steps; implicit ones notice themselves where constraints lose their rank."""
    steps = steps_of(motion, threads)
    if not isinstance(steps, ImplicitSteps):
        check_rank_of_motion(motion)
    return steps


def _analytic(
    motion: Trajectory, parameters: Parameters, terms: Sequence[Objective], method: str, threads: int
) -> FloatArray:
    at = moments_of(motion)
    found = [term.gradients(at, parameters) for term in terms]
    by_states = StateGradients(
        *(np.concatenate(parts, axis=1) for parts in zip(*(g.by_states for g in found), strict=True))
    )
    explicit = np.concatenate([g.by_parameters for g in found])
    steps = _steps(motion, threads)
    dq, dv = start_slopes(motion, parameters)
    if method == "direct":
        slopes: StateSlopes = steps.direct(parameters, dq, dv)
        total = (np.tensordot(g, x, ([0, 2], [0, 2])) for g, x in zip(by_states, slopes, strict=True))
        return np.asarray(explicit + sum(total))
    tables = TableGradient(motion.system, len(explicit))
    yq, yv = steps.adjoint(by_states, tables.add)
    return np.asarray(explicit + yq @ dq.T + yv @ dv.T + tables.by_parameters(parameters))


@final
@dataclass(frozen=True, eq=False)
class MotionSensitivities:
    """Derivatives of a whole motion by parameters.

    Attributes
    ----------
    t : (nt,)
    q, v, a : (nt, n_v, np) of positions (along `model.integrate`), velocities and accelerations
    multipliers : (nt, m, np), none of motions that drivers decide
    parameters : names of the columns

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.motion_sensitivities(swing, ["bob.mass", "bob.com.z"]).of(mg.PointVelocity("bob.com")).shape
    (101, 3, 2)
    """

    motion: Motion
    t: FloatArray
    q: FloatArray
    v: FloatArray
    a: FloatArray
    multipliers: FloatArray
    parameters: tuple[str, ...]

    def of(self, measure: Measure) -> FloatArray:
        """dy/dp over time of a measure y, (nt, *shape of its values, np)."""
        states = Histories(self.q, self.v, self.a, self.multipliers)
        return measure_histories(self.motion, self.parameters, states, measure)

    def plot(self) -> Any:
        """Sensitivities of positions over time, a panel per parameter; returns the matplotlib figure."""
        from mechgrad.sensitivities.plots import plot_histories

        return plot_histories(self)


def motion_sensitivities(motion: Motion, wrt: str | Sequence[str], *, threads: int = 0) -> MotionSensitivities:
    """dq/dp, dv/dp, da/dp and dlam/dp over a motion, by direct differentiation of its steps, or of its instants if
    drivers decide it (`kinematic_motion`); those of any measure by `.of(measure)`.

    Parameters and threads as in `gradient`.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> s = mg.motion_sensitivities(swing, ["start.position.pin"])
    >>> s.q.shape, float(s.q[0, 0, 0])
    ((101, 1, 1), 1.0)
    """
    if isinstance(motion, GuidedMotion):
        found, parameters = guided_sensitivities(motion, wrt)
    else:
        _check_motion(motion)
        parameters = Parameters(motion, wrt)
        found = _steps(motion, threads).direct(parameters, *start_slopes(motion, parameters))
    q, v, a, lam = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in found)
    return MotionSensitivities(motion, motion.t, q, v, a, lam, parameters.names)
