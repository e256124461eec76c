"""What finding the best design costs: beside finite differences, in threads, on two Dask workers, per evaluation.

    python benchmarks/optimization.py [--quick]

- design: the five-bar, 1.5 s in steps of 1 ms, 16 variables (springs, masses, centres of mass) so that P2 follows a
  path; `DesignProblem` beside SLSQP of scipy with finite differences around our own `simulate`. Both searches take
  SLSQP and 60 iterations at most, and neither is at an optimum then. Ours begins with a hundredth of the identity as
  curvature, since its valley is flat; `.._default_curvature` is ours as it comes. Time until the objective has made all
  but a thousandth of its way to the worse of the two ends: both searches get there. `evaluations` count simulations
  until then, of ours gradients besides.
- design beside Exudyn: the same with finite differences around Exudyn's five-bar, one run; first it is checked that
  objectives agree.
- identification: five numbers of the five-bar from 60 positions of P2; `LeastSquares` beside `least_squares` of scipy
  with finite differences, both to their own end.
- many starts: searches from eight starts, in two threads and on two workers of Dask, beside one after the other; the
  workers are warm. Each gradient takes one thread wherever it is computed. Evaluations of 30 ms (6 s of motion), and of
  200 ms (40 s). Workers keep memory between motions (Dask tells them to return it at once otherwise, which costs a
  fifth of a long motion in page faults).
- overhead: an evaluation whose motion and gradient are known already, so that all that is left is the problem around
  them, beside a simulation.

Least times of all rounds, candidates in turn. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Report, digits, interleave, machine
from distributed import Client, LocalCluster
from gradients import BARS
from scipy.optimize import least_squares, minimize
from support import exudyn_twins
from support.five_bar_reference import DATA

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start

DURATION, STEP = 1.5, 1e-3
PLACE = np.array([0.5, -2.0])
REST = 1e-3  # of the way that may be left
SPRINGS = {f"{s}.{x}": b for s in ("S1", "S2") for x, b in (("stiffness", (50.0, 200.0)), ("free_length", (1.0, 4.0)))}
MASSES = {f"{body}.{x}": b for body in ("A1", "12", "23", "3B")
          for x, b in (("mass", (0.5, 6.0)), ("com.x", (-1.0, 1.0)), ("com.y", (-0.3, 0.3)))}  # fmt: skip
KNOWN = ["S1.stiffness", "S2.stiffness", "S1.free_length", "S2.free_length", "A1.mass"]
ITERATIONS = 60
Trace = list[tuple[float, float]]
"""Seconds, and the best objective until then."""


def away(x: Any, t: Any) -> Any:
    """How far P2 is from a place that wanders, squared."""
    return (x[:, 0] - PLACE[0] - 0.2 * np.sin(4.0 * t)) ** 2 + (x[:, 1] - PLACE[1] - 0.2 * np.cos(3.0 * t)) ** 2


def motion(**values: float) -> mg.Trajectory:
    """The five-bar as it moves with some other numbers."""
    model = five_bar()
    return mg.simulate(model.with_values(values) if values else model, five_bar_start(), DURATION, step=STEP)


def variables() -> dict[str, tuple[float, float]]:
    """16 numbers and their bounds, widened where the mechanism starts outside."""
    model = five_bar()
    found = {}
    for path, (low, high) in (SPRINGS | MASSES).items():
        x = float(model.value(path))
        found[path] = (min(low, x - 0.5 * abs(x)), max(high, x + 0.5 * abs(x)))
    return found


# ------------------------------------------------------------------------------------------------------ design
def design_problem(measure: mg.measures.Measure) -> mg.DesignProblem:
    """P2 near its path."""
    return mg.DesignProblem(motion(), variables(), mg.Integral(away, measure))


def ours(problem: mg.DesignProblem, curvature: float = 0.01) -> tuple[Trace, list[bool]]:
    """Best objective so far, by time, of our search; and which points had their gradient asked for."""
    best = problem.solve("slsqp", max_iterations=ITERATIONS, options={"first_curvature": curvature})
    spent = np.cumsum([e.seconds for e in best.history])
    scale = best.seconds / max(spent[-1], 1e-12)  # the solver's own time, spread over the evaluations
    values = np.minimum.accumulate([np.inf if e.failure else e.values[0] for e in best.history])
    return list(zip((scale * spent).tolist(), values.tolist(), strict=True)), [
        e.gradient is not None for e in best.history
    ]


def differences(problem: mg.DesignProblem, value: Callable[[dict[str, float]], float]) -> Trace:
    """The same of scipy with finite differences around simulations of somebody."""
    space, trace, begin = problem.space, [], time.perf_counter()

    def objective(share: np.ndarray) -> float:
        x = space.low + (space.high - space.low) * share
        found = value(dict(zip(space.names, x.tolist(), strict=True)))
        trace.append((time.perf_counter() - begin, min(found, trace[-1][1] if trace else np.inf)))
        return found

    x0 = (space.start - space.low) / (space.high - space.low)
    options = {"maxiter": ITERATIONS, "ftol": 1e-10}
    minimize(objective, x0, method="SLSQP", bounds=[(0.0, 1.0)] * len(x0), options=options)
    return trace


def simulated(values: dict[str, float]) -> float:
    """The objective by our simulation; a large number where there is no motion."""
    try:
        found = motion(**values)
    except mg.MechgradError:
        return 1e6
    return float(np.trapezoid(away(found.markers(["P2"]).position[:, 0], found.t), found.t))


def by_exudyn(values: dict[str, float]) -> float:
    """The objective by Exudyn's."""
    bars = {}
    for field, body in BARS.items():
        along, across = values[f"{body}.com.x"], values[f"{body}.com.y"]
        bar = getattr(DATA, field)
        if body == "3B":  # Exudyn's begins at B
            along, across = bar.length - along, -across
        bars[field] = replace(bar, mass=values[f"{body}.mass"], com=along, offset=across)
    springs = {"stiffness": "stiffness", "natural_length": "free_length"}
    lists = {name: (values[f"S1.{path}"], values[f"S2.{path}"]) for name, path in springs.items()}
    solver = exudyn_twins.Solver(modified_newton=False)
    data = replace(DATA, **bars, **lists)
    found = exudyn_twins.five_bar(STEP, DURATION, round(DURATION / STEP), solver, data)
    return float(np.trapezoid(away(found.position, found.t), found.t))


def reached(trace: Trace, goal: float) -> tuple[float, int]:
    """Seconds until a value, and which point that was; all of them where it is not reached."""
    return next(((t, k) for k, (t, value) in enumerate(trace) if value <= goal), (trace[-1][0], len(trace) - 1))


def compared(
    problem: mg.DesignProblem, value: Callable[[dict[str, float]], float], curvature: float = 0.01
) -> dict[str, float]:
    """One run of both searches, to where both get."""
    (a, asked), b = ours(problem, curvature), differences(problem, value)
    goal = max(a[-1][1], b[-1][1])
    goal += REST * (a[0][1] - goal)
    (fast, k), (slow, n) = reached(a, goal), reached(b, goal)
    return {
        "s": fast, "fd_s": slow, "evaluations": k + 1, "gradients": sum(asked[: k + 1]), "fd_evaluations": n + 1,
        "end": a[-1][1], "fd_end": b[-1][1],
    }  # fmt: skip


def design(report: Report, rounds: int) -> None:
    """16 variables."""
    problem = design_problem(mg.measures.PointPosition("P2"))
    ours(problem)
    found = [compared(problem, simulated) for _ in range(rounds)]
    least = {key: min(x[key] for x in found) for key in found[0]}
    for key, x in least.items():
        report.note(f"five_bar_design_{key}", x)
    report.note("five_bar_design_ratio_vs_fd", least["fd_s"] / least["s"])
    usual = compared(problem, simulated, 1.0)
    report.note("five_bar_design_ratio_vs_fd_default_curvature", usual["fd_s"] / usual["s"])
    rows = [["mechgrad", digits(least["s"]), str(least["evaluations"]), f"{least['end']:.6g}"],
            ["differences", digits(least["fd_s"]), str(least["fd_evaluations"]), f"{least['fd_end']:.6g}"]]  # fmt: skip
    report.table("five-bar, 16 variables, SLSQP", ["", "s", "simulations", "objective at the end"], rows)


def beside_exudyn(report: Report) -> None:
    """The same around Exudyn's simulation, once."""
    problem = design_problem(mg.measures.PointPosition("P2"))
    space = problem.space
    for share in (0.0, 0.1, 0.2):
        values = space.named(space.start + share * (space.high - space.start))
        miss = by_exudyn(values) / simulated(values) - 1.0
        if not abs(miss) < 1e-3:
            raise SystemExit(f"Exudyn's objective differs by {miss:.1e}")
    ours(problem)
    found = compared(problem, by_exudyn)
    for key, x in found.items():
        report.note(f"five_bar_design_exudyn_{key}", x)
    report.note("five_bar_design_ratio_vs_exudyn", found["fd_s"] / found["s"])
    rows = [["mechgrad", digits(found["s"]), str(found["evaluations"]), f"{found['end']:.6g}"],
            ["Exudyn", digits(found["fd_s"]), str(found["fd_evaluations"]), f"{found['fd_end']:.6g}"]]  # fmt: skip
    report.table("five-bar, 16 variables, beside Exudyn", ["", "s", "simulations", "objective at the end"], rows)


# ---------------------------------------------------------------------------------------------- identification
def identification(report: Report, rounds: int) -> None:
    """Five numbers from 60 positions."""
    model, start = five_bar(), five_bar_start()
    t = STEP * np.arange(25, 1501, 25)
    nominal = {path: float(model.value(path)) for path in KNOWN}
    true = {path: x * (1.0 + 0.05 * (-1) ** k) for k, (path, x) in enumerate(nominal.items())}
    place = mg.measures.PointPosition("P2")
    rows = np.arange(25, 1501, 25)
    data = motion(**true).markers(["P2"]).position[rows, 0]
    data = data + 1e-4 * np.random.default_rng(0).normal(size=data.shape) * np.array([1.0, 1.0, 0.0])
    bounds = {path: (0.5 * x, 2.0 * x) for path, x in nominal.items()}
    goal = mg.design.LeastSquares(mg.design.Measured(place, t, data))
    problem = mg.DesignProblem(motion(), bounds, goal)

    def residuals(share: np.ndarray) -> np.ndarray:
        values = {path: x * s for (path, x), s in zip(nominal.items(), share, strict=True)}
        found = mg.simulate(model.with_values(values), start, DURATION, step=STEP)
        return np.asarray(found.markers(["P2"]).position[rows, 0] - data).ravel()

    found: dict[str, np.ndarray] = {}

    def direct() -> None:
        found["ours"] = problem.solve().x / list(nominal.values())

    def by_differences() -> None:
        found["scipy"] = least_squares(residuals, np.ones(5), bounds=(0.5, 2.0), xtol=1e-10, ftol=1e-10, gtol=1e-10).x

    times = {
        name: float(np.min(x)) for name, x in interleave({"ours": direct, "scipy": by_differences}, rounds).items()
    }
    report.note("identification_s", times["ours"])
    report.note("identification_scipy_fd_s", times["scipy"])
    report.note("identification_ratio_vs_scipy_fd", times["scipy"] / times["ours"])
    report.note("identification_agree", float(np.abs(found["ours"] - found["scipy"]).max()))
    rows_ = [[name, digits(1e3 * s)] for name, s in times.items()]
    report.table("five numbers from 60 positions", ["", "ms"], rows_)


# ------------------------------------------------------------------------------------------------- many starts
def many_starts(report: Report, rounds: int) -> None:
    """One after the other, two threads, two workers: motions of 6 s, and of 40 s for the workers."""
    names = list(variables().items())[:4]

    def search(times: float, starts: int, **options: Any) -> Callable[[], object]:
        long = motion().recipe.changed(duration=times * DURATION)
        problem = mg.DesignProblem(long, dict(names), mg.Integral(away, mg.measures.PointPosition("P2")))
        return lambda: problem.multistart(starts, solver="slsqp", max_iterations=4, **options)

    dask.config.set({"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**30})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        calls = {
            "one after the other": search(4.0, 8, executor="serial"),
            "2 threads": search(4.0, 8, at_once=2),
            "2 Dask workers": search(4.0, 8, executor=client.get_executor()),
            "one after the other, long": search(27.0, 8, executor="serial"),
            "2 Dask workers, long": search(27.0, 8, executor=client.get_executor()),
        }
        times = {name: float(np.min(x)) for name, x in interleave(calls, rounds).items()}
    alone, long = times["one after the other"], times["one after the other, long"]
    report.note("multistart_s", alone)
    report.note("multistart_threads_speedup_2", alone / times["2 threads"])
    report.note("dask_speedup_2_short_work", alone / times["2 Dask workers"])
    report.note("dask_speedup_2", long / times["2 Dask workers, long"])
    rows = [[name, digits(s), digits((long if "long" in name else alone) / s)] for name, s in times.items()]
    report.table("searches from many starts", ["", "s", "times faster"], rows)


# ---------------------------------------------------------------------------------------------------- overhead
def overhead(report: Report, rounds: int) -> None:
    """The problem around a simulation: evaluations whose motion and gradient cost nothing, since they are known."""
    problem = design_problem(mg.measures.PointPosition("P2"))
    real = problem.evaluator()
    real.at(problem.space.start, with_gradient=True)
    known = real.answers(real.questions, [problem.space.values(0, problem.space.start)], True, [None])
    evaluator = problem.evaluator(answers=lambda questions, values, with_gradient, motions: known)
    shares = iter(np.linspace(0.2, 0.8, 1_000_000))
    space, recipe = problem.space, motion().recipe

    def layer() -> None:
        evaluator.at(space.low + next(shares) * (space.high - space.low), with_gradient=True)

    calls: dict[str, Callable[[], object]] = {"simulation": recipe.simulate, "layer": layer}
    times = {name: 1e6 * float(np.min(x)) for name, x in interleave(calls, 10 * rounds).items()}
    report.note("simulation_us", times["simulation"])
    report.note("overhead_us_per_evaluation", times["layer"])
    rows = [[name, digits(us)] for name, us in times.items()]
    report.table("one evaluation of 16 variables, gradient included", ["", "µs"], rows)


def main() -> None:
    """All sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 2 if parser.parse_args().quick else 5
    report = Report({"machine": machine()})
    overhead(report, rounds)
    design(report, rounds)
    beside_exudyn(report)
    identification(report, rounds)
    many_starts(report, rounds)
    report.finish()


if __name__ == "__main__":
    main()
