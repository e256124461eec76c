"""A pendulum: what it is, what holds it, how it swings, and how the swing changes with its numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ellipk

import mechgrad as mg

MASS, LENGTH, ANGLE, GRAVITY = 2.0, 0.8, 0.5, 9.81  # [kg, m, rad, m/s^2]
PENDULUM = mg.Model(
    "pendulum",
    [mg.Body("bob", MASS, (0, 0, -LENGTH))],
    [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))],
)


def period(length: float = LENGTH, gravity: float = GRAVITY) -> float:
    """Of a mass on a rod without mass that is let go at ANGLE:  4 sqrt(l / g) K(sin^2(ANGLE / 2))  [s]."""
    return float(4.0 * np.sqrt(length / gravity) * ellipk(np.sin(ANGLE / 2) ** 2))


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Hold, let go, differentiate, draw."""
    held = mg.inverse_dynamics(PENDULUM, [ANGLE])[0]
    swing = mg.simulate(PENDULUM, {"pin": ANGLE}, period(), rtol=1e-11, atol=1e-11)
    # Longer by dl it is late by T dl / (2 l): instead of resting after a period T it still has -q''(T) times that.
    gradient = mg.gradient(swing, mg.AtEnd(mg.measures.JointVelocity("pin")), ["bob.com.z", "gravity.z", "bob.mass"])
    acceleration = -GRAVITY / LENGTH * np.sin(ANGLE)
    by_length = -acceleration * period() / (2 * LENGTH)
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(swing.t, swing.q[:, 0])
    left.axvline(period(), color="k", linestyle=":")
    left.set(title="angle [rad], and the period in closed form", xlabel="time [s]")
    right.bar(["length", "gravity", "mass"], gradient.array[0] * [-1.0, -1.0, 1.0])
    right.set(title="d(angular velocity after a period)")
    figure.savefig(output / "pendulum.png", dpi=110)
    print(f"held by {held:.3f} N m; a period of {period():.6f} s")
    print(gradient)
    return {
        "torque": float(abs(held - MASS * GRAVITY * LENGTH * np.sin(ANGLE))),
        "back after a period": float(abs(swing.q[-1, 0] - ANGLE)),
        "derivative by the length": float(abs(-gradient["bob.com.z"][0] - by_length)),
        "derivative by the mass": float(abs(gradient["bob.mass"][0])),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
