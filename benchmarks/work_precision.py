"""Time to reach an error of the objectives: every formulation and scheme beside Exudyn and scipy.

    python benchmarks/work_precision.py [--quick] [--images FOLDER]

Five seconds of the five-bar (point 2) and of the slider-crank without spring (point D). The error is the largest of

    |psi_k / exact - 1|,     psi_1 = int |r - r0|^2 dt,   psi_2 = int |r'|^2 dt,   psi_3 = int |r''|^2 dt

with the exact values from equations derived by hand. Fixed steps are shortened, tolerances tightened by half decades,
until the error is small enough. Times are the least of some rounds in which all candidates take turns: of
`simulate`, the marker and the quadrature for mechgrad, of the solver's call alone for Exudyn (recording the same number
of instants), of the whole solution for scipy, which integrates the objectives along with the motion. One thread. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import odeint
from scipy.special import bernoulli

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Report, digits, machine
from peers import _IMPLICIT as IMPLICIT_WAYS
from support import exudyn_twins as exudyn
from support import five_bar_reference, slider_crank_reference
from support.exudyn_twins import Solver

from mechgrad.gallery.mechanisms import five_bar, five_bar_start, slider_crank
from mechgrad.kinematics.assembly import assemble
from mechgrad.simulation.simulate import simulate
from mechgrad.simulation.trajectory import StepFailed

DURATION = 5.0
TARGETS = (1e-4, 1e-6, 1e-9)
IMPLICIT = ("trapezoidal", "hht", "generalized-alpha")  # "newmark" as it comes is "trapezoidal"
LOOPS = ("ali3p", "matrix-r", "index1", "penalty")
SAMPLES = (50, 100, 200, 400, 800, 1600, 3200, 6400)  # intervals of a quadrature
ENDS = 8  # corrected weights at either end: order nine
MOST_TRIALS = 10

Outcome = tuple[float, float]  # error, seconds
Trial = Callable[[float], Outcome]  # of the number of steps, or of a tolerance


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism, where it starts, the point that is judged, and its exact objectives."""

    key: str
    title: str
    model: Any
    start: Any
    point: str
    origin: tuple[float, float, float]
    exact: np.ndarray
    twin: Callable[..., exudyn.Run]
    equations: Callable[[float, np.ndarray], list[float]]
    first: list[float]
    by_hand: Callable[[float], np.ndarray]

    def error(self, psi: np.ndarray) -> float:
        """Largest relative error of the objectives."""
        worst = float(np.max(np.abs(psi / self.exact - 1)))
        return worst if np.isfinite(worst) else np.inf


def cases() -> list[Case]:
    """The five-bar and the slider-crank."""
    crank, bars, slider = slider_crank(), five_bar_reference, slider_crank_reference
    return [
        Case(
            "five_bar", "five-bar, point 2", five_bar(), five_bar_start(), "P2", (*bars.START_OF_POINT_2, 0.0),
            bars.solve(rtol=1e-13, atol=1e-13).psi[-1], exudyn.five_bar, bars.equations(bars.DATA),
            bars.start(bars.DATA), lambda tol: bars.solve(rtol=tol, atol=tol).psi[-1],
        ),
        Case(
            "slider_crank", "slider-crank, point D", crank,
            assemble(crank, at={"crank axis": slider.BENCHMARK.angle}, rates={"crank axis": slider.BENCHMARK.speed}),
            "D", (slider.START_OF_D, 0.0, 0.0), slider.solve(rtol=1e-13, atol=1e-13).psi[-1], exudyn.slider_crank,
            slider.equations(slider.BENCHMARK), [slider.BENCHMARK.angle, slider.BENCHMARK.speed, 0.0, 0.0, 0.0],
            lambda tol: slider.solve(rtol=tol, atol=tol).psi[-1],
        ),
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------- objectives
def gregory(intervals: int) -> np.ndarray:
    """Weights of the trapezoidal rule with corrected ends, exact for polynomials below degree `ENDS`; unit spacing.

    By Euler and Maclaurin the sum errs at the ends alone, sum c_k k^d = B_(d+1) / (d + 1).
    """
    powers = np.arange(ENDS)
    wanted = bernoulli(ENDS)[1:] / (powers + 1)
    ends = np.linalg.solve(np.vander(np.arange(ENDS, dtype=float), increasing=True).T, wanted)
    weights = np.ones(intervals + 1)
    weights[:ENDS] += ends
    weights[-ENDS:] += ends[::-1]
    return weights


def objectives(case: Case, position: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """psi 1..3 from evenly spaced samples of the point, (nt, 3) each."""
    weights = gregory(len(position) - 1) * DURATION / (len(position) - 1)
    squares = [np.einsum("tk,tk->t", x, x) for x in (position - case.origin, velocity, acceleration)]
    return np.array([weights @ x for x in squares])


def ours(case: Case, **options: Any) -> np.ndarray:
    """Objectives by mechgrad."""
    motion = simulate(case.model, case.start, duration=DURATION, **options).markers([case.point])
    return objectives(case, *(x[:, 0] for x in (motion.position, motion.velocity, motion.acceleration)))


def enough_samples(case: Case, target: float) -> int:
    """Intervals whose quadrature errs by less than a quarter of the target on a motion that is as good as exact."""
    for intervals in SAMPLES:
        psi = ours(case, formulation="index1", scheme="dop853", samples=intervals + 1, rtol=1e-12, atol=1e-12)
        if case.error(psi) < target / 4:
            return intervals
    raise SystemExit(f"{case.title}: {SAMPLES[-1]} samples do not give the objectives to {target:g}.")


# -------------------------------------------------------------------------------------------------- candidates
def timed(case: Case, call: Callable[[], np.ndarray]) -> Outcome:
    """Error and wall time; a march that ends early has no objectives."""
    begin = time.perf_counter()
    try:
        psi = call()
    except StepFailed:
        return np.inf, time.perf_counter() - begin
    seconds = time.perf_counter() - begin
    return case.error(psi), seconds


def split(steps: float, intervals: int) -> tuple[int, int]:
    """(steps, intervals recorded): all of few steps, otherwise the next multiple of the intervals."""
    count = max(2 * ENDS, int(np.ceil(steps)))
    if count <= intervals:
        return count, count
    return intervals * -(-count // intervals), intervals


def our_steps(case: Case, formulation: str, scheme: str, intervals: int, steps: float) -> Outcome:
    """With a fixed step."""
    count, kept = split(steps, intervals)
    return timed(
        case,
        partial(ours, case, formulation=formulation, scheme=scheme, step=DURATION / count, samples=kept + 1),
    )


def our_tolerance(case: Case, formulation: str, scheme: str, intervals: int, tolerance: float) -> Outcome:
    """With error control."""
    options = {"formulation": formulation, "scheme": scheme, "samples": intervals + 1}
    return timed(case, partial(ours, case, **options, rtol=tolerance, atol=tolerance))


def exudyn_steps(case: Case, solver: Solver, intervals: int, steps: float) -> Outcome:
    """Exudyn with a fixed step; the time of its solver alone."""
    count, kept = split(steps, intervals)
    try:
        run = case.twin(DURATION / count, DURATION, records=kept, solver=solver)
    except (RuntimeError, ValueError):  # its solver gave up
        return np.inf, 0.0
    if len(run.t) != kept + 1:
        return np.inf, run.seconds
    return case.error(objectives(case, run.position, run.velocity, run.acceleration)), run.seconds


def with_odeint(case: Case, tolerance: float) -> np.ndarray:
    """Objectives by scipy's compiled multistep method on the equations by hand."""
    states = odeint(
        case.equations, case.first, [0.0, DURATION], tfirst=True, rtol=tolerance, atol=tolerance, mxstep=100_000
    )
    return np.asarray(states[-1, -3:])


Searched = Callable[[Case, int], Trial]  # of the case and the intervals of its quadrature


@dataclass(frozen=True, slots=True)
class Way:
    """A candidate: its trials given the intervals of the quadrature, and its order (0: a tolerance is searched)."""

    name: str
    order: int
    trial: Searched


def with_steps(formulation: str, scheme: str) -> Searched:
    """mechgrad, shorter and shorter steps."""
    return lambda case, intervals: partial(our_steps, case, formulation, scheme, intervals)


def with_control(formulation: str, scheme: str) -> Searched:
    """mechgrad, tighter and tighter tolerances."""
    return lambda case, intervals: partial(our_tolerance, case, formulation, scheme, intervals)


def with_exudyn(solver: Solver) -> Searched:
    """Exudyn, shorter and shorter steps."""
    return lambda case, intervals: partial(exudyn_steps, case, solver, intervals)


def our_ways() -> list[Way]:
    """Every formulation for loops with every scheme it has."""
    ways = []
    for form in LOOPS:
        ways += [Way(f"{form}, {scheme}", 2, with_steps(form, scheme)) for scheme in IMPLICIT]
        if form != "matrix-r":
            ways.append(Way(f"{form}, trapezoidal, controlled", 0, with_control(form, "trapezoidal")))
        if form != "ali3p":
            ways.append(Way(f"{form}, rk4", 4, with_steps(form, "rk4")))
            ways.append(Way(f"{form}, dop853", 0, with_control(form, "dop853")))
    return ways


def scipy_ways() -> list[Way]:
    """On equations derived by hand."""
    return [
        Way("scipy DOP853", 0, lambda case, _: lambda tol: timed(case, partial(case.by_hand, tol))),
        Way("scipy odeint", 0, lambda case, _: lambda tol: timed(case, partial(with_odeint, case, tol))),
    ]


def exudyn_ways() -> list[Way]:
    """Exudyn's implicit solvers, Newton with a fresh matrix or a kept one."""
    return [Way(f"Exudyn {name}", 2, with_exudyn(solver)) for name, solver in IMPLICIT_WAYS.items()]


# ------------------------------------------------------------------------------------------------------ search
@dataclass(frozen=True, slots=True)
class Found:
    """The cheapest setting that reached a target, or what was best (`reached` false)."""

    setting: float
    error: float
    seconds: float
    reached: bool


def by_steps(trial: Trial, order: int, target: float, limit: float, first: float) -> Found:
    """Shorten the step, guided by the order of the scheme; once there, try one step in between."""
    steps, best = first, Found(first, np.inf, 0.0, False)
    for _ in range(MOST_TRIALS):
        error, seconds = trial(steps)
        if error <= target:
            fewer = steps * max((error / target) ** (1 / order) * 1.05, 0.5)
            if fewer < 0.9 * steps:
                retry, quicker = trial(fewer)
                if retry <= target:
                    return Found(fewer, retry, quicker, True)
            return Found(steps, error, seconds, True)
        if error < best.error:
            best = Found(steps, error, seconds, False)
        factor = min(max((error / target) ** (1 / order) * 1.05, 1.2), 16.0)
        if seconds * factor > limit:
            break
        steps *= factor
    return best


def by_tolerance(trial: Trial, target: float, limit: float) -> Found:
    """Tighten the tolerance by half decades."""
    best, before = Found(1e-2, np.inf, 0.0, False), 0.0
    for tolerance in 10.0 ** -np.arange(2.0, 13.25, 0.5):
        error, seconds = trial(float(tolerance))
        if error <= target:
            return Found(float(tolerance), error, seconds, True)
        if error < best.error:
            best = Found(float(tolerance), error, seconds, False)
        growth = seconds / before if before else 1.0
        if seconds * max(growth, 1.0) > limit:
            break
        before = seconds
    return best


def reach(
    way: Way, case: Case, targets: Sequence[float], intervals: dict[float, int], limit: float
) -> dict[float, Found]:
    """What each target needs; a coarser target's steps are where the next search starts."""
    found, steps = {}, 100.0
    for target in targets:
        trial = way.trial(case, intervals[target])
        trial(steps if way.order else 1e-2)  # compiles, so that the clock of the search sees the march alone
        if way.order:
            found[target] = by_steps(trial, way.order, target, limit, steps)
            steps = found[target].setting
        else:
            found[target] = by_tolerance(trial, target, limit)
    return found


Points = dict[tuple[str, float], Found]


def measured(case: Case, ways: Sequence[Way], targets: Sequence[float], limit: float, rounds: int) -> Points:
    """Search every way, then time what was found in turns; runs of a second and more are not repeated."""
    intervals = {target: enough_samples(case, target) for target in targets}
    points: Points = {}
    for way in ways:
        for target, found in reach(way, case, targets, intervals, limit).items():
            points[way.name, target] = found
    for _ in range(rounds):
        for way in ways:
            for target in targets:
                found = points[way.name, target]
                if not found.reached or found.seconds > 1.0:
                    continue
                _, seconds = way.trial(case, intervals[target])(found.setting)
                if seconds < found.seconds:
                    points[way.name, target] = Found(found.setting, found.error, seconds, True)
    return points


# ------------------------------------------------------------------------------------------------------ report
def key_of(name: str) -> str:
    """A name as part of a key."""
    return name.lower().replace(",", "").replace(" ", "_").replace("-", "_")


def tabulate(
    report: Report, case: Case, ways: Sequence[Way], targets: Sequence[float], points: Points, limit: float
) -> None:
    """Milliseconds to each target."""
    rows = []
    for way in ways:
        row = [way.name]
        for target in targets:
            found = points[way.name, target]
            if found.reached:
                report.note(f"{case.key}_{key_of(way.name)}_{target:g}_ms", 1e3 * found.seconds)
                setting = f"{found.setting:.0e}" if not way.order else f"h {1e3 * DURATION / found.setting:.2g} ms"
                row.append(f"{digits(1e3 * found.seconds)} ({setting})")
            else:
                row.append(f"- (best {found.error:.0e})")
        rows.append(row)
    header = [case.title, *(f"ms to {target:g}" for target in targets)]
    report.table(f"time for {DURATION:g} s of motion; '-': not reached by runs of up to {limit:g} s", header, rows)


STYLES = {"rk4": ("#1b7837", "s"), "dop853": ("#b2182b", "o"), "controlled": ("#8073ac", "v")}


def draw(case: Case, ways: Sequence[Way], targets: Sequence[float], points: Points, folder: Path) -> Path:
    """Time against the error that was met; one line per candidate, those of one scheme in one colour."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    ax = figure.add_subplot()
    dashes = dict(zip(LOOPS, ("-", "--", "-.", ":"), strict=True))
    for way in ways:
        there = [points[way.name, t] for t in targets if points[way.name, t].reached]
        if not there or any(way.name.endswith(scheme) for scheme in IMPLICIT[1:]):
            continue  # damped schemes lie beside the trapezoidal rule: they are in the table
        colour, mark = "#2166ac", "D"
        for word, style in STYLES.items():
            if word in way.name:
                colour, mark = style
        line = dashes.get(way.name.split(",")[0], "-")
        if way.name.startswith("Exudyn"):
            colour = "#e08214" if "trapezoidal" in way.name else "#fdb863"
            mark, line = "^", "--" if "modified" in way.name else "-"
        elif way.name.startswith("scipy"):
            colour, mark, line = "#404040", "x", "--" if "odeint" in way.name else "-"
        errors, times = [p.error for p in there], [1e3 * p.seconds for p in there]
        ax.loglog(errors, times, color=colour, marker=mark, linestyle=line, lw=1.4, ms=5, label=way.name)
    ax.invert_xaxis()
    ax.set(title=f"{case.title}, {DURATION:g} s", xlabel="largest relative error of the objectives", ylabel="time [ms]")
    ax.grid(alpha=0.3, which="major")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    path = folder / f"work_precision_{case.key}.png"
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    """Tables, diagrams, JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="errors of 1e-4 and 1e-6, runs below half a second")
    parser.add_argument("--images", type=Path, help="folder for the diagrams; none are drawn without it")
    asked = parser.parse_args()
    targets, limit, rounds = (TARGETS[:2], 0.5, 1) if asked.quick else (TARGETS, 10.0, 5)
    report = Report()
    report.console.width = 120
    report.figures["machine"] = machine()
    ways = [*our_ways(), *scipy_ways(), *exudyn_ways()]
    for case in cases():
        points = measured(case, ways, targets, limit, rounds)
        tabulate(report, case, ways, targets, points, limit)
        if asked.images:
            asked.images.mkdir(parents=True, exist_ok=True)
            report.say(f"drawn: {draw(case, ways, targets, points, asked.images)}")
    report.finish()


if __name__ == "__main__":
    main()
