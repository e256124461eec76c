"""Which joints bodies have that share points and vectors, and relations between those they do not share.

What two bodies share is fixed to both: directions are the shared vectors and the lines between shared points. Each kind
of joint says in `drawn_from` where it is found, and so do constraints:

    shared point    shared directions      relation                        joint
    yes             none                   -                               Spherical
    yes             none                   Perpendicular(on a, on b)       Cardan
    yes             one                    -                               Revolute
    yes             two or more            -                               Fixed
    no              one, w                 OnLine(on a, on b, w)           Cylindrical
    no              one, w                 InPlane(on a, on b, w)          Planar
    no              two or more            OnLine(on a, on b, w)           Prismatic

A name shared by many bodies makes no more joints than it takes: what follows from joints already found is left out,
those with little freedom being found first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError, unknown_name
from mechgrad.model.joints import JOINT_TYPES, Joint
from mechgrad.model.joints.base import Drawn
from mechgrad.model.primitives.frames import axis_frame, cross, norm
from mechgrad.typing import Array

# Sine of an angle (or distance over the size of the mechanism) up to which a drawing counts as exact, and the one from
# which two directions count as different. In between it is unclear what was meant, and a hinge could become a weld.
ALIGNED, CLEAR = 1e-6, 1e-3


@final
@dataclass(frozen=True, slots=True)
class Perpendicular:
    """Two vectors stay perpendicular: u_a . u_b = 0.

    With a point that their bodies share it is a Cardan joint (`at` names the point, where several would do); otherwise
    a `DotProduct` constraint, under `name` if there is one.

    >>> Perpendicular("fork of shaft", "fork of axle", at="C").at
    'C'
    """

    place: ClassVar[str] = "across"

    vector_a: str
    vector_b: str
    at: str | None = None
    name: str | None = None


@final
@dataclass(frozen=True, slots=True)
class OnLine:
    """Two points stay on a line along a vector: (x_a - x_b) x w = 0.

    With one vector that their bodies share it is a Cylindrical joint, with two a Prismatic one; otherwise a
    `PointOnLine` constraint.

    >>> OnLine("piston", "end of cylinder", "bore").vector
    'bore'
    """

    place: ClassVar[str] = "on line of"

    point_a: str
    point_b: str
    vector: str
    name: str | None = None


@final
@dataclass(frozen=True, slots=True)
class InPlane:
    """Two points stay in a plane with a vector as normal: w . (x_a - x_b) = 0.

    With that vector shared by their bodies it is a Planar joint; otherwise a `PointInPlane` constraint.

    >>> InPlane("attachment of cup", "corner of table", "up").vector
    'up'
    """

    place: ClassVar[str] = "in plane of"

    point_a: str
    point_b: str
    vector: str
    name: str | None = None


Relation = Perpendicular | OnLine | InPlane
"""What a drawing says beyond shared names."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The drawing: world positions [m], unit vectors, and the names that each body owns, the ground first.

    `normal` is the direction that all bodies of a planar mechanism share.
    """

    points: Mapping[str, Array]
    vectors: Mapping[str, Array]
    owned: Mapping[str, tuple[str, ...]]
    normal: Array | None

    @property
    def size(self) -> float:
        """The largest extent of the points along an axis [m]; 1 if there is none."""
        places = np.array([x.real for x in self.points.values()]).reshape(-1, 3)
        extent = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
        return extent if extent > 0.0 else 1.0

    def owners(self, name: str) -> list[str]:
        """The bodies that own a point or a vector."""
        return [body for body, names in self.owned.items() if name in names]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """All pairs of bodies, each body with those before it."""
        names = list(self.owned)
        return ((names[i], names[j]) for j in range(len(names)) for i in range(j))


@dataclass(frozen=True, slots=True)
class Found:
    """A joint between two bodies (the order is free), in the drawing's position and world axes.

    `anchors` is the joint's point on each of the two bodies. `axes` is the axis, the two axes of a Cardan joint, that
    of the first body first, or the normal of a plane. `shared` are the names that the joint holds together.
    """

    kind: type[Joint]
    bodies: tuple[str, str]
    label: str
    anchors: tuple[Array, Array]
    axes: tuple[Array, ...]
    shared: tuple[str, ...]
    relation: Relation | None
    why: str

    @property
    def freedom(self) -> int:
        """Number of degrees of freedom."""
        return len(self.kind.v_labels)

    def swapped(self) -> Found:
        """The same joint with its bodies in the other order."""
        axes = self.axes[::-1] if isinstance(self.relation, Perpendicular) else self.axes
        first, second = self.bodies
        return Found(
            self.kind, (second, first), self.label, self.anchors[::-1], axes, self.shared, self.relation, self.why
        )


@dataclass(frozen=True, slots=True)
class Detected:
    """The joints, the relations that made none, and vectors that two bodies share but no joint keeps together."""

    joints: tuple[Found, ...]
    unused: tuple[Relation, ...]
    loose: tuple[tuple[str, str, str], ...]


def kind_of(drawn: Drawn) -> type[Joint] | None:
    """The kind of joint that is found where two bodies have this in common, if any is.

    >>> kind_of(Drawn(point=True, directions=1)).__name__
    'Revolute'
    """
    return next((kind for kind in JOINT_TYPES.values() if drawn in kind.drawn_from), None)


def detect(scene: Scene, relations: Sequence[Relation]) -> Detected:
    """The joints of a drawing.

    >>> A, x = np.zeros(3), np.array([1.0, 0, 0])
    >>> scene = Scene({"A": A}, {"x": x}, {"ground": ("A", "x"), "crank": ("A", "x")}, None)
    >>> [(joint.label, joint.kind.__name__, joint.why) for joint in detect(scene, []).joints]
    [('A', 'Revolute', "share the point 'A' and the direction 'x'")]
    """
    for relation in relations:
        check_relation(scene, relation)
    unused = list(relations)
    candidates = []
    for pair in scene.pairs():
        found = _joint_between(scene, *pair, unused)
        if found is not None:
            candidates.append(found)
            unused = [relation for relation in unused if relation is not found.relation]
    ties = _Ties()
    if scene.normal is not None:
        for name, u in scene.vectors.items():
            if _sine(u, scene.normal) <= ALIGNED:
                for body in scene.owned:
                    ties.tie(name, "ground", body)
    kept = []
    for found in sorted(candidates, key=lambda found: found.freedom):
        follows = found.relation is None and all(ties.tied(name, *found.bodies) for name in found.shared)
        if not follows:
            kept.append(found)
            for name in found.shared:
                ties.tie(name, *found.bodies)
    joints = tuple(found for found in candidates if any(found is other for other in kept))
    return Detected(joints, tuple(unused), tuple(_loose_vectors(scene, ties)))


def check_relation(scene: Scene, relation: Relation) -> None:
    """Raise unless the names are known and the relation holds in the drawing."""
    what = repr(relation)
    for name in _names(relation, "point_a", "point_b", "at"):
        if name not in scene.points:
            raise unknown_name("point", name, scene.points, what)
    for name in _names(relation, "vector_a", "vector_b", "vector"):
        if name not in scene.vectors:
            raise unknown_name("vector", name, scene.vectors, what)
    if isinstance(relation, Perpendicular):
        cosine = (scene.vectors[relation.vector_a] @ scene.vectors[relation.vector_b]).real
        if not -ALIGNED <= cosine <= ALIGNED:
            raise ValueRangeError(
                f"{what}: in the drawing the two enclose {np.degrees(np.arccos(cosine)):.6g} degrees instead of 90. "
                "Correct the vectors, or use a DotProduct constraint with that cosine."
            )
        return
    arm, w = scene.points[relation.point_a].real - scene.points[relation.point_b].real, scene.vectors[relation.vector]
    along = (arm @ w.real) * w.real
    off = norm(along if isinstance(relation, InPlane) else arm - along)
    if off > ALIGNED * scene.size:
        place = "plane" if isinstance(relation, InPlane) else "line"
        raise ValueRangeError(
            f"{what}: in the drawing {relation.point_a!r} is {off:.6g} m off the {place} through {relation.point_b!r}. "
            "Correct the points or the vector."
        )


def sides(scene: Scene, relation: Relation) -> tuple[str, str, tuple[str, ...], str]:
    """What a relation that is no joint holds between: a name and its body, and names on another body.

    The latter are the second vector, or a point and the vector of a line or a plane; raise if no body owns them.

    >>> scene = Scene({}, {"u": np.eye(3)[0], "w": np.eye(3)[1]}, {"ground": ("u",), "arm": ("w",)}, None)
    >>> sides(scene, Perpendicular("u", "w"))
    ('u', 'ground', ('w',), 'arm')
    """
    if isinstance(relation, Perpendicular):
        choices: list[tuple[str, tuple[str, ...]]] = [(relation.vector_a, (relation.vector_b,))]
    else:
        a, b, w = relation.point_a, relation.point_b, relation.vector
        choices = [(a, (b, w)), (b, (a, w))]
    everything = {choices[0][0], *choices[0][1]}
    rigid = any(everything <= set(names) for names in scene.owned.values())
    for moving, base in [] if rigid else choices:
        for second, names in scene.owned.items():
            if set(base) <= set(names) and scene.owners(moving):
                return moving, scene.owners(moving)[0], base, second
    raise ValueRangeError(
        f"{relation!r} relates nothing that could move: "
        + ("one body owns all of it. " if rigid else "no body owns what it refers to. ")
        + "A line or a plane needs a point and the vector on one body, and a point on another. Add the names to the "
        "bodies they are fixed to, or remove the relation."
    )


# ---- one pair of bodies


def _joint_between(scene: Scene, a: str, b: str, relations: Sequence[Relation]) -> Found | None:
    shared = tuple(name for name in scene.owned[a] if name in scene.owned[b])
    points = [name for name in shared if name in scene.points]
    vectors = [name for name in shared if name in scene.vectors]
    if not shared:
        return None
    directions = _independent(scene, a, b, points, vectors)
    told = _listed("direction", [text for text, _ in directions])
    if points:
        return _joint_at_point(scene, (a, b), shared, points, directions, relations)
    for relation in relations:
        if isinstance(relation, Perpendicular) or (ends := _ends(scene, a, b, relation)) is None:
            continue
        w = scene.vectors[relation.vector]
        kind = kind_of(Drawn(False, len(directions), type(relation).__name__))
        if kind is None or (len(directions) == 1 and _sine(w, directions[0][1]) > ALIGNED):
            continue
        place = "on a line along" if isinstance(relation, OnLine) else "in a plane across"
        why = f"share {told}; {relation.point_a!r} and {relation.point_b!r} are {place} {relation.vector!r}"
        # a vector of one body keeps its plain name as a marker, which the joint cannot have too
        default = relation.vector if relation.vector in shared else f"{relation.point_a}-{relation.point_b}"
        axes = (w, _across(scene, a, relation, w)) if isinstance(relation, InPlane) else (w,)
        return Found(kind, (a, b), relation.name or default, ends, axes, shared, relation, why)
    return None


def _across(scene: Scene, body: str, relation: OnLine | InPlane, normal: Array) -> Array:
    """A direction of the drawing across a plane's normal: a vector of the body, or else towards one of its points.

    Taken from the drawing, it turns with the drawing; only a body that has nothing else gets an axis of the world.
    """
    names = scene.owned[body]
    at = next(scene.points[p] for p in (relation.point_a, relation.point_b) if p in names)
    arms = [scene.vectors[name] for name in names if name in scene.vectors]
    arms += [scene.points[name] - at for name in names if name in scene.points]
    for arm in arms:
        length = norm(arm.real)
        if length > ALIGNED * scene.size and _sine(arm / length, normal) > CLEAR:
            return arm
    return axis_frame(normal)[:, 0]


def _joint_at_point(
    scene: Scene,
    pair: tuple[str, str],
    shared: tuple[str, ...],
    points: Sequence[str],
    directions: Sequence[tuple[str, Array]],
    relations: Sequence[Relation],
) -> Found:
    x = scene.points[points[0]]
    why = "share " + _listed("point", [repr(name) for name in points])
    if directions:
        kind = _kind(Drawn(True, len(directions)))
        axes = (directions[0][1],) if len(directions) == 1 else ()
        why += " and " + _listed("direction", [text for text, _ in directions])
        return Found(kind, pair, points[0], (x, x), axes, shared, None, why)
    for relation in relations:
        if not isinstance(relation, Perpendicular) or relation.at not in (None, points[0]):
            continue
        for u, w in ((relation.vector_a, relation.vector_b), (relation.vector_b, relation.vector_a)):
            if u in scene.owned[pair[0]] and w in scene.owned[pair[1]]:
                forks = (scene.vectors[u], scene.vectors[w])
                why += f"; {u!r} and {w!r} are perpendicular"
                kind = _kind(Drawn(True, 0, type(relation).__name__))
                return Found(kind, pair, relation.name or points[0], (x, x), forks, shared, relation, why)
    return Found(_kind(Drawn(True, 0)), pair, points[0], (x, x), (), shared, None, why)


def _kind(drawn: Drawn) -> type[Joint]:
    kind = kind_of(drawn)
    assert kind is not None
    return kind


def _independent(
    scene: Scene, a: str, b: str, points: Sequence[str], vectors: Sequence[str]
) -> list[tuple[str, Array]]:
    """Up to two directions that both bodies share and that are not parallel, with their names."""
    found = [(repr(name), scene.vectors[name]) for name in vectors]
    for name in points[1:]:
        arm = scene.points[name] - scene.points[points[0]]
        length = norm(arm.real)
        if length <= ALIGNED * scene.size:
            raise ValueRangeError(
                f"bodies {a!r} and {b!r} share the points {points[0]!r} and {name!r}, which coincide ({length:.3g} m "
                "apart) and give no axis. Move one of them, or share one point only."
            )
        found.append((f"{points[0]!r} to {name!r}", arm / norm(arm)))
    if scene.normal is not None:
        found.append(("across the plane", scene.normal))
    if not found:
        return []
    first, others = found[0], found[1:]
    sines = [_sine(first[1], u) for _, u in others]
    largest = max(sines, default=0.0)
    if ALIGNED < largest < CLEAR:
        raise ValueRangeError(
            f"bodies {a!r} and {b!r} share the directions {first[0]} and {others[sines.index(largest)][0]}, which are "
            f"{np.degrees(largest):.3g} degrees from parallel: too much for one axis, too little for two. Give both "
            "with all their digits, or share one of them only."
        )
    return [first] if largest <= ALIGNED else [first, others[sines.index(largest)]]


def _ends(scene: Scene, a: str, b: str, relation: OnLine | InPlane) -> tuple[Array, Array] | None:
    """The points of a relation, on the first and the second body of a pair; None if it is about others."""
    if not any(relation.vector in scene.owned[body] for body in (a, b)):
        return None
    for p, q in ((relation.point_a, relation.point_b), (relation.point_b, relation.point_a)):
        if p in scene.owned[a] and q in scene.owned[b]:
            return scene.points[p], scene.points[q]
    return None


# ---- what follows from what


class _Ties:
    """Which bodies are known to have a point or a vector in common: equality is transitive."""

    def __init__(self) -> None:
        self._above: dict[tuple[str, str], tuple[str, str]] = {}

    def _root(self, name: str, body: str) -> tuple[str, str]:
        node = (name, body)
        while node in self._above:
            node = self._above[node]
        return node

    def tied(self, name: str, a: str, b: str) -> bool:
        return self._root(name, a) == self._root(name, b)

    def tie(self, name: str, a: str, b: str) -> None:
        if not self.tied(name, a, b):
            self._above[self._root(name, b)] = self._root(name, a)


def _loose_vectors(scene: Scene, ties: _Ties) -> Iterator[tuple[str, str, str]]:
    for a, b in scene.pairs():
        vectors = [name for name in scene.owned[a] if name in scene.owned[b] and name in scene.vectors]
        for name in vectors:
            if ties.tied(name, a, b):
                continue
            directions = _independent(scene, a, b, (), vectors)
            if len(directions) > 1:
                told = _listed("direction", [text for text, _ in directions])
                raise ValueRangeError(
                    f"bodies {a!r} and {b!r} share {told} but no point, so they keep their orientation "
                    "to each other, and nothing says how they move. Add OnLine(point, point, vector) for a slide "
                    "along that vector, share a point for a weld, or share one direction only."
                )
            ties.tie(name, a, b)
            yield name, a, b


def _sine(u: Array, w: Array) -> float:
    """Of the angle between two unit vectors."""
    return float(norm(cross(u.real, w.real)))


def _names(relation: Relation, *fields: str) -> list[str]:
    values = (getattr(relation, field, None) for field in fields)
    return [value for value in values if value is not None]


def _listed(noun: str, texts: Sequence[str]) -> str:
    return f"the {noun}{'s' if len(texts) > 1 else ''} {', '.join(texts)}"
