"""Arm and movement together: which link lengths lift a payload best?

A two-link arm carries 2 kg from one point to another, rest to rest, in 0.8 s. Each link is a rod whose mass and
inertia follow its length. Cost: the integral of the squared torques. Once with links of 0.4 m, once with both
lengths free: one nonlinear program, in which derivatives by the design variables flow through torques and positions.

    python examples/04_codesign.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    FreeNumber,
    MotionProblem,
    MotionSolution,
    PointLimits,
    Splines,
    TorqueSquares,
)

DENSITY = 1.25  # of the rods [kg/m]
PAYLOAD = [mg.Load("link2", force=(0, -2 * 9.81, 0), point="tip", name="payload")]
START, END = (0.45, -0.25, 0.0), (0.15, 0.55, 0.0)


def arm() -> mg.Model:
    """Two hinges about z, links along x; a variable per link drives its length, mass, centre of mass and inertia."""

    def variable(k: int) -> mg.DesignVariable:
        targets = {
            f"link{k}.mass": lambda x: DENSITY * x,
            f"link{k}.com.x": 0.5,
            f"link{k}.inertia.zz": lambda x: DENSITY * x**3 / 12,
            f"link{k}.inertia.yy": lambda x: DENSITY * x**3 / 12,
        }
        targets["elbow.origin.x" if k == 1 else "tip.position.x"] = 1.0
        return mg.DesignVariable(f"L{k}", targets, value=0.4)

    return mg.Model(
        "arm",
        bodies=[mg.Body("link1"), mg.Body("link2")],
        joints=[mg.Revolute("shoulder", "ground", "link1"), mg.Revolute("elbow", "link1", "link2", origin=(0.4, 0, 0))],
        points=[mg.Point("tip", "link2", (0.4, 0, 0))],
        gravity=(0, -9.81, 0),
        variables=[variable(1), variable(2)],
    )


def carry(numbers: list[FreeNumber]) -> MotionSolution:
    """The motion, with or without free lengths."""
    problem = MotionProblem(arm(), Splines(12), 0.8, numbers)
    problem.minimize(TorqueSquares(loads=PAYLOAD, per_segment=2))
    problem.subject_to(
        PointLimits("tip", START, START, xi=0.0), PointLimits("tip", END, END, xi=1.0),
        At(0, 0.0, "v"), At(1, 0.0, "v"),
    )  # fmt: skip
    guess = problem.guess()
    line = problem.splines.between((-1.2, 1.2), (0.6, 1.2)).ravel()  # elbow below, not stretched
    guess[: line.size] = line
    solution = problem.solve(guess)
    assert solution.result.success, solution.result.reason
    return solution


def main(output: Path, samples: int = 201) -> dict[str, float]:
    """Compare."""
    fixed = carry([])
    free = carry([FreeNumber("L1", 0.25, 0.7), FreeNumber("L2", 0.25, 0.7)])
    lengths = [float(np.real(free.model.value(name))) for name in ("L1", "L2")]
    print(
        f"links 0.400 m and 0.400 m: cost {fixed.result.objective:.3f} N^2 m^2 s, {fixed.result.iterations} iterations"
    )
    print(
        f"links {lengths[0]:.3f} m and {lengths[1]:.3f} m: cost {free.result.objective:.3f} N^2 m^2 s, "
        f"{free.result.iterations} iterations"
    )
    draw(output, {"links of 0.4 m": fixed, "free links": free}, samples)
    assert free.result.objective < 0.95 * fixed.result.objective
    return {"L1": lengths[0], "L2": lengths[1], "fixed": fixed.result.objective, "free": free.result.objective}


def draw(output: Path, solutions: dict[str, MotionSolution], samples: int) -> None:
    """Stick figures and torques."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    for k, (name, solution) in enumerate(solutions.items()):
        t, q, _, _ = solution.motion(samples)
        elbow = mg.kinematics.body_motion(solution.model, q).of("link2").p
        tip = mg.kinematics.marker_motion(solution.model, ["tip"], q).position[:, 0]
        for i in range(0, samples, max(1, samples // 12)):
            axes[0, k].plot([0, elbow[i, 0], tip[i, 0]], [0, elbow[i, 1], tip[i, 1]], "o-", color="0.6", ms=3, lw=1)
        axes[0, k].plot(tip[:, 0], tip[:, 1], lw=2)
        axes[0, k].set(
            title=f"{name}: cost {solution.result.objective:.2f}", aspect="equal", xlabel="x [m]", ylabel="y [m]"
        )
        axes[1, k].plot(t, solution.torques(samples, PAYLOAD), label=["shoulder", "elbow"])
        axes[1, k].set(xlabel="time [s]", ylabel="torque [N m]", ylim=(-15, 25))
        axes[1, k].grid(alpha=0.3)
    axes[1, 0].legend(frameon=False)
    figure.savefig(output / "codesign.png", dpi=120)
    plt.close(figure)
    print(f"figure written to {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
