"""What the verbs cost for a closed mechanism, and what making a model costs.

    python benchmarks/verbs.py [--quick]

The five-bar at 1000 states: torques, their derivatives along the constraints, accelerations; per state, the least of
all rounds, candidates in turn. Then the human with 43 joints: its tree from scratch, and that of a copy with another
number. One thread. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from common import Report, digits, interleave, machine

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start, human
from mechgrad.model.tree import compile_tree

STATES = 1000
DRIVEN = ["A", "1"]
PARAMETERS = ["A1.mass", "1.origin.x", "12.mass", "S1.stiffness"]


def closed_loop(report: Report, rounds: int) -> None:
    """The five-bar, 1000 states of a motion."""
    model = five_bar()
    motion = mg.simulate(model, five_bar_start(), STATES * 1e-3, step=1e-3, formulation="index1", scheme="rk4")
    q, v, a = (x[1:] for x in (motion.q, motion.v, motion.a))

    def derivatives(wrt: list[str]) -> Callable[[], object]:
        return lambda: mg.inverse_dynamics_derivatives(
            model, q, v, a, driven=DRIVEN, independent=DRIVEN, wrt=wrt, threads=1
        )

    calls: dict[str, Callable[[], object]] = {
        "torques": lambda: mg.inverse_dynamics(model, q, v, a, driven=DRIVEN, threads=1),
        "derivatives": derivatives([]),
        "derivatives, 4 parameters": derivatives(PARAMETERS),
        "accelerations": lambda: mg.forward_dynamics(model, q, v),
    }
    times = {name: 1e6 * float(np.min(x)) / STATES for name, x in interleave(calls, rounds).items()}
    rows = [[name, digits(us)] for name, us in times.items()]
    report.note("five_bar_torque_us", times["torques"])
    report.note("five_bar_derivative_us", times["derivatives"])
    extra = (times["derivatives, 4 parameters"] - times["derivatives"]) / len(PARAMETERS)
    report.note("five_bar_us_per_parameter", extra)
    report.note("five_bar_acceleration_us", times["accelerations"])
    report.table(f"five-bar, {STATES} states in one call", ["", "µs per state"], rows)


def models(report: Report, rounds: int) -> None:
    """Trees of the human."""
    model = human()
    compile_tree(model)  # copies share its structure
    masses = iter(np.linspace(1.0, 2.0, 10_000))
    calls: dict[str, Callable[[], object]] = {
        "model and tree": lambda: compile_tree(human()),
        "copy with another mass and its tree": lambda: compile_tree(
            model.with_values({"thigh_right.mass": next(masses)})
        ),
    }
    times = {name: 1e3 * float(np.min(x)) for name, x in interleave(calls, 5 * rounds).items()}
    report.note("model_ms", times["model and tree"])
    report.note("copy_ms", times["copy with another mass and its tree"])
    report.table("human, 43 joints", ["", "ms"], [[name, digits(ms)] for name, ms in times.items()])


def main() -> None:
    """All sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().quick else 15
    report = Report({"machine": machine()})
    closed_loop(report, rounds)
    models(report, rounds)
    report.finish()


if __name__ == "__main__":
    main()
