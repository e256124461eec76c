"""A buggy: loads of its corners, comfort over a step of 1 cm, handling in a double lane change.

The studies of A. Lopez Varela's thesis (2022, section 7.3) with a buggy of this project's own measures (docs/buggy.md).
`--starts 17` searches suspensions from that many starts with several solvers, which takes a while.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg
from mechgrad.gallery import buggy, buggy_freedoms, buggy_rest, buggy_start, lane_change

CORNERS = ("front left", "front right", "rear left", "rear right")
SUSPENSION = dict.fromkeys(("front stiffness", "front damping", "rear stiffness", "rear damping"), (10.0, 100000.0))
LEFT, TURNING = mg.measures.PointPosition("left"), mg.measures.PointVelocity("left")
SHAKE = mg.Integral(lambda a: a[:, 2] ** 2, mg.measures.PointAcceleration("point 1"))  # of the nose, up and down
ROLL = mg.Integral(lambda u, w: w[:, 2] ** 2 / (1.0 - u[:, 2] ** 2), LEFT, TURNING)  # squared roll rate
SOLVERS = ("slsqp", "l-bfgs-b", "ipopt", "mma")


def step_descent(step: float = 1e-3, form: str = "ali3p", **numbers: float) -> mg.Trajectory:
    """Down a step of 1 cm at 3 m/s; both formulations: "ali3p", "matrix-r"."""
    model = buggy(ground=mg.surfaces.Step(5.5, -0.01, 0.1)).with_values(numbers)
    return mg.simulate(model, buggy_start(model, 3.0, 11.0), 4.5, step=step, formulation=formulation(form))


def double_lane_change(form: str = "ali3p") -> mg.Trajectory:
    """3.5 m aside and back at 11.9 m/s."""
    model = buggy(lane_change())
    return mg.simulate(model, buggy_start(model, 11.9, 46.0), 12.0, step=0.01, formulation=formulation(form))


def formulation(name: str) -> object:
    """Constraints with multipliers, or fourteen independent coordinates of every kind."""
    return mg.formulations.MatrixR(buggy_freedoms()) if name == "matrix-r" else mg.formulations.ALI3P()


def corner_loads() -> dict[str, float]:
    """What tyres carry at rest [N]."""
    rest = buggy_rest(buggy())
    still = mg.simulate(rest.model, rest, 0.01, step=0.01)
    return {corner: float(still.efforts(f"{corner} tyre").push("position z")[0]) for corner in CORNERS}


def comfort(motion: mg.Trajectory) -> mg.DesignProblem:
    """Springs and dampers that shake least."""
    return mg.DesignProblem(motion, SUSPENSION, SHAKE)


def handling(motion: mg.Trajectory) -> mg.DesignProblem:
    """Springs and dampers that roll least."""
    return mg.DesignProblem(motion, SUSPENSION, ROLL)


def height(motion: mg.Trajectory) -> mg.DesignProblem:
    """A centre of mass that rolls least, wherever it would have to be; z of the chassis points down."""
    return mg.DesignProblem(motion, {"chassis.com.z": (-1.0, 1.0)}, ROLL)


def draw(descent: mg.Trajectory, better: mg.Trajectory, change: mg.Trajectory, path: Path) -> None:
    """What the nose goes through on the step, before and after; the way of the lane change, and its roll."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    shake, way, roll = figure.subplots(1, 3)
    for motion, label in ((descent, "as it is"), (better, "softer dampers")):
        shake.plot(motion.t, motion.markers(["point 1"]).acceleration[:, 0, 2], label=label)
    shake.set(title="nose, up and down [m/s²]", xlabel="time [s]")
    shake.legend(frameon=False)
    nose = change.markers(["point 1", "left"]).position
    way.plot(*nose[:, 0, :2].T)
    way.set(title="double lane change: the nose [m]", xlabel="x [m]")
    roll.plot(change.t, np.degrees(np.arcsin(nose[:, 1, 2])))
    roll.set(title="roll [degrees]", xlabel="time [s]")
    figure.savefig(path, dpi=110)


def studies(starts: int) -> None:
    """The tables of docs/buggy.md."""
    for name, problem, limit in (
        ("step descent", comfort(step_descent()), 40), ("lane change", handling(double_lane_change()), 100)
    ):  # fmt: skip
        for solver in SOLVERS:
            print(name, solver, problem.solve(solver, max_iterations=limit), sep="\n")
        print(problem.multistart(starts, solver="l-bfgs-b", max_iterations=limit))
    for solver in SOLVERS:
        print("centre of mass", solver, height(double_lane_change()).solve(solver, max_iterations=10), sep="\n")


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Loads, gradients of both manoeuvres, the height of the centre of mass; a picture."""
    loads = corner_loads()
    print("loads of the tyres at rest [N]:", {corner: round(load, 1) for corner, load in loads.items()})
    descent, change = step_descent(2e-3), double_lane_change()
    softer = dict(zip(SUSPENSION, (23028.0, 821.6, 13897.0, 561.9), strict=True))  # the optimum of docs/buggy.md
    better = step_descent(2e-3, **softer)
    print(mg.gradient(change, ROLL, [*SUSPENSION, "chassis.com.z", "chassis.mass"]))
    best = height(change).solve("slsqp", max_iterations=10)
    print(best)
    draw(descent, better, change, output / "buggy.png")
    before, after = (mg.gradient(motion, SHAKE, [*SUSPENSION]) for motion in (descent, better))
    return {
        "loads over weight": sum(loads.values()) / (9.81 * 640.0),
        "shake, in parts": float(after.values[0] / before.values[0]),
        "slope left at the optimum": float(np.abs(after.relative()).max()),
        "height of the centre of mass": float(best.x[0]),
        "iterations": float(best.iterations),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--starts", type=int, default=0)
    arguments = parser.parse_args()
    print(main(arguments.output))
    if arguments.starts:
        studies(arguments.starts)
