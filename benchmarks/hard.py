"""Mechanisms that are hard to integrate, by every formulation and scheme: right, ended clearly, or lost.

    python benchmarks/hard.py [--quick]

The family of parallelograms through their change points (N in a row, twenty start speeds each), Bricard's
overconstrained six-bar, the stiff seven-body mechanism of the public test set, the free top near its separatrix. Each
motion is compared with what is known: one pendulum, a tight motion by Index-1 (whose energy and closed relation between
hinges are tested), published numbers, elliptic functions. A motion is *right* if its errors are what order and step, or
the tolerance, allow; *ended* if it stopped with `StepFailed` and was right until then; *lost* otherwise. The last line
is one JSON object.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import Report, digits, machine, powers
from scipy.spatial.transform import Rotation

import mechgrad as mg
from mechgrad.gallery.hard import bricard, four_bars, four_bars_angle, seven_body, seven_body_end, seven_body_start
from mechgrad.gallery.tops import free_top, free_top_motion

STEP, TOLERANCE = 1e-3, 1e-6
SIZES = (1, 2, 3, 5, 10, 20, 40)
SPEEDS = np.linspace(0.5, 6.0, 20)
# Granted errors, of the energy as they are, of positions times how much the motion itself enlarges differences:
GRANTED_FIXED = 10.0  # times (w h)^2 / 12 w T, w the largest angular velocity
GRANTED_IMPLICIT = 30.0  # times the tolerance, which is that of the whole motion
GRANTED_EXPLICIT = 1000.0  # times the tolerance, which is that of each step

LOOPS: dict[str, dict[str, Any]] = {
    "step= alone": {"step": STEP},
    "tolerance alone": {"rtol": TOLERANCE, "atol": TOLERANCE},
    "ali3p trapezoidal": {"formulation": "ali3p", "scheme": "trapezoidal", "step": STEP},
    "ali3p hht": {"formulation": "ali3p", "scheme": "hht", "step": STEP},
    "ali3p generalized-alpha": {"formulation": "ali3p", "scheme": "generalized-alpha", "step": STEP},
    "ali3p adaptive": {"formulation": "ali3p", "scheme": "trapezoidal", "rtol": TOLERANCE, "atol": TOLERANCE},
    "index1 rk4": {"formulation": "index1", "scheme": "rk4", "step": STEP},
    "index1 dop853": {"formulation": "index1", "scheme": "dop853", "rtol": TOLERANCE, "atol": TOLERANCE},
    "index1 trapezoidal": {"formulation": "index1", "scheme": "trapezoidal", "step": STEP},
    "index1 adaptive": {"formulation": "index1", "scheme": "trapezoidal", "rtol": TOLERANCE, "atol": TOLERANCE},
    "penalty rk4": {"formulation": "penalty", "scheme": "rk4", "step": STEP},
    "penalty dop853": {"formulation": "penalty", "scheme": "dop853", "rtol": TOLERANCE, "atol": TOLERANCE},
    "penalty trapezoidal": {"formulation": "penalty", "scheme": "trapezoidal", "step": STEP},
    "penalty adaptive": {"formulation": "penalty", "scheme": "trapezoidal", "rtol": TOLERANCE, "atol": TOLERANCE},
    "matrix-r rk4": {"formulation": "matrix-r", "scheme": "rk4", "step": STEP},
    "matrix-r dop853": {"formulation": "matrix-r", "scheme": "dop853", "rtol": TOLERANCE, "atol": TOLERANCE},
    "matrix-r trapezoidal": {"formulation": "matrix-r", "scheme": "trapezoidal", "step": STEP},
}
TREES: dict[str, dict[str, Any]] = {
    "step= alone": {"step": STEP},
    "tolerance alone": {"rtol": 1e-9, "atol": 1e-9},
    "semi-recursive trapezoidal": {"formulation": "semi-recursive", "scheme": "trapezoidal", "step": STEP},
    "semi-recursive generalized-alpha": {"formulation": "semi-recursive", "scheme": "generalized-alpha", "step": STEP},
    "fully-recursive rk4": {"formulation": "fully-recursive", "scheme": "rk4", "step": STEP},
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a motion: `error` beside what was granted, of position and of energy."""

    error: float
    energy: float
    share: float  # error beside what is granted
    ended: str

    @property
    def verdict(self) -> str:
        """right, ended or LOST"""
        if not self.share <= 1.0:
            return "LOST"
        return "right" if self.ended == "duration" else "ended"


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism, its start, and how far a motion is from the truth: largest errors of position and energy."""

    key: str
    model: Any
    q: np.ndarray
    v: np.ndarray
    duration: float
    judge: Callable[[Any], tuple[float, float]]
    fastest: float
    growth: float  # of differences along the motion

    def run(self, how: dict[str, Any], step: float | None = None) -> Outcome:
        """The motion by one way."""
        how = how | ({"step": step} if step is not None and "step" in how else {})
        try:
            motion = mg.simulate(self.model, mg.state(self.model, self.q, self.v), self.duration, samples=101, **how)
        except mg.StepFailed as failed:
            motion = failed.trajectory
        error, energy = self.judge(motion)
        if "step" in how:
            granted = GRANTED_FIXED * (self.fastest * how["step"]) ** 2 / 12 * self.fastest * self.duration
        else:
            explicit = how.get("scheme", "dop853") == "dop853"
            granted = (GRANTED_EXPLICIT if explicit else GRANTED_IMPLICIT) * how["rtol"]
        return Outcome(error, energy, max(error / self.growth, energy) / granted, motion.ended)


def parallelograms(n: int, speed: float, duration: float = 10.0) -> Case:
    """N parallelograms that turn over from upright."""
    model, start = four_bars(n)
    q, v = start(np.pi / 2, float(speed))

    def judge(motion: Any) -> tuple[float, float]:
        exact = four_bars_angle(n, np.pi / 2, float(speed), np.append(motion.t, motion.t[-1] + 1e-9))[:-1]
        energy = motion.energy()
        most = energy[0] + 9.81 * (2 * n + 1)  # the kinetic energy in the lowest position is less
        return float(np.abs(motion.q[:, 0] - exact).max()), float(np.abs(energy - energy[0]).max() / most)

    fastest = float(np.sqrt(speed**2 + 4 * 9.81))
    # a change of energy by one part changes speed and angle by half a part, and what comes of that
    moved = [four_bars_angle(n, np.pi / 2, speed * x, np.linspace(0, duration, 101)) for x in (1 + 1e-6, 1 - 1e-6)]
    growth = 1.0 + float(np.abs(moved[0] - moved[1]).max()) / 2e-6 * (fastest / speed) ** 2
    return Case(f"four_bars_{n}", model, q, v, duration, judge, fastest, growth)


def six_bar(duration: float = 10.0) -> Case:
    """Bricard's linkage from its cube."""
    model = bricard()
    q, v = model.neutral(), np.zeros(model.n_v)
    exact = mg.simulate(model, mg.state(model, q, v), duration, samples=101, rtol=1e-12, atol=1e-12)

    def judge(motion: Any) -> tuple[float, float]:
        count = len(motion.t)
        places = [x.markers(["P3"]).position[:count, 0] for x in (motion, exact)]
        energy = motion.energy()
        return float(np.abs(places[0] - places[1]).max()), float(np.abs(energy - energy[0]).max() / 25.0)

    return Case("six_bar", model, q, v, duration, judge, float(np.abs(exact.v).max()), 10.0)


def seven_bodies() -> Case:
    """Andrews' squeezing mechanism, whose last state is published."""
    model = seven_body()
    q, v = seven_body_start(model), np.zeros(model.n_v)
    exact, tight = (
        seven_body_end(model),
        mg.simulate(model, mg.state(model, q, v), 0.03, samples=101, rtol=1e-12, atol=1e-12),
    )

    def judge(motion: Any) -> tuple[float, float]:
        count = len(motion.t)
        whole = float(np.abs(motion.q - tight.q[:count]).max())
        return (max(whole, float(np.abs(motion.q[-1] - exact).max())) if count == 101 else whole), 0.0

    # a tenth of a millisecond is 0.1 rad of the crank at its end; steps are a hundredth of those of the others
    return Case("seven_body", model, q, v, 0.03, judge, float(np.abs(tight.v).max()), 10.0)


def top() -> Case:
    """The free top, 10 s: three times over."""
    model, q, v = free_top()

    def judge(motion: Any) -> tuple[float, float]:
        R, _ = free_top_motion(motion.t)
        e = motion.q[:, 3:]
        found = Rotation.from_quat(e[:, [1, 2, 3, 0]]).as_matrix()
        energy = motion.energy()
        return float(np.abs(found - R).max()), float(np.abs(energy - energy[0]).max() / energy[0])

    return Case("top", model, q, v, 10.0, judge, 10.0, 1e3)


def key_of(name: str) -> str:
    """A way as part of a key."""
    return name.replace("=", "").replace(" ", "_").replace("-", "_")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--quick", action="store_true", help="fewer sizes and speeds")
    quick = arguments.parse_args().quick
    report, lost = Report({"machine": machine()}), 0
    sizes, speeds = ((1, 2, 5), SPEEDS[::7]) if quick else (SIZES, SPEEDS)
    rows, worst_energy = [], 0.0
    for name, how in LOOPS.items():
        row = [name]
        for n in sizes:
            found = [parallelograms(n, speed).run(how) for speed in (speeds if n <= 10 else speeds[::5])]
            verdicts = [x.verdict for x in found]
            lost += verdicts.count("LOST")
            right = [x for x in found if x.verdict == "right"]
            if name == "step= alone":
                worst_energy = max(worst_energy, *(x.energy for x in found))
            told = powers(max(x.error for x in right)) if right else "ends"
            if right and len(right) < len(found):
                told = f"{told}, or ends"
            report.note(f"{key_of(name)}_four_bars_{n}", "LOST" if "LOST" in verdicts else told)
            worst = f" {digits(max(x.error for x in right))}" if right else ""
            row.append(f"{verdicts.count('right')} / {verdicts.count('ended')} / {verdicts.count('LOST')}{worst}")
        rows.append(row)
    title = "parallelograms: right / ended / lost, largest error of those that are right [rad]"
    report.table(title, ["", *map(str, sizes)], rows)
    rows = []
    others = [six_bar(), seven_bodies()]
    for name, how in LOOPS.items():
        row = [name]
        for case in others:
            found = case.run(how, step=1e-5 if case.key == "seven_body" else None)
            lost += found.verdict == "LOST"
            row.append(f"{found.verdict} {digits(found.error)}")
            told = {"right": powers(found.error), "ended": "ends", "LOST": "LOST"}[found.verdict]
            report.note(f"{key_of(name)}_{case.key}", told)
            if name in ("step= alone", "tolerance alone"):
                report.note(f"{case.key}_{'default' if name == 'step= alone' else 'adaptive'}_error", found.error)
        rows.append(row)
    report.table("others: verdict and error", ["", *(x.key for x in others)], rows)
    rows = []
    for name, how in TREES.items():
        found = top().run(how)
        lost += found.verdict == "LOST"
        rows.append([name, f"{found.verdict} {digits(found.error)}"])
        if name == "tolerance alone":
            report.note("top_error", found.error)
    report.table("free top: verdict and error of the rotation", ["", "10 s"], rows)
    report.note("six_bar_error", report.figures["six_bar_adaptive_error"])
    report.note("seven_body_error", report.figures["seven_body_adaptive_error"])
    forty = parallelograms(40, 1.0).run(LOOPS["step= alone"])
    report.note("four_bars_40_default_error", forty.error)
    lost += forty.verdict != "right"
    report.note("four_bars_worst_energy_error", worst_energy)
    report.note("silent_losses", lost)
    report.finish()


if __name__ == "__main__":
    main()
