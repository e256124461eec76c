"""The march."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from mechgrad.steps.record import Record, recorded
from mechgrad.steps.schemes import ExplicitScheme
from mechgrad.steps.task import Task


@final
@dataclass(frozen=True)
class SymplecticEuler(ExplicitScheme):
    """First order, and energies of long motions stay in bounds."""

    key: ClassVar[str] = "symplectic-euler"


def march(task: Task) -> Record:
    """Fixed steps, each of which is reported; complex numbers travel through."""
    outputs, every, h = task.steps()
    assert every == 1
    t = task.t0 + np.linspace(0.0, task.duration, outputs)
    q, v = (np.empty((outputs, x.shape[1]), x.dtype) for x in (task.q, task.v))
    q[0], v[0] = task.q[0], task.v[0]
    for k in range(outputs - 1):
        a = task.system.accelerations(q[k : k + 1], v[k : k + 1], t[k : k + 1])[0][0]
        v[k + 1] = v[k] + h * a
        q[k + 1] = task.model.integrate(q[k], h * v[k + 1])
    return recorded(task, t, q, v, ended="duration", steps=outputs - 1, rejected=0)
