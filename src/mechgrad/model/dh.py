"""Models from Denavit-Hartenberg tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mechgrad.errors import ParentOrderError, ShapeError
from mechgrad.model.body import Body
from mechgrad.model.joints import DenavitHartenberg
from mechgrad.model.markers import Point, Vector
from mechgrad.model.model import Model
from mechgrad.model.variables import DesignVariable
from mechgrad.typing import ArrayLike


class DHRow(NamedTuple):
    """One row of a table: a joint and the shape of the link it moves.

    kind : "revolute" or "prismatic"
    theta, alpha : [rad]; d, a : [m]
    parent : row number (from 1) this row hangs on, 0 = ground; None = the row before
    sign : 1 or -1, the sense in which q counts
    name : of the joint; None = "dh.1", "dh.2", ...
    """

    kind: str = "revolute"
    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    parent: int | None = None
    sign: int = 1
    name: str | None = None


def dh_model(
    name: str,
    rows: Iterable[DHRow],
    *,
    bodies: Sequence[Body | None] | None = None,
    convention: str = "standard",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    points: Iterable[Point] = (),
    vectors: Iterable[Vector] = (),
    variables: Iterable[DesignVariable] = (),
) -> Model:
    """A tree of one-degree-of-freedom joints from a table; paths read `dh.7.a`.

        standard (distal): Rz(theta) Tz(d) Tx(a) Rx(alpha);   modified (proximal): Rx(alpha) Tx(a) Rz(theta) Tz(d)

    `bodies` holds one Body per row, with its data in the frame of that row, or None for a massless link
    ("link1", "link2", ...).

    >>> dh_model("arm", [DHRow(a=0.5), DHRow(a=0.4)]).q_names
    ('dh.1', 'dh.2')
    """
    table = [DHRow(*row) for row in rows]
    given = [None] * len(table) if bodies is None else list(bodies)
    if len(given) != len(table):
        raise ShapeError(f"model {name!r}: {len(table)} rows but {len(given)} bodies. Give one body (or None) per row.")
    links = [body if body is not None else Body(f"link{i}") for i, body in enumerate(given, start=1)]
    joints = []
    for i, row in enumerate(table, start=1):
        parent = i - 1 if row.parent is None else row.parent
        if not 0 <= parent < i:
            raise ParentOrderError(
                f"model {name!r}: row {i} has parent {parent}, but a parent is 0 (ground) or an earlier row."
            )
        joints.append(
            DenavitHartenberg(
                row.name or f"dh.{i}",
                links[parent - 1].name if parent else "ground",
                links[i - 1].name,
                row.kind,
                row.theta,
                row.d,
                row.a,
                row.alpha,
                row.sign,
                convention,
            )
        )
    return Model(name, links, joints, points, vectors, gravity, variables)
