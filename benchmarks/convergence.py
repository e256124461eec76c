"""Convergence of motion problems: which derivatives, from which starts.

    python benchmarks/convergence.py [--quick]

The three two-link motions and the second phase of the gait with exact, approximate and finite-difference derivatives;
then the two-link motions from random starts, with Ipopt's own limits, with ours, and by way of a feasible motion.
Prints tables and, as its last line, one JSON object with every figure. Some minutes; --quick takes one round of the
exact Hessian and of SLSQP, without gait and starts. Results: docs/convergence.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from common import Report, digits, machine, powers
from motion import Case, predict, touch, two_link

import mechgrad as mg
from mechgrad.gallery.gait import gait
from mechgrad.optimization.motion import MotionProblem, MotionSolution
from mechgrad.optimization.solvers import NonlinearProgram, SolverResult, solve

MAX_ITERATIONS = 500
STARTS = 20
LONG = 3.0  # [s] what takes longer is solved once
# Ipopt divides the cost by its steepest slope at the start, and its tolerance with it. `solve` sets limits that are not
# divided; these are Ipopt's own.
LOOSE = {"compl_inf_tol": 1e-4, "dual_inf_tol": 1.0}


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


Method = Callable[[MotionProblem], tuple[SolverResult, int]]
METHODS: dict[str, Method] = {
    "exact Hessian": partial(exactly, solver="ipopt", hessian="exact"),
    "Gauss-Newton": partial(exactly, solver="ipopt", hessian="gauss-newton"),
    "L-BFGS": partial(exactly, solver="ipopt", hessian="lbfgs"),
    "L-BFGS, central diff.": partial(by_differences, solver="ipopt", central=True),
    "L-BFGS, forward diff.": partial(by_differences, solver="ipopt", central=False),
    "SLSQP": partial(exactly, solver="slsqp", hessian="lbfgs"),
    "SLSQP, forward diff.": partial(by_differences, solver="slsqp", central=False),
}


QUICK = ("exact Hessian", "SLSQP")


def hessians(report: Report, cases: list[Case], rounds: int, methods: Mapping[str, Method]) -> None:
    """What exact derivatives are worth."""
    for case in cases:
        results: dict[str, tuple[SolverResult, int] | None] = {}
        times: dict[str, list[float]] = {name: [] for name in methods}
        for _ in range(rounds):
            for name, method in methods.items():
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
            report.note(f"{case.key}_{key}_motions", motions)
            report.note(f"{case.key}_{key}_seconds", seconds)
            report.note(f"{case.key}_{key}_status", result.status)
            report.figures[f"{case.key}_{key}_cost"] = round(result.objective, 6)
            rows.append([name, result.status, str(result.iterations), str(motions), digits(seconds)])
            rows[-1] += [f"{result.objective:.6f}", f"{result.infeasibility:.0e}"]
        for kind in ("forward", "central"):
            if f"{case.key}_l_bfgs_{kind}_diff_seconds" in report.figures:
                exact, by_steps = (report.figures[f"{case.key}_l_bfgs{x}_seconds"] for x in ("", f"_{kind}_diff"))
                report.note(f"{case.key}_{kind}_differences_over_exact", by_steps / exact)
        header = ["", "status", "iterations", "motions", "seconds", "cost", "violation"]
        report.table(f"{case.title}: derivatives (Ipopt where not said)", header, rows)


def gait_hessians(report: Report) -> None:
    """The second phase of the gait with other Hessians."""
    step = gait()
    touch(step)
    rows = []
    for kind in ("exact", "gauss-newton", "lbfgs"):
        result = predict(step, hessian=kind, max_iterations=MAX_ITERATIONS).results[1]
        key = kind.replace("-", "_")
        report.note(f"gait_{key}_iterations", result.iterations)
        report.note(f"gait_{key}_motions", result.evaluations["objective"])
        report.note(f"gait_{key}_seconds", result.time)
        report.note(f"gait_{key}_status", result.status)
        report.note(f"gait_{key}_cost", result.objective)
        report.note(f"gait_{key}_violation", powers(result.infeasibility))
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
            report.note(f"{key}_close", close)
            report.note(f"{key}_reached", exact)
            report.note(f"{key}_iterations_min", min(iterations))
            report.note(f"{key}_iterations_median", middle)
            report.note(f"{key}_iterations_max", max(iterations))
            report.note(f"{key}_seconds", float(np.median(seconds)))
            worst = max((abs(s.duration - case.duration) for s in found if case.reached(s, 1e-2)), default=np.nan)
            report.note(f"{key}_worst", powers(worst))
            rows.append([case.title, way, f"{close}", f"{exact}", f"{worst:.0e}"])
            rows[-1] += [f"{min(iterations)} / {middle:g} / {max(iterations)}", f"{1e3 * np.median(seconds):.0f}"]
    header = ["", "way", "to 1e-3", "to 1e-5", "worst |T - T*|", "iterations", "ms"]
    report.table(f"{number} random starts: how many reach the optimum", header, rows)
    for line in elsewhere:
        report.say(f"elsewhere: {line}")


def main() -> None:
    """All sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one round of two ways, no gait, no starts")
    quick = parser.parse_args().quick
    report, cases = Report(), two_link()
    report.figures["machine"] = machine()
    hessians(report, cases, 1 if quick else 5, {name: METHODS[name] for name in (QUICK if quick else METHODS)})
    if not quick:
        gait_hessians(report)
        starting_anywhere(report, cases, STARTS)
    report.finish()


if __name__ == "__main__":
    main()
