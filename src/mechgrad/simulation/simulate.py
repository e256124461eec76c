"""From a state to a motion: any mechanism, formulation and scheme, the loop compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.formulations import Formulation, as_formulation
from mechgrad.dynamics.fully_recursive import FullyRecursive
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.semi_recursive import SemiRecursive
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.state import State, state
from mechgrad.model.tree import Reference
from mechgrad.simulation.recipe import Recipe
from mechgrad.simulation.recipe_checks import has_loops
from mechgrad.simulation.recipe_data import TOLERANCE
from mechgrad.simulation.run import march
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.conditions import as_stop
from mechgrad.steps.runge_kutta.dop853 import DOP853
from mechgrad.steps.runge_kutta.rk4 import RK4
from mechgrad.steps.schemes import Scheme, Trapezoidal, as_scheme
from mechgrad.steps.task import Stop
from mechgrad.steps.watch import Told
from mechgrad.typing import ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def simulate(
    model: Model, start: State | Equilibrium | Mapping[Any, Any] | ArrayLike, duration: float, *,
    formulation: str | Formulation | None = None, scheme: str | Scheme | None = None, step: float | None = None,
    samples: int | None = None, tau: ArrayLike | None = None, loads: Sequence[Load] | None = None,
    t0: float | None = None, reference: Reference = "root", rtol: float = TOLERANCE, atol: float = TOLERANCE,
    stop: Stop | Mapping[Any, float] | None = None, progress: bool | Told = False,
) -> Trajectory:  # fmt: skip
    """The motion (`Trajectory`) of a mechanism from a state: trees or loops, with all its constraints and forces.

        q' = N(q) v,       M(q) a + h(q, v) + Gamma^T lam = Q(q, v, t),       constraints hold

    Parameters
    ----------
    start : State of `state` or `assemble`, or Equilibrium of `equilibrium`
        At rest also in short: {"crank": 0.3} for assemble(model, {"crank": 0.3}), where what is not named stays at
        `model.neutral()` as far as loops allow (where they can be closed in several ways, `assemble` with a guess
        decides); q (n_q,) for state(model, q). A state of many starts, (batch, n_q), is marched in SIMD lanes (trees,
        scheme "rk4"). Euler parameters may have any length but zero; those of the motion have length one.
    duration : float [s]
    formulation : ALI3P, Index1, Penalty, MatrixR, SemiRecursive, FullyRecursive, or a name of these, as printed
        Left out: for trees FullyRecursive (SemiRecursive with implicit schemes), for loops ALI3P with implicit schemes
        and Index1 with explicit ones.
    scheme : DOP853, RK4, Trapezoidal, Newmark, HHT, GeneralizedAlpha, or a name of these, as printed
        Left out: DOP853 (order 8 with error control) without a step; with one RK4 for trees, Trapezoidal for loops.
    step : fixed step [s]; the first trial step of DOP853. Implicit schemes without a step control their error.
    samples : number of instants reported, both ends included: 201, or every fixed step
    tau : (n_v,), loads : list of Load; constant along the motion, forces that change belong to the model
    t0 : time at the start [s], for functions of time; left out: that of the State or Equilibrium, else 0
    reference : "root", "com" or "origin", the point about which velocities and wrenches are summed up (`Recipe`)
    rtol, atol : tolerances of the error control, relative and absolute [rad, m, and per second] (`Recipe`)
    stop : {"crank": 0.3}, or function (t (nt,), q (nt, n_q), v (nt, n_v)) -> (nt,)
        The motion ends where a coordinate, or a measure of q and v, passes a value; or where the function changes
        sign (`Recipe`). Gradients know that the end moves (`EndTime` is its own objective).
    progress : True prints how far the march has come; function (t, q) is told where it is, about twenty times a second
        and at the end; what it raises ends the march. `mg.view(model, live=True)` has one that shows it in the browser

    Raises AssemblyError if the start does not meet the constraints, and StepFailed if the march cannot go on: its
    `.trajectory` is the motion so far.

    >>> swing = simulate(model, [0.5], 2.0)
    >>> bool(np.ptp(swing.energy()) < 1e-7)
    True
    >>> simulate(model, mg.assemble(model, {"pin": 0.5}, {"pin": 2.0}), 1.0).start
    State of 'pendulum' at t = 0 s: pin = 0.5 held, rate of pin = 2. Next: .q, .v, simulate(model, state), gradient(...)
    """
    start = _as_start(model, start, t0)
    chosen, form = chosen_method(model, formulation, scheme, step)
    forces = np.zeros(model.n_v) if tau is None else np.asarray(tau)
    recipe = Recipe(
        model, start, duration, form, chosen, step, samples, forces, tuple(loads or ()),
        start.t if t0 is None else t0, reference, rtol, atol, as_stop(model, stop),
    )  # fmt: skip
    return march(recipe, progress=progress)


def simulate_again(
    motion: Trajectory,
    model: Model,
    start: State | Equilibrium,
    *,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    samples: int | None = None,
    own_steps: bool = False,
    stops: bool = False,
) -> Trajectory:
    """The motion of a model that differs from that of `motion` by numbers, from another start, by the same steps.

    tau, loads and samples are those of `motion` if they are left out; `own_steps` lets error control choose steps anew;
    `stops` ends it by the stop condition of `motion`, which is left out otherwise.

    Steps with error control are held as they were taken, and so are the independent coordinates and rows that Matrix R
    chose for each step: what is left is a smooth function of numbers and start, whose derivative is that of
    `gradient`. Where numbers and start differ by imaginary parts alone, real parts are those of `motion` at every step:
    rounding would grow along sensitive motions until contacts switch on the other side of a step's end.

    >>> swing = simulate(model, [0.5], 1.0)
    >>> bool(np.array_equal(simulate_again(swing, model, mg.state(model, [0.5])).q, swing.q))
    True
    """
    recipe = replace(
        motion.recipe, model=model, start=start, samples=motion.recipe.samples if samples is None else samples,
        tau=motion.tau if tau is None else np.asarray(tau), loads=motion.loads if loads is None else tuple(loads),
        stop=motion.recipe.stop if stops else None,
    )  # fmt: skip
    return march(recipe, same_steps=None if own_steps else motion.record)


def _as_start(model: Model, given: Any, t0: float | None) -> State | Equilibrium:
    """What a motion starts with."""
    if isinstance(given, Mapping):
        given = assemble(model, given, t=0.0 if t0 is None else t0)
    elif not hasattr(given, "way"):
        given = state(model, given, t=0.0 if t0 is None else t0)
    start: State | Equilibrium = given
    return start


def chosen_method(
    model: Model, formulation: str | Formulation | None, scheme: str | Scheme | None, step: float | None
) -> tuple[Scheme, Formulation]:
    """Scheme and formulation, those that suit the model where they are left out."""
    loops = has_loops(model)
    if scheme is not None:
        chosen = as_scheme(scheme)
    elif step is None:
        chosen = DOP853()
    else:
        explicit = formulation is not None and as_formulation(formulation).fixed_point
        chosen = Trapezoidal() if loops and not explicit else RK4()
    if formulation is None:
        if loops:
            return chosen, ALI3P() if chosen.implicit else Index1()
        return chosen, SemiRecursive() if chosen.implicit else FullyRecursive()
    return chosen, as_formulation(formulation)
