"""What a figure was measured with: the processor, the versions, the commit. Standard library only."""

from __future__ import annotations

import os
import platform
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"numpy": "numpy", "scipy": "scipy", "numba": "numba", "pinocchio": "pin", "exudyn": "exudyn"}
PACKAGES |= {"casadi": "casadi"}


def machine() -> dict[str, str | int | None]:
    """The processor and the versions behind a figure."""
    found: dict[str, str | int | None] = {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "mechgrad": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"],
    }
    for name, distribution in PACKAGES.items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """The commit that is checked out, with a plus if sources or benchmarks differ from it; "" outside of a checkout."""
    try:
        head = _git("rev-parse", "--short=7", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "benchmarks/*.py", "tests/support")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
