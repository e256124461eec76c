"""A top in steady precession: it starts with the spin that the formula asks for, and keeps height and rate."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg

MASS, HEIGHT, ACROSS, ALONG, TILT, RATE = 0.5, 0.05, 2.0e-3, 8.0e-4, 0.5, 2.0  # [kg, m, kg m^2, kg m^2, rad, rad/s]
TOP = mg.Model(
    "top",
    [mg.Body("top", MASS, (0, 0, HEIGHT), (ACROSS - MASS * HEIGHT**2, ACROSS - MASS * HEIGHT**2, ALONG))],
    [mg.Spherical("tip", "ground", "top")],
)


def spin() -> float:
    """Angular velocity about the top's own axis for which it precesses at RATE and keeps its tilt [rad/s].

    ALONG spin RATE = m g HEIGHT + ACROSS RATE^2 cos TILT        ACROSS: about the tip
    """
    return (MASS * 9.81 * HEIGHT + ACROSS * RATE**2 * np.cos(TILT)) / (ALONG * RATE)


def precession(duration: float = 2.0) -> mg.Trajectory:
    """From the tilt, with both angular velocities."""
    axis = np.array([0.0, -np.sin(TILT), np.cos(TILT)])  # of the top, turned about x
    w = RATE * np.array([0.0, 0.0, 1.0]) + (spin() - RATE * np.cos(TILT)) * axis
    return mg.simulate(
        TOP, mg.state(TOP, [np.cos(TILT / 2), np.sin(TILT / 2), 0, 0], w), duration, rtol=1e-11, atol=1e-11
    )


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Spin, compare, draw."""
    motion = precession()
    x = motion.markers(["top.com"]).position[:, 0]
    azimuth = np.unwrap(np.arctan2(x[:, 1], x[:, 0])) + np.pi / 2
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x[:, 0], x[:, 1])
    left.set(title="centre of mass from above [m]", aspect="equal")
    right.plot(motion.t, azimuth, label="simulated")
    right.plot(motion.t, RATE * motion.t, "k:", label="formula")
    right.set(title="precession [rad]", xlabel="time [s]")
    right.legend(frameon=False)
    figure.savefig(output / "spinning_top.png", dpi=110)
    print(f"spin {spin():.2f} rad/s, precession {azimuth[-1] / motion.t[-1]:.9f} rad/s")
    return {
        "precession": float(np.abs(azimuth - RATE * motion.t).max()),
        "tilt": float(np.abs(np.arccos(x[:, 2] / HEIGHT) - TILT).max()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
