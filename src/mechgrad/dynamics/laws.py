"""A user's force law behind the address that compiled marches call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.user_laws import SIGNATURE
from mechgrad.errors import InputError
from mechgrad.model.forces.user_force import UserForce
from mechgrad.tolerances import COMPLEX_STEP
from mechgrad.typing import Array


class UserLaws:
    """Addresses of user laws; keeps the callbacks alive, and the first error that one of them raised.

    A Python exception cannot cross compiled code: the law then returns NaN, the march ends with a bad number, and
    `raise_pending` raises what really happened.
    """

    def __init__(self, laws: Sequence[UserForce]) -> None:
        self.errors: list[Exception] = []
        self._kept = [SIGNATURE(self._callback(law)) for law in laws]
        self.addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._kept]

    def raise_pending(self) -> None:
        """Raise the first error of a law, if there was one."""
        if self.errors:
            raise self.errors[0]

    def _callback(self, law: UserForce) -> Callable[..., None]:
        def call(rows: int, t: float, g: int, gd: int, F: int, F_g: int, F_gd: int, is_complex: int) -> None:
            dtype = complex if is_complex else float
            x, xd, force = (_view(p, rows, dtype) for p in (g, gd, F))
            by_g, by_gd = (_view(p, rows * rows, dtype).reshape(rows, rows) for p in (F_g, F_gd))
            try:
                numbers = law.value_of_numbers()
                if law.partials is None:
                    force[:] = _checked(law, law.function(t, x.copy(), xd.copy(), **numbers), (rows,), dtype)
                    _complex_steps(law, t, x, xd, by_g, by_gd)
                else:
                    force[:], by_g[:], by_gd[:] = _by_partials(law, t, x, xd, numbers)
            except Exception as error:
                self.errors.append(error)
                force[:] = np.nan

        return call


def _view(address: int, count: int, dtype: type) -> Array:
    size = 2 * count if dtype is complex else count
    numbers = np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))
    return numbers.view(np.complex128) if dtype is complex else numbers


def _checked(law: UserForce, given: Any, shape: tuple[int, ...], dtype: type) -> Array:
    values = np.asarray(given)
    if values.shape != shape:
        raise InputError(f"force {law.name!r} returned shape {values.shape}; it must return {shape}.")
    if dtype is float and np.iscomplexobj(values):
        raise InputError(f"force {law.name!r} returned complex numbers for real ones.")
    return values


def _by_partials(law: UserForce, t: float, g: Array, gd: Array, numbers: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Forces and partials of a law that states these itself; imaginary parts follow them."""
    assert law.partials is not None
    rows, (x, xd) = len(g), (np.array(y.real, float) for y in (g, gd))
    real = {name: complex(value).real for name, value in numbers.items()}
    force: Array = _checked(law, law.function(t, x.copy(), xd.copy(), **real), (rows,), float)
    given = law.partials(t, x.copy(), xd.copy(), **real)
    by_g, by_gd = (_checked(law, part, (rows, rows), float) for part in given[:2])
    by_number = given[2] if len(given) > 2 else {}
    if np.iscomplexobj(g):
        force = force + 1j * (by_g @ g.imag + by_gd @ gd.imag)
        for name, value in numbers.items():
            if np.imag(value):
                if name not in by_number:
                    raise InputError(
                        f"partials of force {law.name!r} return nothing for its number {name!r}; return (dF/dg, "
                        f"dF/dgd, {{{name!r}: dF/d{name}, ...}})."
                    )
                force = force + 1j * np.imag(value) * _checked(law, by_number[name], (rows,), float)
    return force, by_g, by_gd


def _complex_steps(law: UserForce, t: float, g: Array, gd: Array, by_g: Array, by_gd: Array) -> None:
    """Partials by complex steps; along an imaginary direction already taken they are of the real part."""
    real, real_rate = g.real.astype(complex), gd.real.astype(complex)
    numbers = {name: complex(value).real for name, value in law.value_of_numbers().items()}
    for j in range(len(g)):
        for base, other, out, swap in ((real, real_rate, by_g, False), (real_rate, real, by_gd, True)):
            moved = base.copy()
            moved[j] += 1j * COMPLEX_STEP
            arguments = (other, moved) if swap else (moved, other)
            out[:, j] = (
                np.imag(_checked(law, law.function(t, *arguments, **numbers), (len(g),), complex)) / COMPLEX_STEP
            )
