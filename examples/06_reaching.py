"""One reaching task under five criteria, and minimum time with free knots.

An arm of four hinges reaches around a ball, takes up a payload of 2 kg half-way, and lowers it along a vertical line:

    KeepOut           hand and tip stay out of the ball
    LoadSchedule      the payload's weight comes in a smooth ramp about xi = 0.5
    PointPath         x and y of the tip are fixed during the last third; how it goes down is free
    ReactionLimits    |force| in the shoulder <= 90 N, weight and payload included

The duration is given, 1.2 s, so that five criteria can be compared: squared torques, squared powers, energy, squared
jerks, and a user's own, the squared speed of the tip. The table says what each motion costs under each criterion. There
is more than one local optimum: every search starts twice, from straight lines and from the motion of least jerk.

Then the two-link arm of example 3 once more, least time, with equal segments and with free lengths of all segments.

    python examples/06_reaching.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Duration,
    Energy,
    Free,
    JerkSquares,
    JointLimits,
    KeepOut,
    LoadSchedule,
    MotionProblem,
    MotionSolution,
    OvershootWarning,
    PointLimits,
    PointPath,
    PointVelocities,
    PowerSquares,
    ReactionLimits,
    Splines,
    TorqueLimits,
    TorqueSquares,
    UserTerm,
)

DURATION, SEGMENTS, FINE = 1.2, 36, 2
START = (-1.0, 0.5, -1.2, -0.3)  # angles of the hinges [rad]
TOWARDS = (1.06, 0.9, -2.0, -0.4)  # about above the goal: the first guess ends there
GOAL, LIFT = np.array([0.25, 0.45, 0.10]), 0.15  # of the tip, and how high above the line begins at least [m]
BALL, RADIUS = np.array([0.42, -0.05, 0.05]), 0.25  # [m]
COLUMN = 0.2  # radius of the cylinder about z that the tip stays out of [m]
LOWEST, HIGHEST = (-2.8, -0.5, -2.4, -1.5), (2.8, 1.8, -0.2, 1.5)  # angles [rad]
SPEED, RATE = 5.0, 40.0  # of all hinges [rad/s, rad/s^2]
FORCE, TORQUE, PAYLOAD = 90.0, 60.0, 2.0  # [N, N m, kg]


def arm() -> mg.Model:
    """A column that turns about z, then three hinges in its plane, positive upwards."""

    def rod(name: str, length: float, mass: float) -> mg.Body:
        return mg.Body(name, mass, (length / 2, 0, 0), mass * np.array([1e-3, length**2 / 12, length**2 / 12]))

    up = (0, -1, 0)
    return mg.Model(
        "reaching arm",
        [mg.Body("column", 3.0, (0, 0, 0.15), (0.03, 0.03, 0.01)), rod("upper", 0.4, 2.5), rod("fore", 0.35, 1.6),
         rod("hand", 0.15, 0.6)],
        [mg.Revolute("yaw", "ground", "column"),
         mg.Revolute("shoulder", "column", "upper", origin=(0, 0, 0.3), axis=up),
         mg.Revolute("elbow", "upper", "fore", origin=(0.4, 0, 0), axis=up),
         mg.Revolute("wrist", "fore", "hand", origin=(0.35, 0, 0), axis=up)],
        [mg.Point("tip", "hand", (0.15, 0, 0))],
    )  # fmt: skip


def weight(xi: np.ndarray) -> np.ndarray:
    """The payload's weight [N], (nt, 3): nothing before xi = 0.45, all of it from 0.55 on, 3 w^2 - 2 w^3 between."""
    w = np.clip((xi - 0.45) / 0.1, 0, 1)
    return np.outer(w**2 * (3 - 2 * w), (0, 0, -9.81 * PAYLOAD))


ARM = arm()
LOADS = [LoadSchedule("hand", force=weight, point="tip")]
CRITERIA = {
    "torque": TorqueSquares(loads=LOADS, per_segment=FINE),
    "power": PowerSquares(loads=LOADS, per_segment=FINE),
    "energy": Energy(loads=LOADS, per_segment=FINE, smoothing=3.0),
    "jerk": JerkSquares(),
    "tip speed": UserTerm(lambda v: v, [PointVelocities(ARM, ["tip"])], squared=True, per_segment=FINE),
}
UNITS = {"torque": "N^2 m^2 s", "power": "W^2 s", "energy": "J", "jerk": "rad^2/s^5", "tip speed": "m^2/s"}


def task(criterion: str) -> MotionProblem:
    """The same constraints for all criteria."""
    inf = np.inf
    problem = MotionProblem(ARM, Splines(SEGMENTS), DURATION).minimize(CRITERIA[criterion])
    return problem.subject_to(
        At(0, START), At(0, 0.0, "v"), At(1, 0.0, "v"),
        PointPath("tip", lambda xi: np.tile(GOAL, (xi.size, 1)), axes="xy", during=(2 / 3, 1)),
        PointLimits("tip", (-inf, -inf, GOAL[2] + LIFT), inf, xi=2 / 3),
        PointLimits("tip", (-inf, -inf, GOAL[2]), (inf, inf, GOAL[2]), xi=1.0),  # x and y are on the path already
        *(KeepOut(marker, BALL, RADIUS, per_segment=FINE) for marker in ("tip", "hand.origin")),
        KeepOut("tip", (0, 0, 0), COLUMN, axis=(0, 0, 1), per_segment=FINE),
        ReactionLimits("shoulder", force=FORCE, loads=LOADS, per_segment=FINE),
        TorqueLimits(-TORQUE, TORQUE, loads=LOADS, per_segment=FINE),
        JointLimits(LOWEST, HIGHEST),
        JointLimits(-SPEED, SPEED, level="v", per_segment=FINE), JointLimits(-RATE, RATE, level="a"),
    )  # fmt: skip


def compare() -> tuple[dict[str, MotionProblem], dict[str, MotionSolution], np.ndarray]:
    """Problems, motions, and costs[i, k] of motion i under criterion k."""
    problems = {name: task(name) for name in CRITERIA}
    costs_of = [problem.transcription().objective for problem in problems.values()]
    found: dict[str, MotionSolution] = {}

    def search(name: str, guess: np.ndarray | MotionSolution, origin: str) -> MotionSolution:
        start = time.perf_counter()
        solution = problems[name].solve(guess)
        seconds = time.perf_counter() - start
        print(
            f"{name:10s} from {origin:15s} {solution.result.objective:12.5g} {UNITS[name]:10s} "
            f"{solution.result.iterations:4d} iterations, {seconds:.2f} s, {solution.result.status}"
        )
        assert solution.result.success, solution.result.reason
        return solution

    straight = Splines(SEGMENTS).between(START, TOWARDS).ravel()
    for name in CRITERIA:
        found[name] = search(name, straight, "straight lines")
    for name in CRITERIA:
        if name != "jerk":
            found[name] = min(found[name], search(name, found["jerk"], "least jerk"), key=lambda s: s.result.objective)
    costs = np.array([[cost(s.control_points.ravel()) for cost in costs_of] for s in found.values()])
    return problems, found, costs


def show(costs: np.ndarray) -> None:
    """The table, each column in units of its smallest number."""
    names = list(CRITERIA)
    print("\nmotion found for |" + "".join(f"{name:>12s}" for name in names) + "   (columns: cost by that criterion)")
    for name, row in zip(names, costs / np.min(costs, axis=0), strict=True):
        print(f"{name:16s} |" + "".join(f"{x:12.3f}" for x in row))
    print("smallest         |" + "".join(f"{x:12.5g}" for x in np.min(costs, axis=0)))


# ------------------------------------------------------------------------------------------------------ least time
def least_time(segments: int, knots: bool, per_segment: int = 4) -> MotionSolution:
    """R-R arm, horizontal, 10 N m: example 3."""
    row = mg.drawing.DHRow("revolute", a=0.4)
    bodies = [mg.Body(f"link{i}", 0.5, (-0.2, 0, 0), (0.1, 0.1, 0.1)) for i in (1, 2)]
    model = mg.dh_model("R-R arm", [row, row], bodies=bodies, gravity=(0, 0, 0))
    problem = MotionProblem(model, Splines(segments), Free(0.1, 2.0, guess=0.5, knots=knots)).minimize(Duration())
    problem.subject_to(
        At(0, (0, -2)), At(1, (1, -1)), At(0, 0.0, "v"), At(1, 0.0, "v"),
        TorqueLimits(-10, 10, per_segment=per_segment),
    )  # fmt: skip
    start = time.perf_counter()
    solution = problem.solve()
    seconds = time.perf_counter() - start
    assert solution.result.success, solution.result.reason
    print(
        f"{segments:3d} {'free' if knots else 'equal':5s} segments, limits at {per_segment} instants each: "
        f"T = {solution.duration:.6f} s, {solution.result.iterations:3d} iterations, {seconds:.2f} s, "
        f"overshoot {np.max(solution.overshoot(10.0)):.3f} N m"
    )
    return solution


def main(output: Path, samples: int = 401) -> dict[str, float]:
    """Compare, check, draw."""
    problems, found, costs = compare()
    show(costs)
    worst = {name: problems[name].residuals(s) for name, s in found.items()}
    print("\nlargest violations of all five motions, also between the instants where constraints are enforced")
    print("(of the squares, m^2 and N^2, for 'keeps out' and 'force'):")
    for label in worst["torque"]:
        print(f"  {label:26s} {max(w[label] for w in worst.values()):.2g}")
    print("\nleast time of the two-link arm")
    times = {(s, knots): least_time(s, knots) for s in (8, 20) for knots in (False, True)}
    with warnings.catch_warnings(record=True) as told:  # of torques between the knots
        warnings.simplefilter("always")
        least_time(8, True, per_segment=1)
    assert [warning.category for warning in told] == [OvershootWarning]
    draw(output, found, costs, times[8, False], times[8, True], samples)

    others = np.where(np.eye(len(costs), dtype=bool), np.inf, costs)
    numbers = {f"least {name}": float(cost) for name, cost in zip(CRITERIA, np.diag(costs), strict=True)}
    numbers["margin of the diagonal"] = float(np.min(np.min(others, axis=0) / np.diag(costs)))
    numbers |= {f"T, {s} {'free' if k else 'equal'}": x.duration for (s, k), x in times.items()}
    assert numbers["margin of the diagonal"] >= 1, costs
    assert all(times[s, True].duration <= times[s, False].duration for s in (8, 20))
    return numbers


def draw(
    output: Path,
    found: dict[str, MotionSolution],
    costs: np.ndarray,
    equal: MotionSolution,
    free: MotionSolution,
    samples: int,
) -> None:
    """Paths of the tip from above and from the side, force in the shoulder, the table, and both least times."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.2), layout="constrained")
    (above, side, force), (matrix, one, two) = axes
    for name, solution in found.items():
        t, q, _, _ = solution.motion(samples)
        tip = mg.kinematics.marker_motion(ARM, ["tip"], q).position[:, 0]
        above.plot(tip[:, 0], tip[:, 1], label=name)
        side.plot(tip[:, 1], tip[:, 2])
        force.plot(t, np.linalg.norm(solution.reactions(samples, LOADS).of("shoulder").force, axis=1))
    for ax, (i, j) in ((above, (0, 1)), (side, (1, 2))):
        ax.add_patch(plt.Circle(BALL[[i, j]], RADIUS, color="0.88", zorder=0))
        ax.plot(*GOAL[[i, j]], "k+", ms=9)
        ax.set(aspect="equal", xlabel=f"{'xyz'[i]} [m]", ylabel=f"{'xyz'[j]} [m]")
    above.set(title="tip, from above", xlim=(-0.45, 0.8))
    above.legend(frameon=False, fontsize=8, loc="center left")
    side.set(title="tip, from the side")
    force.axhline(FORCE, color="0.6", lw=0.8)
    force.set(title="force in the shoulder [N]", xlabel="time [s]", ylim=(0, None))
    ratio = costs / np.min(costs, axis=0)
    matrix.imshow(np.log10(ratio), cmap="Blues", vmin=0, vmax=3)
    for i, k in np.ndindex(*ratio.shape):
        matrix.text(k, i, f"{ratio[i, k]:.3g}", ha="center", va="center", fontsize=8,
                    color="w" if ratio[i, k] > 30 else "k")  # fmt: skip
    names = list(found)
    matrix.set(title="cost / least cost", xticks=range(len(names)), yticks=range(len(names)), yticklabels=names)
    matrix.set_xticklabels(names, rotation=30, ha="right")
    matrix.set(xlabel="criterion", ylabel="motion found for")
    for ax, solution, name in ((one, equal, "equal"), (two, free, "free")):
        ax.plot(solution.times(samples), solution.torques(samples))
        for knot in solution.times(solution.splines.segments + 1):
            ax.axvline(knot, color="0.75", lw=0.6, zorder=0)
        ax.set(title=f"8 {name} segments: {solution.duration:.5f} s", xlabel="time [s]", ylabel="torques [N m]")
    figure.savefig(output / "reaching.png", dpi=95)
    plt.close(figure)
    print(f"figure written to {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
