"""Penalty formulation: constraints as stiff springs, dampers and masses."""

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


@final
@dataclass(frozen=True)
class Penalty(Formulation):
    """Constraint violations pull themselves back.

        (M + penalty Gamma^T Gamma) a = Q - h - penalty Gamma^T (second at a = 0 + 2 damping frequency rate
                                                                 + frequency^2 value)
        lam = penalty (second rate + 2 damping frequency rate + frequency^2 value)

    An ordinary differential equation whose violations stay of the order lam / (penalty frequency^2). Redundant rows
    are accepted. Where rows lose their rank (a change point) what yields may leave the branch it is on, however stiff:
    motions end there.

    Attributes
    ----------
    penalty : float
    frequency : float [1/s]
    damping : float
        Relative to critical.
    matrices : "auto", "dense" or "sparse", as in `ALI3P`

    >>> Penalty().frequency
    10.0
    """

    name: ClassVar[str] = "penalty"
    key: ClassVar[str] = "penalty"
    compliant: ClassVar[bool] = True
    penalty: float = 1e9
    frequency: float = 10.0
    damping: float = 1.0
    tolerance: float = 1e-10
    max_iterations: int = 50
    tangent: str = "exact"
    reuse: bool | None = None
    matrices: str = "auto"

    def __post_init__(self) -> None:
        check_positive(self, penalty=self.penalty, frequency=self.frequency, tolerance=self.tolerance)
        newton_numbers(self.tangent, self.reuse, 0)
        check_matrices(self.matrices)

    def matrix_choice(self) -> str:
        return self.matrices

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings:
        return implicit_settings(
            numbers,
            weight_0=self.frequency**2,
            weight_1=2.0 * self.damping * self.frequency,
            weight_2=1.0,
            alpha=self.penalty,
            compliant=1.0,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            # rows that always depend on each other differ a little where constraints drift: that is no fold
            watch=not redundant,
            **newton_numbers(self.tangent, self.reuse, 0),
        )

    def explicit(self) -> Explicit:
        return Explicit(1.0 / self.penalty, self.frequency, self.damping, 1.0, 0)
