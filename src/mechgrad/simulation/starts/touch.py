"""Where contacts and tyres stand to their ground: what cannot be meant is said as a motion begins, or at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.bodies import BodyMotion, body_motion
from mechgrad.model.forces.ground_touch import surface_axes
from mechgrad.model.primitives.attached import Where, places
from mechgrad.model.primitives.rows import Place
from mechgrad.model.surfaces import Plane, Superellipsoid, Surface
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

# Part of its radius that something may be inside the ground when a motion begins: the middle of a sphere is above it,
# and a tyre keeps half of its height, where a soft one (a bicycle's at 6000 N/m) gives a third
DEEPEST, DEEPEST_WHEEL = 1.0, 0.5
AHEAD = 0.1  # seconds that are looked ahead for the edge of a map


def check_touch(model: Model, q: Array, t0: float) -> None:
    """Raise where a wheel or sphere starts deep inside the ground, or beside a map of heights.

    q : (n_q,) of one start
    """
    moving, place = body_motion(model, np.real(q), np.zeros(model.n_v)), places(model)
    for force in touching(model):
        body, (p, depth) = place(force.point).body, _depth(place, moving, force, t0)
        if np.isnan(depth):
            raise InputError(
                f"force {force.name!r} of model {model.name!r}: {body!r} starts at x = {p[0]:.6g}, y = {p[1]:.6g} m of "
                f"its height map at t = {t0:.6g} s, and the map {_extent(force.ground)}. Start above the map, or make "
                "it larger."
            )
        share = DEEPEST_WHEEL if hasattr(force, "axis") else DEEPEST
        if depth > share * float(np.real(force.radius)):
            allowed = "half of the radius" if hasattr(force, "axis") else "the radius"
            raise InputError(
                f"force {force.name!r} of model {model.name!r}: {body!r} starts {depth:.4g} m inside the ground at "
                f"t = {t0:.6g} s, more than {allowed}, {share * np.real(force.radius):.4g} m. Lift the start, or let "
                "mg.equilibrium find one."
            )


def leaving(model: Model, q: Array, v: Array) -> str:
    """What contacts and tyres are at the edge of their height maps, as a sentence; empty if none is."""
    found = []
    moving, place = body_motion(model, np.real(q), np.real(v)), places(model)
    for force in touching(model):
        if force.ground is None:
            continue
        p, rate, _ = _standing(place, moving, force)
        if isinstance(force.ground, Superellipsoid):
            if force.ground.distance(p) < AHEAD * force.radius.real:
                found.append(
                    f"The middle of {place(force.point).body!r} gets into the hull of force {force.name!r}, at "
                    f"x = {p[0]:.6g}, y = {p[1]:.6g}, z = {p[2]:.6g} m. Take shorter steps, or a stiffer contact."
                )
            continue
        if np.isnan(_height(force.ground, p, 0.0)) or np.isnan(_height(force.ground, p + AHEAD * rate, 0.0)):
            found.append(
                f"Force {force.name!r} leaves its height map at x = {p[0]:.6g}, y = {p[1]:.6g} m: the map "
                f"{_extent(force.ground)}. Make it larger, or stop before."
            )
    return " ".join(found)


def touching(model: Model) -> list[Any]:
    """Forces that have a radius, and a plane under them."""
    return [f for f in model.forces if hasattr(f, "ground") and hasattr(f, "plane_point")]


def depth_of(model: Model, force: Any, q: Array, t: float) -> tuple[FloatArray, float]:
    """Where one of these forces stands, in the axes of its surface, and how deep inside it is [m]; NaN beside a map."""
    return _depth(places(model), body_motion(model, np.real(q), np.zeros(model.n_v)), force, t)


def _depth(place: Where, moving: BodyMotion, force: Any, t: float) -> tuple[FloatArray, float]:
    p, _, reach = _standing(place, moving, force)
    if isinstance(force.ground, Superellipsoid):
        return p, reach - force.ground.distance(p)
    return p, reach - (p[2] - _height(force.ground, p, t))


def _standing(place: Where, moving: BodyMotion, force: Any) -> tuple[FloatArray, FloatArray, float]:
    """Position and velocity of what touches, in the axes of its surface, and how far it reaches down from there."""
    x, o, n = place(force.point), place(force.plane_point), place(force.normal)

    def world(at: Place, part: bool) -> FloatArray:
        """Velocity (part) or position of a place."""
        if at.body == "ground":
            return np.zeros(3) if part else np.asarray(np.real(at.local), float)
        body = moving.of(at.body)
        arm: FloatArray = np.real(body.R) @ np.real(at.local)
        if not at.is_point:
            return arm
        if part:
            return np.asarray(np.real(body.v) + np.cross(np.real(body.w), arm), float)
        return np.asarray(np.real(body.p) + arm, float)

    axes = surface_axes(n.local, force.ground or Plane()).real
    axes = axes if o.body == "ground" else np.real(moving.of(o.body).R) @ axes
    radius = float(np.real(force.radius))
    if hasattr(force, "axis"):
        lean = float(axes[:, 2] @ world(place(force.axis), False))
        radius *= float(np.sqrt(max(1.0 - lean**2, 0.0)))
    return axes.T @ (world(x, False) - world(o, False)), axes.T @ (world(x, True) - world(o, True)), radius


def _height(surface: Surface | None, p: FloatArray, t: float) -> float:
    if surface is None:
        return 0.0
    lift = 0.0 if surface.lift is None else float(np.real(surface.lift(t)))
    return float(np.real(surface.elevation(p[0], p[1]))) + lift


def _extent(surface: Any) -> str:
    x, y = surface.x, surface.y
    return f"reaches from ({x[0]:.6g}, {y[0]:.6g}) to ({x[-1]:.6g}, {y[-1]:.6g})"
