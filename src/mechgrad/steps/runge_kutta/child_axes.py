"""Vectors of balls between parent axes, in which results have them, and child axes, in which explicit steps do."""

from __future__ import annotations

import numpy as np

from mechgrad.kernels.in_numpy import in_numpy
from mechgrad.kinematics.batch import tree_of
from mechgrad.model.model import Model
from mechgrad.steps.runge_kutta.kernels.stages import turn_balls
from mechgrad.typing import FloatArray


def to_parent(model: Model, q: FloatArray, x: FloatArray, way: float = 1.0) -> FloatArray:
    """x (N, n_v) with the vectors of every ball turned from child into parent axes at q (N, n_q): R(e) x."""
    balls = model.n_q - model.n_v
    if not balls:
        return x
    out = np.array(x.T)
    in_numpy(turn_balls)(tree_of(model).atoms_i, balls, q.T, out, 0, way, 0.0)
    return np.ascontiguousarray(out.T)


def to_child(model: Model, q: FloatArray, x: FloatArray) -> FloatArray:
    """The inverse of `to_parent`."""
    return to_parent(model, q, x, -1.0)
