"""Moving a configuration along a tangent step; complex-safe."""

from __future__ import annotations

from mechgrad.kernels.jit import inner
from mechgrad.kernels.rotation import exponential, product
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT


@inner
def displace(atoms_i, q0, d, q):
    """q = q0 moved by the tangent step d: plain coordinates add, a ball turns by the rotation vector in parent axes."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            turn = exponential((d[j], d[j + 1], d[j + 2]))
            q[k], q[k + 1], q[k + 2], q[k + 3] = product(turn, (q0[k], q0[k + 1], q0[k + 2], q0[k + 3]))
        elif kind != FIXED:
            q[k] = q0[k] + d[j]
