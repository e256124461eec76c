"""Gradients of objectives of a motion by any parameters: one entry for all formulations, schemes and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final, overload

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.kinematics.batch import check_threads
from mechgrad.measures.base import Measure
from mechgrad.model.columns import STEP
from mechgrad.sensitivities.cases import Subject
from mechgrad.sensitivities.certificate import Certificate, certify
from mechgrad.sensitivities.differentiable import CONTINUOUS, Case, case_of
from mechgrad.sensitivities.histories import Histories, measure_histories
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.numeric import differentiate
from mechgrad.sensitivities.objectives import AtEnd, Objective, as_objective
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.typing import Array, FloatArray

METHODS = ("auto", "direct", "adjoint", *CONTINUOUS, "complex", "fd")
Objectives = Objective | Measure | Sequence[Objective | Measure] | Mapping[str, Objective | Measure]


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
    motion : what was differentiated;   held : what stays at its start when parameters change
    note : how accurate it is, and what else a reader should know

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> g = mg.gradient(swing, mg.AtEnd(mg.measures.JointVelocity("pin")), ["bob.mass", "bob.com.z", "gravity.z"])
    >>> g.values.shape, g.array.shape, g["bob.com.z"].shape  # objectives, all derivatives, those by one parameter
    ((1,), (1, 3), (1,))
    >>> g.method, bool(g["psi", "gravity.z"] == g.array[0, 2]), bool(g.certify().passed)
    ('adjoint', True, True)
    >>> g
    Gradient of 1 objective by 3 parameters (adjoint); held at the start: all coordinates and velocities. Next: ...
    """

    values: FloatArray
    array: FloatArray
    objectives: tuple[str, ...]
    parameters: tuple[str, ...]
    parameter_values: FloatArray
    method: str
    choice: str
    motion: Subject
    terms: tuple[Objective, ...]
    held: str
    note: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """(no, np)."""
        return self.array.shape

    def of(self, parameter: str) -> FloatArray:
        """The column of a parameter, (no,)."""
        if parameter not in self.parameters:
            raise unknown_name("parameter", parameter, self.parameters, "the gradient")
        return np.asarray(self.array[:, self.parameters.index(parameter)])

    @overload
    def __getitem__(self, key: str) -> FloatArray: ...

    @overload
    def __getitem__(self, key: tuple[str, str]) -> float: ...

    def __getitem__(self, key: str | tuple[str, str]) -> FloatArray | float:
        """g["path"]: the column of a parameter, (no,);  g["objective", "path"]: one derivative."""
        if isinstance(key, str):
            return self.of(key)
        if not (isinstance(key, tuple) and len(key) == 2):
            raise InputError(
                f"g[{key!r}] names nothing; write g['path of a parameter'], g['objective', 'path of a parameter'], or "
                "g.array[i, k]."
            )
        objective, parameter = key
        if objective not in self.objectives:
            raise unknown_name("objective", str(objective), self.objectives, "the gradient")
        return float(self.of(parameter)[self.objectives.index(objective)])

    def relative(self) -> FloatArray:
        """Relative sensitivities (no, np): per cent of the objective per per cent of the parameter.

        (p / psi) dpsi/dp        NaN where an objective is zero
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = self.array * self.parameter_values / self.values[:, None]
        return np.asarray(np.where(np.isfinite(relative), relative, np.nan))

    def certify(self, *, tolerance: float = 1e-7, steps: Sequence[float] = ()) -> Certificate:
        """A verdict on the gradient from making everything again, start, motion and objectives, with other numbers:

        - with a complex step along every parameter, which is exact where complex numbers travel all the way;
        - with real steps along one random direction of all parameters together, a few simulations whatever their
          number: it cannot share what complex numbers or derivatives leave out, and errs by what it says.

        Both must agree with the gradient. `steps`: relative steps of a sweep of differences along every parameter, too.
        """
        case, names = case_of(self.motion), list(self.parameters)
        known = case.parameters(names)

        def function(x: Array) -> Array:
            again = case.repeated if np.iscomplexobj(x) else case.differing
            return np.concatenate(again(known, np.asarray(x)).values(self.terms))

        found = certify(
            function, self.parameter_values, self.array, names=self.parameters, outputs=self.objectives, steps=steps,
            tolerance=tolerance, direction=True, slack=case.expected_error(),
            title=f"gradient of {self.motion.model.name!r}, {self.method}",
        )  # fmt: skip
        return replace(found, recipe=getattr(self.motion, "recipe", None))

    def plot(self, *, relative: bool = False) -> Any:
        """A bar per parameter, a panel per objective; returns the matplotlib figure."""
        from mechgrad.sensitivities.gradient_plots import plot_gradient

        return plot_gradient(self, relative=relative)

    def __repr__(self) -> str:
        objectives, parameters = (
            f"{count} {noun}{'' if count == 1 else 's'}"
            for count, noun in zip(self.shape, ("objective", "parameter"), strict=True)
        )
        return (
            f"Gradient of {objectives} by {parameters} ({self.method}); {self.held} Next: print(g), g.values, g.array, "
            f"g[{self.parameters[0]!r}], .relative(), .certify(), .plot()"
        )

    def __str__(self) -> str:
        width = max(map(len, self.parameters))
        lines = [f"{'':{width}}  " + "  ".join(f"{name:>14}" for name in self.objectives)]
        lines += [f"{'value':{width}}  " + "  ".join(f"{x:14.7g}" for x in self.values)]
        lines += [
            f"{name:{width}}  " + "  ".join(f"{x:14.7g}" for x in column)
            for name, column in zip(self.parameters, self.array.T, strict=True)
        ]
        lines += [self.choice, self.held]
        return "\n".join([*lines, self.note] if self.note else lines)


def gradient(
    motion: Subject,
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
    motion : Trajectory of `simulate`, one start; GuidedMotion of `kinematic_motion`; Equilibrium; State of `assemble`
        Of a SavedMotion, the same made once more by its recipe.
        Any formulation and scheme; the derivative is that of the same discrete steps, and of how their start was found:
        what `assemble` or `equilibrium` held is held, everything else follows.
    objectives : an `Integral`, `AtEnd`, `AtTime` or a sum of these; a list of them, or a mapping from names to them
        Of an Equilibrium or a State, measures themselves as well.
    wrt : list of str
        Parameters of the model (paths, patterns, design variables); what the motion starts with,
        "start.position.hinge", "start.velocity.hinge" (what `assemble` held; any coordinate of a tree); and the forces
        that `simulate` was given, "tau.hinge", "push.force.x" of a load called push.
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
    >>> g = mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["start.position.pin"])
    >>> bool(abs(g["start.position.pin"][0]) <= 1.0)
    True
    >>> print(g)
                                   psi
    value                ...
    start.position.pin   ...
    direct, since there are no more parameters (1) than objectives (1).
    held at the start: all coordinates and velocities.
    Exact for the steps as taken, of 0.01 s.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    check_threads(threads)
    case = case_of(motion)
    names, terms = _named(objectives, case.one_state)
    parameters = case.parameters(wrt)
    each = case.values(terms)
    values, labels = np.concatenate(each), _labels(names, [len(x) for x in each])
    choice = method
    if method == "auto":
        method, choice = _chosen(len(labels), len(parameters))
    case.check_method(method)
    if method in ("complex", "fd"):
        case.check_followed(parameters)
        array = (_complex_steps if method == "complex" else _differences)(case, parameters, terms)
    else:
        try:
            array = case.gradient(terms, parameters, method, threads)
        except InputError:
            parameters.raise_pending()
            raise
    if not np.all(np.isfinite(array)):
        parameters.raise_pending()
        i, k = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"d({labels[i]}) / d({parameters.names[k]}) is {array[i, k]}: the motion, or what is asked of it, cannot "
            "be differentiated there (an edge of a law, a length of zero?)."
        )
    return Gradient(
        values, array, labels, parameters.names, parameters.values(), method, choice, motion, terms,
        case.held(parameters), case.accuracy(),
    )  # fmt: skip


def _named(objectives: Objectives, one_state: bool) -> tuple[tuple[str, ...], tuple[Objective, ...]]:
    def named(x: Any) -> Objective:
        return AtEnd(x) if one_state and isinstance(x, Measure) else as_objective(x)

    if isinstance(objectives, Objective | Measure):
        return ("",), (named(objectives),)
    if isinstance(objectives, Mapping):
        names, terms = tuple(map(str, objectives)), tuple(map(named, objectives.values()))
    elif isinstance(objectives, Sequence) and not isinstance(objectives, str):
        terms = tuple(map(named, objectives))
        names = tuple(f"psi{k + 1}" for k in range(len(terms)))
    else:
        names, terms = ("",), (named(objectives),)
    if not terms:
        raise InputError("there is no objective; give Integral, AtEnd or AtTime, a list or a mapping of them.")
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


def _complex_steps(case: Case, parameters: Parameters, terms: Sequence[Objective]) -> FloatArray:
    columns = []
    for k in range(len(parameters)):
        values = parameters.values().astype(complex)
        values[k] += 1j * STEP
        columns.append(np.concatenate(case.repeated(parameters, values).values(terms)).imag / STEP)
    return np.stack(columns, axis=1)


def _differences(case: Case, parameters: Parameters, terms: Sequence[Objective]) -> FloatArray:
    numeric = differentiate(
        lambda x: np.concatenate(case.repeated(parameters, np.asarray(x)).values(terms)),
        parameters.values(),
        complex_step=False,
    )
    found = numeric.differences()
    assert found is not None
    return found.values


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
    >>> mg.motion_sensitivities(swing, ["bob.mass", "bob.com.z"]).of(mg.measures.PointVelocity("bob.com")).shape
    (101, 3, 2)
    """

    motion: Trajectory | GuidedMotion
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
        from mechgrad.sensitivities.gradient_plots import plot_histories

        return plot_histories(self)


def motion_sensitivities(
    motion: Trajectory | GuidedMotion, wrt: str | Sequence[str], *, threads: int = 0
) -> MotionSensitivities:
    """dq/dp, dv/dp, da/dp and dlam/dp over a motion, by direct differentiation of its steps, or of its instants if
    drivers decide it (`kinematic_motion`); those of any measure by `.of(measure)`.

    Parameters and threads as in `gradient`.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> s = mg.motion_sensitivities(swing, ["start.position.pin"])
    >>> s.q.shape, float(s.q[0, 0, 0])
    ((101, 1, 1), 1.0)
    """
    case = case_of(motion)
    parameters = case.parameters(wrt)
    found = case.histories(parameters, threads)
    q, v, a, lam = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in found)
    return MotionSensitivities(motion, motion.t, q, v, a, lam, parameters.names)
