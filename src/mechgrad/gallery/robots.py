"""Serial mechanisms: a double pendulum, a seven-joint arm, chains of any length."""

from __future__ import annotations

from mechgrad.errors import InputError
from mechgrad.gallery.solids import rod
from mechgrad.model import Body, Model, Point, Revolute

__all__ = ["arm7", "chain", "double_pendulum"]


def double_pendulum(mass: float = 1.0, length: float = 1.0) -> Model:
    """Two equal slender rods, hanging along -z at q = 0, swinging about y.

    Parameters
    ----------
    mass, length : float
        Of each rod [kg], [m].

    Example
    -------
    >>> double_pendulum().q_names
    ('shoulder', 'elbow')
    """
    down = (0.0, 0.0, -length)
    return Model(
        "double pendulum",
        bodies=[rod("upper", mass, down, 0.0), rod("lower", mass, down, 0.0)],
        joints=[
            Revolute("shoulder", "ground", "upper", axis=(0.0, 1.0, 0.0)),
            Revolute("elbow", "upper", "lower", origin=down, axis=(0.0, 1.0, 0.0)),
        ],
        points=[Point("tip", "lower", down)],
    )


def chain(n: int, *, mass: float = 1.0, length: float = 0.2, radius: float = 0.02) -> Model:
    """A serial chain of n equal rods along x at q = 0, hinged about z and y in turn.

    No two successive axes are parallel, so every torque depends on every coordinate: the dense worst case for a
    benchmark.

    Parameters
    ----------
    n : int
        Number of rods and joints, at least 1.
    mass, length, radius : float
        Of each rod [kg], [m], [m].

    Example
    -------
    >>> chain(3).joint_names
    ('joint1', 'joint2', 'joint3')
    """
    if n < 1:
        raise InputError(f"chain(n={n}): a chain needs at least one rod; give n >= 1.")
    along = (length, 0.0, 0.0)
    bodies = [rod(f"link{i}", mass, along, radius) for i in range(1, n + 1)]
    joints = [
        Revolute(
            f"joint{i}",
            "ground" if i == 1 else f"link{i - 1}",
            f"link{i}",
            origin=(0.0, 0.0, 0.0) if i == 1 else along,
            axis=(0.0, 0.0, 1.0) if i % 2 else (0.0, 1.0, 0.0),
        )
        for i in range(1, n + 1)
    ]
    return Model(f"chain of {n}", bodies=bodies, joints=joints, points=[Point("tip", f"link{n}", along)])


def arm7() -> Model:
    """A lightweight arm with seven hinges, upright along z at q = 0; reach 1.02 m above its base, 15.9 kg.

    The axes alternate between the arm's own axis (z: turn, roll, spin) and a cross axis (y: lift, bend, pitch), so that
    the elbow can move while the tool stays. The numbers belong to no particular product; inertia matrices are full, as
    they are on real arms.

    Example
    -------
    >>> arm7().n_v
    7
    """
    # name, axis, height in the previous link [m], mass [kg], com [m], inertia xx, yy, zz, xy, xz, yz [kg m^2]
    rows = (
        ("turn", "z", 0.15, 3.6, (0.002, -0.031, 0.082), (0.0190, 0.0175, 0.0105, 0.0003, -0.0004, 0.0022)),
        ("lift", "y", 0.15, 3.3, (-0.004, 0.046, 0.094), (0.0225, 0.0160, 0.0118, 0.0005, 0.0006, -0.0031)),
        ("roll", "z", 0.20, 2.7, (0.018, 0.012, 0.071), (0.0122, 0.0118, 0.0064, -0.0006, -0.0011, -0.0009)),
        ("bend", "y", 0.16, 2.5, (-0.021, -0.033, 0.067), (0.0113, 0.0096, 0.0069, -0.0008, 0.0010, 0.0014)),
        ("spin", "z", 0.17, 1.7, (0.003, 0.028, 0.052), (0.0074, 0.0061, 0.0038, -0.0001, -0.0002, -0.0013)),
        ("pitch", "y", 0.12, 1.4, (0.026, -0.009, 0.014), (0.0029, 0.0036, 0.0033, 0.0003, -0.0002, 0.0001)),
        ("flange", "z", 0.00, 0.7, (0.001, 0.001, 0.041), (0.0012, 0.0012, 0.0007, 0.0000, 0.0000, 0.0000)),
    )
    axes = {"z": (0.0, 0.0, 1.0), "y": (0.0, 1.0, 0.0)}
    bodies, joints = [], []
    parent = "ground"
    for number, (name, axis, height, mass, com, (xx, yy, zz, xy, xz, yz)) in enumerate(rows, start=1):
        link = f"link{number}"
        bodies.append(Body(link, mass=mass, com=com, inertia=((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))))
        joints.append(Revolute(name, parent, link, origin=(0.0, 0.0, height), axis=axes[axis]))
        parent = link
    return Model("arm7", bodies=bodies, joints=joints, points=[Point("tool", parent, (0.0, 0.0, 0.07))])
