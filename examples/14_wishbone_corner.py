"""A double-wishbone corner with a tyre: where it settles, and how it takes a drop on the road."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg

FORWARD = (1, 0, 0)


def corner() -> mg.Model:
    """A quarter of the chassis on a vertical guide, two arms, an upright with its track rod, and a wheel."""
    return mg.Model(
        "corner",
        [
            mg.Body("chassis", 250.0),
            mg.Body("lower arm", 4.0, (0, 0.2, 0), (0.06, 0.03, 0.08)),
            mg.Body("upper arm", 2.5, (0, 0.15, 0), (0.02, 0.01, 0.03)),
            mg.Body("upright", 12.0, (0, 0.02, 0.12), (0.2, 0.1, 0.15)),
            mg.Body("wheel", 18.0, inertia=(0.6, 1.0, 0.6)),
        ],
        [
            mg.Prismatic("heave", "ground", "chassis", axis=(0, 0, 1)),
            mg.Revolute("lower pivot", "chassis", "lower arm", (0, 0.3, 0.2), axis=FORWARD),
            mg.Revolute("upper pivot", "chassis", "upper arm", (0, 0.36, 0.46), axis=FORWARD),
            mg.Spherical("lower ball", "lower arm", "upright", (0, 0.4, 0)),
            mg.Spherical("upper ball", "upper arm", "upright", (0, 0.3, 0), child_origin=(0, -0.04, 0.26)),
            mg.Revolute("hub", "upright", "wheel", (0, 0.06, 0.12), axis=(0, 1, 0)),
        ],
        [
            mg.Point("rack", "chassis", (-0.12, 0.33, 0.28)),
            mg.Point("steering arm", "upright", (-0.12, -0.01, 0.08)),
            mg.Point("spring top", "chassis", (0, 0.4, 0.65)),
            mg.Point("spring foot", "lower arm", (0, 0.28, 0.0)),
        ],
        [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "wheel", (0, 1, 0))],
        constraints=[mg.constraints.FixedDistance("track rod", "rack", "steering arm", float(np.hypot(0.36, 0.0)))],
        forces=[
            mg.forces.SpringDamper("spring", "spring top", "spring foot", 4.0e4, 3.0e3, free_length=0.53),
            mg.forces.Tyre(
                "tyre",
                "wheel.origin",
                "axle",
                0.31,
                "ground.origin",
                "up",
                stiffness=2.0e5,
                damping=0.1,
                friction_y=0.02,
            ),
        ],
    )


def settled() -> mg.results.Equilibrium:
    """At rest on the road."""
    return mg.equilibrium(corner(), at={"hub": 0.0})


def drop(height: float = 0.05, step: float = 5e-4) -> mg.Trajectory:
    """From a height above where it rests, suspension as it was."""
    rest = settled()
    q = rest.q.copy()
    q[rest.model.q_slice("heave")] += height
    return mg.simulate(rest.model, q, duration=0.8, step=step, scheme="hht")


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Settle, drop, report, draw."""
    rest, motion = settled(), drop()
    tyre, spring = motion.efforts("tyre"), motion.efforts("spring")
    axle = motion.markers(["axle"]).position[:, 0]
    camber = np.degrees(np.arcsin(axle[:, 2]))
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    height, force, tilt = figure.subplots(1, 3)
    height.plot(motion.t, motion.q[:, 0])
    height.set(title="height of the chassis [m]", xlabel="time [s]")
    force.plot(motion.t, tyre.push("height"), label="tyre")
    force.plot(motion.t, spring.push("length"), label="spring")
    force.set(title="forces [N]", xlabel="time [s]")
    force.legend(frameon=False)
    tilt.plot(motion.t, camber)
    tilt.set(title="camber [degrees]", xlabel="time [s]")
    figure.savefig(output / "wishbone_corner.png", dpi=110)
    print(rest)
    print(tyre)
    still = mg.simulate(rest.model, rest, duration=0.01, step=0.01).efforts("tyre").push("height")[0]
    return {"tyre over weight at rest": still / (9.81 * float(rest.model.total_mass))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
