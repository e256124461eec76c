"""Open trees: semi-recursive with a mass matrix, fully recursive without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.dynamics.formulations import Explicit, Formulation, check_positive, implicit_settings, newton_numbers
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


@final
@dataclass(frozen=True)
class FullyRecursive(Formulation):
    """Accelerations of an open tree by recursive elimination, O(n); no mass matrix is ever made.

    Explicit methods integrate it; implicit schemes iterate a := a(q, v) to a fixed point, which needs steps that are
    short beside the fastest time of the forces.

    Attributes
    ----------
    tolerance : float
        Of the change of the coordinates between two iterations, 2-norm [rad, m].

    >>> FullyRecursive().name
    'fully recursive'
    """

    name: ClassVar[str] = "fully recursive"
    key: ClassVar[str] = "fully-recursive"
    recursive: ClassVar[bool] = True
    for_loops: ClassVar[bool] = False
    fixed_point: ClassVar[bool] = True
    tolerance: float = 1e-13
    max_iterations: int = 100

    def __post_init__(self) -> None:
        check_positive(self, tolerance=self.tolerance)

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        return implicit_settings(numbers, tolerance=self.tolerance, max_iterations=self.max_iterations)

    def explicit(self) -> Explicit:
        return Explicit(0.0, 0.0, 0.0, 0.0, 0)
