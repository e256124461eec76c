"""Motions to and from files: numbers in walk.npz, the model beside them in walk.toml.

    format, version        "mechgrad motion", 1
    control_points         (n_points, n), coordinates first, then forces in cut joints, multipliers of constraints, time
    coordinates            names of the model's coordinates, to notice another model
    duration, lengths      T [s]; lengths of the segments [s], if they were free
    segments, degree, knots
    cuts                   (cuts, 3) strings: point_a, point_b, axes
    driven                 names of the actuators, if not all coordinates have one
    reference              (n_q,) attitudes about which balls turn, if there are any
    x, objective, status, reason, iterations, solver     of the search, if there was one

The archive holds numbers and strings only and is read without pickle: a file from elsewhere cannot run code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mechgrad.errors import InputError, ModelError
from mechgrad.io.archives import Archive
from mechgrad.io.toml import load_model, save_model

# The motion modules are imported where they are used: together with the parts of scipy that they need they take longer
# to import than half of the rest, and `import mechgrad` comes by here.
if TYPE_CHECKING:
    from mechgrad.model import Model
    from mechgrad.optimization.motion import MotionSolution

__all__ = ["load_motion", "save_motion"]

_ARCHIVE: Final = Archive("mechgrad motion", 1, "motion", "save_motion")
_SEARCH: Final = ("x", "objective", "status", "reason", "iterations", "solver")


def save_motion(solution: MotionSolution, path: str | Path) -> None:
    """Write a motion: `path` "walk" or "walk.npz" gives walk.npz and, with the model, walk.toml.

    Both files are needed to read it back. An earlier motion of that name is replaced; a model file that belongs to no
    motion is not, unless it holds the same model. A model that no file can hold (a design variable that drives a number
    through a function) is an error, and nothing is written.

    Example
    -------
    >>> from mechgrad.optimization.motion import MotionSolution, Splines
    >>> save_motion(MotionSolution(model, Splines(4), np.ones((7, 1)), 0.5, None), "still")
    >>> load_motion("still").duration
    0.5
    """
    from mechgrad.optimization.motion import MotionSolution

    if not isinstance(solution, MotionSolution):
        raise InputError(f"save_motion: a {type(solution).__name__} is no MotionSolution; give what solve() returned.")
    numbers, model = _files(path)
    content: dict[str, Any] = {
        "control_points": solution.control_points,
        "coordinates": list(solution.model.v_names),
        "duration": solution.duration,
        "segments": solution.splines.segments,
        "degree": solution.splines.degree,
        "knots": solution.splines.knots,
        "cuts": np.array([(cut.point_a, cut.point_b, cut.axes) for cut in solution.cuts], str).reshape(-1, 3),
    }
    for key in ("lengths", "driven", "reference"):
        if getattr(solution, key) is not None:
            content[key] = np.array(getattr(solution, key))
    if solution.result is not None:
        content |= {key: getattr(solution.result, key) for key in _SEARCH}
    if not _holds(model, solution.model):
        if model.exists() and not numbers.exists():
            raise InputError(
                f"{model}: there is another model in this file, and no motion {numbers.name} beside it that it could "
                "belong to. Choose another name for the motion, or remove the file."
            )
        save_model(solution.model, model)
    _ARCHIVE.write(numbers, content)


def load_motion(path: str | Path) -> MotionSolution:
    """Read a motion that `save_motion` wrote; `path` as there.

    Control points, duration and model are those that were saved, to the last bit. `result` is None: what the search
    reported stays in the file, `np.load("walk.npz")["objective"]`.

    Example
    -------
    >>> walk = load_motion("walk.npz")  # doctest: +SKIP
    """
    from mechgrad.optimization.motion import CutForce, MotionSolution, Splines
    from mechgrad.optimization.motion.closing import setting_of
    from mechgrad.optimization.motion.measures.times import depends_on_time

    numbers, model_file = _files(path)
    pair = f"A motion is two files, {numbers.name} and {model_file.name}, written by save_motion."
    content = _ARCHIVE.read(numbers, pair)
    if not model_file.is_file():
        raise InputError(
            f"{model_file}: the model of the motion {numbers.name} is missing. save_motion wrote it beside the "
            "numbers; put it back under this name."
        )
    model = load_model(model_file)
    try:
        splines = Splines(int(content["segments"]), int(content["degree"]), str(content["knots"]))
        cuts = tuple(CutForce(*map(str, row)) for row in content["cuts"])
        duration = float(content["duration"])
        points = np.array(content["control_points"], float)
        lengths = np.array(content["lengths"], float) if "lengths" in content else None
        named = tuple(map(str, content["coordinates"]))
        driven = tuple(map(str, content["driven"])) if "driven" in content else None
        reference = np.array(content["reference"], float) if "reference" in content else None
    except (KeyError, TypeError, ValueError) as error:
        raise _ARCHIVE.damaged(numbers, f"it cannot be understood: {error}") from error
    if named != model.v_names:
        raise InputError(
            f"{numbers}: a motion of {', '.join(named)}; the model {model.name!r} in {model_file.name} has the "
            f"coordinates {', '.join(model.v_names)}. The two files do not belong together."
        )
    setting = setting_of(model, splines, cuts, driven, reference, duration, duration)
    expected = splines.n_points, setting.width
    timed = splines.n_points, setting.width + 1  # the profile of time, where laws asked for it
    if (points.shape != expected and not (points.shape == timed and depends_on_time(model))) or not np.all(
        np.isfinite(points)
    ):
        raise _ARCHIVE.damaged(
            numbers, f"control_points has shape {points.shape}; finite numbers {expected} are needed"
        )
    if not 0 < duration < np.inf:
        raise _ARCHIVE.damaged(numbers, f"the duration is {duration} s")
    if lengths is not None and (lengths.shape != (splines.segments,) or not np.all(lengths > 0)):
        raise _ARCHIVE.damaged(
            numbers, f"lengths has shape {lengths.shape}; {splines.segments} positive numbers are needed"
        )
    return MotionSolution(model, splines, points, duration, None, cuts, lengths, None, driven, reference)


def _files(path: str | Path) -> tuple[Path, Path]:
    """walk.npz and walk.toml, for walk and for either of them."""
    path = Path(path)
    name = path.stem if path.suffix in (".npz", ".toml") else path.name
    return path.with_name(f"{name}.npz"), path.with_name(f"{name}.toml")


def _holds(path: Path, model: Model) -> bool:
    """Whether a file holds this model: comments that somebody wrote into it are then kept."""
    try:
        return path.is_file() and load_model(path) == model
    except ModelError:
        return False
