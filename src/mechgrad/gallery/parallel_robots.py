"""Robots whose platform is carried by several legs or arms at once: a Stewart platform, a delta robot."""

from __future__ import annotations

import numpy as np

from mechgrad.errors import InputError
from mechgrad.gallery.solids import rod
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.state import State
from mechgrad.model import Body, Cardan, Floating, Model, Motor, Point, Prismatic, Revolute, Spherical
from mechgrad.model.joints import Joint
from mechgrad.typing import ArrayLike, FloatArray

__all__ = ["delta_robot", "delta_robot_start", "stewart_platform", "stewart_platform_start"]

G = 9.81  # [m/s^2]
_UP = np.array([0.0, 0.0, 1.0])

# the Stewart platform: joints on circles [m, degrees]
BASE = (1.0, (-10.0, 10.0, 110.0, 130.0, 230.0, 250.0))
TOP = (0.6, (-50.0, 50.0, 70.0, 170.0, 190.0, 290.0))
HOME = 1.0  # height of the plate [m]
PLATE = 50.0  # [kg]
CYLINDER, PISTON = (4.0, 0.6, 0.04), (2.0, 0.6, 0.02)  # mass [kg], length [m], radius [m]

# the delta robot: sides of the triangles of base and platform, upper arms, rods of the parallelograms [m]
BASE_SIDE, PLATFORM_SIDE, UPPER_ARM, ROD = 0.4573, 0.115, 0.112, 0.232
RODS_APART = 0.06  # of a parallelogram [m]
ARM_MASS, ROD_MASS, PLATFORM_MASS = 0.12, 0.03, 0.15  # [kg]


def stewart_platform() -> Model:
    """A Stewart platform: six legs with motors carry a plate, and put it anywhere, turned in any way.

    Legs go from a circle of 1 m on the ground (at -10, 10, 110, 130, 230, 250 degrees) to one of 0.6 m on the plate (at
    -50, 50, 70, 170, 190, 290), 1 m over it at q = 0. The plate has 50 kg and 4, 4, 8 kg m^2; a leg is a cylinder of 4
    kg, 0.6 m, in a universal joint, and a piston of 2 kg, 0.6 m, that slides in it and ends in a ball. All numbers are
    this project's choice. Gravity 9.81 m/s^2 along -z.

    Coordinates: `pose.x` .. `pose.e3` of the plate, from its home; of each leg k = 0 .. 5 `leg k.angle1`, `leg
    k.angle2`, and `slide k`, by how much [m] it is longer than at home. With p, R of the plate, b_k and t_k of the
    joints,

        length_k = |p + R t_k - b_k|

    The balls `ball k` are cut. Six degrees of freedom. The motors `drive k` push with the constant force [N] that
    carries the weight at home: numbers `drive 0.torque.value`, ... `stewart_platform_start` has legs of other lengths.

    >>> model = stewart_platform()
    >>> len(model.bodies), model.n_v, mg.mobility(model, model.neutral()).freedoms
    (13, 24, 6)
    >>> bool(np.abs(mg.forward_dynamics(model, model.neutral())).max() < 1e-9)
    True
    """
    base, top = _circle(*BASE), _circle(*TOP)
    home = np.array([0.0, 0.0, HOME])
    bodies = [Body("plate", PLATE, inertia=(4.0, 4.0, 8.0))]
    joints: list[Joint] = [Floating("pose", "ground", "plate", home)]
    points = [Point("centre", "plate")]
    for k, (foot, head) in enumerate(zip(base, top, strict=True)):
        leg = home + head - foot
        length = float(np.sqrt(leg @ leg))
        along = leg / length
        level = np.cross(_UP, along)
        bodies += [
            rod(f"cylinder {k}", CYLINDER[0], CYLINDER[1] * along, CYLINDER[2]),
            rod(f"piston {k}", PISTON[0], -PISTON[1] * along, PISTON[2]),
        ]
        joints += [
            Cardan(f"leg {k}", "ground", f"cylinder {k}", foot, axis1=level, axis2=np.cross(along, level)),
            Prismatic(f"slide {k}", f"cylinder {k}", f"piston {k}", leg, axis=along),
            Spherical(f"ball {k}", "plate", f"piston {k}", head),
        ]
        points += [Point(f"base {k}", "ground", foot), Point(f"top {k}", "plate", head)]
    push = _weight_on_a_leg(home + top[0] - base[0])
    forces = [Motor(f"drive {k}", f"slide {k}", push) for k in range(6)]
    cut = [f"ball {k}" for k in range(6)]
    return Model("Stewart platform", bodies, joints, points, gravity=(0, 0, -G), forces=forces, cut=cut)


def stewart_platform_start(model: Model, slides: ArrayLike = (0.0,) * 6, rates: ArrayLike = (0.0,) * 6) -> State:
    """The platform with its legs longer than at home by these six lengths [m], changing at these rates [m/s].

    >>> model = stewart_platform()
    >>> start = stewart_platform_start(model, slides=[0.1] * 6)
    >>> model.q_names[2], round(float(start.q[2]), 3)
    ('pose.z', 0.118)
    """
    wanted = [np.asarray(given, float) for given in (slides, rates)]
    for name, given in zip(("slides", "rates"), wanted, strict=True):
        if given.shape != (6,) or not np.isfinite(given).all():
            raise InputError(f"{name} is {given.tolist()}; give six finite numbers, one of each leg.")
    held, moving = ({f"slide {k}": float(x) for k, x in enumerate(given)} for given in wanted)
    return assemble(model, held, moving, guess=model.neutral())


def _weight_on_a_leg(leg: FloatArray) -> float:
    """Force [N] in each of six equal legs that keeps the plate from sinking: virtual work of all weights.

    While the plate rises by 1, a leg gets longer by u_z, and its direction's height u_z grows by (1 - u_z^2) / length.
    """
    length = float(np.sqrt(leg @ leg))
    climb = leg[2] / length
    turn = (1.0 - climb**2) / length
    cylinder = CYLINDER[0] * turn * CYLINDER[1] / 2
    piston = PISTON[0] * (1.0 - turn * PISTON[1] / 2)
    return float(G * (PLATE / 6 + cylinder + piston) / climb)


def _circle(radius: float, degrees: tuple[float, ...]) -> FloatArray:
    angles = np.radians(degrees)
    return np.asarray(radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(len(degrees))], axis=1))


def delta_robot() -> Model:
    """A delta robot: three arms with parallelograms carry a platform that moves in space and never turns.

    Clavel's robot with the lengths of the widely used tutorial "Delta robot kinematics" of the Trossen Robotics forum:
    triangles with sides of 457.3 mm (motors, in the middle of the sides) and 115 mm (platform), upper arms of 112 mm,
    rods of 232 mm. Rods of a pair are 60 mm apart; masses are this project's choice: arms 0.12 kg, rods 0.03 kg each,
    platform 0.15 kg. The base hangs at z = 0, gravity is 9.81 m/s^2 along -z.

    Coordinates: `arm 0` .. `arm 2` at azimuths of 0, 120, 240 degrees, 0 when level, positive downwards [rad];
    `pose.x` .. `pose.e3` of the platform from where it is with level arms, 96.9 mm under the base; two angles
    of each of the six rods, `elbow 0 left.angle1`, ... Their balls at the platform are cut. Three degrees of freedom.
    With the radii R and r of the two circles within the triangles, the platform stands where three spheres meet:

        |p - c_k| = 0.232 m,     c_k = (R - r + 0.112 cos(arm k)) e_k - 0.112 sin(arm k) e_z

    At q = 0 the arms are level; `delta_robot_start` lowers them.

    >>> model = delta_robot()
    >>> len(model.bodies), model.n_v, mg.mobility(model, model.neutral()).freedoms
    (10, 21, 3)
    """
    wide, narrow, reach, depth = _delta_sizes()
    bodies = [Body("platform", PLATFORM_MASS, inertia=(6e-5, 6e-5, 1.1e-4))]
    joints: list[Joint] = [Floating("pose", "ground", "platform", (0, 0, -depth))]
    points = [Point("tool", "platform")]
    cut = []
    for k in range(3):
        out, side = _delta_axes(k)
        way = -reach * out - depth * _UP  # along a rod
        bodies.append(rod(f"upper arm {k}", ARM_MASS, UPPER_ARM * out, 0.01))
        joints.append(Revolute(f"arm {k}", "ground", f"upper arm {k}", wide * out, axis=side))
        for name, shift in (("left", RODS_APART / 2 * side), ("right", -RODS_APART / 2 * side)):
            bar = f"rod {k} {name}"
            bodies.append(rod(bar, ROD_MASS, way, 0.003))
            joints += [
                Cardan(
                    f"elbow {k} {name}",
                    f"upper arm {k}",
                    bar,
                    UPPER_ARM * out + shift,
                    axis1=side,
                    axis2=np.cross(way, side),
                ),
                Spherical(f"ball {k} {name}", "platform", bar, narrow * out + shift, child_origin=way),
            ]
            cut.append(f"ball {k} {name}")
    return Model("delta robot", bodies, joints, points, gravity=(0, 0, -G), cut=cut)


def delta_robot_start(model: Model, arms: ArrayLike = (0.6, 0.6, 0.6)) -> State:
    """The delta robot at rest with its arms lowered by these angles [rad], the platform below the elbows.

    >>> model = delta_robot()
    >>> start = delta_robot_start(model)
    >>> model.q_names[2], round(float(start.q[2]), 3)
    ('pose.z', -0.098)
    """
    angles = np.asarray(arms, float)
    if angles.shape != (3,) or not np.isfinite(angles).all():
        raise InputError(f"arms is {arms!r}; give three finite angles [rad].")
    wide, narrow, reach, depth = _delta_sizes()
    place = _where_three_spheres_meet(angles)
    found = {"pose.x": place[0], "pose.y": place[1], "pose.z": place[2] + depth, "pose.e0": 1.0}
    for k, angle in enumerate(angles):
        out, side = _delta_axes(k)
        way = (-reach * out - depth * _UP) / ROD
        bar = (place - (wide - narrow + UPPER_ARM * np.cos(angle)) * out + UPPER_ARM * np.sin(angle) * _UP) / ROD
        c, s = np.cos(angle), np.sin(angle)
        # in axes of the arm, which has turned about `side`: from out towards -z
        bar = (
            (c * (bar @ out) - s * (bar @ _UP)) * out + (bar @ side) * side + (s * (bar @ out) + c * (bar @ _UP)) * _UP
        )
        found[f"arm {k}"] = angle
        for name in ("left", "right"):
            found[f"elbow {k} {name}.angle1"] = np.arctan2(-bar @ np.cross(way, side), bar @ way)
            found[f"elbow {k} {name}.angle2"] = np.arcsin(bar @ side)
    held = {f"arm {k}": float(angle) for k, angle in enumerate(angles)}
    guess = np.array([found.get(name, 0.0) for name in model.q_names])
    return assemble(model, held, dict.fromkeys(held, 0.0), guess=guess)


def _delta_sizes() -> tuple[float, float, float, float]:
    """Radii of the circles in base and platform; with level arms: reach of a rod inwards and downwards [m]."""
    wide, narrow = float(BASE_SIDE / np.sqrt(12.0)), float(PLATFORM_SIDE / np.sqrt(12.0))
    reach = wide - narrow + UPPER_ARM
    return wide, narrow, reach, float(np.sqrt(ROD**2 - reach**2))


def _delta_axes(k: int) -> tuple[FloatArray, FloatArray]:
    """Directions outwards along arm k, and of its motor's axis."""
    azimuth = 2 * np.pi / 3 * k
    out = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    return out, np.array([-out[1], out[0], 0.0])


def _where_three_spheres_meet(angles: FloatArray) -> FloatArray:
    """Place of the platform [m]: under the circle through the three centres, as deep as the rods are long."""
    wide, narrow, _, _ = _delta_sizes()
    first, second, third = (
        (wide - narrow + UPPER_ARM * np.cos(x)) * _delta_axes(k)[0] - UPPER_ARM * np.sin(x) * _UP
        for k, x in enumerate(angles)
    )
    a, b = first - third, second - third
    normal = np.cross(a, b)
    centre = third + np.cross((a @ a) * b - (b @ b) * a, normal) / (2 * (normal @ normal))
    radius = float(np.sqrt((first - centre) @ (first - centre)))
    if not radius < ROD:
        raise InputError(
            f"arms is {angles.tolist()} rad: the elbows are on a circle of {radius:.4g} m, where rods of {ROD} m "
            "do not meet. Lower the arms, or raise them, so that the elbows come closer to each other."
        )
    return np.asarray(centre - np.sqrt(ROD**2 - radius**2) * normal / np.sqrt(normal @ normal))
