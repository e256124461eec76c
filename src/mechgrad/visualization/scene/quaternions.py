"""Euler parameters of rotation matrices over time, and the rotation of a quaternion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mechgrad.typing import FloatArray


def euler_parameters(R: FloatArray) -> FloatArray:
    """Unit quaternions (w, x, y, z) of rotations (nt, n, 3, 3), without jumps of sign over time.

    The largest of the four is found first, from 4 e_i^2 = 1 +- R_xx +- R_yy +- R_zz, so that nothing is divided by a
    small number.

    >>> euler_parameters(np.eye(3)[None, None])[0, 0]
    array([1., 0., 0., 0.])
    """
    x, y, z = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    squares = np.stack([1 + x + y + z, 1 + x - y - z, 1 - x + y - z, 1 - x - y + z], axis=-1)
    a, b, c = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    d, f, g = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    rows = (squares[..., 0], a, b, c, a, squares[..., 1], d, f, b, d, squares[..., 2], g, c, f, g, squares[..., 3])
    matrix = np.stack(rows, axis=-1).reshape(*R.shape[:-2], 4, 4)  # 4 e e^T
    best = np.take_along_axis(matrix, squares.argmax(-1)[..., None, None], axis=-2)[..., 0, :]
    e = best / np.sqrt((best * best).sum(-1, keepdims=True))
    turned = np.where((e[1:] * e[:-1]).sum(-1) < 0.0, -1.0, 1.0)
    e[1:] *= np.cumprod(turned, axis=0)[..., None]
    return np.asarray(e)


def rotation(quaternion: Sequence[float]) -> FloatArray:
    """The rotation matrix (3, 3) of a quaternion (w, x, y, z) of any length but zero.

    >>> rotation((1, 0, 0, 1)).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    w, x, y, z = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
