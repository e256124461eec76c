"""A ship's anchor: 64 bodies, 126 degrees of freedom, hauled in along the hull, and what its motion depends on.

The machine of A. Lopez Varela's thesis (2022, section 7.5), which announces its sensitivities (docs/anchor.md).
`--duration 0.5` takes half a second of it; the default is a tenth of that.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mechgrad as mg
from mechgrad.gallery import anchor, anchor_start

STEP = 2e-4
NUMBERS = [
    "anchor.mass",
    "link 30.mass",
    "link 35 side.stiffness",
    "link 35 side.friction",
    "slip.viscous",
    "gravity.x",
]


def lifting(model: mg.Model, duration: float, form: str = "fully-recursive") -> mg.Trajectory:
    """Explicit steps by elimination, or implicit ones by Newton's iteration."""
    scheme = "rk4" if form == "fully-recursive" else "trapezoidal"
    return mg.simulate(model, anchor_start(model), duration, step=STEP, formulation=form, scheme=scheme)


def touching(motion: mg.Trajectory) -> list[int]:
    """How many spheres lie on the hull, at every 25th instant."""
    spheres = [force for force in motion.model.forces if force.type_name == "sphere_contact"]
    places = motion.markers([*(force.point for force in spheres), "amidships"]).position[::25]
    beside = places[:, :-1] - places[:, -1:]
    hull = spheres[0].ground  # its x is the ship's y, its y the ship's z, its z outboard
    return [sum(hull.distance(x[[1, 2, 0]]) < f.radius for x, f in zip(at, spheres, strict=True)) for at in beside]


def main(output: Path, samples: int = 0, duration: float = 0.05) -> dict[str, float]:
    """Elimination beside Newton's iteration, and gradients; a picture."""
    model = anchor()
    for form in ("fully-recursive", "semi-recursive"):
        lifting(model, STEP, form)  # kernels are compiled and loaded
    begin = time.process_time()
    fully = lifting(model, duration)
    between = time.process_time()
    semi = lifting(model, duration, "semi-recursive")
    print(
        f"{len(fully.t) - 1} steps: elimination {between - begin:.2f} s, Newton {time.process_time() - between:.2f} s"
    )
    off = float(np.abs(fully.q - semi.q).max())
    print(f"the two differ by {off:.2g} at most; the windlass hauled {1e3 * fully.q[-1, 0]:.2f} mm")
    lowest = mg.Integral(lambda x: x[:, 0] ** 2, mg.measures.PointPosition("crown"))
    adjoint, direct = (mg.gradient(fully, lowest, NUMBERS, method=method) for method in ("adjoint", "direct"))
    print(adjoint)
    figure = Figure((6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(1e3 * fully.t[::25], touching(fully), drawstyle="steps-post")
    axes.set(xlabel="time [ms]", title="spheres on the hull")
    figure.savefig(output / "anchor.png", dpi=150)
    return {
        "elimination and Newton": off,
        "adjoint and direct": float(np.abs(adjoint.relative() - direct.relative()).max()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--duration", type=float, default=0.05, help="of the motion [s]")
    arguments = parser.parse_args()
    print(main(arguments.output, duration=arguments.duration))
