"""Puts packs of machine code into a wheel: MECHGRAD_PACKS names the folder that `tools/build_packs.py` made.

Without it the wheel is pure Python, for every platform that no wheel with packs is for.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackHook(BuildHookInterface):
    """Adds the packs, and says for which Python and platform the wheel is: those that Numba's own wheels are for."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds."""
        packs = os.environ.get("MECHGRAD_PACKS")
        if not packs or self.target_name != "wheel":
            return
        levels = sorted(path for path in Path(packs).iterdir() if (path / "pack.json").is_file())
        if not levels:
            raise FileNotFoundError(f"MECHGRAD_PACKS is {packs}, where no pack is; run tools/build_packs.py")
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-manylinux_2_27_x86_64"
        for level in levels:
            build_data["force_include"][str(level)] = f"mechgrad/kernels/packs/{level.name}"
