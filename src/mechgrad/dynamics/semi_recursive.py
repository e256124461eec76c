"""Open trees: semi-recursive, with a mass matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.dynamics.formulations import Formulation, check_positive, implicit_settings, newton_numbers
from mechgrad.dynamics.kernels.solver import Settings


@final
@dataclass(frozen=True)
class SemiRecursive(Formulation):
    """M a + h = Q of an open tree, Newton's iteration in implicit steps.

        (M / (beta h^2) + gamma / (beta h) r_v + r_q) dq = -r

    The choice for trees with stiff forces (contact) and implicit schemes.

    Attributes
    ----------
    tolerance : float
        Of the increments of the coordinates, 2-norm [rad, m].
    tangent, reuse : as in `ALI3P`

    >>> SemiRecursive(tangent="approximate").name
    'semi-recursive'
    """

    name: ClassVar[str] = "semi-recursive"
    key: ClassVar[str] = "semi-recursive"
    for_loops: ClassVar[bool] = False
    tolerance: float = 1e-10
    max_iterations: int = 50
    tangent: str = "exact"
    reuse: bool | None = None

    def __post_init__(self) -> None:
        check_positive(self, tolerance=self.tolerance)
        newton_numbers(self.tangent, self.reuse, 0)

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        return implicit_settings(
            numbers,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            **newton_numbers(self.tangent, self.reuse, size),
        )
