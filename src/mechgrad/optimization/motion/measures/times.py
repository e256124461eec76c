"""When samples are: what laws and drivers that know of time are told, and what laws say of their derivative by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.mechanism_record import elements_of
from mechgrad.model.forces.user_force import UserForce
from mechgrad.model.mechanism import L_FIRST, L_FUNCTION, L_KIND, L_ROWS, L_USER, R_FUNCTION
from mechgrad.model.primitives.rows import MOTOR, USER
from mechgrad.optimization.motion.measures.motion_samples import Samples
from mechgrad.tolerances import COMPLEX_STEP
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model

EIGHTH = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
STRIDE = 2.0**-8  # of those differences [rad, m, s, or their rates]: truncation and rounding are both about 1e-12
INSTANTS = (0.0, 0.1, 0.37, 0.7, 1.3, 2.9, 7.7, 31.0)  # [s] where laws of users are looked at for time
AGREEMENT = 1e-3  # of a law's derivative by time with differences


@final
@dataclass(frozen=True)
class Times:
    """t = duration xi, or a profile of its own (`column`) where the duration is to be found and anything asks for t."""

    duration: float | None = None
    column: int = -1

    def at(self, s: Samples) -> Array:
        """t [s] of samples, real numbers."""
        if self.column >= 0:
            return np.array(s.z[0][:, self.column].real)
        return np.zeros(s.nt) if self.duration is None else self.duration * s.xi


def depends_on_time(model: Model) -> bool:
    """Whether a constraint, a motor or a user's force of a model is a function of time."""
    elements = elements_of(model)
    rows, laws = elements.rows_i, elements.laws_i
    motors = (laws[:, L_KIND] == MOTOR) & (laws[:, L_FUNCTION] >= 0)
    return bool(np.any(rows[:, R_FUNCTION] >= 0) or np.any(motors) or any(_knows_time(x) for x in elements.user))


def _trials(force: UserForce) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(11)
    return [(rng.normal(size=len(force.measures)), rng.normal(size=len(force.measures))) for _ in range(3)]


def _real_numbers(force: UserForce) -> dict[str, float]:
    return {name: float(np.real(x)) for name, x in force.value_of_numbers().items()}


def _knows_time(force: UserForce) -> bool:
    given = _real_numbers(force)
    for numbers in (given, {name: x + 0.01 * (abs(x) + 0.1) for name, x in given.items()}):  # zeros may not stay zero
        for g, gd in _trials(force):
            found = [np.asarray(force.function(t, g.copy(), gd.copy(), **numbers)) for t in INSTANTS]
            if not all(np.array_equal(found[0], other, equal_nan=True) for other in found[1:]):
                return True
    return False


def check_clocks_of_users(model: Model) -> None:
    """Raise where a user's force depends on time and its derivative by time is not what differences say."""
    for force in elements_of(model).user:
        if not _knows_time(force):
            continue
        numbers, h = _real_numbers(force), 1e-5
        for g, gd in _trials(force):
            for t in INSTANTS[1:-1]:
                ahead, behind = (
                    np.asarray(force.function(t + sign * h, g.copy(), gd.copy(), **numbers)) for sign in (1, -1)
                )
                slope, stated = (ahead - behind) / (2 * h), _user_rate(model, force, t, g, gd)
                size = max(np.abs(slope).max(), np.abs(stated).max(), 1e-6 * np.abs(ahead).max())
                if np.abs(slope - stated).max() > AGREEMENT * size:
                    raise InputError(
                        f"force {force.name!r} of model {model.name!r} depends on time: at t = {t:g} s its derivative "
                        f"by time is {_shown(slope)} by differences, and {_shown(stated)} as stated (`partials`, or a "
                        "complex step through the function). A duration to be found needs it: let the function take "
                        'complex t (NumPy functions of t itself), or let partials return {"t": dF/dt}.'
                    )


def _shown(x: Array) -> str:
    return ", ".join(f"{number:.6g}" for number in x)


def _user_rate(model: Model, force: UserForce, t: float, g: Array, gd: Array) -> Array:
    """F_t of a user's force, (rows,): as its partials state it, or by a complex step through the function."""
    numbers = _real_numbers(force)
    if force.partials is None:
        try:
            moved = force.function(t + 1j * COMPLEX_STEP, g.astype(complex), gd.astype(complex), **numbers)
        except TypeError as error:
            raise InputError(
                f"force {force.name!r} of model {model.name!r} depends on time, and its function does not take complex "
                f"t ({error}). A duration to be found needs its derivative by time: write it with NumPy functions of "
                't, or let partials return (dF/dg, dF/dgd, {"t": dF/dt}).'
            ) from error
        return np.asarray(np.imag(moved) / COMPLEX_STEP, float)
    given = force.partials(t, g.copy(), gd.copy(), **numbers)
    if len(given) < 3 or "t" not in given[2]:
        raise InputError(
            f"force {force.name!r} of model {model.name!r} depends on time, and its partials say nothing about the "
            'derivative by time, which a duration to be found needs: return (dF/dg, dF/dgd, {"t": dF/dt}).'
        )
    return np.asarray(given[2]["t"], float).reshape(g.shape)


def clocked_rows(model: Model) -> Array:
    """Rows of laws, counted from the first of them, along which forces depend on time explicitly."""
    return model.shared("rows of laws of time", _clocked_rows)


def _clocked_rows(model: Model) -> Array:
    elements = elements_of(model)
    found: list[int] = []
    for law in elements.laws_i:
        user = law[L_KIND] == USER and _knows_time(elements.user[law[L_USER]])
        if user or law[L_KIND] == MOTOR:
            first = int(law[L_FIRST]) - elements.n_constraints
            found += range(first, first + int(law[L_ROWS]))
    return np.array(found, int)


def time_rates(model: Model, g: Array, gd: Array, t: Array, order: int) -> Array:
    """First or second derivative by time of the forces along all rows of laws, whose values and rates are g and gd.

    Second ones of users' forces are central differences of eighth order of the first.
    """
    elements, out = elements_of(model), np.zeros(g.shape)
    for law in elements.laws_i:
        first = int(law[L_FIRST]) - elements.n_constraints
        mine = slice(first, first + int(law[L_ROWS]))
        if law[L_KIND] == MOTOR:
            function = elements.functions[law[L_FUNCTION]]
            out[:, first] = -np.real(function.rate(t) if order == 1 else function.second(t))
        elif law[L_KIND] == USER:
            out[:, mine] = _user_rates(model, elements.user[law[L_USER]], g[:, mine], gd[:, mine], t, order)
    return out


def _user_rates(model: Model, force: UserForce, g: Array, gd: Array, t: Array, order: int) -> Array:
    """F_t or F_tt (nt, rows)."""

    def first(shift: float) -> Array:
        return np.stack([_user_rate(model, force, t[k] + shift, g[k], gd[k]) for k in range(len(t))])

    if order == 1:
        return first(0.0)
    return np.asarray(sum(w / STRIDE * (first(k * STRIDE) - first(-k * STRIDE)) for k, w in EIGHTH))
