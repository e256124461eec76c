"""The C interface of Ipopt, from the library that a wheel or the system brings."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import os
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_double, c_int, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mechgrad.typing import FloatArray, IntArray

DOUBLES = POINTER(c_double)
INTS = POINTER(c_int)

# Signatures of IpStdCInterface.h of Ipopt 3.14.
EvaluateF = CFUNCTYPE(c_bool, c_int, DOUBLES, c_bool, DOUBLES, c_void_p)
EvaluateG = CFUNCTYPE(c_bool, c_int, DOUBLES, c_bool, c_int, DOUBLES, c_void_p)
EvaluateJacobian = CFUNCTYPE(c_bool, c_int, DOUBLES, c_bool, c_int, c_int, INTS, INTS, DOUBLES, c_void_p)
EvaluateHessian = CFUNCTYPE(
    c_bool, c_int, DOUBLES, c_bool, c_double, c_int, DOUBLES, c_bool, c_int, INTS, INTS, DOUBLES, c_void_p
)
Intermediate = CFUNCTYPE(c_bool, c_int, c_int, *([c_double] * 8), c_int, c_void_p)


class IpoptNotFoundError(Exception):
    """No usable library; the message says what was tried."""


@cache
def load() -> ctypes.CDLL:
    """The library: that of MECHGRAD_IPOPT (a path), of the casadi wheel, or of the system, in this order."""
    tried = []
    for path in _candidates():
        try:
            library = _open(path)
        except OSError as error:
            tried.append(f"{path} ({error})")
            continue
        if not hasattr(library, "GetIpoptCurrentIterate"):
            tried.append(f"{path} (older than Ipopt 3.14)")
            continue
        return _declare(library)
    raise IpoptNotFoundError("; ".join(tried) or "no library found")


def _candidates() -> Iterator[str]:
    given = os.environ.get("MECHGRAD_IPOPT")
    if given:
        yield given
        return
    try:
        spec = importlib.util.find_spec("casadi")
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent
        for pattern in ("libipopt.so", "libipopt.so.*", "libipopt*.dylib", "libipopt*.dll"):
            yield from (str(p) for p in sorted(folder.glob(pattern)) if "casadi" not in p.name)
    system = ctypes.util.find_library("ipopt")
    if system:
        yield system


def _open(path: str) -> ctypes.CDLL:
    if hasattr(os, "add_dll_directory") and os.path.isabs(path):
        with os.add_dll_directory(os.path.dirname(path)):
            return ctypes.CDLL(path)
    return ctypes.CDLL(path)


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    problem = c_void_p
    library.CreateIpoptProblem.restype = problem
    library.CreateIpoptProblem.argtypes = [
        *(c_int, DOUBLES, DOUBLES, c_int, DOUBLES, DOUBLES, c_int, c_int, c_int),
        *(EvaluateF, EvaluateG, EvaluateF, EvaluateJacobian, EvaluateHessian),
    ]
    library.FreeIpoptProblem.restype = None
    library.FreeIpoptProblem.argtypes = [problem]
    for name, kind in (("Str", c_char_p), ("Num", c_double), ("Int", c_int)):
        add = getattr(library, f"AddIpopt{name}Option")
        add.restype = c_bool
        add.argtypes = [problem, c_char_p, kind]
    library.SetIntermediateCallback.restype = c_bool
    library.SetIntermediateCallback.argtypes = [problem, Intermediate]
    library.IpoptSolve.restype = c_int
    library.IpoptSolve.argtypes = [problem, DOUBLES, DOUBLES, DOUBLES, DOUBLES, DOUBLES, DOUBLES, c_void_p]
    library.GetIpoptCurrentIterate.restype = c_bool
    library.GetIpoptCurrentIterate.argtypes = [
        *(problem, c_bool, c_int, DOUBLES, DOUBLES, DOUBLES, c_int, DOUBLES, DOUBLES)
    ]
    return library


def doubles(array: FloatArray) -> Any:
    """A pointer to the numbers of a contiguous array, which the caller keeps alive."""
    return array.ctypes.data_as(DOUBLES)


def view(pointer: Any, size: int) -> FloatArray:
    """The numbers behind a pointer, not copied."""
    return np.ctypeslib.as_array(pointer, (size,)) if size else np.zeros(0)


def fill_structure(rows: Any, cols: Any, structure: tuple[IntArray, IntArray]) -> None:
    """Write rows and columns where Ipopt wants them."""
    size = len(structure[0])
    if size:
        np.ctypeslib.as_array(rows, (size,))[:] = structure[0]
        np.ctypeslib.as_array(cols, (size,))[:] = structure[1]
