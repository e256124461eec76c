"""A force that a Python function computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

from mechgrad.errors import ShapeError
from mechgrad.model.attached import Where
from mechgrad.model.forces.base import Force
from mechgrad.model.forces.measures import Measure
from mechgrad.model.rows import USER, Law
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserForce(Force):
    """A law of your own: forces on measures of the mechanism, from time, their values and their rates.

        F = function(t, g, g'),        Q = -sum Gamma^T F,      Gamma = dg/dq

    A positive F lowers its measure: a spring is `lambda t, g, gd: k * (g - g0)`. As smooth as the function is. A model
    with such a force cannot be written to a file.

    Attributes
    ----------
    measures : tuple of Separation, Coordinate, Height, Offset
        What it reads and pushes against; any number of them, n in all.
    function : callable
        function(t, g, gd) -> n forces, with g and gd (n,) arrays [m or rad, and per s], t [s]. It must accept complex
        numbers, since its derivatives are taken by complex steps: NumPy functions, no absolute values.
    partials : callable or None
        partials(t, g, gd) -> (dF/dg, dF/dgd), each (n, n); replaces the complex steps.

    >>> UserForce("cubic spring", [Coordinate("pin")], lambda t, g, gd: 5 * g**3).measures
    (Coordinate(name='pin'),)
    """

    type_name: ClassVar[str] = "user_force"

    measures: Any
    function: Callable[[Any, Array, Array], Any]
    partials: Callable[[Any, Array, Array], Any] | None = field(default=None)

    def check(self) -> None:
        """Raise unless there are measures, and functions to call."""
        measures = (self.measures,) if isinstance(self.measures, Measure) else tuple(self.measures)
        object.__setattr__(self, "measures", measures)
        if not measures or not all(isinstance(m, Measure) for m in measures):
            raise ShapeError(
                f"force {self.name!r}: measures = {self.measures!r} must be a list of Separation, Coordinate, Height "
                "or Offset, at least one."
            )
        for what, given in (("function", self.function), ("partials", self.partials)):
            if not callable(given) and not (what == "partials" and given is None):
                raise ShapeError(f"force {self.name!r}: {what} = {given!r} must be a function of (t, g, gd).")

    def check_model(self, model: Model) -> None:
        """Raise unless the model has everything that is measured."""
        for i, measure in enumerate(self.measures):
            measure.check_model(model, f"force {self.name!r}: measures[{i}]")

    def laws(self, where: Where) -> tuple[Law, ...]:
        return (Law(USER, tuple(measure.row(where) for measure in self.measures)),)
