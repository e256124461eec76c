"""ALI3-P: augmented Lagrangian of index 3 with projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.dynamics.formulations import (
    Formulation,
    check_matrices,
    check_positive,
    implicit_settings,
    newton_numbers,
)
from mechgrad.dynamics.kernels.solver import Settings
from mechgrad.errors import InputError


@final
@dataclass(frozen=True)
class ALI3P(Formulation):
    """Position constraints solved in every step, velocities and accelerations projected afterwards.

        M a + Gamma^T lam = Q,     value(q) = eps beta h^2 (lam - lam_before),       repeated with the lam just found
        min |v - v*|_M  with  rate = 0,        then        min |a - a*|_M  with  second rate = 0
        eps = max(1 / penalty, (turn / 2)^2) / (effective mass of the row)

    The choice for loops when time is stepped: no coordinates to choose, redundant rows are accepted (multipliers
    start each step from 95 % of the last ones, so that what they have in common cannot grow).

    Change points (a parallelogram on one line), where rows lose their rank, are passed with the order of the scheme:
    with `turn` the largest rotation, in the step, of a joint that constraints depend on [rad], singular values that one
    step cannot tell from zero are left to the motion, which is smooth, and all others are held. Nothing of eps is left
    in regular positions. Where long steps come near a change point something is (`Trajectory.norms`); gradients take
    constraints for met, and say so. Without both augmented projections motions end at change points.

    Attributes
    ----------
    penalty : float
        Of the augmented Lagrangian, beside the effective masses of rows and per step squared (dimensionless); the
        result does not depend on it, 1e6 to 1e12 work.
    projection : "augmented", "penalty" or None
        Projections repeated until nothing is left, done once with `scaling` times the penalty, or none.
    accelerations : bool
        Whether accelerations are projected too.
    project_above : float
        Conditional projections: skipped where the norms of rates and second rates are below this.
    tolerance : float
        Of the increments of the coordinates beside how far the step goes, 2-norm; and of constraint values [rad, m].
    max_iterations : int
        Of one step; one or two are usual, up to a dozen where constraints lose rank.
    tangent : "exact" or "approximate"
        Newton matrix with all derivatives, or with those of force laws alone.
    reuse : bool or None
        Keep factors of the Newton matrix while they serve; None: never, since projections need new ones anyhow.
    matrices : "auto", "dense" or "sparse"
        Sparse ones grow with the mechanism, dense ones serve small mechanisms; "auto" takes what is quicker. Sparse
        factors that lose digits give way to dense ones with pivoting for a step (`Trajectory.dense_steps` counts).

    Smooth in all parameters. Order 2 with every scheme of the Newmark family.

    >>> ALI3P(penalty=1e10, scaling=1e-4, projection="penalty").name
    'ALI3-P'
    """

    name: ClassVar[str] = "ALI3-P"
    key: ClassVar[str] = "ali3p"
    adjoint_equations: ClassVar[str] = "ALI3-P"
    meets_constraints: ClassVar[bool] = True
    penalty: float = 1e9
    scaling: float = 1.0
    projection: str | None = "augmented"
    accelerations: bool = True
    project_above: float = 0.0
    tolerance: float = 1e-10
    max_iterations: int = 100
    tangent: str = "exact"
    reuse: bool | None = None
    matrices: str = "auto"

    def __post_init__(self) -> None:
        check_positive(self, penalty=self.penalty, scaling=self.scaling, tolerance=self.tolerance)
        if self.projection not in ("augmented", "penalty", None):
            raise InputError(f"projection is {self.projection!r}; choose 'augmented', 'penalty' or None.")
        newton_numbers(self.tangent, self.reuse, 0)
        check_matrices(self.matrices)

    def matrix_choice(self) -> str:
        return self.matrices

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        return implicit_settings(
            numbers,
            alpha=self.penalty,
            carry=0.95 if redundant else 1.0,
            projection=0.0 if self.projection is None else self.penalty * self.scaling,
            passes=2 if self.projection == "augmented" else 0,
            project_accelerations=self.accelerations,
            project_above=self.project_above,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            watch=(self.projection != "augmented" or not self.accelerations) and not redundant,
            **newton_numbers(self.tangent, self.reuse, 0),
        )
