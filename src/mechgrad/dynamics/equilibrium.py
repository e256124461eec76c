"""Where a mechanism stays at rest: static equilibrium of trees and loops, with all forces.

    r(q, lam) = Q_inertia(q, 0, 0) - Q(q) + Gamma^T lam + H^T s = 0,        Phi(q) = 0,   h(q) = given

Q: weights, force elements, tau and loads; h: coordinates that are held, s: what that takes. The search runs on the
configurations that the constraints allow: with a basis N of the allowed velocities (Gamma N = 0, H N = 0) and the
multipliers lam(q), s(q) that balance best, it solves

    N^T r = 0        by      (N^T (K + mu M) N) u = -N^T r,       q := q moved by N u, then put together again

K = r_q with the multipliers held. mu = 0 is Newton's method, with steps halved until the unbalanced force decreases;
where no step does that, mu > 0 lets the mechanism sink as if through honey that thins out as it goes (dynamic
relaxation). A stable equilibrium has a positive stiffness N^T K N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from scipy.linalg import eigh

from mechgrad.dynamics.kernels import states as _kernels
from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, NoEquilibriumError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.assembly import LARGEST_TURN, RANK, assemble, find_velocities, given_values, held_rates, newton
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.held import Equations, Quantity, checked_state, find_values, finite_number
from mechgrad.kinematics.state import held_in_words
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.typing import Array, ArrayLike, Number

if TYPE_CHECKING:
    from mechgrad.model.model import Model

CLOSED = 1e-12  # [m or 1]: how well constraints hold after each step, for lengths up to a metre
HALVINGS = 6
SHORTEST = 0.05  # of Newton's step: with less, the stiffness it believes in is of no use
ENOUGH = 0.1  # share of the decrease that Newton's method promises which a step must keep
FLAT = 1e-12  # of the largest stiffness: smaller is neutral
ROUNDING = 1e-11  # [rad or m], for lengths up to a metre: shorter steps change nothing
SAME = 1e-7  # of the largest stiffness: forces with a potential have a stiffness that is symmetric to this
CREEP = 0.1  # [rad or m]: first step of a relaxation
FIRMER = 10.0  # ratio by which the honey changes
MASSLESS = 1e-9  # of all inertia: what a coordinate without any is given in a relaxation
STORED = 1e-6  # of the largest force: an equilibrium that was found and written down is balanced better
POLISH = 2  # steps that give imaginary parts to a real solution


@final
@dataclass(frozen=True, slots=True, eq=False)
class Equilibrium:
    """A configuration of rest.

    Attributes
    ----------
    model : Model
    q : (n_q,)
    multipliers : (m,)
        Of the constraint rows that act, named by `constraint_names`; on the mechanism acts -Gamma^T lam. The smallest
        ones where rows depend on each other.
    holding : dict
        For each held coordinate the generalized force that keeps it there [N m or N].
    residual : float
        Largest generalized force that is left unbalanced [N m or N].
    stable : bool or None
        Whether all small displacements that the constraints allow are resisted. None where some meets no resistance
        at first order, or where forces do not come from a potential and so stiffness alone does not decide.
    iterations : int
    constraint_names : tuple of str
    v : (n_v,)
        Velocities that a motion starts with from here: zero, unless `rates` or moving constraints say otherwise.
    t : float
        Time at which drivers and motors were frozen [s].
    held, held_rates : dict
        What was held, and the rates that v was found with.
    tau, loads : forces that acted besides those of the model

    `simulate` and `gradient` take it like a `State`: both know how q depends on every number of the model, on what was
    held, on tau and on loads.

    >>> equilibrium(model, tau=[19.62 * np.sin(0.3)]).q.round(9)
    array([0.3])
    >>> equilibrium(model, at={"pin": 0.5})
    Equilibrium of 'pendulum' at t = 0 s: stable, pin = 0.5 held, ... iterations. Next: .q, .holding, ...
    """

    model: Model
    q: Array
    multipliers: Array
    holding: dict[str, Number]
    residual: float
    stable: bool | None
    iterations: int
    constraint_names: tuple[str, ...]
    v: Array
    t: float
    held: dict[str, Any]
    held_rates: dict[str, Any]
    tau: Array
    loads: tuple[Load, ...]

    @property
    def way(self) -> str:
        """How it was found: "at rest"."""
        return "at rest"

    @property
    def bound_to_time(self) -> bool:
        """Whether forces at its time decided it: they did."""
        return True

    def __repr__(self) -> str:
        stable = {True: "stable", False: "unstable", None: "stability undecided by stiffness"}[self.stable]
        return (
            f"Equilibrium of {self.model.name!r} at t = {self.t:g} s: {stable}, "
            f"{held_in_words(self.held, self.held_rates)}, {self.residual:.1g} N or N m left after {self.iterations} "
            "iterations. Next: .q, .holding, .multipliers, simulate(model, equilibrium), gradient(...)"
        )


def equilibrium(
    model: Model,
    guess: ArrayLike | None = None,
    *,
    at: Mapping[Any, Number] | None = None,
    tau: ArrayLike | None = None,
    loads: Sequence[Load] | None = None,
    t: float = 0.0,
    rates: Mapping[Any, Number | None] | None = None,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> Equilibrium:
    """A configuration in which a mechanism stays at rest.

        r(q, v = 0, a = 0) + Gamma^T lam = 0,      Phi(q, t) = 0

    Parameters
    ----------
    guess : (n_q,), optional
        Where the search starts, `model.neutral()` if left out; loops are closed first. Of several equilibria, stable or
        not, one near the guess is found.
    at : mapping from coordinates of hinges and sliders to values, optional
        These are held; `holding` of the result says by which forces.
    tau : (n_v,), loads : list of Load
        Constant forces, as in `simulate`.
    t : float
        Time [s] at which drivers and motors are frozen.
    rates : mapping from names to values, optional
        Velocities that a motion from here starts with, as in `assemble`; what is not given moves as little as the
        constraints allow. They have no part in the equilibrium.
    tolerance : float
        Largest unbalanced generalized force, in parts of the largest force at work.
    max_iterations : int

    Mechanisms on wheels come to rest by rolling from the guess: constraints at velocity level allow only the steps that
    they would allow as velocities. With complex numbers in the model, tau, loads or `at`, the imaginary parts of q,
    multipliers and holding forces are exact where the equilibrium is isolated.

    Raises
    ------
    NoEquilibriumError
        If the iterations do not arrive; the message says what is left unbalanced, and where.
    AssemblyError
        If the loops cannot be closed.

    >>> rest = equilibrium(model, [0.4])
    >>> bool(abs(rest.q[0]) < 1e-9), rest.stable, equilibrium(model, [3.1]).stable
    (True, True, False)
    >>> round(equilibrium(model, at={"pin": np.pi / 2}).holding["pin"], 3)
    19.62
    """
    if not (tolerance > 0 and max_iterations >= 1):
        raise InputError(f"tolerance = {tolerance}, max_iterations = {max_iterations}; both must be positive.")
    search = _Search(model, at, tau, loads, float(t))
    start = None if guess is None else checked_state(model, "guess", guess, model.n_q)
    q = assemble(model, at, guess=start, t=search.t).q.real
    here, iterations = search.run(q, tolerance, max_iterations)
    return search.result(here, iterations, rates)


def at_rest_before(model: Model, q: ArrayLike, rates: Mapping[Any, Any], **given: Any) -> Equilibrium:
    """The equilibrium that was found once, from its q: nothing moves, and what does not balance is an error.

    given : at, tau, loads and t, as in `equilibrium`; that q has them is what `check_held` looks at
    """
    search = _Search(model, given["at"], given["tau"], given["loads"], given["t"])
    here = search.forces(checked_state(model, "q", q, model.n_q))
    if not here.size <= STORED * search.force_scale(here):
        raise search.failure(here, 0)
    return search.result(here, 0, rates)


class _Forces(NamedTuple):
    """Balance of forces in a configuration."""

    q: Array
    G: Array  # rows of constraints and held coordinates
    N: Array  # allowed velocities
    y: Array  # multipliers that balance best
    left: Array  # N^T r, what they leave

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.left))


class _Search:
    """The equations of one problem, and the iteration on them."""

    def __init__(
        self,
        model: Model,
        at: Mapping[Any, Number] | None,
        tau: ArrayLike | None,
        loads: Sequence[Load] | None,
        t: float,
    ) -> None:
        held = find_values(model, at)
        for name, (quantity, _) in held.items():
            if quantity.q_at < 0:
                raise InputError(
                    f"at[{name!r}] is no coordinate; hold coordinates of hinges and sliders, or add a constraint "
                    "(GuidedPoint) to the model."
                )
        values = [finite_number(value, f"at[{name!r}]") for name, (_, value) in held.items()]
        quantities: tuple[Quantity, ...] = tuple(quantity for quantity, _ in held.values())
        if not np.isfinite(t):
            raise InputError(f"t is {t}; it must be finite [s].")
        self.model, self.t = model, t
        note_idle_gravity(model, tree_of(model), above=2)
        self.system = System(model, tau, loads, dtype=complex if np.iscomplexobj(np.array(values)) else None)
        self.dtype = self.system.dtype
        self.equations = Equations.of(model, quantities, np.zeros(0, self.dtype))
        self.target: Array = np.array(values, self.dtype)
        self.closed = CLOSED * self.equations.reach(self.target)
        self.turning = np.array([u == "rad/s" for joint in model.tree_joints for u in joint.v_units], bool)

    # ---- the equations

    def linearised(self, q: Array, lam: Array) -> tuple[Array, Array, Array]:
        """r without held coordinates, K and M at rest."""
        n = self.model.n_v
        rest: Array = np.zeros((1, n), self.dtype)
        r: Array = rest.copy()
        matrices: list[Array] = [np.zeros((1, n * n), self.dtype) for _ in range(3)]
        state: Array = np.array(q[None], self.dtype, order="C")
        given: Array = np.array(lam[None, : self.system.n_constraints], self.dtype, order="C")
        T, now = self.system.T, np.array([self.t])
        bad = _kernels.linearised_states(T, state, rest, rest.copy(), given, now, r, *matrices)
        self.system.users.raise_pending()
        if bad >= 0 or not np.isfinite(r).all():
            name = self.model.v_names[int(np.argmin(np.isfinite(r[0])))]
            raise InputError(
                f"the generalized force on {name!r} is not finite at q = {_brief(q)}. Look at the force elements of "
                f"model {self.model.name!r}, or start elsewhere."
            )
        return r[0], matrices[0].reshape(n, n), matrices[2].reshape(n, n)

    def forces(self, q: Array) -> _Forces:
        """The balance at an allowed configuration, real parts."""
        G = self.equations.at(q.astype(self.dtype), None, self.t).J.real
        r = self.linearised(q, np.zeros(len(G)))[0].real
        N, y = np.eye(self.model.n_v), np.zeros(len(G))
        if G.size:
            U, s, Vt = np.linalg.svd(G)
            rank = int(np.sum(s > RANK * s[0]))
            N, y = Vt[rank:].T, -U[:, :rank] @ ((Vt[:rank] @ r) / s[:rank])
        return _Forces(q, G, N, y, N.T @ r)

    def moved(self, q: Array, step: Array) -> Array | None:
        """q moved along allowed velocities and put together again; None if that fails."""
        q = np.asarray(self.model.integrate(q, step))
        if not len(self.equations.names):
            return q
        attempt = newton(self.equations, self.target, q.astype(self.dtype), self.t, self.closed)
        return np.asarray(attempt.q.real) if attempt.closed else None

    def share(self, step: Array, reach: float) -> float:
        """How much of a step may be taken: no turn beyond what a linear picture can bear, no shift out of sight."""
        turn = np.abs(step[self.turning]).max(initial=0.0) / LARGEST_TURN
        shift = np.abs(step[~self.turning]).max(initial=0.0) / reach
        return float(1.0 / max(1.0, turn, shift))

    def force_scale(self, here: _Forces) -> float:
        """The largest force at work [N or N m]: weights, tau, loads, force elements, multipliers."""
        system, model = self.system, self.model
        weight = float(np.real(model.total_mass)) * float(np.linalg.norm(np.real(model.gravity)))
        rest = np.zeros((1, model.n_v))
        y, _ = row_forces(system, here.q[None], rest, rest, here.y[None, : system.n_constraints], np.array([self.t]))
        given = [np.asarray(x).real for load in system.loads for x in (load.force, load.torque)]
        sizes = [np.abs(x).max(initial=0.0) for x in (*given, system.tau.real, y.real, here.y)]
        return float(max(weight, *sizes)) or 1.0

    # ---- the iteration

    def run(self, q: Array, tolerance: float, most: int) -> tuple[_Forces, int]:
        """From a configuration to one of rest, and the number of steps."""
        here = self.forces(q)
        reach = self.equations.reach(q)
        mu = 0.0
        for k in range(most):
            if here.size <= tolerance * self.force_scale(here):
                return here, k
            _, K, M = self.linearised(here.q, here.y)
            S = here.N.T @ K.real @ here.N
            u = -np.linalg.lstsq(S, here.left, rcond=FLAT)[0]
            if mu == 0.0:
                found = self.newton_step(here, here.N @ u, reach)
            else:
                found, mu = self.sink(here, S, here.N.T @ M.real @ here.N, mu, reach)
            stuck = found is None or found.size > 0.5 * here.size
            balancing = np.linalg.norm(here.left + S @ u) < 0.5 * here.size
            if stuck and balancing and np.abs(u).max() <= ROUNDING * reach:
                return here, k  # this step should balance everything, and is too short to change anything
            if found is not None:
                here = found
            elif mu == 0.0:
                rates = np.linalg.lstsq(here.N.T @ M.real @ here.N, here.left, rcond=FLAT)[0]
                mu = max(float(np.abs(here.N @ rates).max()) / CREEP, 1e-300)
        if here.size <= tolerance * self.force_scale(here):
            return here, most
        raise self.failure(here, most)

    def sink(self, here: _Forces, S: Array, inertia: Array, mu: float, reach: float) -> tuple[_Forces | None, float]:
        """A step of relaxation, if the loops can be closed after it, and the next mu."""
        inertia = inertia + MASSLESS * max(float(np.trace(inertia)), 1e-300) * np.eye(len(inertia))
        # never against the slope: a saddle repels
        mu = max(mu, -2.0 * float(eigh((S + S.T) / 2, inertia, eigvals_only=True)[0]))
        step = -(here.N @ np.linalg.lstsq(S + mu * inertia, here.left, rcond=FLAT)[0])
        share = self.share(step, reach)
        place = self.moved(here.q, share * step)
        if place is None:
            return None, FIRMER * mu
        return self.forces(place), mu if share < 1.0 else mu / FIRMER

    def newton_step(self, here: _Forces, step: Array, reach: float) -> _Forces | None:
        """The first of the halved steps after which less is unbalanced."""
        for halving in range(HALVINGS):
            part = 0.5**halving * self.share(step, reach)
            if part < SHORTEST:
                break
            place = self.moved(here.q, part * step)
            if place is None:
                continue
            found = self.forces(place)
            if found.size < (1.0 - ENOUGH * part) * here.size:
                return found
        return None

    def failure(self, here: _Forces, most: int) -> NoEquilibriumError:
        r = here.N @ here.left
        k = int(np.argmax(np.abs(r)))
        return NoEquilibriumError(
            f"model {self.model.name!r} has no equilibrium that {most} iterations reach from this guess: at q = "
            f"{_brief(here.q)} a generalized force of {-r[k]:.3g} on {self.model.v_names[k]!r} is left unbalanced. "
            "Give another guess or more iterations, or hold a coordinate by at={...} if nothing else does.",
            here.q,
        )

    # ---- the result

    def result(self, here: _Forces, iterations: int, rates: Mapping[Any, Number | None] | None) -> Equilibrium:
        q: Array = here.q.astype(self.dtype)
        y: Array = here.y.astype(self.dtype)
        m = self.system.n_constraints
        K = self.linearised(here.q, here.y)[1].real
        stable = _stability(here.N.T @ K @ here.N)
        if self.dtype is complex:
            q, y = self.with_imaginary_parts(q, y, K, here.G)
        G = self.equations.at(q, None, self.t).J
        left = self.linearised(q, y)[0] + G[m:].T @ y[m:]
        holding = {h.name: -y[m + k].item() for k, h in enumerate(self.equations.held)}
        size = float(np.abs(left.real).max(initial=0.0))
        held = {h.name: (h, 0.0) for h in self.equations.held}
        moving = held_rates(self.model, q, held, rates, self.t)
        v, _ = find_velocities(self.model, q, moving, self.t)
        return Equilibrium(
            self.model, q, y[:m], holding, size, stable, iterations, self.system.names, v, self.t,
            dict(zip((h.name for h in self.equations.held), self.target.tolist(), strict=True)), given_values(moving),
            self.system.tau, self.system.loads,
        )  # fmt: skip

    def with_imaginary_parts(self, q: Array, y: Array, K: Array, G: Array) -> tuple[Array, Array]:
        """Newton's steps with real matrices: they leave the real parts and are exact for the imaginary ones."""
        n, m = self.model.n_v, self.system.n_constraints
        _, inverse = static_inverse(K, G)
        for _ in range(POLISH):
            at = self.equations.at(q, None, self.t)
            finite = self.equations.finite_rows
            values: Array = np.zeros(len(G), complex)
            values[finite] = at.values[finite]
            values[m:] -= self.target
            r = self.linearised(q, y)[0] + at.J[m:].T @ y[m:]
            x = inverse @ np.concatenate([r, values])
            q, y = np.asarray(self.model.integrate(q, -x[:n])), y - x[n:]
        return q, y


def static_inverse(K: Array, G: Array) -> tuple[Array, Array]:
    """[ K  G^T; G  0 ] and its pseudo-inverse, the shortest change where nothing resists.

    Rows of G are made as large as K before small singular values are taken for zero: stiff springs beside constraints
    would otherwise hide them.
    """
    n, m = len(K), len(G)
    saddle = np.block([[K, G.T], [G, np.zeros((m, m))]])
    scale = np.concatenate([np.ones(n), np.full(m, float(np.abs(K).max(initial=0.0)) or 1.0)])
    inverse = np.linalg.pinv(scale[:, None] * saddle * scale, rcond=FLAT)
    return saddle, scale[:, None] * inverse * scale


def _stability(S: Array) -> bool | None:
    """Of a stiffness: True, False, or None where it does not decide."""
    if not S.size:
        return True
    largest = np.abs(S).max()
    if np.abs(S - S.T).max() <= SAME * largest:
        lowest = np.linalg.eigvalsh((S + S.T) / 2)[0]
        return None if abs(lowest) <= FLAT * largest else bool(lowest > 0.0)
    # without a potential: a real negative eigenvalue drives away, anything else is up to inertia and damping
    values = np.linalg.eigvals(S)
    drives_away = (np.abs(values.imag) <= FLAT * largest) & (values.real < -FLAT * largest)
    return False if drives_away.any() else None


def _brief(q: Array) -> str:
    shown = ", ".join(f"{x:.4g}" for x in np.real(q)[:6])
    return f"({shown}{', ...' if len(q) > 6 else ''})"
