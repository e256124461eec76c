"""States that motions start with: found by `assemble`, or given as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A state that a motion can start with: of `assemble`, where it meets the constraints, or of `state`, as given.

    Attributes
    ----------
    model : Model
    q, v : (n_q,), (n_v,); (batch, n_q), (batch, n_v) where many are given
    t : float
        Time [s], for constraints that depend on it.
    held, held_rates : dict
        What was held at position and at velocity level, with its values; if that fixes all degrees of freedom, q and v
        are smooth functions of these values and of the numbers of the model.
    position_error, velocity_error : float
        Largest miss among the constraints and the held quantities [m or 1; m/s or 1/s].
    given : bool
        Whether q and v were given as they are, so that nothing about them depends on numbers of the model.

    >>> mg.assemble(pendulum, {"pin": 0.5}, {"pin": 2.0}).v
    array([2.])
    """

    model: Model
    q: Array
    v: Array
    t: float
    held: dict[str, Any]
    held_rates: dict[str, Any]
    position_error: float
    velocity_error: float
    given: bool = False

    @property
    def way(self) -> str:
        """How it was found: "given" or "assembled"."""
        return "given" if self.given else "assembled"

    @property
    def bound_to_time(self) -> bool:
        """Whether forces at its time decided it: never, geometry did."""
        return False

    def __repr__(self) -> str:
        what = held_in_words(self.held, self.held_rates)
        if self.given:
            what = f"{len(self.q)} starts" if self.q.ndim == 2 else f"{self.q.size} coordinates"
            what += " as given"
        return (
            f"State of {self.model.name!r} at t = {self.t:g} s: {what}. Next: .q, .v, simulate(model, state), "
            "gradient(...)"
        )


def state(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, t: float = 0.0) -> State:
    """The state with these coordinates and velocities, as a start of `simulate`.

    Parameters
    ----------
    q : (n_q,) or (batch, n_q) [rad, m, Euler parameters]
        In the order of `model.q_names`. Nothing is solved for: with closed loops q must close them (`assemble` finds
        such states).
    v : (n_v,) or (batch, n_v) [rad/s, m/s]
        In the order of `model.v_names`; zero if left out.
    t : float
        Time [s], for functions of time.

    >>> state(pendulum, [0.5], [2.0])
    State of 'pendulum' at t = 0 s: 1 coordinates as given. Next: .q, .v, simulate(model, state), gradient(...)
    """
    coordinates = np.array(q)  # copies: a state does not change with what it was made of
    velocities = np.zeros((*coordinates.shape[:-1], model.n_v)) if v is None else np.array(v)
    for name, x, n in (("q", coordinates, model.n_q), ("v", velocities, model.n_v)):
        if x.dtype.kind not in "fciu" or x.ndim not in (1, 2) or x.shape[-1] != n or x.ndim != coordinates.ndim:
            raise InputError(
                f"{name} has shape {x.shape}; a state of model {model.name!r} needs ({n},), or (batch, {n}) for both."
            )
    if len(coordinates) != len(velocities) and coordinates.ndim == 2:
        raise InputError(f"q has {len(coordinates)} starts and v {len(velocities)}.")
    if not np.isfinite(t):
        raise InputError(f"t is {t}; the time of a state is a finite number [s].")
    return State(model, coordinates, velocities, float(t), {}, {}, 0.0, 0.0, given=True)


MOST_SHOWN = 4  # quantities that a short description lists


def held_in_words(held: Mapping[str, Any], rates: Mapping[str, Any]) -> str:
    """What is held and how fast it moves, for short descriptions; rates of zero go without saying.

    >>> held_in_words({"A": 0.3, "B": 0.1}, {"A": 2.0, "B": 0.0})
    'A = 0.3, B = 0.1 held, rate of A = 2'
    """

    def listed(values: Mapping[str, Any], word: str) -> str:
        shown = [f"{word}{name} = {np.real(x):.6g}" for name, x in list(values.items())[:MOST_SHOWN]]
        return ", ".join([*shown, "..."] if len(values) > MOST_SHOWN else shown)

    moving = {name: x for name, x in rates.items() if np.real(x)}
    parts = [f"{listed(held, '')} held" if held else "nothing held", listed(moving, "rate of ")]
    return ", ".join(part for part in parts if part)
