"""Python code that a user names on the command line: the only code that commands run besides their own."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from mechgrad.errors import InputError, MechgradError, unknown_name

__all__ = ["load_functions", "load_object", "users_code"]


def load_object(where: str) -> Any:
    """The object NAME of FILE.py:NAME."""
    file, _, name = where.rpartition(":")
    if not file:
        raise InputError(f"{where!r} leads to no file; write FILE.py:NAME.")
    module = _load(file, where)
    if not hasattr(module, name):
        raise unknown_name("name", name, [key for key in vars(module) if not key.startswith("_")], file)
    return getattr(module, name)


def load_functions(file: str) -> dict[str, Callable[..., Any]]:
    """The functions of FILE.py by their names: those defined in it, but for names that begin with an underscore.

    They get arrays (time first) and return such, as functions of `mg.Integral` do.
    """
    module = _load(file, file)
    found = {
        name: value
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }
    if not found:
        raise InputError(f"{file} defines no function; formulas of the problem could not use it.")
    return {name: _told(f"{file}:{name}", value) for name, value in found.items()}


def users_code(where: str, call: Callable[[], Any]) -> Any:
    """The result of a user's code; what it raises becomes a sentence with the line."""
    try:
        return call()
    except MechgradError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{Path(frame.filename).name}, line {frame.lineno}"
        raise InputError(f"{where} raised {type(error).__name__}: {error} ({line}).") from error


def _told(where: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose errors become sentences; those of dual numbers are for whoever sent these through it."""

    def told(*args: Any) -> Any:
        if any(hasattr(x, "slopes") for x in args):
            return function(*args)
        return users_code(where, lambda: function(*args))

    return told


def _load(file: str, where: str) -> ModuleType:
    """A module from a file; files next to it can be imported by it."""
    path = Path(file)
    if not path.is_file():
        raise InputError(f"{where!r} leads to no file; write FILE.py" + (":NAME." if ":" in where else "."))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is not a Python file.")
    module, loader = importlib.util.module_from_spec(spec), spec.loader
    sys.path.insert(0, str(path.resolve().parent))
    try:
        users_code(where, lambda: loader.exec_module(module))
    finally:
        sys.path.pop(0)
    return module
