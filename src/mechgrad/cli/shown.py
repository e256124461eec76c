"""What a word on the command line shows: a motion of a file, a model of a file, or one of the gallery."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import mechgrad as mg
from mechgrad.cli.models import GALLERY, find_model
from mechgrad.cli.starts import start_of
from mechgrad.errors import InputError
from mechgrad.io import load_motion, load_recipe, load_trajectory
from mechgrad.io.archives import kind_of

__all__ = ["SHOWN_HELP", "find_shown", "measures_of"]

SHOWN_HELP: Final = (
    "A motion (.npz of `mechgrad simulate -o`, of save_trajectory or save_motion), a recipe or a model (.toml), or a "
    "model of the gallery: " + ", ".join(GALLERY) + "."
)


def find_shown(name: str, duration: float | None) -> Any:
    """The motion that a name means, or, of a model without a duration, the state that it starts in."""
    path = Path(name)
    if path.suffix == ".npz":
        return load_motion(path) if kind_of(path) == "mechgrad motion" else load_trajectory(path)
    if path.suffix == ".toml" and path.is_file() and _is_recipe(path):
        recipe = load_recipe(path)
        return (recipe if duration is None else recipe.changed(duration=duration)).simulate()
    model = find_model(name)
    start = start_of(name, model, {}, {})
    if duration is None:
        return start
    return mg.simulate(model, start, duration)


def _is_recipe(path: Path) -> bool:
    """Whether a TOML file has a duration above its tables; what is wrong with it is told by whoever reads it."""
    with path.open(encoding="utf-8", errors="replace") as file:
        above = takewhile(lambda line: not line.startswith("["), file)
        return any(line.partition("=")[0].strip() == "duration" for line in above)


def measures_of(given: list[str] | None) -> list[Any]:
    """Coordinates by name, and measures as Python writes them: KineticEnergy(), PointPosition(tip), Distance(a, b)."""
    found: list[Any] = []
    for text in given or ():
        kind, bracket, rest = text.partition("(")
        if not bracket:
            found.append(text)
            continue
        known = [name for name in mg.measures.__all__ if name not in ("Measure", "GeometricMeasure")]
        if kind not in known or not rest.endswith(")"):
            raise InputError(
                f"{text!r} is no measure: write a coordinate, or one of {', '.join(known)} with its names in brackets, "
                "PointPosition(tip) for instance."
            )
        names = [part.strip() for part in rest[:-1].split(",") if part.strip()]
        try:
            found.append(getattr(mg.measures, kind)(*names))
        except (TypeError, ValueError) as error:
            raise InputError(f"{text!r}: {error}. help(mg.measures.{kind}) says what it takes.") from error
    return found
