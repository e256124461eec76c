"""Closed loops in motion: a five-bar linkage with springs and a spatial slider-crank, by every formulation.

1. The five-bar of the literature on multibody sensitivities: four bars, five hinges, two springs. One call simulates
   it; the joint that closes the loop is found and cut. Six ways to write its equations give the same motion.
2. The spatial slider-crank of the IFToMM benchmark library: whichever of its four joints is cut, the motion is one.

    python examples/08_closed_loops.py [--output FOLDER]

Checks itself: objectives and positions against converged published values, energy, and the constraints.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start, slider_crank

# integrals over 5 s of |r2 - r20|^2, |v2|^2, |a2|^2, point 2 between the two middle bars
OBJECTIVES = np.array([0.7268774613, 7.3422877928, 304.9206932062])
SLIDER_AT_5_S = 0.2407195737  # [m]
WAYS = {
    "ALI3-P": {"formulation": mg.formulations.ALI3P(), "step": 1e-3},
    "ALI3-P, HHT": {"formulation": mg.formulations.ALI3P(), "scheme": mg.schemes.HHT(0.05), "step": 1e-3},
    "Matrix R": {"formulation": mg.formulations.MatrixR(["A", "1"]), "scheme": "trapezoidal", "step": 1e-3},
    "penalty": {"formulation": mg.formulations.Penalty(), "scheme": "trapezoidal", "step": 1e-3},
    "index-1, order 4": {"formulation": mg.formulations.Index1(), "scheme": "rk4", "step": 5e-3},
    "index-1, order 8": {"formulation": mg.formulations.Index1(), "samples": 1001, "rtol": 1e-11, "atol": 1e-11},
}


def objectives(motion: mg.Trajectory) -> np.ndarray:
    """The three integrals by Simpson's rule."""
    point = motion.markers(["P2"])
    x, v, a = point.position[:, 0], point.velocity[:, 0], point.acceleration[:, 0]
    weights = np.full(len(motion.t), 2.0)
    weights[1::2], weights[0], weights[-1] = 4.0, 1.0, 1.0
    weights *= (motion.t[1] - motion.t[0]) / 3.0
    return np.array([weights @ (y**2).sum(axis=1) for y in (x - np.array([0.5, -2.0, 0.0]), v, a)])


def linkage() -> dict[str, mg.Trajectory]:
    """The five-bar over 5 s, by every way."""
    model, start = five_bar(), five_bar_start()
    return {name: mg.simulate(model, start, duration=5.0, **options) for name, options in WAYS.items()}


def crank() -> dict[str, mg.Trajectory]:
    """The slider-crank over 5 s from a crank speed of 6 rad/s, cut at each of its joints."""
    found = {}
    for cut in ("B", "C", "slide", "crank axis"):
        model = slider_crank(cut=cut)
        if cut == "crank axis":
            state = mg.assemble(model, at={"slide": 0.0}, rates={"slide": 0.24}, guess=model.neutral())
        else:
            state = mg.assemble(model, at={"crank axis": 0.0}, rates={"crank axis": 6.0}, guess=model.neutral())
        found[cut] = mg.simulate(model, state, duration=5.0, samples=501, rtol=1e-11, atol=1e-11)
    return found


def draw(motions: dict[str, mg.Trajectory], cranks: dict[str, mg.Trajectory], output: Path) -> None:
    """Paths of point 2, its height over time, and the slider."""
    import matplotlib.pyplot as plt

    figure, (path, height, slider) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    reference = motions["index-1, order 8"]
    x = reference.markers(["P1", "P2", "P3"]).position
    corners = np.array([[0, 0], *x[0, :, :2], [1, 0]])
    path.plot(*corners.T, "o-", color="0.4", lw=2.5, ms=4)
    path.plot(*x[:, 1, :2].T, color="tab:red", lw=0.8)
    path.set(title="five-bar: path of point 2", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    for name, motion in motions.items():
        height.plot(motion.t, motion.markers(["P2"]).position[:, 0, 1], label=name, lw=0.9)
    height.set(title="six formulations, one motion", xlabel="time [s]", ylabel="height of point 2 [m]")
    height.legend(frameon=False, fontsize=7, ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    for (cut, motion), style in zip(cranks.items(), ("-", "--", "-.", ":"), strict=True):
        slider.plot(motion.t, motion.markers(["PC"]).position[:, 0, 0], style, label=f"cut at {cut}")
    slider.set(title="slider-crank: four cuts, one motion", xlabel="time [s]", ylabel="slider [m]", xlim=(0, 2))
    slider.legend(frameon=False, fontsize=7, ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    for ax in (path, height, slider):
        ax.grid(alpha=0.3)
    figure.savefig(output / "closed_loops.png", dpi=120)
    plt.close(figure)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Run, check, draw; `samples` is not used: the motions are short."""
    motions, cranks = linkage(), crank()
    results = {}
    print(f"{'five-bar, 5 s':18} {'psi 1':>10} {'psi 2':>10} {'psi 3':>10}   worst error   |phi|     |phi'|    |phi''|")
    for name, motion in motions.items():
        psi = objectives(motion)
        results[name] = float(np.abs(psi / OBJECTIVES - 1).max())
        norms = "  ".join(f"{x:.1e}" for x in motion.norms.max(axis=0))
        print(f"{name:18} {psi[0]:10.6f} {psi[1]:10.6f} {psi[2]:10.5f}   {results[name]:10.1e}   {norms}")
        assert results[name] < 1e-5
    assert results["index-1, order 8"] < 1e-7
    assert np.ptp(motions["index-1, order 8"].energy()) < 1e-7
    for cut, motion in cranks.items():
        miss = abs(motion.markers(["PC"]).position[-1, 0, 0] - SLIDER_AT_5_S)
        results[f"cut at {cut}"] = float(miss)
        rows = motion.multipliers.shape[1]
        print(f"slider-crank cut at {cut:12} n_q = {motion.model.n_q}, {rows} rows, off by {miss:.1e} m")
        assert miss < 1e-6
    draw(motions, cranks, output)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
