"""Everything a march reads, as one record of flat arrays: the tree, its markers, rows, laws, functions and loads.

What rows and laws need is packed into one array of integers and one of numbers: compiled passes then take a few arrays
instead of dozens, which decides both how fast they are called and how long they take to compile. The first entries of
`ints` are a header: sizes, and where each table starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Mechanism(NamedTuple):
    """Tables of one mechanism; `model.tree`, `model.primitives.rows` and `model.elements` say what they hold.

    Integers are int64; atoms_f, markers_f, loads_f and numbers share one type, float64 or complex128.
    """

    atoms_i: np.ndarray
    atoms_f: np.ndarray
    columns_i: np.ndarray
    pairs: np.ndarray
    pattern_rows: np.ndarray
    pattern_cols: np.ndarray
    chain_start: np.ndarray
    markers_i: np.ndarray
    markers_f: np.ndarray
    loads_i: np.ndarray
    loads_f: np.ndarray
    ints: np.ndarray
    numbers: np.ndarray

    @staticmethod
    def header() -> dict[str, int]:
        """Sizes by name, and where they stand in `ints`; they are read as fields, also in compiled passes."""
        return SIZES

    def __getattr__(self, name: str) -> int:
        """Sizes of the header: mechanism.n_rows."""
        if name not in SIZES:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return int(self.ints[SIZES[name]])


def has_pairs(T: Mechanism) -> bool:
    """Whether a record has the tables that relate pairs of columns, O(n_v depth) numbers.

    Accelerations by recursive elimination do without: records for explicit marches of open trees leave them out, and
    the space for matrices with them.
    """
    return bool(T.pattern_rows.size) or not T.columns_i.shape[0]


# the header of `ints`: sizes,
(
    N_Q, N_V, N_ATOMS, N_MARKERS,
    N_HOLONOMIC,  # rows before this one are position-level constraints
    N_CONSTRAINTS,  # rows before this one are constraints
    N_ROWS,  # rows before this one act; what follows are rows that Matrix R takes as independent coordinates
    N_ALL,
    N_LAWS, LAW_WIDTH,  # most rows of one law
    # starts of tables of integers: rows, coordinates of rows, laws, functions, markers (atom, kind, last column),
    # columns (parent, atom), whether a column moves an atom,
    AT_ROWS, AT_COORDS, AT_LAWS, AT_FUNCTIONS, AT_MARKERS, AT_COLUMNS, AT_MOVES,
    # and of tables in `numbers`: constant, direction and radius of rows, factors, laws, pieces of functions, tau
    AT_ROW_NUMBERS, AT_FACTORS, AT_LAW_NUMBERS, AT_PIECES, AT_TAU,
    REFERENCE,  # 1: residual and mass matrix about centres of mass instead of one point
    AT_SURFACES, AT_SURFACE_NUMBERS,  # tables of surfaces: integers, numbers
    # laws that are left out where their bodies are far from each other (`dynamics.kernels.near_laws`): how many, their
    # table, and those of the stretches of markers that others need, too, and of the points whose way is watched
    N_GUARDS, AT_GUARDS, N_COMMON, AT_COMMON, N_WATCHED, AT_WATCHED,
) = range(31)  # fmt: skip
HEADER = 31
SIZES = {
    "n_q": N_Q, "n_v": N_V, "n_atoms": N_ATOMS, "n_markers": N_MARKERS, "n_holonomic": N_HOLONOMIC,
    "n_constraints": N_CONSTRAINTS, "n_rows": N_ROWS, "n_all": N_ALL, "n_laws": N_LAWS, "law_width": LAW_WIDTH,
    "about_com": REFERENCE, "n_guards": N_GUARDS,
    "n_common": N_COMMON, "n_watched": N_WATCHED,
}  # fmt: skip

# one line of each table
ROW, ROW_NUMBERS, LAW, LAW_NUMBERS, PIECE, MARKER_LINE, COLUMN_LINE, SURFACE = 8, 5, 7, 24, 6, 3, 2, 4
R_KIND, R_MARKER, R_FIRST, R_COUNT, R_FUNCTION = 0, 1, 5, 6, 7
R_CONSTANT, R_DIRECTION, R_RADIUS = 0, 1, 4
L_KIND, L_FIRST, L_ROWS, L_FUNCTION, L_SECOND_FUNCTION, L_USER, L_SURFACE = range(7)
F_FIRST, F_COUNT = range(2)
S_KIND, S_FIRST, S_LINES, S_COLUMNS = range(4)
# of a guard: its law, the rows of that, the two points whose distance counts, and the markers that are its own
G_LAW, G_FIRST, G_LAST, G_A, G_B, G_MARKER, G_MARKER_END = range(7)
GUARD = 7
P_START, P_COEFFICIENT, P_KIND = 0, 1, 5
CUBIC, HARMONIC = range(2)
