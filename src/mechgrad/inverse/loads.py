"""External loads: forces and couples that the environment exerts on bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.kernels.wrenches import L_ATOM, L_IN_BODY_AXES, LOAD, LOAD_C, LOAD_F, LOAD_X
from mechgrad.model.columns import LOAD_COUPLE, LOAD_FORCE, LOAD_POINT, Term
from mechgrad.model.tree import Tree
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

FIELDS = ("force", "torque", "point")
_KINDS = {"force": LOAD_FORCE, "torque": LOAD_COUPLE, "point": LOAD_POINT}


@final
@dataclass(frozen=True, eq=False)
class Load:
    """A force at a point of a body, and a couple, exerted on the body by its environment.

        wrench about the world's origin:  moment x_P x force + torque,  force force;     M a + h = tau + sum J^T load

    Attributes
    ----------
    body : str
        Whom it acts on.
    force : (3,) or (nt, 3)
        [N], constant or one per sample.
    torque : (3,) or (nt, 3)
        A couple [N m].
    point : (3,) or (nt, 3), or the name of a Point of that body, or "body.com"
        Where the force acts, from the body's origin in body axes [m]; a named point is followed wherever numbers of
        the model move it.
    axes : "world" or "body"
        Axes of force and torque: fixed in the world (weights, ground reactions) or turning with the body
        (thrusters, followers).
    name : str
        For derivatives: paths `name.force.x`, `name.torque.y`, `name.point.z`. Default "load.0", "load.1", ... by
        position.

    >>> attachment = Load("attachment", force=(0, 0, 400), point=(-0.05, 0, 0))
    """

    body: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    torque: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike | str = (0.0, 0.0, 0.0)
    axes: str = "world"
    name: str = ""


@dataclass(frozen=True, eq=False)
class LoadTable:
    """Loads as the tables kernels read: `indices` (n, 2): atom and axes; `numbers` (1 or nt, n * 9)."""

    names: tuple[str, ...]
    indices: Array
    numbers: Array
    structure: tuple[object, ...]  # everything the derivative columns depend on
    points: tuple[str | None, ...]
    tails: tuple[Array, ...]

    @property
    def paths(self) -> list[str]:
        """All load paths a derivative can be taken by."""
        return [f"{name}.{field}.{axis}" for name in self.names for field in _KINDS for axis in "xyz"]

    def rows(self, part: slice) -> Array:
        """Numbers of some samples; a constant table serves all."""
        return self.numbers if self.numbers.shape[0] == 1 else self.numbers[part]

    def record(self, part: slice) -> tuple[Array, Array]:
        """Loads of some samples for a kernel (`kinematics.kernels.tables.Loads`)."""
        return self.indices, self.numbers if self.numbers.shape[0] == 1 else self.numbers[part]

    def terms(self, path: str) -> list[Term]:
        """How a load path acts."""
        name, field, axis = path.rsplit(".", 2)
        index = self.names.index(name)
        direction = np.eye(3)["xyz".index(axis)]
        if field == "point" or self.indices[index, L_IN_BODY_AXES]:
            direction = self.tails[index] @ direction
        return [Term(_KINDS[field], index, direction, int(self.indices[index, L_ATOM]))]


def _empty_table() -> LoadTable:
    indices = np.zeros((0, 2), np.int64)
    indices.setflags(write=False)
    return LoadTable((), indices, np.zeros((1, 0)), (), (), ())


NO_LOADS = _empty_table()
NO_LOADS_COMPLEX = LoadTable((), NO_LOADS.indices, np.zeros((1, 0), complex), (), (), ())


def loads_are_complex(loads: Sequence[Load] | None) -> bool:
    """Whether any load carries a complex step."""
    if not loads:
        return False
    if isinstance(loads, Load):
        raise InputError("loads is a single Load; give a list of them: loads=[...].")
    return any(np.iscomplexobj(x) for load in loads for x in (load.force, load.torque, load.point))


def loads_vary(loads: Sequence[Load] | None) -> bool:
    """Whether any load is given sample by sample."""
    fields = ((load.force, load.torque, load.point) for load in loads or ())
    return any(not isinstance(x, str) and np.ndim(x) == 2 and len(np.asarray(x)) > 1 for parts in fields for x in parts)


def loads_of(loads: Sequence[Load] | None, part: slice) -> list[Load] | None:
    """Loads of some samples; what is constant stays so."""
    if not loads:
        return None

    def rows(x: ArrayLike | str) -> ArrayLike | str:
        return x if isinstance(x, str) or np.ndim(x) < 2 or len(np.asarray(x)) == 1 else np.asarray(x)[part]

    return [
        Load(load.body, rows(load.force), rows(load.torque), rows(load.point), load.axes, load.name) for load in loads
    ]


def compile_loads(model: Model, tree: Tree, loads: Sequence[Load] | None, nt: int, dtype: type) -> LoadTable:
    """Check loads and lay them out for kernels."""
    if not loads:
        return NO_LOADS if dtype is float else NO_LOADS_COMPLEX
    names: list[str] = []
    points: list[str | None] = []
    tails, columns, indices = [], [], []
    for k, load in enumerate(loads):
        if load.body == "ground" or load.body not in tree.body_atom:
            raise unknown_name("body", load.body, model.body_names, f"loads[{k}]")
        if load.axes not in ("world", "body"):
            raise InputError(f"loads[{k}] on {load.body!r}: axes is {load.axes!r}; choose 'world' or 'body'.")
        name = load.name or f"load.{k}"
        if name in names:
            raise InputError(f"loads[{k}]: the name {name!r} is used twice; give each load a name of its own.")
        axes, origin = tree.body_tail[load.body]
        point: ArrayLike
        if isinstance(load.point, str):
            owner, point = named_point(model, load.point)
            if owner != load.body:
                raise InputError(
                    f"loads[{k}] on {load.body!r}: point {load.point!r} belongs to body {owner!r}; "
                    "give a point of the loaded body."
                )
            points.append(load.point)
        else:
            points.append(None)
            point = load.point
        parts = [_rows(x, nt, f"loads[{k}] on {load.body!r}: {n}") for n, x in
                 (("force", load.force), ("torque", load.torque), ("point", point))]  # fmt: skip
        parts[2] = origin + parts[2] @ axes.T
        if load.axes == "body":
            parts[:2] = parts[0] @ axes.T, parts[1] @ axes.T
        names.append(name)
        tails.append(axes)
        columns.append(parts)
        indices.append((tree.body_atom[load.body], load.axes == "body"))
    height = max(part.shape[0] for parts in columns for part in parts)
    numbers = np.empty((height, LOAD * len(columns)), dtype)
    for k, parts in enumerate(columns):
        for at, part in zip((LOAD_F, LOAD_C, LOAD_X), parts, strict=True):
            numbers[:, k * LOAD + at : k * LOAD + at + 3] = part
    table = np.array(indices, np.int64).reshape(-1, 2)
    table.setflags(write=False)
    structure = (tuple(names), tuple(map(tuple, indices)), tuple(points))
    return LoadTable(tuple(names), table, numbers, structure, tuple(points), tuple(tails))


def named_point(model: Model, name: str) -> tuple[str, Array]:
    """Body and position of a point of the model, of "body.com" or of "body.origin"."""
    body, _, part = name.rpartition(".")
    if part in ("com", "origin") and body in model.body_names and name not in {p.name for p in model.points}:
        return body, np.asarray(model.body(body).com if part == "com" else np.zeros(3))
    if name not in {p.name for p in model.points}:
        known = [p.name for p in model.points] + [f"{b}.{part}" for b in model.body_names for part in ("com", "origin")]
        raise unknown_name("point", name, known, f"model {model.name!r}")
    point = model.point(name)
    return point.body, point.position


def _rows(values: ArrayLike, nt: int, where: str) -> Array:
    x = np.asarray(values)
    if x.dtype.kind not in "fiubc":
        raise InputError(f"{where} holds {x.dtype}; three numbers are needed.")
    x = x[None, :] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[1] != 3 or x.shape[0] not in (1, nt):
        raise InputError(f"{where} has shape {np.shape(values)}; it must be (3,) or ({nt}, 3), one row per sample.")
    if not np.all(np.isfinite(x)):
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise InputError(f"{where} is {x[row, column]} in row {row}, component {column}; every number must be finite.")
    return x


def load_paths(loads: Sequence[Load]) -> dict[str, tuple[int, str, int]]:
    """Path to load, field and axis."""
    return {
        f"{load.name or f'load.{k}'}.{field}.{axis}": (k, field, i)
        for k, load in enumerate(loads)
        for field in FIELDS
        for i, axis in enumerate("xyz")
    }


def load_vector(model: Model, load: Load, field: str) -> Array:
    """A field of a load in numbers, a named point too."""
    given = getattr(load, field)
    return np.array(named_point(model, given)[1] if isinstance(given, str) else given)
