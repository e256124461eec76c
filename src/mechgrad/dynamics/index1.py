"""Index-1 Lagrange: constraints at the level of accelerations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.dynamics.formulations import (
    Explicit,
    Formulation,
    check_matrices,
    check_positive,
    implicit_settings,
    newton_numbers,
)
from mechgrad.dynamics.kernels.solver import Settings

# Of the second block of the saddle matrix; its influence is taken away by repetition. Small beside Gamma M^-1 Gamma^T,
# but no smaller than that: rows that depend on each other disagree a little within a step, and it divides what they do.
REGULAR = 1e-6
STIFF = 1e9  # penalty of implicit steps, which repeat less, where all rows are independent


@final
@dataclass(frozen=True)
class Index1(Formulation):
    """Accelerations and multipliers from one linear system.

        [ M  Gamma^T ; Gamma  0 ] [ a; lam ] = [ Q - h; -second rate at a = 0 ]

    Minimum-norm multipliers where rows depend on each other. Positions and velocities drift away from the constraints
    unless they are projected back.

    Attributes
    ----------
    projection : bool
        Project after each step, mass-orthogonally: q and v with explicit methods, v and a with implicit ones.
    tolerance : float
        Of the increments of the coordinates in implicit steps, 2-norm [rad, m].
    matrices : "auto", "dense" or "sparse", as in `ALI3P`

    The choice for loops with explicit methods (RK4, DOP853), where it is as accurate as they are and passes change
    points. Implicit steps do not bring positions back; they end where rows lose their rank, as do motions without
    projection.

    >>> Index1(projection=False).name
    'index-1'
    """

    name: ClassVar[str] = "index-1"
    key: ClassVar[str] = "index1"
    adjoint_equations: ClassVar[str] = "index 1"
    projection: bool = True
    tolerance: float = 1e-10
    max_iterations: int = 50
    tangent: str = "exact"
    reuse: bool | None = None
    matrices: str = "auto"

    def __post_init__(self) -> None:
        check_positive(self, tolerance=self.tolerance)
        newton_numbers(self.tangent, self.reuse, 0)
        check_matrices(self.matrices)

    def matrix_choice(self) -> str:
        return self.matrices

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        penalty = 1.0 / REGULAR if redundant else STIFF
        return implicit_settings(
            numbers,
            weight_0=0.0,
            weight_2=1.0,
            alpha=penalty,
            carry=0.0 if redundant else 1.0,
            projection=penalty if self.projection else 0.0,
            passes=2,
            project_accelerations=self.projection,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            # rows that always depend on each other differ a little where constraints drift: that is no fold
            watch=not redundant,
            **newton_numbers(self.tangent, self.reuse, 0),
        )

    def explicit(self) -> Explicit:
        return Explicit(REGULAR, 0.0, 0.0, 0.0, 1 if self.projection else 0)
