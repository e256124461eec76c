"""Putting a mechanism together: positions, velocities and accelerations that its constraints allow.

    positions       Phi(q, t) = 0,           h(q) = given
    velocities      Gamma v = -Phi_t,        H v = given rates
    accelerations   Gamma a = c(q, v, t),    H a + H' v = given second rates

h are the quantities that are held (`mechgrad.kinematics.held`), H = dh/dq. The first is solved by Newton's method, all
linear equations by least squares with the shortest solution: redundant rows do no harm, and what is left free moves as
little as possible. Constraints at velocity level (rolling) ask nothing of positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.held import Equations, Quantity, checked_state, find_values, finite_number
from mechgrad.kinematics.state import State
from mechgrad.model.configuration import unit
from mechgrad.tolerances import RANK_NEAR_SINGULAR
from mechgrad.typing import Array, ArrayLike, Number

if TYPE_CHECKING:
    from mechgrad.model.model import Model

RANK = RANK_NEAR_SINGULAR

LINEAR_MISS = 1e-8  # of the largest term: what rates may miss by, when positions are known to 1e-12
STORED_MISS = 1e-6  # of the largest length or rate: a state that was found and written down holds better
IMAGINARY_MISS = 1e-7  # of the largest change: what imaginary parts may miss by
IMAGINARY_ROUNDING = 1e-12  # of the complex step itself: smaller changes are none
LARGEST_TURN = 0.5  # of one step [rad]: beyond, the linear picture of a rotation is worth nothing
STEPS, HALVINGS, STARTS = 60, 12, 25


def assemble(
    model: Model,
    at: Mapping[Any, Number] | None = None,
    rates: Mapping[Any, Number | None] | None = None,
    *,
    guess: ArrayLike | None = None,
    t: float = 0.0,
    tolerance: float = 1e-12,
) -> State:
    """A configuration and velocities that meet all constraints and have some quantities as given.

        Phi(q, t) = 0,  h(q) = at;      Gamma v = -Phi_t,  H v = rates

    Parameters
    ----------
    at : mapping from names to values
        Coordinates of hinges and sliders ("crank"), world coordinates of points ("P2.x" or ("P2", "x")), components
        of vectors ("axis1.x"), measures (mg.measures.Distance("P1", "P2"), called by their `name` afterwards); [rad],
        [m].
    rates : mapping from names to values
        The same names, or those of `model.v_names`. Whatever `at` holds has rate zero, unless its rate is given here
        (None leaves it free) or the rates given here decide all velocities together with the constraints: a rolling
        wheel is put in its place by `at`, and its spin alone says how fast it moves.
    guess : (n_q,), optional
        Where the search starts, `model.neutral()` if left out; coordinates in `at` start with their value. Of
        several ways to put the mechanism together it decides which one is found. Euler parameters may have any length
        but zero, and are given length one.
    t : time [s], for drivers
    tolerance : float
        Largest miss of a row [m or 1], for lengths up to a metre; it grows with them.

    If less is held than the mechanism has degrees of freedom, every step is the shortest possible: the result is a
    configuration near the guess, and the velocities are the smallest. With complex numbers in the model or in `at`,
    the imaginary parts of q and v are exact where all degrees of freedom are held.

    Raises
    ------
    AssemblyError
        If the loops cannot be closed or the values cannot be had together; the rows that miss most are named.

    >>> bars = [mg.Revolute("A", "ground", "crank"), mg.Revolute("B", "ground", "rocker", (1, 0, 0))]
    >>> ends = [mg.Point("tip", "crank", (0, 1, 0)), mg.Point("top", "rocker", (0, 1, 0))]
    >>> rod = mg.constraints.FixedDistance("rod", "tip", "top", 1.0)
    >>> four_bar = mg.Model("four-bar", [mg.Body("crank"), mg.Body("rocker")], bars, ends, constraints=[rod])
    >>> state = assemble(four_bar, {"A": 0.3}, {"A": 2.0})
    >>> state.q.round(9), state.v.round(9)
    (array([0.3, 0.3]), array([2., 2.]))
    """
    held = find_values(model, at)
    values = [finite_number(value, f"at[{name!r}]") for name, (_, value) in held.items()]
    start = unit(model.layout, model.neutral() if guess is None else checked_state(model, "guess", guess, model.n_q))
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), start, *values)
    target: Array = np.array(values, equations.dtype)
    attempt = find_positions(equations, target, start, t, tolerance, STARTS)
    if not attempt.closed:
        raise _not_assembled(equations, attempt, t)
    _check_followed(equations, target, attempt, t)
    moving = held_rates(model, attempt.q, held, rates, t)
    v, miss = find_velocities(model, attempt.q, moving, t)
    return State(model, attempt.q, v, t, given_values(held), given_values(moving), attempt.size, miss)


def assembled_before(
    model: Model, q: ArrayLike, v: ArrayLike, at: Mapping[Any, Number], rates: Mapping[Any, Number], t: float
) -> State:
    """The state that `assemble` found once, from its numbers: nothing is solved, so that they stay to the last bit.

    Raises AssemblyError where q and v do not have what is said to be held, or do not meet the constraints.

    >>> known = assemble(double_pendulum(), {"tip.x": 0.3})
    >>> again = assembled_before(known.model, known.q, known.v, known.held, known.held_rates, known.t)
    >>> bool(np.array_equal(again.q, known.q)), list(again.held)
    (True, ['tip.x'])
    """
    q, v = checked_state(model, "q", q, model.n_q), checked_state(model, "v", v, model.n_v)
    held, moving = find_values(model, at), find_values(model, rates, rate=True)
    missed = check_held(model, q, at, t)
    equations, target = _equations(model, moving, q)
    here = equations.at(q, None, t)
    moved: Array = here.J @ v
    miss = moved + here.rates
    miss[equations.n_constraints :] -= target
    if not _largest(miss) <= STORED_MISS * max(1.0, _largest(moved), _largest(target)):
        raise _not_as_said(equations, miss, "velocities")
    return State(model, q, v, t, given_values(held), given_values(moving), missed, _largest(miss))


def check_held(model: Model, q: Array, at: Mapping[Any, Number], t: float) -> float:
    """The largest miss of constraints and held quantities at q; raises AssemblyError where it is no rounding."""
    equations, target = _equations(model, find_values(model, at), q)
    rows = equations.finite_rows
    miss = equations.at(q, None, t).values[rows] - np.concatenate([np.zeros(equations.n_holonomic), target])
    if not _largest(miss) <= STORED_MISS * equations.reach(target):
        raise _not_as_said(equations, miss, "positions")
    return _largest(miss)


def _equations(model: Model, held: Held, q: Array) -> tuple[Equations, Array]:
    values = [finite_number(value, repr(name)) for name, (_, value) in held.items()]
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), q, *values)
    return equations, np.array(values, equations.dtype)


Held = dict[str, tuple[Quantity, Any]]
"""Quantities that are held, by name, with their values."""


def held_rates(model: Model, q: Array, held: Held, rates: Mapping[Any, Any] | None, t: float) -> Held:
    """What is held at velocity level, where `held` is at position level and `rates` are given (None: left free)."""
    given = find_values(model, rates, rate=True)
    moving = {name: found for name, found in given.items() if found[1] is not None}
    still = {name: (quantity, 0.0) for name, (quantity, _) in held.items() if name not in given}
    if moving and still:
        J = Equations.of(model, (quantity for quantity, _ in moving.values()), q).at(q, None, t).J
        if least_squares(J, np.zeros(len(J)))[1] == model.n_v:
            return moving
    both = {**still, **moving}
    return {name: both[name] for name in (*held, *moving) if name in both}  # in the order of `at`


def given_values(held: Held) -> dict[str, Any]:
    """Names and values of held quantities."""
    return {name: value for name, (_, value) in held.items()}


def solve_velocities(model: Model, q: ArrayLike, rates: Mapping[Any, Number] | None = None, t: float = 0.0) -> Array:
    """Velocities v (n_v,) that the constraints allow at q, with some rates as given; the smallest if some are free.

        Gamma(q) v = -Phi_t,    H v = rates

    Names are those of `assemble`, or of `model.v_names`. Raises AssemblyError if no velocities do.

    >>> solve_velocities(double_pendulum(), [0.0, 0.0], {"tip.x": 4.0}).round(9)
    array([-1.6, -0.8])
    """
    return find_velocities(model, checked_state(model, "q", q, model.n_q), find_values(model, rates, rate=True), t)[0]


def solve_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    accelerations: Mapping[Any, Number] | None = None,
    t: float = 0.0,
) -> Array:
    """Accelerations a (n_v,) that the constraints allow at (q, v), with some second rates as given.

        Gamma(q) a = c(q, v, t),    H a + H' v = accelerations

    Geometry only, no forces: what is left free has the smallest accelerations. Names as for `solve_velocities`.
    Raises AssemblyError if no accelerations do.

    >>> solve_accelerations(double_pendulum(), [0.0, 0.0], [1.0, 0.0], {"shoulder": 1.0, "tip.x": -3.0}).round(9)
    array([1., 1.])
    """
    q, v = checked_state(model, "q", q, model.n_q), checked_state(model, "v", v, model.n_v)
    held = find_values(model, accelerations, rate=True)
    values = [finite_number(value, f"{name!r}: acceleration") for name, (_, value) in held.items()]
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), q, v, *values)
    a, _ = linear_rates(equations, q, v, t, np.array(values, equations.dtype))
    return a


def find_velocities(model: Model, q: Array, held: Held, t: float) -> tuple[Array, float]:
    """Velocities that the constraints and held rates allow, and their largest miss."""
    values = [finite_number(value, f"rates[{name!r}]") for name, (_, value) in held.items()]
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), q, *values)
    return linear_rates(equations, q, None, t, np.array(values, equations.dtype))


# ---- positions


class Attempt(NamedTuple):
    """Where a search ended: q, the misses of all rows that count, the largest of them, whether that is close enough."""

    q: Array
    miss: Array
    size: float
    closed: bool
    starts: int = 1


def find_positions(
    equations: Equations, target: Array, guess: Array, t: float, tolerance: float, starts: int
) -> Attempt:
    """The best of several searches from a guess and around it, the first that succeeds."""
    model, reach = equations.model, equations.reach(target)
    rng = np.random.default_rng(0)
    turns = _turning(model)
    best = None
    for k in range(starts):
        q: Array = guess.astype(equations.dtype)
        if k:
            spread = np.where(turns, np.pi, reach) * k / starts
            q = model.integrate(q, spread * rng.uniform(-1.0, 1.0, model.n_v))
        for i, quantity in enumerate(equations.held):
            if quantity.q_at >= 0:
                q[quantity.q_at] = target[i]
        attempt = newton(equations, target, q, t, tolerance * reach)
        if best is None or attempt.closed or attempt.size < best.size:
            best = attempt
        if attempt.closed:
            break
    if best is None:
        raise InputError(f"starts is {starts}; at least one is needed.")
    return best._replace(starts=k + 1)


def newton(equations: Equations, target: Array, q: Array, t: float, tolerance: float) -> Attempt:
    """One damped search from q; it also ends where no step makes the misses smaller, with the least squares."""
    model, rows = equations.model, equations.finite_rows
    turns = _turning(model)
    wanted = np.concatenate([np.zeros(equations.n_holonomic), target])

    def misses(q: Array) -> tuple[Array, Array]:
        at = equations.at(q, None, t)
        return at.values[rows] - wanted, at.J[rows]

    r, J = misses(q)
    for _ in range(STEPS):
        size = _largest(r)
        step = -least_squares(J, r)[0]
        turn = np.abs(step.real[turns]).max(initial=0.0)
        step = step * min(1.0, LARGEST_TURN / turn) if turn > 0.0 else step
        for halving in range(1 if size <= tolerance else HALVINGS):
            trial = model.integrate(q, step * 0.5**halving)
            r_trial, J_trial = misses(trial)
            if _squares(r_trial) < (1.0 - 1e-4 * 0.5**halving) * _squares(r):
                break
        else:
            break
        q, r, J = trial, r_trial, J_trial
        if size <= tolerance and _largest(r) > 0.5 * size:
            break
    if equations.dtype is complex and _largest(r) <= tolerance:
        for _ in range(2):  # imaginary parts follow the real ones a step behind
            q = model.integrate(q, -least_squares(J, r)[0])
            r, J = misses(q)
    size = _largest(r)
    return Attempt(q, r, size, size <= tolerance)


def least_squares(A: Array, b: Array) -> tuple[Array, int]:
    """The shortest x with the smallest |A x - b|, and the rank of A.

    The decomposition is that of the real part; imaginary parts follow by correction, which is exact for those of a
    complex step if A has full rank.
    """
    if not A.size:
        return np.zeros(A.shape[1], np.result_type(A, b)), 0
    U, s, Vt = np.linalg.svd(A.real, full_matrices=False)
    kept = s > RANK * s[0]
    pseudo_inverse = (Vt[kept].T / s[kept]) @ U[:, kept].T
    x = pseudo_inverse @ b
    for _ in range(2):
        x = x + pseudo_inverse @ (b - A @ x)
    return x, int(kept.sum())


def _turning(model: Model) -> Array:
    """Which velocities are angular."""
    return model.shared(
        "turning", lambda m: np.array([u == "rad/s" for joint in m.tree_joints for u in joint.v_units], bool)
    )


def _largest(r: Array) -> float:
    return float(np.abs(r.real).max(initial=0.0))


def _squares(r: Array) -> float:
    return float(r.real @ r.real)


# ---- velocities and accelerations


def linear_rates(equations: Equations, q: Array, v: Array | None, t: float, target: Array) -> tuple[Array, float]:
    """Velocities (v is None) or accelerations that meet all rows, and their largest miss."""
    at = equations.at(q.astype(equations.dtype), None if v is None else v.astype(equations.dtype), t)
    b = -(at.rates if v is None else at.seconds)
    b[equations.n_constraints :] += target
    x, _ = least_squares(at.J, b)
    misses = at.J @ x - b
    miss = misses.real
    scale = max(1.0, _largest(b), float((np.abs(at.J.real) @ np.abs(x.real)).max(initial=0.0)))
    if _largest(miss) > LINEAR_MISS * scale:
        level, unit = ("velocities", "m/s or 1/s") if v is None else ("accelerations", "m/s^2 or 1/s^2")
        raise AssemblyError(
            f"no {level} of model {equations.model.name!r} meet all constraints and held rates at t = {t:g} s: the "
            f"nearest miss {worst_rows(equations.names, miss)} [{unit}]. Hold fewer quantities or give other values; "
            "at a dead point, hold another coordinate."
        )
    if np.iscomplexobj(misses):
        terms = (at.J @ x.real - b).imag
        size = float(np.abs(terms).max(initial=0.0))
        _check_imaginary(equations, misses.imag, size, list(equations.names), t, q, target)
    return x, _largest(miss)


def _check_followed(equations: Equations, target: Array, attempt: Attempt, t: float) -> None:
    """Raise where a complex step changes constraints and positions cannot follow."""
    if equations.dtype is not complex:
        return
    rows = equations.finite_rows
    wanted = np.concatenate([np.zeros(equations.n_holonomic), target])
    torn = (equations.at(attempt.q.real.astype(complex), None, t).values[rows] - wanted).imag
    names = [equations.names[k] for k in rows]
    _check_imaginary(equations, attempt.miss.imag, float(np.abs(torn).max(initial=0.0)), names, t, target)


def _check_imaginary(equations: Equations, miss: Array, size: float, names: list[str], t: float, *given: Array) -> None:
    """Raise where imaginary parts, changes of size `size`, leave more than rounding in some row; `given`: what they may
    come from besides the model."""
    tables = (equations.T.atoms_f, equations.T.markers_f, equations.T.numbers, *given)
    step = max(float(np.abs(x.imag).max(initial=0.0)) for x in tables)
    if float(np.abs(miss).max(initial=0.0)) > max(IMAGINARY_MISS * size, IMAGINARY_ROUNDING * step):
        raise AssemblyError(
            f"the complex step in the numbers of model {equations.model.name!r} tears its loops apart at t = {t:g} "
            f"s: constraints and held quantities cannot follow it together, {worst_rows(names, miss / size)} of what "
            "changes is left."
        )


# ---- messages


def _not_as_said(equations: Equations, miss: Array, level: str) -> AssemblyError:
    names = equations.names if level == "velocities" else [equations.names[k] for k in equations.finite_rows]
    return AssemblyError(
        f"the {level} of this state of model {equations.model.name!r} are not what is held and constrained there: they "
        f"miss {worst_rows(names, miss)}. Its numbers were changed, or belong to another model; leave q and v out to "
        "have the state found anew."
    )


def worst_rows(names: tuple[str, ...] | list[str], miss: Array, count: int = 3) -> str:
    """The rows that miss most, with how far."""
    first = np.argsort(-np.abs(miss.real))[:count]
    order = [k for k in first if abs(miss.real[k]) > 0.01 * _largest(miss)]
    return ", ".join(f"{names[k]!r} by {miss.real[k]:.3g}" for k in order)


def _not_assembled(equations: Equations, attempt: Attempt, t: float) -> AssemblyError:
    model, n = equations.model, equations.n_holonomic
    names = [equations.names[k] for k in equations.finite_rows]
    J = equations.at(attempt.q, None, t).J.real[:n]
    freedoms = model.n_v - least_squares(J, np.zeros(n))[1]
    text = (
        f"model {model.name!r} cannot be put together at t = {t:g} s: the nearest of {attempt.starts} attempts "
        f"misses {worst_rows(names, attempt.miss)} [m or 1]."
    )
    if not equations.held:
        return AssemblyError(f"{text} Check the lengths of the bodies in the loops, or give a guess closer to closing.")
    held = ", ".join(quantity.name for quantity in equations.held)
    return AssemblyError(
        f"{text} Held: {held}; the mechanism has {freedoms} degree(s) of freedom there. "
        + (
            "Hold fewer quantities."
            if len(equations.held) > freedoms
            else "The values may be out of reach: give others, or a guess closer to them."
        )
    )
