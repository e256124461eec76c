"""What starting costs: the import, the help, a first simulation and a first gradient, of a checkout and of a wheel.

    python benchmarks/start.py [--quick] [--wheel dist]

Every case is a process of its own. Cold: of this checkout, with an empty MECHGRAD_CACHE_DIR, so that every kernel is
compiled; seconds from the import to the first result. Wheel: installed into a new environment, with an empty cache and
in another place, on a processor that calls itself something else; `tools/check_wheel.py` says what it took and what was
compiled. A folder stands for the newest wheel in it that is for this Python (`make wheels`). Without --wheel these keys
are left out, and with --quick the cold gradient. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from cold_start import CASES, seconds_of
from common import Report, digits, machine

ROOT = Path(__file__).resolve().parents[1]
OTHER_NAME = "btver2"
MODULES = {"import_s": ["-c", "import mechgrad"], "help_s": ["-m", "mechgrad", "--help"]}


def process_seconds(arguments: list[str], rounds: int) -> float:
    """Of a Python process from its beginning to its end, less those of one that does nothing: the median of some."""

    def once(words: list[str]) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begin

    once(arguments)  # what is on disk is in memory then
    return statistics.median(once(arguments) - once(["-c", "pass"]) for _ in range(rounds))


def wheel_at(path: Path) -> Path:
    """A wheel, or the newest one of a folder for this Python."""
    if not path.is_dir():
        return path
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted(path.glob(f"mechgrad-*-{tag}-{tag}-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    if not found:
        raise SystemExit(f"no wheel for {tag} in {path}: make wheels PYTHONS={sys.executable}")
    return found[-1]


def of_wheel(wheel: Path) -> dict[str, object]:
    """What `tools/check_wheel.py` says in a new environment."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "environment"
        venv.create(place, with_pip=True)
        python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel.resolve()], check=True)
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [python, ROOT / "tools" / "check_wheel.py", OTHER_NAME],
            cwd=folder, capture_output=True, text=True, check=False,
            env=inherited | {"MECHGRAD_CACHE_DIR": str(Path(folder) / "cache"), "MECHGRAD_QUIET": "1"},
        )  # fmt: skip
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return found


def main() -> None:
    """All cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="no cold gradient, fewer rounds")
    parser.add_argument("--wheel", type=Path, help="with machine code for this Python, or a folder of them")
    asked = parser.parse_args()
    report, rows = Report({"machine": machine()}), []
    for key, arguments in MODULES.items():
        rows.append(
            [" ".join(arguments), digits(report.note(key, process_seconds(arguments, 5 if asked.quick else 15)))]
        )
    cold = {"cold_first_simulation_s": "five_bar"} | (
        {} if asked.quick else {"cold_first_gradient_s": "gradient_adjoint"}
    )
    for key, name in cold.items():
        label, code = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            rows.append([f"{label}, empty cache", digits(report.note(key, seconds_of(code, folder)["seconds"]))])
    if asked.wheel is not None:
        wheel = wheel_at(asked.wheel)
        found = of_wheel(wheel)
        simulated, differentiated = float(str(found["first_simulation_s"])), float(str(found["first_gradient_s"]))
        report.note("wheel_first_simulation_s", simulated)
        report.note("wheel_first_gradient_s", differentiated)
        report.note("compilations_from_wheel", len(list(found["compiled"])))  # type: ignore[call-overload]
        report.note("wheel_mb", wheel.stat().st_size / 1e6)
        rows.append(["a simulated five-bar, from the wheel", digits(simulated)])
        rows.append(["and its gradient, adjoint, from the wheel", digits(differentiated)])
    report.table("seconds", ["", "s"], rows)
    report.finish()


if __name__ == "__main__":
    main()
