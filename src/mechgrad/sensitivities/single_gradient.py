"""The gradient of one motion: what it is, and how it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, final, overload

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.measures.base import Measure
from mechgrad.model.columns import STEP
from mechgrad.pages import Page, checked_path
from mechgrad.pictures import plots, reports
from mechgrad.sensitivities.cases import Subject
from mechgrad.sensitivities.certificate import Certificate, certify
from mechgrad.sensitivities.differentiable import CONTINUOUS, Case, case_of
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.numeric import differentiate
from mechgrad.sensitivities.objectives import AtEnd, Objective, as_objective
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

    def plot(self, *, relative: bool | None = None) -> Any:
        """A bar per parameter, a column per objective; returns the matplotlib figure.

        relative : True: per cent per per cent; False: derivatives, by unit; by itself where units differ, if left out
        """
        return plots("sensitivity_plots").plot_gradient(self, relative=relative)

    def report(self, path: str | Path, *, title: str = "", certify: bool = True, animated: bool = True) -> Path:
        """Write a page that opens in any browser, without a network: derivatives with units, as pictures, their
        certificate, the motion to be played, the model, versions and times. Returns where it is.

        path : its name, ending with .html;   certify : whether it is judged, which takes some motions

        >>> swing = mg.simulate(model, {"pin": 0.5}, 0.5)
        >>> g = mg.gradient(swing, mg.AtEnd(mg.measures.KineticEnergy()), ["bob.mass", "bob.com.z"])
        >>> g.report("gradient.html").name
        'gradient.html'
        """
        where = checked_path(path)
        page: Page = reports("gradient_report").report_page(self, title, certify=certify, animated=animated)
        return page.write(where)

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


class Asked(NamedTuple):
    """What a gradient is asked for, checked: nothing is computed yet.

    names : of the objectives, "" where there is one without a name
    """

    motion: Subject
    case: Case
    names: tuple[str, ...]
    terms: tuple[Objective, ...]
    parameters: Parameters


def check_method(method: str) -> None:
    """Raise for the name of no method."""
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)


def asked(motion: Subject, objectives: Objectives, wrt: str | Sequence[str]) -> Asked:
    """What a gradient is asked for; raises where a motion does not have that."""
    case = case_of(motion)
    names, terms = _named(objectives, case.one_state)
    return Asked(motion, case, names, terms, case.parameters(wrt))


def computed(of: Asked, method: str, threads: int) -> Gradient:
    """The gradient that was asked for."""
    motion, case, names, terms, parameters = of
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
