"""Seeded random planar linkages: one closed chain of hinges, with a spring, friction and a motor."""

from __future__ import annotations

import numpy as np

import mechgrad as mg


def random_linkage(seed: int, bars: int) -> tuple[mg.Model, dict[str, float]]:
    """A chain of `bars` moving bars from the ground back to it, and what is held to put it together: as many hinges as
    it has degrees of freedom, bars - 2."""
    rng = np.random.default_rng(seed)
    # corners around a circle at random distances: no two bars in line
    angles = np.linspace(0.0, 2.0 * np.pi, bars + 1, endpoint=False) + rng.uniform(-0.25, 0.25, bars + 1)
    corners = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1) * rng.uniform(0.7, 1.3, (bars + 1, 1))
    normal = (0.0, 0.0, 1.0)
    names = ["ground", *(f"bar{k}" for k in range(bars)), "ground"]
    joints = [mg.Revolute("h0", "ground", "bar0", corners[0], axis=normal)]
    for k in range(1, bars):
        joints.append(mg.Revolute(f"h{k}", names[k], names[k + 1], corners[k] - corners[k - 1], axis=normal))
    closing = mg.Revolute(
        f"h{bars}", "ground", names[bars], corners[bars], axis=normal, child_origin=corners[bars] - corners[bars - 1]
    )
    bodies = []
    for k in range(bars):
        mass, along = rng.uniform(0.5, 2.0), corners[k + 1] - corners[k]
        bodies.append(
            mg.Body(
                f"bar{k}", mass, 0.5 * along + 0.1 * rng.uniform(-1, 1, 3), mass * rng.uniform(0.1, 0.2) * np.eye(3)
            )
        )
    points = [mg.Point(f"P{k}", f"bar{k}", rng.uniform(-0.3, 0.3, 3)) for k in range(bars)]
    points.append(mg.Point("wall", "ground", rng.uniform(-2, 2, 3)))
    forces = [
        mg.forces.SpringDamper(
            "spring", f"P{bars - 1}", "wall", rng.uniform(5, 30), rng.uniform(0, 2), rng.uniform(0.2, 1)
        ),
        mg.forces.JointFriction("rub", "h0", rng.uniform(0.1, 0.4), rng.uniform(0, 0.3), 0.4),
        mg.forces.Motor("motor", "h0", mg.functions.Spline((0.0, 0.05, 0.12, 0.3), rng.uniform(-2, 2, 4))),
    ]
    model = mg.Model(
        f"linkage {seed}", bodies, [*joints, closing], points, gravity=9.81 * rng.standard_normal(3) / np.sqrt(3.0),
        forces=forces, cut=[f"h{bars}"],
    )  # fmt: skip
    return model, {f"h{k}": rng.uniform(-0.1, 0.1) for k in range(bars - 2)}
