"""The command `mechgrad gradient`: derivatives of objectives of a motion, as a problem file states them.

model = "crane.toml"                  # beside this file, or a name of the gallery
duration = 5.0
step = 0.001                          # also formulation, scheme, samples, t0
wrt = ["rope.stiffness", "boom.mass", "start.position.slew"]
method = "auto"

[start.at]                            # what is held at the start, as in mg.assemble; [start.rates] likewise,
slew = 0.3                            # or start.q = [...] and start.v = [...]

[objectives.travel]
kind = "integral"                     # "integral", "end", "time" (with t = ...)
measure = "PointPosition"             # a measure and its arguments
of = ["hook"]
function = "(x[:, 0] - 2.0) ** 2"     # of x, the measure (nt, ...), with np; left out: the measure itself
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import mechgrad as mg
from mechgrad import gallery
from mechgrad.cli.console import FAILED, MISUSED, fail
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.io import load_model

__all__ = ["gradient"]

MODELS: Mapping[str, Callable[[], mg.Model]] = {
    "five_bar": gallery.five_bar,
    "slider_crank": gallery.slider_crank,
    "double_pendulum": gallery.double_pendulum,
}
MEASURES: dict[str, type[mg.Measure]] = {
    name: getattr(mg, name)
    for name in (
        "JointCoordinate", "JointVelocity", "JointAcceleration", "PointPosition", "PointVelocity", "PointAcceleration",
        "Distance", "Angle", "KineticEnergy", "PotentialEnergy", "Multiplier", "JointReaction", "Effort",
    )
}  # fmt: skip
KEYS = {"model", "duration", "step", "samples", "t0", "formulation", "scheme", "wrt", "method", "start", "objectives"}
TERM_KEYS = {"kind", "measure", "of", "function", "t"}


def gradient(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.toml", help="A problem file, see the docs.")],
    method: Annotated[str | None, typer.Option("--method", help="Instead of the method in the file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Certify the result with a complex step.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="File for a bar chart (png, pdf or svg).")] = None,
) -> None:
    """Simulate a motion and differentiate its objectives by parameters.

    Exit code 0: done; 1: the check failed; 2: bad input.
    """
    console = Console()
    try:
        result = solve(problem, method)
    except (MechgradError, OSError) as error:
        fail(str(error), MISUSED)
    table = Table(title=f"{result.motion.model.name}, {result.choice}")
    table.add_column("")
    for name in result.objectives:
        table.add_column(name, justify="right")
    table.add_row("value", *(f"{x:.8g}" for x in result.values), end_section=True)
    for name, column in zip(result.parameters, result.array.T, strict=True):
        table.add_row(name, *(f"{x:.8g}" for x in column))
    console.print(table)
    if plot is not None:
        result.plot().savefig(plot)
        console.print(f"plot written to {plot}", highlight=False, soft_wrap=True)
    if check:
        certificate = result.certify()
        if not certificate.passed:
            fail(certificate.verdict, FAILED)
        console.print(f"[green]{certificate.verdict}[/green]", highlight=False, soft_wrap=True)


def solve(path: Path, method: str | None = None) -> mg.Gradient:
    """The gradient that a problem file asks for."""
    try:
        problem = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    _known(problem, KEYS, f"{path}")
    for key in ("model", "duration", "wrt", "objectives"):
        if key not in problem:
            raise InputError(f"{path}: {key!r} is missing.")
    model = _model(problem["model"], path.parent)
    options = {key: problem[key] for key in ("step", "samples", "t0", "formulation", "scheme") if key in problem}
    start, v0 = _start(model, problem.get("start", {}))
    motion = mg.simulate(model, start, v0, duration=problem["duration"], **options)
    objectives = {name: _objective(name, term) for name, term in problem["objectives"].items()}
    return mg.gradient(motion, objectives, problem["wrt"], method=method or problem.get("method", "auto"))


def _known(given: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise unknown_name("key", key, sorted(known), where)


def _model(name: str, folder: Path) -> mg.Model:
    if name in MODELS:
        return MODELS[name]()
    if not str(name).endswith(".toml"):
        raise unknown_name("model", str(name), [*MODELS, "a file .toml"], "the problem")
    return load_model(folder / name)


def _start(model: mg.Model, given: Mapping[str, Any]) -> tuple[Any, Any]:
    _known(given, {"at", "rates", "guess", "q", "v"}, "[start]")
    if "q" in given:
        return given["q"], given.get("v")
    return mg.assemble(model, given.get("at"), given.get("rates"), guess=given.get("guess")), None


def _objective(name: str, term: Mapping[str, Any]) -> mg.Objective:
    where = f"[objectives.{name}]"
    _known(term, TERM_KEYS, where)
    kind, measure = term.get("kind", "integral"), term.get("measure")
    if measure not in MEASURES:
        raise unknown_name("measure", str(measure), MEASURES, where)
    try:
        of = MEASURES[measure](*term.get("of", []))
    except TypeError as error:
        raise InputError(f"{where}: {measure} of {term.get('of', [])}: {error}.") from error
    arguments: list[Any] = [of]
    if "function" in term:
        try:
            code = compile(term["function"], f"{name}.function", "eval")
        except (SyntaxError, TypeError) as error:
            raise InputError(f"{where}: function is no Python expression of x: {error}.") from error
        arguments = [lambda x: eval(code, {"np": np, "smooth_abs": mg.smooth_abs, "x": x}), of]
    if kind == "time":
        if "t" not in term:
            raise InputError(f"{where}: kind 'time' needs t, the instant [s].")
        return mg.AtTime(float(term["t"]), *arguments)
    kinds: dict[str, type[mg.Objective]] = {"integral": mg.Integral, "end": mg.AtEnd}
    if kind not in kinds:
        raise unknown_name("kind", str(kind), [*kinds, "time"], where)
    return kinds[kind](*arguments)
