"""A weighted sum of coordinates that is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.errors import DuplicateNameError, ShapeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.functions import ZERO, constant_part
from mechgrad.model.primitives.attached import COORDINATE, Attached, Where
from mechgrad.model.primitives.fields import array, function
from mechgrad.model.primitives.rows import LINEAR, Row
from mechgrad.typing import ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearCombination(Constraint):
    """A weighted sum of coordinates of hinges and sliders is given, constant or as a function of time.

        sum factor_i q_i = value(t)

    One holonomic row; smooth (C-infinity) as far as value(t) is.

    Attributes
    ----------
    coordinates : tuple of str
        Names of coordinates (`model.q_names`); given as a mapping coordinate -> factor, or with `factors`.
    value : float or Function
        In the unit of the sum, of time [s]. Paths `name.value.value`, `name.value.values.0`, ...
    factors : (n,) array
        [1], or what makes the units of the sum agree. Paths `name.factors.0`, ...

    >>> LinearCombination("differential", {"left": 1, "right": 1, "cage": -2})
    LinearCombination('differential', ('left', 'right', 'cage'), factors=(1, 1, -2))
    """

    type_name: ClassVar[str] = "linear_combination"

    coordinates: Any = field(metadata=COORDINATE)
    value: Any = field(default=ZERO, metadata=function("constraint", ""))
    factors: ArrayField = field(default=None, metadata=array("constraint", ""))

    def __post_init__(self) -> None:
        given, factors = self.coordinates, self.factors
        if isinstance(given, Mapping) and factors is None:
            factors = tuple(given.values())
            given = tuple(given)
        if isinstance(given, Iterable) and not isinstance(given, (str, Mapping)):
            given = tuple(given)
        if not isinstance(given, tuple) or factors is None or not all(isinstance(name, str) for name in given):
            raise ShapeError(
                f"constraint {self.name!r}: give coordinates as a mapping coordinate -> factor, or as a list of names "
                f"with a list of factors; got {self.coordinates!r} and factors = {self.factors!r}."
            )
        object.__setattr__(self, "coordinates", given)
        object.__setattr__(self, "factors", factors)
        Attached.__post_init__(self)

    def check(self) -> None:
        """Raise unless every coordinate is named once and has a factor."""
        if len(set(self.coordinates)) < len(self.coordinates):
            raise DuplicateNameError(f"constraint {self.name!r}: a coordinate is named twice in {self.coordinates}.")
        if len(self.coordinates) != len(self.factors):
            raise ShapeError(
                f"constraint {self.name!r}: {len(self.coordinates)} coordinates but {len(self.factors)} factors. "
                "Give one factor per coordinate."
            )

    def rows(self, where: Where) -> tuple[Row, ...]:
        constant, value = constant_part(self.value)
        terms = tuple(zip(self.coordinates, self.factors, strict=True))
        return (Row(LINEAR, (), constant, coordinates=terms, function=value, label="sum"),)
