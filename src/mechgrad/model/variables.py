"""Design variables: one number that drives several numbers of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import NotFiniteError, ValueRangeError
from mechgrad.model.primitives.fields import as_number, brief, check_name
from mechgrad.tolerances import COMPLEX_STEP
from mechgrad.typing import Number

Map = float | Callable[[Any], Any]


@final
@dataclass(frozen=True, slots=True, repr=False)
class DesignVariable:
    """One number x that drives numbers of the model.

        path := x,   path := factor x,   or   path := f(x)

    Attributes
    ----------
    name : str
        Also the variable's own path: `model.with_values({name: x})`.
    targets : tuple of (path, factor or callable)
        Given as one path, a sequence of paths (factor 1) or a mapping path -> factor or path -> f.
        f must accept complex numbers: use NumPy functions and no absolute values.
    value : float
        In the unit of its targets.
    bounds : (float, float)
        For optimizers; the start value must lie inside.
    scale : float
        Typical size, positive; optimizers divide by it.

    >>> DesignVariable("half width", {"left.origin.y": 1.0, "right.origin.y": -1.0}, 0.2).targets
    (('left.origin.y', 1.0), ('right.origin.y', -1.0))
    """

    noun: ClassVar[str] = "variable"

    name: str
    targets: Any
    value: float
    bounds: tuple[float, float] = (-np.inf, np.inf)
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_name(self, self.name)
        object.__setattr__(self, "targets", _as_targets(self.name, self.targets))
        object.__setattr__(self, "value", as_number(self.value, f"variable {self.name!r}: value"))
        object.__setattr__(self, "scale", as_number(self.scale, f"variable {self.name!r}: scale"))
        try:
            low, high = (float(b) for b in self.bounds)
        except (TypeError, ValueError) as error:
            raise ValueRangeError(f"variable {self.name!r}: bounds = {self.bounds!r} must be two numbers.") from error
        object.__setattr__(self, "bounds", (low, high))
        self.check()

    def check(self) -> None:
        """Raise unless bounds, value and scale fit together."""
        low, high = self.bounds
        if np.isnan(low) or np.isnan(high):
            raise NotFiniteError(
                f"variable {self.name!r}: bounds = {self.bounds} hold a NaN. Use -inf or inf for none."
            )
        if not low <= self.value.real <= high:
            raise ValueRangeError(
                f"variable {self.name!r}: value = {brief(self.value)} is outside of its bounds [{low:.6g}, {high:.6g}]."
            )
        if not self.scale > 0.0:
            raise ValueRangeError(f"variable {self.name!r}: scale = {brief(self.scale)} must be positive.")

    def with_value(self, value: Number) -> DesignVariable:
        """The same variable at another value. Bounds are the optimizer's business and not enforced here."""
        new = copy(self)
        object.__setattr__(new, "value", as_number(value, f"variable {self.name!r}: value"))
        return new

    def driven(self) -> list[tuple[str, Number]]:
        """What each target becomes: (path, number)."""
        return [(path, self._mapped(path, map_, self.value)) for path, map_ in self.targets]

    def weights(self) -> list[tuple[str, float]]:
        """Derivative of each target by the variable: (path, factor or f'(x)), f' by complex step at the real value."""
        return [
            (
                path,
                self._mapped(path, map_, complex(self.value.real, COMPLEX_STEP)).imag / COMPLEX_STEP
                if callable(map_)
                else map_,
            )
            for path, map_ in self.targets
        ]

    def _mapped(self, path: str, map_: Map, x: Number) -> Number:
        if not callable(map_):
            return map_ * x
        what = f"variable {self.name!r}: the map of {path!r} at {brief(x)}"
        try:
            return as_number(map_(x), what)
        except TypeError as error:
            raise ValueRangeError(
                f"{what} failed: {error}. A map must accept complex numbers: "
                "use NumPy functions (np.sin), not those of math."
            ) from error

    def __repr__(self) -> str:
        paths = ", ".join(path for path, _ in self.targets)
        return f"DesignVariable({self.name!r}, [{paths}], value={brief(self.value)})"


def _as_targets(name: str, given: Any) -> tuple[tuple[str, Map], ...]:
    if isinstance(given, str):
        pairs: list[tuple[Any, Any]] = [(given, 1.0)]
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Iterable):
        pairs = [(*item,) if isinstance(item, (tuple, list)) and len(item) == 2 else (item, 1.0) for item in given]
    else:
        raise ValueRangeError(f"variable {name!r}: targets = {given!r} must be paths or a mapping from paths.")
    if not pairs:
        raise ValueRangeError(f"variable {name!r} has no targets. Name at least one path that it drives.")
    for path, _ in pairs:
        if not isinstance(path, str) or not path:
            raise ValueRangeError(f"variable {name!r}: target {path!r} must be a path such as 'arm.mass'.")
    return tuple(
        (path, map_ if callable(map_) else as_number(map_, f"variable {name!r}: factor of {path!r}"))  # type: ignore[misc]
        for path, map_ in pairs
    )
