"""A human with 43 joints, the common test case for recursive inverse dynamics.

The Denavit-Hartenberg table, masses and lengths are those published by Zhakatayev, Rogovchenko and Pätzold (2023). They
give no inertia, so each link is taken as a uniform cylinder on the segment between the origins of its parent's frame
and of its own.

At q = 0 the human stands upright at the origin of the ground, facing +y with z up; the right-hand side of the body is
therefore +x. The pelvis is at z = 0, the feet at -0.87 m, the hands at -0.24 m and the top of the head at 0.84 m.
Joints 1-3 translate the pelvis, 4 and 5 turn it. From the pelvis leave the legs (6-13 right, 14-21 left) and the torso
(22), from the torso the arms (23-31 right, 32-40 left) and the head (41-43).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechgrad.gallery.figure import figure_shapes
from mechgrad.gallery.solids import rod
from mechgrad.model import Body, DHRow, Model, dh_model

__all__ = ["human", "human_motion"]

N_JOINTS = 43


class _Link(NamedTuple):
    mass: float  # [kg]
    length: float  # [m]


# The published table numbers the links 1-20; left and right are equal.
_LINKS = {
    "pelvis": _Link(4.5, 0.09),  # 1, 6: from the middle to the hip
    "thigh": _Link(9.5, 0.44),  # 2, 7
    "shank": _Link(3.7, 0.43),  # 3, 8
    "foot": _Link(1.2, 0.16),  # 4, 9
    "toes": _Link(0.2, 0.06),  # 5, 10
    "torso": _Link(12.3, 0.49),  # 11
    "shoulder": _Link(5.8, 0.17),  # 12, 16: from the spine to the shoulder joint
    "upper_arm": _Link(1.9, 0.28),  # 13, 17
    "forearm": _Link(1.3, 0.26),  # 14, 18
    "hand": _Link(0.5, 0.19),  # 15, 19
    "head": _Link(8.0, 0.35),  # 20: with the neck
}


class _Row(NamedTuple):
    """One joint. Angles are counted in quarter turns, which keeps their sines and cosines exact."""

    theta: int
    alpha: int
    link: str = ""  # name of the link this row carries; "" for a massless frame
    along: str = ""  # "a", "-a" or "d": where the length of the link stands in the row
    parent: int | None = None  # number of the parent joint; None for the previous one
    slide: int = 0  # +1 or -1 for a prismatic joint with d = +q or -q


def _leg(side: str, along: str, parent: int) -> list[_Row]:
    return [
        _Row(0, 1, f"pelvis_{side}", along, parent),
        _Row(0, -1),
        _Row(1, -1),
        _Row(0, 0, f"thigh_{side}", "a"),
        _Row(0, 0, f"shank_{side}", "a"),
        _Row(0, 1),
        _Row(0, -1, f"foot_{side}", "d"),
        _Row(-1, 0, f"toes_{side}", "a"),
    ]


def _arm(side: str, along: str, parent: int) -> list[_Row]:
    return [
        _Row(-1, 1, parent=parent),
        _Row(0, 0, f"shoulder_{side}", along),
        _Row(0, -1),
        _Row(1, -1),
        _Row(0, 0, f"upper_arm_{side}", "a"),
        _Row(-1, -1),
        _Row(0, 1, f"forearm_{side}", "d"),
        _Row(1, 1),
        _Row(0, 0, f"hand_{side}", "a"),
    ]


_TABLE: list[_Row] = [
    _Row(0, -1, slide=1),
    _Row(1, -1, slide=1),
    _Row(0, 0, slide=-1),
    _Row(1, -1),
    _Row(1, -1),
    *_leg("right", "a", 5),
    *_leg("left", "-a", 5),
    _Row(1, 0, "torso", "-a", parent=5),
    *_arm("right", "a", 22),
    *_arm("left", "-a", 22),
    _Row(-1, 1, parent=22),
    _Row(1, -1),
    _Row(1, 0, "head", "-a"),
]


def human(radius: float = 0.05) -> Model:
    """The human with 43 joints, 20 links with mass and 77.5 kg.

    Joints are named dh.1 to dh.43, so the length of the right thigh is the parameter ``dh.9.a`` and its mass
    ``thigh_right.mass``. Rows without a link carry massless bodies named virtual1, virtual2, ... after their row.

    Parameters
    ----------
    radius : float
        Radius of every cylinder as a fraction of its length. 0 gives slender rods: torques and derivatives stay well
        defined, but the mass matrix becomes singular, since nothing then resists a spin of the feet about their own
        axes.

    Example
    -------
    >>> human().n_v
    43
    >>> round(human().total_mass, 9)
    77.5
    """
    rows, bodies, turns = [], [], [np.eye(3)]
    for number, row in enumerate(_TABLE, start=1):
        a, d = _lengths(row)
        turns.append(turns[number - 1 if row.parent is None else row.parent] @ _turn(row))
        rows.append(
            DHRow(
                "prismatic" if row.slide else "revolute",
                theta=row.theta * np.pi / 2,
                d=d,
                a=a,
                alpha=row.alpha * np.pi / 2,
                parent=row.parent,
                sign=row.slide or 1,
            )
        )
        bodies.append(_body(number, row, a, d, radius, turns[-1]))
    return dh_model("human", rows, bodies=bodies, convention="standard", gravity=(0.0, 0.0, -9.81))


def human_motion(
    samples: int = 301, duration: float = 3.0, frequency: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The motion of the published comparison: every joint swings as q_i = sin(2 pi f t).

    Parameters
    ----------
    samples : int
        Number of equidistant samples, both ends included.
    duration : float
        Time of the last sample [s].
    frequency : float
        f [Hz].

    Returns
    -------
    t, q, v, a : (samples,) and three (samples, 43) arrays

    Example
    -------
    >>> t, q, v, a = human_motion()
    >>> q.shape
    (301, 43)
    """
    t = np.linspace(0.0, duration, samples)
    w = 2.0 * np.pi * frequency
    ones = np.ones(N_JOINTS)
    q = np.outer(np.sin(w * t), ones)
    v = np.outer(w * np.cos(w * t), ones)
    return t, q, v, -(w**2) * q


def _lengths(row: _Row) -> tuple[float, float]:
    """(a, d) of a row [m]."""
    if not row.link:
        return 0.0, 0.0
    length = _LINKS[_kind(row.link)].length
    return {"a": (length, 0.0), "-a": (-length, 0.0), "d": (0.0, length)}[row.along]


def _kind(link: str) -> str:
    return link.removesuffix("_right").removesuffix("_left")


def _turn(row: _Row) -> NDArray[np.float64]:
    """R of the frame of a row in that of its parent at q = 0."""
    (s, c), (sin, cos) = _QUARTERS[row.theta % 4], _QUARTERS[row.alpha % 4]
    about_z, about_x = [[c, -s, 0], [s, c, 0], [0, 0, 1]], [[1, 0, 0], [0, cos, -sin], [0, sin, cos]]
    return np.asarray(np.array(about_z, float) @ np.array(about_x, float))


_QUARTERS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # sine and cosine


def _body(number: int, row: _Row, a: float, d: float, radius: float, turn: NDArray[np.float64]) -> Body:
    if not row.link:
        return Body(f"virtual{number}")
    kind = _kind(row.link)
    link = _LINKS[kind]
    sin, cos = _QUARTERS[row.alpha % 4]
    # The origin of the parent's frame seen from this row's frame: constant, since theta turns both about the same axis.
    p_BP = (-a, -d * sin, -d * cos)
    cylinder = rod(row.link, link.mass, p_BP, radius * link.length)
    left = row.link.endswith("_left")
    shape = figure_shapes(kind, p_BP, (0.0, 0.0, 0.0), turn, (0.0, 1.0, 0.0), left=left)
    return Body(cylinder.name, cylinder.mass, cylinder.com, cylinder.inertia, shape)
