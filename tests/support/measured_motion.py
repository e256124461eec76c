"""A mechanism with a floating body, a ball, a hinge and a slider behind it, and its mechanics written out by hand.

    ground --ball--> arm --hinge--> fore --slider--> tool        kite floats; a spring and a rope tie it to the tool

Positions, velocities and accelerations of bodies follow from (q, v, a) by the textbook recursion; forces are those of
the docstrings of the elements. Nothing here asks the library but for the model itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import mechgrad as mg

GRAVITY = np.array([0.3, -0.4, -9.7])
MASS = {"kite": 0.7, "arm": 1.4, "fore": 0.9, "tool": 0.6}
COM = {"kite": (0.1, 0.05, -0.1), "arm": (0.2, -0.05, 0.1), "fore": (0.15, 0.1, 0.0), "tool": (0.1, 0.0, 0.2)}
INERTIA = {
    "kite": (0.05, 0.06, 0.04, 0.01, 0.0, -0.005), "arm": (0.02, 0.05, 0.06, 0.0, 0.01, 0.0),
    "fore": (0.01, 0.03, 0.035, 0.002, 0.0, 0.003), "tool": (0.02, 0.015, 0.01, 0.0, 0.001, 0.002),
}  # fmt: skip
SHOULDER, ELBOW, REACH = np.array([0.1, -0.2, 0.3]), np.array([0.4, 0.1, -0.05]), np.array([0.3, 0.0, 0.1])
BALL_SEAT, HINGE_SEAT = np.array([-0.05, 0.1, 0.02]), np.array([0.04, -0.03, 0.06])
HINGE_AXIS, SLIDE_AXIS = np.array([0.2, 1.0, 0.3]), np.array([1.0, 0.1, -0.2])
POINTS = {"tip": ("tool", (0.2, 0.1, 0.05)), "ring": ("kite", (0.1, -0.2, 0.15)), "eye": ("kite", (-0.1, 0.1, 0.2)),
          "wall": ("ground", (0.9, 1.0, 0.4)), "hub": ("arm", (0.3, 0.2, -0.1)),
          "road": ("ground", (0.0, 0.0, -0.35))}  # fmt: skip
VECTORS = {"beak": ("tool", (0.5, 0.2, 1.5)), "tail": ("kite", (0.3, 2.0, -0.4)), "mast": ("arm", (1.0, -0.6, 0.5)),
           "sky": ("ground", (0.0, 0.0, 1.0))}  # fmt: skip
TORQUE = (0.0, 0.05, 0.12, 0.2), (2.0, -1.0, 0.5, 1.5)
SPRING = {"stiffness": 60.0, "damping": 2.5, "free_length": 0.6}
BEND = {"stiffness": 4.0, "damping": 0.3, "free_angle": 0.5}
RUB = {"coulomb": 0.5, "viscous": 0.2, "speed": 0.3}
K, C, KR, CR = (20.0, 30.0, 10.0), (1.0, 0.5, 2.0), (3.0, 5.0, 4.0), (0.2, 0.1, 0.3)
TYRE = {"radius": 0.5, "stiffness": 40.0, "compression_damping": 3.0, "restitution_damping": 3.0, "slip_speed": 0.4,
        "critical_slip": 0.9, "critical_angle": 0.7, "friction_x": 0.8, "friction_y": 0.6}  # fmt: skip
BUMP = {"centre": 0.3, "height": 0.1, "length": 2.5}  # of its road
FRAME_A, FRAME_B = (0.9, 0.3, -0.2, 0.4), (0.7, -0.4, 0.5, 0.1)


def model(rope=True):
    """The mechanism; the rope keeps the distance that ring and tip have at the start."""
    bodies = [mg.Body(name, MASS[name], com=COM[name], inertia=inertia(name)) for name in MASS]
    joints = [
        mg.Floating("free", "ground", "kite"),
        mg.Spherical("ball", "ground", "arm", origin=SHOULDER, child_origin=BALL_SEAT),
        mg.Revolute("elbow", "arm", "fore", origin=ELBOW, axis=HINGE_AXIS, child_origin=HINGE_SEAT),
        mg.Prismatic("reach", "fore", "tool", origin=REACH, axis=SLIDE_AXIS),
    ]
    forces = [
        mg.forces.SpringDamper("spring", "eye", "tip", **SPRING),
        mg.forces.TorsionSpring("bend", "elbow", **BEND),
        mg.forces.Motor("drive", "elbow", mg.functions.Spline(*TORQUE)),
        mg.forces.JointFriction("rub", "reach", **RUB),
        mg.forces.Bushing("mount", "wall", "eye", K, C, KR, CR, FRAME_A, FRAME_B),
        mg.forces.EllipseTyre(
            "roll", "hub", "mast", plane_point="road", normal="sky", ground=mg.surfaces.Bump(**BUMP), **TYRE
        ),
    ]
    points = [mg.Point(name, *place) for name, place in POINTS.items()]
    vectors = [mg.Vector(name, *place) for name, place in VECTORS.items()]
    ropes = [mg.constraints.FixedDistance("rope", "ring", "tip", rope_length())] if rope else []
    return mg.Model("measured", bodies, joints, points, vectors, GRAVITY, constraints=ropes, forces=forces)


def start():
    """q and v without symmetry; q is (kite 7, ball 4, elbow, reach), v (kite 6, ball 3, elbow, reach). The rope keeps
    its length."""
    turns = [np.roll(Rotation.from_rotvec(r).as_quat(), 1) for r in ((0.4, -0.3, 0.6), (-0.5, 0.2, 0.7))]
    q = np.concatenate(([0.6, 0.9, -0.2], turns[0], turns[1], [0.8, 0.15]))
    v = np.array([0.4, -0.3, 0.5, 0.9, -0.6, 0.7, -0.8, 0.5, 1.1, -1.3, 0.4])
    along, _, rate = length_and_rate(rigid(q, v), "ring", "tip")
    v[:3] -= rate * along
    return q, v


@dataclass(frozen=True)
class Rigid:
    """Motion of a body, world axes: rotation, and of its origin position, velocity, acceleration."""

    R: np.ndarray
    w: np.ndarray
    dw: np.ndarray
    p: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def fixed(self, local):
        """Position, velocity, acceleration of a point of the body."""
        arm = self.R @ np.asarray(local)
        return (
            self.p + arm,
            self.v + np.cross(self.w, arm),
            self.a + np.cross(self.dw, arm) + np.cross(self.w, np.cross(self.w, arm)),
        )

    def turned(self, local):
        """A vector of the body with its rates."""
        u = self.R @ np.asarray(local)
        return u, np.cross(self.w, u), np.cross(self.dw, u) + np.cross(self.w, np.cross(self.w, u))


REST = Rigid(np.eye(3), *np.zeros((5, 3)))


def hung(R, w, dw, point, seat):
    """A body whose point `seat` moves as `point` = (x, xd, xdd) says."""
    arm = -R @ seat
    x, xd, xdd = point
    return Rigid(R, w, dw, x + arm, xd + np.cross(w, arm), xdd + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)))


def matrix(e):
    return Rotation.from_quat(np.roll(e, -1)).as_matrix()


def rigid(q, v, a=None):
    """Motion of all bodies, joint by joint."""
    a = np.zeros(11) if a is None else a
    kite = Rigid(matrix(q[3:7]), v[3:6], a[3:6], q[:3], v[:3], a[:3])
    arm = hung(matrix(q[7:11]), v[6:9], a[6:9], (SHOULDER, np.zeros(3), np.zeros(3)), BALL_SEAT)
    axis = HINGE_AXIS / np.linalg.norm(HINGE_AXIS)
    u = arm.R @ axis
    fore = hung(
        arm.R @ Rotation.from_rotvec(q[11] * axis).as_matrix(), arm.w + v[9] * u,
        arm.dw + a[9] * u + np.cross(arm.w, v[9] * u), arm.fixed(ELBOW), HINGE_SEAT,
    )  # fmt: skip
    along = SLIDE_AXIS / np.linalg.norm(SLIDE_AXIS)
    x, xd, xdd = fore.fixed(REACH + q[12] * along)
    u = fore.R @ along
    tool = Rigid(fore.R, fore.w, fore.dw, x, xd + v[10] * u, xdd + 2 * np.cross(fore.w, v[10] * u) + a[10] * u)
    return {"ground": REST, "kite": kite, "arm": arm, "fore": fore, "tool": tool}


def point(bodies, name):
    body, local = POINTS[name]
    return bodies[body].fixed(local)


def vector(bodies, name):
    body, local = VECTORS[name]
    return bodies[body].turned(local)


def rope_length():
    bodies = rigid(*start())
    return float(np.linalg.norm(point(bodies, "ring")[0] - point(bodies, "tip")[0]))


def height(bodies, name, plane, normal):
    """Of a point over a plane through another, across a vector."""
    n = vector(bodies, normal)[0]
    return n @ (point(bodies, name)[0] - point(bodies, plane)[0]) / np.linalg.norm(n)


def length_and_rate(bodies, first, second):
    """Unit vector from the second to the first, distance, rate."""
    (x, xd, _), (y, yd, _) = point(bodies, first), point(bodies, second)
    d = np.linalg.norm(x - y)
    return (x - y) / d, d, (x - y) @ (xd - yd) / d


def torque(t):
    """Of the motor, within its knots."""
    return float(CubicSpline(*TORQUE, bc_type="natural")(t))


def spring_force(bodies):
    _, d, rate = length_and_rate(bodies, "eye", "tip")
    return SPRING["stiffness"] * (d - SPRING["free_length"]) + SPRING["damping"] * rate


def mount(bodies):
    """Displacements and sines of rotation of the bushing, their rates, and the levers of the latter."""
    A, B = (matrix(FRAME_A) @ np.eye(3)).T, (bodies["kite"].R @ matrix(FRAME_B)).T
    (x_a, _, _), (x_b, xd, _) = point(bodies, "wall"), point(bodies, "eye")
    lever = np.array([np.cross(B[i - 2], A[i - 1]) - np.cross(B[i - 1], A[i - 2]) for i in range(3)]) / 2
    sine = np.array([A[i - 1] @ B[i - 2] - A[i - 2] @ B[i - 1] for i in range(3)]) / 2
    return A, A @ (x_b - x_a), A @ xd, sine, lever @ bodies["kite"].w, lever


def mount_forces(bodies):
    """The six efforts: three forces, three moments."""
    _, d, dd, s, sd, _ = mount(bodies)
    return np.concatenate((np.multiply(K, d) + np.multiply(C, dd), np.multiply(KR, s) + np.multiply(CR, sd)))


def tyre_contact(bodies):
    """Load, slip, slip angle, forces along and across, depth of a tyre on the arm, on a ridge across x."""
    (x, xd, _), axis = point(bodies, "hub"), vector(bodies, "mast")[0]
    axis = axis / np.linalg.norm(axis)
    u = 2 * (x[0] - BUMP["centre"]) / BUMP["length"]
    height, slope = BUMP["height"] * (1 - u**2) ** 3, -12 * BUMP["height"] / BUMP["length"] * u * (1 - u**2) ** 2
    n = np.array([-slope, 0.0, 1.0]) / np.hypot(1.0, slope)
    down = (n @ axis) * axis - n
    down = down / np.linalg.norm(down)
    depth = n @ (np.array([x[0], x[1], POINTS["road"][1][2] + height]) - x - TYRE["radius"] * down)
    lowest = xd + np.cross(bodies["arm"].w, TYRE["radius"] * down)
    ahead = np.cross(axis, n) / np.linalg.norm(np.cross(axis, n))
    across = np.cross(n, ahead)
    load = TYRE["stiffness"] * depth - TYRE["compression_damping"] * (n @ lowest)
    speed = np.hypot(ahead @ xd, TYRE["slip_speed"])
    slip, drift = -(ahead @ lowest) / speed, (across @ lowest) / speed
    part = np.array([slip / TYRE["critical_slip"], -drift / TYRE["critical_angle"]])
    grip = load * np.tanh(np.linalg.norm(part)) * part / np.linalg.norm(part)
    return np.array([load, slip, np.arctan(drift), TYRE["friction_x"] * grip[0], TYRE["friction_y"] * grip[1], depth])


def kinetic_energy(bodies):
    total = 0.0
    for name, m in MASS.items():
        body, (_, xd, _) = bodies[name], bodies[name].fixed(COM[name])
        total += m * xd @ xd / 2 + body.w @ body.R @ inertia(name) @ body.R.T @ body.w / 2
    return total


def centre_of_mass(bodies):
    """Sum of masses times centres, by the total mass."""
    return sum(m * bodies[name].fixed(COM[name])[0] for name, m in MASS.items()) / sum(MASS.values())


def momenta(bodies):
    """Sum of m x', and of x cross m x' + I w about the world's origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    for name, m in MASS.items():
        body, (x, xd, _) = bodies[name], bodies[name].fixed(COM[name])
        linear += m * xd
        angular += np.cross(x, m * xd) + body.R @ inertia(name) @ body.R.T @ body.w
    return linear, angular


def potential_energy(bodies, q):
    """Gravity, and every linear spring: between points, of the hinge, and the six of the bushing."""
    total = -sum(m * GRAVITY @ bodies[name].fixed(COM[name])[0] for name, m in MASS.items())
    _, d, _ = length_and_rate(bodies, "eye", "tip")
    total += SPRING["stiffness"] * (d - SPRING["free_length"]) ** 2 / 2
    total += BEND["stiffness"] * (q[11] - BEND["free_angle"]) ** 2 / 2
    _, d, _, s, _, _ = mount(bodies)
    return total + np.sum(np.multiply(K, d**2) + np.multiply(KR, s**2)) / 2


def inertia(name):
    """About the centre of mass, body axes: (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = INERTIA[name]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def needed(bodies, names, about):
    """Force and moment about a point that the inertia and the weight of bodies need."""
    force, moment = np.zeros(3), np.zeros(3)
    for name in names:
        body, (x, _, xdd) = bodies[name], bodies[name].fixed(COM[name])
        world = body.R @ inertia(name) @ body.R.T
        f = MASS[name] * (xdd - GRAVITY)
        force = force + f
        moment = moment + world @ body.dw + np.cross(body.w, world @ body.w) + np.cross(x - about, f)
    return force, moment


def rope_and_rest(bodies):
    """Tension of the rope from the balance of the kite, and what of its forces and moments is left over."""
    centre = bodies["kite"].fixed(COM["kite"])[0]
    force, moment = needed(bodies, ["kite"], centre)
    u, _, _ = length_and_rate(bodies, "eye", "tip")
    A, _, _, _, _, lever = mount(bodies)
    pushes = mount_forces(bodies)
    at_eye = -spring_force(bodies) * u - pushes[:3] @ A
    force, moment = force - at_eye, moment - np.cross(point(bodies, "eye")[0] - centre, at_eye) + pushes[3:] @ lever
    w, _, _ = length_and_rate(bodies, "ring", "tip")
    tension = -force @ w
    return tension, force + tension * w, moment + np.cross(point(bodies, "ring")[0] - centre, tension * w)


def elbow_reaction(bodies, tension):
    """Couple and force of the arm on the fore about the hinge: needs of fore and tool, less what spring and rope do."""
    about = bodies["fore"].fixed(HINGE_SEAT)[0]
    force, moment = needed(bodies, ["fore", "tool"], about)
    u, _, _ = length_and_rate(bodies, "eye", "tip")
    w, _, _ = length_and_rate(bodies, "ring", "tip")
    tip = point(bodies, "tip")[0]
    at_tip = spring_force(bodies) * u + tension * w
    return moment - np.cross(tip - about, at_tip), force - at_tip
