"""What can be held or driven, by name: plain coordinates, world coordinates of points, world components of vectors.

    "hinge"              a coordinate of a hinge or slider (`model.q_names`), also of a joint that closes a loop
    "P2.x", ("P2", "x")  a world coordinate of a point: of the model, "body.origin" or "body.com"
    "axis1.x"            a world component of a vector of the model, with the length it has there
    "root.wx"            for rates only: any velocity (`model.v_names`)
    Distance("P1", "P2") a measure that is one row (`mechgrad.measures`); its name, or 'Distance(P1, P2)', names it

Held quantities stand beside the constraints as further equations, at position, velocity and acceleration level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows, mechanism_of, row_report
from mechgrad.model.mechanism import N_ALL, N_CONSTRAINTS, N_HOLONOMIC, N_ROWS, R_FUNCTION, Mechanism
from mechgrad.model.primitives.attached import check_reference, places
from mechgrad.model.primitives.quantity_names import cut_coordinates, quantity_row
from mechgrad.model.primitives.rows import LINEAR, Row, RowMeasure
from mechgrad.typing import Array, ArrayLike, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Name: TypeAlias = str | tuple[str, str] | RowMeasure
"""How a held quantity is called, see the module's text."""


@final
class MeasureName(str):
    """The name of a measure that is held; it remembers the measure, so that it can be held again."""

    __slots__ = ("measure",)
    measure: RowMeasure

    def __new__(cls, measure: RowMeasure) -> MeasureName:
        name = super().__new__(cls, measure.label)
        name.measure = measure
        return name

    def __getnewargs__(self) -> tuple[RowMeasure]:  # type: ignore[override]
        return (self.measure,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """One quantity that can be held.

    name : its name as one string; a plain coordinate has that of `model.q_names`
    q_at, v_at : where it sits in q and v, -1 if nowhere
    row : what a point, a vector or a measure is measured by
    """

    name: str
    q_at: int = -1
    v_at: int = -1
    row: Row | None = None


def find_quantity(model: Model, name: Name, *, rate: bool = False) -> Quantity:
    """The quantity of a name; rates may also be those of `model.v_names`.

    >>> find_quantity(double_pendulum(), ("tip", "x")).name
    'tip.x'
    """
    measure = name.measure if isinstance(name, MeasureName) else name
    if not isinstance(measure, str | tuple) and isinstance(measure, RowMeasure):  # a protocol is slow to ask for
        measure.check_model(model, measure.label)
        row = measure.row(places(model))
        if row.kind == LINEAR and len(row.coordinates) == 1:
            return find_quantity(model, row.coordinates[0][0], rate=rate)
        return Quantity(MeasureName(measure), row=row)
    text = ".".join(map(str, name)) if isinstance(name, tuple) else name
    if not isinstance(text, str):
        raise InputError(
            f"{name!r} does not name a quantity; give a string, (name of a point, 'x', 'y' or 'z'), or a "
            "measure such as mg.measures.Distance('P1', 'P2')."
        )
    layout = model.layout
    plain = dict(zip(layout.plain_v.tolist(), layout.plain_q.tolist(), strict=True))
    for j, i in plain.items():
        if text == model.q_names[i] or (rate and text == model.v_names[j]):
            return Quantity(model.q_names[i], i, j)
    if rate and text in model.v_names:
        return Quantity(text, v_at=model.v_names.index(text))
    if (found := quantity_row(model, places(model), text)) is not None:
        return Quantity(text, row=found)
    coordinates = [model.q_names[i] for i in layout.plain_q]
    if text in model.q_names or any(text.split(".")[0] == joint.name for joint in model.cut_joints):
        check_reference(model, places(model), "quantity", text, "held")
    known = [*coordinates, *(name for name, _ in cut_coordinates(model)), *(model.v_names if rate else ())]
    known += [f"{m}.{axis}" for m in _markers(model) for axis in "xyz"]
    raise unknown_name("quantity", text, known, f"model {model.name!r}")


def _key(quantity: Quantity) -> Any:
    """What tells a quantity from all others, whatever it is called."""
    return quantity.name.measure if isinstance(quantity.name, MeasureName) else quantity.name


def _markers(model: Model) -> list[str]:
    names = [p.name for p in model.points] + [u.name for u in model.vectors]
    return names + [f"{body.name}.{part}" for body in model.bodies for part in ("origin", "com")]


def point_quantities(model: Model) -> list[Quantity]:
    """World coordinates of all points of the model, and of the origins of its bodies."""
    names = [p.name for p in model.points] + [f"{body.name}.origin" for body in model.bodies]
    return [find_quantity(model, (name, axis)) for name in names for axis in "xyz"]


def find_values(
    model: Model, given: Mapping[Any, Any] | None, *, rate: bool = False
) -> dict[str, tuple[Quantity, Any]]:
    """Quantities and what is given for them, by their one name; a quantity named twice is an error."""
    found: dict[str, tuple[Quantity, Any]] = {}
    for name, value in (given or {}).items():
        quantity = find_quantity(model, name, rate=rate)
        if quantity.name in found:
            raise InputError(f"{quantity.name!r} is given twice, the second time as {name!r}. Give it once.")
        found[quantity.name] = quantity, value
    return found


def finite_number(value: Any, what: str) -> Any:
    """A real or complex number; raise if it is something else or not finite."""
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "fiuc" or not np.isfinite(number):
        raise InputError(f"{what} = {value!r} must be a finite number.")
    return number[()]


def checked_state(model: Model, name: str, x: ArrayLike, n: int) -> Array:
    """A single q or v as a float or complex array; raise for a wrong shape or bad numbers."""
    array = np.array(x)
    if array.shape != (n,) or array.dtype.kind not in "fiuc":
        names = f"model.{'q' if name in ('q', 'guess') else 'v'}_names"
        raise InputError(f"{name} has shape {array.shape}; model {model.name!r} needs ({n},). Its order is {names}.")
    if not np.isfinite(array).all():
        k = int(np.argmin(np.isfinite(array)))
        raise InputError(f"{name}[{k}] is {array[k]}; every number must be finite.")
    return array.astype(complex if array.dtype.kind == "c" else float)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Constraint rows, then held quantities: values, rates, second rates (without accelerations), and Gamma."""

    values: Array
    rates: Array
    seconds: Array
    J: Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """The constraints that act, and held quantities after them.

    names : of all rows
    n_holonomic, n_constraints : rows before the first are holonomic, before the second constraints, then held ones
    """

    model: Model
    T: Mechanism
    held: tuple[Quantity, ...]
    names: tuple[str, ...]
    n_holonomic: int
    n_constraints: int

    @classmethod
    def of(cls, model: Model, held: Iterable[Quantity], *numbers: Any, fixed_in_time: bool = False) -> Equations:
        """Of a model; complex where the model or one of the `numbers` is. `fixed_in_time` leaves out the rows that
        functions of time drive."""
        held = tuple(held)
        free = [quantity.row for quantity in held if quantity.row is not None]
        dtype = complex if any(np.iscomplexobj(x) for x in numbers) else None
        report = row_report(model)
        kept, names = report.kept, report.names
        if fixed_in_time:
            fixed = elements_of(model).rows_i[kept, R_FUNCTION] < 0
            kept, names = kept[fixed], tuple(name for name, stays in zip(names, fixed, strict=True) if stays)
        key = ("held", tuple(map(_key, held)), dtype, fixed_in_time)
        T = model.cached(key, lambda m: mechanism_of(m, rows=kept, independent=free, dtype=dtype))
        return cls(
            model, T, held, (*names, *(h.name for h in held)), int(T.ints[N_HOLONOMIC]), int(T.ints[N_CONSTRAINTS])
        )

    @property
    def dtype(self) -> type:
        """float or complex."""
        return complex if np.iscomplexobj(self.T.atoms_f) else float

    @property
    def finite_rows(self) -> IntArray:
        """Positions of the rows that positions have to meet: holonomic constraints and held quantities."""
        return np.array([*range(self.n_holonomic), *range(self.n_constraints, len(self.names))], np.int64)

    def reach(self, *given: Array) -> float:
        """A length that rounding is measured by: the largest distance or value in sight, at least 1."""
        sizes = [np.abs(np.asarray(x).real).max(initial=0.0) for x in (self.T.markers_f, *given)]
        return float(max(1.0, *sizes))

    def at(self, q: Array, v: Array | None, t: float) -> Rows:
        """All rows in a state."""
        T, n_v = self.T, self.model.n_v
        states = (q[None], None if v is None else v[None], None, np.array([t]))
        parts = [(0, self.n_constraints), (int(T.ints[N_ROWS]), int(T.ints[N_ALL]))]
        rows, measured = (evaluate_rows(T, *states, first, last) for first, last in parts)
        m = self.n_constraints
        values: Array
        rates: Array
        seconds: Array
        values, rates, seconds = (np.zeros(len(self.names), self.dtype) for _ in range(3))
        J: Array = np.zeros((len(self.names), n_v), self.dtype)
        values[:m], rates[:m], seconds[:m], J[:m] = rows.values[0], rows.rates[0], rows.seconds[0], rows.J[0]
        k = 0
        for i, quantity in enumerate(self.held, start=m):
            if quantity.row is not None:
                values[i], rates[i], seconds[i] = measured.values[0, k], measured.rates[0, k], measured.seconds[0, k]
                J[i] = measured.J[0, k]
                k += 1
                continue
            values[i] = q[quantity.q_at] if quantity.q_at >= 0 else 0.0
            rates[i] = v[quantity.v_at] if v is not None else 0.0
            J[i, quantity.v_at] = 1.0
        return Rows(values, rates, seconds, J)
