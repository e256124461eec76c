"""What the first use costs: compilation for this machine, and what a later process waits for.

    python benchmarks/cold_start.py [--quick] [--only NAME ...]

Every case is a process of its own. Cold: with an empty MECHGRAD_CACHE_DIR, from the import to the first result. Warm:
the same once more with the machine code that the first process left; the median of some. Compilation must not grow:
the `_cold_s` are keys to compare before and after (`compare.py`). --quick leaves gradients out, which compile longest.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile

from common import Report, digits, machine, other_process

FRAME = """
import json, time
begin = time.perf_counter()
import numpy as np
import mechgrad as mg
from mechgrad import gallery
imported = time.perf_counter()
CODE
print(json.dumps({"import": imported - begin, "seconds": time.perf_counter() - begin}))
"""
HUMAN = "model, (_, q, v, a) = gallery.human(), gallery.human_motion()"
PENDULUM = """
bob = mg.Body("bob", mass=2.0, com=(0, 0, -0.8), inertia=(0.01, 0.01, 0.002))
model = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
motion = mg.simulate(model, {"pin": 0.5}, 2.0)"""
FIVE_BAR = "motion = mg.simulate(gallery.five_bar(), gallery.five_bar_start(), 0.1, step=1e-3)"
GRADIENT = 'mg.gradient(motion, mg.AtEnd(mg.measures.KineticEnergy()), ["A1.mass", "S1.stiffness"], method="METHOD")'
OF_PIN = 'mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.com.z", "gravity.z"])'
CASES: dict[str, tuple[str, str]] = {
    "torques": ("torques of the human, 301 samples", f"{HUMAN}\nmg.inverse_dynamics(model, q, v, a)"),
    "derivatives": ("their derivatives too", f"{HUMAN}\nmg.inverse_dynamics_derivatives(model, q, v, a)"),
    "pendulum": ("a simulated pendulum, error control", PENDULUM),
    "five_bar": ("a simulated five-bar, fixed step", FIVE_BAR),
    "gradient_pendulum": ("the pendulum and its gradient", f"{PENDULUM}\n{OF_PIN}"),
    "gradient_direct": ("the five-bar and its gradient, direct", f"{FIVE_BAR}\n{GRADIENT.replace('METHOD', 'direct')}"),
    "gradient_adjoint": (
        "the five-bar and its gradient, adjoint",
        f"{FIVE_BAR}\n{GRADIENT.replace('METHOD', 'adjoint')}",
    ),
}


def seconds_of(code: str, folder: str) -> dict[str, float]:
    """Of a new process with its machine code in the folder."""
    return other_process(FRAME.replace("CODE", code), MECHGRAD_CACHE_DIR=folder, MECHGRAD_QUIET="1")


def main() -> None:
    """All cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="no gradients, one warm process each")
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help=f"of {', '.join(CASES)}")
    asked = parser.parse_args()
    names = asked.only or [name for name in CASES if not (asked.quick and name.startswith("gradient"))]
    report, rows, imports = Report({"machine": machine()}), [], []
    for name in names:
        label, code = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            cold = report.note(f"{name}_cold_s", seconds_of(code, folder)["seconds"])
            later = [seconds_of(code, folder) for _ in range(1 if asked.quick else 5)]
        warm = report.note(f"{name}_warm_s", statistics.median(x["seconds"] for x in later))
        imports += [x["import"] for x in later]
        rows.append([label, digits(cold), digits(warm)])
    report.note("import_s", statistics.median(imports))
    report.table("from the import to the first result [s]", ["", "empty cache", "later process"], rows)
    report.finish()


if __name__ == "__main__":
    main()
