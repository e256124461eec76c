"""Closed mechanisms with published motions: the five-bar linkage and the spatial slider-crank."""

from __future__ import annotations

import numpy as np

from mechgrad.model.body import Body
from mechgrad.model.forces import SpringDamper
from mechgrad.model.joints import Cardan, Prismatic, Revolute, Spherical
from mechgrad.model.markers import Point
from mechgrad.model.model import Model
from mechgrad.typing import FloatArray

_A1, _12 = np.sqrt(2.0), np.sqrt(13.0) / 2.0


def _rod(name: str, length: float, mass: float) -> Body:
    across = mass * length**2 / 12.0
    return Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0.0, across, across))


def five_bar(*, springs: bool = True) -> Model:
    """The planar five-bar linkage: four bars, five hinges about z, two springs; two degrees of freedom.

    Points A (0, 0), 1 (-1, -1), 2 (0.5, -2), 3 (2, -1), B (1, 0) [m] at `five_bar_start()`; bars A1 and 3B of 1 kg, 12
    and 23 of 1.5 kg, slender and uniform; springs S1 from B to 1 and S2 from B to 2, 100 N/m, unstretched at the start.
    Coordinates are the relative angles at A, 1, 2, 3; the hinge at B is cut. Gravity 9.81 m/s^2 along -y.

    >>> model = five_bar()
    >>> model.n_q, [joint.name for joint in model.cut_joints]
    (4, ['B'])
    """
    z = (0.0, 0.0, 1.0)
    joints = [
        Revolute("A", "ground", "A1", axis=z),
        Revolute("1", "A1", "12", (_A1, 0, 0), axis=z),
        Revolute("2", "12", "23", (_12, 0, 0), axis=z),
        Revolute("3", "23", "3B", (_12, 0, 0), axis=z),
        Revolute("B", "ground", "3B", (1, 0, 0), child_origin=(_A1, 0, 0), axis=z),
    ]
    points = [
        Point("PB", "ground", (1, 0, 0)),
        Point("P1", "A1", (_A1, 0, 0)),
        Point("P2", "12", (_12, 0, 0)),
        Point("P3", "23", (_12, 0, 0)),
    ]
    forces = [
        SpringDamper("S1", "P1", "PB", stiffness=100.0, free_length=np.sqrt(5.0)),
        SpringDamper("S2", "P2", "PB", stiffness=100.0, free_length=np.sqrt(17.0) / 2.0),
    ]
    bodies = [_rod("A1", _A1, 1.0), _rod("12", _12, 1.5), _rod("23", _12, 1.5), _rod("3B", _A1, 1.0)]
    return Model("five-bar", bodies, joints, points, gravity=(0, -9.81, 0), forces=forces if springs else ())


def five_bar_start() -> FloatArray:
    """The four relative angles at the start [rad]; the linkage is at rest there.

    >>> np.round(five_bar_start()[:2], 6)
    array([-2.356194,  1.768192])
    """
    corners = np.array([(0, 0), (-1, -1), (0.5, -2), (2, -1), (1, 0)], float)
    x, y = np.diff(corners, axis=0).T
    return np.diff(np.arctan2(y, x), prepend=0.0)


def slider_crank(*, cut: str | None = None, axial_inertia: float = 4e-4, spring: bool = False) -> Model:
    """The spatial slider-crank: a crank about x at (0, 0.1, 0.12) m, a rod of 0.3 m, a slider along x; one freedom.

    The crank (0.08 m) holds the rod at B by a ball, the slider at C by a universal joint whose first axis is x.
    In the zero position the crank points along z: B = (0, 0.1, 0.2), C = (0.2, 0, 0). The joints are called
    crank, B, C and slide; left to itself the ball B is cut.

    Parameters
    ----------
    cut : which joint to open
    axial_inertia : of the rod about itself [kg m^2]; 4e-3 across
    spring : a spring-damper of 10 N/m, 1 N s/m, 0.25 m from the world's origin to the slider's end D

    >>> slider_crank().n_q, slider_crank(cut="slide").n_q
    (4, 7)
    """
    B, C = np.array([0.0, 0.1, 0.2]), np.array([0.2, 0.0, 0.0])
    along = (C - B) / 0.3
    x = np.array([1.0, 0.0, 0.0])
    across = np.cross(x, along) / np.linalg.norm(np.cross(x, along))
    inertia = 4e-3 * np.eye(3) + (axial_inertia - 4e-3) * np.outer(along, along)
    bodies = [
        Body("crank", 0.12, com=(0, 0, 0.04), inertia=(1e-4, 1e-4, 1e-4)),
        Body("rod", 0.5, com=(C - B) / 2, inertia=inertia),
        Body("slider", 2.0, inertia=(1e-4, 1e-4, 1e-4)),
    ]
    joints = [
        Revolute("crank axis", "ground", "crank", (0, 0.1, 0.12), axis=x),
        Spherical("B", "crank", "rod", (0, 0, 0.08)),
        Cardan("C", "slider", "rod", child_origin=C - B, axis1=x, axis2=across),
        Prismatic("slide", "ground", "slider", C, axis=x),
    ]
    points = [Point("D", "slider", (0.05, 0, 0)), Point("PC", "slider"), Point("O", "ground")]
    forces = [SpringDamper("S1", "D", "O", stiffness=10.0, damping=1.0, free_length=0.25)] if spring else []
    return Model(
        "slider-crank", bodies, joints, points, gravity=(0, 0, -9.81), forces=forces, cut=None if cut is None else [cut]
    )
