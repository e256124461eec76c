"""A four-bar linkage turned by a motor: the curve of a coupler point, what the motor needs, what the hinges carry."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg


def rod(name: str, length: float) -> mg.Body:
    """A slender rod of 2 kg/m along its x axis."""
    mass = 2.0 * length
    return mg.Body(name, mass, (length / 2, 0, 0), (0, mass * length**2 / 12, mass * length**2 / 12))


def turn(samples: int = 181) -> mg.results.GuidedMotion:
    """One turn of the crank in a second."""
    linkage = mg.Model(
        "four-bar",
        [rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.8)],
        [
            mg.Revolute("A", "ground", "crank"),
            mg.Revolute("B", "crank", "coupler", (0.3, 0, 0)),
            mg.Revolute("C", "coupler", "rocker", (0.9, 0, 0), child_origin=(0.8, 0, 0)),
            mg.Revolute("D", "ground", "rocker", (1.0, 0, 0)),
        ],
        [mg.Point("P", "coupler", (0.45, 0.3, 0))],
        gravity=(0, -9.81, 0),
        constraints=[mg.constraints.Driver("motor", "A", speed=2 * np.pi)],
    )
    return mg.kinematic_motion(linkage, np.linspace(0, 1, samples), guess=[0.0, 1.0, 1.0])


def main(output: Path, samples: int = 181) -> dict[str, float]:
    """Turn, report, draw."""
    motion = turn(samples)
    curve = motion.markers(["P"]).position[:, 0]
    torque, carried = motion.driving()["motor"], motion.reactions()
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    path, drive, hinges = figure.subplots(1, 3)
    path.plot(curve[:, 0], curve[:, 1])
    path.set(title="coupler curve", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    drive.plot(motion.t, torque)
    drive.set(title="torque of the motor [N m]", xlabel="time [s]")
    for name in "ABCD":
        hinges.plot(motion.t, np.linalg.norm(carried.of(name).force, axis=1), label=name)
    hinges.set(title="forces in the hinges [N]", xlabel="time [s]")
    hinges.legend(frameon=False)
    figure.savefig(output / "four_bar.png", dpi=110)
    print(motion)
    print(f"the motor needs {torque.min():.2f} to {torque.max():.2f} N m")
    # what the motor delivers in a turn is what the linkage gains: nothing
    return {"work in one turn": float(abs(np.trapezoid(torque * 2 * np.pi, motion.t)))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
