"""Drift: constraints that are kept at the level of accelerations only, and what that does to sensitivities.

1. The benchmark bicycle of Meijaard et al. (2007) rolls without slipping: its four lateral eigenvalues are the
   published ones.
2. The spatial slider-crank for ten seconds by Runge-Kutta steps on the index-1 equations, with and without projection.
   Without, the loop opens by a millimetre or two. The motion bears that, its sensitivities do not.
3. The same with the bicycle, whose constraints forgive: a road that is a little lower is a road all the same.

    python examples/10_bicycle_drift.py [--output FOLDER]

Checks itself: eigenvalues against published ones, motions and sensitivities against steps ten times shorter.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start, slider_crank

WAYS = {"not projected": mg.formulations.Index1(projection=False), "projected": mg.formulations.Index1()}
COLOURS = {"not projected": "tab:red", "projected": "tab:blue"}
AT_5 = [-14.07838969279822, -0.77534188219585 - 4.46486771378823j]
AT_5 += [-0.77534188219585 + 4.46486771378823j, -0.32286642900409]  # published eigenvalues at 5 m/s [1/s]
WEAVE, CAPSIZE = 4.292382536341, 6.024262015388  # published [m/s]


class Case(NamedTuple):
    """A motion to repeat: what moves, for how long and by which step [s]; parameters that leave constraints alone."""

    name: str
    model: mg.Model
    start: mg.State
    duration: float
    step: float
    wrt: tuple[str, ...]


class Drift(NamedTuple):
    """How far a computation is off over time t [s].

    gap : largest violation of a constraint of positions [m]
    slope : the same for its derivative, |Gamma dq/dp|
    motion, sensitivity : errors of q and dq/dp so far, relative to the largest of the reference
    history : dq/dp (nt, n_v, np)
    """

    t: np.ndarray
    gap: np.ndarray
    slope: np.ndarray
    motion: np.ndarray
    sensitivity: np.ndarray
    history: np.ndarray


def cases() -> list[Case]:
    """The slider-crank on its spring, and the bicycle at its weave speed: both go on and on."""
    crank = slider_crank(spring=True)
    turning = mg.assemble(crank, {"crank axis": 0.0}, {"crank axis": 6.0}, guess=crank.neutral())
    bike = bicycle("rolling", knots=4)
    return [
        Case("slider-crank", crank, turning, 10.0, 0.005, ("slider.mass", "S1.stiffness")),
        Case("bicycle", bike, bicycle_start(bike, 4.3, lean=0.2), 10.0, 0.05, ("frame.mass", "steer.torque.values.1")),
    ]


def lateral_eigenvalues(speed: float) -> np.ndarray:
    """Of lean and steering about straight running [1/s]; all other states are neutral."""
    model = bicycle("rolling")
    return np.sort_complex(mg.linearise(model, bicycle_start(model, speed)).eigenvalues)


def measured(case: Case) -> tuple[mg.results.MotionSensitivities, dict[str, Drift]]:
    """Both ways against the projected one with a tenth of the step, which is the first result."""

    def run(formulation: mg.formulations.Index1, step: float) -> mg.results.MotionSensitivities:
        motion = mg.simulate(
            case.model,
            case.start,
            duration=case.duration,
            step=step,
            samples=201,
            formulation=formulation,
            scheme="rk4",
        )
        return mg.motion_sensitivities(motion, case.wrt)

    exact = run(mg.formulations.Index1(), case.step / 10)
    found = {}
    for name, formulation in WAYS.items():
        slopes = run(formulation, case.step)
        rows = mg.terms.constraint_terms(case.model, slopes.motion.q, slopes.motion.v)
        positions = [k for k, label in enumerate(rows.names) if "slip" not in label]
        off = np.abs(slopes.motion.q - exact.motion.q).max(axis=1) / np.abs(exact.motion.q).max()
        slopes_off = (np.abs(slopes.q - exact.q) / np.abs(exact.q).max(axis=(0, 1))).max(axis=(1, 2))
        found[name] = Drift(
            slopes.t,
            np.abs(rows.value[:, positions]).max(axis=1),
            np.abs(rows.gamma[:, positions] @ slopes.q).max(axis=(1, 2)),
            np.maximum.accumulate(off),
            np.maximum.accumulate(slopes_off),
            slopes.q,
        )
    return exact, found


def draw(cases: list[Case], found: list[tuple[mg.results.MotionSensitivities, dict[str, Drift]]], output: Path) -> None:
    """The error of one sensitivity over time, and the drift and errors of both mechanisms."""
    import matplotlib.pyplot as plt

    figure, (history, *logs) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    exact, ways = found[0]
    at = cases[0].model.v_names.index("crank axis")
    scale = np.abs(exact.q[:, at, 1]).max()
    for name, drift in ways.items():
        history.plot(drift.t, (drift.history - exact.q)[:, at, 1] / scale, color=COLOURS[name], lw=1, label=name)
    history.set(title="slider-crank: d(crank angle)/d(stiffness)", xlabel="time [s]", ylabel="error / largest value")
    history.legend(frameon=False, fontsize=8)
    for ax, case, (_, ways) in zip(logs, cases, found, strict=True):
        for name, drift in ways.items():
            ax.semilogy(drift.t[1:], drift.sensitivity[1:], color=COLOURS[name], label=f"sensitivities, {name}")
            ax.semilogy(drift.t[1:], drift.motion[1:], "--", color=COLOURS[name], label=f"motion, {name}")
        ax.semilogy(drift.t[1:], ways["not projected"].gap[1:], ":", color="k", label="violation [m], not projected")
        ax.set(title=f"{case.name}: relative errors so far", xlabel="time [s]", ylim=(1e-9, 1.0))
    logs[1].legend(frameon=False, fontsize=7)
    for ax in (history, *logs):
        ax.grid(alpha=0.3)
    figure.savefig(output / "bicycle_drift.png", dpi=120)
    plt.close(figure)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Run, check, draw; `samples` is not used: the motions are short."""
    results = {"eigenvalues at 5 m/s": float(np.abs(lateral_eigenvalues(5.0) - AT_5).max())}
    results["weave speed"] = float(lateral_eigenvalues(WEAVE).real.max())
    results["capsize speed"] = float(lateral_eigenvalues(CAPSIZE).real.max())
    for name, off in results.items():
        print(f"bicycle: {name} off by {off:.1e} /s")
        assert abs(off) < 1e-9
    studied = cases()
    found = [measured(case) for case in studied]
    print(f"{'RK4':14} {'':14} {'t [s]':>6} {'gap [m]':>9} {'d gap/dp':>9} {'motion':>9} {'dq/dp':>9}")
    for case, (_, ways) in zip(studied, found, strict=True):
        for name, drift in ways.items():
            for k in (20, 50, 100, 200):
                numbers = (drift.gap[k], drift.slope[k], drift.motion[k], drift.sensitivity[k])
                print(f"{case.name:14} {name:14} {drift.t[k]:6.1f} " + " ".join(f"{x:9.1e}" for x in numbers))
            results[f"{case.name}, {name}"] = float(drift.sensitivity[-1])
    crank = found[0][1]
    assert crank["not projected"].sensitivity[-1] > 100 * crank["projected"].sensitivity[-1]
    assert crank["not projected"].sensitivity[-1] > 10 * crank["not projected"].motion[-1]
    assert all(way["projected"].slope.max() < 1e-10 for _, way in found)
    draw(studied, found, output)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
