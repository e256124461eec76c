"""What a body looks like, where its user says so: boxes, spheres, cylinders, capsules, rings, meshes from files.

Shapes are for the eye alone: nothing that is computed depends on them. Without any, pictures make up their own from
joints, markers and masses (`visualization.scene`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from math import isfinite
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import ModelError, ShapeError, ValueRangeError, unknown_name

Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
HERE: Triple = (0.0, 0.0, 0.0)
UNTURNED: Quaternion = (1.0, 0.0, 0.0, 0.0)
MESH_FILES = (".stl", ".obj", ".ply", ".off", ".glb")


@dataclass(frozen=True, slots=True)
class Shape:
    """A solid in body axes; numbers in metres, quaternions (w, x, y, z), colours "#rrggbb" or None for that of the
    body."""

    type_name: ClassVar[str]

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.type in _LENGTHS:
                object.__setattr__(self, f.name, _numbers(self, f.name, _LENGTHS[str(f.type)]))
        colour = getattr(self, "colour", None)
        if colour is not None and not _is_colour(colour):
            raise ValueRangeError(f'{self._what}: colour = {colour!r}; write it as "#rrggbb", "#d55e00" say.')
        self.check()

    @property
    def _what(self) -> str:
        return f"shape {self.type_name!r}"

    def check(self) -> None:
        """Raise unless it has a size."""

    def _positive(self, *names: str) -> None:
        for name in names:
            if not np.min(getattr(self, name)) > 0.0:
                raise ValueRangeError(
                    f"{self._what}: {name} = {getattr(self, name)!r} m must be positive. Leave the shape out, and the "
                    "picture makes up its own."
                )

    def _apart(self, start: Triple, end: Triple) -> None:
        if not np.abs(np.subtract(start, end)).max() > 0.0:
            raise ValueRangeError(
                f"{self._what}: start and end are the same point {start}, so it has no length. Move one of them, or "
                "use Sphere."
            )

    def to_dict(self) -> dict[str, Any]:
        """Its kind and all that is not a default, as a file holds it."""
        found: dict[str, Any] = {"kind": self.type_name}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.default is MISSING or value != f.default:
                found[f.name] = list(value) if isinstance(value, tuple) else value
        return found


@final
@dataclass(frozen=True, slots=True)
class Box(Shape):
    """A cuboid with edges of these lengths, its middle at `origin`.

    >>> Box((0.4, 0.2, 0.1), origin=(0, 0, 0.05))
    Box(size=(0.4, 0.2, 0.1), origin=(0.0, 0.0, 0.05), orientation=(1.0, 0.0, 0.0, 0.0), colour=None)
    """

    type_name: ClassVar[str] = "box"
    size: Triple
    origin: Triple = HERE
    orientation: Quaternion = UNTURNED
    colour: str | None = None

    def check(self) -> None:
        """Raise for an edge without length."""
        self._positive("size")


@final
@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    """A ball around `origin`; `stretch` makes an ellipsoid of it, by three factors along its axes.

    >>> Sphere(0.1, stretch=(1, 1, 1.3)).stretch
    (1.0, 1.0, 1.3)
    """

    type_name: ClassVar[str] = "sphere"
    radius: float
    origin: Triple = HERE
    stretch: Triple = (1.0, 1.0, 1.0)
    orientation: Quaternion = UNTURNED
    colour: str | None = None

    def check(self) -> None:
        """Raise for a radius or a factor that is not positive."""
        self._positive("radius", "stretch")


@final
@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    """A cylinder with flat ends, from `start` to `end`.

    >>> Cylinder((0, 0, 0), (0, 0, 0.3), radius=0.02).radius
    0.02
    """

    type_name: ClassVar[str] = "cylinder"
    start: Triple
    end: Triple
    radius: float
    colour: str | None = None

    def check(self) -> None:
        """Raise for no length and no radius."""
        self._positive("radius")
        self._apart(self.start, self.end)


@final
@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    """Two balls and what is between them, tapered where `end_radius` is another than `radius`.

    >>> Capsule((0, 0, 0), (0, 0, -0.43), radius=0.06, end_radius=0.04).end_radius
    0.04
    """

    type_name: ClassVar[str] = "capsule"
    start: Triple
    end: Triple
    radius: float
    end_radius: float | None = None
    colour: str | None = None

    def check(self) -> None:
        """Raise for no length and no radius."""
        if self.end_radius is not None:
            object.__setattr__(self, "end_radius", _numbers(self, "end_radius", 0))
            self._positive("end_radius")
        self._positive("radius")
        self._apart(self.start, self.end)


@final
@dataclass(frozen=True, slots=True)
class Ring(Shape):
    """A wheel: a torus of outer radius `radius` and thickness 2 `tube` about `axis`, with spokes if asked.

    >>> Ring(0.35, 0.02, axis=(0, 1, 0)).spokes
    0
    """

    type_name: ClassVar[str] = "ring"
    radius: float
    tube: float
    axis: Triple = (0.0, 0.0, 1.0)
    origin: Triple = HERE
    spokes: int = 0
    colour: str | None = None

    def check(self) -> None:
        """Raise for sizes that make no ring."""
        self._positive("radius", "tube")
        if not 2 * self.tube < self.radius or not np.any(self.axis):
            raise ValueRangeError(
                f"{self._what}: tube {self.tube} m, radius {self.radius} m, axis {self.axis}; the tube must be thinner "
                "than half the radius, and the axis needs a direction."
            )


@final
@dataclass(frozen=True, slots=True)
class Mesh(Shape):
    """The surface in a file (.stl, .obj, .ply, .off, .glb), read when a picture is made; `scale` makes its unit metres.

    >>> Mesh("bracket.stl", scale=0.001).scale
    0.001
    """

    type_name: ClassVar[str] = "mesh"
    file: str
    scale: float = 1.0
    origin: Triple = HERE
    orientation: Quaternion = UNTURNED
    colour: str | None = None

    def check(self) -> None:
        """Raise for a file of another kind."""
        object.__setattr__(self, "file", str(self.file))
        self._positive("scale")
        if not self.file.lower().endswith(MESH_FILES):
            raise ValueRangeError(f"{self._what}: file {self.file!r} must end with one of {', '.join(MESH_FILES)}.")


SHAPES: Mapping[str, type[Shape]] = {cls.type_name: cls for cls in (Box, Sphere, Cylinder, Capsule, Ring, Mesh)}
_LENGTHS = {"Triple": 3, "Quaternion": 4, "float": 0}


def as_shapes(given: Any, what: str) -> tuple[Shape, ...] | None:
    """Shapes from a shape, from several, from tables of a file, or None.

    >>> as_shapes({"kind": "sphere", "radius": 0.1}, "body 'ball'")[0].radius
    0.1
    """
    if given is None:
        return None
    several = [given] if isinstance(given, Shape | Mapping) else given
    if not isinstance(several, Iterable) or isinstance(several, str):
        raise ShapeError(f"{what}: shape must be one of mg.shapes or a list of them; got {given!r}.")
    found = tuple(item if isinstance(item, Shape) else _from_table(item, what) for item in several)
    return found or None


def _from_table(item: Any, what: str) -> Shape:
    if not isinstance(item, Mapping) or "kind" not in item:
        raise ShapeError(f"{what}: shape {item!r} must be one of mg.shapes, or a table with a 'kind'.")
    if item["kind"] not in SHAPES:
        raise unknown_name("shape", str(item["kind"]), SHAPES, what)
    cls = SHAPES[item["kind"]]
    known = {f.name: f for f in fields(cls)}
    numbers = {key: value for key, value in item.items() if key != "kind"}
    for key in numbers:
        if key not in known:
            raise unknown_name(f"field of {cls.__name__}", key, known, what)
    missing = [name for name, f in known.items() if f.default is MISSING and name not in numbers]
    if missing:
        raise ModelError(f"{what}: shape {cls.type_name!r} lacks {', '.join(missing)}.")
    return cls(**numbers)


def _numbers(shape: Shape, name: str, n: int) -> Any:
    value = getattr(shape, name)
    try:
        found = tuple(map(float, value)) if n else (float(value),)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"shape {shape.type_name!r}: {name} must be {n or 'a'} number(s), got {value!r}.") from error
    if len(found) != max(n, 1) or not all(map(isfinite, found)):
        raise ShapeError(f"shape {shape.type_name!r}: {name} = {value!r} must be {n or 'one'} finite number(s).")
    if n == 4 and not any(found):
        raise ValueRangeError(f"shape {shape.type_name!r}: {name} has length zero. Give a quaternion (w, x, y, z).")
    return found if n else found[0]


def _is_colour(text: Any) -> bool:
    return (
        isinstance(text, str) and len(text) == 7 and text[0] == "#" and set(text[1:].lower()) <= set("0123456789abcdef")
    )
