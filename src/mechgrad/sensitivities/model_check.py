"""Certificates for everything that a model's answers are differentiated by: state, numbers of the model, loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mechgrad.errors import InputError, SingularMassMatrixError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.inverse.spatial import inverse_dynamics, inverse_dynamics_derivatives
from mechgrad.kinematics.batch import check_samples
from mechgrad.kinematics.marker_motions import marker_derivatives, marker_motion
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.acceleration_derivatives import forward_dynamics_derivatives
from mechgrad.mechanics.accelerations import forward_dynamics
from mechgrad.mechanics.inertia import mass_matrix
from mechgrad.model.model import Model
from mechgrad.sensitivities.certificate import Certificate, judge
from mechgrad.sensitivities.element_check import acceleration_family, constraint_family, motion_family, random_time
from mechgrad.sensitivities.model_certificate import ModelCertificate
from mechgrad.sensitivities.model_families import Family, States
from mechgrad.sensitivities.numbers import Numbers, choose_numbers
from mechgrad.sensitivities.numeric import STEPS, differentiate
from mechgrad.typing import Array, ArrayLike, FloatArray

__all__ = ["FAMILIES", "certify_model"]

FAMILIES = ("inverse dynamics", "forward dynamics", "equations of motion", "constraints", "markers")
PARAMETER_STEPS = STEPS[2:6]
"""A short sweep: every step of every parameter compiles the tree of another model (2 ms for 43 joints)."""

WORDS = {"dq": "coordinates", "dv": "velocities", "da": "accelerations", "dtau": "forces", "dp": "parameters"}

UserDerivatives = Callable[[Model, FloatArray, FloatArray, FloatArray], Mapping[str, Any]]


def certify_model(
    model: Model, *, q: ArrayLike | None = None, v: ArrayLike | None = None, a: ArrayLike | None = None,
    loads: Sequence[Load] | None = None, wrt: str | Sequence[str] | None = None, seed: int = 0, samples: int = 1,
    derivatives: UserDerivatives | None = None, families: Sequence[str] = FAMILIES,
    steps: Sequence[float] | None = None, tolerance: float = 1e-10,
) -> ModelCertificate:  # fmt: skip
    """A verdict on the derivatives of a model's torques, accelerations and marker motions by state and parameters.

    A model with loops, constraints or forces is judged as its tree (torques and markers), and by its equations of
    motion, constraints, accelerations and multipliers, which hold closures, force laws, drivers and motors.

    Parameters
    ----------
    model : Model
    q, v, a : (n,) or (nt, n), optional
        Where; random from the seed if left out. A symmetric pose hides mistakes, a random one does not.
    loads : list of Load, optional
        Their numbers are parameters, too: "load.0.force.x".
    wrt : path, pattern or list of them, optional
        Parameters; every number of the model if left out, none if empty.
    seed, samples : int
        For the random states.
    derivatives : callable, optional
        Your own derivatives of the inverse dynamics, which are then what is judged: from (model, q, v, a) of one
        sample to a dict with any of "dq", "dv", "da" (n_v, n_v), and "dp": (n_v, np) in the order of `wrt`, or a dict
        from path to column.
    families : list of str
        Any of "inverse dynamics", "forward dynamics", "equations of motion", "constraints", "markers".
    steps : list of float, optional
        Sweep of the central differences; empty for none.
    tolerance : float
        As in `certify`. Accelerations are given 1e-13 times the condition of the mass matrix, or of what takes its
        place where constraints act, if that is more.

    >>> from mechgrad.gallery import double_pendulum
    >>> certificate = certify_model(double_pendulum())
    >>> certificate.passed
    True
    >>> certificate["inverse dynamics by coordinates"].worst.error < 1e-12
    True
    """
    for name in families:
        if name not in FAMILIES:
            raise unknown_name("family", name, FAMILIES)
    if model.n_v == 0:
        raise InputError(f"model {model.name!r} has no coordinates; there is nothing to differentiate by.")
    notes: list[str] = []
    state = _state(model, q, v, a, list(loads or ()), seed, samples)
    numbers = choose_numbers(model, state.loads, ("*",) if wrt is None else wrt, notes)
    tree, of_tree = (model.open_tree(), numbers.of_tree()) if has_elements(model) else (model, numbers)
    if derivatives is not None:
        chosen = [_users(tree, state, of_tree, derivatives, tolerance, notes)]
    else:
        chosen = [
            *_of_elements(model, state, numbers, families, tolerance, seed, notes),
            *_of_tree(tree, state, of_tree, families, tolerance, notes, forward=not has_elements(model)),
        ]
    return ModelCertificate(model.name, tuple(_judged(chosen, steps)), tuple(notes))


def _of_elements(
    model: Model, state: States, numbers: Numbers, families: Sequence[str], tolerance: float, seed: int,
    notes: list[str],
) -> list[Family]:  # fmt: skip
    """What closures, constraints and forces have a part in; nothing for a tree."""
    if not has_elements(model):
        return []
    found: list[Family | None] = []
    if "equations of motion" in families:
        found.append(motion_family(model, state, numbers.of_model(), tolerance, seed))
    if "constraints" in families:
        found.append(constraint_family(model, state, numbers.of_model(), tolerance, seed))
    if "forward dynamics" in families:
        found.append(acceleration_family(model, state, numbers, tolerance, seed, notes))
    notes.append(
        "inverse dynamics and markers are those of the tree; closures, constraints and forces are in the "
        f"equations of motion and in forward dynamics, taken at t = {random_time(seed):.3g} s."
    )
    return [family for family in found if family is not None]


def _of_tree(
    model: Model, state: States, numbers: Numbers, families: Sequence[str], tolerance: float, notes: list[str],
    forward: bool,
) -> list[Family]:  # fmt: skip
    """Torques, accelerations (unless elements have a part in them) and markers of a tree."""
    found: list[Family | None] = []
    if "inverse dynamics" in families:
        found.append(_inverse(model, state, numbers, tolerance))
    if forward and "forward dynamics" in families:
        found.append(_forward(model, state, numbers, tolerance, notes))
    if "markers" in families and (model.points or model.vectors):
        found.append(_markers(model, state, numbers, tolerance, notes))
    return [family for family in found if family is not None]


def _judged(chosen: Sequence[Family], steps: Sequence[float] | None) -> list[Certificate]:
    """Certificates by state and by numbers, in the order of the families."""
    state_steps, number_steps = (STEPS, PARAMETER_STEPS) if steps is None else (steps, steps)
    found = [c for family in chosen for c in _by_state(family, state_steps)]
    for whole_ones in (True, False):
        some = [
            f for f in chosen if has_elements(f.numbers.model) is whole_ones and "dp" in f.given and f.numbers.paths
        ]
        # Directions across an axis are chosen by its smallest component: at a tie, such as of (1, 0, 0), differences
        # step over that choice, which decides what multipliers mean and nothing else. Complex steps alone judge there.
        found += _by_numbers(some, () if whole_ones else number_steps)
    found.sort(key=lambda c: [family.title for family in chosen].index(c.title.rpartition(" by ")[0]))
    return found


# ------------------------------------------------------------------------------------------------ what is judged
def _inverse(model: Model, state: States, numbers: Numbers, tolerance: float) -> Family:
    D = inverse_dynamics_derivatives(model, *state.parts, loads=state.loads, wrt=numbers.paths)
    given = {"dq": D.dq.dense(), "dv": D.dv.dense(), "da": D.da.dense(), "dp": D.dp.dense()}
    return Family("inverse dynamics", model.v_names, state, _torques, given, numbers, tolerance)


def _users(
    model: Model, state: States, numbers: Numbers, derivatives: UserDerivatives, tolerance: float, notes: list[str]
) -> Family:
    """The family of a user's own derivatives of the inverse dynamics."""
    answers = [derivatives(model, *(x[k] for x in state.parts)) for k in range(state.nt)]
    first = answers[0]
    if not isinstance(first, Mapping):
        raise InputError(f"derivatives(model, q, v, a) returned {type(first).__name__}; a dict is needed.")
    for key in first:
        if key not in ("dq", "dv", "da", "dp"):
            raise unknown_name("key", key, ("dq", "dv", "da", "dp"), "derivatives(model, q, v, a)")
    if isinstance(first.get("dp"), Mapping):
        numbers = choose_numbers(model, state.loads, tuple(first["dp"]), notes)
        answers = [{**d, "dp": np.stack([np.asarray(d["dp"][p]) for p in numbers.paths], axis=-1)} for d in answers]
    given = {}
    for key in first:
        n = len(numbers.paths) if key == "dp" else model.n_v
        matrices = [_dense(d[key]) for d in answers]
        for x in matrices:
            if x.shape != (model.n_v, n):
                raise InputError(f"the given {key} has shape {x.shape}; it must be ({model.n_v}, {n}).")
        given[key] = np.stack(matrices)
    if left_out := [key for key in ("dq", "dv", "da", "dp") if key not in given]:
        notes.append(f"not given, so not checked: {', '.join(left_out)}.")
    return Family("inverse dynamics", model.v_names, state, _torques, given, numbers, tolerance)


def _forward(model: Model, state: States, numbers: Numbers, tolerance: float, notes: list[str]) -> Family | None:
    """The family of accelerations; None, with a note, if the mass matrix is singular."""
    forces = inverse_dynamics(model, *state.parts, loads=state.loads)
    try:
        D = forward_dynamics_derivatives(model, state.q, state.v, forces, loads=state.loads, wrt=numbers.paths)
    except SingularMassMatrixError as error:
        notes.append(f"forward dynamics is not checked: {error}")
        return None
    condition = float(np.max(np.linalg.cond(mass_matrix(model, state.q).dense())))
    if 1e-13 * condition > tolerance:  # solving with M amplifies rounding by so much
        tolerance = 1e-13 * condition
        notes.append(f"accelerations are accepted to {tolerance:.0e}: the mass matrix has condition {condition:.0e}.")
    given = {"dq": D.dq, "dv": D.dv, "dtau": D.dtau, "dp": D.dp}
    there = state._replace(u=forces)
    return Family("forward dynamics", model.v_names, there, _accelerations, given, numbers, tolerance)


def _markers(model: Model, state: States, numbers: Numbers, tolerance: float, notes: list[str]) -> Family:
    names = [marker.name for group in (model.points, model.vectors) for marker in group]
    moving = numbers.geometric()
    if numbers.paths and not moving.paths:
        notes.append("markers by parameters is left out: no geometric parameter was asked for.")
    D = marker_derivatives(model, names, *state.parts, wrt=moving.paths)
    nothing = np.zeros_like(D.x_q)
    levels = {
        "dq": (D.x_q, D.xd_q, D.xdd_q),
        "dv": (nothing, D.x_q, D.xdd_v),
        "da": (nothing, nothing, D.x_q),
        "dp": (D.x_p, D.xd_p, D.xdd_p),
    }
    given = {key: np.concatenate(x, axis=1) for key, x in levels.items()}
    given = {key: x.reshape(state.nt, 9 * len(names), x.shape[-1]) for key, x in given.items()}
    rows = tuple(f"{name}.{level}.{axis}" for level in ("x", "xd", "xdd") for name in names for axis in "xyz")

    def answer(changed: Model, q: Array, v: Array, a: Array, loads: list[Load]) -> Array:
        motion = marker_motion(changed, names, q, v, a)
        levels = (motion.position, motion.velocity, motion.acceleration)
        return np.concatenate(levels, axis=1).reshape(len(q), -1)

    return Family("markers", rows, state, answer, given, moving, tolerance)


def _torques(model: Model, q: Array, v: Array, a: Array, loads: list[Load]) -> Array:
    return inverse_dynamics(model, q, v, a, loads=loads)


def _accelerations(model: Model, q: Array, v: Array, forces: Array, loads: list[Load]) -> Array:
    return forward_dynamics(model, q, v, forces, loads=loads)


# ------------------------------------------------------------------------------------------- what it is judged by
def _by_state(family: Family, steps: Sequence[float]) -> list[Certificate]:
    certificates, model = [], family.numbers.model
    for key in family.given:
        if key == "dp":
            continue
        which = {"dq": 0, "dv": 1}.get(key, 2)

        def answer(points: Array, which: int = which) -> Array:
            return family.answer(model, *family.state.moved(model, which, points)).reshape(len(points), -1)

        scales = np.ones(model.n_v) if which == 0 else np.maximum(1.0, np.abs(family.state.parts[which]).max(axis=0))
        exact = key not in family.by_differences
        taken = steps if exact or len(steps) else STEPS
        numeric = differentiate(
            answer, np.zeros(model.n_v), steps=taken, scales=scales, batched=True, complex_step=exact
        )
        certificates.append(
            judge(
                numeric, family.matrix(key), names=model.v_names, outputs=family.rows(), tolerance=family.tolerance,
                title=f"{family.title} by {WORDS[key]}",
            )
        )  # fmt: skip
    return certificates


def _by_numbers(families: list[Family], steps: Sequence[float]) -> list[Certificate]:
    """All families at once: compiling a changed model is the expensive part."""
    if not families:
        return []
    numbers = max((family.numbers for family in families), key=lambda x: len(x.paths))  # the others choose among these

    def answer(x: Array) -> Array:
        model, loads = numbers.changed(x)
        return np.concatenate([_tolerant(family, model, loads) for family in families]).astype(x.dtype)

    numeric = differentiate(answer, numbers.values, steps=steps, scales=numbers.scales)
    certificates, at = [], 0
    for family in families:
        rows, names = family.rows(), family.numbers.paths
        part = numeric.part(slice(at, at + len(rows)), [numbers.paths.index(path) for path in names])
        certificates.append(
            judge(
                part, family.matrix("dp"), names=names, outputs=rows, tolerance=family.tolerance,
                title=f"{family.title} by parameters",
            )
        )  # fmt: skip
        at += len(rows)
    return certificates


def _tolerant(family: Family, model: Model, loads: list[Load]) -> Array:
    """The family's answer, flat; NaN where a step of a mass has made the mass matrix singular."""
    state = family.state
    try:
        return family.answer(model, state.q, state.v, state.u, loads).ravel()
    except SingularMassMatrixError:
        return np.full(len(family.rows()), np.nan)


def _state(
    model: Model, q: ArrayLike | None, v: ArrayLike | None, a: ArrayLike | None, loads: list[Load], seed: int, nt: int
) -> States:
    """The given state, random where it is left out: coordinates to 1.5, rates to 2, their rates to 5."""
    given = [x if x is None else np.atleast_2d(np.asarray(x, float)) for x in (q, v, a)]
    heights = {len(x) for x in given if x is not None} - {1}
    if len(heights) > 1:
        raise InputError(f"q, v and a have {sorted(heights)} samples; give all the same number.")
    if samples := heights or {len(x) for x in given if x is not None}:
        nt = samples.pop()
    nt = check_samples(nt, least=1)
    rng = np.random.default_rng(seed)
    n = model.n_v
    away, fast, faster = (rng.uniform(-size, size, (nt, n)) for size in (1.5, 2.0, 5.0))
    start = np.broadcast_to(model.neutral(), (nt, model.n_q))
    states = [model.integrate(start, away), fast, faster]
    for k, (name, x, width) in enumerate(zip("qva", given, (model.n_q, n, n), strict=True)):
        if x is None:
            continue
        if x.ndim != 2 or x.shape[1] != width:
            raise InputError(f"{name} has shape {x.shape}; it must be ({width},) or (nt, {width}).")
        states[k] = np.ascontiguousarray(np.broadcast_to(x, (nt, width)))
    return States(states[0], states[1], states[2], loads)


def _dense(given: Any) -> FloatArray:
    return np.asarray(given.dense() if hasattr(given, "dense") else given, float)
