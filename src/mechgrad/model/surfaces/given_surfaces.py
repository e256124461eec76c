"""From what a user or a file gives (a surface, a table of a type) to a surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from mechgrad.errors import ModelError, ShapeError, unknown_name
from mechgrad.model.primitives.fields import table, where
from mechgrad.model.surfaces.base import Surface
from mechgrad.model.surfaces.height_map import HeightMap
from mechgrad.model.surfaces.hull import Superellipsoid
from mechgrad.model.surfaces.level import MovingPlane, Plane
from mechgrad.model.surfaces.road_bump import Bump
from mechgrad.model.surfaces.road_step import Step

SURFACE_TYPES: dict[str, type[Surface]] = {
    cls.type_name: cls for cls in (Plane, MovingPlane, Step, Bump, HeightMap, Superellipsoid)
}
"""The surface class of each `type` in a model file."""


def as_surface(given: Any, what: str) -> Surface:
    """A surface as it is, or from a table of a model file.

    >>> as_surface({"type": "plane"}, "tyre 'front': ground")
    Plane()
    """
    if isinstance(given, Surface):
        return given
    if not isinstance(given, Mapping) or given.get("type") is None:
        known = ", ".join(f"mg.surfaces.{cls.__name__}" for cls in SURFACE_TYPES.values())
        raise ShapeError(f"{what} = {given!r} must be a surface ({known}), or a table with a 'type'.")
    if not isinstance(given["type"], str) or given["type"] not in SURFACE_TYPES:
        raise unknown_name("surface type", given["type"], SURFACE_TYPES, what)
    cls = SURFACE_TYPES[given["type"]]
    names = [f.name for f in fields(cls)]
    for key in given:
        if key not in (*names, "type"):
            raise unknown_name(f"field of {cls.__name__}", key, names, what)
    for f in fields(cls):
        if f.default is MISSING and f.name not in given:
            raise ModelError(f"{what}: the field {f.name!r} of {cls.__name__} is missing. Fields: {', '.join(names)}.")
    try:
        return cls(**{key: value for key, value in given.items() if key != "type"})
    except ModelError as error:
        raise type(error)(f"{what}: {error}") from None


def freeze_surfaces(obj: object) -> None:
    """Turn what was given for the surfaces of a new object into surfaces; None stays where it is the default."""
    optional = {f.name for f in fields(obj) if f.default is None}  # type: ignore[arg-type]
    for name, spec in table(type(obj)).functions.items():
        given = getattr(obj, name)
        if spec.noun == "surface" and (given is not None or name not in optional):
            object.__setattr__(obj, name, as_surface(given, f"{where(obj)}: {name}"))
