"""What bodies look like, for `Body(shape=...)`; nothing that is computed depends on it.

>>> import mechgrad as mg
>>> mg.Body("bob", 2.0, shape=mg.shapes.Sphere(0.1, colour="#d55e00")).shapes[0].radius
0.1
"""

from mechgrad.model.shapes import Box, Capsule, Cylinder, Mesh, Ring, Sphere

__all__ = ["Box", "Capsule", "Cylinder", "Mesh", "Ring", "Sphere"]


def __dir__() -> list[str]:
    return __all__
