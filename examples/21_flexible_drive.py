"""Optimal control: a load on a spring is moved by a metre, from rest to rest, with the least effort of the drive."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import expm

import mechgrad as mg

DRIVE, LOAD, STIFFNESS, TIME = 2.0, 1.0, 40.0, 1.0  # kg, kg, N/m, s


def moved(knots: int = 11) -> mg.Trajectory:
    """A drive and its load, pushed by some motor force of so many knots."""
    t = np.linspace(0.0, TIME, knots)
    model = mg.Model(
        "flexible drive", [mg.Body("drive", mass=DRIVE), mg.Body("load", mass=LOAD)],
        [mg.Prismatic("x", "ground", "drive", axis=(1, 0, 0)), mg.Prismatic("u", "drive", "load", axis=(1, 0, 0))],
        gravity=(0, 0, 0),
        forces=[
            mg.forces.JointSpring("shaft", "u", stiffness=STIFFNESS),
            mg.forces.Motor("motor", "x", mg.functions.Spline(tuple(t), tuple(1.0 - t), ends="not-a-knot")),
        ],
    )  # fmt: skip
    return mg.simulate(model, {"x": 0.0, "u": 0.0}, TIME, step=0.01)


def least_effort(stiffness: float, distance: float = 1.0) -> float:
    """Of all forces whatever: d . W^-1 d, W the controllability Gramian of the linear system, by one exponential."""
    A = np.zeros((4, 4))  # x, load, and their rates
    A[0, 2] = A[1, 3] = 1.0
    A[2, :2], A[3, :2] = [-stiffness / DRIVE, stiffness / DRIVE], [stiffness / LOAD, -stiffness / LOAD]
    B = np.array([[0.0], [0.0], [1.0 / DRIVE], [0.0]])
    whole = expm(TIME * np.block([[-A, B @ B.T], [np.zeros((4, 4)), A.T]]))
    gramian = whole[4:, 4:].T @ whole[:4, 4:]
    goal = np.array([distance, distance, 0.0, 0.0])
    return float(goal @ np.linalg.solve(gramian, goal))


def problem(motion: mg.Trajectory) -> mg.DesignProblem:
    """Knots of the force that carry the load from rest to rest."""
    effort = mg.Integral(lambda f: f**2, mg.measures.Effort("motor"), rule="gregory")
    ends = {"x": (mg.measures.JointCoordinate("x"), 1.0), "u": (mg.measures.JointCoordinate("u"), 0.0)}
    ends |= {f"rate of {name}": (mg.measures.JointVelocity(name), 0.0) for name in ("x", "u")}
    limits = [mg.design.Limit(mg.AtEnd(measure), goal, goal, name) for name, (measure, goal) in ends.items()]
    return mg.DesignProblem(motion, {"motor.torque.values.*": (-200.0, 200.0)}, effort, limits)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Move, compare, draw."""
    best = problem(moved()).solve(tolerance=1e-10)
    print(best)
    floor = least_effort(STIFFNESS)
    worth = next(side.multiplier for side in best.constraints if side.name == "x")
    print(
        f"effort {best.value:.4f} N^2 s, of any force at least {floor:.4f}; a shorter way is worth {-worth:.2f} per m"
    )
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    motion = best.motion
    left.plot(motion.t, motion.q[:, 0], label="drive")
    left.plot(motion.t, motion.q.sum(axis=1), label="load")
    left.set(title="position [m]", xlabel="time [s]")
    left.legend(frameon=False)
    right.plot(motion.t, motion.measured(mg.measures.Effort("motor")))
    right.set(title="force of the motor [N]", xlabel="time [s]")
    figure.savefig(output / "flexible_drive.png", dpi=110)
    return {
        "above the least": best.value / floor - 1.0,
        "off at the end": float(np.abs([*(motion.q[-1] - [1.0, 0.0]), *motion.v[-1]]).max()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
