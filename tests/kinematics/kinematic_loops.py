"""Mechanisms of the kinematic tests, and their closed forms."""

import numpy as np

import mechgrad as mg

A, B = np.array([0.0, 0.0]), np.array([1.0, 0.0])
P1, P2, P3 = np.array([-1.0, -1.0]), np.array([0.5, -2.0]), np.array([2.0, -1.0])


def flat(x):
    return (*x, 0.0)


def five_bar(**options):
    """Hinges about z at A, 1, 2, 3 and B, all angles zero as drawn; closed by a full hinge at B."""
    joints = [
        mg.Revolute("A", "ground", "bar A1"),
        mg.Revolute("1", "bar A1", "bar 12", flat(P1 - A)),
        mg.Revolute("2", "bar 12", "bar 23", flat(P2 - P1)),
        mg.Revolute("3", "bar 23", "bar 3B", flat(P3 - P2)),
        mg.Revolute("B", "ground", "bar 3B", flat(B), child_origin=flat(B - P3)),
    ]
    bodies = [mg.Body(name, 1.0) for name in ("bar A1", "bar 12", "bar 23", "bar 3B")]
    places = {"P1": ("bar A1", P1 - A), "P2": ("bar 12", P2 - P1), "P3": ("bar 23", P3 - P2)}
    points = [mg.Point(name, body, flat(x)) for name, (body, x) in places.items()]
    return mg.Model("five-bar", bodies, joints, points, cut=["B"], **options)


def turned(angle, x):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * x[0] - s * x[1], s * x[0] + c * x[1]])


def circles(a, ra, b, rb, side):
    """The intersection of two circles, on the left (+1) or right (-1) of the way from a to b."""
    d = b - a
    gap = np.sqrt(d @ d)
    along = (gap * gap + ra * ra - rb * rb) / (2 * gap)
    across = np.sqrt(ra * ra - along * along)
    return a + (along * d + side * across * np.array([-d[1], d[0]])) / gap


def direction(x):
    return np.arctan2(x[1], x[0])


def five_bar_angles(first, second):
    """Angles at 2 and 3 from those at A and 1."""
    p1 = turned(first, P1)
    p2 = p1 + turned(first + second, P2 - P1)
    p3 = circles(p2, np.hypot(*(P3 - P2)), B, np.hypot(*(P3 - B)), -1)
    bar_23 = direction(p3 - p2) - direction(P3 - P2)
    bar_3b = direction(B - p3) - direction(B - P3)
    return bar_23 - first - second, bar_3b - bar_23, p2


CRANK, COUPLER, ROCKER, FRAME = 0.4, 1.1, 0.9, 1.0


def four_bar(crank=CRANK, coupler=COUPLER, rocker=ROCKER, frame=FRAME, constraints=()):
    """Bars along x at angle zero: crank from the origin, rocker from (frame, 0); the coupler hangs on the crank."""
    joints = [
        mg.Revolute("crank", "ground", "crank bar"),
        mg.Revolute("rocker", "ground", "rocker bar", (frame, 0, 0)),
        mg.Revolute("coupler", "crank bar", "coupler bar", (crank, 0, 0)),
        mg.Revolute("pin", "rocker bar", "coupler bar", (rocker, 0, 0), child_origin=(coupler, 0, 0)),
    ]
    bodies = [mg.Body(name, 1.0) for name in ("crank bar", "rocker bar", "coupler bar")]
    points = [mg.Point("P", "coupler bar", (coupler, 0, 0))]
    return mg.Model("four-bar", bodies, joints, points, constraints=constraints, cut=["pin"])


def four_bar_angles(th, crank=CRANK, coupler=COUPLER, rocker=ROCKER, frame=FRAME):
    """(rocker, coupler by the crank) for a crank angle; the pin is left of the way from tip to frame."""
    tip = crank * np.array([np.cos(th), np.sin(th)])
    pin = circles(tip, coupler, np.array([frame, 0.0]), rocker, 1)
    return direction(pin - np.array([frame, 0.0])), direction(pin - tip) - th


def spatial_slider_crank(cut="ball"):
    """Crank about x at (0, 0.1, 0.12), arm 0.08 along z; rod 0.3 on a ball; Cardan to a slider on the x axis."""
    joints = [
        mg.Revolute("crank", "ground", "arm", (0, 0.1, 0.12), axis=(1, 0, 0)),
        mg.Spherical("ball", "arm", "rod", (0, 0, 0.08)),
        mg.Cardan("cardan", "rod", "slider", (0.3, 0, 0), axis1=(0, 1, 0), axis2=(0, 0, 1)),
        mg.Prismatic("slide", "ground", "slider", axis=(1, 0, 0)),
    ]
    bodies = [mg.Body(name, 1.0) for name in ("arm", "rod", "slider")]
    points = [mg.Point("B", "arm", (0, 0, 0.08)), mg.Point("C", "rod", (0.3, 0, 0))]
    return mg.Model("slider-crank", bodies, joints, points, cut=[cut])


def slider(th):
    """x of the slider; complex-safe."""
    y, z = 0.1 - 0.08 * np.sin(th), 0.12 + 0.08 * np.cos(th)
    return np.sqrt(0.09 - y * y - z * z)
