"""Moving a configuration along a tangent step; complex-safe."""

from __future__ import annotations

from mechgrad.kernels.elementary import reciprocal, sincos, square_root
from mechgrad.kernels.jit import inlined, inner
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT


@inlined
def half_angle(square):
    """cos(x / 2) and sin(x / 2) / x of an angle with this square; a series where the angle is small."""
    u = square * 0.25
    if abs(u) < 1.0e-2:
        cosine = 1.0 - u * (1.0 / 2 - u * (1.0 / 24 - u * (1.0 / 720 - u * (1.0 / 40320 - u / 3628800.0))))
        sine = 1.0 - u * (1.0 / 6 - u * (1.0 / 120 - u * (1.0 / 5040 - u * (1.0 / 362880 - u / 39916800.0))))
        return cosine, 0.5 * sine
    angle = square_root(u)
    s, c = sincos(angle)
    return c, 0.5 * s * reciprocal(angle)


@inner
def displace(atoms_i, q0, d, q):
    """q = q0 moved by the tangent step d: plain coordinates add, a ball turns by the rotation vector in parent axes."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            x, y, z = d[j], d[j + 1], d[j + 2]
            c, s = half_angle(x * x + y * y + z * z)
            x, y, z = s * x, s * y, s * z
            e0, e1, e2, e3 = q0[k], q0[k + 1], q0[k + 2], q0[k + 3]
            q[k] = c * e0 - x * e1 - y * e2 - z * e3
            q[k + 1] = c * e1 + x * e0 + y * e3 - z * e2
            q[k + 2] = c * e2 + y * e0 + z * e1 - x * e3
            q[k + 3] = c * e3 + z * e0 + x * e2 - y * e1
        elif kind != FIXED:
            q[k] = q0[k] + d[j]
