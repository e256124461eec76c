"""What kind of number each parameter of a motion is, field by field: thousands of knots are numbers of one field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from mechgrad.model.functions import Spline
from mechgrad.model.layout import Slot
from mechgrad.model.model import Model
from mechgrad.model.parameters import resolve
from mechgrad.model.primitives.fields import entry, table
from mechgrad.typing import FloatArray

WEIGHTS = ("mass", "inertia")  # of bodies: numbers that move no point


class Field(NamedTuple):
    """Parameters that are numbers of one field of one noun: their positions, and where each of them stands."""

    group: str
    position: int
    name: str
    parameters: list[int]
    slots: list[Slot]


@final
class ParameterKinds:
    """Positions of the parameters that are of one kind or another.

    slots : where each parameter stands in the model, None for what is no number of the model
    """

    def __init__(self, model: Model, names: Sequence[str], slots: Sequence[Slot | None]) -> None:
        self.model, self.names = model, names
        fields: dict[tuple[str, int, str], Field] = {}
        for k, slot in enumerate(slots):
            if slot is not None:
                key = slot.group, slot.position, slot.field
                if key not in fields:
                    fields[key] = Field(*key, [], [])
                fields[key].parameters.append(k)
                fields[key].slots.append(slot)
        self.fields = tuple(fields.values())

    @cached_property
    def still(self) -> frozenset[int]:
        """Masses, inertias and numbers of force elements, and variables that drive such alone."""
        return self._of_kind(lambda x: x.group == "forces" or (x.group == "bodies" and x.field in WEIGHTS), all)

    @cached_property
    def placing(self) -> frozenset[int]:
        """What can move joints, points or vectors, and numbers of constraints."""
        return self._of_kind(lambda x: x.group in ("joints", "points", "vectors", "constraints"), any)

    @cached_property
    def of_users(self) -> frozenset[int]:
        """Numbers that a user's force law receives."""
        return self._of_kind(lambda x: x.group == "forces" and x.field == "numbers", any)

    def _of_kind(self, kind: Callable[[Slot], bool], several: Callable[[Iterable[bool]], bool]) -> frozenset[int]:
        """Numbers of one kind, which group and field decide, and variables that drive any or all such."""
        found: list[int] = []
        for field in self.fields:
            if field.group == "variables":
                found += [k for k in field.parameters if several(map(kind, self._driven(k)))]
            elif kind(field.slots[0]):
                found += field.parameters
        return frozenset(found)

    def _driven(self, k: int) -> list[Slot]:
        """The numbers of the model that a design variable drives."""
        layout, groups = self.model.layout, self.model.groups
        return [resolve(layout, groups, path) for path, _ in self.model.path_derivative(self.names[k])]

    def put_values(self, values: FloatArray) -> None:
        """The present values of all numbers of the model but gravity, into an array of all parameters."""
        for field in self.fields:
            if field.group != "gravity":
                numbers = np.real(np.asarray(entry(getattr(self.model, field.group)[field.position], field.name, ())))
                where = tuple(np.array([slot.index for slot in field.slots]).T)
                values[field.parameters] = numbers[where] if where else numbers

    def of_splines(self) -> Iterator[tuple[str, Spline, list[int], list[int]]]:
        """Splines some of whose values are parameters: owner, function, parameters, and which values these are."""
        for field in self.fields:
            if field.group not in ("forces", "constraints") or not field.name.endswith(".values"):
                continue
            element = getattr(self.model, field.group)[field.position]
            function = getattr(element, field.name.removesuffix(".values"))
            sharing = [name for name in table(type(element)).functions if getattr(element, name) is function]
            if isinstance(function, Spline) and len(sharing) == 1:
                yield element.name, function, field.parameters, [slot.index[0] for slot in field.slots]
