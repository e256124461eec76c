"""Simulation beside Exudyn, Pinocchio and scipy: the five-bar, the slider-crank and a chain of 43 links.

    python benchmarks/dynamics.py [--quick]

One thread, fixed steps of 1 ms. Newton ends as each library does by default: ours at increments of 1e-10, Exudyn at a
residual of 1e-8 relative or 1e-10 absolute; these are not the same measure. Candidates take turns inside one run; times
per step are the least of all rounds, since whatever else runs on a machine only adds to them, and ratios are ratios of
these, above 1 means that mechgrad is faster. Ours is the whole call of `simulate` with every state, acceleration,
multiplier and constraint norm stored; "kernel" is the compiled march inside of it. Theirs is the solver's call alone
without any output (Exudyn), or the loop over steps without storing states (Pinocchio). Implicit is compared with
implicit and RK4 with RK4, the quickest way of each. Before any clock starts, all end states are compared with a
reference; a run that is off by more than 1e-3 m ends the benchmark. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import peers
import work_precision
from common import Report, Times, digits, exponent, interleave, machine
from forward_dynamics import compare, compare_single, faster, us
from support import exudyn_twins as exudyn
from support import five_bar_reference, slider_crank_reference
from support.chain_reference import chain_data, pinocchio_chain, rk4_step, tip
from support.exudyn_twins import Run, Solver

import mechgrad as mg
from mechgrad.gallery import chain, double_pendulum
from mechgrad.simulation.simulate import simulate
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.matrix_r.kernels import march as independent
from mechgrad.steps.newmark.kernels import march as implicit
from mechgrad.steps.runge_kutta.kernels import adaptive
from mechgrad.steps.runge_kutta.kernels import fixed_steps as explicit

STEP = 1e-3
AGREEMENT = 1e-3  # m at the end: second-order schemes err by 1e-5 to 1e-4 there, a wrong model by centimetres
LINKS = 43
TARGETS = {
    "five_bar_ratio_vs_exudyn": 3.0,
    "slider_crank_ratio_vs_exudyn": 4.0,
    "chain43_ratio_vs_exudyn": 10.0,
    "chain43_ratio_vs_pin": 2.0,
    "five_bar_ratio_vs_scipy_1e9": 1.0,
}


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    steps: int
    growth: tuple[int, ...]
    crossover: tuple[int, ...]


FULL = Effort(7, 2000, (4, 8, 16, 32, 64, 128, 256, 512), (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32))
QUICK = Effort(2, 500, (4, 16, 64, 512), (2, 4, 8, 16, 32))

# ------------------------------------------------------------------------------------------------------ clocks
KERNELS = (
    (implicit, "march"),
    (independent, "march_independent"),
    (implicit, "march_fixed_point"),
    (explicit, "fixed_one"),
    (adaptive, "adaptive_one"),
)


@contextmanager
def kernel_clock() -> Iterator[list[float]]:
    """Seconds of every call of a compiled march inside the block."""
    spent: list[float] = []
    kept = [getattr(module, name) for module, name in KERNELS]

    def clocked(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return kernel(*arguments)
            finally:
                spent.append(time.perf_counter() - begin)

        return call

    try:
        for (module, name), kernel in zip(KERNELS, kept, strict=True):
            setattr(module, name, clocked(kernel))
        yield spent
    finally:
        for (module, name), kernel in zip(KERNELS, kept, strict=True):
            setattr(module, name, kernel)


Candidate = Callable[[], Mapping[str, float]]  # seconds per step under one name or more


def in_turns(candidates: list[Candidate], rounds: int) -> Times:
    """Seconds per step of each round; every round runs all candidates next to each other, in turning order."""
    times: dict[str, list[float]] = {}
    for k in range(rounds):
        for candidate in candidates[k % len(candidates) :] + candidates[: k % len(candidates)]:
            gc.collect()
            gc.disable()
            try:
                found = candidate()
            finally:
                gc.enable()
            for name, seconds in found.items():
                times.setdefault(name, []).append(seconds)
    return {name: np.array(values) for name, values in times.items()}


def ours(name: str, run: Callable[[], Trajectory], steps: int) -> Mapping[str, float]:
    """The call of `simulate` and the kernel inside of it."""
    with kernel_clock() as spent:
        begin = time.perf_counter()
        run()
        seconds = time.perf_counter() - begin
    return {f"mechgrad {name}": seconds / steps, f"kernel {name}": sum(spent) / steps}


Way = Callable[..., Run]  # of step and duration; `records` for the end state


def theirs(name: str, way: Way, steps: int) -> Mapping[str, float]:
    """Exudyn's solver."""
    return {f"Exudyn {name}": way(STEP, steps * STEP).seconds / steps}


def check(what: str, got: np.ndarray, wanted: np.ndarray) -> float:
    """Distance from the reference at the end; refuse to time a wrong motion."""
    apart = float(np.linalg.norm(np.ravel(got)[: np.size(wanted)] - np.ravel(wanted)))
    if not apart < AGREEMENT:
        raise SystemExit(f"{what} ends {apart:.1e} m from the reference; its time would mean nothing.")
    return apart


def best(times: Times, beginning: str, *words: str) -> str:
    """The quickest candidate whose name begins with a word and contains one of the others."""
    names = [name for name in times if name.startswith(beginning) and (not words or any(w in name for w in words))]
    return min(names, key=lambda name: np.min(times[name]))


# ------------------------------------------------------------------------------------------------ closed loops
def loops(report: Report, effort: Effort) -> None:
    """ALI3-P with the trapezoidal rule, and Matrix R, beside Exudyn's implicit ways."""
    duration = effort.steps * STEP
    ends = {
        "five_bar": five_bar_reference.solve(duration).position[-1],
        "slider_crank": slider_crank_reference.solve(duration=duration).position[-1:],
    }
    rows = []
    for case in work_precision.cases():
        candidates: list[Candidate] = []
        apart, passes = {}, {}
        for form in ("ali3p", "matrix-r"):
            run = partial(
                simulate, case.model, case.start, duration=duration, formulation=form, scheme="trapezoidal", step=STEP
            )
            motion = run()
            end = motion.markers([case.point]).position[-1, 0]
            apart[f"mechgrad {form}"] = check(f"{case.title}, {form}", end, ends[case.key])
            assert motion.iterations is not None
            passes[f"mechgrad {form}"] = f"{np.mean(motion.iterations[1:]):.2f}"
            candidates.append(partial(ours, form, run, effort.steps))
        for name, solver in peers._IMPLICIT.items():
            way = partial(case.twin, solver=solver)
            end = way(STEP, duration, records=1).position[-1]
            apart[f"Exudyn {name}"] = check(f"{case.title}, Exudyn {name}", end, ends[case.key])
            candidates.append(partial(theirs, name, way, effort.steps))
        times = in_turns(candidates, 3 * effort.rounds)
        quickest = best(times, "Exudyn")
        for name in times:
            ratio = faster(times, name, quickest)
            off = f"{apart[name]:.0e}" if name in apart else ""
            rows.append([f"{case.key}: {name}", digits(us(times[name])), digits(ratio), passes.get(name, ""), off])
        report.note(f"{case.key}_us_per_step", us(times["mechgrad ali3p"]))
        report.note(f"{case.key}_kernel_us_per_step", us(times["kernel ali3p"]))
        report.note(f"{case.key}_matrix_r_us_per_step", us(times["mechgrad matrix-r"]))
        report.note(f"{case.key}_exudyn_us_per_step", us(times[quickest]))
        report.note(f"{case.key}_ratio_vs_exudyn", faster(times, "mechgrad ali3p", quickest))
        report.note(f"{case.key}_kernel_ratio_vs_exudyn", faster(times, "kernel ali3p", quickest))
    header = ["trapezoidal unless said, 1 ms", "µs/step", "times faster", "iterations", "off [m]"]
    report.table("closed loops; times faster than Exudyn's quickest way", header, rows)


# ------------------------------------------------------------------------------------------------------- chain
def chain_model(n: int) -> mg.Model:
    """The chain of the reference with bodies and hinges of mechgrad."""
    data = chain_data(n)
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0)}
    bodies = [mg.Body(f"link{k}", data["mass"], data["com"], np.diag(data["inertia"])) for k in range(n)]
    joints = [
        mg.Revolute(
            f"hinge{k}",
            "ground" if k == 0 else f"link{k - 1}",
            f"link{k}",
            (0.0, 0.0, 0.0) if k == 0 else data["tip"],
            axis=axes[axis],
        )
        for k, axis in enumerate(data["axes"])
    ]
    tips = [mg.Point("tip", f"link{n - 1}", data["tip"])]
    return mg.Model(f"chain of {n}", bodies, joints, tips, gravity=data["gravity"])


OUR_CHAIN = {
    "semi-recursive, trapezoidal": ("semi-recursive", "trapezoidal"),
    "semi-recursive, generalized alpha": ("semi-recursive", "generalized-alpha"),
    "fully recursive, trapezoidal (fixed point)": ("fully-recursive", "trapezoidal"),
    "fully recursive, rk4": ("fully-recursive", "rk4"),
}
THEIR_CHAIN: dict[str, Way] = {
    "rigid bodies, generalized alpha": partial(
        exudyn.chain, LINKS, solver=Solver("generalized alpha", linear="sparse")
    ),
    "tree, generalized alpha": partial(exudyn.chain_tree, LINKS, solver=Solver("generalized alpha")),
    "tree, rk4": partial(exudyn.chain_tree, LINKS, solver=Solver("rk4")),
}


def pinocchio_march(steps: int) -> np.ndarray:
    """RK4 with articulated bodies in a Python loop; the angles at the end."""
    march, q, v = rk4_step(pinocchio_chain(LINKS)), np.array(chain_data(LINKS)["angles"]), np.zeros(LINKS)
    for _ in range(steps):
        q, v = march(q, v, STEP)
    return q


def pinocchio(steps: int) -> Mapping[str, float]:
    """Seconds per step, building the model left out."""
    march, q, v = rk4_step(pinocchio_chain(LINKS)), np.array(chain_data(LINKS)["angles"]), np.zeros(LINKS)
    begin = time.perf_counter()
    for _ in range(steps):
        q, v = march(q, v, STEP)
    return {"Pinocchio rk4": (time.perf_counter() - begin) / steps}


def long_chain(report: Report, effort: Effort) -> None:
    """Implicit beside implicit, RK4 beside RK4."""
    if set(THEIR_CHAIN) != set(peers._ways(f"chain{LINKS}")[0]):
        raise SystemExit("peers.py times other ways of Exudyn's than this benchmark: bring both in line.")
    model, start = chain_model(LINKS), chain_data(LINKS)["angles"]
    early = effort.steps // 4  # nearby motions of a long chain part later on, whoever computes them
    wanted = tip(pinocchio_chain(LINKS), pinocchio_march(early))
    candidates: list[Candidate] = [partial(pinocchio, effort.steps)]
    apart, passes = {}, {}
    for name, (form, scheme) in OUR_CHAIN.items():
        run = partial(simulate, model, start, formulation=form, scheme=scheme, step=STEP)
        motion = run(duration=early * STEP)
        end = motion.markers(["tip"]).position[-1, 0]
        apart[f"mechgrad {name}"] = check(f"chain, {name}", end, wanted)
        if motion.iterations is not None:
            passes[f"mechgrad {name}"] = f"{np.mean(motion.iterations[1:]):.2f}"
        candidates.append(partial(ours, name, partial(run, duration=effort.steps * STEP), effort.steps))
    for name, way in THEIR_CHAIN.items():
        end = way(STEP, early * STEP, records=1).position[-1]
        apart[f"Exudyn {name}"] = check(f"chain, Exudyn {name}", end, wanted)
        candidates.append(partial(theirs, name, way, effort.steps))
    times = in_turns(candidates, effort.rounds)
    theirs_implicit, theirs_rk4 = best(times, "Exudyn", "alpha"), "Exudyn tree, rk4"
    newton, mine_rk4 = best(times, "mechgrad semi"), "mechgrad fully recursive, rk4"
    mine = min(
        (name for name in times if name.startswith("mechgrad") and "rk4" not in name), key=lambda x: us(times[x])
    )
    rows = []
    for name in times:
        beside = theirs_rk4 if "rk4" in name else theirs_implicit
        figures = [digits(us(times[name])), digits(faster(times, name, beside))]
        rows.append([name, *figures, passes.get(name, ""), f"{apart[name]:.0e}" if name in apart else ""])
    header = ["1 ms", "µs/step", "times faster", "iterations", "off [m]"]
    report.table(f"chain of {LINKS} links; times faster than Exudyn's quickest (implicit, rk4)", header, rows)
    for key, name in (("chain43", mine), ("chain43_rk4", mine_rk4)):
        report.note(f"{key}_us_per_step", us(times[name]))
        report.note(f"{key}_kernel_us_per_step", us(times[name.replace("mechgrad", "kernel")]))
    report.note("chain43_ratio_vs_exudyn", faster(times, mine, theirs_implicit))
    report.note("chain43_newton_us_per_step", us(times[newton]))
    report.note("chain43_newton_ratio_vs_exudyn", faster(times, newton, theirs_implicit))
    bodies = "Exudyn rigid bodies, generalized alpha"
    report.note("chain43_newton_ratio_vs_exudyn_rigid_bodies", faster(times, newton, bodies))
    report.note("chain43_rk4_ratio_vs_exudyn", faster(times, mine_rk4, theirs_rk4))
    report.note("chain43_ratio_vs_pin", faster(times, mine_rk4, "Pinocchio rk4"))
    report.note("chain43_pin_us_per_step", us(times["Pinocchio rk4"]))
    for key, name in (("", theirs_implicit), ("_rk4", theirs_rk4), ("_rigid_bodies", bodies)):
        report.note(f"chain43_exudyn{key}_us_per_step", us(times[name]))


# ------------------------------------------------------------------------------------------- scipy and growth
def beside_scipy(report: Report, effort: Effort) -> None:
    """Five seconds of the five-bar with all objectives to 1e-9."""
    target, case = 1e-9, work_precision.cases()[0]
    intervals = work_precision.enough_samples(case, target)
    every = (*work_precision.our_ways(), *work_precision.scipy_ways())
    ways = [way for way in every if way.name.endswith(("rk4", "dop853")) or way.name.startswith("scipy")]
    calls, settings = {}, {}
    for way in ways:
        found = work_precision.reach(way, case, [target], {target: intervals}, 10.0)[target]
        if found.reached:
            name = way.name if way.name.startswith("scipy") else f"mechgrad {way.name}"
            calls[name] = partial(way.trial(case, intervals), found.setting)
            settings[name] = (found, way)
    times = interleave(calls, 3 * effort.rounds)
    quickest = best(times, "scipy")
    rows = []
    for name, (found, way) in settings.items():
        setting = (
            f"step {1e3 * work_precision.DURATION / found.setting:.3g} ms" if way.order else f"{found.setting:.0e}"
        )
        rows.append([name, setting, f"{found.error:.0e}", digits(us(times[name]) / 1e3)])
        rows[-1].append(digits(faster(times, name, quickest)))
    header = ["five-bar, 5 s, objectives to 1e-9", "step or tolerance", "error", "ms", "times faster"]
    report.table("beside scipy's quickest on equations by hand", header, rows)
    mine = best(times, "mechgrad")
    report.note("five_bar_1e9_ms", us(times[mine]) / 1e3)
    for name in ("DOP853", "odeint"):
        report.note(f"five_bar_scipy_{name.lower()}_1e9_ms", us(times[best(times, "scipy", name)]) / 1e3)
    report.note("five_bar_ratio_vs_odeint_1e9", faster(times, mine, best(times, "scipy", "odeint")))
    report.note("five_bar_ratio_vs_scipy_1e9", faster(times, mine, best(times, "scipy", "DOP853")))


def open_tree(report: Report, effort: Effort) -> None:
    """The double pendulum, 10 s at a tolerance of 1e-12, beside scipy with our accelerations; and a step of RK4."""
    model, duration, tight = double_pendulum(), 10.0, {"rtol": 1e-12, "atol": 1e-12}

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[2:], mg.forward_dynamics(model, x[:2], x[2:])])

    def scipys() -> Any:
        return solve_ivp(rates, (0.0, duration), [2.0, 1.0, 0.0, 0.0], method="DOP853", **tight)

    def controlled() -> Trajectory:
        return simulate(model, [2.0, 1.0], duration, samples=2, **tight)

    steps = {"mechgrad": controlled().steps, "scipy": len(scipys().t) - 1, "rk4": 10_000}
    calls: dict[str, Callable[[], object]] = {"mechgrad": controlled, "scipy": scipys}
    calls["rk4"] = partial(simulate, model, [2.0, 1.0], duration, step=duration / steps["rk4"], scheme="rk4")
    times = interleave(calls, 1 + effort.rounds // 2)
    rows = []
    for name, seconds in times.items():
        report.note(f"double_pendulum_{name}_ms", us(seconds) / 1e3)
        report.note(f"double_pendulum_{name}_steps", int(steps[name]))
        each = report.note(f"double_pendulum_{name}_us_per_step", us(seconds) / steps[name])
        rows.append([name, digits(us(seconds) / 1e3), str(steps[name]), digits(each)])
    report.table("double pendulum, 10 s: DOP853 at 1e-12, and RK4", ["", "ms", "steps", "µs/step"], rows)


def growth(report: Report, effort: Effort) -> None:
    """A step of RK4 against the number of links, and from which on elimination beats factors of the mass matrix."""
    rows, found = [], []
    for n in effort.growth:
        model, steps = chain_model(n), max(25, 16384 // n)
        run = partial(
            simulate, model, chain_data(n)["angles"], duration=steps * 1e-4, scheme="rk4", step=1e-4, samples=2
        )  # fmt: skip
        times = in_turns([partial(ours, "rk4", run, steps)], 1 + 2 * effort.rounds)
        found.append(us(times["kernel rk4"]))
        report.note(f"chain{n}_rk4_step_us", found[-1])
        report.note(f"chain{n}_rk4_step_us_per_link", found[-1] / n)
        rows.append([str(n), digits(found[-1]), digits(1e3 * found[-1] / n)])
    slope = report.note("fully_recursive_growth_exponent", exponent(effort.growth, found))
    rows.append(["exponent", f"{slope:.2f}", ""])
    report.table("fully recursive, a step of RK4 (kernel)", ["links", "µs", "ns/link"], rows)
    rows, slower = [], {"fully_recursive_overtakes_at": 0, "fully_recursive_overtakes_at_one_state": 0}
    for n in effort.crossover:
        row = [str(n)]
        for key, measure in zip(slower, (compare, compare_single), strict=True):
            ratio = faster(measure(chain(n), 3 * effort.rounds), "recursive", "factor")
            row.append(digits(ratio))
            if ratio <= 1.0:
                slower[key] = n
        rows.append(row)
    for key, last in slower.items():
        report.note(key, next(n for n in (*effort.crossover, 10**9) if n > last))
    report.table("elimination: times faster than factors of M", ["links", "many states", "one state"], rows)


def verdict(report: Report) -> None:
    """Targets beside figures."""
    rows = []
    for key, target in TARGETS.items():
        got = report.figures[key]
        rows.append([key, f"{got:.3g}", f"{target:g}", "met" if got >= target else "MISSED"])
    report.table("targets", ["", "measured", "target", ""], rows)


def main() -> None:
    """All sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, steps and sizes")
    effort = QUICK if parser.parse_args().quick else FULL
    report = Report()
    report.console.width = 120
    report.figures["machine"] = machine()
    loops(report, effort)
    long_chain(report, effort)
    beside_scipy(report, effort)
    open_tree(report, effort)
    growth(report, effort)
    verdict(report)
    report.finish()


if __name__ == "__main__":
    main()
