"""Entries of matrices of velocities and of rows that can differ from zero, and where kernels find them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True, eq=False)
class RowColumns:
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


def row_columns(T: Mechanism) -> RowColumns:
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
    return RowColumns(arrays[0], arrays[1], arrays[2], arrays[3], term_entries, own)


def _way(parents: list[int], column: int) -> list[int]:
    """The columns from one on to the ground."""
    way = []
    while column >= 0:
        way.append(column)
        column = parents[column]
    return way


class Entries:
    """Entries of A: related columns in packed order, then what rows with a law or a direction that turns relate."""

    def __init__(self, T: Mechanism, rows: RowColumns) -> None:
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


def _ball_rows(T: Mechanism, rows: RowColumns) -> dict[str, IntArray]:
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
