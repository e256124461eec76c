"""A human learns to walk: one symmetric step of 0.6 m at 1.2 m/s, found from q = 0 as the motion of least effort.

The gait prediction of Barman (2020), whose model and limits are not printed, with the walker of this library: 33
coordinates, nine kinds of constraints, ground reactions by the two-step algorithm, two phases (a feasible step, then
the best one). The source reports 34 s with 330 variables, 1726 constraints and 244 active ones.

    python examples/07_gait.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import mechgrad as mg
from mechgrad.gallery import WALKER_SEGMENTS, Gait, GaitCheck, gait, walker_mirror
from mechgrad.optimization.motion import MotionSolution


def main(output: Path, samples: int = 201, progress: bool = False) -> dict[str, float]:
    """Predict, report, draw."""
    step = gait()
    step.problem.transcription()  # compiles
    start = time.perf_counter()
    feasible, best = step.solve(progress)
    seconds = time.perf_counter() - start
    assert feasible.result is not None
    assert best.result is not None
    assert best.result.success, best.result.reason
    check = step.check(best)
    report(feasible, best, check, seconds)
    passive = residual_at_the_pelvis(step, best)
    print(
        f"largest generalized force of the six global coordinates after the passive pass: {passive:.1e} of the weight"
    )
    assert check.violation < 1e-3
    assert check.torque_use <= 1.0
    assert check.zmp_margin > 0.0
    assert check.slip < 1e-3
    assert check.sink < 1e-3
    assert 0.5 < check.mid_stance_force[0] < check.mid_stance_force[1] < 2.0
    assert abs(check.mean_force - 1) < 1e-3
    draw(output, step, best, samples)
    return {"effort": best.result.objective, "seconds": seconds, "passive": passive, "slip": check.slip}


def residual_at_the_pelvis(step: Gait, solution: MotionSolution) -> float:
    """Inverse dynamics again with the ground's forces as loads on the feet: nothing is left for the pelvis to do."""
    samples = 101
    _, q, v, a = solution.motion(samples)
    ground = solution.ground_reactions(step.ground, samples)
    origins = mg.kinematics.marker_motion(step.model, [f"{body}.origin" for body in ground.feet], q).position
    loads = []
    for k, (body, w) in enumerate(ground.feet.items()):
        loads.append(mg.Load(body, w.force, w.couple - np.cross(origins[:, k], w.force)))
    tau = mg.inverse_dynamics(step.model, q, v, a, loads=loads)
    np.testing.assert_allclose(tau, solution.torques(samples, ground=step.ground), atol=1e-9 * 760)
    return float(np.max(np.abs(tau[:, :6])) / (step.model.total_mass * 9.81))


def report(feasible: MotionSolution, best: MotionSolution, check: GaitCheck, seconds: float) -> None:
    """The numbers."""
    one, two = feasible.result, best.result
    assert one is not None
    assert two is not None
    functions = one.time_functions + two.time_functions
    print(f"{check.variables} variables, {check.constraints} constraints, {check.active} of them active")
    print(f"{one.iterations} + {two.iterations} iterations, {seconds:.1f} s, {functions:.1f} s of it in functions")
    print(f"largest violation {check.violation:.1e}, torques use {100 * check.torque_use:.0f} % of their limits")
    print(f"standing points move by {1e3 * check.slip:.2f} mm along and {1e3 * check.sink:.2f} mm across the ground")
    print(f"zero-moment point at least {1e3 * check.zmp_margin:.1f} mm inside, asymmetry {check.asymmetry:.0e}")
    low, high = check.mid_stance_force
    print(f"vertical force: {low:.2f} to {high:.2f} body weights in mid-stance, {check.mean_force:.5f} on average")


def cycle(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A step and its mirror image: the gait cycle of the right side."""
    return np.concatenate([first, second[1:]])


def draw(output: Path, step: Gait, solution: MotionSolution, samples: int) -> None:
    """Stick figures, forces of the ground, joint angles and what the joints carry, over the gait cycle."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    model = step.model
    _, q, _, _ = solution.motion(samples)
    ground = solution.ground_reactions(step.ground, samples)
    R = solution.reactions(samples, ground=step.ground)
    percent = np.linspace(0, 100, 2 * samples - 1)
    weight = model.total_mass * 9.81

    figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
    strip(axes[0, 0], model, q, step)
    names = model.v_names
    for joint in ("hip", "knee", "ankle"):
        both = [np.rad2deg(q[:, names.index(f"{joint}_flexion_{side}")]) for side in ("right", "left")]
        axes[0, 1].plot(percent, cycle(*both), label=joint)
    axes[0, 1].set(title="flexion [deg]", xlabel="gait cycle of the right leg [%]")
    feet = {side: sum(w.force for body, w in ground.feet.items() if body.endswith(side)) for side in ("right", "left")}
    for axis, name in ((2, "vertical"), (0, "fore-aft"), (1, "lateral")):
        sign = -1.0 if axis == 1 else 1.0
        axes[0, 2].plot(percent, cycle(feet["right"][:, axis], sign * feet["left"][:, axis]) / weight, label=name)
    axes[0, 2].set(title="force on the right foot [body weights]", xlabel="gait cycle [%]")
    support(axes[1, 0], step, ground.zmp)
    joints = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_flexion"}
    for name, joint in joints.items():
        norms = [np.linalg.norm(R.force[:, R.names.index(f"{joint}_{side}")], axis=1) for side in ("right", "left")]
        axes[1, 1].plot(percent, cycle(*norms) / weight, label=name)
    axes[1, 1].set(title="force in the joint [body weights]", xlabel="gait cycle [%]")
    tau = solution.torques(samples, ground=step.ground)
    for name, joint in joints.items():
        both = [tau[:, names.index(f"{joint}_{side}")] for side in ("right", "left")]
        axes[1, 2].plot(percent, cycle(*both), label=name)
    axes[1, 2].set(title="torque of flexion [N m]", xlabel="gait cycle [%]")
    for ax in (*axes[0, 1:], *axes[1, 1:]):
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(output / "gait.png", dpi=100)
    plt.close(figure)
    print(f"figure written to {output}")


def strip(ax: Any, model: mg.Model, q: np.ndarray, step: Gait) -> None:
    """Two steps as stick figures from the side; the right leg and the left arm in colour."""
    partner, sign = walker_mirror(model)
    second = sign * q[:, partner]
    second[:, 0] = q[:, partner][:, 0] + step.length
    points = sorted({name for pair in WALKER_SEGMENTS for name in pair})
    for frame, pose in enumerate(np.concatenate([q[:: len(q) // 5], second[:: len(q) // 5]])):
        x = mg.kinematics.marker_motion(model, points, pose).position
        for a, b in WALKER_SEGMENTS:
            ends = x[[points.index(a), points.index(b)]]
            side = "C3" if "right" in a + b else "C0" if "left" in a + b else "0.3"
            ax.plot(ends[:, 0] + 0.25 * frame, ends[:, 2], color=side, lw=1)
    ax.axhline(0, color="0.6", lw=0.8)
    ax.set(title="two steps, spread out", aspect="equal", xlabel="x [m]")


def support(ax: Any, step: Gait, zmp: np.ndarray) -> None:
    """The way of the zero-moment point through the support polygons."""
    from scipy.spatial import ConvexHull

    for (_, polygon), name in zip(step.supports, ("both feet", "foot", "toes"), strict=True):
        corners = polygon[ConvexHull(polygon).vertices]
        ax.fill(corners[:, 0], corners[:, 1], alpha=0.2, label=name)
    ax.plot(zmp[:, 0], zmp[:, 1], "k.-", ms=2, lw=0.7)
    ax.set(title="zero-moment point [m]", aspect="equal", xlabel="x", ylabel="y")
    ax.legend(frameon=False, fontsize=8, loc="upper left")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    parser.add_argument("--progress", action="store_true", help="show every iteration")
    given = parser.parse_args()
    main(given.output, progress=given.progress)
