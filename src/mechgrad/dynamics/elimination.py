"""Where the entries of a large mechanism's matrices are, and in which order its unknowns are eliminated.

The saddle matrix [ A  J^T ; J  -eps ] of n velocities and m constraint rows relates columns of one branch of the tree
(A has the pattern of the mass matrix, and what laws and turning rows add), and rows with the columns that move them.

Unknowns are eliminated by least degree: those first that relate fewest others, which on trees is from the leaves to the
root. A multiplier waits until all columns are eliminated that move its row in itself, and not its surroundings: those
on the ways to its attachments that not all of these have in common. Its pivot is then -(eps + J A^-1 J^T) of these
columns, as regular as its rows are; pivots stay on the diagonal, and what that costs in digits is watched
(`kernels.sparse_lu`).

What it costs is known beforehand: one multiplication for each pair of neighbours at each elimination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mechgrad.dynamics.elimination_order import Slots, least_degree
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.dynamics.matrix_entries import Entries, RowColumns, row_columns
from mechgrad.errors import InputError
from mechgrad.model.mechanism import (
    Mechanism,
)
from mechgrad.typing import IntArray

# Measured (`benchmarks/scaling.py`): fewer unknowns are quicker in dense matrices, and so are those whose factors take
# more than this share of the multiplications of dense ones
SMALLEST, WORTH_IT = 40, 0.05
MOST_KNOWN = 64
MOST_EDGES = 40  # related unknowns per unknown, on average: beyond, matrices count as dense


@dataclass(frozen=True, eq=False)
class Elimination:
    """Positions of entries and the order of elimination of one mechanism.

    work : multiplications that factors take;   size : n + m
    groups : (n,) a number for each column: columns of one group move no row together
    """

    tables: dict[str, IntArray]
    work: int
    size: int
    groups: IntArray

    @property
    def constraint_entries(self) -> int:
        """How many entries of J belong to constraints."""
        return int(self.tables["up_slots"].size)

    def record(self, dtype: Any) -> Sparse:
        """What kernels read, with a workspace of its own."""
        space = {name: np.zeros(self.size, dtype) for name in ("given", "rest", "size")}
        return Sparse(**self.tables, **space, lost=np.zeros(2, np.int64))


def chosen_elimination(T: Mechanism, matrices: str, known: dict[bytes, Elimination | None]) -> Elimination | None:
    """The elimination that a mechanism's matrices take, or None for dense ones; known: those of other records."""
    if matrices == "dense" or (matrices == "auto" and T.n_v + T.n_constraints < SMALLEST):
        return None
    key = T.ints.tobytes() + T.loads_i.tobytes()
    if key not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[key] = eliminated(T)
    found = known[key]
    if found is None and matrices == "sparse":
        raise InputError(
            f"matrices='sparse': the {T.n_v} velocities and {T.n_constraints} constraint rows of this model are nearly "
            "all related to each other. Use matrices='auto'."
        )
    if found is not None and matrices == "auto" and found.work > WORTH_IT * float(found.size) ** 3:
        return None
    return found


def column_groups(n: int, rows: RowColumns, m: int) -> IntArray:
    """A number for each column, the smallest that is free: columns with one number move none of the first m rows
    together."""
    of_column: list[list[int]] = [[] for _ in range(n)]
    for k in range(m):
        for j in rows.of(k).tolist():
            of_column[j].append(k)
    taken: list[set[int]] = [set() for _ in range(m)]
    found = np.zeros(n, np.int64)
    for j, some in enumerate(of_column):
        used = set().union(*(taken[k] for k in some))
        number = next(c for c in range(len(used) + 1) if c not in used)
        found[j] = number
        for k in some:
            taken[k].add(number)
    return found


def eliminated(T: Mechanism) -> Elimination | None:
    """Positions and order for a mechanism; None where most of its unknowns are related anyhow."""
    n, m = T.n_v, T.n_constraints
    if T.pattern_rows.size > MOST_EDGES * n:
        return None
    rows = row_columns(T)
    pattern = Entries(T, rows)
    if len(pattern.rows) + 2 * int(rows.start[m]) > MOST_EDGES * (n + m):
        return None
    order, later = least_degree(n, m, pattern.rows, pattern.cols, rows)
    start = np.concatenate([[0], np.cumsum([len(x) for x in later])]).astype(np.int64)
    slots = Slots(order, start, later)
    of_constraints = slice(0, int(rows.start[m]))
    row_of = np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))
    ups = rows.columns[of_constraints], n + row_of[of_constraints]
    tables = {
        "entry_rows": pattern.rows, "entry_cols": pattern.cols, "entry_slots": slots.of(pattern.rows, pattern.cols),
        "row_start": rows.start, "row_columns": rows.columns, "row_of": row_of,
        "up_slots": slots.of(*ups), "low_slots": slots.of(*ups[::-1]),
        "eps_slots": slots.of(n + np.arange(m), n + np.arange(m)),
        "walk_start": rows.walk_start, "walk": rows.walk, "term_entries": rows.term_entries,
        **pattern.tables, "order": order, "start": start,
        "later": np.array([j for x in later for j in x], np.int64), "target": slots.targets(),
    }  # fmt: skip
    for name, x in tables.items():
        tables[name] = np.ascontiguousarray(x, np.int64)
        tables[name].setflags(write=False)
    return Elimination(tables, int(np.sum(np.diff(start) ** 2)), n + m, column_groups(n, rows, m))
