"""What wheels, spheres and tyres touch: `ground` of contacts and tyres.

>>> import mechgrad as mg
>>> "Step" in dir(mg.surfaces)
True
"""

from mechgrad.model import Bump, HeightMap, MovingPlane, Plane, Step, Superellipsoid, Surface

__all__ = [
    "Bump",
    "HeightMap",
    "MovingPlane",
    "Plane",
    "Step",
    "Superellipsoid",
    "Surface",
]


def __dir__() -> list[str]:
    return __all__
