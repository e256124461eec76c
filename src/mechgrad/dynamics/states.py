"""States over time as arrays, and what mechanics says about them: linearisations and slopes, in SIMD lanes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mechgrad.dynamics.kernels import linearised as _linearised
from mechgrad.dynamics.kernels import slopes as _slopes
from mechgrad.errors import InputError
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import (
    AT_ROWS,
    AT_TAU,
    N_ALL,
    N_CONSTRAINTS,
    N_GUARDS,
    N_LAWS,
    N_MARKERS,
    N_ROWS,
    N_V,
    R_MARKER,
    REFERENCE,
    ROW,
    Mechanism,
)
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.dynamics.elimination import Elimination
    from mechgrad.model.model import Model


class States(NamedTuple):
    """States at instants: q (nt, n_q), v and a (nt, n_v), multipliers lam (nt, m), t (nt,)."""

    q: Array
    v: Array
    a: Array
    lam: Array
    t: FloatArray

    def rows(self, which: slice | IntArray) -> States:
        """Some of them."""
        return States(*(x[which] for x in self))

    def complex(self) -> States:
        """The same in complex numbers."""
        q, v, a, lam = (contiguous(x, complex) for x in self[:4])
        return States(q, v, a, lam, self.t)


class StateGradients(NamedTuple):
    """Gradients of objectives by the states of a motion: q, v, a (nt, no, n_v), multipliers (nt, no, m)."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    lam: FloatArray


class StateSlopes(NamedTuple):
    """Derivatives of the states of a motion: q (along `model.integrate`), v, a (nt, np, n_v), multipliers (nt, np,
    m)."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    lam: FloatArray


class Linearised(NamedTuple):
    """Partials in states: K = r_q, C = r_v, M = r_a (nt, n, n); Gamma and the rates by q of all rows (nt, rows, n)."""

    K: FloatArray
    C: FloatArray
    M: FloatArray
    J: FloatArray
    J_rate: FloatArray


class Slopes(NamedTuple):
    """Change along one direction: r (nt, n_v), values, rates and second rates of all rows (nt, rows)."""

    r: FloatArray
    values: FloatArray
    rates: FloatArray
    seconds: FloatArray


def unforced(T: Mechanism) -> Mechanism:
    """The mechanism without gravity, forces (and their markers) and loads: its residual is M a + Gamma^T lam at
    v = 0."""
    atoms, numbers, ints = T.atoms_f.copy(), T.numbers.copy(), T.ints.copy()
    atoms[-1, :3] = 0.0
    n_v = int(T.ints[N_V])
    numbers[T.ints[AT_TAU] : T.ints[AT_TAU] + n_v] = 0.0
    ints[[N_LAWS, N_GUARDS, REFERENCE]] = 0
    ints[[N_ROWS, N_ALL]] = ints[N_CONSTRAINTS]
    rows = T.ints[T.ints[AT_ROWS] :][: ROW * int(T.ints[N_CONSTRAINTS])].reshape(-1, ROW)
    markers = int(rows[:, R_MARKER : R_MARKER + 4].max(initial=-1)) + 1  # those of forces come last
    ints[N_MARKERS] = markers
    tables = {
        "atoms_f": atoms, "numbers": numbers, "ints": ints, "loads_i": T.loads_i[:0], "loads_f": T.loads_f[:, :0],
        "markers_i": T.markers_i[:markers], "markers_f": T.markers_f[:markers],
    }  # fmt: skip
    tables = {name: np.ascontiguousarray(x) for name, x in tables.items()}
    for x in tables.values():
        x.setflags(write=False)
    return T._replace(**tables)


def as_complex(T: Mechanism) -> Mechanism:
    """The same record in complex numbers."""
    tables = {name: getattr(T, name).astype(complex) for name in ("atoms_f", "markers_f", "loads_f", "numbers")}
    for x in tables.values():
        x.setflags(write=False)
    return T._replace(**tables)


def contiguous(x: Array, dtype: type) -> Array:
    """C-contiguous and writeable whatever was given, so that one machine code serves."""
    if x.dtype == dtype and x.flags.c_contiguous and x.flags.writeable:
        return x
    return np.array(x, dtype, order="C")


def _contiguous(states: States, dtype: type) -> States:
    """States as kernels take them; instants stay real."""
    q, v, a, lam = (contiguous(x, dtype) for x in states[:4])
    return States(q, v, a, lam, contiguous(states.t, float))


def linearised(T: Mechanism, states: States, moving: bool = True) -> Linearised:
    """Partials of the equations of motion in states; J_rate only if `moving`."""
    nt, n, rows = len(states.q), int(T.ints[N_V]), int(T.ints[N_ALL])
    lines = n, n, n, rows, rows
    out = Linearised(*(np.empty((nt, k * n)) for k in lines))
    _check(_linearised.linearised_lanes(T, _contiguous(states, float), out, bool(moving)), states)
    return Linearised(*(x.reshape(nt, k, n) for x, k in zip(out, lines, strict=True)))


def linearised_entries(T: Mechanism, states: States, elimination: Elimination, moving: bool = True) -> Linearised:
    """`linearised` by entries: K, C, M (nt, entries of A), J and J_rate (nt, entries of rows); those of rows that T
    lacks mean nothing."""
    sparse, nt = elimination.record(float), len(states.q)
    square, rows = sparse.entry_rows.size, sparse.row_columns.size
    out = Linearised(*(np.zeros((nt, k)) for k in (square, square, square, rows, rows)))
    _check(_linearised.linearised_lanes(T, _contiguous(states, float), out, bool(moving), sparse), states)
    return out


def slopes(
    T: Mechanism, states: States, *, residual: bool = True, rows: Collection[str] = ("values", "rates", "seconds")
) -> Slopes:
    """Change of residual and rows along the imaginary parts (of size STEP) of a complex record or of the states; what
    is not wanted has no lines."""
    nt, n, m = len(states.q), int(T.ints[N_V]), int(T.ints[N_ALL])
    wanted = (name in rows for name in ("values", "rates", "seconds"))
    out = [np.empty((nt if residual else 0, n, 1)), *(np.empty((nt if some else 0, m, 1)) for some in wanted)]
    put_slopes(T, states, 0, *out)
    return Slopes(*(x[:, :, 0] for x in out))


_NOTHING = np.empty((0, 0, 0))


def put_slopes(
    T: Mechanism,
    states: States,
    column: int,
    r: FloatArray = _NOTHING,
    values: FloatArray = _NOTHING,
    rates: FloatArray = _NOTHING,
    seconds: FloatArray = _NOTHING,
) -> None:
    """`slopes` into a column of arrays (nt, n_v or rows, columns) of the caller; those that are not given are left
    out."""
    _check(_slopes.slopes(T, _contiguous(states, complex), Slopes(r, values, rates, seconds), column), states)


def put_force_slopes(
    T: Mechanism, moved: Sequence[Mechanism], states: States, columns: Sequence[int], r: FloatArray
) -> None:
    """`put_slopes` of residuals for records that differ from T by slopes of masses and of laws alone, all at once."""
    atoms, numbers = (np.stack([getattr(one, name) for one in moved]) for name in ("atoms_f", "numbers"))
    atoms.setflags(write=False)
    numbers.setflags(write=False)
    _check(_slopes.force_slopes(T, atoms, numbers, np.array(columns), _contiguous(states, float), r), states)


def _check(bad: int, states: States) -> None:
    if bad >= 0:
        raise InputError(
            f"the state near t = {states.t[bad]:.6g} s holds a number that is not finite, or the forces on it do."
        )


def coordinate_slopes(
    model: Model, T: Mechanism, states: States, elimination: Elimination | None = None
) -> tuple[FloatArray, FloatArray]:
    """Rates and second rates of all rows by q (nt, rows, n_v), along `model.integrate`; T is complex. With an
    elimination by entries (nt, entries of constraints): columns that move no row together are stepped together."""
    nt, rows = len(states.q), int(T.ints[N_ALL])
    together = _together(model.n_v, elimination)
    rate_q, second_q = np.empty((nt, rows, len(together))), np.empty((nt, rows, len(together)))
    plain = dict(zip(model.layout.plain_v.tolist(), model.layout.plain_q.tolist(), strict=True))

    def step(here: States, group: int) -> None:
        columns = together[group]
        if all(j in plain for j in columns):
            here.q[:, [plain[j] for j in columns]] += 1j * STEP
        else:
            turn = np.zeros((nt, model.n_v), complex)
            turn[:, columns] = 1j * STEP
            here.q[:] = model.integrate(here.q, turn)

    _put_by_columns(T, states, len(together), step, rate_q, second_q)
    return _by_entries(rate_q, elimination), _by_entries(second_q, elimination)


def velocity_slopes(
    model: Model, T: Mechanism, states: States, rate_q: FloatArray, holonomic: bool,
    elimination: Elimination | None = None,
) -> FloatArray:  # fmt: skip
    """Second rates of all rows by v (nt, rows, n_v); twice the rates by q where all coordinates are plain. With an
    elimination by entries, as `coordinate_slopes`."""
    if holonomic and len(model.layout.plain_v) == model.n_v:
        return 2.0 * rate_q
    nt, rows = len(states.q), int(T.ints[N_ALL])
    together = _together(model.n_v, elimination)
    second_v = np.empty((nt, rows, len(together)))

    def step(here: States, group: int) -> None:
        here.v[:, together[group]] += 1j * STEP

    _put_by_columns(T, states, len(together), step, _NOTHING, second_v)
    return _by_entries(second_v, elimination)


def _together(n: int, elimination: Elimination | None) -> list[list[int]]:
    """Columns that are stepped together."""
    if elimination is None:
        return [[j] for j in range(n)]
    groups = elimination.groups
    return [np.flatnonzero(groups == c).tolist() for c in range(int(groups.max(initial=0)) + 1)]


def _by_entries(found: FloatArray, elimination: Elimination | None) -> FloatArray:
    """What groups of columns do to rows (nt, rows, groups), as entries of constraints (nt, entries)."""
    if elimination is None:
        return found
    count, tables = elimination.constraint_entries, elimination.tables
    rows, columns = tables["row_of"][:count], tables["row_columns"][:count]
    return np.ascontiguousarray(found[:, rows, elimination.groups[columns]])


AT_ONCE = 8192  # states that one call of a kernel sees, where there are many directions: calls cost as much as states


def _put_by_columns(
    T: Mechanism, states: States, n: int, step: Callable[[States, int], None], rates: FloatArray, seconds: FloatArray
) -> None:
    """Rates and second rates of all rows along n directions (nt, rows, n), as many directions in one call as fit.

    step : lets states make an imaginary step along a direction, in place
    """
    nt, rows = len(states.q), int(T.ints[N_ALL])
    here = states.complex()
    some = int(np.clip(AT_ONCE // max(nt, 1), 1, n))
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
