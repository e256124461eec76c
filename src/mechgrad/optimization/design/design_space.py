"""The variables of a problem as one vector: where each acts, its start, bounds and scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, UnknownNameError, unknown_name
from mechgrad.model.columns import expand_paths
from mechgrad.model.parameters import MAGIC, matching
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.optimization.design.variable import Variable
from mechgrad.typing import ArrayLike, FloatArray

AGREE = 1e-12  # relative: starts of one variable in several scenarios
OF_RECIPES = ("duration", "t0", "step", "samples", "rtol", "atol")


@final
@dataclass(frozen=True, eq=False)
class DesignSpace:
    """All variables in order.

    Attributes
    ----------
    names : of the variables
    paths : for each scenario, what each variable is there; "" where it has no part
    start, low, high, scale : (n,)
    """

    names: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    start: FloatArray
    low: FloatArray
    high: FloatArray
    scale: FloatArray

    @staticmethod
    def of(variables: Sequence[Variable], scenarios: Sequence[Scenario]) -> DesignSpace:
        """Patterns resolved and everything checked."""
        found = [column for variable in variables for column in _columns(variable, scenarios)]
        names = [column.name for column in found]
        if twice := [name for k, name in enumerate(names) if name in names[:k]]:
            raise InputError(f"variable {twice[0]!r} is there twice; name every number once.")
        _check_nothing_shared(found, scenarios)
        columns = list(zip(*((x.start, *x.bounds, x.scale) for x in found), strict=True))
        paths = tuple(tuple(x.paths[i] for x in found) for i in range(len(scenarios)))
        return DesignSpace(tuple(names), paths, *(np.array(x, float) for x in columns))

    def values(self, scenario: int, x: FloatArray) -> dict[str, float]:
        """The numbers of one scenario at a point."""
        return {path: float(value) for path, value in zip(self.paths[scenario], x, strict=True) if path}

    def named(self, x: FloatArray) -> dict[str, float]:
        """A point by names."""
        return dict(zip(self.names, x.tolist(), strict=True))

    def point(self, given: ArrayLike | Mapping[str, float] | None) -> FloatArray:
        """A point within the bounds from numbers or from names; what is not named stays at its start."""
        if given is None:
            x = self.start.copy()
        elif isinstance(given, Mapping):
            x = self.start.copy()
            for name, value in given.items():
                if name not in self.names:
                    raise unknown_name("variable", str(name), self.names, "the problem")
                x[self.names.index(name)] = value
        else:
            x = np.array(given, float)
        if x.shape != self.start.shape:
            raise InputError(f"a point has shape {x.shape}; the problem has {len(self.names)} variables.")
        for name, value, low, high in zip(self.names, x, self.low, self.high, strict=True):
            if not low <= value <= high:
                raise InputError(f"variable {name!r} is {value:.6g}, outside of its bounds [{low:.6g}, {high:.6g}].")
        return x


@dataclass(frozen=True)
class _Column:
    name: str
    paths: tuple[str, ...]
    start: float
    bounds: tuple[float, float]
    scale: float


def _columns(variable: Variable, scenarios: Sequence[Scenario]) -> list[_Column]:
    """One column for each number that a variable means."""
    every = [scenario.name for scenario in scenarios]
    for name in variable.scenarios:
        if name not in every:
            raise unknown_name("scenario", name, every, f"variable {variable.path!r}")
    found: dict[str, list[str]] = {}
    errors: list[Exception] = []
    for i, scenario in enumerate(scenarios):
        if variable.scenarios and scenario.name not in variable.scenarios:
            continue
        try:
            for path in _resolved(variable.path, scenario):
                found.setdefault(path, [""] * len(scenarios))[i] = path
        except UnknownNameError as error:
            errors.append(error)
    if not found or (variable.scenarios and errors):
        raise errors[0]
    prefix = f"{', '.join(variable.scenarios)}: " if variable.scenarios else ""
    return [_column(variable, prefix + path, path, tuple(paths), scenarios) for path, paths in found.items()]


def _resolved(path: str, scenario: Scenario) -> Sequence[str]:
    """Paths of one scenario that a path or a pattern means."""
    model = scenario.model
    forces = scenario.repeat.force_values()
    if path.startswith("start."):
        known = [*scenario.repeat.start_values(), *(name for name in forces if name.startswith("start."))]
        found = matching(model, path, known) if MAGIC.search(path) else [path]
        if not found or any(x not in known for x in found):
            raise unknown_name("start value", path, known, f"the start of scenario {scenario.name!r}")
        return found
    if path in OF_RECIPES:
        raise InputError(
            f"variable {path!r}: how something is computed is no variable. What belongs to the mechanism is: "
            "numbers of the model and of its start."
        )
    try:
        return expand_paths(model, [path], list(forces))
    except UnknownNameError:
        _refuse_count(path, scenario)
        near = [name for name in forces if name.split(".")[0] == path.split(".")[0]]
        if near:
            raise unknown_name("constant force", path, near, f"scenario {scenario.name!r}") from None
        raise


def _refuse_count(path: str, scenario: Scenario) -> None:
    """Raise for an integer of an element: a count has no derivative."""
    owner, _, name = path.rpartition(".")
    for group in scenario.model.groups.values():
        for item in group:
            if getattr(item, "name", None) == owner and isinstance(getattr(item, name, None), int):
                raise InputError(
                    f"variable {path!r} is a count, an integer, which has no derivative. Solve for each of its values."
                )


def _column(variable: Variable, name: str, path: str, paths: tuple[str, ...], scenarios: Sequence[Scenario]) -> _Column:
    """Start, bounds and scale: given ones, those of a design variable of the model, or what follows from these."""
    now = {s.name: _present(s, path) for s, p in zip(scenarios, paths, strict=True) if p}
    values = list(now.values())
    start = variable.value
    if start is None:
        start = values[0]
        if max(abs(x - start) for x in values) > AGREE * max(map(abs, values)):
            told = ", ".join(f"{x:.6g} in {where!r}" for where, x in now.items())
            raise InputError(f"variable {name!r} starts from {told}: give its value, or a variable for each scenario.")
    there = [s for s, p in zip(scenarios, paths, strict=True) if p]
    own = next((v for s in there for v in s.model.variables if v.name == path), None)
    low, high = variable.bounds
    scale = variable.scale
    if own is not None:
        low, high = max(low, own.bounds[0]), min(high, own.bounds[1])
        scale = own.scale if scale is None and own.scale != 1.0 else scale
    if not low < high:
        raise InputError(f"variable {name!r}: its bounds and the model's leave nothing, [{low:.6g}, {high:.6g}].")
    if not low <= start <= high:
        raise InputError(f"variable {name!r} starts at {start:.6g}, outside of its bounds [{low:.6g}, {high:.6g}].")
    if scale is None:
        scale = high - low if np.isfinite(high - low) else abs(start) or 1.0
    return _Column(name, paths, start, (low, high), scale)


def _present(scenario: Scenario, path: str) -> float:
    forces = scenario.repeat.force_values()
    if path in forces:
        return forces[path]
    if path.startswith("start."):
        return float(np.real(scenario.repeat.start_values()[path]))
    return float(np.real(scenario.model.value(path)))


def _check_nothing_shared(columns: Sequence[_Column], scenarios: Sequence[Scenario]) -> None:
    """Raise where two variables drive one number, through a design variable or for a scenario of their own."""
    for i, scenario in enumerate(scenarios):
        owners: dict[str, str] = {}
        variables: dict[str, Any] = {v.name: v for v in scenario.model.variables}
        for column in columns:
            path = column.paths[i]
            targets = [p for p, _ in variables[path].targets] if path in variables else [path]
            for target in targets if path else []:
                if target in owners:
                    raise InputError(
                        f"variables {owners[target]!r} and {column.name!r} both drive {target!r} in scenario "
                        f"{scenario.name!r}; leave one of them out."
                    )
                owners[target] = column.name
