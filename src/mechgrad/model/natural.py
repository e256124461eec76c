"""A model from a drawing: points and vectors in world coordinates, bodies that own them, joints where they share.

The drawing is the position q = 0 of the mechanism. Joints are found by `detection`, loops are cut by the model, and
distances and angles that the user names are recognised among the coordinates (`quantities`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, final

import numpy as np

from mechgrad.errors import DisconnectedError, DuplicateNameError, ValueRangeError, unknown_name
from mechgrad.model.body import Body
from mechgrad.model.constraints import CONSTRAINT_TYPES, Constraint
from mechgrad.model.detection import (
    Detected,
    Found,
    InPlane,
    OnLine,
    Perpendicular,
    Relation,
    Scene,
    detect,
    kind_of,
    sides,
)
from mechgrad.model.drawing import NaturalBody, body_of, draw, frame_of
from mechgrad.model.forces.base import Force
from mechgrad.model.joints import Joint
from mechgrad.model.joints.base import AXIS, Drawn, Pose
from mechgrad.model.markers import Point, Vector
from mechgrad.model.model import Model
from mechgrad.model.primitives.fields import where
from mechgrad.model.primitives.frames import axis_frame, norm, unit
from mechgrad.model.primitives.rows import DrawnMeasure, Place, Row, RowMeasure
from mechgrad.model.primitives.rows import point as point_place
from mechgrad.model.primitives.rows import vector as vector_place
from mechgrad.model.quantities import UserCoordinate, check_quantity, measured
from mechgrad.model.spanning import span
from mechgrad.model.variables import DesignVariable
from mechgrad.typing import Array, ArrayLike

__all__ = [
    "InPlane",
    "NaturalBody",
    "NaturalModel",
    "OnLine",
    "Perpendicular",
    "UserCoordinate",
    "model_from_points",
]

T = TypeVar("T")
ACROSS = 1e-9  # share of gravity in a plane that counts as none


@final
@dataclass(frozen=True, slots=True)
class NaturalModel:
    """A model made from a drawing, and what was made of the drawing.

    Attributes
    ----------
    model : Model
    report : str
        Which joints were found and why, what became constraints, which quantities are coordinates.
    markers : dict
        (name in the drawing, body) -> name of the model's point or vector.
    identified : dict
        Names of measures that are coordinates -> `UserCoordinate`: g = offset + sign q.
    rows : dict
        Names of all measures -> the row that measures it.

    >>> drawing = model_from_points("pendulum", {"O": (0, 0, 0), "P": (0, 0, -1)}, [
    ...     NaturalBody("ground", ["O"], ["y"]), NaturalBody("bob", ["O", "P"], ["y"], mass=2, com="P")],
    ...     vectors={"y": (0, 1, 0)})
    >>> drawing.model.joints
    (Revolute('O', 'ground', 'bob', axis=(0, 1, 0)),)
    >>> drawing.marker("P"), drawing.marker("O", "bob")
    ('P', 'O@bob')
    """

    model: Model
    report: str
    markers: Mapping[tuple[str, str], str]
    identified: Mapping[str, UserCoordinate]
    rows: Mapping[str, Row]

    @property
    def coordinates(self) -> dict[str, str]:
        """Names of measures that are coordinates -> names of the coordinates."""
        return {name: found.coordinate for name, found in self.identified.items()}

    def marker(self, name: str, body: str | None = None) -> str:
        """The model's name for a point or a vector of the drawing, on its first owner unless another is named."""
        owners = [owner for known, owner in self.markers if known == name]
        if not owners:
            raise unknown_name("point or vector", name, (known for known, _ in self.markers), "drawing")
        if body is not None and body not in owners:
            raise unknown_name("owner", body, owners, f"{name!r} of the drawing")
        return self.markers[name, body or owners[0]]


def model_from_points(
    name: str, points: Mapping[str, ArrayLike], bodies: Iterable[NaturalBody], *,
    vectors: Mapping[str, ArrayLike] | None = None, constraints: Iterable[Relation | DrawnMeasure | Constraint] = (),
    gravity: ArrayLike | None = None, forces: Iterable[Force] = (), variables: Iterable[DesignVariable] = (),
    cut: Iterable[str] | None = None, planar: bool | ArrayLike = False, floating: Iterable[str] | None = None,
) -> NaturalModel:  # fmt: skip
    """A model from points and vectors of a mechanism in its initial position, where q = 0.

    Parameters
    ----------
    points, vectors : names -> world coordinates [m] and directions of any non-zero length, all in the drawing
    bodies : NaturalBody
        Names they share make joints: see the table of `mechgrad.model.detection`. A joint is called after the point or
        vector (or the `name` of the relation) that makes it: "B", or "B: crank-rod" where there are several.
    constraints : any mix of
        Perpendicular, OnLine, InPlane: make joints, or else constraints. mg.measures.Distance, Angle, Height, Offset:
        measured, and recognised if they are coordinates. Constraints of a model.
    gravity : (3,) [m/s^2]; left out: 9.81 along -z, or along -y if that is across the plane of a planar mechanism
    forces, variables, cut : as in `Model`
        A point or vector of one body is a marker of that name; of several bodies, "B@crank" and "B@rod". Forces say on
        which of them they act, and take shared vectors of the body whose point is named before. In constraints plain
        "B" is the one on the first owner, as good as any other.
    planar : bool or (3,) array
        The mechanism moves in a plane with this normal (True: z). All bodies share the normal, so that one shared point
        is a hinge.
    floating : names of bodies, or None
        Bodies without a way to the ground get a Floating joint (Planar, if planar): by default the first of each
        group, or else those named here; [] says that there are none.

    >>> bar = model_from_points("bar", {"A": (0, 0, 0), "B": (1, 0, 0)}, [NaturalBody("bar", ["A", "B"], mass=1)])
    >>> print(bar.report)
    bar: 1 body, 1 joint
      free: bar: Floating, ground - bar; no joint leads to the ground
    """
    parts = list(bodies)
    scene = draw(name, points, vectors or {}, parts, planar)
    relations, quantities, others = _sorted(constraints)
    for quantity in quantities:
        check_quantity(quantity, scene.points, scene.vectors)
    detected = detect(scene, relations)
    frames: dict[str, Pose] = {"ground": (np.eye(3), np.zeros(3))}
    frames.update({part.name: frame_of(scene, part) for part in parts if part.name != "ground"})
    moving = [body_of(scene, part, frames[part.name]) for part in parts if part.name != "ground"]
    made = [*detected.joints, *_floating_joints(scene, detected, frames, floating)]
    names = _joint_names(made)
    joints, now_cut = _along_the_tree(made, names, moving, frames, cut)
    markers = _marker_names(scene)
    held = _left_over(scene, detected, markers)
    first = {word: markers[word, scene.owners(word)[0]] for word in (*scene.points, *scene.vectors)}
    model = Model(
        name, moving, joints, *_markers(scene, markers, frames),
        _default_gravity(scene.normal) if gravity is None else gravity, variables,
        [*held, *(_renamed(item, first) for item in others)], [_force(item, scene, markers) for item in forces],
        cut=now_cut,
    )  # fmt: skip
    results = {quantity.label: measured(model, quantity, _places(scene, frames)) for quantity in quantities}
    report = _report(model, dict(zip(names, made, strict=True)), held, results)
    identified = {word: found for word, (_, found) in results.items() if found is not None}
    rows = {word: row for word, (row, _) in results.items()}
    return NaturalModel(model, report, markers, identified, rows)


def _left_over(scene: Scene, detected: Detected, markers: Mapping[tuple[str, str], str]) -> list[Constraint]:
    """What made no joint, as constraints."""
    held: list[Constraint] = [_constraint(scene, relation, markers) for relation in detected.unused]
    shared = _drawn_constraint("SharedVector")
    return held + [shared(f"{w}: {a}-{b}", markers[w, a], markers[w, b]) for w, a, b in detected.loose]


def _along_the_tree(
    made: Sequence[Found], names: Sequence[str], moving: Sequence[Body], frames: Mapping[str, Pose],
    cut: Iterable[str] | None,
) -> tuple[list[Joint], list[str]]:  # fmt: skip
    """Joints along the tree, so that none has to be walked through backwards, then those that are cut; their names."""
    built = [_joint(found, called, frames) for found, called in zip(made, names, strict=True)]
    spanning = span(moving, built, cut)
    joints = [
        _joint(made[k].swapped(), names[k], frames) if backwards else built[k]
        for k, backwards in zip(spanning.order, spanning.backwards, strict=True)
    ]
    return [*joints, *(built[k] for k in spanning.cut)], [names[k] for k in spanning.cut]


def _marker_names(scene: Scene) -> dict[tuple[str, str], str]:
    """(name in the drawing, body) -> name of the marker: its own, or with the body's where several own it."""
    return {
        (word, body): word if len(scene.owners(word)) == 1 else f"{word}@{body}"
        for body, words in scene.owned.items()
        for word in words
    }


def _markers(
    scene: Scene, markers: Mapping[tuple[str, str], str], frames: Mapping[str, Pose]
) -> tuple[list[Point], list[Vector]]:
    """Points and vectors of the model, in the axes of their bodies."""
    places = {at: _local(scene, *at, frames) for at in markers}
    return (
        [Point(markers[at], at[1], x) for at, x in places.items() if at[0] in scene.points],
        [Vector(markers[at], at[1], x) for at, x in places.items() if at[0] in scene.vectors],
    )


def _places(scene: Scene, frames: Mapping[str, Pose]) -> Callable[[str], list[Place]]:
    """What tells where a point or vector of the drawing is on each of its owners."""

    def places(word: str) -> list[Place]:
        place = point_place if word in scene.points else vector_place
        return [place(body, _local(scene, word, body, frames)) for body in scene.owners(word)]

    return places


def _default_gravity(normal: Array | None) -> Array:
    """Downwards, along -z; along -y where a plane leaves nothing of that."""
    across = normal is not None and norm(normal[:2].real) < ACROSS
    return np.array([0.0, -9.81, 0.0] if across else [0.0, 0.0, -9.81])


def _sorted(
    items: Iterable[Relation | DrawnMeasure | Constraint],
) -> tuple[list[Relation], list[DrawnMeasure], list[Constraint]]:
    relations: list[Relation] = []
    quantities: list[DrawnMeasure] = []
    constraints: list[Constraint] = []
    for item in items:
        if isinstance(item, Perpendicular | OnLine | InPlane):
            relations.append(item)
        elif isinstance(item, DrawnMeasure):
            if any(other.label == item.label for other in quantities):
                raise DuplicateNameError(f"two measures are called {item.label!r}. Give one another name.")
            quantities.append(item)
        else:
            constraints.append(item)
    return relations, quantities, constraints


# ---- joints


def _floating_joints(
    scene: Scene, detected: Detected, frames: Mapping[str, Pose], floating: Iterable[str] | None
) -> list[Found]:
    """A Floating or Planar joint for each group of bodies that no joint leads to."""
    chosen = None if floating is None else list(floating)
    for body in chosen or ():
        if body not in scene.owned or body == "ground":
            raise unknown_name("body", body, [known for known in scene.owned if known != "ground"], "floating")
    kind = kind_of(Drawn(False, 0 if scene.normal is None else 1))
    assert kind is not None
    axes = () if scene.normal is None else (scene.normal, axis_frame(scene.normal)[:, 0])
    made = []
    reached = _reached({"ground"}, detected)
    for body in scene.owned:
        if body in reached:
            continue
        group = [other for other in scene.owned if other in _reached({body}, detected)]
        roots = group[:1] if chosen is None else [other for other in group if other in chosen]
        if len(roots) != 1:
            raise DisconnectedError(
                f"{'bodies' if len(group) > 1 else 'body'} {', '.join(map(repr, group))}: no joint leads to the "
                f"ground, and floating names {len(roots)} of them instead of one. Share a point or a vector with a "
                "body that is connected, or name the body that floats."
            )
        at = frames[roots[0]][1]
        why = "no joint leads to the ground"
        made.append(Found(kind, ("ground", roots[0]), f"free: {roots[0]}", (at, at), axes, (), None, why))
        reached |= set(group)
    return made


def _reached(start: set[str], detected: Detected) -> set[str]:
    reached, count = set(start), 0
    while len(reached) > count:
        count = len(reached)
        for found in detected.joints:
            if reached & set(found.bodies):
                reached |= set(found.bodies)
    return reached


def _joint_names(made: Sequence[Found]) -> list[str]:
    counted = Counter(found.label for found in made)
    return [
        found.label if counted[found.label] == 1 else f"{found.label}: {found.bodies[0]}-{found.bodies[1]}"
        for found in made
    ]


def _joint(found: Found, name: str, frames: Mapping[str, Pose]) -> Joint:
    """The joint in the frames of its bodies; the point of the second body in the drawing is where q = 0."""
    parent, child = found.bodies
    (R, o), (R_child, o_child) = frames[parent], frames[child]
    x = found.anchors[1]
    axes = [R.T @ axis for axis in found.axes]
    named = [f.name for f in fields(found.kind) if f.metadata == AXIS]
    options = dict(zip(named, axes, strict=True))
    build: Any = found.kind
    joint: Joint = build(
        name, parent, child, R.T @ (x - o), _quaternion(R.T @ R_child), R_child.T @ (x - o_child), **options
    )
    return joint


def _quaternion(R: Array) -> Array:
    """Of a rotation matrix, w first: the column of 4 e e^T with the largest diagonal (real parts), to length one."""
    a, (b, c, d) = R.trace(), (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    K = np.empty((4, 4), R.dtype)
    K[0] = K[:, 0] = 1.0 + a, b, c, d
    K[1:, 1:] = R + R.T + (1.0 - a) * np.eye(3)
    return unit(K[:, int(np.argmax(K.diagonal().real))])


# ---- markers, constraints, text


def _local(scene: Scene, word: str, body: str, frames: Mapping[str, Pose]) -> Array:
    """A point or a vector of the drawing, in the frame of a body."""
    R, o = frames[body]
    local: Array = R.T @ (scene.points[word] - o if word in scene.points else scene.vectors[word])
    return local


def _constraint(scene: Scene, relation: Relation, markers: Mapping[tuple[str, str], str]) -> Constraint:
    """The constraint of a relation that made no joint."""
    moving, body, base, other = sides(scene, relation)
    kind, name = _drawn_constraint(type(relation).__name__), relation.name or f"{moving} {relation.place} {base[0]}"
    return kind(name, markers[moving, body], *(markers[word, other] for word in base))


def _drawn_constraint(relation: str) -> Callable[..., Constraint]:
    """The constraint that a relation of a drawing is."""
    return next(kind for kind in CONSTRAINT_TYPES.values() if kind.drawn_from == relation)


def _renamed(item: T, names: Mapping[str, str]) -> T:
    """A constraint with the model's names for points and vectors of the drawing."""
    changes: dict[str, Any] = {}
    for f in fields(item) if is_dataclass(item) else ():  # type: ignore[arg-type]  # the model refuses what is none
        value = getattr(item, f.name)
        if isinstance(value, RowMeasure):
            changes[f.name] = _renamed(value, names)
        elif f.metadata.get("refers") in ("point", "vector") and value in names:
            changes[f.name] = names[value]
    return replace(item, **changes) if changes else item  # type: ignore[type-var]


def _force(item: T, scene: Scene, markers: Mapping[tuple[str, str], str], what: str = "") -> T:
    """A force, or what it measures, with the model's names for points and vectors of the drawing.

    Raises where it names a point of several bodies: which of them it pushes would be a guess. A vector of several
    bodies is that of the one whose point is named before it, if it is among them, else that of the first owner.
    """
    what = what or where(item)
    body_of = {name: body for (_, body), name in markers.items()}
    changes: dict[str, Any] = {}
    last = ""
    for f in fields(item) if is_dataclass(item) else ():  # type: ignore[arg-type]
        value = getattr(item, f.name)
        noun = f.metadata.get("refers")
        if isinstance(value, tuple) and value and all(isinstance(part, RowMeasure) for part in value):
            changes[f.name] = tuple(_force(part, scene, markers, what) for part in value)
        elif isinstance(value, RowMeasure):
            changes[f.name] = _force(value, scene, markers, what)
        elif not isinstance(value, str):
            continue  # the model refuses what is no name
        elif noun == "point" and value in scene.points and len(owners := scene.owners(value)) > 1:
            raise ValueRangeError(
                f"{what}: {f.name} = {value!r} is a point of {' and '.join(map(repr, owners))}, and a force acts on "
                f"one of them. Say on which: {f.name}={' or '.join(repr(markers[value, body]) for body in owners)}."
            )
        elif noun == "point":
            last = body_of.get(value, value.rpartition(".")[0])
        elif noun == "vector" and value in scene.vectors:
            changes[f.name] = markers.get((value, last), markers[value, scene.owners(value)[0]])
    return replace(item, **changes) if changes else item  # type: ignore[type-var]


def _report(
    model: Model,
    found: Mapping[str, Found],
    held: Sequence[Constraint],
    results: Mapping[str, tuple[Row, UserCoordinate | None]],
) -> str:
    n, m = len(model.bodies), len(model.joints)
    lines = [f"{model.name}: {n} {'body' if n == 1 else 'bodies'}, {m} joint{'' if m == 1 else 's'}"]
    for joint in model.joints:
        cut = ", cut" if joint.name in model.cut else ""
        why = found[joint.name].why
        lines.append(f"  {joint.name}: {type(joint).__name__}, {joint.parent} - {joint.child}{cut}; {why}")
    lines += [f"  {item.name}: constraint {type(item).__name__}; no joint keeps it" for item in held]
    for name, (_, coordinate) in results.items():
        if coordinate is None:
            lines.append(f"  {name}: measured; no coordinate follows it")
        else:
            sign = "-" if coordinate.sign < 0.0 else "+"
            lines.append(f"  {name} = {coordinate.offset.real:.6g} {sign} coordinate {coordinate.coordinate!r}")
    return "\n".join(lines)
