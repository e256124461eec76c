"""Runs the benchmarks, keeps their figures in benchmarks/results, and writes them into README.md, docs and others.

    python benchmarks/write_numbers.py [--quick] [--only NAME ...]    run, keep, write (`make numbers`)
    python benchmarks/write_numbers.py --from-results                 write what is kept, run nothing
    python benchmarks/write_numbers.py --check                        is every figure in the text the one that is kept?

A page names figures in HTML comments, which no reader of the rendered page sees. One figure within a sentence:

    <!-- number: dynamics.five_bar_us_per_step -->3.95<!-- /number -->

and a paragraph or a table, whose template comes first and is followed by what was made of it:

    <!-- numbers
    | five-bar | {dynamics.five_bar_us_per_step} µs |
    -->
    | five-bar | 3.95 µs |
    <!-- /numbers -->

`{benchmark.key}` has three significant digits; `:.1f` and the like ask for another format (`:e` is 3.6e-5, `:%` is
12 %), `*1e3` multiplies before, and a `?` behind the key writes "-" where a full run has no such figure.
`{benchmark.run}` says where and when it was measured. What a quick run leaves out (`FULL_ONLY`) keeps the text it has.

The check also reads what stands outside of markers: a figure with a unit of time, memory or speed there was typed by
hand. `GIVEN` lists those that are not measurements of ours, each with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from environment import ROOT, commit, machine
from given_figures import GIVEN, UNITS

RESULTS = ROOT / "benchmarks" / "results"
# each with what a full run is asked for
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "house": (),
    "cold_start": (),
    "start": ("--wheel", "dist"),  # after `make wheels`
    "inverse_dynamics": (),
    "forward_dynamics": (),
    "operations": (),
    "methods": (),
    "verbs": (),
    "dynamics": (),
    "work_precision": (),
    "hard": (),
    "machines": (),
    "gradients": (),
    "scaling": (),
    "optimization": (),
    "motion": (),
    "convergence": (),
    "peers": (),
    "seeing": (),
}
# what `--quick` leaves out, by patterns of keys
FULL_ONLY: dict[str, tuple[str, ...]] = {
    "cold_start": ("gradient_*",),
    "start": ("wheel_*", "compilations_from_wheel", "cold_first_gradient_s"),
    "motion": ("gait_*",),
    "scaling": ("*_20_*", "*_32_*", "*_128_*", "*_160_*", "*_256_*", "*_400_*", "*_512_*", "*_1024_*"),
    "convergence": ("*",),
    "work_precision": ("*_1e-09_ms",),
}
# small dense algebra is slower and wanders more with several threads
ENVIRONMENT = {"motion": {"OPENBLAS_NUM_THREADS": "1"}, "convergence": {"OPENBLAS_NUM_THREADS": "1"}}

NUMBER = re.compile(r"<!-- number: (\S+) -->(.*?)<!-- /number -->", re.DOTALL)
BLOCK = re.compile(r"<!-- numbers\n(.*?)\n-->\n(.*?)\n<!-- /numbers -->", re.DOTALL)
OPENED = re.compile(r"<!--\s*/?numbers?\b")
PLACE = re.compile(r"\{(\w+)\.([\w.+-]+)(\?)?(?:\*([\d.e+-]+))?(?::([^{}]*))?\}")
FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)


class UnknownFigureError(Exception):
    """A page names a figure that no benchmark has."""


class NotMeasuredError(Exception):
    """The kept run was a quick one and left this figure out."""


# ----------------------------------------------------------------------------------------------------- figures
def pages() -> list[Path]:
    """All pages that may quote a figure; the changelog is history."""
    top = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "NOTATION.md")]
    return [*top, *sorted((ROOT / "docs").glob("*.md"))]


@dataclass
class Results:
    """What the last run of every benchmark found."""

    folder: Path = RESULTS
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, benchmark: str) -> dict[str, Any]:
        """The kept run of a benchmark."""
        if benchmark not in self.runs:
            path = self.folder / f"{benchmark}.json"
            if not path.exists():
                raise UnknownFigureError(f"no benchmark {benchmark!r} in {self.folder.name}/")
            self.runs[benchmark] = json.loads(path.read_text(encoding="utf-8"))
        return self.runs[benchmark]

    def figure(self, benchmark: str, key: str, optional: bool = False) -> float | int | str | None:
        """A figure; None for an optional one that a full run does not have."""
        run = self.run(benchmark)
        if key == "run":
            return provenance(run)
        found: float | int | str | None = run["figures"].get(key)
        if found is None and run["quick"] and any(fnmatch(key, x) for x in FULL_ONLY.get(benchmark, ())):
            raise NotMeasuredError(f"{benchmark}.{key}")
        if found is None and not optional:
            near = [x for x in run["figures"] if x[:6] == key[:6]][:5]
            raise UnknownFigureError(f"{benchmark}.{key}: no such figure" + (f"; {', '.join(near)}?" if near else ""))
        return found

    def filled(self, template: str) -> str:
        """The template with its figures."""
        return PLACE.sub(lambda m: self._one(*m.groups()), template)

    def _one(self, benchmark: str, key: str, optional: str | None, factor: str | None, form: str | None) -> str:
        return formatted(self.figure(benchmark, key, optional is not None), float(factor or 1), form or "")


def formatted(value: float | int | str | None, factor: float = 1.0, form: str = "") -> str:
    """A figure as text: three significant digits unless a format says otherwise."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    x = value * factor if factor != 1.0 else value
    if form == "e":
        mantissa, exponent = f"{x:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if form == "%":
        return f"{100 * x:.0f} %"
    if form:
        return format(x, form)
    if isinstance(x, int) or abs(x) >= 100:
        return f"{x:.0f}"
    return f"{x:.3g}"


def provenance(run: dict[str, Any]) -> str:
    """Where and when a run was."""
    host = run["machine"]
    names = [x for x in ("numpy", "numba", "pinocchio", "exudyn") if x in host]
    versions = ", ".join(f"{x.capitalize() if x != 'numpy' else 'NumPy'} {host[x]}" for x in names)
    when = f"{run['date']}, commit {run['commit']}" if run["commit"] else run["date"]
    kind = "a quick run, with few rounds" if run["quick"] else "a full run"
    return f"{host['cpu']}, {host['cores']} cores, Python {host['python']}, {versions}; {kind}, {when}"


# ------------------------------------------------------------------------------------------------------- pages
@dataclass(frozen=True, slots=True)
class Marker:
    """A place in a page: the template, the text that stands there, and where that text is."""

    template: str
    text: str
    begin: int
    end: int


def _blank(match: re.Match[str]) -> str:
    """As many blanks, so that lines and places stay where they are."""
    return re.sub(r"[^\n]", " ", match.group())


def markers(page: str) -> list[Marker]:
    """All places of a page, in order; in code they are text, and those not closed or not understood are an error."""
    page = FENCE.sub(_blank, page)
    found = [Marker(f"{{{m.group(1)}}}", m.group(2), *m.span(2)) for m in NUMBER.finditer(page)]
    found += [Marker(m.group(1), m.group(2), *m.span(2)) for m in BLOCK.finditer(page)]
    opened = len(OPENED.findall(page))
    if opened != 2 * len(found):
        raise UnknownFigureError(f"{opened} comments of numbers, of which {2 * len(found)} make pairs: look for a typo")
    for marker in found:
        left = PLACE.sub("", marker.template)
        if "{" in left or "}" in left or left == marker.template:
            raise UnknownFigureError(f"not understood: {marker.template.strip().splitlines()[0]}")
    return sorted(found, key=lambda marker: marker.begin)


def rewritten(page: str, results: Results) -> tuple[str, list[str]]:
    """The page with all figures of the kept runs, and the names of those that a quick run left out."""
    parts, last, kept = [], 0, []
    for marker in markers(page):
        try:
            text = results.filled(marker.template)
        except NotMeasuredError as missing:
            text = marker.text
            kept.append(str(missing))
        parts += [page[last : marker.begin], text]
        last = marker.end
    return "".join([*parts, page[last:]]), kept


def by_hand(page: str) -> Iterator[tuple[int, str]]:
    """Line and text of figures with units of performance outside of markers, code and what is known to be given."""
    for pattern in (FENCE, NUMBER, BLOCK, *(re.compile(x) for x, _ in GIVEN)):
        page = pattern.sub(_blank, page)
    for unit in UNITS:
        for match in re.finditer(unit, page):
            yield page.count("\n", 0, match.start()) + 1, " ".join(match.group().split())


def complaints(page: str, results: Results) -> list[str]:
    """What is wrong with the figures of a page."""
    try:
        found = [
            f"says {marker.text.strip()!r}, measured was {wanted.strip()!r}"
            for marker in markers(page)
            if (wanted := wanted_text(marker, results)) != marker.text
        ]
    except UnknownFigureError as error:
        found = [str(error)]
    return found + [f"line {line}: {text!r} was typed by hand" for line, text in by_hand(page)]


def wanted_text(marker: Marker, results: Results) -> str:
    """What should stand at a marker."""
    try:
        return results.filled(marker.template)
    except NotMeasuredError:
        return marker.text


# -------------------------------------------------------------------------------------------------------- runs
def measure(benchmark: str, quick: bool) -> None:
    """Run a benchmark in a process of its own and keep what it says in its last line."""
    options = ("--quick",) if quick else BENCHMARKS[benchmark]
    command = [sys.executable, f"benchmarks/{benchmark}.py", *options]
    print(f"\n{' '.join(['python', *command[1:]])}", flush=True)
    begin, state = time.monotonic(), commit()
    environment = os.environ | ENVIRONMENT.get(benchmark, {})
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    if done.returncode:
        raise SystemExit(f"{benchmark} ended with {done.returncode}; its figures stay as they were")
    figures = json.loads(done.stdout.splitlines()[-1])
    figures.pop("machine", None)
    run = {
        "benchmark": benchmark,
        "command": " ".join(["python", *command[1:]]),
        "quick": quick,
        "date": date.today().isoformat(),
        "commit": state,
        "seconds": round(time.monotonic() - begin),
        "machine": machine(),
        "figures": figures,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{benchmark}.json").write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Run, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes; the text says so")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--from-results", action="store_true", help="write what is kept, without running anything")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a figure is not as kept")
    asked = parser.parse_args()
    results = Results()
    if asked.check:
        wrong = [f"{page.relative_to(ROOT)}: {x}" for page in pages() for x in complaints(page.read_text(), results)]
        print("\n".join(wrong or ["every figure is the one that was measured"]))
        raise SystemExit(1 if wrong else 0)
    if not asked.from_results:
        for benchmark in asked.only or BENCHMARKS:
            measure(benchmark, asked.quick)
    for page in pages():
        before = page.read_text(encoding="utf-8")
        try:
            after, kept = rewritten(before, results)
        except UnknownFigureError as error:
            raise SystemExit(f"{page.relative_to(ROOT)}: {error}. Put it right, then --from-results.") from None
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"written: {page.relative_to(ROOT)}")
        if kept:
            print(f"{page.relative_to(ROOT)}: {len(kept)} places keep their text, since quick runs leave it out")


if __name__ == "__main__":
    main()
