"""Slopes of residual and rows along one direction over many states, in dual lanes.

    r(x) = M a + h - Q + Gamma^T lam,   g(x), g'(x), g''(x)        x = (q, v, a, lam, every number of the mechanism)

Arguments are complex, x + 1e-30j dx; results are r_x dx, g_x dx and so on. Unlike a complex step this runs in SIMD
lanes: products of two slopes are dropped instead of computed.

The passes are those of `system`; velocities and wrenches are about the world's origin, whatever the mechanism's
reference points are, since r does not depend on them.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.laws import apply_laws
from mechgrad.dynamics.kernels.system import begin, forces, make_work, place, push_coordinates, push_rows
from mechgrad.inverse.kernels.torques import project
from mechgrad.inverse.kernels.wrenches import apply_loads, body_wrenches
from mechgrad.kernels.dual_lanes import dual_of, dual_zero
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less, extract, gather, get_sample, insert, lane_zero, load, store, width
from mechgrad.kernels.records import refer
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import N_ALL, N_LAWS, N_ROWS

PER_STEP = 1.0 / STEP


@inlined
def _instants(t, row, scalar):
    """The scalar of the times row .. row+L-1; past the end the last one repeats."""
    now = scalar
    for lane in range(width(scalar)):
        now = insert(now, lane, complex(t[min(row + lane, t.size - 1)], 0.0))
    return now


@inlined
def _first_bad(check, row, scalar):
    """The first of the samples row .. row+L-1 whose checksum is not 0."""
    for lane in range(width(scalar)):
        if any_not_less(extract(check, lane), 1.0):
            return row + lane
    return -1


@inner
def _put_slopes(scratch, target, row, column, scalar):
    """Slopes of the slots of scratch into rows row .. row+L-1 of a column of target (nt, m, columns); lanes past the
    end are dropped. A target without rows is left out."""
    for lane in range(min(width(scalar), target.shape[0] - row)):
        for j in range(target.shape[1]):
            target[row + lane, j, column] = get_sample(scratch, j, lane, scalar).imag * PER_STEP


@kernel
def _slopes(T, w, Q, V, A, L, t, r, values, rates, seconds, column, q, v, a):
    scalar = dual_zero()
    T, w = refer(T), refer(w)
    begin(T, w, scalar)
    for row in range(0, Q.shape[0], width(scalar)):
        gather(Q, row, q, 0, scalar)
        gather(V, row, v, 0, scalar)
        gather(A, row, a, 0, scalar)
        now = _instants(t, row, scalar)
        check = place(T, w, q, v, a, now, T.ints[N_ALL], scalar)
        if any_not_less(check, 1.0):
            return _first_bad(check, row, scalar)
        _put_slopes(w.values, values, row, column, scalar)
        _put_slopes(w.rates, rates, row, column, scalar)
        _put_slopes(w.seconds, seconds, row, column, scalar)
        if r.shape[0] == 0:
            continue
        gather(L, row, w.y, 0, scalar)
        forces(T, w, now, scalar)
        body_wrenches(T.atoms_i, T.atoms_f, w.frames, w.wrenches, scalar)
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, scalar)
        push_rows(T.ints, w.attachments, w.y, w.wrenches, runtime_int(0), scalar)
        project(T.atoms_i, w.twists, w.wrenches, w.r, scalar)
        push_coordinates(T.ints, T.numbers, w.y, w.r, runtime_int(0), scalar)
        _put_slopes(w.r, r, row, column, scalar)
    return -1


@inner
def _lift(values, dual, zero, scalar):
    """Numbers in lanes as dual lanes without slopes."""
    for slot in range(values.size // width(zero)):
        store(dual, slot, dual_of(load(values, slot, zero), zero))


@kernel
def _force_slopes(T, w, D, atoms, numbers, columns, Q, V, A, L, t, r, q, v, a, lam, time):
    scalar, real = dual_zero(), lane_zero()
    T, w, D = refer(T), refer(w), refer(D)
    begin(T, w, real)
    _lift(w.loads, D.loads, real, scalar)
    for row in range(0, Q.shape[0], width(scalar)):
        gather(Q, row, q, 0, real)
        gather(V, row, v, 0, real)
        gather(A, row, a, 0, real)
        gather(L, row, lam, 0, real)
        gather(t, row, time, 0, real)
        now = load(time, 0, real)
        if any_not_less(place(T, w, q, v, a, now, T.ints[N_ROWS], real), 1.0):
            return row
        _lift(w.frames, D.frames, real, scalar)
        _lift(w.twists, D.twists, real, scalar)
        _lift(w.attachments, D.attachments, real, scalar)
        _lift(w.values, D.values, real, scalar)
        _lift(w.rates, D.rates, real, scalar)
        _lift(lam, D.y, real, scalar)
        for k in range(columns.size):
            if T.ints[N_LAWS]:
                apply_laws(
                    T.ints, numbers[k], dual_of(now, real), D.values, D.rates, D.y, D.y_g, D.y_gd, D.law_g, D.law_gd,
                    D.law_F, D.law_F_g, D.law_F_gd, scalar,
                )  # fmt: skip
            body_wrenches(T.atoms_i, atoms[k], D.frames, D.wrenches, scalar)
            apply_loads(T.loads_i, D.loads, D.frames, D.wrenches, scalar)
            push_rows(T.ints, D.attachments, D.y, D.wrenches, runtime_int(0), scalar)
            project(T.atoms_i, D.twists, D.wrenches, D.r, scalar)
            push_coordinates(T.ints, numbers[k], D.y, D.r, runtime_int(0), scalar)
            _put_slopes(D.r, r, row, columns[k], scalar)
    return -1


@wrapper
def force_slopes(T, atoms, numbers, columns, Q, V, A, L, t, r):
    """`slopes` of the residuals alone, for directions that change masses and laws only: no frame, marker or row has a
    slope, and all directions share them.

    T: real; atoms, numbers: its tables with each direction in their imaginary parts, (directions, *), read-only;
    columns: of r (nt, n_v, .) where each goes. States are real, t: (nt, 1). Returns the first sample of a block with a
    bad number, or -1.
    """
    q, v, a, lam = (np.empty(x.shape[1] * LANES) for x in (Q, V, A, L))
    w, D = make_work(T, LANES), make_work(T._replace(atoms_f=atoms[0]), LANES)
    return _force_slopes(T, w, D, atoms, numbers, columns, Q, V, A, L, t, r, q, v, a, lam, np.empty(LANES))


@wrapper
def slopes(T, Q, V, A, L, t, r, values, rates, seconds, column):
    """Slopes of residuals (nt, n_v, columns), and of values, rates and second rates (nt, N_ALL, columns) of all rows,
    into one column of the outputs, at states Q, V, A with multipliers L (nt, n_constraints) of the constraints at times
    t (nt,).

    The direction is that of the imaginary parts of T, Q, V, A and L; these are to be of the size 1e-30, since laws and
    functions take them for complex steps. Outputs without rows are left out. Returns the first sample with a bad
    number, or -1.
    """
    q, v, a = (np.empty(x.shape[1] * LANES, complex) for x in (Q, V, A))
    return _slopes(T, make_work(T, LANES), Q, V, A, L, t, r, values, rates, seconds, column, q, v, a)
