"""A human for the prediction of gait: free in space, standing on its soles, with 33 or 44 coordinates.

World axes: x forward, y to the left, z up. At q = 0 the human stands upright with its soles on z = 0, hips, knees and
ankles in the plane x = 0, the feet pointing forward, the arms hanging, palms towards the thighs. Masses and lengths are
those of `human`; every segment is a solid cylinder whose radius is this project's choice.

Coordinates, each a slide [m] or a hinge [rad], in the order of q. Names of limb joints end in `_right` or `_left`, and
equal values on both sides are a symmetric posture.

    pelvis_x, pelvis_y, pelvis_z                displacement of the middle of the pelvis from where it stands
    pelvis_yaw, pelvis_roll, pelvis_pitch       about z, then x, then y: to the left, onto the right side, forward
    hip_flexion, hip_abduction, hip_rotation    thigh forward; away from the midline; toes towards the midline
    knee_flexion                                heel backward
    ankle_flexion, ankle_inversion              toes up; sole towards the midline
    toe_flexion                                 toes up against the foot
    spine_bend, spine_flexion, spine_rotation   to the right; forward; to the left
    clavicle_elevation, clavicle_protraction    shoulder up; forward                            (frozen by default)
    shoulder_flexion, _abduction, _rotation     upper arm forward; away from the body; front of the arm inward
    elbow_flexion, forearm_pronation            forearm forward; thumb inward
    wrist_flexion, wrist_deviation              hand towards the palm; towards the thumb        (frozen by default)
    neck_bend, neck_flexion, neck_rotation      to the right; forward; to the left              (frozen by default)

The right leg comes before the left one, then spine, right arm, left arm and neck.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.gallery.figure import figure_shapes
from mechgrad.gallery.solids import rod
from mechgrad.model import Body, Fixed, Joint, Model, Point, Prismatic, Revolute
from mechgrad.typing import FloatArray, IntArray

__all__ = ["WALKER_SEGMENTS", "walker", "walker_limits", "walker_mirror"]

_Triple = tuple[float, float, float]

_HERE: _Triple = (0.0, 0.0, 0.0)
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_MINUS_X, _MINUS_Y = (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)

_OPPOSITE = {"_right": "_left", "_left": "_right", "": ""}


class _Freedom(NamedTuple):
    """One coordinate of the midline or of the right-hand side."""

    axis: _Triple  # in the parent's axes, all of which are world axes at q = 0
    lower: float = -inf  # [deg]
    upper: float = inf  # [deg]
    torque: float = 0.0  # the largest [N m]; 0 for the pelvis in space, which nothing drives
    frozen: bool = False
    slide: bool = False


_FREEDOMS = {
    "pelvis_x": _Freedom(_X, slide=True),
    "pelvis_y": _Freedom(_Y, slide=True),
    "pelvis_z": _Freedom(_Z, slide=True),
    "pelvis_yaw": _Freedom(_Z),
    "pelvis_roll": _Freedom(_X),
    "pelvis_pitch": _Freedom(_Y),
    "hip_flexion": _Freedom(_MINUS_Y, -20.0, 120.0, 200.0),
    "hip_abduction": _Freedom(_MINUS_X, -25.0, 45.0, 150.0),
    "hip_rotation": _Freedom(_Z, -40.0, 40.0, 80.0),
    "knee_flexion": _Freedom(_Y, 0.0, 140.0, 200.0),
    "ankle_flexion": _Freedom(_MINUS_Y, -50.0, 25.0, 180.0),
    "ankle_inversion": _Freedom(_X, -30.0, 30.0, 60.0),
    "toe_flexion": _Freedom(_MINUS_Y, -10.0, 60.0, 40.0),
    "spine_bend": _Freedom(_X, -30.0, 30.0, 200.0),
    "spine_flexion": _Freedom(_Y, -30.0, 30.0, 250.0),
    "spine_rotation": _Freedom(_Z, -30.0, 30.0, 150.0),
    "clavicle_elevation": _Freedom(_MINUS_X, -10.0, 40.0, 60.0, frozen=True),
    "clavicle_protraction": _Freedom(_Z, -20.0, 25.0, 60.0, frozen=True),
    "shoulder_flexion": _Freedom(_MINUS_Y, -60.0, 180.0, 80.0),
    "shoulder_abduction": _Freedom(_MINUS_X, -10.0, 120.0, 80.0),
    "shoulder_rotation": _Freedom(_Z, -80.0, 80.0, 40.0),
    "elbow_flexion": _Freedom(_MINUS_Y, 0.0, 145.0, 60.0),
    "forearm_pronation": _Freedom(_Z, -80.0, 80.0, 15.0),
    "wrist_flexion": _Freedom(_X, -70.0, 80.0, 15.0, frozen=True),
    "wrist_deviation": _Freedom(_MINUS_Y, -30.0, 20.0, 10.0, frozen=True),
    "neck_bend": _Freedom(_X, -40.0, 40.0, 20.0, frozen=True),
    "neck_flexion": _Freedom(_Y, -50.0, 45.0, 30.0, frozen=True),
    "neck_rotation": _Freedom(_Z, -70.0, 70.0, 15.0, frozen=True),
}


class _Segment(NamedTuple):
    """A cylinder with mass, carried by hinges through one point, which is the origin of its body."""

    name: str
    mass: float  # [kg]
    start: _Triple  # the ends of the cylinder's axis, in body axes [m]
    end: _Triple
    radius: float  # [m]
    parent: str
    at: _Triple  # the hinges' point, in the parent's axes [m]
    freedoms: tuple[str, ...]  # first to last; all but the last carry massless bodies


_HIP: _Triple = (0.0, -0.09, 0.0)
_KNEE: _Triple = (0.0, 0.0, -0.44)
_ANKLE: _Triple = (0.0, 0.0, -0.43)
_SOLE = -0.07  # height of the sole over the ankle [m]
_HEEL: _Triple = (-0.04, 0.0, _SOLE)
_BALL: _Triple = (0.12, 0.0, _SOLE)
_HALF_WIDTH = 0.04  # of the foot at the ball [m]
_TOE: _Triple = (0.06, 0.0, 0.0)
_NECK: _Triple = (0.0, 0.0, 0.49)
_SHOULDER: _Triple = (0.0, -0.17, 0.0)
_ELBOW: _Triple = (0.0, 0.0, -0.28)
_WRIST: _Triple = (0.0, 0.0, -0.26)
_HEAD_TOP: _Triple = (0.0, 0.0, 0.35)
_STANDING: _Triple = (0.0, 0.0, -(_KNEE[2] + _ANKLE[2] + _SOLE))

_PELVIS = _Segment(
    # the two halves of the published table, 4.5 kg and 0.09 m each, which are one rigid body here
    "pelvis", 9.0, (0.0, 0.09, 0.0), _HIP, 0.10, "ground", _STANDING,
    ("pelvis_x", "pelvis_y", "pelvis_z", "pelvis_yaw", "pelvis_roll", "pelvis_pitch"),
)  # fmt: skip
_LEG = (
    _Segment("thigh", 9.5, _HERE, _KNEE, 0.07, "pelvis", _HIP, ("hip_flexion", "hip_abduction", "hip_rotation")),
    _Segment("shank", 3.7, _HERE, _ANKLE, 0.05, "thigh", _KNEE, ("knee_flexion",)),
    # Foot and toes lie on the sole, so their axes run one radius above it.
    _Segment(
        "foot", 1.2, (-0.04, 0.0, -0.035), (0.12, 0.0, -0.035), 0.035, "shank", _ANKLE,
        ("ankle_flexion", "ankle_inversion"),
    ),
    _Segment("toes", 0.2, (0.0, 0.0, 0.02), (0.06, 0.0, 0.02), 0.02, "foot", _BALL, ("toe_flexion",)),
)  # fmt: skip
_TORSO = _Segment("torso", 12.3, _HERE, _NECK, 0.13, "pelvis", _HERE, ("spine_bend", "spine_flexion", "spine_rotation"))
_ARM = (
    _Segment(
        "girdle", 5.8, _HERE, _SHOULDER, 0.08, "torso", _NECK, ("clavicle_elevation", "clavicle_protraction"),
    ),
    _Segment(
        "upper_arm", 1.9, _HERE, _ELBOW, 0.045, "girdle", _SHOULDER,
        ("shoulder_flexion", "shoulder_abduction", "shoulder_rotation"),
    ),
    _Segment("forearm", 1.3, _HERE, _WRIST, 0.035, "upper_arm", _ELBOW, ("elbow_flexion", "forearm_pronation")),
    _Segment("hand", 0.5, _HERE, (0.0, 0.0, -0.19), 0.03, "forearm", _WRIST, ("wrist_flexion", "wrist_deviation")),
)  # fmt: skip
_HEAD = _Segment("head", 8.0, _HERE, _HEAD_TOP, 0.09, "torso", _NECK, ("neck_bend", "neck_flexion", "neck_rotation"))

_MIDLINE = ("ground", "pelvis", "torso", "head")  # bodies without a side

# Segments with their side, parents before children.
_TREE = (
    (_PELVIS, ""),
    *((segment, "_right") for segment in _LEG),
    *((segment, "_left") for segment in _LEG),
    (_TORSO, ""),
    *((segment, "_right") for segment in _ARM),
    *((segment, "_left") for segment in _ARM),
    (_HEAD, ""),
)

# Name, body and place in the body [m] of the points of the right-hand side.
_LIMB_POINTS: tuple[tuple[str, str, _Triple], ...] = (
    ("hip", "pelvis", _HIP),
    ("knee", "thigh", _KNEE),
    ("ankle", "shank", _ANKLE),
    ("heel", "foot", _HEEL),
    ("ball", "foot", _BALL),
    ("ball_medial", "foot", (_BALL[0], _HALF_WIDTH, _SOLE)),
    ("ball_lateral", "foot", (_BALL[0], -_HALF_WIDTH, _SOLE)),
    ("toe", "toes", _TOE),
    ("shoulder", "girdle", _SHOULDER),
    ("elbow", "upper_arm", _ELBOW),
    ("wrist", "forearm", _WRIST),
)

_LIMB_LINES = (
    ("pelvis_centre", "hip"),
    ("hip", "knee"),
    ("knee", "ankle"),
    ("ankle", "heel"),
    ("ankle", "ball"),
    ("heel", "ball"),
    ("ball_medial", "ball_lateral"),
    ("ball", "toe"),
    ("neck", "shoulder"),
    ("shoulder", "elbow"),
    ("elbow", "wrist"),
)

WALKER_SEGMENTS: tuple[tuple[str, str], ...] = (
    ("pelvis_centre", "neck"),
    ("neck", "head_top"),
    *(
        (first if first in ("pelvis_centre", "neck") else first + side, second + side)
        for side in ("_right", "_left")
        for first, second in _LIMB_LINES
    ),
)
"""Pairs of points of the walker to be joined by lines: the human as a stick figure."""


def walker(frozen: bool = True) -> Model:
    """A human of 77.5 kg, free in space, for the prediction of gait.

    Axes, signs and the order of the coordinates are those of this module's docstring. At q = 0 the ankles are 0.07 m
    over the soles, the hips and the middle of the pelvis at 0.94 m, the neck at 1.43 m, the top of the head at 1.78 m.

    The foot is a body from the heel, 0.04 m behind the ankle, to the ball, 0.12 m before it; the toes reach 0.06 m
    further. The axis of `toe_flexion` lies in the sole, across the foot through the ball, so that the three points of
    the ball belong to foot and toes alike: bending the toes does not move them.

    Radii of the cylinders [m]: pelvis 0.10 (lying across), thigh 0.07, shank 0.05, foot 0.035, toes 0.02, torso 0.13,
    girdle (from the spine to the shoulder) 0.08, upper arm 0.045, forearm 0.035, hand 0.03, head with neck 0.09.

    Points, with `_right` or `_left`: hip, knee, ankle, heel, ball, ball_medial, ball_lateral, toe, shoulder, elbow,
    wrist; and pelvis_centre, neck (top of the torso), head_top. Heel, balls and toe lie on the sole. Segments are
    bodies of the names above, limbs with their side (`thigh_right`), and a hinge that carries no segment of its own
    carries a massless body `virtual_<joint>`.

    Three hinges through one point lose a freedom where the middle one stands at a right angle: there the mass matrix is
    singular, while torques and their derivatives remain valid. Of the ranges of `walker_limits`, only that of
    `shoulder_abduction` contains such a pose.

    Parameters
    ----------
    frozen : bool
        Replace the hinges of clavicles, wrists and neck by welds of the same name: 33 coordinates instead of 44.

    Example
    -------
    >>> model = walker()
    >>> model.n_v, walker(frozen=False).n_v
    (33, 44)
    >>> model.q_names[6:9]
    ('hip_flexion_right', 'hip_abduction_right', 'hip_rotation_right')
    >>> round(model.total_mass, 9)
    77.5
    """
    joints, bodies = [], []
    for segment, side in _TREE:
        for joint, body in _carried(segment, side, frozen):
            joints.append(joint)
            bodies.append(body)
    points = [Point("pelvis_centre", "pelvis"), Point("neck", "torso", _NECK), Point("head_top", "head", _HEAD_TOP)]
    for side in ("_right", "_left"):
        points += [Point(name + side, _sided(body, side), _place(p, side)) for name, body, p in _LIMB_POINTS]
    return Model("walker", bodies, joints, points, gravity=(0.0, 0.0, -9.81))


def walker_limits(model: Model) -> dict[str, tuple[float, float, float]]:
    """Lower and upper angle [rad] and largest torque [N m] of every driven coordinate of a walker.

    The six coordinates of the pelvis in space are left out: nothing drives them. The numbers are this project's choice
    after common ranges of motion of adults, rounded, equal on both sides; the torque holds for both directions.

        coordinate               angle [deg]   [N m]        coordinate               angle [deg]   [N m]
        hip_flexion               -20 .. 120     200        clavicle_elevation        -10 .. 40       60
        hip_abduction             -25 .. 45      150        clavicle_protraction      -20 .. 25       60
        hip_rotation              -40 .. 40       80        shoulder_flexion          -60 .. 180      80
        knee_flexion                0 .. 140     200        shoulder_abduction        -10 .. 120      80
        ankle_flexion             -50 .. 25      180        shoulder_rotation         -80 .. 80       40
        ankle_inversion           -30 .. 30       60        elbow_flexion               0 .. 145      60
        toe_flexion               -10 .. 60       40        forearm_pronation         -80 .. 80       15
        spine_bend                -30 .. 30      200        wrist_flexion             -70 .. 80       15
        spine_flexion             -30 .. 30      250        wrist_deviation           -30 .. 20       10
        spine_rotation            -30 .. 30      150        neck_bend                 -40 .. 40       20
        neck_rotation             -70 .. 70       15        neck_flexion              -50 .. 45       30

    Parameters
    ----------
    model : Model
        A walker; other numbers in it and further frozen joints do not matter.

    Returns
    -------
    dict
        From the name of the coordinate, in the order of q, to (lower, upper, torque).

    Example
    -------
    >>> lower, upper, torque = walker_limits(walker())["knee_flexion_left"]
    >>> float(np.degrees(upper)), torque
    (140.0, 200.0)
    """
    limits = {}
    for name in model.q_names:
        freedom = _freedom(model, name)
        if freedom.torque:
            limits[name] = (float(np.radians(freedom.lower)), float(np.radians(freedom.upper)), freedom.torque)
    return limits


def walker_mirror(model: Model) -> tuple[IntArray, FloatArray]:
    """How the coordinates of a walker change under the reflection y -> -y, which swaps left and right.

        q_mirror[i] = sign[i] q[partner[i]],    and v, a, torques likewise

    Limb joints swap sides and keep their sign. On the midline, pelvis_y, pelvis_yaw, pelvis_roll and bend and rotation
    of spine and neck change theirs.

    Parameters
    ----------
    model : Model
        A walker; what is frozen has to be so on both sides.

    Returns
    -------
    partner : (n_v,) array of int
    sign : (n_v,) array of +1.0 and -1.0

    Example
    -------
    >>> partner, sign = walker_mirror(walker())
    >>> walker().q_names[partner[6]], sign[:6].tolist()
    ('hip_flexion_left', [1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    """
    index = {name: i for i, name in enumerate(model.q_names)}
    partner, sign = np.empty(model.n_v, np.int64), np.ones(model.n_v)
    for name, i in index.items():
        freedom, side = _freedom(model, name), _side(name)
        other = name.removesuffix(side) + _OPPOSITE[side]
        if other not in index:
            raise unknown_name("coordinate", other, index, f"model {model.name!r}, mirror image of {name!r}")
        partner[i] = index[other]
        # The reflection keeps a turn about y and reverses the others; of slides it reverses the one along y.
        if not side and (freedom.axis[1] != 0.0) == freedom.slide:
            sign[i] = -1.0
    return partner, sign


def _carried(segment: _Segment, side: str, frozen: bool) -> Iterator[tuple[Joint, Body]]:
    """The joints that carry a segment, first to last, each with its child."""
    parent, at = _sided(segment.parent, side), _place(segment.at, side)
    for kind in segment.freedoms:
        name, freedom = kind + side, _FREEDOMS[kind]
        body = _solid(segment, side) if kind == segment.freedoms[-1] else Body(f"virtual_{name}")
        axis = _axis(freedom.axis, side)
        joint: Joint
        if frozen and freedom.frozen:
            joint = Fixed(name, parent, body.name, at)
        elif freedom.slide:
            joint = Prismatic(name, parent, body.name, at, axis=axis)
        else:
            joint = Revolute(name, parent, body.name, at, axis=axis)
        yield joint, body
        parent, at = body.name, _HERE


def _solid(segment: _Segment, side: str) -> Body:
    start, end = np.array(_place(segment.start, side)), np.array(_place(segment.end, side))
    cylinder = rod(_sided(segment.name, side), segment.mass, end - start, segment.radius)
    shape = figure_shapes(segment.name, start, end, np.eye(3), _X, left=side == "_left")
    return Body(cylinder.name, cylinder.mass, (start + end) / 2.0, cylinder.inertia, shape)


def _sided(body: str, side: str) -> str:
    return body if body in _MIDLINE else body + side


def _place(point: _Triple, side: str) -> _Triple:
    """A point given for the right-hand side, reflected if the side is the left one; 0.0 - y has no negative zero."""
    x, y, z = point
    return (x, 0.0 - y, z) if side == "_left" else point


def _axis(axis: _Triple, side: str) -> _Triple:
    """An axis of rotation given for the right-hand side: a reflection keeps the component along its normal only."""
    x, y, z = axis
    return (0.0 - x, y, 0.0 - z) if side == "_left" else axis


def _side(name: str) -> str:
    return next(side for side in _OPPOSITE if name.endswith(side))


def _freedom(model: Model, name: str) -> _Freedom:
    kind = name.removesuffix(_side(name))
    if kind not in _FREEDOMS:
        raise unknown_name("coordinate of a walker", name, _FREEDOMS, f"model {model.name!r}")
    return _FREEDOMS[kind]
