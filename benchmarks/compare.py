"""Two checkouts side by side: the same benchmarks of both in turns, and the ratio of every figure.

    python benchmarks/compare.py BASE NEW [--benchmarks NAME ...] [--rounds N] [--full] [--all]

BASE and NEW are folders of two checkouts (`git worktree add ../base main`). In each round every benchmark runs once
with each of them, in turning order (A B, B A, ..), in a process of its own with PYTHONPATH on that checkout's src and
its own benchmarks; --quick unless --full is given. Of a time the least of all rounds counts, since whatever else runs
on a machine only adds to it; of a ratio that should be high the greatest. The last column is how many times longer NEW
takes; a mark stands where that is more than 5 %. Figures that are no times (errors, iterations, counts) are listed if
they differ by more than 5 %, or all of them with --all. Benchmarks compile before their clocks run, so a first round
may take minutes. The last line is one JSON object: the ratios. The exit status is 1 if anything is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOWER = 1.05
BENCHMARKS = (
    "inverse_dynamics",
    "forward_dynamics",
    "methods",
    "verbs",
    "dynamics",
    "gradients",
    "motion",
    "cold_start",
)
TIME = re.compile(r"_(?:us|ms|s|ns|seconds)(?:_|$)")
NOT_TIME = re.compile(r"_pin_|_exudyn|_scipy_|ratio|exponent|_speedup|_share|_over_|_T$")  # of others, or quotients
HIGH = re.compile(r"_ratio_vs_|^ratio_vs_|_speedup")
LOW = re.compile(r"_over_")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of both checkouts; `longer` is NEW over BASE in the sense of cost, None if it is no cost."""

    key: str
    base: float
    new: float
    longer: float | None

    @property
    def slower(self) -> bool:
        """More than 5 % longer."""
        return self.longer is not None and self.longer > SLOWER

    @property
    def differs(self) -> bool:
        """More than 5 % apart."""
        return abs(self.new - self.base) > (SLOWER - 1) * max(abs(self.base), abs(self.new))


def sense(key: str) -> str:
    """'time' and 'low' are costs, 'high' is better the larger it is, 'other' is no cost."""
    if TIME.search(key) and not NOT_TIME.search(key):
        return "time"
    if HIGH.search(key):
        return "high"
    return "low" if LOW.search(key) else "other"


def figures(checkout: Path, benchmark: str, options: Iterable[str]) -> dict[str, float]:
    """What one run says in its last line, numbers only."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "MECHGRAD_QUIET": "1"}
    script = checkout / "benchmarks" / f"{benchmark}.py"
    command = [sys.executable, str(script), *options]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {key: float(x) for key, x in found.items() if isinstance(x, int | float) and not isinstance(x, bool)}


def best(key: str, values: list[float]) -> float:
    """The one that disturbances have touched least."""
    return max(values) if sense(key) == "high" else min(values)


def compared(base: list[dict[str, float]], new: list[dict[str, float]]) -> list[Line]:
    """Lines for all figures that both have."""
    lines = []
    for key in base[0]:
        if not all(key in run for run in (*base, *new)):
            continue
        a, b = (best(key, [run[key] for run in runs]) for runs in (base, new))
        longer = None
        if sense(key) in ("time", "low") and a > 0:
            longer = b / a
        elif sense(key) == "high" and b > 0:
            longer = a / b
        lines.append(Line(key, a, b, longer))
    return lines


def shown(benchmark: str, lines: list[Line], everything: bool) -> Iterable[str]:
    """The table of one benchmark."""
    yield f"\n{benchmark:44} {'base':>12} {'new':>12}   new / base"
    for line in lines:
        if line.longer is not None:
            mark = "  SLOWER" if line.slower else ""
            yield f"  {line.key:42} {line.base:12.4g} {line.new:12.4g}   {line.longer:6.3f}{mark}"
        elif everything or line.differs:
            yield f"  {line.key:42} {line.base:12.4g} {line.new:12.4g}   {'differs' if line.differs else ''}".rstrip()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("--benchmarks", nargs="+", default=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--full", action="store_true", help="without --quick")
    parser.add_argument("--all", action="store_true", help="list what does not differ, too")
    asked = parser.parse_args()
    checkouts = {"base": asked.base.resolve(), "new": asked.new.resolve()}
    ratios, slower = {}, []
    for benchmark in asked.benchmarks:
        missing = [str(x) for x in checkouts.values() if not (x / "benchmarks" / f"{benchmark}.py").exists()]
        if missing:
            print(f"\n{benchmark}: not in {', '.join(missing)}")
            continue
        runs: dict[str, list[dict[str, float]]] = {"base": [], "new": []}
        for k in range(asked.rounds):
            for name in ("base", "new") if k % 2 == 0 else ("new", "base"):
                runs[name].append(figures(checkouts[name], benchmark, () if asked.full else ("--quick",)))
        lines = compared(runs["base"], runs["new"])
        print("\n".join(shown(benchmark, lines, asked.all)), flush=True)
        ratios |= {f"{benchmark}.{x.key}": float(f"{x.longer:.4g}") for x in lines if x.longer is not None}
        slower += [f"{benchmark}.{x.key}" for x in lines if x.slower]
    print(f"\n{len(ratios)} costs compared, slower by more than 5 %: {', '.join(slower) or 'none'}")
    print(json.dumps(ratios))
    raise SystemExit(1 if slower else 0)


if __name__ == "__main__":
    main()
