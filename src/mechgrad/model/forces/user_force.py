"""A force that a Python function computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import ShapeError, ValueRangeError
from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import Where
from mechgrad.model.primitives.fields import named_numbers
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import USER, Law, RowMeasure


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserForce(Force):
    """A law of your own: forces on measures of the mechanism, from time, their values and their rates.

        F = function(t, g, g', **numbers),        Q = -sum Gamma^T F,      Gamma = dg/dq

    A positive F lowers its measure: a spring is `lambda t, g, gd, k: k * (g - 0.2)` with `numbers={"k": 50.0}`. As
    smooth as the function is. A model with such a force cannot be written to a file.

    Attributes
    ----------
    measures : tuple of measures
        What it reads and pushes against, n of them: mg.measures.Distance, Angle, JointCoordinate, Height, Offset.
    function : callable
        function(t, g, gd, **numbers) -> n forces, with g and gd (n,) arrays [m or rad, and per s], t [s]. It must
        accept complex numbers, since its derivatives are complex steps: NumPy functions, no absolute values. With
        `partials` it sees real numbers only.
    partials : callable or None
        partials(t, g, gd, **numbers) -> (dF/dg, dF/dgd), each (n, n); or (dF/dg, dF/dgd, {name: dF/dnumber (n,)}), with
        all of the numbers if there are any, and {"t": dF/dt (n,)} for motion problems with a free duration. Replaces
        the complex steps.
    numbers : dict from names to numbers, optional
        What the function receives besides, by name: parameters like all others, with paths `name.numbers.k`.

    >>> UserForce("cubic spring", [mg.measures.JointCoordinate("pin")], lambda t, g, gd: 5 * g**3).measures
    (JointCoordinate(coordinate='pin'),)
    >>> drag = UserForce("drag", [mg.measures.JointCoordinate("pin")], lambda t, g, gd, c: c * gd, numbers={"c": 0.3})
    >>> drag.value_of_numbers()
    {'c': 0.3}
    """

    type_name: ClassVar[str] = "user_force"

    measures: Any
    function: Callable[..., Any]
    partials: Callable[..., Any] | None = field(default=None)
    numbers: Any = field(default=None, metadata=named_numbers("user force"))
    number_names: tuple[str, ...] = field(default=(), repr=False)  # follow from `numbers`

    def __post_init__(self) -> None:
        given = {} if self.numbers is None else self.numbers
        if isinstance(given, np.ndarray) and len(given) == len(self.number_names):  # a copy of another force
            given = dict(zip(self.number_names, given.tolist(), strict=True))
        if not isinstance(given, Mapping):
            raise ShapeError(f"force {self.name!r}: numbers = {given!r} must be a mapping from names to numbers.")
        for name in given:
            if not (isinstance(name, str) and name.isidentifier()) or name in ("t", "g", "gd"):
                raise ValueRangeError(
                    f"force {self.name!r}: {name!r} cannot name a number, since the function receives it by that name; "
                    "take letters, digits and underscores, and neither t, g nor gd."
                )
        object.__setattr__(self, "number_names", tuple(given))
        object.__setattr__(self, "numbers", list(given.values()))
        Force.__post_init__(self)

    def value_of_numbers(self) -> dict[str, Any]:
        """The numbers by name."""
        return dict(zip(self.number_names, self.numbers.tolist(), strict=True))

    def check(self) -> None:
        """Raise unless there are measures, and functions to call."""
        measures = (self.measures,) if isinstance(self.measures, RowMeasure) else tuple(self.measures)
        object.__setattr__(self, "measures", measures)
        if not measures or not all(isinstance(m, RowMeasure) for m in measures):
            raise ShapeError(
                f"force {self.name!r}: measures = {self.measures!r} must be a list of measures that forces can push "
                "against, at least one: mg.measures.Distance, Angle, JointCoordinate, Height, Offset."
            )
        for what, given in (("function", self.function), ("partials", self.partials)):
            if not callable(given) and not (what == "partials" and given is None):
                raise ShapeError(
                    f"force {self.name!r}: {what} = {given!r} must be a function of (t, g, gd) and of its numbers."
                )

    def check_model(self, model: NamedParts) -> None:
        """Raise unless the model has everything that is measured."""
        for i, measure in enumerate(self.measures):
            measure.check_model(model, f"force {self.name!r}: measures[{i}]")

    def laws(self, where: Where) -> tuple[Law, ...]:
        return (Law(USER, tuple(measure.row(where) for measure in self.measures)),)
