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

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.errors import InputError
from mechgrad.kinematics.kernels.header import COORDINATE_LINE
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.model.joints.base import BALL
from mechgrad.model.mechanism import (
    AT_COORDS,
    AT_LAWS,
    AT_MARKERS,
    AT_ROWS,
    L_FIRST,
    L_ROWS,
    LAW,
    MARKER_LINE,
    N_LAWS,
    N_MARKERS,
    R_COUNT,
    R_FIRST,
    R_KIND,
    R_MARKER,
    ROW,
    Mechanism,
)
from mechgrad.model.primitives.rows import LINEAR, POINT
from mechgrad.model.tree import C_PARENT, KIND, V_AT
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


def _groups(n: int, rows: _Rows, m: int) -> IntArray:
    """Columns that move no constraint row together, by the smallest number that is free."""
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


@dataclass(frozen=True, eq=False)
class _Rows:
    """The columns that move each row, sorted; and entries on the ways from its attachments to the ground."""

    start: IntArray
    columns: IntArray
    walk_start: IntArray
    walk: IntArray
    term_entries: IntArray
    own: list[list[int]]  # of constraint rows: columns that move it in itself

    def of(self, k: int) -> IntArray:
        """The columns of row k."""
        return self.columns[self.start[k] : self.start[k + 1]]


def _rows_of(T: Mechanism) -> _Rows:
    ints, parents = T.ints, T.columns_i[:, C_PARENT].tolist()
    rows = ints[ints[AT_ROWS] :][: ROW * T.n_all].reshape(-1, ROW)
    last = ints[ints[AT_MARKERS] :][: MARKER_LINE * int(ints[N_MARKERS])].reshape(-1, MARKER_LINE)[:, 2]
    terms = int((rows[:, R_FIRST] + rows[:, R_COUNT])[rows[:, R_KIND] == LINEAR].max(initial=0))
    coordinates = ints[ints[AT_COORDS] :][: COORDINATE_LINE * terms].reshape(-1, COORDINATE_LINE)[:, 1]
    start, own = [0], []
    columns: list[int] = []
    walk_start: list[int] = []
    walk: list[int] = []
    term_entries = np.zeros(max(terms, 1), np.int64)
    for row in rows:
        ways: list[list[int]] = []
        if row[R_KIND] == LINEAR:
            of_terms = range(row[R_FIRST], row[R_FIRST] + row[R_COUNT])
            here = sorted({int(coordinates[c]) for c in of_terms})
            term_entries[list(of_terms)] = start[-1] + np.searchsorted(here, coordinates[list(of_terms)])
            alone = here
        else:
            ways = [_way(parents, int(last[marker])) for marker in row[R_MARKER : R_MARKER + 4] if marker >= 0]
            here = sorted(set().union(*ways))
            common = set(ways[0]).intersection(*ways[1:]) if ways else set()
            alone = sorted(set(here) - common) or here
        place = {j: start[-1] + i for i, j in enumerate(here)}
        for f in range(4):
            walk_start.append(len(walk))
            if f < attachments_of_kind.py_func(int(row[R_KIND])):
                walk += [place[j] for j in _way(parents, int(last[row[R_MARKER + f]]))]
        columns += here
        start.append(len(columns))
        own.append(alone)
    arrays = [np.array(x, np.int64) for x in (start, columns, walk_start, walk)]
    return _Rows(arrays[0], arrays[1], arrays[2], arrays[3], term_entries, own)


def _way(parents: list[int], column: int) -> list[int]:
    """The columns from one on to the ground."""
    way = []
    while column >= 0:
        way.append(column)
        column = parents[column]
    return way


def eliminated(T: Mechanism) -> Elimination | None:
    """Positions and order for a mechanism; None where most of its unknowns are related anyhow."""
    n, m = T.n_v, T.n_constraints
    if T.pattern_rows.size > MOST_EDGES * n:
        return None
    rows = _rows_of(T)
    pattern = _Entries(T, rows)
    if len(pattern.rows) + 2 * int(rows.start[m]) > MOST_EDGES * (n + m):
        return None
    order, later = _least_degree(n, m, pattern.rows, pattern.cols, rows)
    start = np.concatenate([[0], np.cumsum([len(x) for x in later])]).astype(np.int64)
    slots = _Slots(order, start, later)
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
    return Elimination(tables, int(np.sum(np.diff(start) ** 2)), n + m, _groups(n, rows, m))


class _Entries:
    """Entries of A: related columns in packed order, then what rows with a law or a direction that turns relate."""

    def __init__(self, T: Mechanism, rows: _Rows) -> None:
        n = T.n_v
        packed = (T.pattern_rows * n + T.pattern_cols).tolist()
        self.n, self.known = n, {key: e for e, key in enumerate(packed)}
        kinds = T.ints[T.ints[AT_ROWS] :][: ROW * T.n_all].reshape(-1, ROW)[:, R_KIND]
        bent_start: list[int] = []
        bent: list[int] = []
        for k in range(T.n_rows):
            bent_start.append(len(bent))
            if kinds[k] not in (LINEAR, POINT):
                bent += [self.entry(a, b) for a in rows.of(k) for b in rows.of(k)]
        laws = T.ints[T.ints[AT_LAWS] :][: LAW * int(T.ints[N_LAWS])].reshape(-1, LAW)
        law_start: list[int] = []
        law_entries: list[int] = []
        for first, count in laws[:, [L_FIRST, L_ROWS]].tolist():
            law_start.append(len(law_entries))
            of_law = range(first, first + count)
            law_entries += [self.entry(a, b) for i in of_law for j in of_law for b in rows.of(j) for a in rows.of(i)]
        chain_up, chain_down = [], []
        parents = T.columns_i[:, C_PARENT].tolist()
        for j in range(n):
            for c in _way(parents, j):
                chain_up.append(self.entry(j, c))
                chain_down.append(self.entry(c, j))
        ball_start, ball_entries = [0], []
        for kind, first in T.atoms_i[:, [KIND, V_AT]].tolist():
            if kind == BALL:
                columns = range(first, first + 3)
                touched = sorted({key // n for key in self.known if first <= key % n < first + 3})
                ball_entries += [self.entry(i, j) for i in touched for j in columns]
            ball_start.append(len(ball_entries))
        both = np.array(list(self.known), np.int64)
        self.rows, self.cols = both // max(n, 1), both % max(n, 1)
        self.tables = {
            "bent_start": np.array(bent_start), "bent": np.array(bent), "law_start": np.array(law_start),
            "law_entries": np.array(law_entries), "chain_up": np.array(chain_up), "chain_down": np.array(chain_down),
            "ball_start": np.array(ball_start), "ball_entries": np.array(ball_entries), **_ball_rows(T, rows),
        }  # fmt: skip

    def entry(self, row: int, col: int) -> int:
        """Where an entry is; a new one with its transpose behind all others."""
        key = int(row) * self.n + int(col)
        if key not in self.known:
            self.known[key] = len(self.known)
            self.known.setdefault(int(col) * self.n + int(row), len(self.known))
        return self.known[key]


def _ball_rows(T: Mechanism, rows: _Rows) -> dict[str, IntArray]:
    """Entries of constraint rows that the three columns of a ball have, ball by ball."""
    of_column: dict[int, list[int]] = {}
    for e, j in enumerate(rows.columns[: rows.start[T.n_constraints]].tolist()):
        of_column.setdefault(j, []).append(e)
    start, entries = [0], []
    for kind, first in T.atoms_i[:, [KIND, V_AT]].tolist():
        if kind == BALL:
            entries += [e + i for e in of_column.get(first, []) for i in range(3)]
        start.append(len(entries))
    return {"ball_row_start": np.array(start), "ball_row_entries": np.array(entries)}


def _least_degree(
    n: int, m: int, entry_rows: IntArray, entry_cols: IntArray, rows: _Rows
) -> tuple[IntArray, list[list[int]]]:
    """Unknowns in the order of their elimination, and those that each relates and that come later."""
    related: list[set[int]] = [set() for _ in range(n + m)]
    for i, j in zip(entry_rows.tolist(), entry_cols.tolist(), strict=True):
        if i != j:
            related[i].add(j)
            related[j].add(i)
    waits = [0] * n + [len(rows.own[k]) for k in range(m)]
    frees: list[list[int]] = [[] for _ in range(n)]
    for k in range(m):
        for j in rows.of(k).tolist():
            related[n + k].add(j)
            related[j].add(n + k)
        for j in rows.own[k]:
            frees[j].append(n + k)
    queue = [(len(related[i]), i) for i in range(n + m) if not waits[i]]
    heapq.heapify(queue)
    order, later, done = [], [], [False] * (n + m)
    while queue:
        degree, i = heapq.heappop(queue)
        if done[i] or degree != len(related[i]):
            continue
        done[i] = True
        others = sorted(related[i])
        order.append(i)
        later.append(others)
        for j in others:
            related[j] |= related[i]
            related[j] -= {i, j}
        for k in frees[i] if i < n else ():
            waits[k] -= 1
        for j in {*others, *(frees[i] if i < n else ())}:
            if not waits[j] and not done[j]:
                heapq.heappush(queue, (len(related[j]), j))
    return np.array(order, np.int64), later


class _Slots:
    """Slots of entries: the diagonal by places, the rows of U, the columns of L (`kernels.sparse_lu`)."""

    def __init__(self, order: IntArray, start: IntArray, later: list[list[int]]) -> None:
        self.size, self.count, self.later = len(order), int(start[-1]), later
        self.place = np.empty(self.size, np.int64)
        self.place[order] = np.arange(self.size)
        pairs = zip(order.tolist(), later, strict=True)
        self.above = {
            i * self.size + j: self.size + e for e, (i, j) in enumerate((i, j) for i, others in pairs for j in others)
        }

    def one(self, i: int, j: int) -> int:
        """The slot of entry (i, j)."""
        if i == j:
            return int(self.place[i])
        first = self.place[i] < self.place[j]
        return self.above[i * self.size + j] if first else self.above[j * self.size + i] + self.count

    def of(self, rows: IntArray, cols: IntArray) -> IntArray:
        """The slots of entries."""
        return np.array([self.one(i, j) for i, j in zip(rows.tolist(), cols.tolist(), strict=True)], np.int64)

    def targets(self) -> IntArray:
        """Slots that each elimination changes, row by row of its neighbours."""
        return np.array([self.one(i, j) for others in self.later for i in others for j in others], np.int64)
