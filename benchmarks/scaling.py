"""How the cost of a step and of a gradient grows with the mechanism: rows of parallelograms, and chains between pins.

    python benchmarks/scaling.py [--quick]

One thread, steps of 1 ms. `four_bars(N)` has N loops, each sharing a bar with the next: ALI3-P with the trapezoidal
rule and the matrices that `simulate` chooses, and once more by recursive elimination with RK4 (four_bars_recursive). A
chain of n bars between two pins is one loop, and each of its coordinates is related to half of the others: recursive
elimination with RK4, and ALI3-P beside it at the smallest sizes (closed_chain_ali3p). Exudyn has planar rigid bodies
and its sparse solver, the quickest of its implicit ways. Ours is the whole call of `simulate`, theirs the solver's call
alone; both take turns, and times are the least of all rounds. Before any clock starts end states are compared. A
gradient is that of the kinetic energy at the end by three masses, the adjoint sweep for all of them, without the
simulation. Exponents are slopes of log(time) over log(size) by regression. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Report, digits, exponent, machine
from support import exudyn_bars as exudyn
from support.exudyn_twins import Run, Solver

import mechgrad as mg
from mechgrad.gallery import four_bars

STEP = 1e-3
RECURSIVE = {"formulation": "fully-recursive", "scheme": "rk4"}
AGREEMENT = 1e-3  # m at the end: both schemes are of order two
WAYS = {"trapezoidal": Solver("trapezoidal", linear="sparse"), "modified off": Solver("trapezoidal", False, "sparse")}


@dataclass(frozen=True)
class Effort:
    """Which sizes, how often, and how many bars are to be moved in all steps of one run together."""

    loops: tuple[int, ...]
    links: tuple[int, ...]
    few_links: tuple[int, ...]  # for matrices, which are nearly full
    rounds: int
    work: int


FULL = Effort((10, 20, 40, 80, 160, 400), (16, 32, 64, 128, 256, 512, 1024), (16, 32, 64), 5, 160_000)
QUICK = Effort((10, 40, 80), (16, 64, 256), (16, 32), 2, 80_000)


@dataclass(frozen=True)
class Case:
    """A mechanism of some size, its start, the bar that is compared, and its twin."""

    name: str
    size: int
    bars: int
    model: mg.Model
    start: mg.State
    watched: str
    masses: list[str]
    twin: Callable[..., Run]
    how: dict[str, str] = field(default_factory=dict)

    def steps(self, effort: Effort) -> int:
        """How many steps make a run; parallelograms are on one line at 0.72 s."""
        return int(np.clip(effort.work // self.bars, 10, 500))

    def simulate(self, steps: int) -> mg.Trajectory:
        """Ours."""
        return mg.simulate(self.model, self.start, steps * STEP, step=STEP, **self.how)

    def check(self, steps: int) -> float:
        """Distance of the ends; refuse to time a wrong motion."""
        ours = self.simulate(steps).markers([self.watched]).position[-1, 0]
        theirs = self.twin(self.size, STEP, steps * STEP, records=1).position[-1]
        apart = float(np.linalg.norm(ours[:2] - theirs[:2]))
        if not apart < AGREEMENT:
            raise SystemExit(f"{self.name} {self.size}: ends are {apart:.1e} m apart; times would mean nothing.")
        return apart


def parallelograms(n: int) -> Case:
    """N loops."""
    model, start = four_bars(n)
    last = f"across {n}"
    model = _with_point(model, last)
    state = mg.state(model, *start(np.pi / 2, -1.0))
    masses = ["upright 0.mass", "across 1.mass", f"{last}.mass"]
    return Case("four_bars", n, 2 * n + 1, model, state, "watched", masses, exudyn.four_bars)


def _with_point(model: mg.Model, body: str) -> mg.Model:
    """The same model with a point in the middle of a bar."""
    joints = [*model.joints]
    cut = [joint.name for joint in model.cut_joints]
    point = mg.Point("watched", body, (0.5, 0, 0))
    return mg.Model(model.name, model.bodies, joints, [point], gravity=model.gravity, cut=cut)


def closed_chain(n: int) -> Case:
    """n bars between two pins."""
    angles = exudyn.hanging_angles(n)
    end = (float(np.sum(np.cos(angles))), 0.0, 0.0)
    bodies = [mg.Body(f"bar {k}", 1.0, (0.5, 0, 0), (1e-4, 1 / 12, 1 / 12)) for k in range(n)]
    joints = [mg.Revolute("hinge 0", "ground", "bar 0")]
    joints += [mg.Revolute(f"hinge {k}", f"bar {k - 1}", f"bar {k}", (1, 0, 0)) for k in range(1, n)]
    joints += [mg.Revolute(f"hinge {n}", "ground", f"bar {n - 1}", end, child_origin=(1, 0, 0))]
    points = [mg.Point("watched", f"bar {n // 2}", (0.5, 0, 0))]
    model = mg.Model("chain between pins", bodies, joints, points, gravity=(0, -9.81, 0))
    held = {"hinge 0": float(angles[0])} | {
        f"hinge {k}": float(angles[k] - angles[k - 1]) for k in range(1, n) if f"hinge {k}" in model.q_names
    }
    if f"hinge {n}" in model.q_names:
        held[f"hinge {n}"] = float(angles[-1])
    q = np.array([held[name] for name in model.q_names])
    masses = ["bar 0.mass", "bar 1.mass", f"bar {n - 1}.mass"]
    return Case("closed_chain", n, n, model, mg.state(model, q), "watched", masses, exudyn.closed_chain)


def least(call: Callable[[], object], best: float) -> float:
    """Seconds of a call, or fewer."""
    gc.collect()
    begin = time.perf_counter()
    call()
    return min(best, time.perf_counter() - begin)


def measured(case: Case, effort: Effort) -> dict[str, float]:
    """Microseconds per step of a simulation, of a gradient, and of Exudyn."""
    steps = case.steps(effort)
    found = {"apart": case.check(steps)}
    motion = case.simulate(steps)
    goal = mg.AtEnd(mg.measures.KineticEnergy())

    def differentiate() -> object:
        return mg.gradient(motion, goal, case.masses, method="adjoint", threads=1)

    differentiate()
    ours = gradient = theirs = np.inf
    for _ in range(effort.rounds):
        ours = least(lambda: case.simulate(steps), ours)
        gradient = least(differentiate, gradient)
        for way in WAYS.values():
            theirs = min(theirs, case.twin(case.size, STEP, steps * STEP, solver=way).seconds)
    return found | {"step": 1e6 * ours / steps, "gradient": 1e6 * gradient / steps, "exudyn": 1e6 * theirs / steps}


def family(report: Report, name: str, make: Callable[[int], Case], sizes: tuple[int, ...], effort: Effort) -> None:
    """All sizes of one kind: a table and figures."""
    rows, results = [], []
    for n in sizes:
        found = measured(make(n), effort)
        results.append(found)
        ratio = found["exudyn"] / found["step"]
        rows.append([str(n), *(digits(found[k]) for k in ("step", "gradient", "exudyn")), digits(ratio)])
        report.note(f"{name}_{n}_us_per_step", found["step"])
        report.note(f"{name}_{n}_gradient_us_per_step", found["gradient"])
        report.note(f"{name}_{n}_exudyn_us_per_step", found["exudyn"])
        report.note(f"{name}_{n}_ratio_vs_exudyn", ratio)
    report.note(f"{name}_exponent", exponent(sizes, [x["step"] for x in results]))
    report.note(f"{name}_gradient_exponent", exponent(sizes, [x["gradient"] for x in results]))
    report.note(f"{name}_exudyn_exponent", exponent(sizes, [x["exudyn"] for x in results]))
    title = f"{name}: microseconds per step"
    report.table(title, ["size", "step", "gradient", "Exudyn", "times faster"], rows)


def main() -> None:
    """Print tables and the JSON object."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    effort = QUICK if options.parse_args().quick else FULL
    report = Report({"machine": machine()})
    family(report, "four_bars", parallelograms, effort.loops, effort)
    family(report, "four_bars_recursive", lambda n: replace(parallelograms(n), how=RECURSIVE), effort.loops, effort)
    family(report, "closed_chain", lambda n: replace(closed_chain(n), how=RECURSIVE), effort.links, effort)
    family(report, "closed_chain_ali3p", closed_chain, effort.few_links, effort)
    report.finish()


if __name__ == "__main__":
    main()
