"""Which constraint rows recursive elimination carries along, where they are closed, and in which order.

A row is open at every atom on the ways from its attachments, or from the coordinates of a LINEAR row, to the atom where
these ways meet, or to the world. There its multiplier is eliminated: all columns that move the row in itself are done.
Rows that are closed at the same place go by least degree, those first that relate fewest others (N loops in a row, all
of which end in the world, relate their neighbours alone).

`dynamics.kernels.loop_elimination` has the equations.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.loop_elimination import COVECTOR, GAIN, LoopPlan, Loops
from mechgrad.inverse.kernels.articulated import ARTICULATED
from mechgrad.kernels.records import allocate
from mechgrad.kinematics.kernels.header import COORDINATE_LINE
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.model.mechanism import (
    AT_COORDS,
    AT_MARKERS,
    AT_ROWS,
    MARKER_LINE,
    N_MARKERS,
    R_COUNT,
    R_FIRST,
    R_KIND,
    R_MARKER,
    ROW,
    Mechanism,
)
from mechgrad.model.primitives.rows import LINEAR
from mechgrad.model.tree import C_ATOM, PARENT
from mechgrad.typing import Array, IntArray

MOST_KNOWN = 64
WORLD = -1


@dataclass(frozen=True, eq=False)
class RecursivePlan:
    """Tables of one mechanism's elimination; numbers of its matrices.

    entries, pairs, couplings, weights : how many numbers (of six) G, E and the two kinds of w / D have
    most_open : rows that are open at one atom, at most
    """

    tables: LoopPlan
    entries: int
    pairs: int
    couplings: int
    weights: int
    most_open: int

    def record(self, T: Mechanism, numbers: Array, dtype: Any, lanes: int = 1) -> Loops:
        """What kernels read, with a workspace of its own; numbers: (eps, Omega, xi, compliant) of a formulation."""
        n, m = T.n_v, T.n_constraints
        eps, omega, xi, compliant = (float(x) for x in numbers)
        sizes = {
            "inertias": T.n_atoms * ARTICULATED, "G": self.entries * COVECTOR, "E": self.pairs, "gains": m * GAIN,
            "couples": self.couplings, "weights": self.weights, "r": n, "x": n + m, "y": n + m, "c": m, "q": T.n_q,
        }  # fmt: skip
        sizes = {name: size * lanes for name, size in sizes.items()}
        return allocate(
            Loops, sizes, dtype, plan=self.tables, eps=np.full(m, eps), omega=omega, xi=xi, compliant=bool(compliant)
        )


class _Rows:
    """Where each constraint row is open, and where it is closed."""

    def __init__(self, T: Mechanism) -> None:
        ints, self.parents = T.ints, T.atoms_i[:, PARENT].tolist()
        self.m, self.atoms = T.n_constraints, T.n_atoms
        rows = ints[ints[AT_ROWS] :][: ROW * self.m].reshape(-1, ROW)
        markers = ints[ints[AT_MARKERS] :][: MARKER_LINE * int(ints[N_MARKERS])].reshape(-1, MARKER_LINE)
        atom_of_marker = np.where(markers[:, 0] < self.atoms, markers[:, 0], WORLD)
        coordinates, moving = ints[ints[AT_COORDS] :], set(T.columns_i[:, C_ATOM].tolist())
        self.attachments: list[list[int]] = []  # atoms, or WORLD
        self.terms: list[list[tuple[int, int]]] = []  # (column, number of the factor) of LINEAR rows
        self.open: list[list[int]] = [[] for _ in range(self.atoms)]
        self.closed: list[list[int]] = [[] for _ in range(self.atoms + 1)]
        for k, row in enumerate(rows):
            here, terms, atoms = [], [], set()
            if row[R_KIND] == LINEAR:
                for c in range(row[R_FIRST], row[R_FIRST] + row[R_COUNT]):
                    column = int(coordinates[COORDINATE_LINE * c + 1])
                    terms.append((column, c))
                    atoms.add(int(T.columns_i[column, C_ATOM]))
                end = self._meeting(atoms)
                if end in atoms:
                    end = self.parents[end]
            else:
                count = attachments_of_kind.py_func(int(row[R_KIND]))
                here = [int(atom_of_marker[row[R_MARKER + f]]) for f in range(count)]
                atoms, end = set(here) - {WORLD}, WORLD if WORLD in here else self._meeting(set(here))
                ways = {i for start in atoms for i in self._way(start, end)} - {end}
                if not moving.intersection(ways):  # nothing moves it in itself
                    end = WORLD
            self.attachments.append(here)
            self.terms.append(terms)
            self.closed[end].append(k)
            for atom in {i for start in atoms for i in self._way(start, end)}:
                self.open[atom].append(k)

    def _way(self, atom: int, end: int) -> list[int]:
        """Atoms from one on to where a row ends, that one included."""
        way = [atom]
        while way[-1] not in (end, WORLD):
            way.append(self.parents[way[-1]])
        return way if way[-1] != WORLD else way[:-1]

    def _meeting(self, atoms: set[int]) -> int:
        """The last atom that the ways from some atoms to the world have in common, or WORLD."""
        ways = [self._way(atom, WORLD)[::-1] for atom in atoms]
        found = WORLD
        for common in zip(*ways, strict=False):
            if len(set(common)) > 1:
                break
            found = common[0]
        return found


class _Pairs:
    """Places of E, as pairs of rows turn out to be related, and which are."""

    def __init__(self, m: int) -> None:
        self.related: list[set[int]] = [set() for _ in range(m)]
        self.places = {(k, k): k for k in range(m)}

    def of(self, rows: list[int]) -> list[int]:
        """Places of all pairs of some rows: each with itself and with those before it."""
        return [self.place(k, other) for a, k in enumerate(rows) for other in rows[: a + 1]]

    def place(self, k: int, other: int) -> int:
        """Where E of two rows is."""
        return self.places.setdefault((min(k, other), max(k, other)), len(self.places))

    def relate(self, rows: list[int]) -> None:
        """All of these with each other."""
        for k in rows:
            self.related[k].update(rows)
            self.related[k].discard(k)

    def eliminate(self, k: int) -> list[int]:
        """Take row k out; returns the rows that it relates then."""
        others = sorted(self.related[k])
        for other in others:
            self.related[other].discard(k)
        self.relate(others)
        self.related[k] = set()
        return others


def _ends(lists: Sequence[Sequence[object]]) -> list[int]:
    """Where each of some lists begins, and where the last ends."""
    return [0, *np.cumsum([len(x) for x in lists]).tolist()]


class _Order:
    """Rows in the order of their elimination, atom by atom from the last to the world, and what each step relates."""

    def __init__(self, T: Mechanism, rows: _Rows, columns: list[list[int]]) -> None:
        self.pairs = _Pairs(rows.m)
        self.closed: list[list[int]] = [[] for _ in range(rows.atoms + 1)]
        self.couples: dict[int, list[int]] = {}
        self.couple_targets: dict[int, list[int]] = {}
        self.stay: list[list[int]] = [[] for _ in range(rows.atoms)]
        self.targets: list[list[int]] = [[] for _ in range(rows.atoms)]
        for i in range(rows.atoms - 1, -1, -1):
            self._close(i, rows.closed[i])
            done = set(self.closed[i])
            self.stay[i] = [k for k in rows.open[i] if k not in done]
            if columns[i]:
                self.pairs.relate(self.stay[i])
                self.targets[i] = self.pairs.of(self.stay[i])
        self._close(WORLD, rows.closed[WORLD])

    def _close(self, i: int, left: list[int]) -> None:
        """Eliminate rows, about those first that relate fewest others."""
        pairs = self.pairs
        queue = [(len(pairs.related[k]), k) for k in left]
        heapq.heapify(queue)
        while queue:
            degree, k = heapq.heappop(queue)
            if degree < len(pairs.related[k]):
                heapq.heappush(queue, (len(pairs.related[k]), k))
                continue
            self.couples[k] = pairs.eliminate(k)
            self.couple_targets[k] = pairs.of(self.couples[k])
            self.closed[i].append(k)


def recursive_plan(T: Mechanism) -> RecursivePlan:
    """The plan for a mechanism with constraints."""
    rows, atoms = _Rows(T), T.n_atoms
    columns: list[list[int]] = [[] for _ in range(atoms)]
    for j, i in enumerate(T.columns_i[:, C_ATOM].tolist()):
        columns[i].append(j)
    order = _Order(T, rows, columns)
    entry = {key: e for e, key in enumerate((i, k) for i in range(atoms) for k in rows.open[i])}
    sequence = [(i if i < atoms else WORLD, k) for i, some in enumerate(order.closed) for k in some]
    coupled = [(i, k, other) for i, k in sequence for other in order.couples[k]]
    stays = [(i, k) for i in range(atoms) for k in order.stay[i]]
    linear: list[list[tuple[int, int, int]]] = [[] for _ in range(T.n_v)]
    for k, terms in enumerate(rows.terms):
        for j, factor in terms:
            linear[j].append((order.stay[int(T.columns_i[j, C_ATOM])].index(k), factor, k))
    flat = [x for some in linear for x in some]
    attached = np.full((rows.m, 4), WORLD)
    for k, here in enumerate(rows.attachments):
        attached[k, : len(here)] = [entry.get((i, k), WORLD) for i in here]
    weights = [len(order.stay[i]) for i in T.columns_i[:, C_ATOM].tolist()]
    tables: dict[str, list[int] | IntArray] = {
        "close_start": _ends(order.closed), "close_row": [k for _, k in sequence],
        "close_entry": [entry.get(x, WORLD) for x in sequence],
        "couple_start": _ends([order.couples[k] for _, k in sequence]), "couple_row": [x for _, _, x in coupled],
        "couple_entry": [entry.get((i, x), WORLD) for i, _, x in coupled],
        "couple_pair": [order.pairs.place(k, x) for _, k, x in coupled],
        "couple_target_start": _ends([order.couple_targets[k] for _, k in sequence]),
        "couple_target": [e for _, k in sequence for e in order.couple_targets[k]],
        "stay_start": _ends(order.stay), "stay_row": [k for _, k in stays], "stay_entry": [entry[x] for x in stays],
        "stay_up": [entry.get((rows.parents[i], k), WORLD) for i, k in stays],
        "stay_target_start": _ends(order.targets), "stay_target": [e for some in order.targets for e in some],
        "weight_start": [0, *np.cumsum(weights).tolist()], "linear_start": _ends(linear),
        "linear_place": [x[0] for x in flat], "linear_factor": [x[1] for x in flat],
        "linear_row": [x[2] for x in flat], "attached": attached.ravel(),
        "diagonal": [order.pairs.place(k, k) for k in range(rows.m)],
    }  # fmt: skip
    plan = LoopPlan(**{name: _fixed(x) for name, x in tables.items()})
    return RecursivePlan(
        plan, len(entry), len(order.pairs.places), len(coupled), int(np.sum(weights)), max(map(len, rows.open))
    )


def _fixed(x: list[int] | IntArray) -> IntArray:
    """Read-only, so that one machine code serves every plan."""
    found = np.ascontiguousarray(x, np.int64)
    found.setflags(write=False)
    return found


def plan_of(T: Mechanism, known: dict[bytes, RecursivePlan]) -> RecursivePlan:
    """The plan for a mechanism; known: those of other records of one model."""
    key = T.ints.tobytes()
    if key not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[key] = recursive_plan(T)
    return known[key]
