"""Motion prediction: times, iterations and convergence of the two-link motions and of the gait.

    python benchmarks/motion.py [--quick]

Prints tables and, as its last line, one JSON object with every figure. --quick leaves the gait out. Everything is
compiled before a clock runs; times are medians, candidates in turn. With OPENBLAS_NUM_THREADS=1 they vary less. Which
derivatives and which starts: convergence.py. Results: docs/convergence.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Report, interleave, machine

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.gallery.gait import Gait, gait
from mechgrad.optimization.motion import MotionProblem, MotionSolution
from mechgrad.optimization.solvers import NonlinearProgram, SolverResult

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "03_two_link_motions.py"
FUNCTIONS = ("objective", "gradient", "constraints", "jacobian", "hessian")


@dataclass(frozen=True)
class Case:
    """A problem and its known optimum."""

    key: str
    title: str
    problem: MotionProblem
    duration: float
    cost: float

    def reached(self, solution: MotionSolution, within: float = 1e-5) -> bool:
        """Whether a solution is the optimum, to so many seconds and units of cost."""
        assert solution.result is not None
        off = abs(solution.duration - self.duration), abs(solution.result.objective - self.cost)
        return solution.result.success and max(off) < within


def two_link() -> list[Case]:
    """The three problems of examples/03_two_link_motions.py."""
    spec = importlib.util.spec_from_file_location("two_link_motions", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return [
        Case("two_link", "R-R least time", example.minimum_time(20, 1), 0.392659, 0.392659),
        Case("lifting", "R-R lifting", example.lifting(20), 0.519293, 0.846608),
        Case("p_r", "P-R", example.sliding(20, 0.0), 0.586492, 0.774169),
    ]


# ------------------------------------------------------------------------------------------------------- two links
def from_lines(report: Report, cases: list[Case], rounds: int) -> None:
    """From straight lines, with exact Hessians."""
    times = interleave({case.key: case.problem.solve for case in cases}, rounds)
    found = {case.key: case.problem.solve() for case in cases}
    rows = []
    for case in cases:
        solution, seconds = found[case.key], float(np.median(times[case.key]))
        result = solution.result
        assert result is not None
        assert result.success, (case.title, result.reason)
        report.figures[f"{case.key}_T"] = round(solution.duration, 7)
        report.figures[f"{case.key}_cost"] = round(result.objective, 7)
        report.note(f"{case.key}_iterations", result.iterations)
        report.note(f"{case.key}_seconds", seconds)
        report.note(f"{case.key}_ms_per_iteration", 1e3 * seconds / result.iterations)
        share = report.note(f"{case.key}_derivative_share", result.time_functions / result.time)
        rows.append([case.title, f"{solution.duration:.6f}", f"{result.objective:.6f}", str(result.iterations)])
        rows[-1] += [f"{1e3 * seconds:.0f}", f"{1e3 * seconds / result.iterations:.1f}", f"{100 * share:.0f} %"]
    header = ["from straight lines", "T [s]", "cost", "iterations", "ms", "ms/iteration", "derivatives"]
    report.table("two-link motions, 47 unknowns, exact Hessian", header, rows)


def second_derivatives(report: Report, rounds: int) -> None:
    """All second derivatives of the human's torques, contracted: what a Hessian costs per sample."""
    model = human()
    _, q, v, a = human_motion(301)
    y = np.random.default_rng(0).normal(size=q.shape)
    times = interleave({"hessian": lambda: mg.terms.inverse_dynamics_hessian(model, q, v, a, y)}, rounds)["hessian"]
    best, median = 1e6 * float(times.min()) / len(q), 1e6 * float(np.median(times)) / len(q)
    report.note("hessian_us_per_sample_43", best)
    report.note("hessian_median_us_per_sample_43", median)
    report.say(
        f"second derivatives of the human's torques, 43 joints: {best:.2f} µs per sample, median {median:.2f} µs\n"
    )


# ------------------------------------------------------------------------------------------------------------ gait
def clocked(program: NonlinearProgram, spent: dict[str, float]) -> NonlinearProgram:
    """The same program; seconds in each of its functions are added to `spent`."""

    def with_clock(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[name] += time.perf_counter() - start

        return call

    functions: dict[str, Any] = {name: with_clock(name, getattr(program, name)) for name in FUNCTIONS}
    return replace(program, **functions)


@dataclass(frozen=True)
class Run:
    """One prediction of the step: both phases, wall time of all, seconds in each function of each phase."""

    solutions: tuple[MotionSolution, MotionSolution]
    wall: float
    spent: tuple[dict[str, float], dict[str, float]]

    @property
    def results(self) -> list[SolverResult]:
        return [solution.result for solution in self.solutions if solution.result is not None]

    @property
    def seconds(self) -> float:
        return sum(result.time for result in self.results)

    @property
    def share(self) -> float:
        return sum(result.time_functions for result in self.results) / self.seconds


def predict(step: Gait, **settings: Any) -> Run:
    """Solve both phases with a clock around every function, the second one with other settings if given."""
    problem, spent = step.problem, []
    plain, plain_solve = problem._program, problem.solve

    def program(*arguments: Any) -> NonlinearProgram:
        spent.append(dict.fromkeys(FUNCTIONS, 0.0))
        return clocked(plain(*arguments), spent[-1])

    problem._program = program  # type: ignore[method-assign, assignment]
    problem.solve = partial(plain_solve, **settings)  # type: ignore[method-assign]
    try:
        start = time.perf_counter()
        solutions = step.solve()
        wall = time.perf_counter() - start
    finally:
        problem._program, problem.solve = plain, plain_solve  # type: ignore[method-assign]
    first, second = spent
    return Run(solutions, wall, (first, second))


def touch(step: Gait) -> tuple[NonlinearProgram, float]:
    """Compile what the step needs, by one call of each function; the program, and how long building it takes then."""
    program, x = step.problem.program(), step.problem.guess()
    assert program.constraints is not None
    assert program.jacobian is not None
    assert program.hessian is not None
    program.objective(x), program.gradient(x), program.constraints(x), program.jacobian(x)
    program.hessian(x, 1.0, np.ones(program.m))
    start = time.perf_counter()
    step.problem.program()
    return program, time.perf_counter() - start


def walking(report: Report, repeats: int) -> None:
    """The step of the walker."""
    step = gait()
    program, building = touch(step)
    report.note("gait_transcription_seconds", building)
    runs = sorted((predict(step) for _ in range(repeats)), key=lambda run: run.seconds)
    run = runs[len(runs) // 2]
    first, second = run.results
    assert second.success, second.reason
    check = step.check(run.solutions[1])
    jacobian, hessian = len(program.jacobian_structure[0]), len(program.hessian_structure[0])
    iterations = [result.iterations for result in run.results]
    for key, value in (
        ("seconds", float(np.median([r.seconds for r in runs]))),
        ("wall_seconds", float(np.median([r.wall for r in runs]))),
        ("max_violation", check.violation),
        ("derivative_share", float(np.median([r.share for r in runs]))),
        ("variables", check.variables),
        ("constraints", check.constraints),
        ("active", check.active),
        ("jacobian_entries", jacobian),
        ("hessian_entries", hessian),
        ("iterations", sum(iterations)),
        ("iterations_feasible", iterations[0]),
        ("iterations_optimal", iterations[1]),
        ("seconds_feasible", first.time),
        ("seconds_optimal", second.time),
        ("cost", second.objective),
    ):
        report.note(f"gait_{key}", value)
    report.say(
        f"gait: {check.variables} unknowns, {check.constraints} constraints ({check.active} at a bound), {jacobian} "
        f"entries in the Jacobian, {hessian} in the Hessian; median of {repeats} predictions.\n"
    )
    rows = []
    parts = [*FUNCTIONS, "functions", "solver"]
    split = []
    for result, spent in zip(run.results, run.spent, strict=True):
        split.append({**spent, "functions": result.time_functions, "solver": result.time_solver})
    for part in parts:
        row = [part]
        for phase, result, times in zip(("feasible", "optimal"), run.results, split, strict=True):
            calls = str(result.evaluations[part]) if part in FUNCTIONS else ""
            each = report.note(f"gait_{phase}_ms_per_iteration_{part}", 1e3 * times[part] / result.iterations)
            row += [calls, f"{each:.2f}"]
        total = sum(times[part] for times in split)
        report.note(f"gait_ms_per_iteration_{part}", 1e3 * total / sum(iterations))
        report.note(f"gait_share_{part}", total / run.seconds)
        rows.append([*row, f"{1e3 * total / sum(iterations):.2f}", f"{100 * total / run.seconds:.0f} %"])
    row = ["all"]
    for phase, result in zip(("feasible", "optimal"), run.results, strict=True):
        each = report.note(f"gait_{phase}_ms_per_iteration_all", 1e3 * result.time / result.iterations)
        row += [f"{result.iterations} it.", f"{each:.2f}"]
    report.note("gait_ms_per_iteration_all", 1e3 * run.seconds / sum(iterations))
    rows.append([*row, f"{1e3 * run.seconds / sum(iterations):.2f}", "100 %"])
    header = ["ms per iteration", "calls", "feasible", "calls", "optimal", "both", "share"]
    report.table(f"one step of the walker, {run.seconds:.1f} s in the solves", header, rows)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the gait, fewer rounds")
    quick = parser.parse_args().quick
    rounds = 3 if quick else 11
    report = Report()
    report.figures["machine"] = machine()
    from_lines(report, two_link(), rounds)
    second_derivatives(report, 5 * rounds)
    if not quick:
        walking(report, 3)
    report.finish()


if __name__ == "__main__":
    main()
