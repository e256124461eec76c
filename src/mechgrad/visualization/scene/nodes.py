"""What a scene is made of: solids that ride on bodies, and what is stretched between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from mechgrad.model.shapes import Shape
from mechgrad.typing import FloatArray, IntArray

GROUND_FRAME = -1


@final
@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles: vertices (n, 3) [m], faces (k, 3) indices of vertices; `smooth` hides the edges between them."""

    vertices: FloatArray
    faces: IntArray
    smooth: bool = False


@final
@dataclass(frozen=True, eq=False)
class Path:
    """A wire of this radius through points (n, 3) [m]."""

    points: FloatArray
    radius: float


@final
@dataclass(frozen=True, eq=False)
class Node:
    """A solid that rides on a body.

    name : what it is;   layer : what switches it on and off: "bodies", "joints", "axes", "centres of mass", "ground"
    frame : number of the body in `Scene.frames`, -1 for the ground
    shape : in axes of that body;   colour : "#rrggbb"
    """

    name: str
    layer: str
    frame: int
    shape: Shape | Surface | Path
    colour: str


@final
@dataclass(frozen=True, eq=False)
class Stretched:
    """What goes from a point of one body to a point of another: kind "coil", "damper" or "rod"."""

    name: str
    kind: str
    frame_a: int
    point_a: FloatArray
    frame_b: int
    point_b: FloatArray
    radius: float
    colour: str


@final
@dataclass(frozen=True, eq=False)
class Arrows:
    """Vectors over time, drawn as arrows of `scale` metres per unit.

    name : the layer, "reactions" say;   unit : of the vectors;   labels : of the arrows
    at : (nt, n, 3) where they begin, world axes [m];   vectors : (nt, n, 3), world axes
    """

    name: str
    unit: str
    scale: float
    labels: tuple[str, ...]
    at: FloatArray
    vectors: FloatArray


@final
@dataclass(frozen=True, eq=False)
class Trail:
    """The way of a point of a body."""

    name: str
    frame: int
    point: FloatArray


@final
@dataclass(frozen=True, eq=False)
class Curve:
    """A number over time, drawn below the picture with the time cursor."""

    label: str
    unit: str
    values: FloatArray


@final
@dataclass(frozen=True, eq=False)
class Ghost:
    """The same solids on another motion: positions (nt, frames, 3) and Euler parameters (nt, frames, 4) at the same
    times; or, with one instant, a picture that stands still."""

    name: str
    p: FloatArray
    e: FloatArray
