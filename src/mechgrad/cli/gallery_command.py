"""The command `mechgrad gallery`: the mechanisms that are ready to use, also as the table of the page about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.table import Table

import mechgrad as mg
from mechgrad.cli.models import GALLERY, story
from mechgrad.cli.starts import start_of

__all__ = ["Listed", "gallery", "listed", "markdown_table"]


class Listed(NamedTuple):
    """A mechanism of the gallery in a line: `freedoms` are those at its usual start, loops closed."""

    name: str
    story: str
    bodies: int
    freedoms: int


def listed() -> list[Listed]:
    """All of the gallery, made and counted."""
    found = []
    for name, ready in GALLERY.items():
        model = ready.make()
        freedoms = mg.mobility(model, start_of(name, model, {}, {}).q).freedoms
        found.append(Listed(name, story(name), len(model.bodies), freedoms))
    return found


def markdown_table(rows: Iterable[Listed]) -> str:
    """The table of docs/gallery.md."""
    lines = ["| name | bodies | freedoms | |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.bodies} | {row.freedoms} | {row.story} |" for row in rows]
    return "\n".join(lines)


def gallery(
    markdown: Annotated[bool, typer.Option("--markdown", help="As a table of a Markdown page.")] = False,
) -> None:
    """List the mechanisms that are ready to use: a line about each, its bodies and degrees of freedom.

    Every command and problem file knows these names; in Python they are functions of `mechgrad.gallery`.
    """
    rows = listed()
    if markdown:
        typer.echo(markdown_table(rows))
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("bodies", justify="right")
    table.add_column("freedoms", justify="right")
    table.add_column("")
    for row in rows:
        table.add_row(row.name, str(row.bodies), str(row.freedoms), row.story)
    Console().print(table)
