"""Fully recursive: accelerations body by body, of trees and of closed mechanisms, without a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.dynamics.formulations import Explicit, Formulation, check_positive, implicit_settings
from mechgrad.dynamics.index1 import REGULAR
from mechgrad.dynamics.kernels.solver import Settings


@final
@dataclass(frozen=True)
class FullyRecursive(Formulation):
    """Accelerations by recursive elimination, O(n); no matrix of the whole mechanism is ever made.

        [ M  Gamma^T ; Gamma  0 ] [ a; lam ] = [ Q - h; -second rate at a = 0 ]

    Elimination goes from the leaves to the root and carries the rows of loops along, from their attachments to where
    these meet; there the loop is closed. With r rows open at a body it costs O((6 + r)^2) there: O(n) for many small
    loops, and for long chains that few rows close. Equations are those of `Index1`, minimum-norm multipliers where rows
    depend on each other included. Explicit methods integrate loops; implicit schemes, of open trees alone, iterate
    a := a(q, v) to a fixed point, which needs steps that are short beside the fastest time of the forces.

    Attributes
    ----------
    projection : bool
        Bring q and v back to the constraints after each step, mass-orthogonally.
    tolerance : float
        Of the change of the coordinates between two iterations of implicit steps, 2-norm [rad, m].

    The choice for trees, and for large closed mechanisms without stiff forces (RK4, DOP853). Motions without projection
    end where rows lose their rank.

    >>> FullyRecursive(projection=False).name
    'fully recursive'
    """

    name: ClassVar[str] = "fully recursive"
    key: ClassVar[str] = "fully-recursive"
    recursive: ClassVar[bool] = True
    fixed_point: ClassVar[bool] = True
    projection: bool = True
    tolerance: float = 1e-13
    max_iterations: int = 100

    def __post_init__(self) -> None:
        check_positive(self, tolerance=self.tolerance)

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        return implicit_settings(numbers, tolerance=self.tolerance, max_iterations=self.max_iterations)

    def explicit(self) -> Explicit:
        return Explicit(REGULAR, 0.0, 0.0, 0.0, 1 if self.projection else 0)
