"""Cars that move up and down only: a quarter of one, and one seen from the side."""

from __future__ import annotations

from mechgrad.model import Body, JointSpring, Model, Point, Prismatic, Revolute, SpringDamper
from mechgrad.model.shapes import Box, Cylinder, Ring, Shape

__all__ = ["half_car", "quarter_car"]

G = 9.81  # [m/s^2]
_UP = (0.0, 0.0, 1.0)
SPRUNG = 250.0  # of the quarter car [kg]; the published numbers are ratios to it
STRUT_LENGTH = 0.3  # of the half car at rest [m]


def quarter_car() -> Model:
    """A quarter of a car, the "Golden Car" that roughness of roads is measured with: body over wheel over tyre.

    Published are ratios to the mass of the body (Sayers 1995, for the International Roughness Index; ASTM E1926): tyre
    653 1/s^2, spring 63.3 1/s^2, damper 6 1/s, wheel 0.15. With a body of 250 kg these are 163.25 kN/m, 15.825 kN/m,
    1500 N s/m and 37.5 kg.

              body       height z_b        m_b z_b'' = -k (z_b - z_w) - c (z_b' - z_w')
           k / | c
              wheel      height z_w        m_w z_w'' =  k (z_b - z_w) + c (z_b' - z_w') - k_t z_w
          k_t /
        ------------

    Coordinates: `hop` = z_w and `travel` = z_b - z_w [m], upwards, from where the car rests under gravity of 9.81
    m/s^2: the springs `tyre` and `strut` carry the weight there. Roots s of small motions:

        m_b m_w s^4 + c (m_b + m_w) s^3 + (k (m_b + m_w) + k_t m_b) s^2 + c k_t s + k k_t = 0

    >>> model = quarter_car()
    >>> model.q_names, model.total_mass
    (('hop', 'travel'), 287.5)
    >>> [round(mode.frequency, 2) for mode in mg.linearise(model, {"hop": 0.0, "travel": 0.0}).modes]      # [Hz]
    [1.24, 10.76]
    """
    wheel, spring, tyre, damper = 0.15 * SPRUNG, 63.3 * SPRUNG, 653.0 * SPRUNG, 6.0 * SPRUNG
    chassis = Box((1.1, 0.7, 0.26), origin=(0.0, 0.0, 0.85))
    return Model(
        "quarter car",
        [Body("wheel", wheel, shape=_wheel(0.0)), Body("body", SPRUNG, shape=chassis)],
        [Prismatic("hop", "ground", "wheel", axis=_UP), Prismatic("travel", "wheel", "body", axis=_UP)],
        gravity=(0, 0, -G),
        forces=[
            JointSpring("tyre", "hop", tyre, free_position=(SPRUNG + wheel) * G / tyre),
            JointSpring("strut", "travel", spring, damping=damper, free_position=SPRUNG * G / spring),
        ],
    )


def half_car() -> Model:
    """A car from the side: a body that heaves and pitches on two axles, each on its tyres.

    The body, 1200 kg and 2100 kg m^2, has its axles 0.9 m before and 1.2 m behind its centre of mass, with 28 kN/m and
    2500 N s/m before, 21 kN/m and 2000 N s/m behind, per wheel: the numbers of the Simulink example "Automotive
    Suspension". Here an axle has twice that, and, this project's choice, 80 kg and tyres of 400 kN/m; struts are 0.3 m
    long at rest.

        <- x    rear mount ------ centre of mass -------- front mount
                    |  k_r, c_r                              |  k_f, c_f
                rear axle                                front axle
                    |  tyre                                  |  tyre

    Coordinates: `heave` of the centre of mass [m] upwards, `pitch` [rad] about y (positive: nose down, x is forward),
    `front hop` and `rear hop` of the axles [m], all from where the car rests under gravity of 9.81 m/s^2. To first
    order the mounts rise by heave - 0.9 pitch and heave + 1.2 pitch, and small motions do not depend on what the
    struts carry.

    >>> model = half_car()
    >>> model.q_names, model.total_mass
    (('heave', 'pitch', 'front hop', 'rear hop'), 1360.0)
    """
    mass, axle, tyre, ahead, behind = 1200.0, 80.0, 4e5, 0.9, 1.2
    hull = Box((3.5, 1.3, 0.42), origin=(-0.15, 0.0, 0.26))
    cabin = Box((1.7, 1.2, 0.4), origin=(-0.35, 0.0, 0.66), colour="#a9c4dd")
    beam = Cylinder((0.0, -0.7, 0.0), (0.0, 0.7, 0.0), 0.04, "#6d7783")
    bodies = [
        Body("slide"),
        Body("body", mass, inertia=(2100.0, 2100.0, 2100.0), shape=[hull, cabin]),
        Body("front axle", axle, shape=[*_wheel(-0.7), *_wheel(0.7), beam]),
        Body("rear axle", axle, shape=[*_wheel(-0.7), *_wheel(0.7), beam]),
    ]
    at_rest = (0.0, 0.0, STRUT_LENGTH)
    joints = [
        Prismatic("heave", "ground", "slide", at_rest, axis=_UP),
        Revolute("pitch", "slide", "body", axis=(0, 1, 0)),
        Prismatic("front hop", "ground", "front axle", (ahead, 0, 0), axis=_UP),
        Prismatic("rear hop", "ground", "rear axle", (-behind, 0, 0), axis=_UP),
    ]
    points = [Point("front mount", "body", (ahead, 0, 0)), Point("rear mount", "body", (-behind, 0, 0))]
    forces: list[SpringDamper | JointSpring] = []
    for end, stiffness, damping, share in (
        ("front", 56e3, 5000.0, behind / (ahead + behind)),
        ("rear", 42e3, 4000.0, ahead / (ahead + behind)),
    ):
        load = share * mass * G
        forces += [
            SpringDamper(
                f"{end} strut",
                f"{end} axle.origin",
                f"{end} mount",
                stiffness,
                damping,
                STRUT_LENGTH + load / stiffness,
            ),
            JointSpring(f"{end} tyre", f"{end} hop", tyre, free_position=(load + axle * G) / tyre),
        ]
    return Model("half car", bodies, joints, points, gravity=(0, 0, -G), forces=forces)


def _wheel(y: float) -> list[Shape]:
    """A wheel of 0.3 m on a rim, y to the left of the middle."""
    rim = Cylinder((0.0, y - 0.05, 0.0), (0.0, y + 0.05, 0.0), 0.17, "#b4bcc4")
    return [Ring(0.3, 0.075, axis=(0.0, 1.0, 0.0), origin=(0.0, y, 0.0), colour="#33373d"), rim]
