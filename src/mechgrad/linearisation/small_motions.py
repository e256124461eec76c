"""The verb `linearise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.state import State, state
from mechgrad.linearisation.linearised_mechanism import Asked, Linearisation
from mechgrad.linearisation.point import Point
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.model import Model
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.typing import ArrayLike


def linearise(
    model: Model,
    about: Any = None,
    *,
    t: float | None = None,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    independent: Sequence[str] | None = None,
    rates: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    outputs: Any = (),
) -> Linearisation:
    """Small motions of any mechanism about a state: matrices, eigenvalues, modes, and their derivatives.

        x' = A x + B du,   y = y0 + C x + D du,       x = (z, u): independent coordinates and their rates

    Whatever constraints decide is eliminated exactly, to first order (docs/linearise.md); balls are displaced by small
    rotations in parent axes. Raises AssemblyError at a state that misses constraints or is singular.

    Parameters
    ----------
    about : Equilibrium, State, Trajectory (at its instant t), mapping of coordinates, or q (n_q,)
        {"pin": 0.3} stands for assemble(model, {"pin": 0.3}); left out: `model.neutral()`, with loops closed.
    t : float [s]
        For functions of time. Left out: that of the state, else 0.
    tau, loads :
        Constant forces, as in `simulate`; those of the equilibrium or motion if left out. What holds coordinates of an
        equilibrium, `at={..}`, goes on as a constant force.
    independent, rates : lists of names, optional
        As many coordinates as constraints leave free, and those of them whose rates are (fewer where wheels roll).
    inputs : list of names
        Columns of B: coordinates and motors (their generalized force), or any number, "push.force.y".
    outputs : measure, list of measures, or mapping of names to them
        Rows of C.

    >>> lin = linearise(pendulum, mg.equilibrium(pendulum), inputs=["pin"])
    >>> lin.eigenvalues.round(6) + 0.0                            # +- i sqrt(g / l)
    array([0.+3.132092j, 0.-3.132092j])
    >>> lin.B.round(3)                                            # 1 / (m l^2)
    array([[0. ],
           [0.5]])
    """
    note_idle_gravity(model, tree_of(model))
    if isinstance(inputs, str):
        raise InputError(f"inputs is {inputs!r}; give a list of names: [{inputs!r}].")
    start, tau, loads = _start(model, about, t, tau, loads)
    if start.model is not model:
        raise InputError(
            f"the state belongs to another model, {start.model.name!r}, or to an earlier copy of {model.name!r}; "
            "linearise(state.model, state), or find the state with this one."
        )
    return Linearisation.of(Point.of(start, tau, loads), Asked(independent, rates, tuple(inputs), outputs))


def _start(
    model: Model, about: Any, t: float | None, tau: ArrayLike | None, loads: Sequence[Load] | None
) -> tuple[State | Equilibrium, ArrayLike | None, Sequence[Load] | None]:
    """The state, and the forces that act there."""
    if t is not None and (np.ndim(t) or not np.isfinite(t)):
        raise InputError(f"t is {t!r}; give one finite instant [s].")
    now = 0.0 if t is None else float(t)
    if about is None or isinstance(about, Mapping):
        return assemble(model, about, t=now), tau, loads
    if hasattr(about, "recipe"):
        return _instant(about, t), about.tau if tau is None else tau, about.loads if loads is None else loads
    if not hasattr(about, "way"):
        return state(model, about, t=now), tau, loads
    if t is not None and t != about.t:
        raise InputError(f"t is {t:g} s and the state is one of t = {about.t:g} s; give t to the state.")
    return about, tau, loads


def _instant(motion: Trajectory, t: float | None) -> State:
    """A motion at one of its instants."""
    if not hasattr(motion, "at"):
        raise InputError("a motion from a file is read between its steps once they are taken again: motion.repeated().")
    if motion.q.ndim != 2:
        raise InputError("the motion holds many starts; linearise about one of motion.rows().")
    if t is None:
        raise InputError(
            f"at which instant of the motion? Give t between {motion.t[0]:g} and {motion.t[-1]:g} s, or a state: "
            "motion.at(t)."
        )
    return motion.at(float(t))
