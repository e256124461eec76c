"""What wheels, spheres and tyres touch: surfaces z = h(x, y), one family per file."""

from mechgrad.model.surfaces.base import Surface
from mechgrad.model.surfaces.given_surfaces import SURFACE_TYPES, as_surface, freeze_surfaces
from mechgrad.model.surfaces.height_map import HeightMap
from mechgrad.model.surfaces.hull import Superellipsoid
from mechgrad.model.surfaces.level import MovingPlane, Plane
from mechgrad.model.surfaces.road_bump import Bump
from mechgrad.model.surfaces.road_step import Step

__all__ = [
    "SURFACE_TYPES", "Bump", "HeightMap", "MovingPlane", "Plane", "Step", "Superellipsoid", "Surface", "as_surface",
    "freeze_surfaces",
]  # fmt: skip
