"""How rates and second rates of rows change with coordinates and velocities, in many states.

    g' = Gamma v + g_t,    g'' = Gamma a + (L_v Gamma) v + ..        L_v: along the motion v

By coordinates they are dual numbers along one direction for each group of columns that move no row together. By
velocities nothing is left to evaluate where rows are functions of the configuration: L_w L_v g = rate_q w, and the
order of two turns is the only thing by which L_v L_w differs. Angular velocities of a ball in parent axes make

    L_v L_w - L_w L_v = L_(w x v)      so that      second_v w = 2 rate_q w + Gamma (w x v),    w x v ball by ball
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.elimination import Elimination, column_groups
from mechgrad.dynamics.matrix_entries import row_columns
from mechgrad.dynamics.states import States, put_slopes
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import N_ALL, Mechanism
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

AT_ONCE = 8192  # states that one call of a kernel sees, where there are many directions: calls cost as much as states
MOST_KNOWN = 64
_NOTHING = np.empty((0, 0, 0))


def coordinate_slopes(
    model: Model, T: Mechanism, states: States, elimination: Elimination | None = None, *, with_rates: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Rates and second rates of all rows by q (nt, rows, n_v), along `model.integrate`; T is complex. With an
    elimination by entries (nt, entries of constraints). Rates are left out if they are known."""
    groups = _Groups.of(model, T) if elimination is None else _Groups.eliminated(elimination)
    return _by_groups(model, T, states, groups, along_q=True, with_rates=with_rates)


def velocity_slopes(
    model: Model, T: Mechanism, states: States, rate_q: FloatArray, J: FloatArray, holonomic: bool,
    elimination: Elimination | None = None,
) -> FloatArray:  # fmt: skip
    """Second rates of all rows by v (nt, rows, n_v), from their rates by q and their Jacobian, which may have more
    rows; with an elimination by entries, as `coordinate_slopes`. Rows of velocities are evaluated."""
    if not holonomic:
        groups = _Groups.of(model, T) if elimination is None else _Groups.eliminated(elimination)
        return _by_groups(model, T, states, groups, along_q=False, with_rates=False)[1]
    found = 2.0 * rate_q
    lines = rate_q.shape[1]
    for ball in model.layout.ball_v:
        x, y, z = (states.v[:, j].real[:, None] for j in ball)
        if elimination is None:
            at: list[int | IntArray] = ball.tolist()
        else:  # a row that one column of a ball moves has entries for all three, side by side
            first = np.flatnonzero(elimination.tables["row_columns"][: elimination.constraint_entries] == ball[0])
            at = [first, first + 1, first + 2]
        gx, gy, gz = (J[:, :lines, j] if elimination is None else J[:, j] for j in at)
        for j, turned in zip(at, (y * gz - z * gy, z * gx - x * gz, x * gy - y * gx), strict=True):
            if elimination is None:
                found[:, :, j] += turned
            else:
                found[:, j] += turned
    return found


class _Groups:
    """Groups of columns that are stepped together, and how what they do to rows becomes entries.

    rows, columns : of entries, or None where every column is alone;   sparse : whether entries are what is wanted
    """

    def __init__(self, of_column: IntArray, entries: tuple[IntArray, IntArray] | None, sparse: bool) -> None:
        count = int(of_column.max(initial=-1)) + 1
        self.columns = [np.flatnonzero(of_column == c) for c in range(count)]
        self.of_column, self.sparse = of_column, sparse
        self.entries = entries if sparse or count < len(of_column) else None
        if self.entries is None:
            self.columns = [np.array([j]) for j in range(len(of_column))]

    @classmethod
    def of(cls, model: Model, T: Mechanism) -> _Groups:
        """Those of all rows of a record."""
        known: dict[bytes, _Groups] = model.shared("groups of columns of rows", lambda _: {})
        key = T.ints.tobytes()
        if key not in known:
            if len(known) >= MOST_KNOWN:
                known.clear()
            rows = row_columns(T)
            row_of = np.repeat(np.arange(T.n_all), np.diff(rows.start))
            known[key] = cls(column_groups(T.n_v, rows, T.n_all), (row_of, rows.columns), False)
        return known[key]

    @classmethod
    def eliminated(cls, by: Elimination) -> _Groups:
        """Those of the constraints of an elimination."""
        count, tables = by.constraint_entries, by.tables
        return cls(by.groups, (tables["row_of"][:count], tables["row_columns"][:count]), True)

    def apart(self, found: FloatArray) -> FloatArray:
        """What groups do to rows (nt, rows, groups), as what columns do (nt, rows, n_v), or by entries."""
        if self.entries is None or not len(found):
            return found
        rows, columns = self.entries
        entries = found[:, rows, self.of_column[columns]]
        if self.sparse:
            return np.ascontiguousarray(entries)
        whole = np.zeros((*found.shape[:2], len(self.of_column)))
        whole[:, rows, columns] = entries
        return whole


def _by_groups(
    model: Model, T: Mechanism, states: States, groups: _Groups, *, along_q: bool, with_rates: bool
) -> tuple[FloatArray, FloatArray]:
    """Rates (if wanted) and second rates of all rows by coordinates, or by velocities."""
    nt, shape = len(states.q), (len(states.q), int(T.ints[N_ALL]), len(groups.columns))
    rates, seconds = np.empty(shape) if with_rates else _NOTHING, np.empty(shape)
    plain = np.full(model.n_v, -1)
    plain[model.layout.plain_v] = model.layout.plain_q

    def step(here: States, group: int) -> None:
        columns = groups.columns[group]
        if not along_q:
            here.v[:, columns] += 1j * STEP
        elif (plain[columns] >= 0).all():
            here.q[:, plain[columns]] += 1j * STEP
        else:
            turn = np.zeros((nt, model.n_v), complex)
            turn[:, columns] = 1j * STEP
            here.q[:] = model.integrate(here.q, turn)

    _put_by_columns(T, states, len(groups.columns), step, rates, seconds)
    return groups.apart(rates), groups.apart(seconds)


def _put_by_columns(
    T: Mechanism, states: States, n: int, step: Callable[[States, int], None], rates: Array, seconds: Array
) -> None:
    """Rates and second rates of all rows along n directions (nt, rows, n), as many directions in one call as fit.

    step : lets states make an imaginary step along a direction, in place
    """
    nt, rows = len(states.q), int(T.ints[N_ALL])
    here = states.complex()
    some = int(np.clip(AT_ONCE // max(nt, 1), 1, max(n, 1)))
    for first in range(0, n, some):
        count = min(some, n - first)
        many = States(*(np.tile(x, (count,) + (1,) * (x.ndim - 1)) for x in here))
        for k in range(count):
            step(many.rows(slice(k * nt, (k + 1) * nt)), first + k)
        out = [np.empty((count * nt if len(x) else 0, rows, 1)) for x in (rates, seconds)]
        put_slopes(T, many, 0, rates=out[0], seconds=out[1])
        for whole, part in zip((rates, seconds), out, strict=True):
            if len(whole):
                whole[:, :, first : first + count] = part.reshape(count, nt, rows).transpose(1, 2, 0)
