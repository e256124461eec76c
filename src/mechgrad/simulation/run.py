"""From a recipe to a motion: everything is checked, the kind of step chosen, and failures said in words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import INTERRUPTED
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.inverse.loads import Load, loads_are_complex
from mechgrad.kernels.interrupt import go_on, raised
from mechgrad.kinematics.batch import check_samples, tree_of
from mechgrad.kinematics.mechanism_record import elements_of
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.model.configuration import unit
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.simulation.recipe_checks import check_recipe
from mechgrad.simulation.starts.touch import check_touch, leaving
from mechgrad.simulation.trajectory import StepFailed, Trajectory
from mechgrad.steps.conditions import bound
from mechgrad.steps.failures import REASONS, MarchEnded
from mechgrad.steps.independent.candidates import offered_rows, start_choices
from mechgrad.steps.methods import method_of
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta.step import held_steps
from mechgrad.steps.task import Task
from mechgrad.steps.turns import beside
from mechgrad.steps.watch import Told, Watch, watched
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model
    from mechgrad.simulation.recipe_data import RecipeData


def march(
    recipe: RecipeData[Trajectory], *, progress: bool | Told = False, same_steps: Record | None = None
) -> Trajectory:
    """The motion of a recipe, whatever it came from; all of it is checked here, before anything is computed.

    progress : True prints how far it has come; a function is told where it is, (t, q)
    same_steps : by the steps of another march, and the choices that it made
    """
    go_on()
    check_recipe(recipe)
    model, form, scheme, t0 = recipe.model, recipe.formulation, recipe.scheme, float(recipe.t0)
    note_idle_gravity(model, tree_of(model), above=2)
    q, v, single = _state(model, recipe.start.q, recipe.start.v, recipe.loads)
    if not has_elements(model):
        _require_inertia(recipe, q, v)
    system = _system(recipe, q)
    choices = None if same_steps is None else same_steps.choices
    if form.independent_coordinates and choices is None:
        choices = start_choices(system, form, q[0], t0)
    if single:
        system.check_start(q[0], v[0], t0)
    if same_steps is None and q.dtype == float:
        for start in q:
            check_touch(model, start, t0)
    samples = None if recipe.samples is None else check_samples(recipe.samples)
    held = None
    if same_steps is not None:
        held = _held(same_steps, system, q) if scheme.chooses_steps else same_steps.held
    watch = _watch(progress, single)
    task = Task(
        system, form, scheme, q, v, t0, float(recipe.duration), recipe.step, samples, recipe.rtol, recipe.atol,
        bound(recipe.stop, system), watch is None and bool(progress), single, held, choices, same_steps is not None,
        None if same_steps is None else same_steps.divisions,
    )  # fmt: skip
    try:
        begin = time.perf_counter()
        with beside(), watched(watch):
            record = method_of(form, scheme, recipe.step is None).march(task)
        motion = Trajectory.of(record, recipe, time.perf_counter() - begin)
    except MarchEnded as ended:
        failure = _failed(ended, recipe)
    else:
        if watch is not None:
            watch.tell(float(motion.t[-1]), motion.q[-1])
        return motion
    raise failure


def _watch(progress: bool | Told, single: bool) -> Watch | None:
    """What looks at the march, if a function is to be told of it."""
    if isinstance(progress, bool | np.bool_):
        return None
    if not callable(progress):
        raise InputError(f"progress is {progress!r}; give True, False, or a function of (t, q).")
    if not single:
        raise InputError("a progress function is told of one motion, and there are several starts: give one of them.")
    return Watch(progress)


def _failed(ended: MarchEnded, recipe: RecipeData[Trajectory]) -> BaseException:
    """The error that ends a motion early, with the motion until then."""
    motion, name = Trajectory.of(ended.record, recipe), recipe.model.name
    if ended.reason == INTERRUPTED:
        until = f"the first {motion.q.shape[0]} motions" if motion.q.ndim == 3 else "the motion until then"
        note = f"the motion of {name!r} was interrupted at t = {ended.t:.6g} s; {until}: `.trajectory` of this error."
        return raised(motion, note)
    edge = leaving(recipe.model, motion.q[-1], motion.v[-1]) if motion.q.ndim == 2 and len(motion.q) else ""
    return StepFailed(
        f"the motion of {name!r} ends at t = {ended.t:.6g} s: {REASONS[ended.reason]}. {edge or ended.hint} The motion "
        "until then is in `.trajectory` of this error.",
        motion,
    )


def _require_inertia(recipe: RecipeData[Trajectory], q: Array, v: Array) -> None:
    """Raise, with its name, where some coordinate moves no inertia: elimination notices, and is quick."""
    forward_dynamics(recipe.model, q, v, recipe.tau, loads=list(recipe.loads))


def _system(recipe: RecipeData[Trajectory], q: Array) -> System:
    model, form, dtype = recipe.model, recipe.formulation, complex if q.dtype == complex else None
    if not form.independent_coordinates:
        return System(model, recipe.tau, recipe.loads, dtype=dtype, reference=recipe.reference)
    offered = offered_rows(model, form)
    system = System(model, recipe.tau, recipe.loads, dtype=dtype, independent=offered, reference=recipe.reference)
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
