"""Two mechanisms whose hinges must not carry more than they can: springs of a five-bar, masses of a slider-crank."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg


def carried(joint: str) -> mg.objectives.AtTimes:
    """The squared force in a joint at every instant that is reported (a reaction is a couple and a force)."""
    return mg.objectives.AtTimes(None, lambda w: (w[:, 3:] ** 2).sum(-1), mg.measures.JointReaction(joint))


def strongest(motion: mg.Trajectory, joint: str) -> float:
    """The largest force in a joint along a motion [N]."""
    return float(np.linalg.norm(motion.reactions().of(joint).force, axis=1).max())


def five_bar(share: float = 1.0) -> tuple[mg.DesignProblem, float]:
    """Springs that keep the middle of a five-bar in its place; A may carry a share of what that takes without limit."""
    motion = mg.simulate(mg.gallery.five_bar(), mg.gallery.five_bar_start(), 0.5, step=0.01)
    still = mg.Integral(lambda x: (x[:, 0] - 0.5) ** 2 + (x[:, 1] + 2.0) ** 2, mg.measures.PointPosition("P2"))
    springs = {f"{spring}.free_length": (1.0, 4.0) for spring in ("S1", "S2")}
    free = mg.DesignProblem(motion, springs, still)
    if share >= 1.0:
        return free, np.inf
    bound = share * strongest(free.solve().motion, "A")
    return mg.DesignProblem(motion, springs, still, [mg.design.Limit(carried("A"), upper=bound**2, name="A")]), bound


def slider_crank(share: float = 1.0) -> tuple[mg.DesignProblem, float]:
    """Masses that store as much energy as they can; B may carry a share of what it does at first."""
    model = mg.gallery.slider_crank(spring=True)
    motion = mg.simulate(model, mg.assemble(model, {"crank axis": 0.5}, {"crank axis": 6.0}), 0.2, samples=41)
    bound = share * strongest(motion, "B") if share < 1.0 else np.inf
    energy = -1.0 * mg.AtEnd(mg.measures.KineticEnergy())
    limits = [mg.design.Limit(carried("B"), upper=bound**2, name="B")] if share < 1.0 else []
    return mg.DesignProblem(motion, {"slider.mass": (0.5, 4.0), "rod.mass": (0.4, 1.0)}, energy, limits), bound


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Solve both with and without the limit, report, draw."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    results = {}
    for ax, (name, case, joint) in zip(
        figure.subplots(1, 2), (("five-bar", five_bar, "A"), ("slider-crank", slider_crank, "B")), strict=True
    ):
        free = case()[0].solve()
        problem, bound = case(0.9)
        best = problem.solve()
        print(best)
        for label, motion in (("without limit", free.motion), ("with limit", best.motion)):
            ax.plot(motion.t, np.linalg.norm(motion.reactions().of(joint).force, axis=1), label=label)
        ax.axhline(bound, color="0.6", lw=0.8)
        ax.set(title=f"{name}: force in {joint} [N]", xlabel="time [s]")
        assert best.success
        assert all(certificate.passed for certificate in best.certify().values())
        results[f"{name}, force over limit"] = strongest(best.motion, joint) / bound
        results[f"{name}, price of the limit"] = best.value - free.value
    ax.legend(frameon=False)
    figure.savefig(output / "reactions.png", dpi=110)
    assert all(abs(x - 1.0) < 1e-6 for name, x in results.items() if "over" in name)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
