"""Gradients of several motions in one call, in threads: manoeuvres, starts, models with other numbers.

Each is the gradient of one motion (`single_gradient`), computed by one thread from beginning to end. All are looked at
first (parameters, names of objectives), and then all are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from mechgrad.errors import InputError
from mechgrad.measures.base import Measure
from mechgrad.sensitivities.batch_gradient import BatchGradient
from mechgrad.sensitivities.cases import Subject, motions_of
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.single_gradient import Asked, Gradient, Objectives, asked, computed
from mechgrad.simulation.ensemble import about
from mechgrad.simulation.side_by_side import Outcomes, side_by_side

ObjectivesOfEach: TypeAlias = Callable[[Any], Objectives]
"""Objectives of a motion, by its name or position."""


def gradients_of_all(
    motions: Sequence[Subject] | Mapping[str, Subject],
    objectives: Objectives | ObjectivesOfEach,
    wrt: str | Sequence[str],
    method: str,
    threads: int,
) -> BatchGradient:
    """Gradients of several motions, in threads (0: all cores). All are looked at before any is computed."""
    keys, subjects = _listed(motions)
    names = tuple(map(str, keys))

    def ask(k: int) -> Asked:
        return asked(subjects[k], _own(objectives, keys[k]), wrt)

    every = range(len(names))
    prepared = _all_of(names, side_by_side(ask, every, threads))
    for name, of in zip(names, prepared, strict=True):
        _check_same(names[0], name, "parameters", prepared[0].parameters.names, of.parameters.names)
    done: Outcomes[Gradient] = Outcomes([])
    try:
        side_by_side(lambda k: computed(prepared[k], method, 1), every, threads, done)
        found = _all_of(names, done)
    except BaseException as error:
        error.gradients = done.results  # type: ignore[attr-defined]
        error.add_note(f"{sum(g is not None for g in done.results)} of {len(names)} gradients are there: `.gradients`.")
        raise
    for name, g in zip(names, found, strict=True):
        _check_same(names[0], name, "objectives", found[0].objectives, g.objectives)
    return BatchGradient(names, tuple(found))


def _own(objectives: Any, key: Any) -> Objectives:
    """The objectives of one motion: those of all, or what a function says."""
    of_all = not callable(objectives) or isinstance(objectives, Objective | Measure)
    found: Objectives = objectives if of_all else objectives(key)
    return found


def _listed(motions: Sequence[Subject] | Mapping[str, Subject]) -> tuple[list[Any], list[Subject]]:
    """Names or positions, and motions; each row of a batch is a motion of its own."""
    pairs: list[tuple[Any, Subject]] = list(motions.items() if isinstance(motions, Mapping) else enumerate(motions))
    found: dict[Any, Subject] = {}
    for key, motion in pairs:
        rows = motions_of(motion)
        names = [key] if len(rows) == 1 else [f"{key}[{k}]" for k in range(len(rows))]
        for name, row in zip(names, rows, strict=True):
            if name in found:
                raise InputError(f"two motions are called {name!r}; give them other names.")
            found[name] = row
    if not found:
        raise InputError("there is no motion; give at least one.")
    return list(found), list(found.values())


def _all_of(names: Sequence[str], done: Outcomes[Any]) -> list[Any]:
    """All results; raises what the first motion that failed raised, with its name."""
    first = done.first_error()
    if first is None:
        return done.results
    error = done.errors[first]
    assert isinstance(error, Exception)  # all else was raised before
    others = len(done.errors) - 1
    if others:
        error.add_note(f"{others} of the other motions failed, too.")
    raise about(f"motion {names[first]!r}", error)


def _check_same(first: str, name: str, what: str, known: tuple[str, ...], found: tuple[str, ...]) -> None:
    if found == known:
        return
    only = [x for x in found if x not in known] or [x for x in known if x not in found] or list(found)
    raise InputError(
        f"motion {name!r} has other {what} than motion {first!r}: {only[0]!r} is not in both. Give patterns and "
        "objectives that mean the same in all of them, or ask for gradients one by one."
    )
