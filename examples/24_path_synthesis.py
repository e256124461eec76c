"""A four-bar whose coupler point goes where it should: through six points of a line, and around an ellipse.

Both are cases of the literature, without prescribed angles of the crank: six points of Cabrera, Simon and Prado
(Optimal synthesis of mechanisms with genetic algorithms, 2002), ten of Kunjur and Krishnamurty (1997).
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg

LINE = np.array([(20, 20), (20, 25), (20, 30), (20, 35), (20, 40), (20, 45)], float)
ELLIPSE = np.array([
    (20, 10), (17.66, 15.142), (11.736, 17.878), (5, 16.928), (0.60307, 12.736), (0.60307, 7.2638), (5, 3.0718),
    (11.736, 2.1215), (17.66, 4.8577), (20, 10),
])  # fmt: skip
GROUND, CRANK, COUPLER, ROCKER = BARS = ("D.origin.x", "B.origin.x", "C.origin.x", "C.child_origin.x")


def linkage(angles: np.ndarray) -> mg.results.GuidedMotion:
    """Some four-bar on a frame of its own, its crank at an angle for each point in turn."""
    z = (0.0, 0.0, 1.0)
    turn = mg.functions.Spline(tuple(np.arange(float(len(angles)))), tuple(angles))
    model = mg.Model(
        "four-bar",
        [mg.Body(name) for name in ("frame", "crank", "coupler", "rocker")],
        [
            mg.Revolute("O", "ground", "frame", axis=z),
            mg.Revolute("A", "frame", "crank", axis=z),
            mg.Revolute("B", "crank", "coupler", (15, 0, 0), axis=z),
            mg.Revolute("D", "frame", "rocker", (40, 0, 0), axis=z),
            mg.Revolute("C", "coupler", "rocker", (35, 0, 0), child_origin=(30, 0, 0), axis=z),
        ],
        [mg.Point("P", "coupler", (10, 10, 0))],
        cut=["C"],
        constraints=[mg.constraints.Driver("tilt", "O", 0.3), mg.constraints.Driver("turn", "A", turn)],
    )
    return mg.kinematic_motion(model, np.arange(float(len(angles))), guess=[0.3, angles[0], 0.5, 1.5])


def problem(points: np.ndarray, size: float) -> mg.DesignProblem:
    """Bars from 5 to `size`, everything else within `size`; a crank that turns, and points in their order."""
    n = len(points)
    names = [f"turn.function.values.{k}" for k in range(n)]
    variables = dict.fromkeys(BARS, (5.0, size))
    variables |= dict.fromkeys(("P.position.x", "P.position.y", "O.origin.x", "O.origin.y"), (-size, size))
    variables |= {"tilt.function.value": (0.0, 2 * np.pi)} | dict.fromkeys(names, (0.0, 4 * np.pi))
    limits = []
    for longest in (GROUND, COUPLER, ROCKER):  # Grashof: with the crank, no more than the other two
        others = [bar for bar in BARS if bar not in (CRANK, longest)]
        limits.append(mg.design.Linear({CRANK: 1, longest: 1, others[0]: -1, others[1]: -1}, upper=-0.1))
    limits += [mg.design.Linear({b: 1, a: -1}, lower=0.02) for a, b in pairwise(names)]
    limits.append(mg.design.Linear({names[-1]: 1, names[0]: -1}, upper=2 * np.pi))
    missed = mg.design.Measured(mg.measures.PointPosition("P"), np.arange(float(n)), np.c_[points, np.zeros(n)])
    return mg.DesignProblem(linkage(np.linspace(0.5, 5.5, n)), variables, mg.design.LeastSquares(missed), limits)


def curve(best: mg.design.Optimum) -> np.ndarray:
    """The whole path of the coupler point (181, 2)."""
    motion = best.motion
    turns = motion.q[0, 1] + np.linspace(0.0, 2 * np.pi, 181)
    at = mg.functions.Spline(tuple(np.arange(181.0)), tuple(turns))
    model = mg.Model(
        "four-bar", motion.model.bodies, motion.model.joints, motion.model.points, cut=["C"],
        constraints=[motion.model.constraints[0], mg.constraints.Driver("turn", "A", at)],
    )  # fmt: skip
    whole = mg.kinematic_motion(model, np.arange(181.0), guess=motion.q[0])
    return np.asarray(whole.markers(["P"]).position[:, 0, :2])


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """From a few starts (65 find more), report, draw."""
    results = {}
    figure = Figure(figsize=(8, 4), layout="constrained")
    cases = {"line": (LINE, 60.0), "ellipse": (ELLIPSE, 80.0)}
    for ax, (name, (points, size)) in zip(figure.subplots(1, 2), cases.items(), strict=True):
        found = problem(points, size).multistart(3, max_iterations=70)
        print(found)
        best = found.best
        results[name] = 2 * best.value
        ax.plot(*curve(best).T, lw=1)  # all of it: the crank turns
        ax.plot(*points.T, "o", ms=4, color="k")
        ax.set(aspect="equal", title=f"{name}: sum of squares {results[name]:.2g}")
        assert all(certificate.passed for certificate in best.certify().values())
    figure.savefig(output / "path_synthesis.png", dpi=110)
    assert results["line"] < 1e-8
    assert results["ellipse"] < 1e-3
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
