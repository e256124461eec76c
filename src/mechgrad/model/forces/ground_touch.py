"""Rows and numbers of what touches a surface (the laws GROUND_.. of `model.primitives.rows`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.functions import Function
from mechgrad.model.functions.closed_forms import constant_part
from mechgrad.model.primitives.attached import Where, check_same_body, places
from mechgrad.model.primitives.fields import brief
from mechgrad.model.primitives.fields import where as named
from mechgrad.model.primitives.frames import axis_frame, cross, unit
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import DOT, PLANE, POINT, SLIP, Law, Place, Row, vector
from mechgrad.model.surfaces import Superellipsoid, Surface
from mechgrad.typing import Array

STEEP = 1e-6  # part of a heading across the normal below which it says nothing


class Touch(NamedTuple):
    """Where something touches: markers by name; no axis is a sphere."""

    point: str
    plane_point: str
    normal: str
    axis: str | None = None


def ground_law(
    kind: int, where: Where, touch: Touch, surface: Surface, numbers: tuple[Any, ...], radius: Any = 0.0
) -> Law:
    """A law of the ground; radius: of a sphere that touches it."""
    rows = ground_rows(where, touch, surface)
    if isinstance(surface, Superellipsoid):  # beyond its reach nothing is evaluated
        reach = rows[0]._replace(radius=surface.reach + radius, guards=len(rows))
        beside = rows[3]._replace(direction=surface.grown(radius), guards=1)
        rows = (reach, *rows[1:3], beside, rows[4]._replace(direction=(surface.order, 0.0, 0.0)), rows[5])
    return Law(kind, rows, numbers, surface=surface.table())


def ground_rows(where: Where, touch: Touch, surface: Surface) -> tuple[Row, ...]:
    """Position, slips and axis of what touches, in the axes of the surface."""
    x, o, n = where(touch.point), where(touch.plane_point), where(touch.normal)
    axes = surface_axes(n.local, surface)
    e = (vector(o.body, axes[:, 0]), vector(o.body, axes[:, 1]), n)
    lifts = (None, None, surface.lift)
    positions = [_position(x, o, e[i], lifts[i], f"position {'xyz'[i]}") for i in range(3)]
    return (*positions, *turning_rows(x, e, None if touch.axis is None else where(touch.axis)))


def turning_rows(x: Place, e: tuple[Place, Place, Place], axis: Place | None) -> tuple[Row, ...]:
    """Slips that tell how the body of x turns beside that of the axes e, and where its own axis is."""
    pairs = ((0, 1, "spin z"), (2, 1, "spin x"), (2, 0, "spin y"))
    slips = [Row(SLIP, (x, e[i], e[j]), radius=-1.0, label=label) for i, j, label in pairs]
    wheel = [] if axis is None else [axis]
    return (*slips, *(Row(DOT, (e[i], w), label=f"axis {'xyz'[i]}") for w in wheel for i in range(3)))


def surface_axes(normal: Array, surface: Surface) -> Array:
    """Axes x, y, z of a surface as columns, in those of its body."""
    if surface.ahead is None:
        return axis_frame(normal)
    ahead = unit(surface.ahead)
    x = unit(ahead - (ahead @ normal) * normal)
    return np.stack([x, cross(normal, x), normal], axis=1)


def pushing(force: Any) -> tuple[Any, ...]:
    """The numbers that laws of the ground begin with."""
    normal = (force.stiffness, force.damping, force.exponent)
    return (*normal, *viscous(force), force.radius)


def viscous(force: Any) -> tuple[Any, ...]:
    """The numbers of Kelvin-Voigt damping."""
    return force.compression_damping, force.restitution_damping, force.damping_depth, force.damping_speed


def check_touch(force: Any, model: NamedParts) -> None:
    """Raise unless the ground, and a wheel with its axis, belong to one body each, and x is not along the normal."""
    check_same_body(model, force, ("plane_point", "normal"))
    if hasattr(force, "axis"):
        check_same_body(model, force, ("point", "axis"))
    surface, n = force.ground, places(model)(force.normal).local.real
    if isinstance(surface, Superellipsoid) and force.type_name != "sphere_contact":
        raise ValueRangeError(
            f"{named(force)}: its ground is a closed hull ({surface.type_name}), which spheres alone can touch. Use "
            "SphereContact, or a ground with heights: mg.surfaces.Step, Bump, HeightMap."
        )
    if surface is not None and surface.ahead is not None:
        ahead = unit(surface.ahead).real
        if not np.linalg.norm(ahead - (ahead @ n) * n) > STEEP:
            raise ValueRangeError(
                f"{named(force)}: heading = {brief(surface.ahead)} of its ground is along the normal, and says nothing "
                "about where x is. Give it a direction along the ground."
            )


def _position(x: Place, o: Place, e: Place, lift: Function | None, label: str) -> Row:
    """e . (x - o); of constant direction where the body rests, which costs least."""
    constant, function = (0.0, None) if lift is None else constant_part(lift)
    if o.body == "ground":
        return Row(POINT, (x, o), constant, direction=tuple(e.local), function=function, label=label)
    return Row(PLANE, (e, x, o), constant, function=function, label=label)
