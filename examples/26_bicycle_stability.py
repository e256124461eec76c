"""When does a bicycle balance itself? Eigenvalues over speed, and what moves them.

The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007) rolls straight ahead, its wheels held to the
road by six constraints. Small motions about that have four eigenvalues that are not zero: below the weave speed it
swings itself to the ground, above the capsize speed it falls slowly, in between it stays up. Their derivatives by
wheelbase, trail and masses say how to build one that balances itself at lower speeds.

    python examples/26_bicycle_stability.py [--output FOLDER]

Checks itself: limits of stability against the published ones, derivatives of these limits against limits of bicycles
that are built otherwise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start
from mechgrad.gallery.bicycle import FRONT, TILT, TRAIL, WHEELBASE

PUBLISHED = {"weave": 4.292382536341, "capsize": 6.024262015388}  # [m/s]
SPEED = "start.velocity.root.x"
NUMBERS = ["wheelbase", "frame.mass", "frame.com.x", "frame.com.z", "front.inertia.yy"]


def with_wheelbase() -> mg.Model:
    """The bicycle whose wheelbase is one number: steering axis and front wheel move ahead together, masses stay."""
    axis_at = TRAIL - FRONT * np.tan(TILT)  # where the steering axis is beside the front axle [m]
    wheelbase = mg.DesignVariable(
        "wheelbase",
        {"steering.origin.x": lambda w: w + axis_at, "fork.com.x": lambda w: 0.9 - w - axis_at},
        WHEELBASE,
    )
    m = bicycle("rolling")
    return mg.Model(
        m.name, m.bodies, m.joints, m.points, m.vectors, gravity=m.gravity, constraints=m.constraints, forces=m.forces,
        variables=[wheelbase],
    )  # fmt: skip


def limits(model: mg.Model, around: float = 0.5) -> dict[str, float]:
    """Weave and capsize speed [m/s], looked for about the published ones."""
    lin = mg.linearise(model, bicycle_start(model, 5.0))
    speeds = [PUBLISHED["weave"] - around, 5.0, PUBLISHED["capsize"] + around]
    weave, capsize = lin.locus(SPEED, speeds).crossings()
    return {"weave": weave.value, "capsize": capsize.value}


def limit_slopes(model: mg.Model, speed: float, paths: list[str]) -> dict[str, float]:
    """How a limit of stability moves with numbers of the bicycle: dv/dp = -Re(dlam/dp) / Re(dlam/dv)."""
    lin = mg.linearise(model, bicycle_start(model, speed))
    k = int(np.argmin(np.abs(lin.eigenvalues.real)))
    by = lin.derivatives([SPEED, *paths]).eigenvalues[:, k].real
    return dict(zip(paths, (-by[1:] / by[0]).tolist(), strict=True))


def draw(lin: mg.results.Linearisation, output: Path) -> None:
    """Real and imaginary parts over speed, and the weave mode as a motion."""
    from matplotlib.figure import Figure

    locus = lin.locus(SPEED, np.linspace(0.05, 10.0, 120))
    figure = Figure(figsize=(11.0, 4.0), layout="constrained")
    growth, motion = figure.subplots(1, 2)
    for column in locus.eigenvalues.T:
        growth.plot(locus.values, column.real, "k.", ms=2)
        growth.plot(locus.values, np.abs(column.imag), ".", color="tab:orange", ms=1.5)
    for name, speed in PUBLISHED.items():
        growth.axvline(speed, color="tab:blue", lw=0.8)
        growth.text(speed, 9.0, f" {name}", color="tab:blue", fontsize=8)
    growth.set(xlabel="speed [m/s]", ylabel="Re (black), |Im| (orange) [1/s]", ylim=(-10, 10), title="eigenvalues")
    weave = next(mode for mode in lin.modes if mode.oscillates)
    t = np.linspace(0.0, 4.0, 201)
    model, q = lin.model, weave.motion(t, 0.05)
    up = mg.kinematics.marker_motion(model, ["side"], q).position[:, 0, 2]
    motion.plot(t, np.arcsin(up), label="lean [rad]")
    motion.plot(t, q[:, model.q_names.index("steering")], label="steering [rad]")
    motion.set(xlabel="time [s]", title=f"weave at 5 m/s: {weave.frequency:.3f} Hz, ratio {weave.damping_ratio:.3f}")
    motion.legend(frameon=False)
    for ax in (growth, motion):
        ax.grid(alpha=0.3)
    figure.savefig(output / "bicycle_stability.png", dpi=120)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Run, check, draw; `samples` is not used."""
    model = with_wheelbase()
    lin = mg.linearise(model, bicycle_start(model, 5.0))
    print(lin)
    found = limits(model)
    results = {f"{name} speed": abs(found[name] - PUBLISHED[name]) for name in found}
    slopes = {name: limit_slopes(model, speed, NUMBERS) for name, speed in found.items()}
    print(f"\n{'d(speed)/d(number)':20} {'weave':>12} {'capsize':>12}")
    for path in NUMBERS:
        print(f"{path:20} {slopes['weave'][path]:12.5f} {slopes['capsize'][path]:12.5f}")
    h = 1e-5  # errors go with its square
    longer, shorter = (limits(model.with_values({"wheelbase": WHEELBASE + s * h})) for s in (1, -1))
    for name in found:
        difference = (longer[name] - shorter[name]) / (2 * h)
        results[f"{name} by wheelbase"] = abs(slopes[name]["wheelbase"] - difference) / abs(difference)
    for what, error in results.items():
        print(f"{what}: off by {error:.1e}")
        assert error < 1e-6
    draw(lin, output)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
