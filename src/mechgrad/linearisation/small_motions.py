"""The verb `linearise`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.batch import tree_of
from mechgrad.linearisation.given_states import GivenState, check_instant, given_state
from mechgrad.linearisation.linearised_mechanism import Asked, Linearisation
from mechgrad.linearisation.point import Point
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.model import Model
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

    Of any mechanism: whatever constraints decide is eliminated exactly, to first order (`docs/linearise.md`). Balls
    are displaced by small rotations in parent axes.

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

    Returns
    -------
    Linearisation
        `.A`, `.B`, `.C`, `.D`, `.mass`, `.damping`, `.stiffness`, `.eigenvalues`, `.modes`; `.derivatives(paths)`;
        `.locus(path, values)`. An AssemblyError where the state misses constraints, or is singular.

    >>> lin = linearise(pendulum, mg.equilibrium(pendulum), inputs=["pin"])
    >>> lin.eigenvalues.round(6) + 0.0                            # +- i sqrt(g / l)
    array([0.+3.132092j, 0.-3.132092j])
    >>> lin.B.round(3)                                            # 1 / (m l^2)
    array([[0. ],
           [0.5]])
    """
    note_idle_gravity(model, tree_of(model))
    check_instant(t)
    if isinstance(inputs, str):
        raise InputError(f"inputs is {inputs!r}; give a list of names: [{inputs!r}].")
    given = _own(given_state(about, model, t), model)
    given = given._replace(tau=given.tau if tau is None else tau, loads=given.loads if loads is None else loads)
    return Linearisation.of(Point.of(given), Asked(independent, rates, tuple(inputs), outputs))


def _own(given: GivenState, model: Model) -> GivenState:
    """The state, if it is one of this model."""
    if given.start.model is not model:
        raise InputError(
            f"the state belongs to another model, {given.start.model.name!r}, or to an earlier copy of {model.name!r}; "
            "linearise(state.model, state), or find the state with this one."
        )
    return given
