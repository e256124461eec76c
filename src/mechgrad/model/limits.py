"""How large the numbers of a model may be, and which one is too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mechgrad.errors import ValueRangeError
from mechgrad.model.primitives.fields import entries, entry
from mechgrad.typing import Number

if TYPE_CHECKING:
    from mechgrad.model.model_parts import ModelParts


LARGEST = 1e50
"""Of masses, lengths, inertias and gravity: mass times length squared, and its square in eliminations, stay finite."""


def too_large(model: ModelParts, *items: Any) -> ValueRangeError:
    """The error that names the number, of bodies, joints and some more items, that is beyond all bounds."""
    path, unit = "", ""
    value: Number = 0.0
    for item in (*model.bodies, *model.joints, *items):
        for label, (name, index, spec) in entries(item).items():
            size = 0.0 if spec.nonzero else abs(entry(item, name, index))
            if size > abs(value):
                path, value, unit = f"{item.name}.{label}", entry(item, name, index), spec.unit
    for axis, component in zip("xyz", model.gravity.tolist(), strict=True):
        if abs(component) > abs(value):
            path, value, unit = f"gravity.{axis}", component, "m/s^2"
    return ValueRangeError(
        f"model {model.name!r}: {path} = {value:.6g} {unit} is too large: masses, lengths, inertias and their sums "
        f"are at most {LARGEST:g}, since products of them would overflow. Check the number and its unit."
    )
