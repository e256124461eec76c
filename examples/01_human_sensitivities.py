"""Sensitivities of a human with 43 joints: analytic, complex step and adaptive differences, side by side.

The study of Zhakatayev, Rogovchenko and Pätzold (2023): every joint follows q = sin 2 pi t for three seconds, 301
samples. Four sensitivities of the torques Q are followed, each by three ways of differentiating, and the time of
each way for *all* 3 x 43 x 43 x 301 derivatives is measured on this machine.

    python examples/01_human_sensitivities.py [--output FOLDER]

draws three figures: torques, sensitivities, and the error of numerical differentiation. The source reports spikes
of the numerical derivative at t = 0.5, 1, ... s, where coordinates and some torques vanish together; extrapolated
differences show none here, and the complex step is exact to rounding everywhere.

Their figures for all derivatives: 16.6 ms (analytic, MATLAB) and 2.62e5 s, three days (adaptive differences,
`jacobianest`).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.sensitivities.extrapolation import extrapolated_jacobian

STEP = 1e-30
# name, which derivative (0: q, 1: v, 2: a), torque and coordinate counted from 1
FOLLOWED = (
    (r"$\partial Q_{20}/\partial q_{5}$", 0, 20, 5),
    (r"$\partial Q_{30}/\partial \dot q_{25}$", 1, 30, 25),
    (r"$\partial Q_{42}/\partial \ddot q_{22}$", 2, 42, 22),
    (r"$\partial Q_{18}/\partial q_{14}$", 0, 18, 14),
)
FAMILIES = ("dq", "dv", "da")


def analytic(model: mg.Model, state: tuple[np.ndarray, ...], method: str) -> list[np.ndarray]:
    """All three matrices for all samples, dense."""
    D = mg.inverse_dynamics_derivatives(model, *state, method=method)
    return [getattr(D, family).dense() for family in FAMILIES]


def complex_step(model: mg.Model, state: tuple[np.ndarray, ...], which: int) -> np.ndarray:
    """One matrix for all samples: 43 complex sweeps."""
    columns = []
    for e in np.eye(model.n_v):
        moved = [x + 1j * STEP * e if k == which else x for k, x in enumerate(state)]
        columns.append(mg.inverse_dynamics(model, *moved).imag / STEP)
    return np.stack(columns, axis=-1)


def differences(model: mg.Model, state: tuple[np.ndarray, ...], which: int, samples: list[int]) -> np.ndarray:
    """One matrix for some samples, by adaptive extrapolated differences."""
    matrices = []
    for k in samples:
        fixed = [x[k] for x in state]

        def torques(x: np.ndarray, fixed: list[np.ndarray] = fixed) -> np.ndarray:
            return mg.inverse_dynamics(model, *(x if j == which else y for j, y in enumerate(fixed)))

        matrices.append(extrapolated_jacobian(torques, fixed[which], batched=True).values)
    return np.stack(matrices)


def seconds(call, repeats: int = 3) -> float:
    """Best of some runs, after one that compiles."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main(output: Path, samples: int = 301) -> dict[str, float]:
    """Run the study; returns the times [s] for all derivatives of all samples and the largest relative errors."""
    model = human()
    t, *state = human_motion(samples)
    exact = analytic(model, state, "spatial")
    size = [np.max(np.abs(x)) for x in exact]

    by_complex = [complex_step(model, state, which) for which in range(3)]
    every = list(range(0, samples, max(1, samples // 60)))
    by_differences = [differences(model, state, which, every) for which in range(3)]

    results = {
        "complex step, error": max(np.max(np.abs(x - y)) / s for x, y, s in zip(by_complex, exact, size, strict=True)),
        "differences, error": max(
            np.max(np.abs(x - y[every])) / s for x, y, s in zip(by_differences, exact, size, strict=True)
        ),
    }
    for method in ("lagrange", "newton-euler"):
        other = analytic(model, state, method)
        results[f"{method}, error"] = max(np.max(np.abs(x - y)) / s for x, y, s in zip(other, exact, size, strict=True))

    packed = mg.inverse_dynamics_derivatives(model, *state)
    results["spatial, packed"] = seconds(lambda: mg.inverse_dynamics_derivatives(model, *state, out=packed))
    for method in ("spatial", "lagrange", "newton-euler"):
        results[f"{method}, dense"] = seconds(lambda method=method: analytic(model, state, method))
    results["complex step"] = seconds(lambda: [complex_step(model, state, k) for k in range(3)], 1)
    few = every[:3]
    results["adaptive differences"] = (
        seconds(lambda: [differences(model, state, k, few) for k in range(3)], 1) / len(few) * samples
    )

    draw(output, t, mg.inverse_dynamics(model, *state), exact, by_complex, by_differences, every)
    report(results, samples)

    # What this study is for: three independent ways agree, and the numerical one is never better than its last
    # digits.
    assert results["complex step, error"] < 1e-12
    assert results["lagrange, error"] < 1e-10
    assert results["newton-euler, error"] < 1e-10
    assert 0 < results["differences, error"] < 1e-7
    return results


def report(results: dict[str, float], samples: int) -> None:
    """Print times and errors."""
    print(f"all derivatives by q, v, a of 43 torques, {samples} samples:")
    for name, value in results.items():
        print(f"  {name:24s} {value:9.1e}" if name.endswith("error") else f"  {name:24s} {1e3 * value:10.2f} ms")
    print("  reported by the source        16.60 ms (analytic), 2.62e+08 ms (adaptive differences), on a laptop")


def draw(output, t, tau, exact, by_complex, by_differences, every) -> None:
    """Three figures."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained", sharex=True)
    for ax, joint in zip(axes.flat, (18, 20, 30, 42), strict=True):
        ax.plot(t, tau[:, joint - 1], lw=1.5)
        ax.set(title=f"$Q_{{{joint}}}$", ylabel="torque [N m]", xlabel="time [s]")
        ax.grid(alpha=0.3)
    figure.savefig(output / "human_torques.png", dpi=130)

    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained", sharex=True)
    for ax, (name, which, i, j) in zip(axes.flat, FOLLOWED, strict=True):
        ax.plot(t, exact[which][:, i - 1, j - 1], lw=2.5, alpha=0.5, label="analytic")
        ax.plot(t, by_complex[which][:, i - 1, j - 1], "--", lw=1, label="complex step")
        ax.plot(t[every], by_differences[which][:, i - 1, j - 1], "k.", ms=4, label="adaptive differences")
        ax.set(title=name, xlabel="time [s]")
        ax.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(output / "human_sensitivities.png", dpi=130)

    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained", sharex=True, sharey=True)
    floor = 1e-20
    for ax, (name, which, i, j) in zip(axes.flat, FOLLOWED, strict=True):
        reference = exact[which][:, i - 1, j - 1]
        ax.semilogy(t, np.abs(by_complex[which][:, i - 1, j - 1] - reference) + floor, lw=1, label="complex step")
        error = np.abs(by_differences[which][:, i - 1, j - 1] - reference[every])
        ax.semilogy(t[every], error + floor, "k.-", ms=4, lw=0.8, label="adaptive differences")
        for instant in np.arange(0.5, t[-1] + 0.1, 0.5):
            ax.axvline(instant, color="0.8", lw=0.8, zorder=0)
        ax.set(title=f"error of {name}", xlabel="time [s]")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(output / "human_errors.png", dpi=130)
    plt.close("all")
    print(f"figures written to {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
