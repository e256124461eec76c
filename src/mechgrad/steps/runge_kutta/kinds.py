"""What explicit marches do about constraints, and with which matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.loop_elimination import Loops
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.dynamics.kernels.state_accelerations import TOO_FEW_DIGITS
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.model.mechanism import Mechanism
from mechgrad.steps.independent.kernels.choices import Choice
from mechgrad.steps.task import Task
from mechgrad.typing import Array

Found = tuple[Any, ...]  # what marches return: outputs written, the reason, ..


class Kind(NamedTuple):
    """What a march does about constraints, each 1 or None: kernels leave out what is None.

    trees : there are none;    loops : accelerations and multipliers from a saddle system
    corrects : the state is corrected after each step, by projection (projected) or by solving for the dependent
    coordinates, in each stage too (dependent; marches have the `Choice` of them in its place)
    sparse : where entries of saddle systems are, or None where these are dense
    recursion : recursive elimination in their place, or None
    """

    trees: int | None
    loops: int | None
    corrects: int | None
    projected: int | None
    dependent: Choice | int | None
    sparse: Sparse | None = None
    recursion: Loops | None = None


TREE = Kind(1, None, None, None, None)
KINDS = (Kind(None, 1, None, None, None), Kind(None, 1, 1, 1, None), Kind(None, 1, 1, None, 1))


def numbers(task: Task) -> tuple[Array, Kind]:
    """Numbers of the acceleration problem, and what follows a step."""
    explicit = task.formulation.explicit()
    if explicit is None:
        raise InputError(f"{task.formulation.name} has no explicit method; choose a scheme of the Newmark family.")
    f, kind = np.array(explicit[:4], float), KINDS[explicit.after] if task.system.n_constraints else TREE
    if kind.loops is not None and task.formulation.recursive:
        return f, kind._replace(recursion=task.system.recursion(f))
    if kind.loops is not None and kind.dependent is None:
        kind = kind._replace(sparse=task.system.sparse(task.formulation.matrix_choice()))
    return f, kind


def record_of(system: System, kind: Kind) -> Mechanism:
    """The record that a march reads: without what relates pairs of columns where it takes no matrices."""
    return system.recursive if kind.loops is None or kind.recursion is not None else system.T


def with_pivots(march: Callable[[Kind], Found], kind: Kind, ranks: Array) -> tuple[Found, bool]:
    """A march, and whether it was made with dense matrices, since sparse factors lost digits on its way."""
    before, found = ranks.copy(), march(kind)
    if found[1] != TOO_FEW_DIGITS:
        return found, False
    ranks[:] = before
    return march(kind._replace(sparse=None)), True
