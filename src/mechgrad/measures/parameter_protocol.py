"""What measures ask of the parameters that they are differentiated by; `sensitivities.motion_parameters` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mechgrad.inverse.loads import Load
from mechgrad.model.mechanism import Mechanism
from mechgrad.model.model import Model
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray


class MotionParameters(Protocol):
    """Parameters of a motion, in order, as a measure sees them.

    names : of all;   in_model : positions of those that are numbers of the model
    acting : positions of those that act in the equations of motion, tau and loads included
    motion : what they belong to; measures ask for its `system`
    """

    names: tuple[str, ...]
    in_model: list[int]
    acting: list[int]

    @property
    def motion(self) -> Any:
        """What they belong to."""

    def __len__(self) -> int: ...

    def once(self, which: Sequence[int]) -> tuple[list[str], list[int]]:
        """Names of some parameters, each once, and the position of each parameter's name among them."""

    def on_motion(self, k: int) -> bool:
        """Whether parameter k acts on the motion itself, not on its start alone."""

    def is_force(self, k: int) -> bool:
        """Whether parameter k is a number of a force element."""

    def moves_nothing(self, k: int) -> bool:
        """Whether parameter k is a mass, an inertia or a number of a force element, or drives such alone."""

    def of_one_body(self, k: int) -> bool:
        """Whether parameter k moves nothing, or moves a centre of mass alone."""

    def shapes(self, k: int) -> bool:
        """Whether parameter k changes more than masses and laws."""

    def moved(self, k: int) -> Model:
        """The model with an imaginary step along parameter k, a number of the model."""

    def moved_forces(self, k: int) -> tuple[Array, tuple[Load, ...]]:
        """Tau and loads with an imaginary step along parameter k, if it is one of theirs."""

    def record(self, k: int) -> Mechanism:
        """The mechanism of the motion with an imaginary step along parameter k, one of `acting`."""

    def knots(self) -> Sequence[tuple[list[int], int, Any, list[int]]]:
        """Values of splines, by function; positions of the parameters come first."""

    def weighted(self, count: int, weights: Sequence[Weights]) -> FloatArray:
        """Gradients (count, np) of sums of weighted residuals and rows of the mechanism of the motion."""

    def alike(self, motion: Any, names: Sequence[str]) -> MotionParameters:
        """Some of these parameters as those of another mechanism."""
