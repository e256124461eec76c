"""Units of parameters, and what a derivative by one is measured in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mechgrad.errors import MechgradError
from mechgrad.mechanics.coordinate_units import coordinate_units, velocity_units

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def parameter_unit(model: Model, path: str) -> str:
    """Of a number of the model, of a start, or of a force; "" where nothing says.

    >>> parameter_unit(model, "bob.mass"), parameter_unit(model, "start.velocity.pin"), parameter_unit(model, "tau.pin")
    ('kg', 'rad/s', 'N m')
    """
    name = path.removeprefix("start.")
    if name.startswith("position."):
        return coordinate_units(model).get(name.removeprefix("position."), "")
    if name.startswith("velocity."):
        return velocity_units(model).get(name.removeprefix("velocity."), "")
    if name.startswith("tau."):
        return {"rad/s": "N m", "m/s": "N"}.get(velocity_units(model).get(name.removeprefix("tau."), ""), "")
    if ".force." in name:
        return "N"
    if ".torque." in name and name.rpartition(".")[2] in "xyz":
        return "N m"
    if name in ("duration", "start.t"):
        return "s"
    try:
        found = [parameter.unit for parameter in model.parameters(path)]
    except MechgradError:
        return ""
    return found[0] if len(found) == 1 else ""


def per(unit: str) -> str:
    """What a derivative by a parameter of this unit is called.

    >>> per("kg"), per(""), per("1")
    ('per kg', 'per unit', 'per 1')
    """
    return f"per {unit}" if unit else "per unit"
