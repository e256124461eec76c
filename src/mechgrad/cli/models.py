"""Which model a word on the command line or in a problem file means: a file, or one of the gallery."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import mechgrad as mg
from mechgrad import gallery
from mechgrad.errors import InputError, unknown_name
from mechgrad.io import load_model

__all__ = ["GALLERY", "MODEL_HELP", "Ready", "find_model", "story"]


class Ready(NamedTuple):
    """A mechanism of the gallery: how it is made, and where it starts, (model) -> State or (q, v)."""

    make: Callable[[], mg.Model]
    start: Callable[[mg.Model], Any]


def _rest(model: mg.Model) -> Any:
    return model.neutral(), None


GALLERY: Final[Mapping[str, Ready]] = {
    "anchor": Ready(gallery.anchor, gallery.anchor_start),
    "arm7": Ready(gallery.arm7, _rest),
    "bicycle": Ready(lambda: gallery.bicycle("rolling"), gallery.bicycle_start),
    "bricard": Ready(gallery.bricard, _rest),
    "buggy": Ready(gallery.buggy, gallery.buggy_start),
    "chain": Ready(lambda: gallery.chain(5), _rest),
    "delta_robot": Ready(gallery.delta_robot, gallery.delta_robot_start),
    "double_pendulum": Ready(gallery.double_pendulum, lambda model: ([1.0, 0.5], None)),
    "five_bar": Ready(gallery.five_bar, lambda model: (gallery.five_bar_start(), None)),
    "four_bars": Ready(lambda: gallery.four_bars(2)[0], lambda model: gallery.four_bars(2)[1](1.5, -1.0)),
    "free_top": Ready(lambda: gallery.free_top()[0], lambda model: gallery.free_top()[1:]),
    "gyroscope": Ready(gallery.gyroscope, gallery.gyroscope_start),
    "half_car": Ready(gallery.half_car, lambda model: ([0.05, 0.02, 0.0, 0.0], None)),
    "heavy_top": Ready(lambda: gallery.heavy_top()[0], lambda model: gallery.heavy_top()[1:]),
    "human": Ready(gallery.human, _rest),
    "quarter_car": Ready(gallery.quarter_car, lambda model: ([0.05, 0.0], None)),
    "seven_body": Ready(gallery.seven_body, lambda model: (gallery.seven_body_start(model), None)),
    "slider_crank": Ready(gallery.slider_crank, _rest),
    "stewart_platform": Ready(gallery.stewart_platform, gallery.stewart_platform_start),
    "theo_jansen_leg": Ready(gallery.theo_jansen_leg, gallery.theo_jansen_leg_start),
    "walker": Ready(gallery.walker, _rest),
    "watts_linkage": Ready(gallery.watts_linkage, _rest),
}
"""Names of the gallery, as every command and every problem file knows them."""

MODEL_HELP: Final = "A model file (.toml), or one of: " + ", ".join(GALLERY) + "."


def story(name: str) -> str:
    """One line about a mechanism of the gallery: the first of what its function says of itself."""
    return (inspect.getdoc(getattr(gallery, name)) or "").split("\n\n")[0].replace("\n", " ")


def find_model(name: object, folder: Path = Path()) -> mg.Model:
    """The model of a name: of the gallery, or of a file, looked for from `folder` on."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"model is {name!r}; give a model file (.toml) or a name of the gallery: {', '.join(GALLERY)}."
        )
    if name in GALLERY:
        return GALLERY[name].make()
    if name.endswith(".toml") or _exists(folder / name):
        return load_model(folder / name)
    raise unknown_name("model", name, GALLERY, "neither a .toml file nor a model of the gallery")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False
