"""Adjoints of the measures of rows (`kinematics.kernels.measures`).

A holonomic row g(x0 .. x3) needs its third derivative, contracted twice with the velocities of its markers:

    t_m = sum_np g_mnp xd_n xd_p                (zero for POINT, DOT, PLANE and SKEW)

A velocity-level row acts along e at c, both functions of its markers x, n, u, with rates ed, cd: covectors of these
four become covectors of the markers and of their velocities, line by line backwards through `contact` and
`contact_variation`. Adjoints are called `by_..`.
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.table_gradient_functions import active_piece
from mechgrad.kernels.elementary import reciprocal, sincos, square_root
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import extract, insert, width
from mechgrad.kernels.vec3 import add, cross, dot, scale, sub, zero3
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.model.mechanism import CUBIC, P_COEFFICIENT, P_KIND, R_FIRST
from mechgrad.model.primitives.rows import ADVANCE, ANGLE, CIRCLE, DISTANCE, PROFILE, ROLL_ACROSS, SLIP


@inner
def profile_third(ints, numbers, k, kind, x1, x2, x3, scalar):
    """p''' of a PROFILE row k where its point is; nothing of other kinds."""
    third = scalar * 0.0
    if kind == PROFILE:
        way = dot(x1, sub(x2, x3))
        for lane in range(width(scalar)):
            s = extract(way, lane)
            o = active_piece(ints, numbers, row_int(ints, k, R_FIRST), s)
            c1, c2, c3 = numbers[o + P_COEFFICIENT + 1], numbers[o + P_COEFFICIENT + 2], numbers[o + P_COEFFICIENT + 3]
            if int(numbers[o + P_KIND].real) == CUBIC:
                third = insert(third, lane, s * 0.0 + 6.0 * c3)
            else:
                third = insert(third, lane, -(c2 * c2 * c2) * c1 * sincos(c2 * s + c3)[1])
    return third


@inner
def third_variation(kind, radius, x0, x1, x2, x3, d0, d1, d2, d3, along, scalar):
    """t_0 .. t_3: how the gradients vary, to second order, when the markers move by d0 .. d3.

    along : p', p'', p''' of PROFILE
    """
    zero = zero3(scalar)
    if kind == DISTANCE:
        d, dd = sub(x0, x1), sub(d0, d1)
        inverse = reciprocal(square_root(dot(d, d)))
        u = scale(inverse, d)
        along = dot(u, dd)
        turn = scale(inverse, sub(dd, scale(along, u)))
        t = add(scale(along * inverse * -2.0, turn), scale(dot(turn, turn) * -1.0, u))
        return t, scale(-1.0, t), zero, zero
    if kind == ANGLE:
        t0, t1, t2 = _angle_third(x0, x1, x2, d0, d1, d2)
        return t0, t1, t2, zero
    if kind == CIRCLE:  # of f(k) = -radius sqrt(1 - k^2), k = x2 . x3: f''' k'^2 + f'' k'', and 2 f'' k'
        k, kd, kdd = dot(x2, x3), dot(d2, x3) + dot(x2, d3), dot(d2, d3) * 2.0
        inverse = reciprocal(square_root(1.0 - k * k))
        second = radius * inverse * inverse * inverse
        third = second * k * inverse * inverse * 3.0
        own, other = third * kd * kd + second * kdd, second * kd * 2.0
        return zero, zero, add(scale(own, x3), scale(other, d3)), add(scale(own, x2), scale(other, d2))
    if kind == PROFILE:  # p'(s): its rate p'' s', and the rate of that
        d, dd = sub(x2, x3), sub(d2, d3)
        way_d, way_dd = dot(d1, d) + dot(x1, dd), dot(d1, dd) * 2.0
        once, twice = along[1] * way_d * 2.0, along[2] * way_d * way_d + along[1] * way_dd
        t2 = scale(-1.0, add(scale(twice, x1), scale(once, d1)))
        return zero, scale(-1.0, add(scale(twice, d), scale(once, dd))), t2, scale(-1.0, t2)
    return zero, zero, zero, zero


@inlined
def _angle_third(x0, x1, x2, d0, d1, d2):
    """ANGLE: the imaginary part of log z, z = c + i s with c = x0 . x1 and s = x2 . (x0 x x1).

    t_m = Im( z''_m / z - 2 (z' / z) z'_m / z + (2 (z' / z)^2 - z'' / z) z_m / z ), pairs of real numbers here.
    """
    normal, s0, s1 = cross(x0, x1), cross(x1, x2), cross(x2, x0)
    c, s = dot(x0, x1), dot(x2, normal)
    size = reciprocal(c * c + s * s)
    re, im = c * size, s * size * -1.0  # 1 / z
    ds0, ds1 = add(cross(d1, x2), cross(x1, d2)), add(cross(d2, x0), cross(x2, d0))
    ds2 = add(cross(d0, x1), cross(x0, d1))
    cd, sd = dot(d0, x1) + dot(x0, d1), dot(d2, normal) + dot(x2, ds2)
    across = cross(d0, d1)
    cdd, sdd = dot(d0, d1) * 2.0, (dot(x2, across) + dot(d2, ds2)) * 2.0
    a_re, a_im = cd * re - sd * im, cd * im + sd * re
    b_re, b_im = cdd * re - sdd * im, cdd * im + sdd * re
    e_re, e_im = (a_re * a_re - a_im * a_im) * 2.0 - b_re, a_re * a_im * 4.0 - b_im
    e_re, e_im = e_re * re - e_im * im, e_re * im + e_im * re
    f_re, f_im = (a_re * re - a_im * im) * -2.0, (a_re * im + a_im * re) * -2.0
    twice = re * 2.0
    t0 = add(scale(e_im, x1), add(scale(e_re, s0), add(scale(f_im, d1), scale(f_re, ds0))))
    t1 = add(scale(e_im, x0), add(scale(e_re, s1), add(scale(f_im, d0), scale(f_re, ds1))))
    t2 = add(scale(e_re, normal), scale(f_re, ds2))
    return add(t0, scale(twice, cross(d1, d2))), add(t1, scale(twice, cross(d2, d0))), add(t2, scale(twice, across))


@inner
def contact_adjoint(kind, radius, n, u, dn, du, by_c, by_e, by_cd, by_ed, scalar):
    """Covectors of c, e, cd, ed become those of n, u, dn, du and of the radius; x and xd take by_c and by_cd whole."""
    zero = zero3(scalar)
    if kind == SLIP:
        by_radius = (dot(by_c, n) + dot(by_cd, dn)) * -1.0
        return scale(-1.0 * radius, by_c), by_e, scale(-1.0 * radius, by_cd), by_ed, by_radius
    # forwards, as `contact_variation` does
    w, dw = cross(u, n), add(cross(du, n), cross(u, dn))
    inverse = reciprocal(square_root(dot(w, w)))
    e, de = scale(inverse, w), scale(inverse, dw)
    along = dot(e, de)
    by_n, by_dn, by_u, by_du = zero, zero, zero, zero
    if kind == ROLL_ACROSS:
        turned = sub(de, scale(along, e))
        by_n, by_dn = add(cross(e, by_e), cross(turned, by_ed)), cross(e, by_ed)
        by_e, by_ed = add(cross(by_e, n), cross(by_ed, dn)), cross(by_ed, n)
    by_inverse, by_radius = scalar * 0.0, scalar * 0.0
    if kind != ADVANCE:
        k, kd = dot(n, u), dot(dn, u) + dot(n, du)
        p, dp = sub(n, scale(k, u)), sub(sub(dn, scale(kd, u)), scale(k, du))
        down, sinking = scale(inverse, p), scale(inverse, dp)
        steep = dot(down, sinking)
        by_radius = (dot(by_c, down) + dot(by_cd, sub(sinking, scale(steep, down)))) * -1.0
        by_down, by_ddown = scale(-1.0 * radius, by_c), scale(-1.0 * radius, by_cd)
        share = dot(down, by_ddown)
        by_down = sub(by_down, add(scale(steep, by_ddown), scale(share, sinking)))
        by_sinking = sub(by_ddown, scale(share, down))
        by_inverse = dot(dp, by_sinking) + dot(p, by_down)
        by_dp, by_p = scale(inverse, by_sinking), scale(inverse, by_down)
        by_kd, by_k = dot(u, by_dp) * -1.0, (dot(du, by_dp) + dot(u, by_p)) * -1.0
        by_n = add(add(by_n, by_p), add(scale(by_kd, du), scale(by_k, u)))
        by_dn = add(by_dn, add(by_dp, scale(by_kd, u)))
        by_u = sub(add(scale(by_kd, dn), scale(by_k, n)), add(scale(kd, by_dp), scale(k, by_p)))
        by_du = sub(scale(by_kd, n), scale(k, by_dp))
    share = dot(e, by_ed)
    by_e = sub(by_e, add(scale(along, by_ed), scale(share, de)))
    by_de = sub(by_ed, scale(share, e))
    by_inverse = by_inverse + dot(dw, by_de) + dot(w, by_e)
    by_dw = scale(inverse, by_de)
    by_w = sub(scale(inverse, by_e), scale(inverse * inverse * inverse * by_inverse, w))
    by_n = add(by_n, add(cross(by_dw, du), cross(by_w, u)))
    by_u = add(by_u, add(cross(dn, by_dw), cross(n, by_w)))
    return by_n, by_u, add(by_dn, cross(by_dw, u)), add(by_du, cross(n, by_dw)), by_radius
