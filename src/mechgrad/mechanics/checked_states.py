"""States of any mechanism, checked against its constraints, and what is unbalanced in them.

r = M a + h - Q(force elements) - sum J^T load
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import AssemblyError, InputError
from mechgrad.inverse.loads import Load, loads_are_complex
from mechgrad.inverse.spatial import inverse_dynamics as tree_torques
from mechgrad.kinematics.batch import Batch
from mechgrad.kinematics.held import find_quantity
from mechgrad.kinematics.mechanism_record import RowValues, elements_of, evaluate_rows
from mechgrad.memory import require_memory
from mechgrad.typing import Array, ArrayLike, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

TOLERANCE = 1e-6  # of the terms of a row, at least 1: what states may miss their constraints by

_ADVICE = {
    "value": "Take the q of mg.assemble(model, at={...}, guess=q).",
    "rate": "Take v from mg.kinematics.solve_velocities(model, q, {...}).",
    "second rate": "Take a from mg.kinematics.solve_accelerations(model, q, v, {...}).",
}


@final
@dataclass(frozen=True, eq=False)
class States:
    """States q, v, a (nt, n) at times t (nt,), real or complex; `single` if one was given without a leading axis."""

    model: Model
    q: Array
    v: Array
    a: Array
    t: FloatArray
    single: bool

    @classmethod
    def of(
        cls,
        model: Model,
        q: ArrayLike,
        v: ArrayLike | None,
        a: ArrayLike | None,
        t: ArrayLike = 0.0,
        loads: Sequence[Load] | None = None,
    ) -> States:
        """Of a user's arrays."""
        is_complex = elements_of(model).dtype is complex or loads_are_complex(loads)
        given = (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v))
        batch = Batch(model, given, also_complex=is_complex)
        times = np.asarray(t, float)
        if times.shape not in ((), (batch.nt,)) or not np.isfinite(times).all():
            raise InputError(f"t has shape {times.shape}; give one finite instant, or {batch.nt}, one per state [s].")
        arrays: list[Array] = [np.array(x, batch.dtype, order="C") for x in batch.arrays]
        return cls(model, arrays[0], arrays[1], arrays[2], np.array(np.broadcast_to(times, (batch.nt,))), batch.single)

    @property
    def dtype(self) -> type | None:
        """What a System of these states has to be told."""
        return complex if np.iscomplexobj(self.q) else None

    def shaped(self, x: Array) -> Array:
        """Without the leading axis for a single state."""
        return x[0] if self.single else x


def system_of(model: Model, dtype: type | None) -> System:
    """The record of a model without forces and loads from outside, made once; laws in Python have one per use."""
    if elements_of(model).user:
        return System(model, dtype=dtype)
    return model.cached(("system", dtype), lambda m: System(m, dtype=dtype))


def room_of(model: Model, nt: int) -> float:
    """Bytes that balancing nt states takes: rows with Jacobians, their rates and decompositions, and what is solved.

    >>> 1e6 < room_of(five_bar(), 1000) < 1e7
    True
    """
    rows, n = len(elements_of(model).rows_i), model.n_v
    return float(8.0 * nt * (6 * n + 5 * rows * (n + 1) + 3 * (rows + n) * min(rows, n) + 12 * len(model.bodies)))


def require_room(states: States) -> None:
    """Raise unless there is memory to balance so many states."""
    nt = len(states.q)
    require_memory(
        room_of(states.model, nt) * (2.0 if states.dtype is complex else 1.0),
        f"the balance of {'a single state' if nt == 1 else f'{nt} states'} of model {states.model.name!r}",
        "Take fewer states at a time.",
    )


def unbalanced(
    states: States, system: System, loads: Sequence[Load] | None = None, threads: int = 1
) -> tuple[Array, RowValues]:
    """r (nt, n_v), and all rows at the states: those of constraints first, then those of force laws."""
    tree = system.model.cached("open tree", lambda m: m.open_tree())
    q, v, a, t = states.q, states.v, states.a, states.t
    # by kernels in lanes; loads may differ from state to state here
    r = tree_torques(tree, q, v, a, loads=loads, threads=threads)
    m, last = system.n_constraints, system.n_rows
    rows = evaluate_rows(system.T, q, v, a, t, 0, last)
    if last > m:
        y, _ = row_forces(system, q, v, a, np.zeros((len(q), m), system.dtype), t)
        r = r + np.einsum("tkj,tk->tj", rows.J[:, m:], y[:, m:])
        if not np.isfinite(r).all():
            k = int(np.argmin(np.isfinite(r).all(axis=1)))
            raise InputError(f"the forces on state {k} of model {system.model.name!r} are not finite numbers.")
    return r, rows


def check_constraints(states: States, system: System, rows: RowValues, tolerance: float) -> FloatArray:
    """By how much states miss the values of constraints, (nt,); raise where that, or a rate, is more than allowed."""
    m, h = system.n_constraints, system.n_holonomic
    if not m:
        return np.zeros(len(states.q))
    J = np.abs(rows.J[:, :m].real)
    sizes = [np.ones((len(J), m)), *(np.maximum(1.0, np.einsum("tmn,tn->tm", J, np.abs(x.real))) for x in
             (states.v, states.a))]  # fmt: skip
    for what, values, size, count in zip(
        _ADVICE, (rows.values, rows.rates, rows.seconds), sizes, (h, m, m), strict=True
    ):
        miss = np.abs(values[:, :count].real)
        wrong = ~(miss <= tolerance * size[:, :count])
        if wrong.any():
            _complain(states, system, what, miss, wrong)
    return np.asarray(np.abs(rows.values[:, :h].real).max(axis=1, initial=0.0))


def _complain(states: States, system: System, what: str, miss: FloatArray, wrong: Array) -> NoReturn:
    k = int(np.argmax(wrong.any(axis=1)))
    worst = int(np.argmax(np.where(wrong[k], miss[k], -1.0)))
    where = "the state" if states.single else f"state {k}"
    raise AssemblyError(
        f"{where} does not meet constraint {system.names[worst]!r} of model {system.model.name!r}: its {what} is "
        f"{miss[k, worst]:.3g}, which should be 0. {_ADVICE[what]}"
    )


def columns_of(model: Model, names: Sequence[str] | None, what: str) -> IntArray:
    """Columns of v of named coordinates, or of all coordinates of named joints; all columns for None."""
    if names is None:
        return np.arange(model.n_v)
    if isinstance(names, str):
        raise InputError(f"{what} is {names!r}; give a list of names: {what}=[{names!r}].")
    joints = {joint.name for joint in model.tree_joints}
    found: list[int] = []
    for name in names:
        if name in joints and name not in model.v_names:
            new = list(range(*model.v_slice(name).indices(model.n_v)))
        else:
            quantity = find_quantity(model, name, rate=True)
            if quantity.v_at < 0:
                if (joint := name.split(".")[0]) in {j.name for j in model.joints} - joints:
                    raise InputError(
                        f"{what}: joint {joint!r} of model {model.name!r} is cut and has no coordinate of its own; cut "
                        f"another joint (cut=[..]), or give names among {', '.join(model.v_names[:8])}."
                    )
                raise InputError(
                    f"{what}: {name!r} is no coordinate of model {model.name!r} but a place; give names among "
                    f"model.v_names: {', '.join(model.v_names[:8])}."
                )
            new = [quantity.v_at]
        if twice := [j for j in new if j in found]:
            raise InputError(f"{what} names {model.v_names[twice[0]]!r} twice; give every coordinate once.")
        found += new
    return np.array(found, np.int64)
