"""Pages of results in one file: texts, tables, pictures and animations that open anywhere, without a network; where
nothing moves, without scripts.

A page is sections, a section is parts, and every part writes itself; whatever text goes in is escaped. Pictures are
embedded as data. Nothing here knows mechanics: what a report says is put together where the result is.
"""

from __future__ import annotations

import base64
import io
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Final, final

from mechgrad.errors import InputError, printable

PACKAGES: Final = ("mechgrad", "numpy", "scipy", "numba", "matplotlib")
STYLE: Final = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; --bad: #d55e00; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid var(--line); }
table.facts td { text-align: left; } table + table { margin-top: 1rem; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
tr.marked td { background: var(--soft); }
tr.marked td:first-child { border-left: 4px solid var(--bad); padding-left: .4rem; }
figure { margin: 1rem 0; } img { max-width: 100%; background: white; } figcaption { opacity: .8; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; font-size: 13px; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); opacity: .8; font-size: 13px; }
"""
STILL: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a page may do: nothing but show itself."""
SCRIPTED: Final = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What a page with an animation may do: run what it has inside; still nothing from elsewhere."""
PAGE: Final = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$allowed">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<h1>$title</h1>
$body
<footer>$footer</footer>
</body>
</html>
"""
)


def _text(x: Any) -> str:
    return escape(printable(str(x)))


class Part(ABC):
    """What a section is made of.

    scripted : whether it runs a script of its own, in a frame
    """

    scripted: ClassVar[bool] = False

    @abstractmethod
    def html(self) -> str:
        """Itself, everything escaped."""


@final
@dataclass(frozen=True)
class Paragraph(Part):
    """A sentence or several.

    >>> Paragraph("a < b").html()
    '<p>a &lt; b</p>'
    """

    text: str

    def html(self) -> str:
        return f"<p>{_text(self.text)}</p>"


@final
@dataclass(frozen=True)
class Listing(Part):
    """Text whose lines stay as they are."""

    text: str

    def html(self) -> str:
        return f"<pre>{_text(self.text)}</pre>"


@final
@dataclass(frozen=True)
class Table(Part):
    """Rows of texts; the first column is a name.

    headings : of the columns;   rows : as many texts each;   marked : rows that deserve a look
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: Sequence[int] = ()

    def html(self) -> str:
        lines = ["<table>"] if any(self.headings) else ['<table class="facts">']
        if any(self.headings):
            lines.append(f"<tr>{''.join(f'<th>{_text(x)}</th>' for x in self.headings)}</tr>")
        for k, row in enumerate(self.rows):
            begin = '<tr class="marked">' if k in self.marked else "<tr>"
            lines.append(f"{begin}{''.join(f'<td>{_text(x)}</td>' for x in row)}</tr>")
        return "\n".join([*lines, "</table>"])


def facts(given: Mapping[str, Any]) -> Table:
    """Names and what they are, as a table without headings of its own.

    >>> facts({"status": "converged"}).rows
    [['status', 'converged']]
    """
    return Table(("", ""), [[name, str(x)] for name, x in given.items()])


@final
@dataclass(frozen=True, eq=False)
class Picture(Part):
    """A matplotlib figure, embedded as vectors, which stay sharp.

    caption : what it shows, also for those who do not see it
    """

    figure: Any
    caption: str

    def html(self) -> str:
        import matplotlib as mpl

        kept = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": "mechgrad"}):  # the same picture is the same text
            self.figure.savefig(kept, format="svg", metadata={"Date": None})
        data = base64.b64encode(kept.getvalue()).decode("ascii")
        caption = _text(self.caption)
        return (
            f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}"><figcaption>{caption}</figcaption>'
            "</figure>"
        )


@final
@dataclass(frozen=True, eq=False)
class Embedded(Part):
    """An animation in a frame: HTML of `visualization.web_page`, which escapes what comes from others."""

    fragment: str
    scripted: ClassVar[bool] = True

    def html(self) -> str:
        return f"<figure>{self.fragment}</figure>"


@final
@dataclass(frozen=True, eq=False)
class Section:
    """A heading and its parts; left out of a page where there are none."""

    heading: str
    parts: Sequence[Part] = field(default=())

    def html(self) -> str:
        """Itself."""
        inside = "\n".join(part.html() for part in self.parts)
        return f"<section>\n<h2>{_text(self.heading)}</h2>\n{inside}\n</section>" if self.parts else ""


@final
@dataclass(frozen=True, eq=False)
class Page:
    """A whole page.

    title : its heading;   sections : in their order;   lead : the sentence below the title that says what came out

    >>> text = Page("five-bar <3>", [Section("Result", [Paragraph("converged")])]).html()
    >>> "five-bar &lt;3&gt;" in text, "<script" in text
    (True, False)
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""

    @property
    def scripted(self) -> bool:
        """Whether any part runs a script; pages of texts and pictures allow none."""
        return any(part.scripted for section in self.sections for part in section.parts)

    def html(self) -> str:
        """The whole of it as text."""
        body = [Paragraph(self.lead).html()] if self.lead else []
        body += [section.html() for section in self.sections]
        return PAGE.substitute(
            allowed=SCRIPTED if self.scripted else STILL,
            title=_text(self.title),
            style=STYLE,
            body="\n".join(x for x in body if x),
            footer=_text(versions()),
        )

    def write(self, path: str | Path) -> Path:
        """Write it; the file is there whole, or not at all."""
        path = checked_path(path)
        text, part = self.html(), path.with_name(path.name + ".part")
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise _unwritten(path, error) from error
        return path


def versions() -> str:
    """What made a page: packages, Python and machine."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # an extra that is not installed, or a checkout that is none
            continue
    return f"{', '.join(found)}; Python {platform.python_version()} on {platform.system()} {platform.machine()}"


def require_pictures() -> None:
    """Raise where there is no matplotlib."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise InputError(
            "pages with pictures need matplotlib, which is not installed: pip install mechgrad[viz]"
        ) from error


def checked_path(path: str | Path) -> Path:
    """Where a page can be written; asked before anything is computed for it.

    >>> checked_path("notes.txt")
    Traceback (most recent call last):
    mechgrad.errors.InputError: a report is a page: give a name that ends with .html, not 'notes.txt'.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is a page: give a name that ends with .html, not {path.name!r}.")
    if not path.parent.is_dir():
        raise InputError(f"report {str(path)!r} cannot be written: there is no folder {str(path.parent)!r}.")
    return path


def _unwritten(path: Path, error: OSError) -> InputError:
    return InputError(f"report {str(path)!r} cannot be written: {error.strerror or error}. Give another path.")
