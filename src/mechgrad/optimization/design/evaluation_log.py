"""Every evaluation on a line of JSON, appended as it is made; read back, it continues a run that ended.

    {"mechgrad": "...", "variables": [...], "functions": [...]}                                what the run is about
    {"number": 1, "x": [...], "values": [...], "gradient": null, "seconds": 0.01, "failure": ""}
    {"number": 1, "x": [...], "values": [...], "gradient": [[...]], ...}                       once it was asked for

Numbers have all their digits. A line that a killed process left unfinished is passed over.
"""

from __future__ import annotations

import json
import threading
import warnings
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from mechgrad.errors import InputError, MechgradWarning
from mechgrad.typing import FloatArray


class LogWarning(MechgradWarning):
    """A log that cannot be written any more, while the run goes on."""


class Logged(Protocol):
    """What a line of the log says."""

    @property
    def number(self) -> int:
        """In the order of the run."""

    @property
    def x(self) -> FloatArray:
        """The variables."""

    @property
    def values(self) -> FloatArray:
        """Of all functions."""

    @property
    def gradient(self) -> FloatArray | None:
        """Of all functions by all variables."""

    @property
    def seconds(self) -> float:
        """What it took."""

    @property
    def failure(self) -> str:
        """Why there are no values."""


@final
class EvaluationLog:
    """A file that evaluations are appended to.

    path : where
    header : what the run is about: names of variables and functions
    fresh : begin a new file; else go on with the one that is there
    """

    def __init__(self, path: str | Path, header: dict[str, Any], *, fresh: bool = True) -> None:
        self.path, self.lost = Path(path), 0
        self._one_at_a_time = threading.Lock()
        if fresh and self.path.is_file() and self.path.stat().st_size:
            raise InputError(
                f"log {str(path)!r} is there already, and is not written over. Continue it by resume={str(path)!r}, "
                "give another path, or delete it."
            )
        try:
            if fresh:
                self.path.write_text(json.dumps(header) + "\n", encoding="utf-8")
            else:
                _end_line(self.path)
        except OSError as error:
            raise InputError(
                f"log {str(path)!r} cannot be written: {error.strerror or error}. Give another path, or none."
            ) from error

    def append(self, evaluation: Logged) -> None:
        """One more line; where there is no room any more, a warning, once, and the run goes on."""
        with self._one_at_a_time:
            self._append(evaluation)

    def _append(self, evaluation: Logged) -> None:
        if self.lost:
            self.lost += 1
            return
        gradient = None if evaluation.gradient is None else evaluation.gradient.tolist()
        line = {
            "number": evaluation.number, "x": evaluation.x.tolist(), "values": evaluation.values.tolist(),
            "gradient": gradient, "seconds": evaluation.seconds, "failure": evaluation.failure,
        }  # fmt: skip
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            self.lost = 1
            warnings.warn(
                f"log {str(self.path)!r} cannot be written any more: {error.strerror or error}. Evaluations from "
                f"number {evaluation.number} on are not stored; the run goes on, its result has all of them.",
                LogWarning,
                stacklevel=3,
            )


def _end_line(path: Path) -> None:
    """Close a line that a killed process left open."""
    with path.open("rb+") as file:
        text = file.read()
        if text and not text.endswith(b"\n"):
            file.write(b"\n")


def read_log(path: str | Path, header: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of an earlier run, of the same problem; later lines about a point replace earlier ones."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"resume: log {str(path)!r} cannot be read: {error}.") from error
    read = [found for found in map(_parsed, lines) if found is not None]
    if not read or "variables" not in read[0]:
        raise InputError(f"resume: {str(path)!r} is no log of evaluations: its first line does not name variables.")
    for what in ("variables", "functions", "scenarios"):
        if read[0].get(what) != header[what]:
            raise InputError(
                f"resume: log {str(path)!r} is of another problem: {what} are {read[0].get(what)!r} there and "
                f"{header[what]!r} here."
            )
    found: dict[bytes, dict[str, Any]] = {}
    n, k = len(header["variables"]), None
    for line in read[1:]:
        try:
            x, values = np.array(line["x"], float), np.array(line["values"], float)
            slopes = None if line["gradient"] is None else np.array(line["gradient"], float)
            failure, seconds = str(line["failure"]), float(line["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"resume: log {str(path)!r} has a line that is no evaluation: {error!r}.") from error
        k = len(values) if k is None and not failure else k
        fits = x.shape == (n,) and (failure or values.shape == (k,)) and (slopes is None or slopes.shape == (k, n))
        if not fits:
            raise InputError(f"resume: log {str(path)!r} has an evaluation of another number of variables or values.")
        found[x.tobytes()] = {"x": x, "values": values, "gradient": slopes, "failure": failure, "seconds": seconds}
    return list(found.values())


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def log_of(path: str | Path, part: str, number: int) -> Path:
    """Where evaluations of one search of several go, a horizon or a point of a front: beside each other.

    >>> log_of("runs/arm.jsonl", "horizon", 1).name
    'arm.horizon-1.jsonl'
    """
    path = Path(path)
    return path.with_name(f"{path.stem}.{part}-{number}{path.suffix}")
