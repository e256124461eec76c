"""Curves that linkages are known for: Watt's straight line, and the step of Theo Jansen's leg."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg
from mechgrad.gallery import theo_jansen_leg, theo_jansen_leg_start, watts_linkage

LEG = [("Y", "X"), ("Y", "V"), ("Z", "X"), ("Z", "W"), ("X", "W"), ("Z", "V"), ("W", "U"), ("V", "U"), ("U", "foot"),
       ("V", "foot")]  # fmt: skip


def watt(samples: int) -> np.ndarray:
    """(samples, 3) [m]: the middle of the coupler, from one end of its way to the other, in one swing under gravity."""
    model = watts_linkage()
    down = mg.simulate(model, model.neutral(), 0.25, samples=samples).markers(["P"]).position[:, 0]
    return np.concatenate([-down[::-1], down])  # half a turn about the middle carries the linkage onto itself


def leg(turns: np.ndarray) -> dict[str, np.ndarray]:
    """Joints of the leg, (nt, 3) each [m], at angles of its crank [rad]."""
    model = theo_jansen_leg()
    names = ["X", "Y", "Z", "W", "V", "U", "foot"]
    where = np.array([
        mg.kinematics.marker_motion(model, names, theo_jansen_leg_start(model, angle).q).position for angle in turns
    ])  # fmt: skip
    return {name: where[:, k] for k, name in enumerate(names)}


def main(output: Path, samples: int = 73) -> dict[str, float]:
    """Move both, report, draw."""
    line, joints = watt(samples), leg(np.linspace(0.0, 2 * np.pi, samples))
    foot = joints["foot"]
    ground = foot[:, 1].min()
    stands = foot[:, 1] < ground + 0.02
    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(line[:, 0], line[:, 1])
    left.axvline(0.0, color="grey", linewidth=0.6)
    left.set(title="Watt: the middle of the coupler [m]", aspect="equal", xlim=(-0.2, 0.2))
    for p, q in LEG:
        right.plot(*np.stack([joints[p][0], joints[q][0]])[:, :2].T, color="grey", linewidth=1.5)
    right.plot(*np.stack([np.zeros(3), joints["Y"][0]])[:, :2].T, color="black", linewidth=1.5)
    right.plot(foot[:, 0], foot[:, 1])
    right.axhline(ground, color="grey", linewidth=0.6)
    right.set(title="Theo Jansen: the foot [m]", aspect="equal")
    figure.savefig(output / "linkage_curves.png", dpi=110)
    near = np.abs(line[:, 1]) < 0.15
    answer = {
        "Watt off its line": float(np.abs(line[near, 0]).max()),
        "stride": float(np.ptp(foot[stands, 0])),
        "share on the ground": float(stands[:-1].mean()),
    }
    print(", ".join(f"{name} {value:.3g}" for name, value in answer.items()))
    assert answer["Watt off its line"] < 4e-4
    assert answer["stride"] > 0.6
    return answer


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
