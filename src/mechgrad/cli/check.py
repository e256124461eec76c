"""The command `mechgrad check`: derivatives of a model, or of a user's own function, on trial.

A user's file defines a function that is called without arguments, or with the model if one was named, and returns what
`mechgrad.certify` takes, as a dict:

    def cost(model=None):
        return {"function": f, "x": x, "jacobian": df, "names": [...], "outputs": [...]}     # names, outputs: optional

Derivatives of a model's inverse dynamics are a function (model, q, v, a) that returns a dict with any of the keys "dq",
"dv", "da", "dp".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mechgrad.cli.console import FAILED, MISUSED, fail
from mechgrad.cli.models import MODEL_HELP, find_model
from mechgrad.cli.users import load_object, users_code
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.kernels.disk.notices import compile_notices, expected, short
from mechgrad.model import Model
from mechgrad.sensitivities import Certificate, ModelCertificate, certify, certify_model
from mechgrad.sensitivities.certificate import HEADINGS

__all__ = ["check"]

KEYS = (
    "function", "x", "jacobian", "names", "outputs", "complex_step", "steps", "scales", "tolerance", "fd_tolerance",
    "batched", "title",
)  # fmt: skip
COLORS = {"passed": "green", "failed": "red", "no influence": "yellow", "inconclusive": "yellow"}


def check(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help=MODEL_HELP),
    ] = None,
    wrt: Annotated[
        list[str] | None, typer.Option("--wrt", help="Parameters: a path or a pattern, repeatable. Default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random state.")] = 0,
    samples: Annotated[int, typer.Option(min=1, help="How many random states.")] = 1,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="FILE.py:NAME", help="Check this function with derivatives instead."),
    ] = None,
    derivatives: Annotated[
        str | None,
        typer.Option("--derivatives", metavar="FILE.py:NAME", help="Check these derivatives of the inverse dynamics."),
    ] = None,
    columns: Annotated[int, typer.Option(min=1, help="Columns shown in each table, the worst ones.")] = 3,
) -> None:
    """Check derivatives against complex step and central differences: of a model, or your own.

    Exit code 0: passed; 1: not, and the guilty entry is named; 2: bad input.
    """
    if (function is None and model is None) or (function is not None and derivatives is not None):
        fail(
            "name a model to check, or a function with --function FILE.py:NAME (not together with --derivatives).",
            MISUSED,
        )
    console = Console()
    try:
        loaded = find_model(model) if model is not None else None
        if function is not None:
            certificates, notes, passed, verdict = _function(console, function, loaded)
        else:
            assert loaded is not None
            users = load_object(derivatives) if derivatives is not None else None
            result = _certify_model(console, loaded, wrt, seed, samples, users, derivatives or "")
            certificates, notes, passed, verdict = result.certificates, result.notes, result.passed, result.verdict
    except MechgradError as error:
        fail(str(error), MISUSED)
    for certificate in certificates:
        _show(console, certificate, columns)
    for note in notes:
        console.print(f"note: {escape(note)}", highlight=False, soft_wrap=True)
    if not passed:
        fail(verdict, FAILED)
    console.print(f"[green]{escape(verdict)}[/green]", highlight=False, soft_wrap=True)


def _certify_model(
    console: Console, model: Model, wrt: list[str] | None, seed: int, samples: int, users: Any, where: str
) -> ModelCertificate:
    guarded = None if users is None else lambda *state: users_code(where, lambda: users(*state))
    with _working(console, f"checking {model.name}"):
        return certify_model(model, wrt=wrt or None, seed=seed, samples=samples, derivatives=guarded)


def _function(
    console: Console, where: str, model: Model | None
) -> tuple[tuple[Certificate, ...], tuple[str, ...], bool, str]:
    make = load_object(where)
    with _working(console, f"checking {where}"):
        case = make if isinstance(make, Mapping) else users_code(where, lambda: make(model) if model else make())
        if not isinstance(case, Mapping):
            raise InputError(f"{where} returned {type(case).__name__}; a dict with {', '.join(KEYS[:3])} is needed.")
        for key in case:
            if key not in KEYS:
                raise unknown_name("key", key, KEYS, where)
        for key in KEYS[:3]:
            if key not in case:
                raise InputError(f"{where} returned a dict without {key!r}; function, x and jacobian are needed.")
        result = users_code(where, lambda: certify(**{"title": where, **case}))
    return (result,), (), result.passed, result.verdict


@contextmanager
def _working(console: Console, what: str) -> Iterator[None]:
    """A spinner that says when it is the compiler that takes the time."""
    with console.status(what) as status:

        def report(kernel: str, seconds: float | None) -> None:
            about = (
                f"{what} (compiling for this machine, once: {short(kernel)}, about {max(expected(kernel), 1.0):.0f} s)"
            )
            status.update(about if seconds is None else what)

        with compile_notices(report):
            yield


def _show(console: Console, certificate: Certificate, columns: int) -> None:
    table = Table(
        title=escape(certificate.title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    for k, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if k < 2 else "right", overflow="fold", no_wrap=k >= 2)
    for line in certificate.lines(columns):
        table.add_row(*map(escape, line))
    console.print(table)
    if (hidden := len(certificate.names) - columns) > 0:
        console.print(f"... and {hidden} columns that are no worse", highlight=False)
    for note in certificate.notes:
        console.print(f"note: {escape(note)}", highlight=False, soft_wrap=True)
    color = COLORS[certificate.outcome]
    console.print(f"[{color}]{escape(certificate.verdict)}[/{color}]\n", highlight=False, soft_wrap=True)
