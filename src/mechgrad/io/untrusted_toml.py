"""TOML from strangers: text to tables, with bounds on what a file may ask of the reader.

Python's reader takes integers of any length, nests without end, and needs a time that grows with the square of the
parts of a dotted key. Files for people need none of that: integers have 64 bits as TOML promises, tables and lists are
nested at most MAX_DEPTH deep, keys have at most MAX_PARTS parts, and text has no control characters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mechgrad.errors import MechgradError, is_control

__all__ = ["parse_tables", "read_tables"]

MAX_DEPTH: Final = 32
MAX_PARTS: Final = 32
MAX_INTEGER: Final = 2**63

_PART: Final = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY: Final = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_PARTS}}}")


def read_tables(path: Path, noun: str, error: type[MechgradError], missing: type[MechgradError]) -> dict[str, Any]:
    """The content of a TOML file in UTF-8, with or without a byte order mark; `noun` is "model" or "problem".

    Raises `missing` if there is no such file and `error` for all else, each naming the file and what to do.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as cause:
        raise missing(f"{path}: there is no such {noun} file (looked in {path.absolute().parent}).") from cause
    except IsADirectoryError as cause:
        raise error(f"{path}: this is a folder; give the name of a {noun} file in it.") from cause
    except UnicodeDecodeError as cause:
        raise error(
            f"{path}: not a text file in UTF-8 (byte {cause.start}). {noun.capitalize()} files are TOML."
        ) from cause
    except (OSError, ValueError) as cause:  # no permission, a name with a null character
        raise error(f"{path}: this file cannot be read ({getattr(cause, 'strerror', None) or cause}).") from cause
    return parse_tables(text, str(path), error)


def parse_tables(text: str, path: str, error: type[MechgradError]) -> dict[str, Any]:
    """The content of TOML; `path` says where it is from."""
    if (key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, key.start()) + 1
        raise error(f"{path}: a name of more than {MAX_PARTS} parts between dots in line {line}.")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise error(f"{path}: not valid TOML: {cause}. Strings need quotes, lists square brackets.") from cause
    except RecursionError as cause:
        raise error(f"{path}: tables or lists are nested too deeply; at most {MAX_DEPTH} are read.") from cause
    except ValueError as cause:  # an integer of thousands of digits, a date that no calendar has
        raise error(f"{path}: not valid TOML: {str(cause).split(';')[0]}.") from cause
    if (what := _refused(content, "", 0)) is not None:
        raise error(f"{path}: {what}")
    return content


def _refused(value: Any, where: str, depth: int) -> str | None:
    """What is wrong with a value, if anything is."""
    if depth > MAX_DEPTH:
        return f"{where[:60]}...: tables or lists are nested too deeply; at most {MAX_DEPTH} are read."
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if any(map(is_control, key)):
                return f"{where or 'the file'}: the key {key!r} has a control character. Remove it."
            if (found := _refused(inner, f"{where}.{key}" if where else key, depth + 1)) is not None:
                return found
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            if not isinstance(inner, float) and (found := _refused(inner, f"{where}[{k}]", depth + 1)) is not None:
                return found
    elif isinstance(value, str):
        if (bad := next((c for c in value if is_control(c) and c not in "\n\r\t"), None)) is not None:
            return f"{where}: a text with the control character {bad!r}. Remove it."
    elif isinstance(value, int) and not -MAX_INTEGER <= value < MAX_INTEGER:
        return f"{where}: an integer of {value.bit_length()} bits; integers have at most 64. Write it as 1.0e30."
    return None
