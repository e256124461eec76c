"""Parameters that constraints cannot follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mechgrad.errors import AssemblyError

if TYPE_CHECKING:
    from mechgrad.model.model import Model

MISS = 1e-7  # relative: what equations may miss by before a parameter counts as one that tears loops apart


def torn(model: Model, name: str, miss: float) -> AssemblyError:
    """The error of a parameter that constraints cannot follow."""
    return AssemblyError(
        f"{name!r} tears a loop of model {model.name!r} apart: its constraints, and what is held at the start, cannot "
        f"follow ({miss:.3g} per unit), so the motion has no derivative by it. Link it with the numbers that must "
        "change with it (DesignVariable), or hold less at the start."
    )
