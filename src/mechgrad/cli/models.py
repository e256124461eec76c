"""Which model a word on the command line or in a problem file means: a file, or one of the gallery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import mechgrad as mg
from mechgrad import gallery
from mechgrad.errors import InputError, unknown_name
from mechgrad.io import load_model

__all__ = ["GALLERY", "MODEL_HELP", "Ready", "find_model"]


class Ready(NamedTuple):
    """A mechanism of the gallery: how it is made, and where it starts, (model) -> State or (q, v)."""

    make: Callable[[], mg.Model]
    start: Callable[[mg.Model], Any]


def _rest(model: mg.Model) -> Any:
    return model.neutral(), None


GALLERY: Final[Mapping[str, Ready]] = {
    "arm7": Ready(gallery.arm7, _rest),
    "bicycle": Ready(lambda: gallery.bicycle("rolling"), gallery.bicycle_start),
    "bricard": Ready(gallery.bricard, _rest),
    "chain": Ready(lambda: gallery.chain(5), _rest),
    "double_pendulum": Ready(gallery.double_pendulum, lambda model: ([1.0, 0.5], None)),
    "five_bar": Ready(gallery.five_bar, lambda model: (gallery.five_bar_start(), None)),
    "four_bars": Ready(lambda: gallery.four_bars(2)[0], lambda model: gallery.four_bars(2)[1](1.5, -1.0)),
    "free_top": Ready(lambda: gallery.free_top()[0], lambda model: gallery.free_top()[1:]),
    "heavy_top": Ready(lambda: gallery.heavy_top()[0], lambda model: gallery.heavy_top()[1:]),
    "human": Ready(gallery.human, _rest),
    "seven_body": Ready(gallery.seven_body, lambda model: (gallery.seven_body_start(model), None)),
    "slider_crank": Ready(gallery.slider_crank, _rest),
    "walker": Ready(gallery.walker, _rest),
}
"""Names of the gallery, as every command and every problem file knows them."""

MODEL_HELP: Final = "A model file (.toml), or one of: " + ", ".join(GALLERY) + "."


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
