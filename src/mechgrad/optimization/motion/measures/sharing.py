"""Spatial products of twists and wrenches, and how two feet share a wrench."""

from __future__ import annotations

import numpy as np

from mechgrad.typing import Array

ROUND = 1e-3  # [m] distances to feet are sqrt(d^2 + ROUND^2): smooth at the foot itself


def twist_cross(S: Array, U: Array) -> Array:
    """Spatial product S x U of twists (w, v): (w_S x w_U, w_S x v_U + v_S x w_U)."""
    w, v = S[..., :3], S[..., 3:]
    return np.concatenate([np.cross(w, U[..., :3]), np.cross(w, U[..., 3:]) + np.cross(v, U[..., :3])], axis=-1)


def wrench_cross(S: Array, w: Array) -> Array:
    """The wrench S x* w for S (nt, n, 6), w (nt, 6), so that (S x U) . w = -U . (S x* w)."""
    r, v = S[..., :3], S[..., 3:]
    M, F = w[:, None, :3], w[:, None, 3:]
    return np.concatenate([np.cross(r, M) + np.cross(v, F), np.cross(r, F)], axis=-1)


def twist_derivatives(S: Array, y: Array, w: Array, before: Array, together: Array) -> tuple[Array, Array]:
    """Of u = sum_i y_i S_i of joints along a chain: u_,m (nt, n, 6), and u_,lm . w (nt, n, n).

    u_,m = S_m x U_m with U_m the sum over joints beyond m; u_,lm = S_l x (S_m x U_m) for l before m or l = m, and for l
    and m of one ball, where the first is the column and the second the direction. `before` (m, i): m carries i;
    `together`: the same, or of one ball.
    """
    beyond = np.einsum("mi,tic->tmc", before.astype(float), y[:, :, None] * S)
    first = twist_cross(S, beyond)
    second = -wrench_cross(S, w) @ first.swapaxes(1, 2)  # w . (S_l x u_,m)
    return first, second * (before | together) + np.swapaxes(second * before, 1, 2)


def share_of_second(Z: Array, p1: Array, p2: Array) -> tuple[Array, Array, Array]:
    """s = d_1 / (d_1 + d_2) and its first and second derivatives by Z (2)."""
    d, n, H = [], [], []
    for p in (p1, p2):
        r = Z - p
        dist = np.sqrt(np.sum(r**2, axis=1) + ROUND**2)
        unit = r / dist[:, None]
        d.append(dist)
        n.append(unit)
        H.append((np.eye(2) - unit[:, :, None] * unit[:, None, :]) / dist[:, None, None])
    total = d[0] + d[1]
    s = d[0] / total
    sum_n, sum_H = n[0] + n[1], H[0] + H[1]
    s_Z = (n[0] - s[:, None] * sum_n) / total[:, None]
    outer = s_Z[:, :, None] * sum_n[:, None, :]
    s_ZZ = (H[0] - s[:, None, None] * sum_H - outer - outer.swapaxes(1, 2)) / total[:, None, None]
    return s, s_Z, s_ZZ
