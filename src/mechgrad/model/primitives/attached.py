"""What constraints and forces share: a name, numbers, functions, and the markers and coordinates they refer to."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from mechgrad.errors import ShapeError, ValueRangeError, unknown_name
from mechgrad.model.functions import freeze_functions
from mechgrad.model.primitives.fields import brief, check_name, check_nonzero, freeze_numbers, same, short_repr, where
from mechgrad.model.primitives.frames import axis_frame, unit
from mechgrad.model.primitives.measure_entries import measure_from
from mechgrad.model.primitives.named_parts import CutJoint, NamedParts
from mechgrad.model.primitives.quantity_names import known_quantities, quantity_row
from mechgrad.model.primitives.rows import Place, RowMeasure, point, vector
from mechgrad.model.surfaces.given_surfaces import freeze_surfaces
from mechgrad.typing import Number

Where = Callable[[str], Place]
"""From the name of a marker to where it is: body, point or direction, local coordinates."""

# Metadata of fields that hold names of the model.
POINT = {"refers": "point"}
VECTOR = {"refers": "vector"}
COORDINATE = {"refers": "coordinate"}
QUANTITY = {"refers": "quantity"}  # a coordinate of any joint, a component of a point or a vector, or a measure


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attached(ABC):
    """A named thing that acts between bodies: it holds numbers, functions, and names of markers and coordinates."""

    noun: ClassVar[str]
    type_name: ClassVar[str]

    name: str

    def __post_init__(self) -> None:
        check_name(self, self.name)
        for f in fields(self):
            if f.metadata.get("refers") == "quantity" and isinstance(entry := getattr(self, f.name), Mapping):
                object.__setattr__(self, f.name, measure_from(entry, where(self)))
        freeze_numbers(self)
        freeze_functions(self)
        freeze_surfaces(self)
        self.check()

    def check(self) -> None:
        """Raise unless the numbers make sense; complex numbers are judged by their real part."""
        check_nonzero(self)

    def check_model(self, model: NamedParts) -> None:
        """Raise unless the model has every marker and every coordinate that is named here."""
        place_of = places(model)
        for f in fields(self):
            value = getattr(self, f.name)
            if "refers" not in f.metadata or (value is None and f.default is None):
                continue
            for name in value if isinstance(value, tuple) else (value,):
                if isinstance(name, RowMeasure) and f.metadata["refers"] == "quantity":
                    name.check_model(model, f"{where(self)}: {f.name}")
                    continue
                check_reference(model, place_of, f.metadata["refers"], name, f"{where(self)}: {f.name}")

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash((self.type_name, self.name))

    def __repr__(self) -> str:
        return short_repr(self)


def places(model: NamedParts) -> Where:
    """Resolve points, vectors (to length one), "body.origin" and "body.com" of a model.

    The same name gives the same `Place` object: so markers are shared by name, whatever their numbers are.

    >>> places(pendulum)("bob.com").local
    array([ 0.,  0., -1.])
    """
    known: dict[str, Place] = {}

    def place_of(name: str) -> Place:
        if name not in known:
            known[name] = _place(model, name)
        return known[name]

    return place_of


def _place(model: NamedParts, name: str) -> Place:
    for p in model.points:
        if p.name == name:
            return point(p.body, p.position)
    for u in model.vectors:
        if u.name == name:
            return vector(u.body, unit(u.direction))
    body, _, part = str(name).rpartition(".")
    if part in ("origin", "com"):
        for b in model.bodies:
            if b.name == body:
                return point(body, b.com if part == "com" else np.zeros(3))
        if body == "ground" and part == "origin":
            return point("ground", np.zeros(3))
    known = [*(p.name for p in model.points), *(u.name for u in model.vectors), "ground.origin"]
    known += [f"{b.name}.{part}" for b in model.bodies for part in ("origin", "com")]
    raise unknown_name("marker", name, known, f"model {model.name!r}")


def check_reference(model: NamedParts, place_of: Where, noun: str, name: Any, what: str) -> None:
    """Raise unless a name is that of a point, a vector, a plain coordinate or a quantity of the model."""
    if not isinstance(name, str):
        more = ", or a measure that is one row, such as mg.measures.Distance" if noun == "quantity" else ""
        raise ShapeError(f"{what} = {name!r} must be the name of a {noun}{more}.")
    if noun == "quantity":
        if quantity_row(model, place_of, name) is None:
            _check_coordinate(model, name, what, known_quantities(model))
        return
    if noun == "coordinate":
        _check_coordinate(model, name, what)
        return
    points = [*(p.name for p in model.points), "ground.origin"]
    points += [f"{b.name}.{part}" for b in model.bodies for part in ("origin", "com")]
    known = points if noun == "point" else [u.name for u in model.vectors]
    if name not in known:
        others = [u.name for u in model.vectors] if noun == "point" else points
        if name in others:
            raise ValueRangeError(
                f"{what} = {name!r} is a {'vector' if noun == 'point' else 'point'}, but a {noun} is needed. "
                f"Known: {', '.join(known[:20]) or 'none'}."
            )
        raise unknown_name(noun, name, known, what)
    place_of(name)


def _check_coordinate(model: NamedParts, name: str, what: str, known: Sequence[str] = ()) -> None:
    layout = model.layout
    plain = [model.q_names[i] for i in layout.plain_q]
    if name in plain:
        return
    others = ", ".join([*plain, *(x for x in known if x not in plain)][:20]) or "none"
    if name in model.q_names:
        raise ValueRangeError(
            f"{what} = {name!r} is an Euler parameter, which is no coordinate of its own: the four of a ball change "
            f"together. Use points and vectors instead, or one of: {others}."
        )
    for joint in model.cut_joints:
        if name == joint.name or name in (f"{joint.name}.{label}" for label in joint.q_labels):
            reason = "is cut to open a loop and has no coordinates" if not known else _unmeasured(joint)
            raise ValueRangeError(
                f"{what} = {name!r}: joint {joint.name!r} {reason}. Cut another joint of the loop (cut=[...]), or use "
                f"one of: {others}."
            )
    raise unknown_name("coordinate", name, known or plain, what)


def _unmeasured(joint: CutJoint) -> str:
    """Why a name of a cut joint is no quantity."""
    names = [f"{joint.name}.{label}" for label, _ in zip(joint.q_labels, joint.coordinate_rows(), strict=False)]
    if names:
        return f"has more than one coordinate: {', '.join(names)}"
    return "is cut to open a loop, and it has no coordinate that could be measured between its bodies"


def check_same_body(model: NamedParts, obj: object, names: Iterable[str]) -> None:
    """Raise unless the named fields of an object hold markers of one body."""
    place_of = places(model)
    bodies = {name: place_of(getattr(obj, name)).body for name in names}
    if len(set(bodies.values())) > 1:
        listed = ", ".join(f"{name} = {getattr(obj, name)!r} on {body!r}" for name, body in bodies.items())
        raise ValueRangeError(f"{where(obj)}: {listed}; these must be on one body. Name markers of the same body.")


def check_positive(obj: object, *names: str) -> None:
    """Raise unless the numbers are positive."""
    for name in names:
        value: Number = getattr(obj, name)
        if not value.real > 0.0:
            raise ValueRangeError(f"{where(obj)}: {name} = {brief(value)} must be positive.")


def check_not_negative(obj: object, *names: str) -> None:
    """Raise if a number is negative; arrays entry by entry."""
    for name in names:
        value = np.asarray(getattr(obj, name))
        if (value.real < 0.0).any():
            raise ValueRangeError(f"{where(obj)}: {name} = {brief(getattr(obj, name))} must not be negative.")


def across(direction: Place) -> tuple[Place, Place]:
    """Two directions of the same body, perpendicular to a direction and to each other."""
    frame = axis_frame(direction.local)
    return vector(direction.body, frame[:, 0]), vector(direction.body, frame[:, 1])
