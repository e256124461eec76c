"""Units of coordinates and velocities, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mechgrad.model.model import Model

__all__ = ["coordinate_units", "velocity_units"]


def coordinate_units(model: Model) -> dict[str, str]:
    """Of `model.q_names`: "rad", "m", or "1" of Euler parameters."""
    units = (unit or "1" for joint in model.tree_joints for unit in joint.q_units)
    return dict(zip(model.q_names, units, strict=True))


def velocity_units(model: Model) -> dict[str, str]:
    """Of `model.v_names`: "rad/s" or "m/s"."""
    units = (unit for joint in model.tree_joints for unit in joint.v_units)
    return dict(zip(model.v_names, units, strict=True))
