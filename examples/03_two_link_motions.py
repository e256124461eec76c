"""Three motions of two-link arms, found by optimization: minimum time, lifting a load, slide and hinge.

The examples of Xiang, Arora and Abdel-Malek and of Barman (2020). Both links 0.4 m, 0.5 kg, 0.1 kg m^2; all motors
limited to 10 N m (10 N for the slide); rest to rest.

1. R-R, horizontal: least time.                                       Published: 0.3934, 0.392 s.
2. R-R, lifting 10 N against gravity: 0.99 T + 0.01 integral tau^2.   Published: 0.520 s.
3. P-R, horizontal: the same cost; the forces its joints carry.       Published: 0.5585 s, which no reading of the
printed table gives;
   the two readings of its angle give 0.647 and 0.586 s.

    python examples/03_two_link_motions.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Duration,
    Free,
    MotionProblem,
    MotionSolution,
    Splines,
    TorqueLimits,
    TorqueSquares,
)

LOAD = [mg.Load("link2", force=(0, -10, 0), name="payload")]  # at the tip: the origin of the second frame


def hinges(gravity: float) -> mg.Model:
    """R-R: two rows of a Denavit-Hartenberg table; frames sit at the far ends of the links."""
    row = mg.drawing.DHRow("revolute", a=0.4)
    bodies = [mg.Body(f"link{i}", 0.5, (-0.2, 0, 0), (0.1, 0.1, 0.1)) for i in (1, 2)]
    return mg.dh_model("R-R arm", [row, row], bodies=bodies, gravity=(0, -gravity, 0))


def slide_and_hinge(theta: float) -> mg.Model:
    """P-R: a slide, then a hinge that stands at `theta` when its coordinate is zero."""
    rows = [
        mg.drawing.DHRow("prismatic", theta=np.pi / 2, d=0.4, alpha=np.pi / 2),
        mg.drawing.DHRow("revolute", theta=theta, a=0.4),
    ]
    bodies = [mg.Body("link1", 0.5, (0, -0.2, 0), (0.1,) * 3), mg.Body("link2", 0.5, (-0.2, 0, 0), (0.1,) * 3)]
    return mg.dh_model("P-R arm", rows, bodies=bodies, gravity=(0, 0, 0))


def rest_to_rest(problem: MotionProblem, start: tuple[float, float], end: tuple[float, float]) -> MotionProblem:
    """Positions at both ends, no velocity there."""
    return problem.subject_to(At(0, start), At(1, end), At(0, 0.0, "v"), At(1, 0.0, "v"))


def minimum_time(segments: int, per_segment: int) -> MotionProblem:
    """Problem 1."""
    problem = MotionProblem(hinges(0.0), Splines(segments), Free(0.1, 2.0)).minimize(Duration())
    return rest_to_rest(problem, (0, -2), (1, -1)).subject_to(TorqueLimits(-10, 10, per_segment=per_segment))


def lifting(segments: int) -> MotionProblem:
    """Problem 2."""
    problem = MotionProblem(hinges(9.8062), Splines(segments), Free(0.1, 2.0))
    problem.minimize(Duration(0.99), TorqueSquares(0.01, loads=LOAD))
    return rest_to_rest(problem, (1.32, -2.37), (2.80, -2.37)).subject_to(TorqueLimits(-10, 10, loads=LOAD))


def sliding(segments: int, theta: float) -> MotionProblem:
    """Problem 3."""
    problem = MotionProblem(slide_and_hinge(theta), Splines(segments), Free(0.1, 2.0))
    problem.minimize(Duration(0.99), TorqueSquares(0.01))
    return rest_to_rest(problem, (0.1, 0.6), (np.pi / 4, -np.pi / 4)).subject_to(TorqueLimits(-10, 10))


def main(output: Path, samples: int = 401) -> dict[str, float]:
    """Solve all, report, draw."""
    cases = {
        "R-R least time, limits at knots": minimum_time(20, 1),
        "R-R least time, limits on 4x grid": minimum_time(20, 4),
        "R-R lifting": lifting(20),
        "P-R, theta = q + pi/2": sliding(20, np.pi / 2),
        "P-R, theta = q": sliding(20, 0.0),
    }
    solutions, durations = {}, {}
    next(iter(cases.values())).solve()  # compiles
    for name, problem in cases.items():
        start = time.perf_counter()
        solution = problem.solve()
        seconds = time.perf_counter() - start
        assert solution.result.success, solution.result.reason
        solutions[name], durations[name] = solution, solution.duration
        print(
            f"{name:36s} T = {solution.duration:.6f} s   cost {solution.result.objective:.6f}   "
            f"{solution.result.iterations} iterations, {1e3 * seconds:.0f} ms"
        )
    draw(output, solutions, samples)
    wanted = (0.392659, 0.393150, 0.519293, 0.647030, 0.586492)
    for (name, got), want in zip(durations.items(), wanted, strict=True):
        assert abs(got - want) < 2e-4, (name, got, want)
    return durations


def draw(output: Path, solutions: dict[str, MotionSolution], samples: int) -> None:
    """Coordinates and torques of three motions; the forces the joints of the P-R arm carry."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    shown = ("R-R least time, limits on 4x grid", "R-R lifting", "P-R, theta = q")
    figure, axes = plt.subplots(3, 3, figsize=(11, 8), layout="constrained")
    for row, name in zip(axes.T, shown, strict=True):
        solution = solutions[name]
        loads = LOAD if "lifting" in name else None
        t, q, v, a = solution.motion(samples)
        row[0].plot(t, q, label=["$q_1$", "$q_2$"])
        row[0].set(title=f"{name}: {solution.duration:.4f} s", ylabel="coordinates [rad, m]")
        row[1].plot(t, solution.torques(samples, loads))
        row[1].axhline(10, color="0.7", lw=0.8)
        row[1].axhline(-10, color="0.7", lw=0.8)
        row[1].set(ylabel="motors [N m, N]")
        R = mg.joint_reactions(solution.model, q, v, a, loads=loads)
        row[2].plot(t, np.linalg.norm(R.force, axis=-1), label=["joint 1", "joint 2"])
        row[2].set(ylabel="force in the joint [N]", xlabel="time [s]")
        for ax in row:
            ax.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False)
    axes[2, 0].legend(frameon=False)
    figure.savefig(output / "two_link_motions.png", dpi=120)
    plt.close(figure)
    print(f"figure written to {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
