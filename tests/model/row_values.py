"""Rows in plain NumPy, from poses and twists of bodies; and one of every constraint and force."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import mechgrad as mg
from mechgrad.model.primitives import rows as R
from mechgrad.model.primitives.frames import skew

H = 1e-30


def random_poses(rng, bodies):
    """A pose (R, r) for each body; the ground stays."""
    poses = {"ground": (np.eye(3), np.zeros(3))}
    for body in bodies:
        poses[body] = (Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))
    return poses


def random_twists(rng, bodies):
    """Angular velocity and velocity of the origin, for each body; the ground rests."""
    return {"ground": (np.zeros(3), np.zeros(3))} | {b: (rng.normal(size=3), rng.normal(size=3)) for b in bodies}


def places_in_world(row, poses):
    """World coordinates of the markers of a row."""
    return [poses[p.body][0] @ p.local + (poses[p.body][1] if p.is_point else 0.0) for p in row.places]


def value(row, poses, q=None, t=0.0):
    """Value of a holonomic row, from the definitions in `mechgrad.model.primitives.rows`."""
    x = places_in_world(row, poses)
    if row.kind == R.POINT:
        g = np.asarray(row.direction) @ (x[0] - x[1])
    elif row.kind == R.DOT:
        g = x[0] @ x[1]
    elif row.kind == R.PLANE:
        g = x[0] @ (x[1] - x[2])
    elif row.kind == R.DISTANCE:
        g = np.sqrt((x[0] - x[1]) @ (x[0] - x[1]))
    elif row.kind == R.LINEAR:
        g = sum(factor * q[name] for name, factor in row.coordinates)
    elif row.kind == R.ANGLE:
        g = np.arctan2((x[2] @ np.cross(x[0], x[1])), x[0] @ x[1])
    elif row.kind == R.SKEW:
        g = (x[0] @ x[1] - x[2] @ x[3]) / 2
    elif row.kind == R.PROFILE:
        g = x[0] @ (x[2] - x[3]) - row.profile(x[1] @ (x[2] - x[3]))
    else:
        assert row.kind == R.CIRCLE
        g = x[2] @ (x[0] - x[1]) - row.radius * np.sqrt(1 - (x[2] @ x[3]) ** 2)
    return g - row.constant - (0.0 if row.function is None else row.function(t))


def rate(row, poses, twists):
    """Rate of a row: of a holonomic one by a complex step along the twists, without functions of time."""
    if row.kind < R.FIRST_RATE_KIND:
        moved = {
            b: (rot + 1j * H * skew(twists[b][0]) @ rot, r + 1j * H * twists[b][1]) for b, (rot, r) in poses.items()
        }
        return value(row, moved).imag / H
    x, n, u = places_in_world(row, poses)
    c = x - row.radius * n
    e = u
    if row.kind != R.SLIP:
        e = np.cross(u, n) / np.linalg.norm(np.cross(u, n))
        down = n - (n @ u) * u
        c = x - row.radius * down / np.linalg.norm(down)
    if row.kind == R.ROLL_ACROSS:
        e = np.cross(n, e)
    if row.kind == R.ADVANCE:
        c = x
    a, b = row.places[0].body, row.places[1].body
    return e @ (velocity(c, a, poses, twists) - velocity(c, b, poses, twists))


def velocity(c, body, poses, twists):
    """Velocity of the material point of a body that is at c."""
    w, v = twists[body]
    return v + np.cross(w, c - poses[body][1])


def law_forces(law, poses, twists, q=None, qd=None, t=0.0):
    """Forces on the rows of a law, from the definitions in `mechgrad.model.primitives.rows`."""
    kinds = [row.kind for row in law.rows]
    rates = [
        sum(f * qd[name] for name, f in row.coordinates) if row.kind == R.LINEAR else rate(row, poses, twists)
        for row in law.rows
    ]
    g = value(law.rows[0], poses, q, t) if kinds[0] < R.FIRST_RATE_KIND else None
    gd = rates[0]
    if law.kind == R.SPRING:
        k, c, g0 = law.numbers
        return [k * (g - g0) + c * gd]
    if law.kind == R.CURVE:
        f0, f1 = law.functions
        return [f0(g - law.numbers[0]) + (0.0 if f1 is None else f1(gd))]
    if law.kind == R.MOTOR:
        return [-law.functions[0](t)]
    if law.kind == R.FRICTION:
        coulomb, viscous, speed = law.numbers
        return [coulomb * np.tanh(gd / speed) + viscous * gd]
    stiffness, damping, exponent = law.numbers[:3]
    push = max(stiffness * (-g) ** exponent * (1 - damping * gd), 0.0) if g < 0 else 0.0
    slips = np.array(rates[1:3])
    if law.kind == R.CONTACT:
        mu, speed = law.numbers[3:5]
        return [-push, *(mu * push * slips / np.sqrt(slips @ slips + speed**2))]
    assert law.kind == R.TYRE
    assert kinds == [R.CIRCLE, R.ROLL_ALONG, R.ROLL_ACROSS, R.ADVANCE]
    mu_x, mu_y, kappa, alpha, speed = law.numbers[3:8]
    fast = np.sqrt(rates[3] ** 2 + speed**2)
    return [-push, mu_x * push * np.tanh(slips[0] / kappa / fast), mu_y * push * np.tanh(slips[1] / alpha / fast), 0.0]


BODIES = ("cart", "arm", "rod", "ball", "wheel")


def _body(name, k):
    return mg.Body(name, 1.0 + k, com=(0.1 * k, -0.2, 0.05 * k), inertia=(0.2, 0.3, 0.4))


JOINTS = [
    mg.Prismatic("slide", "ground", "cart", origin=(0.1, 0.2, 0.3), axis=(1, 0.2, 0.1)),
    mg.Revolute("hinge", "cart", "arm", origin=(0.2, 0, 0.1), axis=(0.1, 1, 0.3), child_origin=(0.1, 0, 0)),
    mg.Revolute("knee", "arm", "rod", origin=(0.5, 0, 0), axis=(0.2, 1, 0)),
    mg.Floating("ball free", "ground", "ball"),
    mg.Floating("wheel free", "ground", "wheel"),
    mg.Spherical("B", "ground", "rod", origin=(1.0, 0.1, 0.2), child_origin=(0.6, 0.1, 0)),
]
POINTS = [
    mg.Point("on cart", "cart", (0.1, 0.2, -0.3)),
    mg.Point("on arm", "arm", (0.4, -0.2, 0.1)),
    mg.Point("on ball", "ball", (0.3, 0.1, 0.2)),
    mg.Point("hub", "wheel", (0.01, 0.02, 0.03)),
    mg.Point("spot", "ground", (0.5, 0.6, 0.1)),
]
VECTORS = [
    mg.Vector("up", "ground", (0.1, -0.2, 1.5)),
    mg.Vector("sideways", "ground", (0.4, 1.0, 0.3)),
    mg.Vector("cart axis", "cart", (0.3, 1.0, -0.4)),
    mg.Vector("cart edge", "cart", (1.0, 0.2, 0.5)),
    mg.Vector("arm axis", "arm", (0.2, -0.7, 0.4)),
    mg.Vector("axle", "wheel", (0.1, 2.0, 0.2)),
]
SPLINE = mg.functions.Spline((0, 0.4, 1, 1.7, 2), (0.1, 0.5, -0.2, 0.3, 0.4), ends="clamped")
HILLS = mg.surfaces.HeightMap(
    np.linspace(-12, 12, 5),
    np.linspace(-12, 12, 4),
    np.random.default_rng(3).uniform(-0.5, 0.5, 20).round(3),
    (0.3, 1.0, 0.2),
)
CONSTRAINTS = [
    mg.constraints.DotProduct("dot", "cart axis", "arm axis", 0.3),
    mg.constraints.Parallel("parallel", "cart axis", "arm axis"),
    mg.constraints.SameVector("same vector", "cart edge", "arm axis"),
    mg.constraints.AngleBetween("angle", "cart edge", "arm axis", "cart axis", angle=0.7),
    mg.constraints.AngleBetween(
        "turning", "cart edge", "arm axis", "cart axis", angle=mg.functions.Polynomial((0.1, 2, 0.3))
    ),
    mg.constraints.FixedDistance("distance", "on cart", "on ball", 0.9),
    mg.constraints.FixedDistance("winch", "arm.com", "on ball", mg.functions.Harmonic(0.2, 1.5, phase=0.3, offset=1.0)),
    mg.constraints.SamePoint("same point", "on arm", "on ball"),
    mg.constraints.PointInPlane("in plane", "on ball", "spot", "up", 0.2),
    mg.constraints.PointOnLine("on line", "on ball", "on cart", "cart axis"),
    mg.constraints.PointOnCurve("wire", "on ball", "on cart", "cart edge", "cart axis", SPLINE),
    mg.constraints.PointOnCurve(
        "waves", "hub", "spot", "up", "sideways", mg.functions.Harmonic(0.3, 0.4, phase=0.2, offset=0.1)
    ),
    mg.constraints.LinearCombination(
        "sum", {"slide": 1.5, "hinge": -0.5, "knee": 2.0}, mg.functions.Table((0, 1, 2), (0.1, 0.3, 0.2))
    ),
    mg.constraints.Gear("gear", "hinge", "knee", 1.7, 0.2),
    mg.constraints.Driver("driver", "slide", SPLINE),
    mg.constraints.GuidedPoint(
        "guided", "on arm", x=0.3, z=mg.functions.Spline((0, 1, 2, 3), (0.1, 0.2, 0.5, 0.3), ends="not-a-knot")
    ),
    mg.constraints.Rolling("ball rolls", "ball.origin", 0.3, "up", contact=True, plane_point="spot"),
    mg.constraints.Rolling(
        "wheel rolls", "hub", 0.4, "up", kind="wheel", axis="axle", contact=True, plane_point="spot"
    ),
    mg.constraints.Rolling("wheel skims", "hub", 0.5, "cart axis", kind="wheel", axis="axle"),
]
FORCES = [
    mg.forces.SpringDamper("spring", "on cart", "on ball", 100.0, 3.0, 0.4),
    mg.forces.SpringCurve(
        "curve", "spot", "on arm", SPLINE, damper=mg.functions.Polynomial((0, 5.0, 0.1)), free_length=0.2
    ),
    mg.forces.SpringCurve("plain curve", "spot", "on arm", mg.functions.Table((-1, 0, 1), (-5.0, 0.5, 9.0))),
    mg.forces.TorsionSpring("torsion", "hinge", 5.0, 0.3, 0.1),
    mg.forces.JointSpring("sprung", "slide", 5.0, 0.3, 0.1),
    mg.forces.Bushing(
        "bushing",
        "on cart",
        "on arm",
        (1, 2, 3),
        (0.1, 0.2, 0.3),
        (4, 5, 6),
        (0.4, 0.5, 0.6),
        (1, 0.2, 0.3, -0.1),
        (0.9, -0.2, 0.1, 0.4),
    ),
    mg.forces.Motor("motor", "knee", SPLINE),
    mg.forces.Motor("constant motor", "slide", 3.0),
    mg.forces.JointFriction("friction", "hinge", 0.3, 0.02, 0.05),
    mg.forces.SphereContact("sphere contact", "on ball", 0.1, "spot", "up", 1e4, 0.2, 1.5, 0.3, 0.02),
    mg.forces.WheelContact("wheel contact", "hub", "axle", 0.3, "spot", "up", 1e4, 0.2, 1.2, 0.3, 0.02),
    mg.forces.Tyre("tyre", "hub", "axle", 0.35, "spot", "up", 2e5, 0.1, 1.1, 1.0, 0.9, 0.12, 0.14, 0.2),
    mg.forces.SphereContact(
        "viscous sphere", "on ball", 0.1, "spot", "up", 1e4, 0.2, 1.5, 0.3, 0.02, 70.0, 50.0, 2.0, 0.5
    ),
    mg.forces.Tyre(
        "viscous tyre",
        "hub",
        "axle",
        0.35,
        "spot",
        "up",
        2e4,
        0.1,
        1.1,
        1.0,
        0.9,
        0.12,
        0.14,
        0.2,
        90.0,
        60.0,
        3.0,
        0.4,
    ),
    mg.forces.SphereContact(
        "sphere on bump",
        "on ball",
        0.4,
        "spot",
        "up",
        1e4,
        0.2,
        1.5,
        0.3,
        0.02,
        70.0,
        50.0,
        2.0,
        0.5,
        mg.surfaces.Bump(centre=0.1, height=0.9, length=9.0, heading=(1.0, 0.3, 0.1)),
    ),
    mg.forces.WheelContact(
        "rim on map", "hub", "axle", 0.9, "spot", "up", 1e4, 0.2, 1.2, 0.3, 0.02, 70.0, 50.0, 2.0, 0.5, ground=HILLS
    ),
    mg.forces.Tyre(
        "tyre on shaker",
        "hub",
        "axle",
        0.9,
        "on cart",
        "cart axis",
        2e4,
        0.1,
        1.1,
        1.0,
        0.9,
        0.12,
        0.14,
        0.2,
        compression_damping=70.0,
        restitution_damping=50.0,
        damping_depth=2.0,
        damping_speed=0.5,
        ground=mg.surfaces.MovingPlane(mg.functions.Harmonic(0.1, 0.7, 0.2, 0.3)),
    ),
    mg.forces.EllipseTyre(
        "ellipse tyre",
        "hub",
        "axle",
        0.9,
        "spot",
        "up",
        2e4,
        90.0,
        60.0,
        0.5,
        0.6,
        1.1,
        0.9,
        0.3,
        1.2,
        0.1,
        2.0,
        0.4,
        mg.surfaces.Step(start=-2.0, height=0.4, width=5.0, heading=(0.9, 0.2, -0.3)),
    ),
    mg.forces.MagicFormulaTyre(
        "magic tyre",
        "hub",
        "axle",
        0.9,
        "on arm",
        "arm axis",
        2e4,
        4e3,
        90.0,
        60.0,
        1.1,
        0.9,
        3.0,
        2.5,
        1.6,
        1.3,
        -0.4,
        -0.8,
        0.7,
        0.05,
        0.1,
        0.2,
        0.3,
        1.2,
        0.1,
        2.0,
        0.4,
        ground=HILLS,
    ),
    mg.forces.SphereContact(
        "sphere on hull",
        "on ball",
        3.4,
        "on cart",
        "cart axis",
        1e4,
        0.2,
        1.5,
        0.3,
        0.2,
        70.0,
        50.0,
        2.0,
        0.5,
        mg.surfaces.Superellipsoid(0.3, 0.2, 0.25, 4, (1.0, 0.3, 0.1)),
    ),
    mg.forces.BodyContact("balls", "on ball", "hub", 1.9, 2.1, 1e4, 0.2, 1.5, 0.3, 0.2),
    mg.forces.BodyContact(
        "links", "on arm", "hub", 0.9, 1.1, 1e4, 0.2, 1.2, 0.3, 0.2, "arm axis", "axle", 3.5, 4.2, 70.0, 50.0, 2.0, 0.5
    ),
]


def cubic_law(t, g, gd):
    """A force at module level, so that it can be pickled."""
    return 5.0 * g**3 + gd * t


USER_FORCE = mg.forces.UserForce(
    "user",
    [
        mg.measures.Distance("on cart", "on ball"),
        mg.measures.JointCoordinate("hinge"),
        mg.measures.Height("on ball", "spot", "up"),
        mg.measures.Offset("on arm", "spot", (1, 2, 2)),
    ],
    cubic_law,
)


def model_with(constraints=(), forces=()):
    """Five bodies and one loop, closed by the ball "B", with constraints and forces as asked for."""
    bodies = [_body(name, k) for k, name in enumerate(BODIES)]
    return mg.Model("everything", bodies, JOINTS, POINTS, VECTORS, constraints=constraints, forces=forces)


def everything(user=True):
    """A model that has one of every constraint and force; not meant to be moved."""
    return model_with(CONSTRAINTS, [*FORCES, USER_FORCE] if user else FORCES)
