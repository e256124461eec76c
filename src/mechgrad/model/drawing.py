"""The drawing of a mechanism: bodies that own points and vectors, all in world coordinates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from mechgrad.errors import DuplicateNameError, ShapeError, ValueRangeError, ZeroAxisError, unknown_name
from mechgrad.model.body import Body
from mechgrad.model.detection import ALIGNED, Scene
from mechgrad.model.joints.base import Pose
from mechgrad.model.primitives.fields import as_vector, brief, is_nowhere
from mechgrad.model.primitives.frames import cross, norm, unit
from mechgrad.typing import Array, ArrayLike


@final
@dataclass(frozen=True, slots=True, eq=False)
class NaturalBody:
    """A body of a drawing: the points and vectors it owns, its mass, and where its frame sits.

        c = R^T (com - o),    J = R^T inertia R        o, R: origin and axes of the frame in the drawing

    Attributes
    ----------
    name : str
        "ground" for what does not move; it has no mass.
    points, vectors : tuple of str
        Names of the drawing. A name that two bodies own is fixed to both.
    mass : float
        [kg].
    com : None, str, (str, str, float) or (3,) array
        Centre of mass in the drawing: at the frame's origin, at a point, at a fraction of the way from one point to
        another (0.5 is their middle), or in world coordinates [m].
    inertia : (3, 3) or (3,) array, or 0
        About the centre of mass [kg m^2].
    inertia_axes : str
        "world" (as in the drawing) or "frame".
    frame : None or (str, str, str)
        Names of the origin, of a point in the direction of x (or a vector), and of one on the side of y. None: the
        origin is the first point (without points the centre of mass), the axes are the world's.

    >>> rod = NaturalBody("rod", ["B", "C"], mass=0.5, com=("B", "C", 0.5))
    >>> rod.points, rod.com
    (('B', 'C'), ('B', 'C', 0.5))
    """

    name: str
    points: Any = ()
    vectors: Any = ()
    mass: float = 0.0
    com: Any = None
    inertia: Any = 0.0
    inertia_axes: str = "world"
    frame: Any = None

    def __post_init__(self) -> None:
        for role in ("points", "vectors"):
            given = getattr(self, role)
            if isinstance(given, str):
                raise ShapeError(f"body {self.name!r}: {role} is the string {given!r}; give a list: [{given!r}].")
            object.__setattr__(self, role, tuple(given))
        counted = Counter((*self.points, *self.vectors))
        if twice := [name for name, count in counted.items() if count > 1]:
            raise DuplicateNameError(f"body {self.name!r} lists {twice[0]!r} {counted[twice[0]]} times. List it once.")
        if self.inertia_axes not in ("world", "frame"):
            raise unknown_name("inertia_axes", self.inertia_axes, ("world", "frame"), f"body {self.name!r}")
        if self.name == "ground" and (np.any(self.mass) or np.any(self.inertia) or self.frame is not None):
            raise ValueRangeError(
                "body 'ground' has a mass, an inertia or a frame, but it does not move and its frame is the world. "
                "Leave them out, or give them to a body of its own."
            )


def draw(
    name: str,
    points: Mapping[str, ArrayLike],
    vectors: Mapping[str, ArrayLike],
    bodies: Sequence[NaturalBody],
    planar: bool | ArrayLike,
) -> Scene:
    """Check names and numbers of a drawing; vectors come to length one."""
    for number, body in enumerate(bodies, start=1):
        if not isinstance(body, NaturalBody):
            raise ValueRangeError(
                f"model {name!r}: body number {number} is {body!r}, not a NaturalBody. Say which points and vectors it "
                "owns: NaturalBody(name, points=[...], vectors=[...])."
            )
    places = {word: as_vector(x, f"point {word!r}") for word, x in points.items()}
    given = {word: as_vector(u, f"vector {word!r}") for word, u in vectors.items()}
    counted = Counter((*places, *given, *(body.name for body in bodies)))
    if twice := [word for word, count in counted.items() if count > 1]:
        raise DuplicateNameError(
            f"model {name!r}: the name {twice[0]!r} is used twice. Points, vectors and bodies have different names."
        )
    directions = {word: _direction(u, f"vector {word!r}") for word, u in given.items()}
    for body in bodies:
        for noun, words, known, others in (
            ("point", body.points, places, given),
            ("vector", body.vectors, given, places),
        ):
            for word in words:
                if word in others:
                    raise ValueRangeError(
                        f"body {body.name!r}: {word!r} is listed as a {noun}, but is a "
                        f"{'vector' if noun == 'point' else 'point'}. Move it to the other list."
                    )
                if word not in known:
                    raise unknown_name(noun, word, known, f"body {body.name!r}")
    owned: dict[str, tuple[str, ...]] = {"ground": ()}
    owned.update({body.name: (*body.points, *body.vectors) for body in bodies})
    for noun, words in (("point", places), ("vector", given)):
        for word in words:
            if not any(word in names for names in owned.values()):
                raise ValueRangeError(
                    f"model {name!r}: {noun} {word!r} belongs to no body. Add it to the {noun}s of the body it is "
                    "fixed to ('ground' if it does not move), or remove it."
                )
    if isinstance(planar, bool | np.bool_):
        normal = np.array([0.0, 0.0, 1.0]) if planar else None
    else:
        normal = _direction(as_vector(planar, f"model {name!r}: planar"), f"model {name!r}: planar")
    return Scene(places, directions, owned, normal)


def _direction(u: Array, what: str) -> Array:
    if is_nowhere(u):
        raise ZeroAxisError(f"{what} = {brief(u)} has length zero. Give it a direction; any other length will do.")
    return unit(u)


def frame_of(scene: Scene, body: NaturalBody) -> Pose:
    """Axes and origin of a body's frame in the drawing."""
    if body.frame is None:
        if body.points:
            return np.eye(3), scene.points[body.points[0]]
        return np.eye(3), np.zeros(3) if body.com is None else _com(scene, body, np.zeros(3))
    what = f"body {body.name!r}: frame = {body.frame!r}"
    if isinstance(body.frame, str) or len(body.frame) != 3:
        raise ShapeError(f"{what} must be three names: the origin, one in the direction of x, one on the side of y.")
    for word in body.frame:
        if word not in scene.owned[body.name]:
            raise unknown_name("point or vector", word, scene.owned[body.name], what)
    origin, *towards = body.frame
    if origin not in scene.points:
        raise ValueRangeError(f"{what}: the origin {origin!r} is a vector. Name a point of the body first.")
    o = scene.points[origin]
    x, y = (scene.vectors[word] if word in scene.vectors else scene.points[word] - o for word in towards)
    z = cross(x, y)
    if norm(z.real) <= ALIGNED * norm(x.real) * norm(y.real):
        raise ValueRangeError(
            f"{what}: {towards[0]!r} and {towards[1]!r} are in one direction from {origin!r}, or at it, and give no "
            "plane for x and y. Name another one."
        )
    x, z = unit(x), unit(z)
    return np.stack([x, cross(z, x), z], axis=1), o


def _com(scene: Scene, body: NaturalBody, origin: Array) -> Array:
    """Centre of mass in the drawing."""
    what, given = f"body {body.name!r}: com", body.com
    if given is None:
        return origin
    by_name = isinstance(given, str) or any(isinstance(part, str) for part in given)
    if not by_name:
        return as_vector(given, what)
    named = (given, given, 0.0) if isinstance(given, str) else tuple(given)
    if len(named) != 3 or not all(isinstance(word, str) for word in named[:2]) or isinstance(named[2], str):
        raise ShapeError(
            f"{what} = {given!r} must be a point, (point, point, fraction) or three world coordinates [m]."
        )
    for word in named[:2]:
        if word not in scene.points:
            raise unknown_name("point", word, scene.points, what)
    a, b = scene.points[named[0]], scene.points[named[1]]
    result: Array = a + named[2] * (b - a)
    return result


def body_of(scene: Scene, body: NaturalBody, frame: Pose) -> Body:
    """The body in its own frame."""
    R, o = frame
    com = R.T @ (_com(scene, body, o) - o)
    plain = Body(body.name, body.mass, com, body.inertia)
    if body.inertia_axes == "frame":
        return plain
    return replace(plain, inertia=R.T @ plain.inertia @ R)
