"""Mass properties of the simple solids that gallery mechanisms are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechgrad.model import Body
from mechgrad.typing import ArrayLike

__all__ = ["rod"]


def rod(name: str, mass: float, end: ArrayLike, radius: float) -> Body:
    """A uniform solid cylinder on the segment from the body's origin to `end`.

        com     = end / 2
        inertia = m (r^2/2 u u^T + (3 r^2 + L^2)/12 (1 - u u^T)),    u = end / L,  L = |end|

    Parameters
    ----------
    mass : float
        [kg]
    end : (3,)
        The far end of the axis, in body axes [m].
    radius : float
        Radius of the cylinder [m]; 0 gives a slender rod, which has no inertia about its own axis.

    Example
    -------
    >>> rod("bar", 12.0, (0.0, 0.0, 1.0), 0.0).inertia.diagonal()
    array([1., 1., 0.])
    """
    axis: NDArray[Any] = np.asarray(end, dtype=float)
    length = float(np.sqrt(axis @ axis))
    uu = np.outer(axis, axis) / length**2
    axial, transverse = radius**2 / 2.0, (3.0 * radius**2 + length**2) / 12.0
    inertia = mass * (axial * uu + transverse * (np.eye(3) - uu))
    # Adding 0.0 turns the -0.0 of negated directions into 0.0, which reads better in a file.
    return Body(name, mass=mass, com=axis / 2.0 + 0.0, inertia=inertia + 0.0)
