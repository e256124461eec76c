"""Generalized forces of a tree: recursive Newton-Euler in world axes, O(n).

tau_j = S_j . (sum over the bodies beyond joint j of the wrench they need)
"""

from __future__ import annotations

from mechgrad.inverse.kernels.wrenches import (
    FORCE,
    LOAD,
    MOMENT,
    WRENCH,
    apply_loads,
    body_wrenches,
    gather_loads,
    pass_down,
)
from mechgrad.kernels.jit import allocating, entry, inner
from mechgrad.kernels.lanes import any_not_less, lane_zero, scatter, store, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.vec3 import dot, get3
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, columns_of_kind, outward_rows, place_world
from mechgrad.kinematics.kernels.tables import Motion
from mechgrad.model.tree import KIND, PARENT, V_AT


@inner
def project(atoms_i, twists, wrenches, tau, scalar):
    """Sum the wrenches towards the ground and project them on the twists."""
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        force, moment = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        columns = columns_of_kind(atoms_i[i, KIND])
        for j in range(atoms_i[i, V_AT], atoms_i[i, V_AT] + columns):
            s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
            store(tau, j, dot(s, moment) + dot(m, force))
        if atoms_i[i, PARENT] >= 0:
            pass_down(wrenches, i, atoms_i[i, PARENT], WRENCH, scalar)


@allocating
def torques(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau, scalar):
    """Rows of q (nt, n_q), v, a (nt, n_v) to rows of tau (nt, n_v). Returns the first row of a block with a bad
    number, or -1."""
    n_atoms, n_q, n_v = atoms_i.shape[0], q.shape[1], v.shape[1]
    n, n_loads = width(scalar), loads_i.shape[0]
    samples = Motion(q, v, a)
    motion = Motion(q=slots(n_q, tau, scalar), v=slots(n_v, tau, scalar), a=slots(n_v, tau, scalar))
    tau_, twists = slots(n_v, tau, scalar), slots(n_v * TWIST, tau, scalar)
    frames, wrenches = slots((n_atoms + 1) * FRAME, tau, scalar), slots(n_atoms * WRENCH, tau, scalar)
    loads = slots(n_loads * LOAD, tau, scalar)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        check = outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar)
        body_wrenches(atoms_i, atoms_f, frames, wrenches, scalar)
        if n_loads:
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, frames, wrenches, scalar)
        project(atoms_i, twists, wrenches, tau_, scalar)
        if any_not_less(check, 1.0):
            return row
        scatter(tau_, 0, tau, row, scalar)
    return -1


@entry
def torques_one(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau):
    """`torques` sample by sample."""
    return torques(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau, 0.0)


@entry
def torques_lanes(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau):
    """`torques` in SIMD lanes."""
    return torques(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau, lane_zero())


@entry
def torques_complex(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau):
    """`torques` of complex numbers."""
    return torques(atoms_i, atoms_f, q, v, a, loads_i, loads_f, tau, 0j)
