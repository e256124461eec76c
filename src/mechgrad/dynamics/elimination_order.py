"""The order in which unknowns are eliminated, by least degree, and the slots of factors in it."""

from __future__ import annotations

import heapq

import numpy as np

from mechgrad.dynamics.matrix_entries import RowColumns
from mechgrad.typing import IntArray


def least_degree(
    n: int, m: int, entry_rows: IntArray, entry_cols: IntArray, rows: RowColumns
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


class Slots:
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
