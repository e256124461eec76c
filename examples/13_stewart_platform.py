"""A Stewart platform: six driven legs lift and tilt a plate; where it goes, and what the legs push."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg


def hexagon(radius: float, degrees: list[float]) -> np.ndarray:
    """Six joints on a circle."""
    return radius * np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), np.zeros(6)], axis=1)


BASE = hexagon(1.0, [-10, 10, 110, 130, 230, 250])
TOP = hexagon(0.6, [-50, 50, 70, 170, 190, 290])


def wanted(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of the plate (nt, 3) and its turns (nt, 3, 3): it rises, sways, and rolls about x."""
    roll = 0.2 * np.sin(2 * np.pi * t)
    x = np.stack([0.1 * np.sin(np.pi * t), 0.05 * t, 1.0 + 0.2 * (1 - np.cos(np.pi * t))], axis=-1)
    c, s, o, i = np.cos(roll), np.sin(roll), 0 * roll, 0 * roll + 1
    return x, np.stack([np.stack(row, axis=-1) for row in ((i, o, o), (o, c, -s), (o, s, c))], axis=-2)


def lengths(t: np.ndarray) -> np.ndarray:
    """Of the legs, (nt, 6): from the geometry of the plate."""
    x, R = wanted(t)
    return np.linalg.norm(x[:, None] + TOP @ R.swapaxes(1, 2) - BASE, axis=2)


def platform(knots: int = 201) -> mg.Model:
    """The plate on its legs, which follow splines."""
    times = np.linspace(0, 1, knots)
    return mg.Model(
        "Stewart platform",
        [mg.Body("plate", 50.0, inertia=(4.0, 4.0, 8.0))],
        [mg.Floating("free", "ground", "plate")],
        [mg.Point(f"base {k}", "ground", BASE[k]) for k in range(6)]
        + [mg.Point(f"top {k}", "plate", TOP[k]) for k in range(6)],
        constraints=[
            mg.constraints.FixedDistance(
                f"leg {k}", f"base {k}", f"top {k}", mg.functions.Spline(times, length, ends="not-a-knot")
            )
            for k, length in enumerate(lengths(times).T)
        ],
    )


def motion(samples: int = 101) -> mg.results.GuidedMotion:
    """Where the lengths take the plate."""
    model = platform()
    return mg.kinematic_motion(model, np.linspace(0, 1, samples), guess=[0, 0, 1, 1, 0, 0, 0])


def main(output: Path, samples: int = 101) -> dict[str, float]:
    """Move, report, draw."""
    found = motion(samples)
    pushes = found.driving()
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    legs, place, force = figure.subplots(1, 3)
    legs.plot(found.t, lengths(found.t))
    legs.set(title="lengths of the legs [m]", xlabel="time [s]")
    place.plot(found.t, found.q[:, :3], label=["x", "y", "z"])
    place.set(title="place of the plate [m]", xlabel="time [s]")
    place.legend(frameon=False)
    force.plot(found.t, np.stack(list(pushes.values()), axis=1), label=list(pushes))
    force.set(title="push of the legs [N]", xlabel="time [s]")
    force.legend(frameon=False, fontsize=7)
    figure.savefig(output / "stewart_platform.png", dpi=110)
    print(found)
    return {"off its path": float(np.abs(found.q[:, :3] - wanted(found.t)[0]).max())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
