"""Gradients of a motion beside the simulation itself, and beside Exudyn's sensitivities by differences.

    python benchmarks/gradients.py [--quick]

The five-bar, 5 s in steps of 1 ms, ALI3-P with the trapezoidal rule. Candidates take turns inside one run; ratios are
ratios of the least times of all rounds. "over simulation" is the time of `mg.gradient` beside that of `mg.simulate`,
which comes before it: 1 means that simulation and gradient together take twice as long as the simulation. A simulation
is a thread by nature; gradients use all cores unless told otherwise, and are measured with one thread as well.
Manoeuvres: the gradients of sixteen motions in one call on two threads, beside one call after the other with
threads=1; bit by bit the same, which is checked first.
Growth: the adjoint gradient by the knots of two splines that drive both degrees of freedom, 32 and 1000 of them.
Exudyn computes the same sensitivities by central differences (`exudyn.processing.ComputeSensitivities`), 33
simulations for 16 parameters; ours is simulation and gradient together. Before any clock starts, gradients are
compared: with the converged values, and with Exudyn's. Chains: exponents are fitted from 16 links on; "public" is the
worst of several objectives through `mg.gradient`. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Report, digits, exponent, interleave, machine
from support import exudyn_twins
from support.five_bar_reference import DATA, FiveBar

import mechgrad as mg
from mechgrad.gallery import chain, five_bar, five_bar_start
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.steps.base import StepMethod
from mechgrad.steps.recursive import methods as of_trees
from mechgrad.steps.runge_kutta import methods as explicit

exudyn_twins.exu.config.suppressWarnings = True
from exudyn.processing import ComputeSensitivities  # noqa: E402

Maker = Callable[[int], mg.Model]
RECURSIVE, DENSE = of_trees.METHODS[0], explicit.METHODS[0]

STEP, DURATION = 1e-3, 5.0
MANOEUVRES = 16
LARGEST_DENSE = 128  # links: beyond, dense matrices take minutes
R20 = np.array([0.5, -2.0, 0.0])
FIVE = ["S1.free_length", "S2.free_length", "A1.mass", "A1.com.x", "L_A1"]
CONVERGED = np.array([-4.2288108552, 3.2116041030, 0.3186566756, 0.4423506782, 3.3598099204])
BARS = {"a1": "A1", "b12": "12", "b23": "23", "b3": "3B"}
TARGETS = {
    "direct5_over_simulation": ("at most", 2.0),
    "adjoint_over_simulation": ("at most", 2.0),
    "direct5_one_thread_over_simulation": ("at most", 2.0),
    "adjoint_one_thread_over_simulation": ("at most", 2.0),
    "adjoint_growth_32_to_1000": ("at most", 1.2),
    "ratio_vs_exudyn_fd_16": ("at least", 10.0),
    "manoeuvres16_threads_speedup_2": ("at least", 1.7),
    "recursive_exponent_public": ("at most", 1.1),
    "recursive_adjoint_exponent_in_parameters": ("at most", 0.1),
}


def squares(x: np.ndarray) -> np.ndarray:
    """Of a vector over time."""
    return (x * x).sum(-1)


def goals() -> list[mg.objectives.Objective]:
    """The three objectives of the published example."""
    return [
        mg.Integral(lambda x: squares(x - R20), mg.measures.PointPosition("P2")),
        mg.Integral(squares, mg.measures.PointVelocity("P2")),
        mg.Integral(squares, mg.measures.PointAcceleration("P2")),
    ]


def rebuilt(forces: list[mg.forces.Force] | None = None) -> mg.Model:
    """The five-bar with the length of its first bar as one number, and more forces."""
    m = five_bar()
    length = mg.DesignVariable("L_A1", ["1.origin.x", "P1.position.x"], np.sqrt(2.0))
    return mg.Model(
        m.name, m.bodies, m.joints, m.points, gravity=m.gravity, forces=[*m.forces, *(forces or [])], variables=[length]
    )


def start_of(model: mg.Model) -> mg.State:
    """At rest, both free angles held."""
    q = five_bar_start()
    return mg.assemble(model, {"A": q[0], "1": q[1]}, guess=q)


def over_simulation(report: Report, rounds: int) -> None:
    """What a gradient adds to the simulation."""
    model = rebuilt()
    start = start_of(model)

    def simulated() -> mg.Trajectory:
        return mg.simulate(model, start, duration=DURATION, step=STEP)

    motion = simulated()
    miss = np.abs(mg.gradient(motion, goals()[:1], FIVE).array[0] / CONVERGED - 1).max()
    if not miss < 1e-3:
        raise SystemExit(f"the gradient is off by {miss:.1e}")
    calls = {"simulation": simulated}
    for method in ("direct", "adjoint"):
        for count in (1, 3):
            for threads, suffix in ((0, ""), (1, ", one thread")):
                calls[f"{method}, {count}{suffix}"] = lambda m=method, c=count, k=threads: mg.gradient(
                    motion, goals()[:c], FIVE, method=m, threads=k
                )
    effort = mg.Integral(squares, mg.measures.JointReaction("B"))
    calls["reactions, values"] = motion.reactions
    calls["reaction, adjoint"] = lambda: mg.gradient(motion, effort, FIVE, method="adjoint")
    times = interleave(calls, rounds)
    ratio = {name: float(np.min(times[name]) / np.min(times["simulation"])) for name in times}
    report.note("simulation_ms", 1e3 * float(np.min(times["simulation"])))
    for method, key in (("direct", "direct5"), ("adjoint", "adjoint")):
        for count, objectives in ((1, ""), (3, "_three_objectives")):
            for suffix, threads in (("", ""), (", one thread", "_one_thread")):
                name, whole = f"{method}, {count}{suffix}", f"{key}{objectives}{threads}"
                report.note(f"{whole}_over_simulation", ratio[name])
                report.note(f"{whole}_ms", 1e3 * float(np.min(times[name])))
    report.note("reactions_over_simulation", ratio["reactions, values"])
    report.note("reaction_adjoint_over_simulation", ratio["reaction, adjoint"])
    rows = [[name, digits(1e3 * float(np.min(t))), digits(ratio[name])] for name, t in times.items()]
    report.table("five-bar, 5000 steps, 5 parameters", ["", "ms", "x simulation"], rows)


def growth(report: Report, rounds: int) -> None:
    """The adjoint gradient by ever more knots."""
    calls, counts = {}, (32, 1000)
    for count in counts:
        knots = np.linspace(0.0, DURATION, count // 2)
        wave = mg.functions.Spline(tuple(knots), tuple(0.5 * np.sin(3.0 * knots)))
        model = rebuilt(
            [
                mg.forces.Motor("m1", "A", wave),
                mg.forces.Motor("m2", "1", mg.functions.Spline(tuple(knots), tuple(0.3 * knots))),
            ]
        )
        motion = mg.simulate(model, start_of(model), duration=DURATION, step=STEP)
        wrt = ["m1.torque.values.*", "m2.torque.values.*"]
        calls[str(count)] = lambda motion=motion, wrt=wrt: mg.gradient(motion, goals()[:1], wrt, method="adjoint")
        assert calls[str(count)]().shape == (1, count)
    times = interleave(calls, rounds)
    ratio = float(np.min(times["1000"]) / np.min(times["32"]))
    report.note("adjoint_growth_32_to_1000", ratio)
    rows = [[name, digits(1e3 * float(np.min(t)))] for name, t in times.items()]
    report.table("adjoint gradient by knots of splines", ["parameters", "ms"], rows)


def manoeuvre_motions(duration: float) -> list[mg.Trajectory]:
    """Sixteen motions of the five-bar: other starts, and motors that follow other splines."""
    knots, rng = np.linspace(0.0, duration, 9), np.random.default_rng(16)
    wave = mg.functions.Spline(tuple(knots), tuple(0.0 * knots))
    motors = [mg.forces.Motor(f"m{k}", hinge, wave) for k, hinge in ((1, "A"), (2, "1"))]
    model, recipes = rebuilt(motors), []
    for _ in range(MANOEUVRES):
        torques = {f"m{k}.torque.values.{i}": x for k in (1, 2) for i, x in enumerate(rng.normal(size=len(knots)))}
        own, q = model.with_values(torques), five_bar_start()
        at = {"A": q[0] + 0.1 * rng.normal(), "1": q[1] + 0.1 * rng.normal()}
        start = mg.assemble(own, at, dict(zip(at, 0.3 * rng.normal(size=2), strict=True)), guess=q)
        recipes.append(mg.simulate(own, start, duration=duration, step=STEP).recipe)
    return mg.recipes.simulate_all(recipes)


def manoeuvres(report: Report, rounds: int) -> None:
    """Gradients of many motions in one call, in two threads, beside one after the other: motions of 5 s, as elsewhere
    in this file, and of 1 s, where what is Python, and cannot run twice at a time, is a larger share."""
    for duration, suffix in ((DURATION, ""), (1.0, "_of_1_s")):
        motions = manoeuvre_motions(duration)
        calls = {}
        for method in ("adjoint", "direct"):

            def together(threads: int, method: str = method, motions: list = motions) -> mg.results.BatchGradient:
                return mg.gradient(motions, goals(), FIVE, method=method, threads=threads)

            def one_by_one(method: str = method, motions: list = motions) -> list[mg.Gradient]:
                return [mg.gradient(motion, goals(), FIVE, method=method, threads=1) for motion in motions]

            for both, alone in zip(together(2), one_by_one(), strict=True):
                if not (np.array_equal(both.array, alone.array) and np.array_equal(both.values, alone.values)):
                    raise SystemExit(f"{method}: gradients in threads differ from those one by one")
            calls |= {f"{method}, one by one": one_by_one, f"{method}, two threads": lambda f=together: f(2)}
        times = interleave(calls, rounds)
        best = {name: float(np.min(t)) for name, t in times.items()}
        for method, key in (("adjoint", "manoeuvres16"), ("direct", "manoeuvres16_direct")):
            speedup = best[f"{method}, one by one"] / best[f"{method}, two threads"]
            report.note(f"{key}_threads_speedup_2{suffix}", speedup)
            report.note(f"{key}_one_by_one_ms{suffix}", 1e3 * best[f"{method}, one by one"])
        rows = [[name, digits(1e3 * t)] for name, t in best.items()]
        steps = round(duration / STEP)
        report.table(f"gradients of 16 manoeuvres of {steps} steps, 3 objectives, 5 parameters", ["", "ms"], rows)


def sixteen() -> dict[str, tuple[str, float]]:
    """Parameters of Exudyn's twin, ours, and the present values."""
    found = {}
    for field, body in BARS.items():
        bar = getattr(DATA, field)
        for name, path in (("mass", "mass"), ("com", "com.x"), ("inertia", "inertia.zz")):
            found[f"{field}.{name}"] = (f"{body}.{path}", getattr(bar, name))
    for k in range(2):
        found[f"stiffness.{k}"] = (f"S{k + 1}.stiffness", DATA.stiffness[k])
        found[f"natural_length.{k}"] = (f"S{k + 1}.free_length", DATA.natural_length[k])
    return found


def changed(values: dict[str, float]) -> FiveBar:
    """The data of the twin with some numbers changed."""
    data = DATA
    for name, value in values.items():
        field, _, part = name.partition(".")
        if field in BARS:
            bar = dataclasses.replace(getattr(data, field), **{part: value})
            data = dataclasses.replace(data, **{field: bar})
        else:
            numbers = list(getattr(data, field))
            numbers[int(part)] = value
            data = dataclasses.replace(data, **{field: tuple(numbers)})
    return data


def beside_exudyn(report: Report, rounds: int) -> None:
    """Sixteen parameters, one objective."""
    parameters = sixteen()
    steps = round(DURATION / STEP)
    solver = exudyn_twins.Solver(modified_newton=False)

    def objective(values: dict[str, float]) -> float:
        known = {name: x for name, x in values.items() if name in parameters}
        run = exudyn_twins.five_bar(STEP, DURATION, records=steps, solver=solver, data=changed(known))
        return float(np.trapezoid(squares(run.position - R20[: run.position.shape[1]]), run.t))

    def theirs() -> np.ndarray:
        spans = {name: (value, 1e-4, 1) for name, (_, value) in parameters.items()}
        with contextlib.redirect_stdout(io.StringIO()):
            return np.ravel(ComputeSensitivities(objective, spans, showProgress=False)[3])

    model = five_bar()
    start, wrt = start_of(model), [path for path, _ in parameters.values()]

    def ours() -> np.ndarray:
        motion = mg.simulate(model, start, duration=DURATION, step=STEP)
        return mg.gradient(motion, goals()[:1], wrt, method="adjoint").array[0]

    exact, by_steps = ours(), theirs()
    alike = [k for k, path in enumerate(wrt) if path != "3B.com.x"]  # measured from the other end there
    miss = np.abs(exact - by_steps)[alike].max() / np.abs(exact).max()
    if not miss < 1e-2:
        raise SystemExit(f"Exudyn's sensitivities differ by {miss:.1e}")
    times = interleave({"mechgrad": ours, "Exudyn": theirs}, max(2, rounds // 4))
    report.note("ratio_vs_exudyn_fd_16", float(np.min(times["Exudyn"]) / np.min(times["mechgrad"])))
    report.note("difference_from_exudyn_fd", float(miss))
    rows = [[name, digits(1e3 * float(np.min(t)))] for name, t in times.items()]
    report.table("simulation and gradient by 16 parameters", ["", "ms"], rows)


def recursive_growth(report: Report, quick: bool) -> None:
    """Sensitivities of chains: cost by links and by parameters, recursive and by dense matrices."""
    steps, step = 32, 1e-3
    sizes = (2, 8, 32, 128) if quick else (2, 4, 8, 16, 32, 64, 128, 256)

    def prepared(n: int, p: int) -> tuple[mg.Trajectory, Parameters]:
        model = chain(n)
        motion = mg.simulate(model, np.full(n, 0.1), duration=steps * step, step=step, scheme="rk4")
        bodies = [f"link{k}.mass" for k in range(1, n + 1)] + [f"link{k}.com.x" for k in range(1, n + 1)]
        bodies += [f"start.position.joint{k}" for k in range(1, n + 1)]
        return motion, Parameters(motion, (bodies * p)[:p] if p > len(bodies) else bodies[:p])

    def clock(kind: StepMethod, n: int, p: int) -> float:
        motion, parameters = prepared(n, p)
        slopes = parameters.start.slopes(parameters)
        run = kind.sweeps(motion.record)
        run.direct(parameters, *slopes)
        best = np.inf
        for _ in range(2 if quick else 5):
            begin = time.perf_counter()
            run.direct(parameters, *slopes)
            best = min(best, time.perf_counter() - begin)
        return best / steps

    rows, times = [], {"recursive": [], "dense": []}
    for n in sizes:
        for name, kind in (("recursive", RECURSIVE), ("dense", DENSE)):
            if name == "recursive" or n <= LARGEST_DENSE:
                times[name].append(clock(kind, n, 4))
        rows.append([str(n), *(digits(1e6 * t[len(rows)]) if len(rows) < len(t) else "-" for t in times.values())])
    report.table("sensitivities of a chain by 4 parameters, us per RK4 step", ["links", *times], rows)
    for name, t in times.items():
        key = f"{name}_exponent_in_links"
        large = [k for k, n in enumerate(sizes[: len(t)]) if n >= 16]
        report.note(key, exponent([sizes[k] for k in large], [t[k] for k in large]))
        report.say(f"{key}: {report.figures[key]:.2f} (from 16 links on)")
    counts = (1, 2, 4, 8, 16, 32, 64)
    by_count = [clock(RECURSIVE, 32, p) for p in counts]
    rows = [[str(p), digits(1e6 * t)] for p, t in zip(counts, by_count, strict=True)]
    report.table("sensitivities of a chain of 32 links, recursive, us per RK4 step", ["parameters", "us"], rows)
    report.note("recursive_exponent_in_parameters", exponent(counts[3:], by_count[3:]))
    report.say(
        "exponent in parameters, from a full block of lanes (8) to 64: "
        f"{report.figures['recursive_exponent_in_parameters']:.2f}"
    )


ENERGY = mg.AtEnd(mg.measures.KineticEnergy())
OF_TREES = {
    "kinetic energy": ENERGY,
    "potential energy": mg.AtEnd(mg.measures.PotentialEnergy()),
    "their sum": ENERGY + mg.AtEnd(mg.measures.PotentialEnergy()),
    "kinetic energy over time": mg.Integral(mg.measures.KineticEnergy()),
    "centre of mass": mg.AtEnd(mg.measures.CentreOfMass()),
    "momentum": mg.AtEnd(mg.measures.Momentum()),
    "acceleration of a joint": mg.AtEnd(mg.measures.JointAcceleration("joint1")),
    "reaction": mg.AtEnd(mg.measures.JointReaction("joint1")),
    "reaction over time": mg.Integral(squares, mg.measures.JointReaction("joint1")),
}
OF_SPRUNG_TREES = {
    "potential energy, springs": mg.AtEnd(mg.measures.PotentialEnergy()),
    "that over time": mg.Integral(mg.measures.PotentialEnergy()),
}


def sprung(n: int) -> mg.Model:
    """A chain whose every fourth link hangs from the ground by a spring."""
    plain, hook = chain(n), mg.Point("hook", "ground", (0.5, 0.3, 1.0))
    ends = [mg.Point(f"end{k}", f"link{k}", (0.01, 0.0, 0.02)) for k in range(1, n + 1, 4)]
    springs = [mg.forces.SpringDamper(f"spring {end.name}", "hook", end.name, 5.0, free_length=0.2) for end in ends]
    return mg.Model(
        f"sprung chain of {n}", plain.bodies, plain.joints, [hook, *ends], gravity=plain.gravity, forces=springs
    )


def public_growth(report: Report, quick: bool) -> None:
    """Adjoint gradients of chains through `mg.gradient`: cost by links, for every objective, and by parameters."""
    step, rounds = 1e-3, 2 if quick else 5
    sizes = (16, 64, 256) if quick else (4, 8, 16, 32, 64, 128, 256, 512)

    def clock(n: int, p: int, goal: mg.objectives.Objective, steps: int = 32, made: Maker = chain) -> float:
        motion = mg.simulate(made(n), np.full(n, 0.1), duration=steps * step, step=step, scheme="rk4")
        of_bodies = [f"link{k}.{number}" for number in ("mass", "com.x") for k in range(1, n + 1)]
        calls = {"": lambda: mg.gradient(motion, goal, of_bodies[:p], method="adjoint")}
        assert calls[""]().array.any()
        return float(np.min(interleave(calls, rounds)[""])) / steps

    times = {name: [clock(n, 4, goal) for n in sizes] for name, goal in OF_TREES.items()}
    times |= {name: [clock(n, 4, goal, made=sprung) for n in sizes] for name, goal in OF_SPRUNG_TREES.items()}
    rows = [[str(n), *(digits(1e6 * t[k]) for t in times.values())] for k, n in enumerate(sizes)]
    report.table("adjoint gradient of a chain by 4 parameters, us per RK4 step", ["links", *times], rows)
    large = [k for k, n in enumerate(sizes) if n >= 16]
    found = {name: exponent([sizes[k] for k in large], [t[k] for k in large]) for name, t in times.items()}
    worst = max(found, key=lambda name: found[name])
    report.note("recursive_exponent_public", found[worst])
    report.note("recursive_exponent_public_kinetic", found["kinetic energy"])
    report.say(f"exponents from 16 links on: {', '.join(f'{name} {e:.2f}' for name, e in found.items())}")
    counts = (1, 4, 16, 64, 256)
    by_count = [clock(128, p, ENERGY, 128) for p in counts]
    rows = [[str(p), digits(1e6 * t)] for p, t in zip(counts, by_count, strict=True)]
    report.table("adjoint gradient of a chain of 128 links, us per RK4 step", ["parameters", "us"], rows)
    report.note("recursive_adjoint_exponent_in_parameters", exponent(counts, by_count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    quick = parser.parse_args().quick
    report, rounds = Report(), 5 if quick else 25
    report.figures["machine"] = machine()
    over_simulation(report, rounds)
    growth(report, rounds)
    manoeuvres(report, rounds)
    beside_exudyn(report, rounds)
    recursive_growth(report, quick)
    public_growth(report, quick)
    for key, (bound, target) in TARGETS.items():
        got = report.figures[key]
        met = got <= target if bound == "at most" else got >= target
        report.say(f"{key}: {got:.3g}, {bound} {target:g}: {'met' if met else 'NOT met'}")
    report.finish()


if __name__ == "__main__":
    main()
