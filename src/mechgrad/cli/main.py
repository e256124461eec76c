"""The commands of `mechgrad`: a list. What one needs is imported when it is called, so that help is there at once."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["COMMANDS", "app"]

COMMANDS: Final = {
    "demo": (
        "mechgrad.cli.demo_command",
        "Differentiate the torques of a human with 43 joints, check the result, time it and draw it.",
    ),
    "describe": (
        "mechgrad.cli.describe_command",
        "Print the bodies, joints, mobility and tree of a model.",
    ),
    "check": (
        "mechgrad.cli.check",
        "Check derivatives against complex step and central differences: of a model, or your own.",
    ),
    "gallery": (
        "mechgrad.cli.gallery_command",
        "List the mechanisms that are ready to use: a line about each, its bodies and degrees of freedom.",
    ),
    "gradient": (
        "mechgrad.cli.gradient_command",
        "Simulate a motion and differentiate its objectives by parameters.",
    ),
    "linearise": (
        "mechgrad.cli.linearise_command",
        "Show the modes of small motions about a state: eigenvalues, frequencies, damping, and who takes part.",
    ),
    "optimize": (
        "mechgrad.cli.optimize",
        "Find the numbers of a mechanism that make objectives small and hold limits.",
    ),
    "plot": (
        "mechgrad.cli.plot_command",
        "Draw a motion: its coordinates, energies and constraints, or measures of it.",
    ),
    "report": (
        "mechgrad.cli.report_command",
        "Write a page about a motion: animation, plots, the model, how it was made.",
    ),
    "simulate": (
        "mechgrad.cli.simulate_command",
        "Simulate a model and show what moved.",
    ),
    "view": (
        "mechgrad.cli.view_command",
        "Look at a motion or a model in the browser, or write it as a page, a picture or a film.",
    ),
    "warm": (
        "mechgrad.cli.warm_command",
        "Compile every kernel now, so that no later command or script has to.",
    ),
    "version": (
        "mechgrad.cli.version_command",
        "Print the versions that a report of a problem should quote.",
    ),
}
"""Where the function of each command is, and the first line of what it says of itself."""


class CommandsWhenCalled(TyperGroup):
    """A group whose list of commands is known without them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, (_, line) in COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line, callback=lambda: None), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself, in place of the line that stands for it."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, command(name) if name in COMMANDS else stand_in, rest


def command(name: str) -> Any:
    """A command with its options."""
    function: Callable[..., None] = getattr(importlib.import_module(COMMANDS[name][0]), name)
    alone = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
    alone.command(name)(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="mechgrad",
    cls=CommandsWhenCalled,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        importlib.import_module("mechgrad.cli.version_command").version()
        raise typer.Exit


@app.callback()
def mechgrad(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and leave.")
    ] = False,
) -> None:
    """Multibody dynamics with exact sensitivities."""
