"""What finding the best design costs: beside finite differences, in threads, on two Dask workers, per evaluation.

    python benchmarks/optimization.py [--quick]

- design: the five-bar, 1.5 s in steps of 1 ms, 16 variables (springs, masses, centres of mass) so that P2 follows a
  path; `DesignProblem` beside SLSQP of scipy with finite differences around our own `simulate`. Time until the
  objective has made all but a thousandth of its way to the worse of the two ends: both searches get there.
- identification: five numbers of the five-bar from 60 positions of P2; `LeastSquares` beside `least_squares` of scipy
  with finite differences, both to their own end.
- many starts: searches from eight starts (6 s of motion), in two threads and on two workers of Dask, beside one after
  the other; the workers are warm. Gradients use all cores by themselves (`threads=`), also one after the other.
- overhead: an evaluation whose motion and gradient are known already, so that all that is left is the problem around
  them, beside a simulation.

Least times of all rounds, candidates in turn. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Report, digits, interleave, machine
from distributed import Client, LocalCluster
from scipy.optimize import least_squares, minimize

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start

DURATION, STEP = 1.5, 1e-3
PLACE = np.array([0.5, -2.0])
REST = 1e-3  # of the way that may be left
SPRINGS = {f"{s}.{x}": b for s in ("S1", "S2") for x, b in (("stiffness", (50.0, 200.0)), ("free_length", (1.0, 4.0)))}
MASSES = {f"{body}.{x}": b for body in ("A1", "12", "23", "3B")
          for x, b in (("mass", (0.5, 6.0)), ("com.x", (-1.0, 1.0)), ("com.y", (-0.3, 0.3)))}  # fmt: skip
KNOWN = ["S1.stiffness", "S2.stiffness", "S1.free_length", "S2.free_length", "A1.mass"]
Trace = list[tuple[float, float]]


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


def ours(problem: mg.DesignProblem) -> Trace:
    """Best objective so far, by time, of our search."""
    best = problem.solve("slsqp", max_iterations=60)
    spent = np.cumsum([e.seconds for e in best.history])
    scale = best.seconds / max(spent[-1], 1e-12)  # the solver's own time, spread over the evaluations
    values = np.minimum.accumulate([np.inf if e.failure else e.values[0] for e in best.history])
    return list(zip((scale * spent).tolist(), values.tolist(), strict=True))


def theirs(problem: mg.DesignProblem) -> Trace:
    """The same of scipy with finite differences around `simulate`."""
    model, start, names = five_bar(), five_bar_start(), problem.space.names
    space, trace, begin = problem.space, [], time.perf_counter()

    def objective(share: np.ndarray) -> float:
        x = space.low + (space.high - space.low) * share
        try:
            found = mg.simulate(model.with_values(dict(zip(names, x, strict=True))), start, DURATION, step=STEP)
        except mg.MechgradError:
            return 1e6
        y = away(found.markers(["P2"]).position[:, 0], found.t)
        value = float(np.trapezoid(y, found.t))
        trace.append((time.perf_counter() - begin, min(value, trace[-1][1] if trace else np.inf)))
        return value

    x0 = (space.start - space.low) / (space.high - space.low)
    minimize(objective, x0, method="SLSQP", bounds=[(0.0, 1.0)] * len(names), options={"maxiter": 60, "ftol": 1e-10})
    return trace


def reached(trace: Trace, goal: float) -> float:
    """Seconds until a value; all of them where it is not reached."""
    return next((t for t, value in trace if value <= goal), trace[-1][0])


def design(report: Report, rounds: int) -> None:
    """16 variables."""
    problem = design_problem(mg.measures.PointPosition("P2"))
    ours(problem), theirs(problem)
    times, ends = [], []
    for _ in range(rounds):
        a, b = ours(problem), theirs(problem)
        goal = max(a[-1][1], b[-1][1])
        goal += REST * (a[0][1] - goal)
        times.append((reached(a, goal), reached(b, goal)))
        ends.append((a[-1][1], b[-1][1], len(a), len(b)))
    fast, slow = np.min(times, axis=0)
    report.note("five_bar_design_s", fast)
    report.note("five_bar_design_fd_s", slow)
    report.note("five_bar_design_ratio_vs_fd", slow / fast)
    report.note("five_bar_design_end", ends[-1][0])
    report.note("five_bar_design_fd_end", ends[-1][1])
    rows = [["mechgrad", digits(fast), str(ends[-1][2]), f"{ends[-1][0]:.6g}"],
            ["SLSQP, differences", digits(slow), str(ends[-1][3]), f"{ends[-1][1]:.6g}"]]  # fmt: skip
    report.table("five-bar, 16 variables", ["", "s", "motions", "objective at the end"], rows)


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

    def differences() -> None:
        found["scipy"] = least_squares(residuals, np.ones(5), bounds=(0.5, 2.0), xtol=1e-10, ftol=1e-10, gtol=1e-10).x

    times = {name: float(np.min(x)) for name, x in interleave({"ours": direct, "scipy": differences}, rounds).items()}
    report.note("identification_s", times["ours"])
    report.note("identification_scipy_fd_s", times["scipy"])
    report.note("identification_ratio_vs_scipy_fd", times["scipy"] / times["ours"])
    report.note("identification_agree", float(np.abs(found["ours"] - found["scipy"]).max()))
    rows_ = [[name, digits(1e3 * s)] for name, s in times.items()]
    report.table("five numbers from 60 positions", ["", "ms"], rows_)


# ------------------------------------------------------------------------------------------------- many starts
def many_starts(report: Report, rounds: int) -> None:
    """Eight starts: one after the other, two threads, two workers."""
    names = list(variables().items())[:4]
    long = motion().recipe.changed(duration=4.0 * DURATION)
    problem = mg.DesignProblem(long, dict(names), mg.Integral(away, mg.measures.PointPosition("P2")))

    def search(**options: Any) -> Callable[[], object]:
        return lambda: problem.multistart(8, solver="slsqp", max_iterations=4, **options)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        calls = {
            "one after the other": search(executor="serial"),
            "2 threads": search(at_once=2),
            "2 Dask workers": search(executor=client.get_executor()),
        }
        times = {name: float(np.min(x)) for name, x in interleave(calls, rounds).items()}
    alone = times["one after the other"]
    report.note("multistart_s", alone)
    report.note("multistart_threads_speedup_2", alone / times["2 threads"])
    report.note("dask_speedup_2", alone / times["2 Dask workers"])
    rows = [[name, digits(s), digits(alone / s)] for name, s in times.items()]
    report.table("searches from eight starts", ["", "s", "times faster"], rows)


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
    identification(report, rounds)
    many_starts(report, rounds)
    report.finish()


if __name__ == "__main__":
    main()
