"""From a state to a motion: any mechanism, formulation and scheme, the loop compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.formulations import Formulation, as_formulation
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.kernels.accelerations import INTERRUPTED
from mechgrad.dynamics.open_trees import FullyRecursive, SemiRecursive
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.inverse.loads import Load, loads_are_complex
from mechgrad.kernels.interrupt import raised
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.batch import check_samples, tree_of
from mechgrad.kinematics.mechanism import elements_of, row_report
from mechgrad.kinematics.open_trees import has_elements
from mechgrad.kinematics.state import State, state
from mechgrad.model.configuration import unit
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.mechanism import R_FUNCTION
from mechgrad.simulation.recipe import Recipe
from mechgrad.simulation.trajectory import StepFailed, Trajectory
from mechgrad.steps.failures import REASONS, MarchEnded
from mechgrad.steps.matrix_r.independent import offered_rows, start_choices
from mechgrad.steps.methods import method_of
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta.dop853 import DOP853
from mechgrad.steps.runge_kutta.rk4 import RK4
from mechgrad.steps.runge_kutta.step import held_steps
from mechgrad.steps.schemes import Scheme, Trapezoidal, as_scheme
from mechgrad.steps.task import Stop, Task
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def simulate(
    model: Model,
    start: State | Equilibrium | Mapping[Any, Any] | ArrayLike,
    duration: float,
    *,
    formulation: str | Formulation | None = None,
    scheme: str | Scheme | None = None,
    step: float | None = None,
    samples: int | None = None,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    t0: float | None = None,
    reference: str = "origin",
    rtol: float = 1e-9,
    atol: float = 1e-9,
    stop: Stop | None = None,
    progress: bool = False,
) -> Trajectory:
    """Motion of a mechanism from a state: trees or loops, with all its constraints and forces.

        q' = N(q) v,       M(q) a + h(q, v) + Gamma^T lam = Q(q, v, t),       constraints hold

    Parameters
    ----------
    start : State of `state` or `assemble`, or Equilibrium of `equilibrium`
        At rest also in short: {"crank": 0.3} for assemble(model, {"crank": 0.3}), where what is not named stays at
        `model.neutral()` as far as loops allow (where they can be closed in several ways, `assemble` with a guess
        decides); q (n_q,) for state(model, q). A state of many starts, (batch, n_q), is marched in SIMD lanes (trees,
        scheme "rk4"). Euler parameters may have any length but zero; those of the motion, its start included, have
        length one.
    duration : float [s]
    formulation : ALI3P, Index1, Penalty, MatrixR, SemiRecursive, FullyRecursive, or a name of these
        Left out: for trees FullyRecursive (SemiRecursive with implicit schemes), for loops ALI3P with implicit schemes
        and Index1 with explicit ones.
    scheme : DOP853, RK4, Trapezoidal, Newmark, HHT, GeneralizedAlpha, or a name of these
        Left out: DOP853 (order 8 with error control) without a step; with one RK4 for trees, Trapezoidal for loops.
    step : float [s]
        Fixed step; the first trial step of DOP853. Implicit schemes without a step control their error.
    samples : int
        Number of instants reported, both ends included: 201, or every fixed step.
    tau : (n_v,), loads : list of Load
        Constant along the motion; forces that change belong to the model.
    t0 : float
        Time at the start [s], for functions of time; left out: that of the State or Equilibrium, else 0.
    reference : "origin" or "com"
        Where velocities and wrenches are taken while they are summed up: about the world's origin (fastest), or about
        centres of mass (exact far from the origin; not with FullyRecursive). The motion is the same.
    rtol, atol : float
        Tolerances of the error control, relative and absolute [rad, m, and per second]. DOP853: of every step.
        Implicit schemes: of the whole motion, each step being granted its share; how much the motion itself enlarges
        errors comes on top.
    stop : function (t (nt,), q (nt, n_q), v (nt, n_v)) -> (nt,)
        The motion ends where this changes sign, found to rounding.
    progress : bool
        Print how far the march has come.

    Returns
    -------
    Trajectory

    Raises
    ------
    AssemblyError
        If the start does not meet the constraints.
    StepFailed
        If the march cannot go on; its `.trajectory` is the motion so far.

    >>> swing = simulate(model, [0.5], 2.0)
    >>> bool(np.ptp(swing.energy()) < 1e-7)
    True
    >>> simulate(model, mg.assemble(model, {"pin": 0.5}, {"pin": 2.0}), 1.0).start
    State of 'pendulum' at t = 0 s: pin = 0.5 held, rate of pin = 2. Next: .q, .v, simulate(model, state), gradient(...)
    """
    start = _as_start(model, start, t0)
    if stop is not None and np.ndim(start.q) == 2:
        raise InputError("a stop condition ends one motion; give one start, or look at the batch afterwards.")
    t0 = start.t if t0 is None else t0
    _check_numbers(duration, step, rtol, atol, t0)
    samples = None if samples is None else check_samples(samples)
    chosen, form = _chosen(model, formulation, scheme, step)
    forces = np.zeros(model.n_v) if tau is None else tau
    recipe = Recipe(
        model, start, float(duration), form, chosen, step, samples, np.asarray(forces), tuple(loads or ()), float(t0),
        reference, rtol, atol, stop,
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
) -> Trajectory:
    """The motion of a model that differs from that of `motion` by numbers, from another start, by the same steps.

    tau, loads and samples are those of `motion` if they are left out; `own_steps` lets error control choose steps anew.

    Steps with error control (DOP853) are held as they were taken, and so are the independent coordinates and rows that
    Matrix R chose for each step: what is left is a smooth function of numbers and start, whose derivative is that of
    `gradient`. Where numbers and start differ by imaginary parts alone, real parts are those of `motion` at every step:
    rounding would grow along sensitive motions until contacts switch on the other side of a step's end.

    >>> swing = simulate(model, [0.5], 1.0)
    >>> bool(np.array_equal(simulate_again(swing, model, mg.state(model, [0.5])).q, swing.q))
    True
    """
    recipe = replace(
        motion.recipe, model=model, start=start, samples=motion.recipe.samples if samples is None else samples,
        tau=motion.tau if tau is None else np.asarray(tau), loads=motion.loads if loads is None else tuple(loads),
        stop=None,
    )  # fmt: skip
    return march(recipe, same_steps=None if own_steps else motion.record)


def march(recipe: Recipe, *, progress: bool = False, same_steps: Record | None = None) -> Trajectory:
    """The motion of a recipe; same_steps: by the steps of another march, and the choices that it made."""
    model, form, scheme, t0 = recipe.model, recipe.formulation, recipe.scheme, recipe.t0
    note_idle_gravity(model, tree_of(model), above=2)
    q, v, single = _state(model, recipe.start.q, recipe.start.v, recipe.loads)
    if recipe.reference not in ("origin", "com"):
        raise unknown_name("reference", str(recipe.reference), ("origin", "com"))
    if not has_elements(model):
        _require_inertia(recipe, q, v)
    system = _system(recipe, q)
    choices = None if same_steps is None else same_steps.choices
    if form.independent_coordinates and choices is None:
        choices = start_choices(system, form, q[0], t0)
    if single:
        system.check_start(q[0], v[0], t0)
    held = _held(same_steps, system, q) if same_steps is not None and scheme.chooses_steps else None
    task = Task(
        system, form, scheme, q, v, t0, recipe.duration, recipe.step, recipe.samples, recipe.rtol, recipe.atol,
        recipe.stop, progress, single, held, choices, same_steps is not None,
        None if same_steps is None else same_steps.divisions,
    )  # fmt: skip
    try:
        return Trajectory.of(method_of(form, scheme, recipe.step is None).march(task), recipe)
    except MarchEnded as ended:
        failure = _failed(ended, recipe)
    raise failure


def _failed(ended: MarchEnded, recipe: Recipe) -> BaseException:
    """The error that ends a motion early, with the motion until then."""
    motion, name = Trajectory.of(ended.record, recipe), recipe.model.name
    if ended.reason == INTERRUPTED:
        until = f"the first {motion.q.shape[0]} motions" if motion.q.ndim == 3 else "the motion until then"
        note = f"the motion of {name!r} was interrupted at t = {ended.t:.6g} s; {until}: `.trajectory` of this error."
        return raised(motion, note)
    return StepFailed(
        f"the motion of {name!r} ends at t = {ended.t:.6g} s: {REASONS[ended.reason]}. {ended.hint} The motion until "
        "then is in `.trajectory` of this error.",
        motion,
    )


def _require_inertia(recipe: Recipe, q: Array, v: Array) -> None:
    """Raise, with its name, where some coordinate moves no inertia: elimination notices, and is quick."""
    forward_dynamics(recipe.model, q, v, recipe.tau, loads=list(recipe.loads))


def _as_start(model: Model, given: Any, t0: float | None) -> State | Equilibrium:
    """What a motion starts with, checked."""
    if isinstance(given, Mapping):
        given = assemble(model, given, t=0.0 if t0 is None else t0)
    elif not hasattr(given, "way"):
        given = state(model, given, t=0.0 if t0 is None else t0)
    _check_start(model, given, t0)
    start: State | Equilibrium = given
    return start


def _check_start(model: Model, start: State | Equilibrium, t0: float | None) -> None:
    """Raise where a motion would begin with the start of another one."""
    if start.way == "given":
        return  # numbers, which `_state` checks
    if start.model is not model and start.model != model:
        raise InputError(
            f"the start belongs to another model than {model.name!r}, or to one with other numbers, so it may not fit "
            "and its derivative is that of another start. Find it anew with this model; or give q and v as numbers: "
            "mg.state(model, start.q, start.v)."
        )
    if t0 is None or t0 == start.t or not has_elements(model):
        return
    elements = elements_of(model)
    if start.bound_to_time or np.any(elements.rows_i[: elements.n_constraints, R_FUNCTION] >= 0):
        raise InputError(
            f"the start was found for t = {start.t:g} s, and the motion begins at t0 = {t0:g} s: forces or constraints "
            "that change in time are others then. Leave t0 out, or find the start for that time."
        )


def _check_numbers(duration: float, step: float | None, rtol: float, atol: float, t0: float) -> None:
    if not 0 < duration < np.inf:
        raise InputError(f"duration is {duration}; it must be positive [s].")
    if step is not None and not 0 < step <= duration:
        raise InputError(f"step is {step}; it must be positive and not longer than the duration, {duration} s.")
    if not (rtol > 0 and atol > 0):
        raise InputError(f"rtol = {rtol}, atol = {atol}; tolerances must be positive.")
    if not np.isfinite(t0):
        raise InputError(f"t0 is {t0}; it must be finite [s].")


def _chosen(
    model: Model, formulation: str | Formulation | None, scheme: str | Scheme | None, step: float | None
) -> tuple[Scheme, Formulation]:
    """Scheme and formulation, those that suit the model where they are left out."""
    loops = bool(row_report(model).names) if has_elements(model) else False
    if scheme is not None:
        chosen = as_scheme(scheme)
    elif step is None:
        chosen = DOP853()
    else:
        chosen = Trapezoidal() if loops else RK4()
    if formulation is None:
        if loops:
            return chosen, ALI3P() if chosen.implicit else Index1()
        return chosen, SemiRecursive() if chosen.implicit else FullyRecursive()
    form = as_formulation(formulation)
    _check_formulation(form, chosen, loops, model)
    return chosen, form


def _check_formulation(form: Formulation, scheme: Scheme, loops: bool, model: Model) -> None:
    """Raise where a formulation serves another kind of mechanism or of scheme."""
    if loops and not form.for_loops:
        raise InputError(
            f"{form.name} is for open trees, and model {model.name!r} has constraints "
            f"({', '.join(row_report(model).names[:3])}, ...). Choose ALI3P, MatrixR, Index1 or Penalty."
        )
    if not loops and not form.for_trees:
        raise InputError(
            f"{form.name} is for mechanisms with constraints, and model {model.name!r} has none that act. "
            "Choose SemiRecursive or FullyRecursive."
        )
    if not scheme.implicit and form.explicit() is None:
        raise InputError(
            f"{form.name} has no explicit form. Choose a scheme of the Newmark family, or the formulation "
            + ("Index1 or MatrixR." if loops else "FullyRecursive.")
        )


def _system(recipe: Recipe, q: Array) -> System:
    model, form, dtype = recipe.model, recipe.formulation, complex if q.dtype == complex else None
    about_com = recipe.reference == "com"
    if not form.independent_coordinates:
        return System(model, recipe.tau, recipe.loads, dtype=dtype, about_com=about_com)
    offered = offered_rows(model, form)
    system = System(model, recipe.tau, recipe.loads, dtype=dtype, free=offered, about_com=about_com)
    if system.n_constraints > system.n_holonomic:
        raise InputError(
            f"Matrix R takes holonomic constraints only, and {system.names[system.n_holonomic]!r} of model "
            f"{model.name!r} is one of velocities. Choose ALI3P or Index1."
        )
    return system


def _held(record: Record, system: System, q: Array) -> FloatArray:
    """The steps of a march to be taken again; with the states before them, if real parts are to be the same."""
    steps = held_steps(record)
    tables = ((getattr(x.recursive, name).real for name in ("atoms_f", "markers_f", "loads_f", "numbers")) for x in
              (system, record.system))  # fmt: skip
    same = all(np.array_equal(mine, theirs) for mine, theirs in zip(*tables, strict=True))
    same = same and system.dtype is complex and bool(np.allclose(q[0].real, record.q[0], rtol=0.0, atol=1e-9))
    return steps if same else np.ascontiguousarray(steps[:, :2])


def _state(
    model: Model, q0: ArrayLike, v0: ArrayLike | None, loads: Sequence[Load] | None
) -> tuple[Array, Array, bool]:
    if model.n_v == 0:
        raise InputError(f"model {model.name!r} cannot move.")
    q = np.asarray(q0)
    v = np.zeros((*q.shape[:-1], model.n_v)) if v0 is None else np.asarray(v0)
    single = q.ndim == 1
    is_complex = tree_of(model).dtype is complex or (has_elements(model) and elements_of(model).dtype is complex)
    is_complex |= bool(np.iscomplexobj(q)) or bool(np.iscomplexobj(v))
    if loads_are_complex(loads) and not is_complex:
        raise InputError("complex loads need a complex start: q0 + 0j.")
    rows = []
    for name, x, n in (("q", q, model.n_q), ("v", v, model.n_v)):
        if x.ndim not in (1, 2) or x.shape[-1] != n or (x.ndim == 2) == single:
            raise InputError(
                f"{name} has shape {x.shape}; model {model.name!r} needs ({n},), or (batch, {n}) for both."
            )
        x = np.ascontiguousarray(np.atleast_2d(x), dtype=complex if is_complex else float).copy()
        bad = np.argwhere(~np.isfinite(x))
        if bad.size:
            names = model.q_names if name == "q" else model.v_names
            raise InputError(f"{name} of {names[bad[0, 1]]!r} is {x[tuple(bad[0])]}; finite numbers are needed.")
        rows.append(unit(model.layout, x) if name == "q" else x)
    if len(rows[0]) != len(rows[1]):
        raise InputError(f"q has {len(rows[0])} starts and v {len(rows[1])}.")
    return rows[0], rows[1], single
