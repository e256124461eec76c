"""The record of flat arrays that marches and kinematic problems read, made from a model.

Rows that cannot matter are left out: a closure row whose Jacobian vanishes in every configuration (the third axis of a
planar loop) is met or not, whatever the motion does. It is an analytic function of the configuration, so a few random
ones decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.kernels import row_entries as _kernels
from mechgrad.memory import require_memory
from mechgrad.model.elements import Elements, compile_elements, same_constraints
from mechgrad.model.mechanism import (
    AT_COLUMNS,
    AT_COMMON,
    AT_COORDS,
    AT_FACTORS,
    AT_FUNCTIONS,
    AT_GUARDS,
    AT_LAW_NUMBERS,
    AT_LAWS,
    AT_MARKERS,
    AT_MOVES,
    AT_PIECES,
    AT_ROW_NUMBERS,
    AT_ROWS,
    AT_SURFACE_NUMBERS,
    AT_SURFACES,
    AT_TAU,
    AT_WATCHED,
    GUARD,
    HEADER,
    L_FIRST,
    L_ROWS,
    L_USER,
    LAW_WIDTH,
    N_ALL,
    N_ATOMS,
    N_COMMON,
    N_CONSTRAINTS,
    N_GUARDS,
    N_HOLONOMIC,
    N_LAWS,
    N_MARKERS,
    N_Q,
    N_ROWS,
    N_V,
    N_WATCHED,
    R_COUNT,
    R_KIND,
    R_MARKER,
    REFERENCE,
    Mechanism,
)
from mechgrad.model.primitives.rows import LINEAR, PLANE, POINT
from mechgrad.model.tree import C_ATOM, C_PARENT, LAST_COLUMN, Reference, Tree, about_origin
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

_NO_LOADS_I, _NO_LOADS_F = np.zeros((0, 2), np.int64), np.zeros((1, 0))
_NO_PAIRS, _NO_PATTERN = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
for _empty in (_NO_PAIRS, _NO_PATTERN):
    _empty.setflags(write=False)
IDLE = 1e-11  # of a row's largest Jacobian entry: smaller is rounding
RANDOM_STATES = 4
MOST_INTEGERS = 64  # arrays of integers that models which differ by numbers share


def elements_of(model: Model) -> Elements:
    """The compiled closures, constraints and forces, made once per model."""
    return model.cached("elements", lambda m: compile_elements(m, tree_of(m)))


@dataclass(frozen=True, eq=False)
class RowReport:
    """Which constraint rows act.

    kept : positions of the rows that act, among all constraint rows
    idle : names of rows that hold in every configuration
    names : names of the rows that act
    """

    kept: IntArray
    idle: tuple[str, ...]
    names: tuple[str, ...]


def row_report(model: Model) -> RowReport:
    """Tell rows that act from rows that hold whatever the motion does; raise where one can never hold."""
    return model.cached("row report", _known_row_report)


def _known_row_report(model: Model) -> RowReport:
    """The report of the model that was asked for last among those that differ by numbers, if constraints are the same;
    masses and forces have no part in it."""
    elements = elements_of(model)
    if not elements.n_constraints:
        return RowReport(np.zeros(0, np.int64), (), ())
    last: dict[str, tuple[Elements, RowReport]] = model.shared("last row report", lambda _: {})
    known = last.get("")
    if known is not None and same_constraints(known[0].made_of, model, elements.centres):
        return known[1]
    report = _row_report(model)
    if elements.dtype is float:
        last[""] = elements, report
    return report


def _row_report(model: Model) -> RowReport:
    elements = elements_of(model)
    m = elements.n_constraints
    tree = tree_of(model)
    dtype = complex if tree.dtype is complex or elements.dtype is complex else float
    T = _record(model, tree, elements, np.arange(m), (), dtype)
    rng = np.random.default_rng(0)
    q = random_configurations(model, RANDOM_STATES, rng)
    rows = evaluate_rows(T, q, None, None, np.zeros(len(q)), 0, m)
    step = max(float(np.abs(x.imag).max(initial=0.0)) for x in (T.atoms_f, T.markers_f, T.numbers))
    size = np.abs(rows.J.real).max(axis=(0, 2))
    idle = (size <= IDLE * max(1.0, size.max(initial=0.0))) & (elements.rows_i[:m, R_KIND] != LINEAR)
    for k in np.flatnonzero(idle):
        if k >= elements.n_holonomic:
            continue
        if (miss := np.abs(rows.values[:, k].real).max()) > 1e-9:
            raise AssemblyError(
                f"{elements.row_names[k]!r} is {miss:.3g} off in every configuration of model {model.name!r}: no "
                "motion can close it. Check the geometry of the bodies it connects."
            )
        if np.abs(rows.values[:, k].imag).max() > 1e-9 * step:
            raise AssemblyError(
                f"a complex step in the numbers of model {model.name!r} tears {elements.row_names[k]!r} apart, which "
                "no configuration can close again."
            )
    kept = np.flatnonzero(~idle)
    return RowReport(
        kept,
        tuple(elements.row_names[k] for k in np.flatnonzero(idle)),
        tuple(elements.row_names[k] for k in kept),
    )


def random_configurations(model: Model, count: int, rng: np.random.Generator) -> FloatArray:
    """Configurations without any special relation: coordinates in (-1, 1), random rotations of balls."""
    q = np.tile(model.neutral(), (count, 1))
    return np.asarray(model.integrate(q, rng.uniform(-1, 1, (count, model.n_v))), float)


def mechanism_of(
    model: Model,
    *,
    rows: IntArray | None = None,
    independent: Sequence[Any] = (),
    tau: Array | None = None,
    loads: tuple[Array, Array] | None = None,
    users: Sequence[int] = (),
    dtype: type | None = None,
    reference: Reference = "root",
    pairs: bool = True,
) -> Mechanism:
    """The record of a model.

    Parameters
    ----------
    rows : positions of the constraint rows to keep, ascending; all that act if left out
    independent : rows (`model.primitives.rows.Row`) to be placed after all others, e.g. independent coordinates
    tau : (n_v,) constant generalized forces; loads : tables of `inverse.loads`
    users : addresses of user laws, in the order of `Elements.user`
    dtype : float or complex; complex where the model is
    reference : where velocities and wrenches are taken while they are summed up: about the root of the mechanism, the
        world's origin, or residual and mass matrix about the centres of mass
    pairs : with all that relates pairs of columns, O(n_v depth) numbers; accelerations of open trees need none of it
    """
    tree, elements = tree_of(model), elements_of(model)
    kept = row_report(model).kept if rows is None else rows
    dtype = dtype or (complex if tree.dtype is complex or elements.dtype is complex else float)
    return _record(model, tree, elements, kept, independent, dtype, tau, loads, users, reference, pairs)


def _record(
    model: Model,
    tree: Tree,
    elements: Elements,
    kept: IntArray,
    independent: Sequence[Any],
    dtype: type,
    tau: Array | None = None,
    loads: tuple[Array, Array] | None = None,
    users: Sequence[int] = (),
    reference: Reference = "root",
    pairs: bool = True,
) -> Mechanism:
    if independent:
        elements = compile_elements(model, tree, independent)
    m = elements.n_constraints
    rows = np.concatenate([kept, np.arange(m, len(elements.rows_i))]).astype(np.int64)
    laws_i = elements.laws_i.copy()
    laws_i[:, L_FIRST] -= m - len(kept)
    for k, address in enumerate(users):
        laws_i[elements.laws_i[:, L_USER] == k, L_USER] = address
    ints, real = _packed(model, tree, elements, kept, rows, laws_i, tau, reference, pairs)
    ints = one_of_all(model, ints)
    loads_i, loads_f = loads or (_NO_LOADS_I, _NO_LOADS_F)

    def numbers(x: Array) -> Array:
        x = x.real if dtype is float else x
        return _fixed(np.ascontiguousarray(x, dtype))

    return Mechanism(
        atoms_i=_fixed(tree.atoms_i),
        atoms_f=numbers(about_origin(tree.atoms_f) if reference == "origin" else tree.atoms_f),
        columns_i=_fixed(tree.columns_i),
        pairs=_fixed(tree.pairs) if pairs else _NO_PAIRS,
        pattern_rows=_fixed(np.ascontiguousarray(tree.pattern.rows, np.int64)) if pairs else _NO_PATTERN,
        pattern_cols=_fixed(np.ascontiguousarray(tree.pattern.cols, np.int64)) if pairs else _NO_PATTERN,
        chain_start=_fixed(tree.chain_start),
        markers_i=_fixed(elements.markers_i),
        markers_f=numbers(elements.markers_f),
        loads_i=_fixed(np.ascontiguousarray(loads_i, np.int64)),
        loads_f=numbers(loads_f),
        ints=ints,
        numbers=numbers(real),
    )


def one_of_all(model: Model, ints: IntArray) -> IntArray:
    """The integers of a record, read-only: one array for all models that differ by numbers, so that they share what is
    remembered with it (`kernels.workspaces`)."""
    known: dict[bytes, IntArray] = model.shared("integers", lambda _: {})
    key = ints.tobytes()
    if key not in known:
        if len(known) >= MOST_INTEGERS:  # addresses of users' laws change with every system
            known.clear()
        known[key] = _fixed(ints)
    return known.get(key, ints)


def renumbered(
    T: Mechanism, of: Model, model: Model, rows: IntArray, tau: Array, loads_f: Array, reference: Reference
) -> Mechanism | None:
    """The record T of a model with the numbers of another one, tau and loads; None where they differ by more."""
    tree, elements, known = tree_of(model), elements_of(model), elements_of(of)
    tables = ("markers_i", "rows_i", "coords_i", "laws_i", "functions_i", "surfaces_i")
    if elements is not known and not all(
        np.array_equal(getattr(elements, name), getattr(known, name)) for name in tables
    ):
        return None
    every = np.concatenate([rows, np.arange(elements.n_constraints, len(elements.rows_i))])
    real = (
        elements.rows_f[every], elements.coords_f, elements.laws_f, elements.surfaces_f,
        elements.pieces_f, tau,
    )  # fmt: skip
    tables_f = {
        "atoms_f": about_origin(tree.atoms_f) if reference == "origin" else tree.atoms_f,
        "markers_f": elements.markers_f,
        "loads_f": loads_f,
        "numbers": np.concatenate([x.ravel() for x in real]),
    }
    dtype = T.atoms_f.dtype
    found = {name: _fixed(np.ascontiguousarray(x, dtype)) for name, x in tables_f.items()}
    return T._replace(atoms_i=_fixed(tree.atoms_i), **found)


def _packed(
    model: Model, tree: Tree, elements: Elements, kept: IntArray, rows: IntArray, laws_i: IntArray, tau: Array | None,
    reference: Reference, pairs: bool,
) -> tuple[IntArray, Array]:  # fmt: skip
    """Everything of rows and laws in one array of integers, with a header that says where, and one of numbers."""
    m, end = elements.n_constraints, elements.n_rows
    header = np.zeros(HEADER, np.int64)
    header[[N_Q, N_V, N_ATOMS, N_MARKERS]] = tree.n_q, tree.n_v, tree.n_atoms, len(elements.markers_i)
    header[[N_HOLONOMIC, N_CONSTRAINTS]] = np.searchsorted(kept, elements.n_holonomic), len(kept)
    header[[N_ROWS, N_ALL]] = end - m + len(kept), len(rows)
    header[REFERENCE] = reference == "com"
    header[[N_LAWS, LAW_WIDTH]] = len(laws_i), laws_i[:, L_ROWS].max(initial=0)
    last = np.append(tree.atoms_i[:, LAST_COLUMN], -1)[elements.markers_i[:, 0]]
    guards, common, watched = guards_of(elements.rows_i[rows], laws_i, len(elements.markers_i))
    header[[N_GUARDS, N_COMMON, N_WATCHED]] = len(guards), len(common), len(watched)
    integers = {
        AT_ROWS: elements.rows_i[rows],
        AT_COORDS: elements.coords_i,
        AT_LAWS: laws_i,
        AT_FUNCTIONS: elements.functions_i,
        AT_SURFACES: elements.surfaces_i,
        AT_GUARDS: guards,
        AT_COMMON: common,
        AT_WATCHED: watched,
        AT_MARKERS: np.column_stack([elements.markers_i, last]),
        AT_COLUMNS: tree.columns_i[:, [C_PARENT, C_ATOM]],
        AT_MOVES: _moves(model, tree) if pairs and len(rows) else np.zeros(0, bool),
    }
    real = {
        AT_ROW_NUMBERS: elements.rows_f[rows],
        AT_FACTORS: elements.coords_f,
        AT_LAW_NUMBERS: elements.laws_f,
        AT_SURFACE_NUMBERS: elements.surfaces_f,
        AT_PIECES: elements.pieces_f,
        AT_TAU: np.zeros(tree.n_v) if tau is None else tau,
    }
    header[list(integers)] = HEADER + np.cumsum([0, *(x.size for x in integers.values())])[:-1]
    header[list(real)] = np.cumsum([0, *(x.size for x in real.values())])[:-1]
    ints = np.concatenate([header, *(x.ravel() for x in integers.values())]).astype(np.int64)
    return ints, np.concatenate([x.ravel() for x in real.values()])


def guards_of(rows_i: IntArray, laws_i: IntArray, markers: int) -> tuple[IntArray, IntArray, IntArray]:
    """What the broad phase reads (`dynamics.kernels.near_laws`): guards, stretches of markers that are always placed,
    and the points whose way is watched."""
    users = np.full(markers, -1)  # the guarded law that alone has a marker; -1: nobody, -2: others, too
    guarded = {}
    owner = np.full(len(rows_i), -2)
    for k, line in enumerate(laws_i):
        first, count = int(line[L_FIRST]), int(line[L_ROWS])
        if rows_i[first, R_KIND] in (PLANE, POINT) and rows_i[first, R_COUNT] > 0:
            owner[first : first + count] = k
            places = R_MARKER + int(rows_i[first, R_KIND] == PLANE)
            guarded[k] = first, first + count, *rows_i[first, places : places + 2].tolist()
    for k, line in zip(owner.tolist(), rows_i[:, R_MARKER : R_MARKER + 4].tolist(), strict=True):
        for m in line:
            if m >= 0:
                users[m] = k if users[m] in (-1, k) else -2
    watched = sorted({m for line in guarded.values() for m in line[2:]})
    users[watched] = -2
    guards = []
    for k, line in guarded.items():
        own = np.flatnonzero(users == k)
        runs = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1)
        longest = max(runs, key=len)  # the other runs are placed with those of all
        users[np.setdiff1d(own, longest)] = -2
        guards.append((k, *line, *((longest[0], longest[-1] + 1) if longest.size else (0, 0))))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], users < 0, [False]])))
    return np.array(guards, np.int64).reshape(-1, GUARD), edges.reshape(-1, 2), np.array(watched, np.int64)


def _fixed(x: Array) -> Array:
    """Read-only, so that one machine code serves every record."""
    if x.flags.writeable:
        x = x.view()
        x.setflags(write=False)
    return x


def _moves(model: Model, tree: Tree) -> Array:
    def make(_: Model) -> Array:
        require_memory(
            9.0 * (tree.n_atoms + 1) * tree.n_v,
            f"which of {tree.n_v} velocities moves which of {tree.n_atoms} bodies of model {model.name!r}",
            "Constraints, and derivatives of forces, need that table: make a smaller model.",
        )
        moves = np.zeros((tree.n_atoms + 1, tree.n_v), bool)
        for atom in range(tree.n_atoms):
            moves[atom, tree.path(int(tree.atoms_i[atom, LAST_COLUMN]))] = True
        moves.setflags(write=False)
        return moves

    return model.shared("moves", make)


@dataclass(frozen=True, eq=False)
class RowValues:
    """Rows at samples: values, rates, second rates (nt, m); J of values and of rates by q (nt, m, n_v)."""

    values: Array
    rates: Array
    seconds: Array
    J: Array
    J_rate: Array


def evaluate_rows(
    T: Mechanism, q: Array, v: Array | None, a: Array | None, t: FloatArray, first: int, last: int,
    jacobians: bool = True,
) -> RowValues:  # fmt: skip
    """Rows first .. last - 1 of a record at samples (nt, n); without their Jacobians, O(n) each, if these are not asked
    for (J has no columns then)."""
    nt, n_v, rows, dtype = len(q), int(T.ints[N_V]), int(T.ints[N_ALL]), T.atoms_f.dtype
    # copies: contiguous and writeable whatever was given, so that one machine code serves
    q, v, a = (np.array(np.zeros((nt, n_v)) if x is None else x, dtype, order="C") for x in (q, v, a))
    values, rates, seconds = (np.zeros((nt, rows), dtype) for _ in range(3))
    columns = n_v if jacobians else 0
    J, J_rate = (np.zeros((nt, rows * columns), dtype) for _ in range(2))
    kernel = _kernels.constraint_rows_complex if dtype.kind == "c" else _kernels.constraint_rows_one
    bad = kernel(T, (q, v, a), np.array(t, float), first, last, (values, rates, seconds, J, J_rate))
    if bad >= 0:
        raise InputError(f"sample {bad} holds a number that is not finite, or four Euler parameters that are all zero.")
    part = slice(first, last)
    shape = (nt, rows, columns)
    return RowValues(
        values[:, part], rates[:, part], seconds[:, part], J.reshape(shape)[:, part], J_rate.reshape(shape)[:, part]
    )
