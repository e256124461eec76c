"""Every number of a model by a dotted path: resolve, list, read and replace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from typing import TYPE_CHECKING, Any, NamedTuple

from mechgrad.errors import DuplicateNameError, UnknownNameError, ValueRangeError, unknown_name
from mechgrad.model.layout import Layout, Slot
from mechgrad.model.primitives.fields import Entry, Index, as_vector, entries, entry, replaced, where
from mechgrad.model.variables import DesignVariable
from mechgrad.typing import Array, Number

if TYPE_CHECKING:
    from mechgrad.model.model_parts import ModelParts


Groups = Mapping[str, Sequence[Any]]
"""The model's collections by name: bodies, joints, points, vectors, constraints, forces, variables."""

MAGIC = re.compile(r"[*?\[]")
"""What makes a path a shell pattern, unless a name has it."""

_NOUNS_WITH_NUMBERS = ("bodies", "joints", "points", "vectors", "constraints", "forces")
_GRAVITY = {
    f"gravity.{axis}": Slot("gravity", axis, "gravity", 0, "gravity", (i,), "gravity", "m/s^2")
    for i, axis in enumerate("xyz")
}


class Parameter(NamedTuple):
    """One number of a model.

    path : dotted, e.g. "arm.com.x"
    value : float (complex while a complex step travels through)
    unit : SI; "1" for pure numbers, "" for a variable whose targets leave it open
    kind : mass, com, inertia, origin, orientation, child_origin, axis, dh, point, vector, gravity, variable, or what a
        constraint or a force calls it
    driver : the design variable that sets it, or None
    """

    path: str
    value: Number
    unit: str
    kind: str
    driver: str | None = None


def resolve(layout: Layout, groups: Groups, path: str) -> Slot:
    """Where a path leads; names may contain dots, the longest name that leaves a known field wins."""
    slot = layout.slots.get(path)
    if slot is None:
        slot = _find(layout, groups, path)
        if slot is None:
            raise _unknown_path(layout, groups, path)
        layout.slots[path] = slot
    return slot


def is_path(model: ModelParts, path: str) -> bool:
    """Whether a path is that of a number, as it stands."""
    return path in model.layout.slots or _find(model.layout, model.groups, path) is not None


def matching(model: ModelParts, pattern: str, paths: Iterable[str]) -> list[str]:
    """Those of some paths that a shell pattern means: the path of this very name if there is one, or all that match.

    A name of the model stands for itself wherever it is a part of the pattern: "link[1].*" means numbers of the body
    "link[1]" if there is one, and those of "link1" if there is not.
    """
    known = list(paths)
    if pattern in known:
        return [pattern]
    means = re.compile(translate(_literal(model, pattern))).match
    return [path for path in known if means(path)]


def _literal(model: ModelParts, pattern: str) -> str:
    """A pattern with the names of the model that look like patterns themselves made literal."""
    special = model.shared("special names", lambda m: [name for name in m.layout.names if MAGIC.search(name)])
    if not special or not MAGIC.search(pattern):
        return pattern
    if is_path(model, pattern):
        return _escaped(pattern)
    names = "|".join(re.escape(name) for name in sorted(special, key=len, reverse=True))
    return re.sub(rf"(?<![^.])(?:{names})(?![^.])", lambda found: _escaped(found.group()), pattern)


def _escaped(text: str) -> str:
    return MAGIC.sub(lambda found: f"[{found.group()}]", text)


def list_parameters(model: ModelParts, pattern: str = "*") -> list[Parameter]:
    """All parameters whose path matches a shell pattern: those of the collections in order, gravity, variables."""
    layout, driven = model.layout, model.layout.driven
    means = re.compile(translate(_literal(model, pattern))).match
    found: list[Parameter] = []
    for group in _NOUNS_WITH_NUMBERS:
        for position, item in enumerate(getattr(model, group)):
            for label, (name, index, spec) in _entries(layout, model.groups, group, position).items():
                path = f"{item.name}.{label}"
                if means(path):
                    number = entry(item, name, index)
                    found.append(Parameter(path, number, spec.unit, spec.kind, driven.get(path)))
    for path, slot in _GRAVITY.items():
        if means(path):
            found.append(Parameter(path, model.gravity[slot.index].item(), slot.unit, slot.kind, driven.get(path)))
    for variable in model.variables:
        if means(variable.name):
            found.append(Parameter(variable.name, variable.value, _variable_unit(model, variable), "variable"))
    return found


def read_value(model: ModelParts, path: str) -> Number:
    """The number at a path."""
    slot = resolve(model.layout, model.groups, path)
    if slot.group == "gravity":
        number: Number = model.gravity[slot.index].item()
        return number
    return entry(getattr(model, slot.group)[slot.position], slot.field, slot.index)


def changed_fields(model: ModelParts, values: Mapping[str, Number], check: bool) -> dict[str, Any]:
    """The fields of the model that differ once the values are set and the variables among them re-applied."""
    layout, groups = model.layout, model.groups
    numbers: dict[str, Number] = {}
    variables = list(model.variables)
    for path, number in values.items():
        slot = resolve(layout, groups, path)
        if path in layout.driven:
            driver = layout.driven[path]
            raise ValueRangeError(
                f"{path!r} is driven by variable {driver!r} and cannot be set to {number!r} directly. "
                f"Set {driver!r}, or build the model without that variable."
            )
        if slot.group == "variables":
            variables[slot.position] = variables[slot.position].with_value(number)
            numbers.update(variables[slot.position].driven())
        else:
            numbers[path] = number
    result = assigned(layout, groups, model.gravity, numbers, check)
    result["variables"] = tuple(variables)
    return result


def assigned(
    layout: Layout, groups: Groups, gravity: Array, numbers: Mapping[str, Number], check: bool
) -> dict[str, Any]:
    """The fields of a model that change when paths (other than variables) are set to numbers."""
    changes: dict[tuple[str, int], dict[tuple[str, Index], Number]] = {}
    for path, number in numbers.items():
        slot = resolve(layout, groups, path)
        changes.setdefault((slot.group, slot.position), {})[slot.field, slot.index] = number
    result: dict[str, Any] = {}
    for (group, position), new_numbers in changes.items():
        if group == "gravity":
            components = gravity.tolist()
            for (_, index), number in new_numbers.items():
                components[index[0]] = number
            result["gravity"] = as_vector(components, "gravity")
        else:
            items = result.setdefault(group, list(groups[group]))
            items[position] = replaced(items[position], new_numbers, check)
    return {name: tuple(new) if isinstance(new, list) else new for name, new in result.items()}


def check_variables(layout: Layout, groups: Groups) -> None:
    """Note in the layout who drives what; raise when a target is unknown, a variable, or driven twice."""
    for variable in groups["variables"]:
        if _find(layout, {**groups, "variables": ()}, variable.name) is not None:
            raise DuplicateNameError(
                f"variable {variable.name!r} is called like a path of the model. Rename the variable."
            )
        for path, _ in variable.targets:
            try:
                slot = resolve(layout, groups, path)
            except UnknownNameError as error:
                raise UnknownNameError(f"variable {variable.name!r}: {error}") from None
            if slot.group == "variables":
                raise ValueRangeError(
                    f"variable {variable.name!r} drives {path!r}, which is a variable. Name a plain path."
                )
            if path in layout.driven:
                raise DuplicateNameError(
                    f"{path!r} is driven by variable {layout.driven[path]!r} and by variable {variable.name!r}. "
                    "Remove it from one of them."
                )
            layout.driven[path] = variable.name


def _find(layout: Layout, groups: Groups, path: str) -> Slot | None:
    if path in _GRAVITY:
        return _GRAVITY[path]
    for name, label in _splits(path):
        if name not in layout.names:
            continue
        group, position = layout.names[name]
        if position >= len(groups[group]):
            continue
        if group == "variables":
            if label == "":
                return Slot(name, label, group, position, "value", (), "variable", "")
        elif label in (known := _entries(layout, groups, group, position)):
            field, index, spec = known[label]
            return Slot(name, label, group, position, field, index, spec.kind, spec.unit)
    return None


def _entries(layout: Layout, groups: Groups, group: str, position: int) -> dict[str, Entry]:
    """Every number of one noun by its label; other numbers never change the labels."""
    found = layout.entries.get((group, position))
    if found is None:
        found = layout.entries[group, position] = entries(groups[group][position])
    return found


def _splits(path: str) -> list[tuple[str, str]]:
    """All ways to read a path as name + label, longest name first."""
    words = str(path).split(".")
    return [(".".join(words[:k]), ".".join(words[k:])) for k in range(len(words), 0, -1)]


def _unknown_path(layout: Layout, groups: Groups, path: str) -> UnknownNameError:
    """Blame the label when the name is known, the name otherwise."""
    if str(path).split(".")[0] == "gravity":
        return unknown_name("path", path, _GRAVITY)
    for name, label in _splits(path):
        if name in layout.names:
            group, position = layout.names[name]
            item = groups[group][position]
            if group == "variables":
                return UnknownNameError(f"path {path!r}: variable {name!r} has no parts. Its path is {name!r}.")
            return unknown_name("number", label, entries(item), f"path {path!r}: {where(item)}")
    first = _splits(path)[-1][0]
    return unknown_name("name", first, [*layout.names, "gravity"], f"path {path!r}")


def _variable_unit(model: ModelParts, variable: DesignVariable) -> str:
    """The unit that all targets share; open when they differ or a callable hides it."""
    units = {resolve(model.layout, model.groups, path).unit for path, _ in variable.targets}
    linear = not any(callable(map_) for _, map_ in variable.targets)
    return units.pop() if linear and len(units) == 1 else ""


__all__ = [
    "DesignVariable",
    "Parameter",
    "assigned",
    "changed_fields",
    "check_variables",
    "is_path",
    "list_parameters",
    "matching",
    "read_value",
    "resolve",
]
