"""A four-bar linkage swung by the motor of its crank with the least torque: the loop closes by itself.

The answer is compared with inverse dynamics of the crank's motion alone, which decides that of all other bars, and with
a second motor in the rocker.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg
from mechgrad.optimization.motion import At, MotionProblem, MotionSolution, Splines, TorqueSquares

DURATION = 0.7  # [s]


def rod(name: str, length: float) -> mg.Body:
    """A slender rod of 2 kg/m along its x axis."""
    mass = 2.0 * length
    return mg.Body(name, mass, (length / 2, 0, 0), (0, mass * length**2 / 12, mass * length**2 / 12))


def linkage() -> mg.Model:
    """Crank, coupler and rocker; the rocker hangs on a spring in its hinge."""
    return mg.Model(
        "four-bar",
        [rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.8)],
        [
            mg.Revolute("A", "ground", "crank"),
            mg.Revolute("B", "crank", "coupler", (0.3, 0, 0)),
            mg.Revolute("D", "ground", "rocker", (1.0, 0, 0)),
            mg.Revolute("C", "coupler", "rocker", (0.9, 0, 0), child_origin=(0.8, 0, 0)),
        ],
        gravity=(0, -9.81, 0),
        cut=["C"],
        forces=[mg.forces.JointSpring("spring", "D", stiffness=3.0, free_position=-2.5)],
    )


def swing(driven: list[str], segments: int = 24) -> MotionSolution:
    """The crank from 0.5 to 1.5 rad, at rest at both ends."""
    problem = MotionProblem(linkage(), Splines(segments), DURATION, driven=driven).minimize(TorqueSquares())
    problem.subject_to(
        At(0, 0.5, joints=["A"]), At(1, 1.5, joints=["A"]), At(0, 0.0, "v", ["A"]), At(1, 0.0, "v", ["A"])
    )
    solution = problem.solve()
    assert solution.result is not None
    assert solution.result.success
    return solution


def from_inverse_dynamics(solution: MotionSolution, samples: int) -> float:
    """How far the crank's torque is from that of inverse dynamics, in parts of the largest."""
    _, q, v, a = solution.motion(samples)
    crank = ({"A": x[:, 0]} for x in (q, v, a))
    tau = mg.inverse_dynamics(linkage(), *crank, driven=["A"], guess=q[0])
    return float(np.max(np.abs(solution.torques(samples) - tau)) / np.max(np.abs(tau)))


def main(output: Path, samples: int = 201) -> dict[str, float]:
    """Solve, check, draw."""
    one, two = swing(["A"]), swing(["A", "D"])
    assert one.result is not None
    assert two.result is not None
    left = one.residuals()
    numbers = {
        "cost": one.result.objective,
        "cost with a second motor": two.result.objective,
        "iterations": float(one.result.iterations),
        "from inverse dynamics": from_inverse_dynamics(one, samples),
        "gap": left["closures"],
        "torque of passive joints": left["torques of passive joints"],
    }
    for name, number in numbers.items():
        print(f"  {name:26s} {number:.6g}")
    draw(output, one, two, samples)
    assert numbers["from inverse dynamics"] < 0.02
    assert numbers["cost with a second motor"] < numbers["cost"]
    return numbers


def draw(output: Path, one: MotionSolution, two: MotionSolution, samples: int) -> None:
    """The linkage at some instants, torques with one motor and with two, forces in the hinge that closes the loop."""
    output.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    bars, torques, forces = figure.subplots(1, 3)
    shown = np.linspace(0, 1, 6)
    places = ["crank.origin", "coupler.origin", "rocker.origin"]
    x = mg.kinematics.marker_motion(one.model, places, one.samples_at(shown).q).position
    turn = mg.kinematics.body_motion(one.model, one.samples_at(shown).q).of("rocker").R[:, :, 0]
    for k in range(shown.size):
        line = np.stack([x[k, 0], x[k, 1], x[k, 2] + 0.8 * turn[k], x[k, 2]])
        bars.plot(line[:, 0], line[:, 1], "o-", color=f"{0.75 - 0.14 * k:.2f}", ms=3)
    bars.set(title="crank, coupler, rocker", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    t = one.times(samples)
    torques.plot(t, one.torques(samples)[:, 0], label="A alone")
    for name, column in (("A", 0), ("D", 2)):
        torques.plot(t, two.torques(samples)[:, column], "--", label=f"{name} of two")
    torques.set(title="torques [N m]", xlabel="time [s]")
    for name, values in one.multipliers(samples).items():
        forces.plot(t, values, label=name)
    forces.set(title="multipliers of the closure [N]", xlabel="time [s]")
    for axes in (torques, forces):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(output / "four_bar_motion.png", dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
