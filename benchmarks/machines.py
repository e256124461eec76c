"""Real machines: how fast whole vehicles are simulated and differentiated, beside real time and beside Exudyn.

    python benchmarks/machines.py [--quick]

One thread, and the time that it had of a processor, so that what else runs on the machine counts little. Candidates
take turns inside one run; times are the least of all rounds, ratios of two candidates medians of those of the rounds. A
simulation is the whole call of `simulate`, a gradient that of `mg.gradient` after it. One function a machine, each with
its figures and its targets. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Report, Times, digits, faster, machine

import mechgrad as mg
from mechgrad.gallery import (
    anchor,
    anchor_start,
    bicycle,
    bicycle_freedoms,
    bicycle_start,
    buggy,
    buggy_freedoms,
    buggy_start,
    lane_change,
)  # fmt: skip
from mechgrad.gallery.buggy import RADIUS

NUMBERS = ["front stiffness", "front damping", "rear stiffness", "rear damping", "chassis.mass"]


class Target(NamedTuple):
    """A figure and what it should be: at least, or at most."""

    key: str
    bound: str
    value: float


def in_turns(calls: dict[str, Callable[[], object]], rounds: int) -> Times:
    """Seconds of this thread per call, one number a round, after one call of each that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(rounds + 1):
        for name, call in calls.items():
            gc.collect()
            begin = time.thread_time()
            call()
            if k:
                times[name].append(time.thread_time() - begin)
    return {name: np.array(values) for name, values in times.items()}


def shake() -> mg.Integral:
    """The integral of the squared vertical acceleration of the nose [m^2/s^3]."""
    return mg.Integral(lambda a: a[:, 2] ** 2, mg.measures.PointAcceleration("point 1"))


def roll() -> mg.Integral:
    """The integral of the squared roll rate of the chassis [rad^2/s]."""
    left, turning = mg.measures.PointPosition("left"), mg.measures.PointVelocity("left")
    return mg.Integral(lambda u, w: w[:, 2] ** 2 / (1.0 - u[:, 2] ** 2), left, turning)


class Manoeuvre(NamedTuple):
    """A model, where it starts, for how long and by which steps, and what is asked of the motion."""

    name: str
    model: mg.Model
    start: Any
    duration: float
    step: float
    goal: mg.Integral

    def motion(self, form: Any = "ali3p") -> mg.Trajectory:
        """All of it."""
        return mg.simulate(self.model, self.start, self.duration, step=self.step, formulation=form)


def buggy_manoeuvres() -> list[Manoeuvre]:
    """A drop of 1 cm at 3 m/s, and the double lane change at 11.9 m/s."""
    step = buggy(ground=mg.surfaces.Step(5.5, -0.01, 0.1))
    change = buggy(lane_change())
    return [
        Manoeuvre("buggy", step, buggy_start(step), 4.5, 1e-3, shake()),
        Manoeuvre("lane_change", change, buggy_start(change, 11.9, 46.0), 12.0, 1e-2, roll()),
    ]


def buggy_figures(report: Report, rounds: int) -> list[Target]:
    """Steps, real time, gradients by five numbers, for both formulations."""
    rows = []
    for case in buggy_manoeuvres():
        forms = {"ALI3-P": mg.formulations.ALI3P(), "Matrix R": mg.formulations.MatrixR(buggy_freedoms())}
        calls: dict[str, Callable[[], object]] = {}
        for name, form in forms.items():
            motion = case.motion(form)
            calls[name] = lambda form=form, case=case: case.motion(form)
            for method in ("direct", "adjoint"):
                calls[f"{name}, {method}"] = lambda motion=motion, method=method, case=case: mg.gradient(
                    motion, case.goal, NUMBERS, method=method, threads=1
                )
        times = in_turns(calls, rounds)
        least = {name: float(x.min()) for name, x in times.items()}
        steps = round(case.duration / case.step)
        report.note(f"{case.name}_realtime_factor", case.duration / least["ALI3-P"])
        report.note(f"{case.name}_us_per_step", 1e6 * least["ALI3-P"] / steps)
        report.note(f"{case.name}_us_per_step_matrix_r", 1e6 * least["Matrix R"] / steps)
        report.note(f"{case.name}_matrix_r_over_ali3p", faster(times, "ALI3-P", "Matrix R"))
        for method in ("direct", "adjoint"):
            report.note(f"{case.name}_{method}_over_simulation", faster(times, "ALI3-P", f"ALI3-P, {method}"))
            report.note(
                f"{case.name}_{method}_over_simulation_matrix_r", faster(times, "Matrix R", f"Matrix R, {method}")
            )
        for name, seconds in least.items():
            rows.append([f"{case.name}: {name}", digits(1e6 * seconds / steps), digits(case.duration / seconds)])
    report.table("the buggy, least of all rounds", ["", "us per step", "x real time"], rows)
    return [
        Target("buggy_us_per_step", "at most", 120.0),
        Target("buggy_realtime_factor", "at least", 8.0),
        Target("lane_change_realtime_factor", "at least", 60.0),
        Target("buggy_adjoint_over_simulation", "at most", 2.0),
        Target("lane_change_adjoint_over_simulation", "at most", 2.0),
        Target("buggy_adjoint_over_simulation_matrix_r", "at most", 2.0),
        Target("lane_change_adjoint_over_simulation_matrix_r", "at most", 2.0),
    ]


def exudyn_figures(report: Report, rounds: int) -> list[Target]:
    """The car comes down on its springs while it rolls on a level road, here and in Exudyn (`support.exudyn_buggy` says
    what differs), by steps of 1 ms; time of the thread in the solvers' calls alone."""
    from support import exudyn_buggy as twin

    model, speed, duration = buggy(), 3.0, 1.0
    start = buggy_start(model, speed, speed / RADIUS)
    ways = {
        f"Exudyn, {scheme}, {linear}{', modified Newton' if modified else ''}": twin.Solver(scheme, modified, linear)
        for scheme in ("trapezoidal", "generalized alpha") for linear in ("sparse", "dense")
        for modified in (True, False)
    }  # fmt: skip
    settled = twin.settle(model, 1e-3, duration, 20, next(iter(ways.values())), speed).position
    ours = mg.simulate(model, start, duration, step=1e-3).markers(["chassis.com"]).position[::50, 0]
    travel = float(np.ptp(ours[:, 2]))
    report.note("buggy_exudyn_off", float(np.abs(settled - ours).max()) / travel)
    times: dict[str, list[float]] = {"mechgrad": [], **{name: [] for name in ways}}
    for _ in range(rounds):
        begin = time.thread_time()
        mg.simulate(model, start, duration, step=1e-3)
        times["mechgrad"].append(time.thread_time() - begin)
        for name, solver in ways.items():
            times[name].append(twin.settle(model, 1e-3, duration, solver=solver, speed=speed).thread_seconds)
    best = min(ways, key=lambda name: min(times[name]))
    seconds = {name: np.array(x) for name, x in times.items()}
    report.note("buggy_level_us_per_step", 1e3 * seconds["mechgrad"].min())
    report.note("buggy_exudyn_us_per_step", 1e3 * seconds[best].min())
    report.note("buggy_exudyn_way", best)
    report.note("buggy_ratio_vs_exudyn", faster(seconds, "mechgrad", best))
    rows = [[name, digits(1e3 * float(x.min()))] for name, x in seconds.items()]
    report.table("the buggy on a level road, least of all rounds", ["", "us per step"], rows)
    return [Target("buggy_ratio_vs_exudyn", "at least", 1.0)]


def upright() -> mg.Integral:
    """The integral of speed and lean off their wishes, squared, of the bicycle."""
    return mg.Integral(
        lambda v, u: ((v * v).sum(-1) - 25.0) ** 2 + u[:, 2] ** 2, mg.measures.PointVelocity("rear hub"),
        mg.measures.PointPosition("side"),
    )  # fmt: skip


def bicycle_case(knots: int, duration: float) -> tuple[Manoeuvre, list[str]]:
    """The bicycle on the tyres of the thesis, torques constant, by steps of 1 ms; and the paths of its knots."""
    model = bicycle("ellipse tyres", knots=knots // 2, duration=duration, drive=-1.0)
    paths = [f"{motor}.torque.values.{k}" for motor in ("drive", "steer") for k in range(knots // 2)]
    return Manoeuvre("bicycle", model, bicycle_start(model), duration, 1e-3, upright()), paths


def bicycle_figures(report: Report, rounds: int) -> list[Target]:
    """Ten seconds by steps of 1 ms, in three formulations; gradients by 32 knots of two torques, and by more."""
    case, paths = bicycle_case(32, 10.0)
    forms: dict[str, dict[str, Any]] = {
        "ALI3-P": {"formulation": mg.formulations.ALI3P(), "scheme": "trapezoidal"},
        "Matrix R": {"formulation": mg.formulations.MatrixR(bicycle_freedoms()), "scheme": "trapezoidal"},
        "recursive, RK4": {},
    }
    calls: dict[str, Callable[[], object]] = {}
    for name, how in forms.items():

        def march(case: Manoeuvre = case, how: dict[str, Any] = how) -> mg.Trajectory:
            return mg.simulate(case.model, case.start, case.duration, step=case.step, **how)

        calls[name], motion = march, march()
        for method in ("direct", "adjoint") if how else ("adjoint",):
            calls[f"{name}, {method}"] = lambda motion=motion, method=method: mg.gradient(
                motion, upright(), paths, method=method, threads=1
            )
    calls |= growing("adjoint", (32, 1000), 10.0)
    calls |= growing("direct", (32, 200), 1.0)
    times = in_turns(calls, rounds)
    least = {name: float(x.min()) for name, x in times.items()}
    report.note("bicycle_realtime_factor", 10.0 / least["ALI3-P"])
    report.note("bicycle_us_per_step", 100.0 * least["ALI3-P"])
    report.note("bicycle_matrix_r_over_ali3p", faster(times, "ALI3-P", "Matrix R"))
    report.note("bicycle_recursive_over_ali3p", faster(times, "ALI3-P", "recursive, RK4"))
    report.note("bicycle_realtime_factor_recursive", 10.0 / least["recursive, RK4"])
    for method in ("direct", "adjoint"):
        for name, key in (("ALI3-P", ""), ("Matrix R", "_matrix_r")):
            report.note(f"bicycle_{method}_over_simulation{key}", faster(times, name, f"{name}, {method}"))
    report.note("bicycle_adjoint_over_simulation_recursive", faster(times, "recursive, RK4", "recursive, RK4, adjoint"))
    report.note("bicycle_adjoint_growth_32_to_1000", faster(times, "adjoint, 32 knots", "adjoint, 1000 knots"))
    report.note("bicycle_direct_growth_32_to_200", faster(times, "direct, 32 knots", "direct, 200 knots"))
    rows = [[name, digits(1e3 * s)] for name, s in least.items()]
    report.table("the bicycle, least of all rounds", ["", "ms"], rows)
    return [
        Target("bicycle_realtime_factor", "at least", 100.0),
        Target("bicycle_adjoint_over_simulation", "at most", 2.0),
        Target("bicycle_adjoint_over_simulation_matrix_r", "at most", 2.0),
        Target("bicycle_adjoint_growth_32_to_1000", "at most", 1.7),
    ]


def growing(method: str, counts: tuple[int, ...], duration: float) -> dict[str, Callable[[], object]]:
    """Gradients of the bicycle by more and more knots."""
    calls: dict[str, Callable[[], object]] = {}
    for count in counts:
        case, paths = bicycle_case(count, duration)
        motion = mg.simulate(
            case.model, case.start, duration, step=case.step, formulation="ali3p", scheme="trapezoidal"
        )
        calls[f"{method}, {count} knots"] = lambda motion=motion, paths=paths: mg.gradient(
            motion, upright(), paths, method=method, threads=1
        )
    return calls


def lowest() -> mg.Integral:
    """How far the crown of the anchor is from the ship, squared, over time [m^2 s]."""
    return mg.Integral(lambda x: x[:, 0] ** 2, mg.measures.PointPosition("crown"))


def anchor_figures(report: Report, rounds: int) -> list[Target]:
    """Half a second of hauling by elimination and RK4, a tenth of it by Newton's iteration; with and without the hull;
    the adjoint gradient by six numbers."""
    step, duration = 2e-4, 0.5
    model, free = anchor(), anchor(hull=False)
    numbers = ["anchor.mass", "link 30.mass", "link 35 side.stiffness", "link 35 side.friction", "slip.viscous",
               "gravity.x"]  # fmt: skip

    def haul(which: mg.Model, form: str, scheme: str, time: float) -> mg.Trajectory:
        return mg.simulate(which, anchor_start(which), time, step=step, formulation=form, scheme=scheme)

    motion = haul(model, "fully-recursive", "rk4", duration)
    times = in_turns(
        {
            "fully": lambda: haul(model, "fully-recursive", "rk4", duration),
            "without hull": lambda: haul(free, "fully-recursive", "rk4", duration),
            "semi": lambda: haul(model, "semi-recursive", "trapezoidal", 0.1 * duration),
            "semi without hull": lambda: haul(free, "semi-recursive", "trapezoidal", 0.1 * duration),
            "adjoint": lambda: mg.gradient(motion, lowest(), numbers, method="adjoint", threads=1),
        },
        rounds,
    )
    steps = round(duration / step)
    report.note("anchor_us_per_step", 1e6 * float(times["fully"].min()) / steps)
    report.note("anchor_contact_share", 1.0 - float(times["without hull"].min() / times["fully"].min()))
    report.note("anchor_semi_us_per_step", 1e7 * float(times["semi"].min()) / steps)
    report.note("anchor_semi_over_fully", 10.0 * faster(times, "fully", "semi"))
    report.note("anchor_semi_over_fully_without_hull", 10.0 * faster(times, "without hull", "semi without hull"))
    report.note("anchor_adjoint_over_simulation", faster(times, "fully", "adjoint"))
    report.note("anchor_realtime_factor", duration / float(times["fully"].min()))
    rows = [[name, digits(1e3 * float(x.min()))] for name, x in times.items()]
    report.table("the anchor, least of all rounds (semi-recursive: a tenth of the motion)", ["", "ms"], rows)
    return [Target("anchor_us_per_step", "at most", 100.0), Target("anchor_adjoint_over_simulation", "at most", 2.0)]


def swinging(pairs: int) -> mg.Model:
    """A chain of eight links, and pairs of a link and a distant post that never touch."""
    names = [f"link {k}" for k in range(8)]
    bodies = [mg.Body(name, 1.0, (0, 0, -0.1), (0.004, 0.004, 0.001)) for name in names]
    joints = [
        mg.Cardan(f"pin {k}", names[k - 1] if k else "ground", name, (0, 0, -0.2 if k else 0))
        for k, name in enumerate(names)
    ]
    posts = [mg.Point(f"post {k}", "ground", (100.0 * np.cos(k), 100.0 * np.sin(k), 0.1 * k)) for k in range(16)]
    forces = [
        mg.forces.BodyContact(f"pair {k}", f"{names[k % 8]}.com", f"post {k // 8 % 16}", 0.1, 0.1, 1e4)
        for k in range(pairs)
    ]
    return mg.Model("swinging", bodies, joints, posts, forces=forces)


def idle_figures(report: Report, rounds: int) -> list[Target]:
    """What a contact costs that never touches, per step of RK4: 4000 steps of 0.01 ms with and without a thousand."""
    calls: dict[str, Callable[[], object]] = {}
    for pairs in (0, 128, 1024):
        model = swinging(pairs)
        start = mg.state(model, np.linspace(0.0, 0.1, 16))
        calls[f"{pairs} pairs"] = lambda model=model, start=start: mg.simulate(
            model, start, 0.04, step=1e-5, formulation="fully-recursive", scheme="rk4"
        )
    times = in_turns(calls, rounds)
    us = {name: 1e6 * float(x.min()) / 4000 for name, x in times.items()}
    report.note("idle_contact_us", (us["1024 pairs"] - us["128 pairs"]) / 896)
    report.table("idle pairs", ["", "us per step"], [[name, digits(x)] for name, x in us.items()])
    return []


MACHINES: tuple[Callable[[Report, int], list[Target]], ...] = (
    buggy_figures, bicycle_figures, anchor_figures, idle_figures, exudyn_figures,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    report, rounds = Report(), 3 if parser.parse_args().quick else 15
    report.figures["machine"] = machine()
    for figures in MACHINES:
        for key, bound, target in figures(report, rounds):
            got = report.figures[key]
            met = got <= target if bound == "at most" else got >= target
            report.say(f"{key}: {got:.3g}, {bound} {target:g}: {'met' if met else 'NOT met'}")
    report.finish()


if __name__ == "__main__":
    main()
