"""How changes pass through the Euler parameters and the axes of balls, and the transposes.

lift    de = (0, dq) e / 2                    k_e = (0, w) e / 2,   dk_e = lift of dw + (0, w) de / 2
drop    dq = 2 vec(de conj(e)) / |e|^2        = 4 / |e|^2 times the transpose of lift

to child     du = R^T (dv - dq x v)           for each ball, whose velocities steps carry in child axes, u = R^T v
to parent    dv = R du + dq x v
"""

from __future__ import annotations

from mechgrad.kernels.jit import inner
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT


@inner
def lift(atoms_i, q, x, out, shared):
    """out (n_q) += the change of q by the tangent change x; that of Euler parameters times 4 / |e|^2 where `shared`."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e0, e1, e2, e3 = q[k], q[k + 1], q[k + 2], q[k + 3]
            f = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3) if shared else 0.5
            x1, x2, x3 = f * x[j], f * x[j + 1], f * x[j + 2]
            out[k] -= x1 * e1 + x2 * e2 + x3 * e3
            out[k + 1] += e0 * x1 + x2 * e3 - x3 * e2
            out[k + 2] += e0 * x2 + x3 * e1 - x1 * e3
            out[k + 3] += e0 * x3 + x1 * e2 - x2 * e1
        elif kind != FIXED:
            out[k] += x[j]


@inner
def drop(atoms_i, q, x, out, shared):
    """out (n_v) += the transpose of `lift` times x (n_q)."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e0, e1, e2, e3 = q[k], q[k + 1], q[k + 2], q[k + 3]
            f = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3) if shared else 0.5
            x0, x1, x2, x3 = f * x[k], f * x[k + 1], f * x[k + 2], f * x[k + 3]
            out[j] += e0 * x1 - e1 * x0 + e2 * x3 - e3 * x2
            out[j + 1] += e0 * x2 - e2 * x0 + e3 * x1 - e1 * x3
            out[j + 2] += e0 * x3 - e3 * x0 + e1 * x2 - e2 * x1
        elif kind != FIXED:
            out[j] += x[k]


@inner
def turn(atoms_i, v, x, out, sign):
    """out += sign (0, w) x / 2 for the Euler parameters of all balls; its own transpose with the other sign."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k, j = atoms_i[i, Q_AT], atoms_i[i, V_AT]
            w1, w2, w3 = 0.5 * sign * v[j], 0.5 * sign * v[j + 1], 0.5 * sign * v[j + 2]
            e0, e1, e2, e3 = x[k], x[k + 1], x[k + 2], x[k + 3]
            out[k] -= w1 * e1 + w2 * e2 + w3 * e3
            out[k + 1] += e0 * w1 + w2 * e3 - w3 * e2
            out[k + 2] += e0 * w2 + w3 * e1 - w1 * e3
            out[k + 3] += e0 * w3 + w1 * e2 - w2 * e1


@inner
def stretch(atoms_i, along, x, out, to):
    """out += the change of length that x is to `along`, as one of `to`, for the Euler parameters of all balls."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            square, dot = 0.0, 0.0
            for c in range(k, k + 4):
                square += along[c] * along[c]
                dot += along[c] * x[c]
            for c in range(k, k + 4):
                out[c] += to[c] * dot / square


@inner
def _turned(q, x, k, j, way):
    """The vector of one ball in x from child into parent axes (way 1) or back (-1), in place."""
    e0, e1, e2, e3 = way * q[k], q[k + 1], q[k + 2], q[k + 3]
    f = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    x1, x2, x3 = x[j], x[j + 1], x[j + 2]
    c1, c2, c3 = f * (e2 * x3 - e3 * x2), f * (e3 * x1 - e1 * x3), f * (e1 * x2 - e2 * x1)
    x[j] += e0 * c1 + e2 * c3 - e3 * c2
    x[j + 1] += e0 * c2 + e3 * c1 - e1 * c3
    x[j + 2] += e0 * c3 + e1 * c2 - e2 * c1


@inner
def _crossed(x, y, out, j, sign):
    """out += sign x cross y, for one ball."""
    x1, x2, x3, y1, y2, y3 = sign * x[j], sign * x[j + 1], sign * x[j + 2], y[j], y[j + 1], y[j + 2]
    out[j] += x2 * y3 - x3 * y2
    out[j + 1] += x3 * y1 - x1 * y3
    out[j + 2] += x1 * y2 - x2 * y1


@inner
def to_child(balls, q, v, dq, dv):
    """Changes dv of vectors v of balls := R^T (dv - dq x v); balls: (count, 2), where they begin in q and v."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _crossed(dq, v, dv, j, -1.0)
        _turned(q, dv, k, j, -1.0)


@inner
def to_child_back(balls, q, v, dq, dv):
    """The transpose of `to_child`, which adds to dq."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _turned(q, dv, k, j, 1.0)
        _crossed(v, dv, dq, j, -1.0)


@inner
def to_parent(balls, q, v, dq, dv):
    """Changes dv of vectors of balls, v in parent axes := R dv + dq x v."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _turned(q, dv, k, j, 1.0)
        _crossed(dq, v, dv, j, 1.0)


@inner
def to_parent_back(balls, q, v, dq, dv):
    """The transpose of `to_parent`, which adds to dq."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _crossed(v, dv, dq, j, 1.0)
        _turned(q, dv, k, j, -1.0)


@inner
def stretch_back(atoms_i, along, x, out, to):
    """The transpose of `stretch`."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            square, dot = 0.0, 0.0
            for c in range(k, k + 4):
                square += along[c] * along[c]
                dot += to[c] * x[c]
            for c in range(k, k + 4):
                out[c] += along[c] * dot / square
