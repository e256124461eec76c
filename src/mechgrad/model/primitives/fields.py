"""The differentiable numbers of frozen dataclasses: declared, checked, addressed, replaced and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mechgrad.errors import NotFiniteError, ShapeError, ValueRangeError, ZeroAxisError, is_control
from mechgrad.typing import Array, Number

T = TypeVar("T")
Index = tuple[int, ...]
Labels = tuple[tuple[str, Index], ...]

_WXYZ: Labels = tuple((label, (i,)) for i, label in enumerate("wxyz"))
_XYZ: Labels = tuple((label, (i,)) for i, label in enumerate("xyz"))
_TENSOR: Labels = tuple((a + b, ("xyz".index(a), "xyz".index(b))) for a, b in ("xx", "yy", "zz", "xy", "xz", "yz"))


class NumberSpec(NamedTuple):
    """What a numeric field holds: its kind of parameter, its unit, its shape and the labels of its entries.

    Without a shape it is a list of any length, whose entries are called "0", "1", ..., or as `number_names` of their
    owner says (`named`, a list that may be empty).
    """

    kind: str
    unit: str
    shape: Index | None
    labels: Labels
    nonzero: bool = False
    named: bool = False


class FunctionSpec(NamedTuple):
    """What a field with a `Function` or a `Surface` (its noun) holds: its kind of parameter, the unit of its values and
    that of its argument."""

    kind: str
    unit: str
    argument: str
    noun: str = "function"


# Each of these is the metadata of a dataclass field: field(default=..., metadata=vector("com", "m")).


def scalar(kind: str, unit: str) -> dict[str, NumberSpec]:
    """One number."""
    return {"spec": NumberSpec(kind, unit, (), (("", ()),))}


def vector(kind: str, unit: str) -> dict[str, NumberSpec]:
    """Three components x, y, z."""
    return {"spec": NumberSpec(kind, unit, (3,), _XYZ)}


def direction(kind: str) -> dict[str, NumberSpec]:
    """Three components x, y, z of any non-zero length."""
    return {"spec": NumberSpec(kind, "1", (3,), _XYZ, nonzero=True)}


def quaternion(kind: str) -> dict[str, NumberSpec]:
    """Four components w, x, y, z of any non-zero length."""
    return {"spec": NumberSpec(kind, "1", (4,), _WXYZ, nonzero=True)}


def tensor(kind: str, unit: str) -> dict[str, NumberSpec]:
    """A symmetric (3, 3) matrix; its owner brings other shapes to this one."""
    return {"spec": NumberSpec(kind, unit, (3, 3), _TENSOR)}


def array(kind: str, unit: str) -> dict[str, NumberSpec]:
    """A list of any length, at least one number."""
    return {"spec": NumberSpec(kind, unit, None, ())}


def named_numbers(kind: str) -> dict[str, NumberSpec]:
    """A list of numbers that `number_names` of their owner names."""
    return {"spec": NumberSpec(kind, "", None, (), named=True)}


def function(kind: str, unit: str, argument: str = "s") -> dict[str, FunctionSpec]:
    """A `Function`, whose numbers are numbers of its owner: `motor.torque.values.3`."""
    return {"function": FunctionSpec(kind, unit, argument)}


def surface(kind: str) -> dict[str, FunctionSpec]:
    """A `Surface`, whose numbers are numbers of its owner: `front.ground.height`."""
    return {"function": FunctionSpec(kind, "m", "m", "surface")}


Entry = tuple[str, Index, NumberSpec]
"""One number of an object: its field (dotted for numbers of a function, "torque.values"), its index, what it is."""


class Table(NamedTuple):
    """The fields of a dataclass: all names, the numeric ones, those with functions, every number of fixed shape by
    its label ("com.x"; `entries` of an object has them all), and those that hold a word, or yes or no."""

    names: tuple[str, ...]
    specs: dict[str, NumberSpec]
    functions: dict[str, FunctionSpec]
    entries: dict[str, Entry]
    words: dict[str, type]


_tables: dict[type, Table] = {}


def table(cls: type) -> Table:
    """The table of a dataclass, made once."""
    if cls not in _tables:
        specs = {f.name: f.metadata["spec"] for f in fields(cls) if "spec" in f.metadata}
        entries = {
            f"{name}.{label}" if label else name: (name, index, spec)
            for name, spec in specs.items()
            for label, index in spec.labels
        }
        functions = {f.name: f.metadata["function"] for f in fields(cls) if "function" in f.metadata}
        words = {
            f.name: {"str": str, "bool": bool}[f.type]
            for f in fields(cls)
            if f.type in ("str", "bool") and not f.metadata
        }
        _tables[cls] = Table(tuple(f.name for f in fields(cls)), specs, functions, entries, words)
    return _tables[cls]


def entries(obj: object) -> dict[str, Entry]:
    """Every number of an object by its label, those of lists of any length and of functions included.

    Other numbers never change the labels: lists keep their length, functions their kind.
    """
    _, specs, functions, fixed, _ = table(type(obj))
    if not functions and all(spec.shape is not None for spec in specs.values()):
        return fixed
    found: dict[str, Entry] = {}
    for name, spec in specs.items():
        for label, index in labels(obj, name, spec):
            found[f"{name}.{label}" if label else name] = (name, index, spec)
    for name, owner in functions.items():
        inner = getattr(obj, name)
        for label, (field, index, spec) in ({} if inner is None else entries(inner)).items():
            unit = _unit(spec.unit, owner, index)
            found[f"{name}.{label}"] = (f"{name}.{field}", index, spec._replace(kind=owner.kind, unit=unit))
    return found


def _unit(symbol: str, owner: FunctionSpec, index: Index) -> str:
    """The unit of a number of a function f(x): "f" that of its values, "f/x^k" that of its coefficients, "1/x"."""
    argument = f"({owner.argument})" if "/" in owner.argument else owner.argument
    if symbol == "1/x":
        return "Hz" if argument == "s" else f"1/{argument}"
    if symbol not in ("f", "f/x^k"):
        return symbol
    power = index[0] if symbol == "f/x^k" else 0
    if power == 0 or owner.unit == "":
        return owner.unit
    return f"{owner.unit}/{argument}" + (f"^{power}" if power > 1 else "")


def labels(obj: object, name: str, spec: NumberSpec) -> Labels:
    """Labels and indices of the numbers of one field."""
    if spec.shape is not None:
        return spec.labels
    names = obj.number_names if spec.named else map(str, range(len(getattr(obj, name))))  # type: ignore[attr-defined]
    return tuple((label, (i,)) for i, label in enumerate(names))


def entry(obj: object, field: str, index: Index) -> Number:
    """One number of an object, by the field and index that `entries` states."""
    value: Any = obj
    for name in field.split("."):
        value = getattr(value, name)
    number: Number = value[index].item() if index else value
    return number


def where(obj: object) -> str:
    """How messages call an object: "body 'arm'", or "spline" for what has no name."""
    noun = str(getattr(obj, "noun", type(obj).__name__.lower()))
    return f"{noun} {obj.name!r}" if hasattr(obj, "name") else noun


def as_array(value: Any, what: str) -> Array:
    """A float64 copy of array-like numbers, complex128 when complex numbers were given; finite."""
    try:
        array = np.array(value)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{what} must be numbers, got {value!r}.") from error
    if array.dtype.kind not in "iufc":
        raise ShapeError(f"{what} must be numbers, got {value!r}.")
    array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if not np.isfinite(array).all():
        raise NotFiniteError(f"{what} = {value!r} is not finite. Give finite numbers.")
    return array


def as_number(value: Any, what: str) -> Number:
    """A finite float, or complex when a complex number was given."""
    array = as_array(value, what)
    if array.shape != ():
        raise ShapeError(f"{what} must be one number, got an array of shape {array.shape}.")
    number: Number = array.item()
    return number


def frozen_array(array: Array) -> Array:
    """The same array, read-only from now on."""
    array.setflags(write=False)
    return array


def as_vector(value: Any, what: str) -> Array:
    """Three finite numbers, read-only."""
    array = as_array(value, what)
    if array.shape != (3,):
        raise ShapeError(f"{what} must have shape (3,), got {array.shape} from {value!r}.")
    return frozen_array(array)


def refuse_control(name: str, noun: str) -> None:
    """Raise if a name has characters that would command a terminal instead of being seen on it."""
    if not name.isprintable() and any(map(is_control, name)):
        raise ValueRangeError(f"{noun} name {name!r} has control characters. Use letters, digits and signs.")


def check_name(obj: object, name: object) -> None:
    """Names are non-empty strings without surrounding blanks and control characters; "ground", "gravity" are taken."""
    noun = getattr(obj, "noun", type(obj).__name__.lower())
    if not isinstance(name, str) or not name or name != name.strip():
        raise ValueRangeError(f"{noun} name {name!r}: a name is a non-empty string without surrounding blanks.")
    refuse_control(name, noun)
    if name in ("ground", "gravity"):
        raise ValueRangeError(f"{noun} name {name!r} is reserved. Choose another name.")
    check_words(obj)


def check_words(obj: object) -> None:
    """Fields that hold a word hold a word, those that hold yes or no hold that."""
    for name, kind in table(type(obj)).words.items():
        value = getattr(obj, name)
        if not isinstance(value, kind):
            what = "the name of a body" if name in ("parent", "child", "body") else "a word"
            what = what if kind is str else "true or false"
            raise ValueRangeError(f"{where(obj)}: {name} must be {what}, got {value!r}.")


def freeze_numbers(obj: object) -> None:
    """Bring every numeric field of a new object to its shape and type, and make it read-only."""
    for name, spec in table(type(obj)).specs.items():
        value = getattr(obj, name)
        what = f"{where(obj)}: {name}"
        if spec.shape == ():
            object.__setattr__(obj, name, as_number(value, what))
            continue
        array = as_array(value, what)
        if spec.shape is None and (array.ndim != 1 or not (len(array) or spec.named)):
            raise ShapeError(f"{what} must be a list of numbers, at least one; got {value!r}.")
        if spec.shape is not None and array.shape != spec.shape:
            raise ShapeError(f"{what} must have shape {spec.shape}, got {array.shape} from {value!r}.")
        object.__setattr__(obj, name, frozen_array(array))


SHORTEST = 1e-20
"""Largest entry of a direction that counts as none: complex steps of 1e-30 along its entries are to be small steps."""


def is_nowhere(direction: Array) -> bool:
    """Whether the real parts of a direction are all zero, or as good as zero."""
    return bool(np.abs(direction.real).max() < SHORTEST)


def check_nonzero(obj: object) -> None:
    """Axes, directions and quaternions must have a length."""
    for name, spec in table(type(obj)).specs.items():
        value = getattr(obj, name)
        if spec.nonzero and is_nowhere(value):
            raise ZeroAxisError(
                f"{where(obj)}: {name} = {brief(value)} has length zero. Give it a direction; any length from "
                f"{SHORTEST:g} on will do."
            )


def replaced(obj: T, changes: Mapping[tuple[str, Index], Number], check: bool = True) -> T:
    """A copy of a frozen object with some numbers changed; an off-diagonal entry of a tensor changes with its mirror.

    Fields and indices are those of `entries`. `check=False` skips the object's own plausibility checks, not the one
    for NaN and infinity.
    """
    cls = type(obj)
    new = object.__new__(cls)
    names, specs, *_ = table(cls)
    values = {name: getattr(obj, name) for name in names}
    copied: set[str] = set()
    inner: dict[str, dict[tuple[str, Index], Number]] = {}
    for (name, index), given in changes.items():
        owner, dot, rest = name.partition(".")
        if dot:
            inner.setdefault(owner, {})[rest, index] = given
            continue
        label = next(text for text, i in labels(obj, name, specs[name]) if i == index)
        number = as_number(given, f"{where(obj)}: {name}{'.' if label else ''}{label}")
        if index == ():
            values[name] = number
            continue
        array = values[name]
        if name not in copied:
            array = array.copy()
            copied.add(name)
        if isinstance(number, complex) and not np.iscomplexobj(array):
            array = array.astype(np.complex128)
        array[index] = number
        array[index[::-1]] = number
        values[name] = array
    for name, parts in inner.items():
        values[name] = replaced(values[name], parts, check)
    for name, value in values.items():
        object.__setattr__(new, name, frozen_array(value) if isinstance(value, np.ndarray) else value)
    if check:
        new.check()  # type: ignore[attr-defined]
    return new


def same(a: object, b: object) -> bool:
    """Equal type and exactly equal fields."""
    return type(a) is type(b) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in table(type(a)).names
    )


def is_default(obj: object, f: Field[Any]) -> bool:
    """Whether a field holds its default."""
    value = getattr(obj, f.name)
    if f.default is MISSING or np.iscomplexobj(value):
        return False
    return np.array_equal(value, np.broadcast_to(f.default, np.shape(value)))


def brief(value: Any) -> str:
    """Numbers as a person writes them: (0, 0, -9.81)."""
    if isinstance(value, np.ndarray):
        return "(" + ", ".join(brief(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return f"{value:.6g}" if isinstance(value, (float, complex, np.inexact)) else repr(value)


def short_repr(obj: Any) -> str:
    """One line: the name and bodies, then only the fields that differ from their defaults."""
    shown: list[str] = []
    for f in fields(obj):
        if not is_default(obj, f):
            first = f.default is MISSING and "spec" not in f.metadata and not any("=" in text for text in shown)
            shown.append(("" if first else f"{f.name}=") + brief(getattr(obj, f.name)))
    return f"{type(obj).__name__}({', '.join(shown)})"
