"""Motions of `simulate` to and from files: swing.npz has the states and, as text, the recipe that makes them again.

    format, version        "mechgrad trajectory", 1
    t, q, v, a             instants and states as of `Trajectory`, under the names q_names and v_names
    multipliers, norms     of the constraint rows
    ended                  "duration", or why the march could not go on
    recipe                 the text of a recipe file (`mechgrad.io.recipes`), model included

The archive holds numbers and strings only and is read without pickle: a file from elsewhere cannot run code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mechgrad.errors import InputError
from mechgrad.io.archives import Archive
from mechgrad.io.recipes import recipe_from_text, recipe_text
from mechgrad.simulation.saved import SavedMotion

if TYPE_CHECKING:
    from mechgrad.simulation.trajectory import Trajectory

__all__ = ["load_trajectory", "save_trajectory"]

_ARCHIVE: Final = Archive("mechgrad trajectory", 1, "motion", "save_trajectory")
_STATES: Final = ("t", "q", "v", "a", "multipliers", "norms")


def save_trajectory(motion: Trajectory | SavedMotion, path: str | Path) -> None:
    """Write a motion with its recipe: `path` "swing" or "swing.npz" gives swing.npz.

    A recipe that no file can hold (a stop condition, a force in Python) is an error, and nothing is written; states
    alone are np.savez("swing.npz", t=motion.t, q=motion.q).

    Example
    -------
    >>> swing = mg.simulate(model, {"pin": 0.5}, 0.2)
    >>> save_trajectory(swing, "swing")
    >>> bool(np.array_equal(load_trajectory("swing").q, swing.q))
    True
    """
    if not all(hasattr(motion, name) for name in (*_STATES, "recipe")):
        raise InputError(f"save_trajectory: a {type(motion).__name__} is no Trajectory; give what simulate returned.")
    content: dict[str, Any] = {name: getattr(motion, name) for name in _STATES}
    content |= {"q_names": motion.model.q_names, "v_names": motion.model.v_names, "ended": motion.ended}
    _ARCHIVE.write(_file(path), content | {"recipe": recipe_text(motion.recipe)})


def load_trajectory(path: str | Path) -> SavedMotion:
    """Read a motion that `save_trajectory` (or `mechgrad simulate -o`) wrote; `path` as there.

    Example
    -------
    >>> swing = load_trajectory("swing.npz")  # doctest: +SKIP
    >>> heavier = swing.recipe.with_values({"bob.mass": 2.0}).simulate()  # doctest: +SKIP
    """
    file = _file(path)
    content = _ARCHIVE.read(file)
    for name in (*_STATES, "ended", "recipe"):
        if name not in content:
            raise _ARCHIVE.damaged(file, f"it has no {name}")
    states = {name: _ARCHIVE.numbers(file, content, name) for name in _STATES}
    recipe = recipe_from_text(str(content["recipe"]), f"{file}: recipe")
    model, nt = recipe.model, len(states["t"])
    shape = (*recipe.start.q.shape[:-1], nt)
    rows = states["multipliers"].shape[-1:] if states["multipliers"].ndim else ()
    sizes = {"t": (nt,), "q": (*shape, model.n_q), "v": (*shape, model.n_v), "a": (*shape, model.n_v),
             "multipliers": (*shape, *rows), "norms": (*shape, 3)}  # fmt: skip
    for name, x in states.items():
        if x.shape != sizes[name]:
            raise _ARCHIVE.damaged(file, f"{name} has shape {x.shape}, where its recipe makes {sizes[name]}")
    return SavedMotion(
        model, states["t"], states["q"], states["v"], states["a"], states["multipliers"], states["norms"],
        str(content["ended"]), recipe,
    )  # fmt: skip


def _file(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
