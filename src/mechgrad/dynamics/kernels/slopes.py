"""Slopes of residual and rows along one direction over many states, in dual lanes.

    r(x) = M a + h - Q + Gamma^T lam,   g(x), g'(x), g''(x)        x = (q, v, a, lam, every number of the mechanism)

Arguments are complex, x + 1e-30j dx; results are r_x dx, g_x dx and so on. Unlike a complex step this runs in SIMD
lanes: products of two slopes are dropped instead of computed.

The passes are those of `system`; velocities and wrenches are about one point, never about centres of mass, since r
does not depend on where they are taken.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.lane_states import gather_states, make_lane_state, put_multipliers
from mechgrad.dynamics.kernels.laws import apply_laws
from mechgrad.dynamics.kernels.pushed_rows import push_coordinates, push_rows
from mechgrad.dynamics.kernels.system import begin, forces, make_work, place
from mechgrad.inverse.kernels.tree_torques import project
from mechgrad.inverse.kernels.wrenches import WRENCH, apply_loads, body_wrenches
from mechgrad.kernels.dual_lanes import dual_of, dual_zero
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less, extract, get_sample, lane_zero, load, store, width
from mechgrad.kernels.records import refer
from mechgrad.kernels.vec3 import clear
from mechgrad.kernels.workspaces import borrow, give_back
from mechgrad.model.columns import STEP

PER_STEP = 1.0 / STEP
COLUMN, MASSES, LAWS = range(3)  # of a direction: where its slopes go, and whether it changes masses, laws or tau


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


@inner
def _residual_about_one_point(mechanism, work, scalar):
    """work.r of the placed state, forces applied."""
    body_wrenches(mechanism.atoms_i, mechanism.atoms_f, work.frames, work.wrenches, scalar)
    apply_loads(mechanism.loads_i, work.loads, work.frames, work.wrenches, scalar)
    push_rows(mechanism.ints, work.near_rows, work.attachments, work.y, work.wrenches, runtime_int(0), scalar)
    project(mechanism.atoms_i, work.twists, work.wrenches, work.r, scalar)
    push_coordinates(mechanism.ints, mechanism.numbers, work.near_rows, work.y, work.r, runtime_int(0), scalar)


@inner
def _changing_forces(mechanism, atoms_f, numbers, direction, t, work, scalar):
    """work.r of what has slopes along a direction: inertia forces if it changes masses, laws and tau if it changes
    these."""
    if direction[MASSES]:
        body_wrenches(mechanism.atoms_i, atoms_f, work.frames, work.wrenches, scalar)
    else:
        clear(work.wrenches, 0, mechanism.n_atoms * WRENCH, scalar)
    if direction[LAWS] and mechanism.n_laws:
        apply_laws(mechanism.ints, numbers, work, t, None, scalar)
        push_rows(
            mechanism.ints, work.near_rows, work.attachments, work.y, work.wrenches, mechanism.n_constraints, scalar
        )
    project(mechanism.atoms_i, work.twists, work.wrenches, work.r, scalar)
    if direction[LAWS]:
        push_coordinates(mechanism.ints, numbers, work.near_rows, work.y, work.r, mechanism.n_constraints, scalar)


@kernel
def _slopes(mechanism, work, lanes, states, out, column):
    scalar = dual_zero()
    mechanism, work, lanes, states, out = refer(mechanism), refer(work), refer(lanes), refer(states), refer(out)
    begin(mechanism, work, scalar)
    for row in range(0, states.q.shape[0], width(scalar)):
        now = gather_states(states, row, lanes, scalar)
        check = place(mechanism, work, lanes.q, lanes.v, lanes.a, now, mechanism.n_all, scalar)
        if any_not_less(check, 1.0):
            return _first_bad(check, row, scalar)
        _put_slopes(work.values, out.values, row, column, scalar)
        _put_slopes(work.rates, out.rates, row, column, scalar)
        _put_slopes(work.seconds, out.seconds, row, column, scalar)
        if out.r.shape[0] == 0:
            continue
        put_multipliers(lanes.lam, work.y, scalar)
        forces(mechanism, work, now, scalar)
        _residual_about_one_point(mechanism, work, scalar)
        _put_slopes(work.r, out.r, row, column, scalar)
    return -1


@inner
def _lift(values, dual, zero, scalar):
    """Numbers in lanes as dual lanes without slopes."""
    for slot in range(values.size // width(zero)):
        store(dual, slot, dual_of(load(values, slot, zero), zero))


@inner
def _share(of, to):
    """Copy integers."""
    for k in range(of.size):
        to[k] = of[k]


@kernel
def _force_slopes(mechanism, work, dual, lanes, states, atoms, numbers, directions, r):
    scalar, real = dual_zero(), lane_zero()
    mechanism, work, dual = refer(mechanism), refer(work), refer(dual)
    lanes, states = refer(lanes), refer(states)
    begin(mechanism, work, real)
    for row in range(0, states.q.shape[0], width(scalar)):
        now = gather_states(states, row, lanes, real)
        if any_not_less(place(mechanism, work, lanes.q, lanes.v, lanes.a, now, mechanism.n_rows, real), 1.0):
            return row
        _lift(work.frames, dual.frames, real, scalar)
        _lift(work.twists, dual.twists, real, scalar)
        _lift(work.attachments, dual.attachments, real, scalar)
        _lift(work.values, dual.values, real, scalar)
        _lift(work.rates, dual.rates, real, scalar)
        _share(work.near_laws, dual.near_laws)
        _share(work.near_rows, dual.near_rows)
        for k in range(directions.shape[0]):
            _changing_forces(mechanism, atoms[k], numbers[k], directions[k], dual_of(now, real), dual, scalar)
            _put_slopes(dual.r, r, row, directions[k, COLUMN], scalar)
    return -1


@wrapper
def force_slopes(mechanism, atoms, numbers, columns, states, r):
    """`slopes` of the residuals alone, for directions that change masses and laws only: no frame, marker or row has a
    slope, and all directions share them.

    mechanism: real; atoms, numbers: its tables with each direction in their imaginary parts, (directions, *),
    read-only; columns: of r (nt, n_v, .) where each goes; states: real. Returns the first sample of a block with a bad
    number, or -1.
    """
    changes = [table.imag.reshape(len(columns), -1).any(axis=1) for table in (atoms, numbers)]
    directions = np.stack([columns, *changes], axis=1).astype(np.int64)

    def make():
        work, dual = make_work(mechanism, LANES), make_work(mechanism._replace(atoms_f=atoms[0]), LANES)
        return work, dual, make_lane_state(states, float)

    kind = "force slopes", mechanism.loads_i.shape[0], states.lam.shape[1]
    workspace = borrow(mechanism, kind, make)
    bad = _force_slopes(mechanism, *workspace, states, atoms, numbers, directions, r)
    if bad < 0:
        give_back(mechanism, kind, workspace)
    return bad


@wrapper
def slopes(mechanism, states, out, column):
    """Slopes of residuals r (nt, n_v, columns), and of values, rates and seconds (nt, n_all, columns) of all rows, into
    one column of the fields of `out`, at `states`: q, v, a, multipliers lam (nt, n_constraints) and instants t (nt,).

    The direction is that of the imaginary parts of mechanism and states; these are to be of the size 1e-30, since laws
    and functions take them for complex steps. Outputs without rows are left out. Returns the first sample with a bad
    number, or -1.
    """
    kind = "slopes", mechanism.loads_i.shape[0], states.lam.shape[1], mechanism.atoms_f.dtype
    workspace = borrow(mechanism, kind, lambda: (make_work(mechanism, LANES), make_lane_state(states, complex)))
    bad = _slopes(mechanism, *workspace, states, out, column)
    if bad < 0:
        give_back(mechanism, kind, workspace)
    return bad
