"""An arm of three links reaches around an obstacle, quickly and with little effort, within its torques."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Duration,
    Free,
    KeepOut,
    MotionProblem,
    MotionSolution,
    Splines,
    TorqueLimits,
    TorqueSquares,
)

LENGTH, TORQUES = 0.4, (40.0, 25.0, 10.0)
START, END = (-0.6, 0.3, 0.3), (0.9, 0.3, 0.3)
CENTRE, RADIUS = (0.55, 0.1, 0.0), 0.12


def reach(obstacle: bool = True) -> MotionSolution:
    """A quick way that does not waste torque."""
    row = mg.drawing.DHRow("revolute", a=LENGTH)
    links = [mg.Body(f"link{i}", 1.5, (-LENGTH / 2, 0, 0), (0.02, 0.02, 0.02)) for i in (1, 2, 3)]
    chain = mg.dh_model("arm", [row] * 3, bodies=links, gravity=(0, -9.81, 0))
    arm = mg.Model("arm", chain.bodies, chain.joints, [mg.Point("tip", "link3")], gravity=chain.gravity)
    problem = MotionProblem(arm, Splines(24), Free(0.2, 3.0))
    problem.minimize(Duration(), TorqueSquares(0.5, scale=TORQUES, per_segment=2))
    problem.subject_to(At(0, START), At(1, END), At(0, 0.0, "v"), At(1, 0.0, "v"))
    problem.subject_to(TorqueLimits(-np.array(TORQUES), TORQUES, per_segment=4))
    if obstacle:
        problem.subject_to(KeepOut("tip", CENTRE, RADIUS, per_segment=4))
    return problem.solve()


def main(output: Path, samples: int = 201) -> dict[str, float]:
    """Reach, report, draw."""
    solution = reach()
    t, q, _, _ = solution.motion(401)
    tip = mg.kinematics.marker_motion(solution.model, ["tip"], q).position[:, 0]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    path, torque = figure.subplots(1, 2)
    path.plot(tip[:, 0], tip[:, 1])
    path.add_patch(Circle(CENTRE[:2], RADIUS, color="0.8"))
    path.set(title="path of the tip [m]", aspect="equal")
    torque.plot(t, solution.torques(401) / TORQUES, label=["shoulder", "elbow", "wrist"])
    torque.set(title="torques over their limits", xlabel="time [s]")
    torque.legend(frameon=False)
    figure.savefig(output / "arm_and_obstacle.png", dpi=110)
    print(f"{solution.duration:.4f} s; {solution.result.reason}")
    clearance = np.linalg.norm(tip - CENTRE, axis=1).min() - RADIUS
    return {
        "duration": solution.duration,
        "into the obstacle": float(max(0.0, -clearance)),
        "beyond the torques": float((solution.overshoot(np.array(TORQUES)) / TORQUES).max()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
