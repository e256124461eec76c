"""States over time as arrays, and what mechanics says about them: linearisations and slopes, in SIMD lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mechgrad.dynamics.kernels import linearised as _linearised
from mechgrad.dynamics.kernels import slopes as _slopes
from mechgrad.errors import InputError
from mechgrad.model.mechanism import (
    AT_ROW_NUMBERS,
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
    ROW_NUMBERS,
    Mechanism,
)
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.dynamics.elimination import Elimination


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
    return _of_rows(T, ints, atoms, numbers)


def without_laws(T: Mechanism) -> Mechanism:
    """The mechanism without forces and their rows: those of constraints, and behind them, at once, those that can be
    independent coordinates."""
    numbers, ints = T.numbers.copy(), T.ints.copy()
    m, first, last = (int(T.ints[at]) for at in (N_CONSTRAINTS, N_ROWS, N_ALL))
    for table, start, width in ((ints, int(T.ints[AT_ROWS]), ROW), (numbers, int(T.ints[AT_ROW_NUMBERS]), ROW_NUMBERS)):
        rows = table[start : start + width * last].reshape(-1, width)
        rows[m : m + last - first] = rows[first:].copy()
    ints[[N_LAWS, REFERENCE]] = 0
    ints[N_ROWS], ints[N_ALL] = m, m + last - first
    return _of_rows(T, ints, T.atoms_f, numbers)


def _of_rows(T: Mechanism, ints: IntArray, atoms_f: Array, numbers: Array) -> Mechanism:
    """A record of fewer rows: without loads, and without markers that no row needs, which come last."""
    rows = ints[ints[AT_ROWS] :][: ROW * int(ints[N_ALL])].reshape(-1, ROW)
    markers = int(rows[:, R_MARKER : R_MARKER + 4].max(initial=-1)) + 1
    ints[N_MARKERS] = markers
    tables = {
        "atoms_f": atoms_f, "numbers": numbers, "ints": ints, "loads_i": T.loads_i[:0], "loads_f": T.loads_f[:, :0],
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
