"""Second derivatives of velocities of points on chains with balls.

Columns of one ball act at one place: none of them turns the axis of another. With n < m for "n belongs to a joint
nearer to the ground than m", axes w (zero for slides) and velocities J of the point, a small rotation along n changes

    w_m by  w_n x w_m  if n < m, else 0            J_m by  w_n x J_m  if n < m, else  w_m x J_n

Both rules once give the rate of change of the velocity, sum_m v_m J_m, along l, and once more its derivative along n.
"""

from __future__ import annotations

import numpy as np

from mechgrad.typing import Array, IntArray


def joints_of(chain: IntArray, balls: IntArray) -> IntArray:
    """A number per column of a chain, the same for the columns of one ball, growing from the ground."""
    owner = {int(c): b for b, three in enumerate(balls) for c in three}
    found: list[int] = []
    for k, c in enumerate(chain):
        same = k > 0 and owner.get(int(c), -1) == owner.get(int(chain[k - 1]), -2)
        found.append(found[-1] if same else len(found))
    return np.array(found)


def velocity_curvature(w: Array, J: Array, v: Array, y: Array, joints: IntArray) -> Array:
    """Derivative along column n of the derivative along column l of y . J v, (nt, l, n): w, J (nt, 3, c), v (nt, c),
    y (nt, 3)."""
    w, J = w.swapaxes(1, 2), J.swapaxes(1, 2)
    before = (joints[:, None] < joints).astype(float)  # before[n, m]: n < m
    after = 1 - before
    vw, vJ = v[..., None] * w, v[..., None] * J
    V, W = before @ vJ, after @ vw  # of what follows l, and of what does not
    both = np.einsum("lm,nm,tmk->tlnk", before, before, vJ)
    turned = np.einsum("lm,nm,tmk->tlnk", before, after, vw)
    carried = np.einsum("lm,nm,tmk->tlnk", after, before, vw)
    w_l, J_l, V_l, W_l = (x[:, :, None] for x in (w, J, V, W))
    w_n, J_n = w[:, None], J[:, None]
    first = before.T[None, :, :, None]  # n < l
    change = first * np.cross(w_n, J_l) + (1 - first) * np.cross(w_l, J_n)
    total = first * np.cross(np.cross(w_n, w_l), V_l) + np.cross(w_l, np.cross(w_n, both) + np.cross(turned, J_n))
    total = total + np.cross(np.cross(w_n, carried), J_l) + np.cross(W_l, change)
    return np.asarray(np.einsum("tlnk,tk->tln", total, y))
