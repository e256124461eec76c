"""What searches and answers read of a `DesignProblem`, which imports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mechgrad.optimization.design.design_program import DesignProgram
from mechgrad.optimization.design.design_space import DesignSpace
from mechgrad.optimization.design.evaluation import Ahead, Answers, Evaluation, Evaluator
from mechgrad.optimization.design.evaluation_log import EvaluationLog
from mechgrad.typing import ArrayLike, FloatArray


class ProblemParts(Protocol):
    """Scenarios, variables, and the program that they make."""

    @property
    def scenarios(self) -> Any: ...
    @property
    def space(self) -> DesignSpace: ...
    @property
    def constraints(self) -> Sequence[Any]: ...
    def evaluator(
        self,
        log: EvaluationLog | None = None,
        known: Sequence[Evaluation] = (),
        answers: Answers = ...,
        *,
        threads: int | None = None,
        ahead: Ahead | None = None,
    ) -> Evaluator: ...
    def program(
        self,
        evaluator: Evaluator,
        start: ArrayLike | Mapping[str, float] | None = None,
        *,
        scaled_at: FloatArray | None = None,
    ) -> DesignProgram: ...
