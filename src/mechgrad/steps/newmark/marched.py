"""Runs of implicit steps with sparse or dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.dynamics.elimination import Elimination
from mechgrad.dynamics.kernels.solver import Settings
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.dynamics.kernels.state_accelerations import DONE, TOO_FEW_DIGITS
from mechgrad.errors import InputError
from mechgrad.model.mechanism import Mechanism
from mechgrad.steps.newmark.kernels import march as _kernels
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.task import Task
from mechgrad.typing import Array


def elimination_of(task: Task, settings: Settings) -> Elimination | None:
    """How unknowns of implicit steps are eliminated in sparse matrices, or None where these are dense."""
    matrices = task.formulation.matrix_choice()
    if not settings.exact:
        if matrices == "sparse":
            raise InputError("matrices='sparse' needs tangent='exact'; approximate Newton matrices are dense.")
        return None
    return task.system.elimination(matrices)


def marched(
    T: Mechanism, settings: Settings, sparse: Sparse | None, ranks: Array, h: float, t: float, every: int,
    arrays: list[Array],
) -> tuple[Any, int]:  # fmt: skip
    """The compiled march from row 0 of the arrays on, (rows written, reason, time), and how many of its steps were
    taken with dense matrices, since sparse factors had lost digits there."""
    first, dense, last = 0, 0, len(arrays[0]) - 1
    while True:
        known = ranks.copy()
        rest = [x[first:] for x in arrays]
        got, reason, at = _kernels.march(T, settings, ranks, h, t + first * every * h, every, Samples(*rest), sparse)
        first += int(got) - 1
        if reason != TOO_FEW_DIGITS:
            return (first + 1, reason, at), dense
        assert sparse is not None
        sparse.lost[0] = 0
        ranks[:] = known
        ranks[1:3] = np.nan  # other matrices come from now on (`saddle.forget_ranks`)
        here = [x[first : first + 2] for x in arrays]
        got, reason, at = _kernels.march(T, settings, ranks, h, t + first * every * h, every, Samples(*here))
        dense, first = dense + every, first + int(got) - 1
        if reason != DONE or first == last:
            return (first + 1, reason, at), dense
