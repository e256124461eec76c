"""A mechanism as a file: written, read back, described and differentiated from the command line."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import mechgrad as mg
from mechgrad.gallery import double_pendulum

PROBLEM = """
model = "pendulum.toml"
duration = 1.0
step = 0.001
wrt = ["upper.mass", "lower.mass", "elbow.origin.z", "start.position.shoulder"]

[start.at]
shoulder = 0.8
elbow = 0.3

[objectives.swing]
kind = "end"
measure = "JointCoordinate"
of = ["elbow"]

[objectives.energy]
kind = "end"
measure = "KineticEnergy"
"""


def command(*words: object) -> str:
    """What `mechgrad ...` prints."""
    done = subprocess.run([sys.executable, "-m", "mechgrad", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Write, read, describe, differentiate."""
    model = double_pendulum()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mg.save_model(model, folder / "pendulum.toml")
        assert mg.load_model(folder / "pendulum.toml") == model
        (folder / "problem.toml").write_text(PROBLEM)
        print(command("describe", folder / "pendulum.toml"))
        table = command("gradient", folder / "problem.toml", "--check", "--plot", output / "files.png")
    print(table)
    motion = mg.simulate(model, {"shoulder": 0.8, "elbow": 0.3}, duration=1.0, step=0.001)
    g = mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("elbow")), ["elbow.origin.z"])
    return {"as in Python": float(f"{g['elbow.origin.z'][0]:.8g}" in table)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    main(parser.parse_args().output)
