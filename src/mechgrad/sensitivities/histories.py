"""Derivatives of measures over a motion, from those of its states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mechgrad.errors import InputError
from mechgrad.measures.base import Measure
from mechgrad.sensitivities.differentiable import case_of
from mechgrad.sensitivities.objectives import AtEnd
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.typing import FloatArray


class Histories(NamedTuple):
    """Derivatives of states: q (along `model.integrate`), v, a (nt, n_v, np), multipliers (nt, m, np)."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    multipliers: FloatArray


def measure_histories(
    motion: Trajectory | GuidedMotion, names: Sequence[str], states: Histories, measure: Measure
) -> FloatArray:
    """dy/dp (nt, *shape of the measure, np) of a measure y over a motion, by the parameters that `names` are.

    dy/dp = y_q dq/dp + y_v dv/dp + y_a da/dp + y_lam dlam/dp + y_p
    """
    if not isinstance(measure, Measure):
        raise InputError(f"{measure!r} is no measure; give one such as mg.measures.PointVelocity('P').")
    case = case_of(motion)
    parameters, at = case.parameters(names), case.samples([AtEnd(measure)])
    shape = np.shape(measure.values(at))
    found = measure.partials(at, parameters)
    total = np.zeros((shape[0], int(np.prod(shape[1:])), len(parameters)))
    for part, slope in zip(found[:4], states, strict=True):
        if part is not None:
            total += part @ slope
    if found.p is not None:
        total += found.p
    return total.reshape(*shape, len(parameters))
