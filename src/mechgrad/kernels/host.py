"""What the host processor offers, decided once: how many doubles run side by side."""

from __future__ import annotations

import os

import llvmlite.binding as llvm

WIDTHS = (1, 4, 8)
LINE = 64  # bytes of a line of the cache


def host_lanes() -> int:
    """Doubles per register: 8 with AVX-512, else 4 (LLVM splits them where registers are shorter).

    The environment variable MECHGRAD_LANES (1, 4 or 8) overrides the choice, to compare or to reproduce another
    machine.
    """
    chosen = os.environ.get("MECHGRAD_LANES")
    if chosen is None:
        return 8 if llvm.get_host_cpu_features().get("avx512f", False) else 4
    if chosen not in map(str, WIDTHS):
        raise ValueError(f"MECHGRAD_LANES is {chosen!r}; it must be one of {', '.join(map(str, WIDTHS))}.")
    return int(chosen)


LANES = host_lanes()
