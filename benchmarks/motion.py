"""Motion prediction: times, iterations and convergence of the two-link motions and of the gait.

    python benchmarks/motion.py [--quick] [--hessians] [--starts N]

Prints tables and, as its last line, one JSON object with every figure. --quick leaves the gait out, --hessians compares
exact, approximate and finite-difference derivatives, --starts solves the two-link problems from N random starts each.
Everything is compiled before a clock runs; times are medians, candidates in turn. With OPENBLAS_NUM_THREADS=1 they vary
less. Results: docs/convergence.md.
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
from common import Report, digits, interleave, machine

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.gallery.gait import Gait, gait
from mechgrad.optimization.motion import MotionProblem, MotionSolution
from mechgrad.optimization.solvers import NonlinearProgram, SolverResult, solve

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "03_two_link_motions.py"
FUNCTIONS = ("objective", "gradient", "constraints", "jacobian", "hessian")
MAX_ITERATIONS = 500
LONG = 3.0  # [s] what takes longer is solved once
# Ipopt divides the cost by its steepest slope at the start, and its tolerance with it. `solve` sets limits that are not
# divided; these are Ipopt's own.
LOOSE = {"compl_inf_tol": 1e-4, "dual_inf_tol": 1.0}


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
        share = result.time_functions / result.time
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
        for result, times in zip(run.results, split, strict=True):
            calls = str(result.evaluations[part]) if part in FUNCTIONS else ""
            row += [calls, f"{1e3 * times[part] / result.iterations:.2f}"]
        total = sum(times[part] for times in split)
        report.note(f"gait_ms_per_iteration_{part}", 1e3 * total / sum(iterations))
        rows.append([*row, f"{1e3 * total / sum(iterations):.2f}", f"{100 * total / run.seconds:.0f} %"])
    row = ["all"]
    for result in run.results:
        row += [f"{result.iterations} it.", f"{1e3 * result.time / result.iterations:.2f}"]
    rows.append([*row, f"{1e3 * run.seconds / sum(iterations):.2f}", "100 %"])
    header = ["ms per iteration", "calls", "feasible", "calls", "optimal", "both", "share"]
    report.table(f"one step of the walker, {run.seconds:.1f} s in the solves", header, rows)


# -------------------------------------------------------------------------------------------------------- Hessians
class Differences:
    """Gradient and Jacobian of a program by differences of its values, one column per unknown."""

    def __init__(self, program: NonlinearProgram, central: bool) -> None:
        self.program, self.central = program, central
        self.motions = 0
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def _values(self, x: np.ndarray) -> np.ndarray:
        self.motions += 1
        assert self.program.constraints is not None
        return np.concatenate([[self.program.objective(x)], self.program.constraints(x)])

    def _dense(self, x: np.ndarray) -> np.ndarray:
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        eps = np.finfo(float).eps
        steps = (eps ** (1 / 3) if self.central else eps**0.5) * np.maximum(1.0, np.abs(x))
        here = None if self.central else self._values(x)
        columns = []
        for k, h in enumerate(steps):
            e = np.zeros_like(x)
            e[k] = h
            if self.central:
                columns.append((self._values(x + e) - self._values(x - e)) / (2 * h))
            else:
                columns.append((self._values(x + e) - here) / h)
        dense = np.stack(columns, axis=1)
        self._last = (x.copy(), dense)
        return dense

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Of the cost."""
        return np.asarray(self._dense(x)[0])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """At the places of the exact one."""
        rows, cols = self.program.jacobian_structure
        return np.asarray(self._dense(x)[1 + rows, cols])

    def replaced(self) -> NonlinearProgram:
        """The program without exact derivatives."""
        return replace(self.program, gradient=self.gradient, jacobian=self.jacobian, hessian=None, gauss_newton=None)


def exactly(problem: MotionProblem, solver: str, hessian: Any) -> tuple[SolverResult, int]:
    """With exact first derivatives: the result, and the number of motions evaluated."""
    start = problem.guess()
    result = solve(problem.program(), start, solver, hessian=hessian, max_iterations=MAX_ITERATIONS)
    return result, result.evaluations["objective"]


def by_differences(problem: MotionProblem, solver: str, central: bool) -> tuple[SolverResult, int]:
    """With first derivatives by differences."""
    differences = Differences(problem.program(), central)
    start = problem.guess()
    result = solve(differences.replaced(), start, solver, hessian="lbfgs", max_iterations=MAX_ITERATIONS)
    return result, result.evaluations["objective"] + differences.motions


METHODS: dict[str, Callable[[MotionProblem], tuple[SolverResult, int]]] = {
    "exact Hessian": partial(exactly, solver="ipopt", hessian="exact"),
    "Gauss-Newton": partial(exactly, solver="ipopt", hessian="gauss-newton"),
    "L-BFGS": partial(exactly, solver="ipopt", hessian="lbfgs"),
    "L-BFGS, central diff.": partial(by_differences, solver="ipopt", central=True),
    "L-BFGS, forward diff.": partial(by_differences, solver="ipopt", central=False),
    "SLSQP": partial(exactly, solver="slsqp", hessian="lbfgs"),
    "SLSQP, forward diff.": partial(by_differences, solver="slsqp", central=False),
}


def hessians(report: Report, cases: list[Case], rounds: int, with_gait: bool) -> None:
    """What exact derivatives are worth."""
    for case in cases:
        results: dict[str, tuple[SolverResult, int] | None] = {}
        times: dict[str, list[float]] = {name: [] for name in METHODS}
        for _ in range(rounds):
            for name, method in METHODS.items():
                if times[name] and max(times[name]) > LONG:
                    continue
                start = time.perf_counter()
                try:
                    results[name] = method(case.problem)
                except mg.InputError:  # Gauss-Newton without squares in the cost
                    results[name] = None
                times[name].append(time.perf_counter() - start)
        rows = []
        for name, found in results.items():
            if found is None:
                rows.append([name, "refused", *["-"] * 5])
                continue
            result, motions = found
            seconds = float(np.median(times[name]))
            key = name.lower().translate({ord(" "): "_", ord("-"): "_", ord(","): None, ord("."): None})
            report.note(f"{case.key}_{key}_iterations", result.iterations)
            report.note(f"{case.key}_{key}_seconds", seconds)
            report.figures[f"{case.key}_{key}_status"] = result.status
            rows.append([name, result.status, str(result.iterations), str(motions), digits(seconds)])
            rows[-1] += [f"{result.objective:.6f}", f"{result.infeasibility:.0e}"]
        header = ["", "status", "iterations", "motions", "seconds", "cost", "violation"]
        report.table(f"{case.title}: derivatives (Ipopt where not said)", header, rows)
    if with_gait:
        gait_hessians(report)


def gait_hessians(report: Report) -> None:
    """The second phase of the gait with other Hessians."""
    step = gait()
    touch(step)
    rows = []
    for kind in ("exact", "gauss-newton", "lbfgs"):
        result = predict(step, hessian=kind, max_iterations=MAX_ITERATIONS).results[1]
        key = kind.replace("-", "_")
        report.note(f"gait_{key}_iterations", result.iterations)
        report.note(f"gait_{key}_seconds", result.time)
        report.figures[f"gait_{key}_status"] = result.status
        rows.append([kind, result.status, str(result.iterations), str(result.evaluations["objective"])])
        rows[-1] += [digits(result.time), f"{result.objective:.4f}", f"{result.infeasibility:.0e}"]
    header = ["", "status", "iterations", "motions", "seconds", "cost", "violation"]
    report.table("gait, second phase: Hessians", header, rows)


# --------------------------------------------------------------------------------------------------- random starts
def random_starts(problem: MotionProblem, number: int, seed: int = 0) -> list[np.ndarray]:
    """Straight lines with every control point moved by normal(0, 0.3), and 0.3 to 1.5 s."""
    rng = np.random.default_rng(seed)
    line = problem.guess()
    starts = []
    for _ in range(number):
        x = line + rng.normal(0, 0.3, line.size)
        x[-1] = rng.uniform(0.3, 1.5)
        starts.append(x)
    return starts


Way = Callable[[MotionProblem, np.ndarray], tuple[MotionSolution, ...]]
WAYS: dict[str, Way] = {
    "loose limits": lambda problem, x: (problem.solve(x, options=LOOSE),),
    "default": lambda problem, x: (problem.solve(x),),
    "feasible first": lambda problem, x: (first := problem.feasible(x), problem.solve(first)),
}


def starting_anywhere(report: Report, cases: list[Case], number: int) -> None:
    """How many random starts find the known optimum."""
    rows, elsewhere = [], []
    for case in cases:
        starts = random_starts(case.problem, number)
        for way, method in WAYS.items():
            found, iterations, seconds = [], [], []
            for k, x in enumerate(starts):
                begin = time.perf_counter()
                phases = method(case.problem, x)
                seconds.append(time.perf_counter() - begin)
                found.append(phases[-1])
                iterations.append(sum(phase.result.iterations for phase in phases if phase.result is not None))
                result = found[-1].result
                assert result is not None
                if not case.reached(found[-1], 1e-2):
                    elsewhere.append(
                        f"{case.title}, {way}, start {k} of {x[-1]:.2f} s: {result.status}, "
                        f"T = {found[-1].duration:.4f} s, cost {result.objective:.4f}"
                    )
            close, exact = (sum(case.reached(s, within) for s in found) for within in (1e-3, 1e-5))
            middle, key = float(np.median(iterations)), f"{case.key}_starts_{way.replace(' ', '_')}"
            report.note(f"{key}_reached", exact)
            report.note(f"{key}_iterations_median", middle)
            report.note(f"{key}_iterations_max", max(iterations))
            report.note(f"{key}_seconds", float(np.median(seconds)))
            worst = max((abs(s.duration - case.duration) for s in found if case.reached(s, 1e-2)), default=np.nan)
            rows.append([case.title, way, f"{close}", f"{exact}", f"{worst:.0e}"])
            rows[-1] += [f"{min(iterations)} / {middle:g} / {max(iterations)}", f"{1e3 * np.median(seconds):.0f}"]
    header = ["", "way", "to 1e-3", "to 1e-5", "worst |T - T*|", "iterations", "ms"]
    report.table(f"{number} random starts: how many reach the optimum", header, rows)
    for line in elsewhere:
        report.say(f"elsewhere: {line}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the gait, fewer rounds")
    parser.add_argument("--hessians", action="store_true", help="compare kinds of derivatives")
    parser.add_argument("--starts", type=int, default=0, metavar="N", help="random starts of each two-link problem")
    asked = parser.parse_args()
    rounds = 3 if asked.quick else 11
    report = Report()
    report.figures["machine"] = machine()
    cases = two_link()
    from_lines(report, cases, rounds)
    second_derivatives(report, 5 * rounds)
    if not asked.quick:
        walking(report, 3)
    if asked.hessians:
        hessians(report, cases, 5, not asked.quick)
    if asked.starts:
        starting_anywhere(report, cases, asked.starts)
    report.finish()


if __name__ == "__main__":
    main()
