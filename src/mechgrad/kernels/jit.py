"""How kernels are compiled and where the machine code is kept.

Numba keys a cached function by the text of *its own* file; a change in a callee that lives in another file would go
unnoticed and stale machine code would run. Our cache directory is therefore named by a hash of every source file that
machine code can come from (and of the compiler versions and the number of lanes): such an edit starts an empty cache,
and nothing else ever needs invalidating. Compiled functions live in folders called `kernels`, and see what these files
import at their top level; edits elsewhere leave the cache alone.

Where the directory is, how its files are checked and shared between processes, and what people are told meanwhile is
in `kernels/disk`, which has no part in machine code and none in the hash.

The directory is handed to Numba only while our own functions are decorated, so a user's Numba settings stay theirs.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config as numba_config

from mechgrad.kernels import compiler
from mechgrad.kernels.host import LANES

PACKAGE = Path(__file__).resolve().parents[1]

# `contract` lets a*b + c become one fused operation; `nsz` ignores the sign of zero. Nothing that could hide a NaN.
FASTMATH = {"contract", "nsz"}


# Without the wrappers that Python would need to call them, inner functions compile in a fraction of the time.
_INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "fastmath": FASTMATH,
    **compiler.INNER,
}

# Passes own no array: their callers keep all of them alive. So they need not count references, which would take longer
# than the work of small mechanisms, and longer to compile. They cannot allocate, nor assign to slices.
_OWNLESS: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "fastmath": FASTMATH}
_PASS: dict[str, Any] = {**_INNER, **_OWNLESS}


# Unindented: what is imported for type checkers or inside functions never reaches a compiled function.
_IMPORT = re.compile(r"^(?:from|import)\s+mechgrad((?:\.\w+)*)(?:\s+import\s+(\([^)]*\)|[^\n]*))?", re.MULTILINE)


def compiled_sources(package: Path = PACKAGE) -> list[Path]:
    """The files below `package` that machine code can come from: all in folders called `kernels`, and what they
    import, directly or not."""
    todo = list(package.rglob("kernels/*.py"))
    found = set(todo)
    while todo:
        for dotted, names in _IMPORT.findall(todo.pop().read_text(encoding="utf-8")):
            base = package.joinpath(*dotted.split(".")[1:])
            near = [base.with_suffix(".py")] if dotted else []
            if base.is_dir():
                near = [base / "__init__.py", *(base / f"{name}.py" for name in re.findall(r"\w+", names))]
            new = {path for path in near if path.exists()} - found
            found |= new
            todo += new
    return sorted(found)


def sources_digest(package: Path = PACKAGE) -> str:
    """Hash of the sources of machine code below `package`."""
    digest = hashlib.sha256()
    for path in compiled_sources(package):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def source_hash(package: Path = PACKAGE, sources: str = "") -> str:
    """Hash of the sources of machine code below `package` and of the compiler stack; names the cache directory.

    sources : their `sources_digest`, where it is known
    """
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__} {sys.version}"
    told = f"lanes {LANES} lean {compiler.LEAN} {sources or sources_digest(package)}"
    return hashlib.sha256(f"{versions} {told}".encode()).hexdigest()[:16]


def _disk(module: str) -> Any:
    """A module of `kernels.disk`. Not imported above: what only keeps machine code must not change its hash."""
    return importlib.import_module(f"mechgrad.kernels.disk.{module}")


SOURCES = sources_digest()
CACHE_DIR: Path = _disk("place").choose(source_hash(sources=SOURCES))
PACK, NO_PACK = _disk("packs").fitting(PACKAGE / "kernels" / "packs", SOURCES, LANES)
"""Machine code that came with the package and fits this process, or None; and why it does not fit."""
_disk("notices").because(NO_PACK)


@contextmanager
def _our_cache() -> Iterator[None]:
    settings: Any = numba_config  # whose type stubs do not know their own settings
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(CACHE_DIR)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


ENTRIES: dict[str, Any] = {}


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that Python calls; its machine code is kept on disk."""
    name = f"{function.__module__}.{function.__name__}"
    compiled = numba.njit(nogil=True, **compiler.ENTRY, **options)(function)
    with _our_cache():
        _disk("cache").keep(compiled, CACHE_DIR, name, PACK)
    _disk("notices").watch(name, CACHE_DIR.parent)
    ENTRIES[name] = compiled
    return compiled


def entry(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls and that allocates: cached on disk, releases the GIL, no divisor tests, no
    bounds checks."""
    return _kept(function, error_model="numpy", fastmath=FASTMATH)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a pass that Python calls: as `entry`, but the workspace is given, and references are not counted."""
    return _kept(function, **_OWNLESS)


def wrapper(function: Callable[..., Any]) -> Any:
    """Mark Python that makes the workspace of a kernel and calls it; like kernels it goes without annotations."""
    return function


def inner(function: Callable[..., Any]) -> Any:
    """Compile a pass that only kernels call; it allocates nothing."""
    return numba.njit(**_PASS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small pass that must vanish into its caller (its values live in registers)."""
    return numba.njit(forceinline=True, **_PASS)(function)


def spliced(function: Callable[..., Any]) -> Any:
    """Copy a pass into its caller before anything is compiled: for what is called at one place only."""
    return numba.njit(inline="always", **_PASS)(function)


def allocating(function: Callable[..., Any]) -> Any:
    """Copy what entries have in common, and allocates, into them before anything is compiled."""
    return numba.njit(inline="always", **_INNER)(function)


def allocator(function: Callable[..., Any]) -> Any:
    """Compile a small function that makes an array, for entries; it vanishes into them."""
    return numba.njit(forceinline=True, **_INNER)(function)


@inlined
def runtime_int(number: int) -> int:
    """The number, no longer as the literal, for which a pass would be compiled once more."""
    return number + 0
