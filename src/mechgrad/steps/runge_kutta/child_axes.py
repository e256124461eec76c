"""Vectors of balls between parent axes, in which results have them, and child axes, in which explicit steps do."""

from __future__ import annotations

import numpy as np

from mechgrad.model.model import Model
from mechgrad.model.primitives.frames import rotated
from mechgrad.typing import FloatArray


def to_parent(model: Model, q: FloatArray, x: FloatArray, way: float = 1.0) -> FloatArray:
    """x (N, n_v) with the vectors of every ball turned from child into parent axes at q (N, n_q): R(e) x."""
    layout = model.layout
    if not len(layout.ball_q):
        return x
    out = np.array(x)
    for at_q, at_v in zip(layout.ball_q, layout.ball_v, strict=True):
        out[:, at_v] = rotated(q[:, at_q], x[:, at_v], way)
    return out


def to_child(model: Model, q: FloatArray, x: FloatArray) -> FloatArray:
    """The inverse of `to_parent`."""
    return to_parent(model, q, x, -1.0)
