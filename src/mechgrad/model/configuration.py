"""Coordinates as points of a curved space: the neutral configuration and the step along a tangent."""

from __future__ import annotations

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.layout import Layout
from mechgrad.model.primitives.frames import quaternion_product, rotation_vector_to_quaternion, scaled
from mechgrad.typing import Array, ArrayLike, FloatArray

LENGTH_ROUNDING = 1e-15  # of a square that is one


def neutral(layout: Layout) -> FloatArray:
    """Zero coordinates, unit Euler parameters."""
    q = np.zeros(len(layout.q_names))
    q[layout.ball_q[:, 0]] = 1.0
    return q


def unit(layout: Layout, q: Array) -> Array:
    """q (n_q,) or (nt, n_q) with Euler parameters of length one; those that have it, or are all zero, stay as they are.

    e := e / sqrt(e . e),   without conjugation, so that a complex step has the derivative of the same
    """
    if not layout.ball_q.size:
        return q
    e, size = scaled(q[..., layout.ball_q])
    square = np.sum(e * e, axis=-1, keepdims=True)
    off = ((np.abs(square.real - 1.0) > LENGTH_ROUNDING) | (size != 1.0)) & (square.real > 0.0)
    if not off.any():
        return q
    out = np.array(q)
    out[..., layout.ball_q] = e / np.sqrt(np.where(off, square, 1.0))
    return out


def integrate(layout: Layout, q: ArrayLike, dq: ArrayLike) -> Array:
    """q moved by a tangent dq: plain coordinates add, Euler parameters turn by the rotation vector dq in parent axes.

        e := Exp(dtheta) e,   so that   R := Exp(skew(dtheta)) R

    The length of the Euler parameters does not change.
    """
    q, dq = np.asarray(q), np.asarray(dq)
    n_q, n_v = len(layout.q_names), len(layout.v_names)
    for name, array, n in (("q", q, n_q), ("dq", dq, n_v)):
        if array.ndim not in (1, 2) or array.shape[-1] != n:
            raise InputError(f"{name} has shape {array.shape}, but the model wants ({n},) or (nt, {n}).")
    if q.ndim == dq.ndim == 2 and q.shape[0] != dq.shape[0] and 1 not in (q.shape[0], dq.shape[0]):
        raise InputError(f"q has {q.shape[0]} samples and dq has {dq.shape[0]}. Give the same number, or one.")
    rows = np.broadcast_shapes(q.shape[:-1], dq.shape[:-1])
    moved = np.empty((*rows, n_q), np.result_type(q, dq, np.float64))
    moved[...] = q
    moved[..., layout.plain_q] += dq[..., layout.plain_v]
    if layout.ball_q.size:
        turn = rotation_vector_to_quaternion(dq[..., layout.ball_v])
        moved[..., layout.ball_q] = quaternion_product(turn, moved[..., layout.ball_q])
    return moved
