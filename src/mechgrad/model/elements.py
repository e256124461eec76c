"""Closures, constraints and forces as flat arrays: what kernels read, beside the `Tree`.

Tables, one line per marker, row, coordinate of a row, law, function and piece of a function:

    markers_i    atom (n_atoms is the ground), kind (0 point, 1 direction)      markers_f  local, in the atom's frame
    rows_i       kind, markers 0 to 3, first and number in coords, function     rows_f     constant, direction, radius
                 (of PROFILE: kind, markers, its function of the way along and 0, function of time)
    coords_i     index in q, index in v                                         coords_f   factor
    laws_i       kind, first row, number of rows, functions 0 and 1, user,      laws_f     numbers, zero if unused
                 surface
    functions_i  first piece, number of pieces                                  pieces_f   start, c0, c1, c2, c3, kind
    surfaces_i   kind, first number, lines and columns of a map                 surfaces_f all their numbers

-1 stands for none. Rows come in three parts: holonomic constraints (closures of cut joints first), constraints at
velocity level, and the rows of laws. The layout depends on names and kinds only, never on numbers: a complex step
through the model gives tables of the same shape, whose imaginary parts are the derivatives.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.model.forces.user_force import UserForce
from mechgrad.model.limits import LARGEST, too_large
from mechgrad.model.mechanism import LAW_NUMBERS
from mechgrad.model.primitives.attached import Where, places
from mechgrad.model.primitives.quantity_names import named_row
from mechgrad.model.primitives.rows import FIRST_RATE_KIND, LINEAR, Law, Place, Row, SurfaceTable
from mechgrad.model.tree import Tree
from mechgrad.typing import Array, IntArray

if TYPE_CHECKING:
    from mechgrad.model.body import Body
    from mechgrad.model.functions import Function
    from mechgrad.model.joints import Joint
    from mechgrad.model.model_parts import ModelParts

MARKER_POINT, MARKER_DIRECTION = 0, 1
MOST_MARKERS, MOST_NUMBERS, MOST_FUNCTIONS = 4, LAW_NUMBERS, 2
NONE = -1


@final
@dataclass(frozen=True, eq=False)
class Elements:
    """The tables of the module's text, read-only; all `_f` share one type, float64 or complex128.

    n_holonomic, n_constraints : rows before the first are holonomic constraints, before the second constraints
    n_rows : rows before this one act, those after it are measured only
    row_names : how messages call the rows, e.g. "B: point x"
    user : the forces that Python functions compute; laws_i counts them
    functions, function_owners : the functions of functions_i, and the names of the elements that they belong to
    made_of : parts of the model, by group, that all of this follows from
    centres : bodies at whose centre of mass something is attached; names and kinds alone decide that, too
    """

    markers_i: IntArray
    markers_f: Array
    rows_i: IntArray
    rows_f: Array
    coords_i: IntArray
    coords_f: Array
    laws_i: IntArray
    laws_f: Array
    functions_i: IntArray
    pieces_f: Array
    surfaces_i: IntArray
    surfaces_f: Array
    n_holonomic: int
    n_constraints: int
    n_rows: int
    row_names: tuple[str, ...]
    user: tuple[UserForce, ...]
    functions: tuple[Function, ...]
    function_owners: tuple[str, ...]
    made_of: dict[str, tuple[Any, ...]]
    centres: frozenset[str]

    def serve(self, model: ModelParts) -> bool:
        """Whether a model that differs by numbers has the same tables: in masses and inertias, say."""
        if any(self.made_of[group] is not getattr(model, group) for group in MADE_OF):
            return False
        return _same_centres(self.made_of["bodies"], model.bodies, self.centres)

    def known_pieces(self) -> dict[int, Array]:
        """Pieces of functions by the identity of these; models that differ by numbers share most of them."""
        if self.dtype is complex:
            return {}
        parts = (self.pieces_f[first : first + count] for first, count in self.functions_i.tolist())
        return {id(function): part for function, part in zip(self.functions, parts, strict=True)}

    @property
    def dtype(self) -> type:
        """float, or complex while a complex step travels through."""
        return complex if np.iscomplexobj(self.rows_f) else float


Named = tuple[str, Row]
MADE_OF = ("joints", "points", "vectors", "constraints", "forces")  # and centres of mass, which are markers


def compile_elements(model: ModelParts, tree: Tree, independent: Sequence[Row] = ()) -> Elements:
    """Flatten the closures of cut joints, the constraints and the forces of a model.

    `independent` rows are measured only, and stand after all others (independent coordinates). Not cached: ask
    `model.cached` where it is used often.
    """
    if model.is_open:
        return _Tables(model, tree, places(model)).finished(0, 0, 0)
    near: Elements | None = model.of_original("elements")
    if near is not None and not independent and near.serve(model):
        return near
    where = _Where(model)
    constraints: list[Named] = [(joint.name, row) for joint in model.cut_joints for row in _closure(model, joint)]
    constraints += [(item.name, row) for item in model.constraints for row in item.rows(where)]
    holonomic = [pair for pair in constraints if pair[1].kind < FIRST_RATE_KIND]
    rates = [pair for pair in constraints if pair[1].kind >= FIRST_RATE_KIND]
    tables = _Tables(model, tree, where, {} if near is None else near.known_pieces())
    for name, row in (*holonomic, *rates):
        tables.add_row(name, row)
    for force in model.forces:
        for law in force.laws(where):
            tables.add_law(force.name, law, force if isinstance(force, UserForce) else None)
    n_rows = len(tables.rows_i)
    for row in independent:
        tables.add_row("independent", row)
    return tables.finished(len(holonomic), len(constraints), n_rows, where.centres)


class _Where:
    """The places of a model; it notes the bodies whose centre of mass is asked for."""

    def __init__(self, model: ModelParts) -> None:
        self._find, self._bodies = places(model), {body.name for body in model.bodies}
        self.centres: set[str] = set()

    def __call__(self, name: str) -> Place:
        found = self._find(name)
        body, _, part = str(name).rpartition(".")
        if part == "com" and body in self._bodies:
            self.centres.add(body)
        return found


def same_constraints(made_of: Mapping[str, tuple[Any, ...]], model: ModelParts, centres: Container[str]) -> bool:
    """Whether constraints of a model, and all that they are attached to, are those that some parts make."""
    groups = (group for group in MADE_OF if group != "forces")
    same = all(made_of[group] is getattr(model, group) for group in groups)
    return same and _same_centres(made_of["bodies"], model.bodies, centres)


def _same_centres(old: Sequence[Body], new: Sequence[Body], centres: Container[str]) -> bool:
    """Whether centres of mass that are markers are the same."""
    pairs = zip(old, new, strict=True)
    return all(a is b or a.name not in centres or _same(a.com, b.com) for a, b in pairs)


def _closure(model: ModelParts, joint: Joint) -> Sequence[Row]:
    """The closure rows of a cut joint; copies of a model that have this very joint share them."""
    known: dict[str, tuple[Joint, Sequence[Row]]] = model.shared("closures", lambda _: {})
    if joint.name not in known:
        known[joint.name] = joint, joint.closure()
    first, rows = known[joint.name]
    return rows if first is joint else joint.closure()


@dataclass(eq=False)
class _Tables:
    """Tables that grow line by line."""

    model: ModelParts
    tree: Tree
    where: Where
    known_pieces: dict[int, Array] = field(default_factory=dict)
    markers: dict[int, int] = field(default_factory=dict)
    # kept alive, since markers are known by the identity of their place
    kept: list[Place] = field(default_factory=list)
    markers_i: list[Sequence[int]] = field(default_factory=list)
    markers_f: list[Array] = field(default_factory=list)
    rows_i: list[Sequence[int]] = field(default_factory=list)
    rows_f: list[Sequence[Any]] = field(default_factory=list)
    coords_i: list[Sequence[int]] = field(default_factory=list)
    coords_f: list[Sequence[Any]] = field(default_factory=list)
    laws_i: list[Sequence[int]] = field(default_factory=list)
    laws_f: list[Sequence[Any]] = field(default_factory=list)
    functions_i: list[Sequence[int]] = field(default_factory=list)
    pieces: list[Array] = field(default_factory=list)
    surfaces_i: list[Sequence[int]] = field(default_factory=list)
    surfaces_f: list[Array] = field(default_factory=list)
    n_pieces: int = 0
    row_names: list[str] = field(default_factory=list)
    user: list[UserForce] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    function_owners: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        layout = self.model.layout
        positions = zip(layout.plain_q.tolist(), layout.plain_v.tolist(), strict=True)
        self.coordinates = {self.model.q_names[i]: (i, j) for i, j in positions}

    def add_row(self, owner: str, row: Row) -> None:
        if row.kind == LINEAR and len(row.coordinates) == 1 and row.coordinates[0][0] not in self.coordinates:
            row = named_row(self.model, self.where, row)
        markers = [self._marker(place) for place in row.places]
        markers += [NONE] * (MOST_MARKERS - len(markers))
        function = self._function(owner, row.function)
        first = len(self.coords_i) if row.profile is None else self._function(owner, row.profile)
        self.rows_i.append((row.kind, *markers, first, row.guards or len(row.coordinates), function))
        self.rows_f.append((row.constant, *row.direction, row.radius))
        for name, factor in row.coordinates:
            self.coords_i.append(self.coordinates[name])
            self.coords_f.append((factor,))
        self.row_names.append(f"{owner}: {row.label}" if row.label else owner)

    def add_law(self, owner: str, law: Law, user: UserForce | None) -> None:
        first = len(self.rows_i)
        for row in law.rows:
            self.add_row(owner, row)
        functions = [self._function(owner, f) for f in law.functions]
        functions += [NONE] * (MOST_FUNCTIONS - len(functions))
        number = NONE if user is None else len(self.user)
        self.laws_i.append((law.kind, first, len(law.rows), *functions, number, self._surface(law.surface)))
        self.laws_f.append((*law.numbers, *(0.0,) * (MOST_NUMBERS - len(law.numbers))))
        if user is not None:
            self.user.append(user)

    def finished(self, n_holonomic: int, n_constraints: int, n_rows: int, centres: Iterable[str] = ()) -> Elements:
        numbers = {
            "markers_f": _matrix(self.markers_f, 3),
            "rows_f": _matrix(self.rows_f, 5),
            "coords_f": _matrix(self.coords_f, 1),
            "laws_f": _matrix(self.laws_f, MOST_NUMBERS),
            "pieces_f": np.concatenate(self.pieces) if self.pieces else np.zeros((0, 6)),
            "surfaces_f": _matrix(self.surfaces_f and np.concatenate(self.surfaces_f), 1),
        }
        if not np.abs(numbers["markers_f"]).max(initial=0.0) <= LARGEST:
            raise too_large(self.model, *self.model.points)
        if not all(np.isfinite(x).all() for x in numbers.values()):
            raise too_large(self.model, *self.model.constraints, *self.model.forces)
        stepped = any(np.iscomplexobj(x) for x in (*numbers.values(), *(force.numbers for force in self.user)))
        dtype = np.complex128 if stepped else np.float64
        return Elements(
            markers_i=_integers(self.markers_i, 2),
            rows_i=_integers(self.rows_i, 4 + MOST_MARKERS),
            coords_i=_integers(self.coords_i, 2),
            laws_i=_integers(self.laws_i, 5 + MOST_FUNCTIONS),
            functions_i=_integers(self.functions_i, 2),
            surfaces_i=_integers(self.surfaces_i, 4),
            n_holonomic=n_holonomic,
            n_constraints=n_constraints,
            n_rows=n_rows,
            row_names=tuple(self.row_names),
            user=tuple(self.user),
            functions=tuple(self.functions),
            function_owners=tuple(self.function_owners),
            made_of={group: getattr(self.model, group) for group in (*MADE_OF, "bodies")},
            centres=frozenset(centres),
            **{name: _read_only(np.ascontiguousarray(x, dtype)) for name, x in numbers.items()},
        )

    def _marker(self, place: Place) -> int:
        if id(place) not in self.markers:
            self.markers[id(place)] = len(self.kept)
            self.kept.append(place)
            atom = self.tree.body_atom[place.body]
            axes, origin = self.tree.body_tail[place.body]
            kind = MARKER_POINT if place.is_point else MARKER_DIRECTION
            self.markers_i.append((self.tree.n_atoms if atom < 0 else atom, kind))
            self.markers_f.append(axes @ np.asarray(place.local) + (origin if place.is_point else 0.0))
        return self.markers[id(place)]

    def _surface(self, surface: SurfaceTable | None) -> int:
        if surface is None:
            return NONE
        first = sum(len(numbers) for numbers in self.surfaces_f)
        self.surfaces_i.append((surface.kind, first, surface.lines, surface.columns))
        self.surfaces_f.append(np.asarray(surface.numbers))
        return len(self.surfaces_i) - 1

    def _function(self, owner: str, function: Function | None) -> int:
        if function is None:
            return NONE
        pieces = self.known_pieces.get(id(function))
        pieces = function.pieces() if pieces is None else pieces
        self.functions_i.append((self.n_pieces, len(pieces)))
        self.pieces.append(pieces)
        self.functions.append(function)
        self.function_owners.append(owner)
        self.n_pieces += len(pieces)
        return len(self.functions_i) - 1


def _matrix(lines: Iterable[Any], width: int) -> Array:
    return np.array(list(lines)).reshape(-1, width)


def _integers(lines: Iterable[Sequence[int]], width: int) -> IntArray:
    return _read_only(np.array(list(lines), np.int64).reshape(-1, width))


def _same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and np.array_equal(a, b)


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
