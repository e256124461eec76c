"""What constraints and force elements do to bodies in given states."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels import states as _kernels
from mechgrad.dynamics.system import System
from mechgrad.inverse.kernels.wrenches import WRENCH
from mechgrad.model.mechanism import N_LAWS, N_ROWS
from mechgrad.typing import Array


def row_forces(
    system: System, q: Array, v: Array, a: Array, lam: Array, t: Array, *, laws: bool = True
) -> tuple[Array, Array]:
    """Multipliers of all rows, and the forces on bodies that they are.

        wrench of a body = -sum over rows k of  y_k ((x - x_atom) cross g, g)    over the attachments of row k on it

    y: the multipliers lam of constraints as given, then the forces of laws (unless they are left out).

    Returns
    -------
    y : (nt, rows)
    wrenches : (nt, atoms, 6)
        Couple (moment about the atom's origin) and force, world axes, by the atom that carries the body [N m, N].
    """
    T = system.recursive
    if not laws:
        ints = T.ints.copy()
        ints[[N_LAWS, N_ROWS]] = 0, system.n_constraints
        ints.setflags(write=False)
        T = T._replace(ints=ints)
    nt, atoms, rows = len(q), len(T.atoms_i), int(T.ints[N_ROWS])
    y: Array = np.zeros((nt, rows), system.dtype)
    wrenches: Array = np.zeros((nt, atoms * WRENCH), system.dtype)
    if rows:
        states: list[Array] = [np.array(x, system.dtype, order="C") for x in (q, v, a, lam)]
        _kernels.row_forces(T, *states, np.array(t, float), y, wrenches)
        system.users.raise_pending()
    return y, -wrenches.reshape(nt, atoms, WRENCH)
