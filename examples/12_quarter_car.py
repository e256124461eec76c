"""A quarter car over a step in the road: the damper that makes the ride softest, by exact gradients."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import mechgrad as mg

BODY, WHEEL, SPRING, TYRE, STEP = 300.0, 40.0, 2.0e4, 1.8e5, 0.05  # [kg, kg, N/m, N/m, m]
CAR = mg.Model(
    "quarter car",
    [mg.Body("wheel", WHEEL), mg.Body("body", BODY)],
    [mg.Prismatic("hop", "ground", "wheel", axis=(0, 0, 1)), mg.Prismatic("travel", "wheel", "body", axis=(0, 0, 1))],
    gravity=(0, 0, 0),  # heights are counted from where the car rests
    forces=[
        mg.forces.JointSpring("tyre", "hop", TYRE),
        mg.forces.JointSpring("strut", "travel", SPRING, damping=500.0),
    ],
)
DISCOMFORT = mg.Integral(lambda a: a[:, 2] ** 2, mg.measures.PointAcceleration("body.com"))


def ride(damping: float) -> mg.Trajectory:
    """Six seconds after the road has dropped by a step."""
    return mg.simulate(CAR.with_values({"strut.damping": damping}), {"hop": STEP}, duration=6.0, step=5e-4)


def discomfort(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Of a damping [kN s/m], and its derivative."""
    g = mg.gradient(ride(1e3 * x[0]), DISCOMFORT, ["strut.damping"])
    return g.values[0], 1e3 * g["strut.damping"]


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Optimise, report, draw."""
    found = minimize(discomfort, [0.5], jac=True, bounds=[(0.1, 10.0)])
    best = 1e3 * float(found.x[0])
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    ax = figure.subplots()
    for damping in (500.0, best, 5000.0):
        motion = ride(damping)
        ax.plot(motion.t, motion.q.sum(axis=1), label=f"{damping:.0f} N s/m")
    ax.set(title="height of the body [m]", xlabel="time [s]", xlim=(0, 2))
    ax.legend(frameon=False)
    figure.savefig(output / "quarter_car.png", dpi=110)
    print(f"softest at {best:.1f} N s/m after {found.nfev} rides: {found.fun:.5f} m^2/s^3")
    return {"damping": best, "discomfort": float(found.fun)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
