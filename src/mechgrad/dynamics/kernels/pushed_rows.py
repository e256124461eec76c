"""What rows, times their multipliers, do to bodies and coordinates: of the rows that are near alone."""

from __future__ import annotations

from mechgrad.dynamics.kernels.law_partials import NOTHING
from mechgrad.inverse.kernels.wrenches import FORCE, L_DYAD, L_FORCE, MOMENT, WORLD_LOAD, WRENCH
from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.vec3 import add3, cross, get3, scale
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.kinematics.kernels.left_out_rows import ATTACHMENT, ATTACHMENTS, F_G, F_X
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.kinematics.kernels.row_states import (
    acts_at_a_point,
    attached_atom,
)
from mechgrad.model.mechanism import (
    AT_COORDS,
    AT_FACTORS,
    AT_TAU,
    N_ATOMS,
    N_ROWS,
    N_V,
    R_COUNT,
    R_FIRST,
    R_KIND,
)
from mechgrad.model.primitives.rows import LINEAR


@inner
def push_rows(ints, near_rows, attachments, y, wrenches, first, scalar):
    """Add what the rows from `first` on, times y, do to the wrenches that bodies need."""
    n_atoms = ints[N_ATOMS]
    for stretch in range(near_rows[0]):
        begin, end = max(first, near_rows[1 + 2 * stretch]), min(ints[N_ROWS], near_rows[2 + 2 * stretch])
        for k in range(begin, end):
            multiplier = load(y, k, scalar)
            if not any_not_less(magnitude(multiplier), NOTHING):
                continue
            for f in range(attachments_of_kind(row_int(ints, k, R_KIND))):
                atom, o = attached_atom(ints, k, f), k * ATTACHMENTS + f * ATTACHMENT
                if atom < n_atoms:
                    force = scale(multiplier, get3(attachments, o + F_G, scalar))
                    add3(wrenches, atom * WRENCH + MOMENT, cross(get3(attachments, o + F_X, scalar), force), scalar)
                    if acts_at_a_point(ints, k, f):
                        add3(wrenches, atom * WRENCH + FORCE, force, scalar)


@inner
def push_coordinates(ints, numbers, near_rows, y, r, first, scalar):
    """r += y times the factors of LINEAR rows from `first` on, and -= tau."""
    for j in range(ints[N_V]):
        store(r, j, load(r, j, scalar) - numbers[ints[AT_TAU] + j])
    for stretch in range(near_rows[0]):
        begin, end = max(first, near_rows[1 + 2 * stretch]), min(ints[N_ROWS], near_rows[2 + 2 * stretch])
        for k in range(begin, end):
            if row_int(ints, k, R_KIND) == LINEAR:
                start = row_int(ints, k, R_FIRST)
                for c in range(start, start + row_int(ints, k, R_COUNT)):
                    j = ints[ints[AT_COORDS] + 2 * c + 1]
                    store(r, j, load(r, j, scalar) + load(y, k, scalar) * numbers[ints[AT_FACTORS] + c])


@inner
def rows_as_loads(ints, near_rows, attachments, y, world, scalar):
    """Add the rows, times y, to the loads of constant direction (opposite sign: y resists)."""
    n_atoms = ints[N_ATOMS]
    for stretch in range(near_rows[0]):
        for k in range(near_rows[1 + 2 * stretch], min(ints[N_ROWS], near_rows[2 + 2 * stretch])):
            multiplier = load(y, k, scalar) * -1.0
            if not any_not_less(magnitude(multiplier), NOTHING):
                continue
            for f in range(attachments_of_kind(row_int(ints, k, R_KIND))):
                atom, o = attached_atom(ints, k, f), k * ATTACHMENTS + f * ATTACHMENT
                if atom < n_atoms:
                    x, force = get3(attachments, o + F_X, scalar), scale(multiplier, get3(attachments, o + F_G, scalar))
                    at = atom * WORLD_LOAD
                    if acts_at_a_point(ints, k, f):
                        add3(world, at + L_FORCE, force, scalar)
                    add3(world, at + L_DYAD, scale(force[0], x), scalar)
                    add3(world, at + L_DYAD + 3, scale(force[1], x), scalar)
                    add3(world, at + L_DYAD + 6, scale(force[2], x), scalar)
