"""Poses of joints as 4x4 matrices: composed from atoms (complex-safe), and by formula from independent pieces."""

import numpy as np
from scipy.spatial.transform import Rotation

from mechgrad.model import (
    BALL,
    PRISMATIC,
    REVOLUTE,
    Cardan,
    Cylindrical,
    DenavitHartenberg,
    Fixed,
    Floating,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)

DH_VARIANTS = [
    (kind, sign, convention)
    for kind in ("revolute", "prismatic")
    for sign in (1, -1)
    for convention in ("standard", "modified")
]
PLACED = (Fixed, Revolute, Prismatic, Cylindrical, Cardan, Planar, Spherical, Floating)
AXES = {
    Revolute: ("axis",),
    Prismatic: ("axis",),
    Cylindrical: ("axis",),
    Cardan: ("axis1", "axis2"),
    Planar: ("normal", "direction"),
}


def random_joint(cls, rng):
    """A joint with every field away from its default; nothing of length one, nothing perpendicular."""
    return cls(
        "j",
        "ground",
        "b",
        origin=rng.normal(size=3),
        orientation=rng.normal(size=4),
        child_origin=rng.normal(size=3),
        **{axis: rng.normal(size=3) for axis in AXES.get(cls, ())},
    )


def random_dh(kind, sign, convention, rng):
    return DenavitHartenberg("j", "ground", "b", kind, *rng.normal(size=4), sign, convention)


def every_joint(rng):
    return [random_joint(cls, rng) for cls in PLACED] + [random_dh(*variant, rng) for variant in DH_VARIANTS]


def rigid(E, r):
    T = np.zeros((4, 4), np.result_type(E, r))
    T[:3, :3], T[:3, 3], T[3, 3] = E, r, 1.0
    return T


def atom_motion(kind, q):
    """The 4x4 motion of an atom and the rest of the coordinates."""
    if kind == REVOLUTE:
        c, s = np.cos(q[0]), np.sin(q[0])
        return rigid(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), np.zeros(3)), q[1:]
    if kind == PRISMATIC:
        return rigid(np.eye(3), np.array([0, 0, q[0]])), q[1:]
    if kind == BALL:
        return rigid(Rotation.from_quat(np.roll(q[:4], -1)).as_matrix(), np.zeros(3)), q[4:]
    return np.eye(4), q


def pose_from_atoms(joint, q):
    T = np.eye(4)
    for kind, E, r in joint.atoms():
        motion, q = atom_motion(kind, q)
        T = T @ rigid(E, r) @ motion
    assert len(q) == 0
    return T @ rigid(*joint.tail())


def tr(v):
    return rigid(np.eye(3), np.asarray(v))


def rot(axis, angle):
    axis = np.asarray(axis, float)
    return rigid(Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix(), np.zeros(3))


def turn(e):
    return rigid(Rotation.from_quat(np.roll(e, -1)).as_matrix(), np.zeros(3))


def motion_by_formula(joint, q):
    """Motion(q) of each joint kind as its documentation states it."""
    match joint:
        case Fixed():
            return np.eye(4)
        case Revolute():
            return rot(joint.axis, q[0])
        case Prismatic():
            return tr(joint.axis / np.linalg.norm(joint.axis) * q[0])
        case Cylindrical():
            return tr(joint.axis / np.linalg.norm(joint.axis) * q[0]) @ rot(joint.axis, q[1])
        case Cardan():
            return rot(joint.axis1, q[0]) @ rot(joint.axis2, q[1])
        case Planar():
            n = joint.normal / np.linalg.norm(joint.normal)
            u = joint.direction - n * (n @ joint.direction)
            u = u / np.linalg.norm(u)
            return tr(u * q[0] + np.cross(n, u) * q[1]) @ rot(n, q[2])
        case Spherical():
            return turn(q)
        case Floating():
            return tr(q[:3]) @ turn(q[3:])
    raise AssertionError(joint)


def pose_by_formula(joint, q):
    return tr(joint.origin) @ motion_by_formula(joint, q) @ turn(joint.orientation) @ tr(-joint.child_origin)


def dh_pose_by_formula(joint, q):
    theta = joint.theta + (joint.sign * q if joint.kind == "revolute" else 0.0)
    d = joint.d + (joint.sign * q if joint.kind == "prismatic" else 0.0)
    ct, st, ca, sa, a = np.cos(theta), np.sin(theta), np.cos(joint.alpha), np.sin(joint.alpha), joint.a
    if joint.convention == "standard":
        return np.array(
            [
                [ct, -ca * st, sa * st, a * ct],
                [st, ca * ct, -sa * ct, a * st],
                [0, sa, ca, d],
                [0, 0, 0, 1],
            ]
        )
    return np.array(
        [
            [ct, -st, 0, a],
            [st * ca, ct * ca, -sa, -sa * d],
            [st * sa, ct * sa, ca, ca * d],
            [0, 0, 0, 1],
        ]
    )
