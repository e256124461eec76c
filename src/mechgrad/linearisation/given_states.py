"""What `linearise` may be given as a state, and the forces that belong to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.state import State, state
from mechgrad.model.model import Model
from mechgrad.simulation.saved import SavedMotion
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.typing import ArrayLike


class GivenState(NamedTuple):
    """A state, and forces that act there; None: none were given.

    rest : the state once more if it is an equilibrium;   holding : what kept some of its coordinates in place
    """

    start: State | Equilibrium
    tau: ArrayLike | None
    loads: Sequence[Load] | None
    rest: Equilibrium | None = None

    @property
    def holding(self) -> Mapping[str, Any]:
        """Generalized forces by the coordinates that they held."""
        return {} if self.rest is None else self.rest.holding


@singledispatch
def given_state(about: Any, model: Model, t: float | None) -> GivenState:
    """The state that `linearise` was given: coordinates to be held or q here, results of other verbs below."""
    now = 0.0 if t is None else float(t)
    if about is None or isinstance(about, Mapping):
        return GivenState(assemble(model, about, t=now), None, None)
    return GivenState(state(model, about, t=now), None, None)


@given_state.register
def _(about: Trajectory, model: Model, t: float | None) -> GivenState:
    if about.q.ndim != 2:
        raise InputError("the motion holds many starts; linearise about one of motion.rows().")
    if t is None:
        raise InputError(
            f"at which instant of the motion? Give t between {about.t[0]:g} and {about.t[-1]:g} s, or a state: "
            "motion.at(t)."
        )
    return GivenState(about.at(float(t)), about.tau, about.loads)


@given_state.register
def _(about: SavedMotion, model: Model, t: float | None) -> GivenState:
    raise InputError("a motion from a file is read between its steps once they are taken again: motion.repeated().")


@given_state.register
def _(about: State, model: Model, t: float | None) -> GivenState:
    return GivenState(_at_its_instant(about, t), None, None)


@given_state.register
def _(about: Equilibrium, model: Model, t: float | None) -> GivenState:
    return GivenState(_at_its_instant(about, t), about.tau, about.loads, about)


def _at_its_instant(about: State | Equilibrium, t: float | None) -> State | Equilibrium:
    if t is not None and t != about.t:
        raise InputError(f"t is {t:g} s and the state is one of t = {about.t:g} s; give t to the state.")
    return about


def check_instant(t: float | None) -> None:
    """Raise unless t is an instant, or left out."""
    if t is not None and (np.ndim(t) or not np.isfinite(t)):
        raise InputError(f"t is {t!r}; give one finite instant [s].")
