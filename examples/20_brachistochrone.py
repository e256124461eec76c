"""The fastest wire: knots of a spline that a bead slides along from one point to another in the shortest time."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

import mechgrad as mg

AHEAD, DOWN, G = 2.0, 1.0, 9.81  # where the wire ends [m], and gravity [m/s^2]
KNOTS = np.hypot(AHEAD, DOWN) * np.linspace(0.0, 1.0, 9) ** 3  # along the straight line, close where the bead sets off


def released() -> mg.Trajectory:
    """A bead on a straight wire, until it passes the end; the curve counts from the line between both ends."""
    straight = mg.functions.Spline(tuple(KNOTS), (0.0,) * len(KNOTS), ends="not-a-knot")
    model = mg.Model(
        "wire", [mg.Body("slide"), mg.Body("bead", mass=1.0)],
        [mg.Prismatic("x", "ground", "slide", axis=(1, 0, 0)), mg.Prismatic("z", "slide", "bead", axis=(0, 0, 1))],
        vectors=[mg.Vector("along", "ground", (AHEAD, 0, -DOWN)), mg.Vector("across", "ground", (DOWN, 0, AHEAD))],
        constraints=[mg.constraints.PointOnCurve("wire", "bead.com", "ground.origin", "along", "across", straight)],
    )  # fmt: skip
    return mg.simulate(model, mg.assemble(model, {"x": 0.0}), 3.0, step=0.01, scheme="rk4", stop={"x": AHEAD})


def cycloid() -> tuple[float, float, float]:
    """Bernoulli's solution: x = R (a - sin a), z = -R (1 - cos a) until angle a; R, the last angle and the time."""
    last = brentq(lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - AHEAD / DOWN, 0.1, 6.2)
    radius = DOWN / (1 - np.cos(last))
    return radius, last, last * np.sqrt(radius / G)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Bend the wire, compare, draw."""
    knots = {f"wire.curve.values.{k}": (-0.8, 0.2) for k in range(1, len(KNOTS) - 1)}
    best = mg.DesignProblem(released(), knots, mg.objectives.EndTime()).solve(tolerance=1e-6)
    print(best)
    radius, last, time = cycloid()
    angle = np.linspace(0.0, last, 200)
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    ax = figure.subplots()
    ax.plot(radius * (angle - np.sin(angle)), -radius * (1 - np.cos(angle)), "k:", label="cycloid")
    for label, motion in (("straight", next(iter(best.start.values()))), ("best", best.motion)):
        ax.plot(*motion.q.T, ".-", label=f"{label}: {motion.t[-1]:.4f} s")
    ax.set(
        title=f"the bead every 10 ms; the cycloid takes {time:.4f} s", xlabel="x [m]", ylabel="z [m]", aspect="equal"
    )
    ax.legend(frameon=False)
    figure.savefig(output / "brachistochrone.png", dpi=110)
    way = best.motion.q
    near = np.interp(way[:, 0], radius * (angle - np.sin(angle)), -radius * (1 - np.cos(angle)))
    return {"slower": float(best.value / time - 1.0), "off": float(np.abs(way[:, 1] - near).max())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
