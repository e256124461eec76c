"""What can go wrong, as one family of exceptions: every message says what, where, how much and what to do."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "AssemblyError",
    "CertificateError",
    "ClosedLoopError",
    "DisconnectedError",
    "DuplicateNameError",
    "IdleGravityWarning",
    "InertiaError",
    "InputError",
    "LoopError",
    "MassError",
    "MechgradError",
    "MechgradWarning",
    "ModelError",
    "NoEquilibriumError",
    "NotFiniteError",
    "ParentOrderError",
    "ShapeError",
    "SingularMassMatrixError",
    "ToleranceWarning",
    "TooLargeError",
    "UnknownNameError",
    "ValueRangeError",
    "ZeroAxisError",
]

_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def is_control(character: str) -> bool:
    """Whether a character commands a terminal instead of being seen on it: escapes, line ends, changes of direction."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTIONS


def printable(text: str) -> str:
    """The text without control characters, but for line ends and tabs: names from files must not command a terminal.

    >>> printable("leg\\x1b[2J")
    'leg[2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t" or not is_control(c))


class MechgradError(Exception):
    """The root of every error that mechgrad raises on purpose; its message has no control characters."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(printable(x) if isinstance(x, str) else x for x in args))


class ModelError(MechgradError, ValueError):
    """The description of a mechanism is not usable."""


class UnknownNameError(ModelError, KeyError):
    """A name or a path that the model does not have; the message lists those it has."""

    __str__ = Exception.__str__  # KeyError would show the repr of the message


class DuplicateNameError(ModelError):
    """One name is given to two things."""


class DisconnectedError(ModelError):
    """A body that no joint holds."""


class LoopError(ModelError):
    """Following the parents from a body leads back to it."""


class ClosedLoopError(ModelError):
    """A closed loop that is not cut, or cut where it cannot be."""


class ParentOrderError(ModelError):
    """A joint is listed before the joint that carries its parent."""


class NotFiniteError(ModelError):
    """A NaN or an infinity where a number is needed."""


class ShapeError(ModelError):
    """An array of the wrong shape, or something that is not a number at all."""


class MassError(ModelError):
    """A negative mass."""


class InertiaError(ModelError):
    """An inertia tensor that no rigid body can have."""


class ZeroAxisError(ModelError):
    """An axis, a direction or a quaternion of length zero."""


class ValueRangeError(ModelError):
    """A value outside of what it may be (a kind, a convention, parallel axes, a driven path ...)."""


class InputError(MechgradError, ValueError):
    """An array given to a computation has the wrong shape or content."""


class TooLargeError(InputError, MemoryError):
    """Something that takes more memory than is there; raised before any of it is taken."""


class AssemblyError(MechgradError, ArithmeticError):
    """Constraints that cannot be met: a loop that does not close, coordinates that contradict each other."""


class NoEquilibriumError(MechgradError, ArithmeticError):
    """No configuration near the guess is one of rest; `.q` is the nearest that was found.

    >>> import mechgrad as mg
    >>> try:
    ...     mg.equilibrium(mg.Model("falling", [mg.Body("b", 1.0)], [mg.Prismatic("z", "ground", "b")]))
    ... except NoEquilibriumError as error:
    ...     print(str(error)[:58])
    model 'falling' has no equilibrium that 200 iterations rea
    """

    def __init__(self, message: str, q: np.ndarray) -> None:
        super().__init__(message)
        self.q = q


class SingularMassMatrixError(MechgradError, ArithmeticError):
    """The mass matrix cannot be factorised: some coordinate moves no mass."""


class CertificateError(MechgradError, AssertionError):
    """Derivatives that do not pass their check; the message is the table with the verdict."""


class MechgradWarning(UserWarning):
    """The root of every warning that mechgrad gives: what is suspicious, and what to do about it."""


class IdleGravityWarning(MechgradWarning):
    """Gravity that moves nothing, since all joints turn about its direction or slide across it."""


class ToleranceWarning(MechgradWarning):
    """A motion that goes on where its tolerance could not be kept."""


def unknown_name(what: str, name: str, known: Iterable[str], where: str = "") -> UnknownNameError:
    """Build the error for a name that is not among the known ones, with the nearest as a suggestion.

    >>> print(unknown_name("body", "leg", ["ground", "legs"], "joint 'hip'"))
    joint 'hip': unknown body 'leg'. Did you mean 'legs'? Known: ground, legs.
    """
    names = list(dict.fromkeys(known))
    # The comparison takes a time that grows with the square of the lengths.
    near = difflib.get_close_matches(str(name)[:100], names, n=1)
    shown = ", ".join(names[:20]) + (f", ... ({len(names)} in all)" if len(names) > 20 else "")
    return UnknownNameError(
        (f"{where}: " if where else "")
        + f"unknown {what} {name!r}."
        + (f" Did you mean {near[0]!r}?" if near else "")
        + f" Known: {shown or 'none'}."
    )
