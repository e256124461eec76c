"""Which figures of a page look like measurements, and which of those are not ours.

`UNITS` are patterns of figures that a benchmark has to write; `GIVEN` those that a person may: lengths of steps and
motions, what others report, history with its date. Each has a reason; a pattern that no page needs any more is dropped.
"""

from __future__ import annotations

__all__ = ["GIVEN", "UNITS"]

_FIGURE = r"(?<![\w.])\d[\d.,]*(?:e[+-]?\d+)?(?: (?:to|or|and) \d[\d.,]*)?"
_SECONDS = r"(?:s|seconds|min|minutes)\b"

UNITS: tuple[str, ...] = (
    _FIGURE + r"\s*(?:µs|us|ns|ms)\b",
    _FIGURE + r"\s*(?:KiB|MiB|GiB|kB|MB|GB)\b",
    _FIGURE + r"\s+times\s+(?:faster|slower|quicker|as\s+(?:long|fast)|Exudyn|the\s+(?:simulation|time))",
    r"\b(?:takes?|took|costs|needs?|needed|compil\w+|within|instead of)\s[^.|\n]{0,40}?" + _FIGURE + r"\s*" + _SECONDS,
)

GIVEN: tuple[tuple[str, str], ...] = (
    (r"[Ss]teps? of [\d.]+(?: to [\d.]+)? ms", "the length of a step, chosen"),
    (r"\| (?:slider-crank|bicycle), \d+ ms,", "the same, in the first column of a table"),
    (r"\(History: in version [\d.]+, \w+ \d{4}[^)]*\)", "design history that says its date"),
    (r"(?s)A study of \w+ \d{4} \(version [\d.]+\).*?(?=\n## )", "a section that says its date and cannot be repeated"),
)
