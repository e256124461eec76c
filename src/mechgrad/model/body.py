"""A rigid body: mass, centre of mass and inertia in its own axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import InertiaError, MassError, ShapeError
from mechgrad.model.primitives.fields import (
    as_array,
    brief,
    check_name,
    freeze_numbers,
    same,
    scalar,
    short_repr,
    tensor,
    vector,
    where,
)
from mechgrad.model.shapes import Shape, as_shapes
from mechgrad.typing import Array, ArrayField

# CAD exports are rounded, and a slender rod sits exactly on the border of the triangle inequality:
# moments may miss their inequalities by this fraction of the largest one.
INERTIA_TOLERANCE = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Body:
    """A rigid body.

        J_O = J + m (c.c 1 - c c^T)        inertia about the origin O from the stored J about the centre of mass

    Attributes
    ----------
    name : str
        Unique in the model; may contain dots. "ground" and "gravity" are taken.
    mass : float
        [kg], not negative; zero makes a virtual body. Path `name.mass`.
    com : (3,) array
        Centre of mass from the body's origin, in body axes [m]. Paths `name.com.x`, `.y`, `.z`.
    inertia : (3, 3) array
        About the centre of mass, in body axes [kg m^2]; also given as the diagonal (3,) or as 0.
        Products enter with the tensor's sign: `xy` = - integral of x y dm.
        No moment exceeds the sum of the others: a body known in the plane across z only takes (I/2, I/2, I).
        Paths `name.inertia.xx`, `yy`, `zz`, `xy`, `xz`, `yz`.
    shape : one of `mg.shapes`, or several
        What it looks like, in body axes; nothing that is computed depends on it. Without, pictures make up their own.

    >>> Body("arm", mass=2, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)).inertia.tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]
    """

    noun: ClassVar[str] = "body"

    name: str
    mass: float = field(default=0.0, metadata=scalar("mass", "kg"))
    com: ArrayField = field(default=(0.0, 0.0, 0.0), metadata=vector("com", "m"))
    inertia: ArrayField = field(default=0.0, metadata=tensor("inertia", "kg m^2"))
    shape: Any = None

    def __post_init__(self) -> None:
        check_name(self, self.name)
        object.__setattr__(self, "inertia", _square_inertia(self))
        object.__setattr__(self, "shape", as_shapes(self.shape, where(self)))
        freeze_numbers(self)
        self.check()

    def check(self) -> None:
        """Raise unless mass and inertia can belong to a rigid body; complex numbers are judged by their real part."""
        if self.mass.real < 0.0:
            raise MassError(
                f"body {self.name!r}: mass = {brief(self.mass)} kg is negative. Masses are zero or positive."
            )
        _check_inertia(self)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """What it looks like, none where nothing was said."""
        found: tuple[Shape, ...] = self.shape or ()
        return found

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return short_repr(self)


def _square_inertia(body: Body) -> Array:
    """The inertia as a symmetric matrix, from a matrix, a diagonal or zero."""
    what = f"{where(body)}: inertia"
    given = as_array(body.inertia, what)
    if given.shape == ():
        if given != 0:
            raise ShapeError(
                f"{what} = {brief(given.item())} is one number; only 0 may be. "
                "Give the diagonal (xx, yy, zz) or a symmetric (3, 3) matrix about the centre of mass."
            )
        return np.zeros((3, 3), given.dtype)
    if given.shape == (3,):
        return np.diag(given)
    if given.shape != (3, 3):
        raise ShapeError(f"{what} must have shape (3, 3) or (3,), or be 0; got shape {given.shape}.")
    gap = np.abs(given - given.T).max()
    if gap > INERTIA_TOLERANCE * np.abs(given).max():
        raise InertiaError(
            f"{what} is not symmetric: entries differ by {gap:.6g} kg m^2 from their mirror. "
            "Give xy = yx, xz = zx, yz = zy."
        )
    return 0.5 * given + 0.5 * given.T


def _check_inertia(body: Body) -> None:
    matrix = body.inertia.real
    if not matrix.any():
        return
    moments = np.linalg.eigvalsh(matrix)
    tolerance = INERTIA_TOLERANCE * np.abs(moments).max()
    text = ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < -tolerance:
        raise InertiaError(
            f"body {body.name!r}: the inertia is not positive; its principal moments are {text} kg m^2. "
            "Give it about the centre of mass, with products of inertia entering as -integral(x y dm)."
        )
    if 0.5 * moments[0] + 0.5 * moments[1] < 0.5 * (moments[2] - tolerance):  # halves: sums of the largest overflow
        raise InertiaError(
            f"body {body.name!r}: no mass distribution has the principal moments {text} kg m^2: "
            f"the largest exceeds the sum of the others by {moments[2] - moments[1] - moments[0]:.6g}. "
            + _advice(matrix, moments)
        )


def _advice(matrix: Array, moments: Array) -> str:
    """What to write instead of an impossible inertia; one moment alone is that of a body known in its plane only."""
    axes = np.flatnonzero(matrix.diagonal())
    if len(axes) != 1 or moments[1] != 0.0:
        return "Check units, and that the inertia is about the centre of mass."
    k, largest = axes[0], float(moments[2])
    # halves are exact, and so are all digits: rounded ones could miss the inequality again
    text = ", ".join(repr(largest if i == k else largest / 2) for i in range(3))
    return (
        f"If the body moves in a plane across {'xyz'[k]} and only its moment I about that axis is known, give it I/2 "
        f"about the others, which that motion does not depend on: inertia=({text})."
    )
