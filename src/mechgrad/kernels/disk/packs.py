"""Machine code that comes with the package: where it fits, nothing is compiled.

A pack is a folder of the installed package,

    mechgrad/kernels/packs/<level>/        pack.json: what it was made of and for
                                           <kernel>.code: machine code, in checked files (`files.py`)

made by `tools/build_packs.py`. A level is one of the x86-64 psABI. Machine code is run only if everything that it
depends on is as it was: the sources of kernels, Python, Numba, llvmlite and NumPy, the processor, and that nobody told
Numba how to compile. Where anything differs, and for files that are damaged, kernels are compiled as without a pack.
Packs are read from where the package's own files are, and trusted as these are.
"""

from __future__ import annotations

import json
import pickle
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import config as numba_config

from mechgrad.kernels.disk.files import opened, sealed

__all__ = ["LEVELS", "Pack", "fitting", "made_of", "without_what_links"]

# Levels of the x86-64 psABI, the best first: lanes, and what a processor must offer, in LLVM's words.
_V3: Final = "cx16 sahf popcnt sse3 sse4.1 sse4.2 ssse3 avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
LEVELS: Final[Mapping[str, tuple[int, frozenset[str]]]] = {
    "x86-64-v4": (8, frozenset(f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl".split())),
    "x86-64-v3": (4, frozenset(_V3.split())),
}
MANIFEST: Final = "pack.json"


def made_of(sources: str, level: str) -> dict[str, str]:
    """What machine code depends on: what a pack is made of, or what this process has.

    sources : the hash of all sources that machine code can come from
    """
    return {
        "sources": sources,
        "level": level,
        "python": str(sysconfig.get_config_var("SOABI")),
        "numba": numba.__version__,
        "llvmlite": ".".join(llvmlite.__version__.split(".")[:2]),
        "numpy": np.__version__.split(".")[0],
    }


def told_otherwise() -> bool:
    """Whether a user told Numba for what, or how, to compile."""
    settings: Any = numba_config
    return bool(
        settings.CPU_NAME is not None
        or settings.CPU_FEATURES is not None
        or not settings.ENABLE_AVX
        or settings.BOUNDSCHECK
        or settings.DEBUGINFO_DEFAULT
        or settings.DISABLE_JIT
        or int(settings.OPT) != 3
    )


def host_level(lanes: int) -> str | None:
    """The best level whose code this processor runs with so many lanes; None if there is none."""
    offered = {name for name, present in llvm.get_host_cpu_features().items() if present}
    fit = (level for level, (count, needed) in LEVELS.items() if count == lanes and needed <= offered)
    return next(fit, None)


@dataclass(frozen=True, slots=True)
class Pack:
    """A folder of machine code that is only read."""

    folder: Path

    def load(self, kernel: str, signature: Any) -> Any:
        """What was kept of a kernel for a signature; None if there is nothing, or nothing that can be read."""
        data = opened(self.folder / f"{kernel}.code")
        if data is None:
            return None
        try:
            return next((reduced for known, reduced in pickle.loads(data) if known == signature), None)
        except Exception:  # whatever classes of another make say to their state
            return None

    def save(self, kernel: str, overloads: bytes) -> None:
        """Keep [(signature, what Numba keeps), ..], pickled; only those who build packs do this."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{kernel}.code").write_bytes(sealed(overloads))

    def sign(self, what: Mapping[str, str]) -> None:
        """State what the pack is made of."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / MANIFEST).write_text(json.dumps(dict(what), indent=1) + "\n", encoding="utf-8")

    def differs(self, what: Mapping[str, str]) -> str | None:
        """What it was made of that is not as here, in words; None if it fits."""
        try:
            found = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            other = [name for name in what if found.get(name) != what[name]]
        except (OSError, ValueError, AttributeError):
            return "cannot be read"
        if not other:
            return None
        if "sources" in other:
            return "is of other sources"
        return "is for " + ", ".join(f"{name} {found.get(name)} (here: {what[name]})" for name in other)


def fitting(root: Path, sources: str, lanes: int) -> tuple[Pack | None, str]:
    """The pack below `root` that this process can run, or None and why; ("" if the package has none at all)."""
    if not root.is_dir():
        return None, ""
    if told_otherwise():
        return None, "Numba was told how to compile, so machine code that comes with mechgrad is not used"
    level = host_level(lanes)
    if level is None:
        return None, f"mechgrad comes with no machine code for this processor and {lanes} lanes"
    pack = Pack(root / level)
    if not pack.folder.is_dir():
        return None, f"mechgrad comes with no machine code of level {level}"
    why = pack.differs(made_of(sources, level))
    return (pack, "") if why is None else (None, f"machine code that comes with mechgrad {why}")


def without_what_links(result: Any) -> Any:
    """What Numba keeps of a compiled function, without what is there to link other functions with it only: nothing
    calls an entry but Python."""
    (name, kind, (code, _)), *rest = result._reduce()
    described = result.fndesc
    called = {described.llvm_func_name, described.llvm_cpython_wrapper_name, described.llvm_cfunc_wrapper_name}
    defined = [f.name for f in result.library._final_module.functions if not f.is_declaration and f.name in called]
    stand_ins = "\n".join(f'define void @"{f}"() {{\nunreachable\n}}' for f in defined)
    rest[5] = ""  # the source with its types, and the path of whoever built it
    return (name, kind, (code, llvm.parse_assembly(stand_ins).as_bitcode())), *rest
