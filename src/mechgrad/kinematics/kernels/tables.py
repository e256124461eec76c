"""Records of the tables that kernels of trees read: many arrays under one name.

Python hands each of them to an entry as a plain tuple, and the entry names its fields: `tree = TreeTables(*tree)`. A
named tuple would cost a call 0.4 us, as much as ten arrays. Passes take records as they are, by value: that is the
same machine code as one argument per array. They read fields by name, so that any record with these fields will do,
also the large ones of marches by reference (`kernels.records`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TreeTables(NamedTuple):
    """A tree (`model.tree`).

    atoms_i, atoms_f : (n_atoms, .) int64 and (n_atoms + 1, ATOM_SIZE); the last row of atoms_f is gravity
    columns_i : (n_v, .) int64
    """

    atoms_i: np.ndarray
    atoms_f: np.ndarray
    columns_i: np.ndarray


class Motion(NamedTuple):
    """Coordinates, velocities and accelerations: samples (nt, n), or the slots of one block of them."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


class Loads(NamedTuple):
    """External loads (`inverse.loads`): loads_i (n_loads, 2) int64, loads_f (1 or nt, n_loads * LOAD)."""

    loads_i: np.ndarray
    loads_f: np.ndarray


class Markers(NamedTuple):
    """Points, vectors and spins: markers_i (n_markers, 2) int64 atom and kind, markers_f (n_markers, 3) in its axes."""

    markers_i: np.ndarray
    markers_f: np.ndarray


class Terms(NamedTuple):
    """Parameters as terms (`model.columns`): terms_i, terms_f, and whom each of them acts on.

    rows : (n, 2) int64; of generalized forces (column, packed position), of markers (term, marker)
    """

    terms_i: np.ndarray
    terms_f: np.ndarray
    rows: np.ndarray


class RowStates(NamedTuple):
    """Values, rates and second rates of rows, one slot per row."""

    values: np.ndarray
    rates: np.ndarray
    seconds: np.ndarray
