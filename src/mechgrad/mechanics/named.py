"""States of a mechanism from a few of its coordinates over time, each assembled from the one before.

    Phi(q, t) = 0,  h(q) = z;    Gamma v = -Phi_t,  H v = z';    Gamma a = c,  H a + H' v = z''

Between two instants z and t go along straight lines as often halved as it takes to stay in the way the mechanism was
put together: configurations turn by little, and the determinant of the equations keeps its sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import AssemblyError, InputError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.assembly import assemble, held_rates, linear_rates, newton, worst_rows
from mechgrad.kinematics.held import Equations, find_values
from mechgrad.kinematics.mobility import independent_quantities, null_space
from mechgrad.mechanics.checked_states import States
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

HALVINGS = 12
LARGEST_TURN = 0.5  # of a coordinate from one configuration to the next [rad]
TOLERANCE = 1e-12  # of positions, as in `assemble`


def states_of(
    model: Model,
    q: Any,
    v: Any,
    a: Any,
    t: ArrayLike,
    loads: Sequence[Load] | None = None,
    guess: ArrayLike | None = None,
) -> States:
    """States from arrays, or from coordinates by name."""
    if not isinstance(q, Mapping):
        for name, x in (("v", v), ("a", a)):
            if isinstance(x, Mapping):
                raise InputError(f"{name} names coordinates and q is an array; give both by name, or both as arrays.")
        return States.of(model, q, v, a, t, loads)
    for name, x in (("v", v), ("a", a)):
        if x is not None and not isinstance(x, Mapping):
            raise InputError(f"q names coordinates and {name} is an array; give both by name, or both as arrays.")
    times, single = _instants(q, v or {}, a or {}, t)
    Q, V, A = _follow(model, q, v or {}, a or {}, times, guess)
    if single:
        return States.of(model, Q[0], V[0], A[0], times[0], loads)
    return States.of(model, Q, V, A, times, loads)


def _instants(q: Mapping[Any, Any], v: Mapping[Any, Any], a: Mapping[Any, Any], t: ArrayLike) -> tuple[Array, bool]:
    """Times (nt,), and whether only numbers were given."""
    shapes = {f"{level}[{name!r}]": np.shape(x) for level, given in (("q", q), ("v", v), ("a", a)) for name, x in
              given.items()} | {"t": np.shape(t)}  # type: ignore[arg-type]  # fmt: skip
    counts = {name: shape for name, shape in shapes.items() if shape != ()}
    first = next(iter(counts.values()), (1,))
    for name, shape in counts.items():
        if len(shape) != 1 or shape != first or not shape[0]:
            raise InputError(
                f"{name} has shape {shape} and {next(iter(counts))} has {first}; give numbers, or one value per "
                "instant and the same number of instants everywhere."
            )
    return np.array(np.broadcast_to(np.asarray(t, float), first)), not counts


def _follow(
    model: Model, q: Mapping[Any, Any], v: Mapping[Any, Any], a: Mapping[Any, Any], t: FloatArray, guess: Any
) -> list[Array]:
    """q, v, a (nt, n) of all instants."""
    held = find_values(model, q)
    values = _table(held, len(t))
    first = assemble(model, dict(zip(held, values[0], strict=True)), guess=guess, t=float(t[0]), tolerance=TOLERANCE)
    path = _Path(model, Equations.of(model, (quantity for quantity, _ in held.values()), first.q, values))
    path.check_determined(first.q, float(t[0]))
    given = find_values(model, v, rate=True)
    # names of velocities alone, or as many as the constraints leave: rolling wheels have fewer rates than places
    moving = held_rates(model, first.q, held, {name: np.ravel(x)[0] for name, (_, x) in given.items()}, float(t[0]))
    rates = {name: (quantity, given[name][1] if name in given else 0.0) for name, (quantity, _) in moving.items()}
    second = find_values(model, a, rate=True)
    if unknown := [name for name in second if name not in moving]:
        raise InputError(
            f"a names {unknown[0]!r}, whose rate is not given; give second rates of {', '.join(moving) or 'nothing'}."
        )
    faster = {name: (quantity, second[name][1] if name in second else 0.0) for name, (quantity, _) in moving.items()}
    v_table, a_table = _table(rates, len(t)), _table(faster, len(t))
    equations = Equations.of(model, (quantity for quantity, _ in rates.values()), first.q, values, v_table, a_table)
    found: list[list[Array]] = [[], [], []]
    last: Array = first.q.astype(path.equations.dtype)
    for k, instant in enumerate(t.tolist()):
        if k:
            last = path.advance(last, (values[k - 1], float(t[k - 1])), (values[k], instant), k)
        here: Array = last.astype(equations.dtype)
        if null_space(equations.at(here, None, instant).J).shape[1]:
            raise AssemblyError(
                f"the named coordinates leave velocities of model {model.name!r} open at instant {k}: it is at a dead "
                "point or change point. Shift the instant, or name another coordinate."
            )
        speed, _ = linear_rates(equations, here, None, instant, v_table[k])
        acceleration, _ = linear_rates(equations, here, speed, instant, a_table[k])
        for part, x in zip(found, (here, speed, acceleration), strict=True):
            part.append(x)
    return [np.array(x) for x in found]


def _table(held: Mapping[str, tuple[Any, Any]], nt: int) -> Array:
    """What is given for quantities, (nt, held)."""
    columns = []
    for name, (_, x) in held.items():
        array = np.asarray(x)
        if array.dtype.kind not in "fiuc" or not np.isfinite(array).all():
            raise InputError(f"{name!r}: {x!r} holds something that is no finite number.")
        columns.append(np.broadcast_to(array, (nt,)))
    return np.stack(columns, axis=1) if columns else np.zeros((nt, 0))


class _Path:
    """Carries a configuration from one instant to the next."""

    def __init__(self, model: Model, equations: Equations) -> None:
        self.model, self.equations = model, equations
        self.turning = np.array([not u.startswith("m") for j in model.tree_joints for u in j.q_units], bool)

    def rows(self, q: Array, t: float) -> FloatArray:
        equations = self.equations
        return np.asarray(equations.at(q.astype(equations.dtype), None, t).J.real[equations.finite_rows], float)

    def check_determined(self, q: Array, t: float) -> None:
        """Raise unless what is held and the constraints fix all positions."""
        free = null_space(self.rows(q, t))
        if free.shape[1]:
            names = ", ".join(independent_quantities(self.model, q.real, free, t))
            raise AssemblyError(
                f"q names {', '.join(self.equations.names[self.equations.n_constraints :]) or 'nothing'}, which leaves "
                f"{free.shape[1]} coordinate(s) of model {self.model.name!r} open. Name others as well, for example "
                f"{names}; at a dead point, name another coordinate."
            )

    def advance(self, q: Array, start: tuple[Array, float], end: tuple[Array, float], k: int) -> Array:
        """The configuration at `end` (values and time) from that at `start`."""
        done, part = 0.0, 1.0
        J = self.rows(q, start[1])
        while done < 1.0:
            reach = min(1.0, done + part)
            target = start[0] + reach * (end[0] - start[0])
            t = start[1] + reach * (end[1] - start[1])
            found = newton(self.equations, target, q, t, TOLERANCE * self.equations.reach(target))
            names = [self.equations.names[i] for i in self.equations.finite_rows]
            turn = float(np.abs((found.q - q).real[self.turning]).max(initial=0.0))
            why = ""
            if not found.closed:
                why = f"the nearest configuration misses {worst_rows(names, found.miss)} [m or 1]."
            elif turn > LARGEST_TURN:
                why = f"a coordinate would jump by {turn:.2g} rad."
            else:
                J_new = self.rows(found.q, t)
                # two ways to put a mechanism together are parted by a singular configuration
                if np.linalg.det(np.linalg.pinv(J) @ J_new) <= 0.0:
                    why = "the mechanism would change the way it is put together."
            if not why:
                q, J, done = found.q, J_new, reach
                continue
            part *= 0.5
            if part < 0.5**HALVINGS:
                raise AssemblyError(
                    f"model {self.model.name!r} cannot follow its named coordinates from instant {k - 1} to {k}: {why} "
                    "Give values within its reach, away from dead points, and closer to each other."
                )
        return q
