"""Machine code of all kernels for a level of processors, for wheels (`make wheels`).

    python tools/build_packs.py OUT [--level x86-64-v3] [--only TEXT]

Runs every step of `mechgrad warm`, compiled for the level instead of for this processor, and leaves OUT/<level>. This
processor must offer what the level asks for. --only: steps whose label holds a text, for tests. Numba's target is set
in the environment of this process alone. What object code wants from outside must be there wherever Numba is: its
runtime, Python, and the mathematical library; anything else is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LANES = {"x86-64-v4": "8", "x86-64-v3": "4"}


def asked() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path, help="folder of the packs")
    parser.add_argument("--level", choices=LANES, default="x86-64-v3")
    parser.add_argument("--only", default="", help="steps whose label holds this")
    return parser.parse_args()


def set_target(level: str, cache: str) -> None:
    """Before anything of Numba is imported."""
    os.environ |= {
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",  # those of the level, none of this processor's
        "NUMBA_DISABLE_INTEL_SVML": "1",  # no calls into a library that may be absent
        "MECHGRAD_LANES": LANES[level],
        "MECHGRAD_CACHE_DIR": cache,
        "MECHGRAD_QUIET": "1",
    }


def main() -> None:
    """Build one pack; the last line is a JSON object."""
    given = asked()
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as cache:
        set_target(given.level, cache)
        kernels, missing = built(given.out / given.level, given.level, given.only)
    size = sum(path.stat().st_size for path in (given.out / given.level).iterdir())
    told = {"level": given.level, "kernels": kernels, "bytes": size, "cpu_s": round(time.process_time() - begin, 1)}
    print(json.dumps(told | {"missing": missing}))
    sys.exit(1 if missing else 0)


def built(folder: Path, level: str, only: str) -> tuple[int, list[str]]:
    """Number of kernels, and what is missing: symbols that nobody offers, and kernels that no step compiled."""
    import llvmlite.binding as llvm
    from numba.core.serialize import dumps

    from mechgrad.cli.warm import warm_steps
    from mechgrad.kernels import jit
    from mechgrad.kernels.disk import cache, packs

    pack = packs.Pack(folder)
    kept: dict[str, list[tuple[Any, Any]]] = {}
    wanted: set[str] = set()
    save = cache.KernelCache.save_overload

    def kept_too(self: Any, signature: Any, result: Any) -> None:
        reduced = packs.without_what_links(result)
        wanted.update(undefined(reduced[0][2][0]))
        kept.setdefault(self._name_of_kernel, []).append((signature, reduced))
        save(self, signature, result)

    cache.KernelCache.save_overload = kept_too  # type: ignore[method-assign]
    for step in warm_steps():
        if only in step.label:
            step.run()
    for name, overloads in kept.items():
        pack.save(name, dumps(overloads))
    pack.sign(packs.made_of(jit.SOURCES, level))
    missing = sorted(symbol for symbol in wanted if not llvm.address_of_symbol(symbol))
    if not only:
        missing += sorted(set(jit.ENTRIES) - set(kept))
    return len(kept), missing


def undefined(code: bytes) -> set[str]:
    """Symbols that a 64-bit ELF object wants from outside: those of its symbol table whose section is none."""
    (offset,) = struct.unpack_from("<Q", code, 40)
    width, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, offset + k * width) for k in range(count)]
    names: set[str] = set()
    for section in sections:
        if section[1] != 2:  # SHT_SYMTAB
            continue
        start, size, strings = section[4], section[5], sections[section[6]][4]
        for at in range(start, start + size, 24):
            name, _, _, place = struct.unpack_from("<IBBH", code, at)
            if place == 0 and name:
                end = code.index(b"\0", strings + name)
                names.add(code[strings + name : end].decode())
    return names


if __name__ == "__main__":
    main()
