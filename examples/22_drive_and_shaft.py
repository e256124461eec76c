"""Co-design: which shaft, together with which force over time, moves a load with the least effort?"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

import mechgrad as mg

DRIVE, LOAD, TIME = 2.0, 1.0, 1.0  # kg, kg, s
SOFTEST, STIFFEST = 20.0, 75.0  # N/m, between which the shaft may be made


def moved(knots: int = 13) -> mg.Trajectory:
    """A drive and its load behind a soft shaft, pushed by some motor force."""
    t = np.linspace(0.0, TIME, knots)
    model = mg.Model(
        "drive and shaft", [mg.Body("drive", mass=DRIVE), mg.Body("load", mass=LOAD)],
        [mg.Prismatic("x", "ground", "drive", axis=(1, 0, 0)), mg.Prismatic("u", "drive", "load", axis=(1, 0, 0))],
        gravity=(0, 0, 0),
        forces=[
            mg.forces.JointSpring("shaft", "u", stiffness=30.0),
            mg.forces.Motor("motor", "x", mg.functions.Spline(tuple(t), tuple(1.0 - t), ends="not-a-knot")),
        ],
    )  # fmt: skip
    return mg.simulate(model, {"x": 0.0, "u": 0.0}, TIME, step=0.01)


def least_effort(stiffness: float) -> float:
    """Of all forces whatever, for one shaft: d . W^-1 d with the controllability Gramian W of the linear system."""
    A = np.zeros((4, 4))  # drive, load, and their rates
    A[0, 2] = A[1, 3] = 1.0
    A[2, :2], A[3, :2] = [-stiffness / DRIVE, stiffness / DRIVE], [stiffness / LOAD, -stiffness / LOAD]
    B = np.array([[0.0], [0.0], [1.0 / DRIVE], [0.0]])
    whole = expm(TIME * np.block([[-A, B @ B.T], [np.zeros((4, 4)), A.T]]))
    goal = np.array([1.0, 1.0, 0.0, 0.0])
    return float(goal @ np.linalg.solve(whole[4:, 4:].T @ whole[:4, 4:], goal))


def problem(motion: mg.Trajectory) -> mg.DesignProblem:
    """One number of the mechanism and all knots of its drive, at once."""
    ends = {"x": (mg.measures.JointCoordinate("x"), 1.0), "u": (mg.measures.JointCoordinate("u"), 0.0)}
    ends |= {f"rate of {name}": (mg.measures.JointVelocity(name), 0.0) for name in ("x", "u")}
    return mg.DesignProblem(
        motion,
        {"shaft.stiffness": (SOFTEST, STIFFEST), "motor.torque.values.*": (-200.0, 200.0)},
        mg.Integral(lambda f: f**2, mg.measures.Effort("motor"), rule="gregory"),
        [mg.design.Limit(mg.AtEnd(measure), goal, goal, name) for name, (measure, goal) in ends.items()],
    )


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Design, compare with every other shaft, draw."""
    best = problem(moved()).solve(tolerance=1e-10)
    print(best)
    floor = minimize_scalar(least_effort, bounds=(SOFTEST, STIFFEST), method="bounded", options={"xatol": 1e-8})
    stiffness = best.values["shaft.stiffness"]
    print(
        f"stiffness {stiffness:.4f} N/m, in closed form {floor.x:.4f}; effort {best.value:.5f}, {floor.fun:.5f} N^2 s"
    )
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    shafts = np.linspace(30.0, STIFFEST, 100)
    left.plot(shafts, [least_effort(k) for k in shafts])
    left.plot(stiffness, best.value, "o")
    left.set(title="least effort [N^2 s]", xlabel="stiffness of the shaft [N/m]")
    right.plot(best.motion.t, best.motion.measured(mg.measures.Effort("motor")))
    right.set(title="force of the motor [N]", xlabel="time [s]")
    figure.savefig(output / "drive_and_shaft.png", dpi=110)
    return {"above the least": best.value / floor.fun - 1.0, "shaft": abs(stiffness / floor.x - 1.0)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
