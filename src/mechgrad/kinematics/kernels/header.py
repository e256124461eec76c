"""The packed tables of a `Mechanism`, by name: sizes from the header of `ints`, and lines of its tables.

`ints` and `numbers` are those of `model.mechanism.Mechanism`, which says what they hold.
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined
from mechgrad.model.mechanism import (
    AT_COLUMNS,
    AT_COORDS,
    AT_FACTORS,
    AT_FUNCTIONS,
    AT_MARKERS,
    AT_MOVES,
    AT_PIECES,
    AT_ROW_NUMBERS,
    AT_ROWS,
    COLUMN_LINE,
    F_COUNT,
    F_FIRST,
    MARKER_LINE,
    N_ALL,
    N_ATOMS,
    N_CONSTRAINTS,
    N_HOLONOMIC,
    N_LAWS,
    N_ROWS,
    N_V,
    PIECE,
    R_COUNT,
    R_FIRST,
    R_MARKER,
    ROW,
    ROW_NUMBERS,
)

FUNCTION_LINE, COORDINATE_LINE = 2, 2
# columns of the table of markers
MARKER_ATOM, MARKER_KIND, MARKER_COLUMN = range(3)


# ------------------------------------------------------------------------------------------------------- sizes
@inlined
def velocity_count(ints):
    """n_v, the number of columns."""
    return ints[N_V]


@inlined
def atom_count(ints):
    """The number of atoms, and the index of the world."""
    return ints[N_ATOMS]


@inlined
def holonomic_count(ints):
    """Rows before this one are constraints of positions."""
    return ints[N_HOLONOMIC]


@inlined
def constraint_count(ints):
    """Rows before this one are constraints."""
    return ints[N_CONSTRAINTS]


@inlined
def acting_count(ints):
    """Rows before this one act: constraints, then rows of laws."""
    return ints[N_ROWS]


@inlined
def row_count(ints):
    """All rows, with those that Matrix R can choose as independent coordinates."""
    return ints[N_ALL]


@inlined
def law_count(ints):
    """The number of laws."""
    return ints[N_LAWS]


# -------------------------------------------------------------------------------------------------------- rows
@inlined
def row_int(ints, k, what):
    """An integer of row k."""
    return ints[ints[AT_ROWS] + k * ROW + what]


@inlined
def row_number(ints, numbers, k, what):
    """A number of row k."""
    return numbers[ints[AT_ROW_NUMBERS] + k * ROW_NUMBERS + what]


@inlined
def marker_at(ints, k, m):
    """Index of marker m of row k; 0 where the row has none, whose numbers are then not used."""
    return max(row_int(ints, k, R_MARKER + m), 0)


@inlined
def row_terms(ints, k):
    """The terms first .. last - 1 of a LINEAR row k."""
    first = row_int(ints, k, R_FIRST)
    return first, first + row_int(ints, k, R_COUNT)


@inlined
def term_coordinate(ints, c):
    """The coordinate of term c of LINEAR rows."""
    return ints[ints[AT_COORDS] + COORDINATE_LINE * c]


@inlined
def term_column(ints, c):
    """The velocity of term c of LINEAR rows."""
    return ints[ints[AT_COORDS] + COORDINATE_LINE * c + 1]


@inlined
def term_factor(ints, numbers, c):
    """The factor of term c of LINEAR rows."""
    return numbers[ints[AT_FACTORS] + c]


# ---------------------------------------------------------------------------------------- markers and columns
@inlined
def marker_int(ints, marker, what):
    """Atom, kind or last column of a marker."""
    return ints[ints[AT_MARKERS] + marker * MARKER_LINE + what]


@inlined
def column_parent(ints, j):
    """The column before column j on the way to the ground, or -1."""
    return ints[ints[AT_COLUMNS] + j * COLUMN_LINE]


@inlined
def column_atom(ints, j):
    """The atom that column j moves."""
    return ints[ints[AT_COLUMNS] + j * COLUMN_LINE + 1]


@inlined
def moves(ints, atom, j):
    """Whether column j moves an atom."""
    return ints[ints[AT_MOVES] + atom * ints[N_V] + j] != 0


# --------------------------------------------------------------------------------------------------- functions
@inlined
def function_pieces(ints, k):
    """The first piece of function k, and how many it has."""
    at = ints[AT_FUNCTIONS] + FUNCTION_LINE * k
    return ints[at + F_FIRST], ints[at + F_COUNT]


@inlined
def piece_at(ints, piece):
    """Where a piece of a function begins in `numbers`."""
    return ints[AT_PIECES] + piece * PIECE
