"""What an adjoint sweep leaves behind: weights of residuals and rows.

    s = sum over samples of   mu . r + w0 . value + w1 . rate + w2 . second

This form is that of every formulation; the gradient by a parameter is ds/dp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from mechgrad.dynamics.states import States
from mechgrad.typing import FloatArray


class Weights(NamedTuple):
    """Weights (no, nt, .) of residual and rows in some states; rows count all rows, None stands for zero.

    forced : whether the residual is that with gravity, forces and loads, or M a + Gamma^T lam alone
    """

    states: States
    mu: FloatArray | None
    w0: FloatArray | None = None
    w1: FloatArray | None = None
    w2: FloatArray | None = None
    forced: bool = True


WeightSink: TypeAlias = Callable[[Weights], None]
"""Where an adjoint sweep leaves its weights, chunk by chunk."""
