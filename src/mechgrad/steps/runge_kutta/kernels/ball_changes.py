"""How changes pass through the Euler parameters and the axes of balls, and the transposes.

lift    de = (0, dq) e / 2                    k_e = (0, w) e / 2,   dk_e = lift of dw + (0, w) de / 2
drop    dq = 2 vec(de conj(e)) / |e|^2        = 4 / |e|^2 times the transpose of lift

to child     du = R^T (dv - dq x v)           for each ball, whose velocities steps carry in child axes, u = R^T v
to parent    dv = R du + dq x v
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.rotation import get4, pure_product, pure_product_back, rotated, square
from mechgrad.kernels.vec3 import add3, cross, get3, put3, scale
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT


@inlined
def _add4(out, k, f, e):
    """out[k .. k + 3] += f e"""
    out[k] += f * e[0]
    out[k + 1] += f * e[1]
    out[k + 2] += f * e[2]
    out[k + 3] += f * e[3]


@inlined
def _factor(e, shared):
    """1 / 2, or 2 / |e|^2 where `shared`."""
    return 2.0 / square(e) if shared else 0.5


@inner
def lift(atoms_i, q, x, out, shared):
    """out (n_q) += the change of q by the tangent change x; that of Euler parameters times 4 / |e|^2 where `shared`."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e = get4(q, k, 0.0)
            _add4(out, k, _factor(e, shared), pure_product(get3(x, j, 0.0), e))
        elif kind != FIXED:
            out[k] += x[j]


@inner
def drop(atoms_i, q, x, out, shared):
    """out (n_v) += the transpose of `lift` times x (n_q)."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e = get4(q, k, 0.0)
            add3(out, j, scale(_factor(e, shared), pure_product_back(get4(x, k, 0.0), e)), 0.0)
        elif kind != FIXED:
            out[j] += x[k]


@inner
def turn(atoms_i, v, x, out, sign):
    """out += sign (0, w) x / 2 for the Euler parameters of all balls; its own transpose with the other sign."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            _add4(out, k, 0.5 * sign, pure_product(get3(v, atoms_i[i, V_AT], 0.0), get4(x, k, 0.0)))


@inlined
def _add_dyad(out, k, left, right, size, x):
    """out += left (right . x) / size, for four numbers from k on."""
    a, b = get4(right, k, 0.0), get4(x, k, 0.0)
    _add4(out, k, (a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]) / size, get4(left, k, 0.0))


@inner
def stretch(atoms_i, along, x, out, to):
    """out += the change of length that x is to `along`, as one of `to`, for the Euler parameters of all balls."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            _add_dyad(out, k, to, along, square(get4(along, k, 0.0)), x)


@inner
def stretch_back(atoms_i, along, x, out, to):
    """The transpose of `stretch`."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            _add_dyad(out, k, along, to, square(get4(along, k, 0.0)), x)


@inlined
def _turn(q, x, k, j, way):
    """The vector of one ball in x from child into parent axes (way 1), or back (-1), in place."""
    put3(x, j, rotated(get4(q, k, 0.0), get3(x, j, 0.0), way))


@inlined
def _add_cross(x, y, out, j, sign):
    """out += sign x cross y, for one ball."""
    add3(out, j, scale(sign, cross(get3(x, j, 0.0), get3(y, j, 0.0))), 0.0)


@inner
def to_child(balls, q, v, dq, dv):
    """Changes dv of vectors v of balls := R^T (dv - dq x v); balls: (count, 2), where they begin in q and v."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _add_cross(dq, v, dv, j, -1.0)
        _turn(q, dv, k, j, -1.0)


@inner
def to_child_back(balls, q, v, dq, dv):
    """The transpose of `to_child`, which adds to dq."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _turn(q, dv, k, j, 1.0)
        _add_cross(v, dv, dq, j, -1.0)


@inner
def to_parent(balls, q, v, dq, dv):
    """Changes dv of vectors of balls, v in parent axes := R dv + dq x v."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _turn(q, dv, k, j, 1.0)
        _add_cross(dq, v, dv, j, 1.0)


@inner
def to_parent_back(balls, q, v, dq, dv):
    """The transpose of `to_parent`, which adds to dq."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _add_cross(v, dv, dq, j, 1.0)
        _turn(q, dv, k, j, -1.0)
