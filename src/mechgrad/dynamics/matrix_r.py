"""Matrix R: motion in independent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.dynamics.formulations import Explicit, Formulation, check_positive, implicit_settings, newton_numbers
from mechgrad.dynamics.index1 import REGULAR
from mechgrad.dynamics.kernels.solver import Settings
from mechgrad.model.primitives.rows import RowMeasure


@final
@dataclass(frozen=True)
class MatrixR(Formulation):
    """The equations of motion projected on the motions that constraints allow.

        v = R z' + ..,     R^T (M a + h - Q) = 0,      [Gamma; B] R = [0; 1]

    Attributes
    ----------
    independent : sequence of str or of measures, or None
        As many as there are degrees of freedom: joint coordinates (constant B), coordinates of joints that close loops,
        world coordinates of points such as "P2.x", world components of vectors such as "axis1.x", or measures that are
        one row: mg.measures.Distance, Angle, Height, Offset (B changes with the configuration). None: the joint
        coordinates that are best conditioned, at the start and again along the way.
    tolerance : float
        Of the increments of the independent coordinates, 2-norm.

    Constraints hold to rounding at all three levels. Explicit schemes take the independent coordinates of every stage
    and solve for the others; implicit ones act on the independent coordinates alone. Holonomic constraints only.
    An open tree has none, and moves in the coordinates that are named.

    Left to itself, it chooses other coordinates (and, of redundant constraint rows, others to solve) between two steps
    where [Gamma; B] gets badly conditioned: positions, velocities and accelerations go on as they are, and gradients
    hold the choices that were made. `Trajectory.choices` tells what was chosen when. Coordinates that are named stay:
    at a dead point, where they cease to determine the motion (the determinant changes sign), the march ends and says
    so. At a change point, where Gamma itself loses rank and two motions meet, it ends in either case. Implicit steps
    give multipliers to the rows that are solved; of redundant rows the others have zero.

    >>> MatrixR(["A", "1"]).independent
    ('A', '1')
    """

    name: ClassVar[str] = "Matrix R"
    key: ClassVar[str] = "matrix-r"
    independent_coordinates: ClassVar[bool] = True
    adjoint_equations: ClassVar[str] = "Matrix R"
    for_trees: ClassVar[bool] = False
    independent: Sequence[str | RowMeasure] | None = None
    tolerance: float = 1e-10
    max_iterations: int = 50
    tangent: str = "exact"
    reuse: bool | None = None

    def __post_init__(self) -> None:
        check_positive(self, tolerance=self.tolerance)
        newton_numbers(self.tangent, self.reuse, 0)
        if self.independent is not None:
            object.__setattr__(self, "independent", tuple(self.independent))

    def named_coordinates(self) -> tuple[str | RowMeasure, ...] | None:
        return None if self.independent is None else tuple(self.independent)

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        return implicit_settings(
            numbers,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            **newton_numbers(self.tangent, self.reuse, size),
        )

    def explicit(self) -> Explicit:
        return Explicit(REGULAR, 0.0, 0.0, 0.0, 2)
