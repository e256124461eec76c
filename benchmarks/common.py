"""What benchmarks share: alternating clocks, tables, the machine's description, the same mechanism in Pinocchio."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import environment
import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.spatial.transform import Rotation

import mechgrad as mg
from mechgrad.kernels.host import LANES

# ----------------------------------------------------------------------------------------------------- clocks
Times = dict[str, np.ndarray]


def interleave(calls: Mapping[str, Callable[[], object]], rounds: int, repeat: int = 1) -> Times:
    """Seconds per call, one number per round: every round times all candidates next to each other, in turning order.

    A machine that slows down for a while slows all candidates of that round, so their ratios stay fair.
    """
    names = list(calls)
    times: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        calls[name]()
    gc.collect()
    gc.disable()
    try:
        for k in range(rounds):
            for name in names[k % len(names) :] + names[: k % len(names)]:
                call = calls[name]
                start = time.perf_counter()
                for _ in range(repeat):
                    call()
                times[name].append((time.perf_counter() - start) / repeat)
    finally:
        gc.enable()
    return {name: np.array(values) for name, values in times.items()}


def faster(times: Times, ours: str, theirs: str) -> float:
    """How many times faster `ours` is: the median of the ratios of the rounds."""
    return float(np.median(times[theirs] / times[ours]))


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """p of seconds ~ size^p, by regression of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def difference(got: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference beside the largest number."""
    return float(np.max(np.abs(got - wanted)) / np.max(np.abs(wanted)))


# ----------------------------------------------------------------------------------------------------- report
@dataclass
class Report:
    """Tables for a reader, and every figure once more as one line of JSON at the end."""

    figures: dict[str, Any] = field(default_factory=dict)
    console: Console = field(default_factory=lambda: Console(width=100, highlight=False))

    def note(self, key: str, value: Any) -> Any:
        """Keep a figure, to four digits, or a word."""
        self.figures[key] = value if isinstance(value, int | str) else float(f"{value:.4g}")
        return value

    def say(self, text: str) -> None:
        """A line of text."""
        self.console.print(text, markup=False)

    def table(self, title: str, header: list[str], rows: list[list[str]]) -> None:
        """A table; all columns but the first are numbers."""
        table = Table(title=title, title_justify="left")
        for k, name in enumerate(header):
            table.add_column(escape(name), justify="right" if k else "left", no_wrap=True)
        for row in rows:
            table.add_row(*map(escape, row))
        self.console.print(table)

    def finish(self) -> None:
        """Print the JSON object, as the last line."""
        print(json.dumps(self.figures))


def digits(x: float) -> str:
    """Three significant digits, never in powers of ten."""
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def powers(x: float) -> str:
    """Two significant digits in powers of ten: 3.6e-5."""
    if not np.isfinite(x):
        return "-"
    mantissa, power = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(power)}"


def machine() -> dict[str, Any]:
    """The processor and the versions behind a figure."""
    return environment.machine() | {"lanes": LANES}


def other_process(code: str, **environment: str) -> dict[str, float]:
    """Run code in a new process; its last line is JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


# -------------------------------------------------------------------------------------------------- pinocchio
def pin_model(model: mg.Model) -> pin.Model:
    """The mechanism in Pinocchio, from the documented transforms of its joints, with its fast types where they fit."""
    twin = pin.Model()
    twin.gravity.linear = np.asarray(model.gravity)
    frames: dict[str, tuple[int, pin.SE3]] = {"ground": (0, pin.SE3.Identity())}
    for joint in model.joints:
        index, place = frames[joint.parent]
        before, motion, behind = _PIECES[type(joint)](joint)
        index = int(twin.addJoint(index, motion, place * before, joint.name))
        frames[joint.child] = index, behind
        body = model.body(joint.child)
        if body.mass:
            twin.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), behind)
    assert twin.nv == model.n_v
    return twin


def symmetric(upper: np.ndarray) -> np.ndarray:
    """Pinocchio promises the upper triangle only."""
    upper = np.triu(upper)
    return upper + np.triu(upper, 1).swapaxes(-1, -2)


Pieces = tuple[pin.SE3, pin.JointModel, pin.SE3]


def _pose(rotation: Rotation | None = None, origin: Any = (0.0, 0.0, 0.0)) -> pin.SE3:
    return pin.SE3(np.eye(3) if rotation is None else rotation.as_matrix(), np.asarray(origin, float))


def _denavit_hartenberg(joint: mg.drawing.DenavitHartenberg) -> Pieces:
    """Standard: Rz(theta) Tz(d) motion Tx(a) Rx(alpha); modified: the last two first. sign = -1 turns z over."""
    screw_z = _pose(Rotation.from_euler("z", joint.theta), (0.0, 0.0, joint.d))
    screw_x = _pose(Rotation.from_euler("x", joint.alpha), (joint.a, 0.0, 0.0))
    over = _pose(Rotation.from_euler("x", np.pi)) if joint.sign < 0 else _pose()
    motion = pin.JointModelRZ() if joint.kind == "revolute" else pin.JointModelPZ()
    if joint.convention == "standard":
        return screw_z * over, motion, over.inverse() * screw_x
    return screw_x * screw_z * over, motion, over.inverse()


_ALIGNED = {
    mg.Revolute: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ, pin.JointModelRevoluteUnaligned),
    mg.Prismatic: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ, pin.JointModelPrismaticUnaligned),
}


def _one_axis(joint: mg.Revolute | mg.Prismatic) -> Pieces:
    axis = np.asarray(joint.axis) / np.linalg.norm(joint.axis)
    *aligned, free = _ALIGNED[type(joint)]
    motions = [kind() for kind, e in zip(aligned, np.eye(3), strict=True) if np.array_equal(axis, e)]
    behind = _pose(Rotation.from_quat(joint.orientation, scalar_first=True)) * _pose(None, -joint.child_origin)
    return _pose(None, joint.origin), motions[0] if motions else free(axis), behind


_PIECES: dict[type, Callable[[Any], Pieces]] = {
    mg.drawing.DenavitHartenberg: _denavit_hartenberg,
    mg.Revolute: _one_axis,
    mg.Prismatic: _one_axis,
}
