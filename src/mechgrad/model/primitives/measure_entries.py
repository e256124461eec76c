"""Measures as files state them: {"measure": "Distance", "of": ["P1", "P2"]}."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from mechgrad.errors import ShapeError, ValueRangeError, unknown_name
from mechgrad.model.primitives.rows import MEASURE_TYPES, RowMeasure


def known_measures() -> Mapping[str, type]:
    """All measures by name. They enter themselves when they are imported; files are read before anybody did that."""
    importlib.import_module("mechgrad.measures")  # by name: no file here needs a measure in order to work
    return MEASURE_TYPES


def measure_to_dict(measure: RowMeasure, what: str) -> dict[str, Any]:
    """A measure as a file states it: {"measure": "Distance", "of": ["P1", "P2"]}, and its name if it has one."""
    name = type(measure).__name__
    if known_measures().get(name) is not type(measure):
        raise ValueRangeError(f"{what} is {measure!r}, a measure of your own, which a file cannot hold.")
    given = [(f, getattr(measure, f.name)) for f in fields(measure)]  # type: ignore[arg-type]
    of = [list(value) if isinstance(value, tuple) else value for f, value in given if not f.kw_only]
    return {"measure": name, "of": of} | {f.name: value for f, value in given if f.kw_only and value}


def measure_from(entry: Mapping[str, Any], what: str) -> Any:
    """The measure that an entry of a file states, see `measure_to_dict`."""
    for key in entry:
        if key not in ("measure", "of", "name"):
            raise unknown_name("key", str(key), ("measure", "of", "name"), what)
    if not isinstance(entry.get("name", ""), str):
        raise ShapeError(f"{what}: name = {entry['name']!r:.60} must be a word in quotes.")
    name, of = entry.get("measure"), entry.get("of", [])
    known = known_measures()
    if not isinstance(name, str) or name not in known:
        raise unknown_name("measure", f"{name!s:.60}", known, what)
    of = [of] if isinstance(of, str) else of
    for x in of if isinstance(of, list) else ():
        if not (isinstance(x, str) and x) and not (isinstance(x, list) and all(isinstance(c, int | float) for c in x)):
            raise ShapeError(f"{what}: of = {of!r:.60} must be a list of names in quotes, or of directions [x, y, z].")
    wanted = [f for f in fields(known[name]) if f.init and not f.kw_only]
    least = sum(f.default is MISSING for f in wanted)
    if not isinstance(of, list) or not least <= len(of) <= len(wanted):
        count = f"{len(of)} entries" if isinstance(of, list) else f"{of!r}"
        raise ShapeError(
            f"{what}: {name} of {count}; it takes {', '.join(f.name for f in wanted) or 'none'}"
            + (f", of which {least} are needed." if least < len(wanted) else ".")
        )
    for f, x in zip(wanted, of, strict=False):
        if f.metadata.get("refers") and not isinstance(x, str):
            raise ShapeError(
                f"{what}: {f.name} of {name} is {x!r:.60}; give the name of a {f.metadata['refers']} in quotes."
            )
    given = [tuple(x) if isinstance(x, list) else x for x in of]
    return known[name](*given, **({"name": entry["name"]} if "name" in entry else {}))
