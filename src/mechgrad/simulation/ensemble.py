"""Many motions at once: recipes, marched in threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from mechgrad.errors import InputError, MechgradError
from mechgrad.kinematics.batch import check_threads
from mechgrad.simulation.recipe import Recipe
from mechgrad.simulation.recipe_checks import check_recipe
from mechgrad.simulation.side_by_side import Outcomes, side_by_side
from mechgrad.simulation.trajectory import Trajectory


class SimulationsFailed(MechgradError, ArithmeticError):
    """Some of many motions could not be made; the others are kept.

    names : of all, in their order: keys of the mapping, or "0", "1", ...
    trajectories : in the same order, None where there is none
    errors : what those that failed raised, by name; a `StepFailed` has the motion until then, `.trajectory`
    """

    def __init__(
        self, message: str, names: tuple[str, ...], trajectories: list[Trajectory | None], errors: dict[str, Exception]
    ) -> None:
        super().__init__(message)
        self.names, self.trajectories, self.errors = names, trajectories, errors


@overload
def simulate_all(recipes: Mapping[str, Recipe], *, threads: int = 0) -> dict[str, Trajectory]: ...


@overload
def simulate_all(recipes: Sequence[Recipe], *, threads: int = 0) -> list[Trajectory]: ...


def simulate_all(
    recipes: Sequence[Recipe] | Mapping[str, Recipe], *, threads: int = 0
) -> list[Trajectory] | dict[str, Trajectory]:
    """The motions of several recipes, several at a time: other starts, other manoeuvres, other numbers, other models.

    A motion is a thread by nature, and each is marched by one: the results are those of `recipe.simulate()` one after
    the other, to the last bit.

    Parameters
    ----------
    recipes : list of Recipe, or a mapping from names to them
        `motion.recipe` of a motion that was made before, `.with_values({...})` or `.changed(...)` of it.
    threads : all cores for 0

    Returns
    -------
    list of Trajectory, or a dictionary with the same names; in the order of the recipes

    Raises
    ------
    SimulationsFailed
        If some could not be made: which and why, with the others as its `.trajectories`.
    KeyboardInterrupt
        Ctrl-C ends all of them at once; `.trajectories` of the error has those that were finished, and the others as
        far as they came (`ended` says so); None for those that had not begun.

    >>> swing = mg.simulate(model, [0.5], 1.0, step=0.01)
    >>> heavy, light = simulate_all([swing.recipe.with_values({"bob.mass": m}) for m in (3.0, 1.0)])
    >>> heavy.model.value("bob.mass"), light.model.value("bob.mass")
    (3.0, 1.0)
    """
    check_threads(threads)
    if not isinstance(recipes, Mapping | Sequence):
        raise InputError(f"recipes is {recipes!r}; give a list of recipes (motion.recipe), or a mapping from names.")
    names = tuple(map(str, recipes)) if isinstance(recipes, Mapping) else tuple(map(str, range(len(recipes))))
    given = list(recipes.values() if isinstance(recipes, Mapping) else recipes)
    _check(names, given)
    done: Outcomes[Trajectory] = Outcomes([])
    try:
        side_by_side(Recipe.simulate, given, threads, done)
    except BaseException as interrupt:
        interrupt.trajectories = _as_far_as_they_came(done)  # type: ignore[attr-defined]
        finished = sum(x is not None and x.ended != "interrupted" for x in interrupt.trajectories)  # type: ignore[attr-defined]
        interrupt.add_note(
            f"{finished} of {len(given)} motions were finished; `.trajectories` of this error: as far as they came."
        )
        raise
    if done.errors:
        raise _failed(names, done)
    found = [motion for motion in done.results if motion is not None]
    return dict(zip(recipes, found, strict=True)) if isinstance(recipes, Mapping) else found


def _check(names: Sequence[str], recipes: Sequence[Recipe]) -> None:
    """Raise for what no motion can be made of, before any is."""
    if not recipes:
        raise InputError("there is no recipe; give at least one.")
    for name, recipe in zip(names, recipes, strict=True):
        if not isinstance(recipe, Recipe):
            raise InputError(f"recipe {name!r} is {recipe!r}; give motion.recipe, or what `.changed(...)` made of it.")
        try:
            check_recipe(recipe)
        except MechgradError as error:
            raise about(f"recipe {name!r}", error) from None


def about(what: str, error: Exception) -> Exception:
    """An error whose message begins with what it is about; its kind, and all that it carries, stay."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{what}: {error.args[0]}", *error.args[1:])
    else:
        error.add_note(what)
    return error


def _as_far_as_they_came(done: Outcomes[Trajectory]) -> list[Trajectory | None]:
    """Motions that are there, in parts where a march was interrupted."""
    parts = {k: getattr(error, "trajectory", None) for k, error in done.errors.items()}
    return [parts.get(k) if motion is None else motion for k, motion in enumerate(done.results)]


def _failed(names: tuple[str, ...], done: Outcomes[Trajectory]) -> SimulationsFailed:
    errors = {names[k]: error for k, error in sorted(done.errors.items()) if isinstance(error, Exception)}
    listed = "".join(f"\n  {name!r}: {error}" for name, error in list(errors.items())[:5])
    more = f"\n  ... and {len(errors) - 5} more (.errors)" if len(errors) > 5 else ""
    message = (
        f"{len(errors)} of {len(names)} motions could not be made:{listed}{more}\nThe others are in `.trajectories` of "
        "this error, and what each one raised in `.errors`."
    )
    return SimulationsFailed(message, names, done.results, errors)
