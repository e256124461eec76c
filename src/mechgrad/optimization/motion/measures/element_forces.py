"""What force elements, constraints and closures of loops add to the torques of a tree:

    tau = tau of the tree + sum_k y_k Gamma_k^T(q)

with y the multipliers lam of constraint rows, which are profiles, then the forces of laws. First derivatives are those
of the mechanism without masses, K = tau_q and C = tau_v (`dynamics.kernels.linearised`). The gradient of w . tau is
(K^T w, C^T w, Gamma w) by q, v and lam; second derivatives are complex steps through it, exact, along the columns alone
whose motion bends anything: a spring on a hinge bends nothing. A `UserForce` states first derivatives only, so models
with one take central differences of eighth order instead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.kernels import linearised as _lanes
from mechgrad.dynamics.kernels import states as _states
from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.states import Linearised, States
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows, random_configurations
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import L_FIRST, L_KIND, L_ROWS, L_SECOND_FUNCTION, R_KIND, Mechanism
from mechgrad.model.primitives.rows import CONTACT, CURVE, FRICTION, GROUND, LINEAR, MOTOR, SPRING, TYRE, USER
from mechgrad.model.tree import BEYOND, MASS
from mechgrad.optimization.motion.measures.base import ModelFunction
from mechgrad.optimization.motion.measures.motion_samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.optimization.motion.measures.times import EIGHTH, STRIDE, Times, clocked_rows, time_rates
from mechgrad.typing import Array, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

FEELS_RATES = (CURVE, FRICTION, CONTACT, TYRE, USER, *GROUND)


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which columns the rows of a mechanism move with.

    rows : (rows, n_v) bool, constraint rows first
    laws : (n_v, n_v) bool, pairs of columns that meet in a law;   bent : (n_v, n_v), pairs that can have curvature
    turned : (n_v,) columns along which gradients change;   driven : (n_v,) the same along velocities
    """

    rows: Array
    laws: Array
    bent: Array
    turned: Array
    driven: Array


def _meeting(columns: Array) -> Array:
    return np.outer(columns, columns)


def dependence_of(model: Model, rows: IntArray) -> Dependence:
    """Columns of the constraint rows named and of all laws, from rows at random configurations."""
    elements = elements_of(model)
    system = System(model, rows=rows)
    rng = np.random.default_rng(5)
    q = random_configurations(model, 4, rng)
    found = evaluate_rows(system.T, q, rng.normal(size=(4, model.n_v)), None, np.zeros(4), 0, system.n_rows)
    # a ball that carries both sides may turn a row without moving it: rates depend on that
    moved = np.any((np.abs(found.J) > 1e-12) | (np.abs(found.J_rate) > 1e-12), axis=0)
    n, m = model.n_v, len(rows)
    kinds = elements.rows_i[np.concatenate([rows, np.arange(elements.n_constraints, elements.n_rows)]), R_KIND]
    laws, bent, driven = (np.zeros((n, n), bool) for _ in range(3))
    for k in np.flatnonzero(kinds[:m] != LINEAR):
        bent |= _meeting(moved[k])
    for law in elements.laws_i:
        first = int(law[L_FIRST]) - elements.n_constraints + m
        part = slice(first, first + int(law[L_ROWS]))
        pair = _meeting(np.any(moved[part], axis=0))
        laws |= pair
        if np.any(kinds[part] != LINEAR) or law[L_KIND] not in (SPRING, MOTOR):
            bent |= pair
        if law[L_KIND] in FEELS_RATES and not (law[L_KIND] == CURVE and law[L_SECOND_FUNCTION] < 0):
            driven |= pair
    return Dependence(moved, laws, bent, np.any(bent, axis=0), np.any(driven, axis=0))


def dependence_with(model: Model, rows: IntArray, paths: tuple[str, ...]) -> Dependence:
    """`dependence_of` for any values of some numbers: zeros of the present ones are not taken for zeros of all."""

    def make(model: Model) -> Dependence:
        found = dependence_of(model, rows)
        if not paths:
            return found
        given = {path: float(np.real(model.value(path))) for path in paths}
        moved = dependence_of(model.stepped({path: x + 0.01 * (abs(x) + 0.1) for path, x in given.items()}), rows)
        return Dependence(*(getattr(found, f.name) | getattr(moved, f.name) for f in fields(Dependence)))

    return model.shared(f"dependence of rows {rows.tolist()}, {paths}", make)


def without_masses(T: Mechanism) -> Mechanism:
    """The record of a mechanism whose bodies weigh nothing."""
    atoms = T.atoms_f.copy()
    atoms[:-1, MASS : BEYOND + 1] = 0.0  # mass, centre, moments, and the mass of all that is carried
    atoms.setflags(write=False)
    return T._replace(atoms_f=atoms)


@final
@dataclass(frozen=True, eq=False)
class ElementForces(ModelFunction):
    """sum_k y_k Gamma_k^T, as the module's text says: what actuators must exert against elements, (nt, n_v).

    Attributes
    ----------
    rows : positions of the constraint rows whose multipliers are profiles, from column `first` on
    times : when samples are
    """

    model: Model
    rows: IntArray
    first: int
    times: Times = field(default_factory=Times)
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(f"tau({name})" for name in self.model.v_names))

    @property
    def key(self) -> Hashable:
        return ("elements", id(self.model), tuple(self.rows.tolist()), self.times, self.parameters)

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        kinds = elements_of(self.model).laws_i[:, L_KIND]
        return not np.any(np.isin(kinds, (CURVE, CONTACT, TYRE, USER, *GROUND)))

    # -------------------------------------------------------------------------------------------------- the mechanism
    @cached_property
    def _dependence(self) -> Dependence:
        return dependence_with(self.model, self.rows, self.parameters)

    def _system(self, dtype: type) -> System:
        return self._complex if dtype is complex else self._real

    @cached_property
    def _real(self) -> System:
        return System(self.model, rows=self.rows)

    @cached_property
    def _complex(self) -> System:
        return System(self.model, rows=self.rows, dtype=complex)

    @cached_property
    def _weightless(self) -> dict[type, Mechanism]:
        return {float: without_masses(self._real.T)}

    def _record(self, dtype: type) -> Mechanism:
        if dtype not in self._weightless:
            self._weightless[dtype] = without_masses(self._system(dtype).T)
        return self._weightless[dtype]

    def _lam(self, s: Samples) -> Array:
        return np.asarray(s.z[0][:, self.first : self.first + len(self.rows)])

    def values(self, s: Samples) -> Array:
        dtype = complex if any(np.iscomplexobj(x) for x in (s.q, s.z)) else float
        return self._values(self._system(dtype), s)

    def _values(self, system: System, s: Samples) -> Array:
        t = self.times.at(s)
        lam: Array = np.array(self._lam(s), system.dtype)
        rows = evaluate_rows(system.T, s.q, s.v, s.a, t, 0, system.n_rows)
        y, _ = row_forces(system, s.q, s.v, s.a, lam, t)
        return np.asarray(np.einsum("tkj,tk->tj", rows.J, y))

    # ---------------------------------------------------------------------------------------------------- first order
    def _linearised(self, q: Array, v: Array, lam: Array, t: Array) -> tuple[Array, Array, Array]:
        """K, C (nt, n_v, n_v) and Gamma of the constraint rows (nt, m, n_v), in lanes."""
        T, n, nt = self._record(float), self.model.n_v, len(q)
        lines = n, n, n, T.n_all, T.n_all
        out = Linearised(*(np.zeros((nt, k * n)) for k in lines))
        states = States(*(np.array(x, float, order="C") for x in (q, v, np.zeros((nt, n)), lam, t)))
        self._check(self._real, _lanes.linearised_lanes(T, states, out, False))
        K, C, _, J, _ = (x.reshape(nt, k, n) for x, k in zip(out, lines, strict=True))
        return K, C, J[:, : len(self.rows)]

    def _linearised_complex(self, q: Array, v: Array, lam: Array, t: Array) -> tuple[Array, Array]:
        """K and C of complex states, one by one."""
        T, n, nt = self._record(complex), self.model.n_v, len(q)
        r: Array = np.zeros((nt, n), complex)
        K, C, M = (np.zeros((nt, n * n), complex) for _ in range(3))
        arrays: list[Array] = [np.array(x, complex, order="C") for x in (q, v, np.zeros((nt, n)), lam)]
        self._check(self._complex, _states.linearised_states(T, *arrays, np.array(t, float), r, K, C, M))
        return K.reshape(nt, n, n), C.reshape(nt, n, n)

    def _check(self, system: System, bad: int) -> None:
        system.users.raise_pending()
        if bad >= 0:
            raise InputError(
                f"the forces of elements of model {self.model.name!r} on sample {bad} are not finite numbers."
            )

    def _at(self, s: Samples) -> tuple[Array, Array, Array]:
        key = (self, "linearised")
        return s.remember(key, lambda: self._linearised(s.q, s.v, self._lam(s), self.times.at(s)))

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        """Pairs of columns, then a torque and a multiplier, then a torque and time."""
        depends, m = self._dependence, len(self.rows)
        rows, cols = np.nonzero(depends.laws | depends.bent)
        k, j = np.nonzero(depends.rows[:m])
        rows, cols = np.concatenate([rows, j]), np.concatenate([cols, self.first + k])
        if self.times.column >= 0:
            driven = np.flatnonzero(np.any(self._clocked, axis=0))
            rows = np.concatenate([rows, driven])
            cols = np.concatenate([cols, np.full(driven.size, self.times.column)])
        return rows, cols

    @cached_property
    def structure(self) -> Structure:
        rows, cols = self._places
        return Structure(self.m, rows, cols, {"q": np.ones(rows.size, bool), "v": cols < self.model.n_v})

    def partials(self, s: Samples) -> Partials:
        K, C, J = self._at(s)
        rows, cols = self._places
        wide = np.zeros((s.nt, self.m, s.z.shape[2]))
        n = self.model.n_v
        wide[:, :, :n] = K
        wide[:, :, self.first : self.first + len(self.rows)] = J.swapaxes(1, 2)
        if self.times.column >= 0:
            wide[:, :, self.times.column] = self._by_time(s, 1)
        by_q = wide[:, rows, cols]
        plain = cols < n
        by_v = np.zeros_like(by_q)
        by_v[:, plain] = C[:, rows[plain], cols[plain]]
        return Partials(self.structure, {"q": by_q, "v": by_v})

    # ----------------------------------------------------------------------------------------------------------- time
    @cached_property
    def _clocked(self) -> Array:
        """Columns that rows move with whose forces depend on time, (rows, n_v) bool."""
        return np.asarray(self._dependence.rows[len(self.rows) + clocked_rows(self.model)])

    def _by_time(self, s: Samples, order: int) -> Array:
        """First or second derivative of tau by time alone, (nt, n_v)."""
        system, t, m = self._real, self.times.at(s), len(self.rows)
        rows = evaluate_rows(system.T, s.q, s.v, None, t, 0, system.n_rows)
        F = time_rates(self.model, rows.values[:, m:], rows.rates[:, m:], t, order)
        return np.asarray(np.einsum("tkj,tk->tj", rows.J[:, m:], F))

    # --------------------------------------------------------------------------------------------------- second order
    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        depends, m = self._dependence, len(self.rows)
        rows, cols = np.nonzero(depends.bent)
        count = rows.size
        k, j = np.nonzero(depends.rows[:m] & depends.turned)
        one, other = j, self.first + k
        rows, cols = np.concatenate([rows, one, other]), np.concatenate([cols, other, one])
        motion = np.arange(rows.size) < count
        pairs = {"qq": np.ones(rows.size, bool), "qv": motion, "vv": motion}
        if (c := self.times.column) >= 0 and self._clocked.size:
            # time with itself; where laws of users know of it, with the motion: (q, t), (t, q) and (t, v)
            j = np.flatnonzero(np.any(self._clocked, axis=0)) if elements_of(self.model).user else np.zeros(0, int)
            here = np.full(j.size, c)
            rows, cols = np.concatenate([rows, [c], j, here]), np.concatenate([cols, [c], here, j])
            more = np.zeros(1 + 2 * j.size, bool)
            with_v = more.copy()
            with_v[1 + j.size :] = True
            extra = {"qq": ~more, "qv": with_v, "vv": more}
            pairs = {pair: np.concatenate([mask, extra[pair]]) for pair, mask in pairs.items()}
        return CurvatureStructure(rows, cols, pairs)

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        K, C, J = self._at(s)
        n, m, width = self.model.n_v, len(self.rows), s.z.shape[2]
        pull = np.einsum("tij,ti->tj", K, y), np.einsum("tij,ti->tj", C, y)
        g = {"q": np.zeros((s.nt, width)), "v": np.zeros((s.nt, width))}
        g["q"][:, :n], g["v"][:, :n] = pull
        g["q"][:, self.first : self.first + m] = np.einsum("tki,ti->tk", J, y)
        dense = {pair: np.zeros((s.nt, width, width)) for pair in ("qq", "qv", "vv")}
        lam = slice(self.first, self.first + m)
        for j, (by_q, by_v, by_lam) in self._slopes(s, y, self._dependence.turned, "q"):
            dense["qq"][:, :n, j] = by_q
            dense["qv"][:, j, :n] = by_v
            dense["qq"][:, lam, j] = by_lam
            dense["qq"][:, j, lam] = by_lam
        for j, (_, by_v, _) in self._slopes(s, y, self._dependence.driven, "v"):
            dense["vv"][:, :n, j] = by_v
        if (c := self.times.column) >= 0:
            g["q"][:, c] = np.sum(y * self._by_time(s, 1), axis=1)
            dense["qq"][:, c, c] = np.sum(y * self._by_time(s, 2), axis=1)
            if elements_of(self.model).user:
                ((_, (by_q, by_v, _)),) = self._slopes(s, y, np.arange(n) == 0, "t")
                dense["qq"][:, :n, c] = dense["qq"][:, c, :n] = by_q
                dense["qv"][:, c, :n] = by_v
        structure = self.curvature_structure
        blocks = {pair: x[:, structure.rows, structure.cols] for pair, x in dense.items()}
        return Curvature(structure, blocks), g

    def _slopes(self, s: Samples, y: Array, columns: Array, level: str) -> list[tuple[int, tuple[Array, Array, Array]]]:
        """Derivatives of (K^T y, C^T y, Gamma y) along q or v of each of some columns, or (level "t") along time."""
        chosen = np.flatnonzero(columns)
        if not chosen.size:
            return []
        nt, n = s.nt, self.model.n_v
        directions = np.repeat(np.eye(n)[chosen], nt, axis=0)
        q, v, lam, w = (np.tile(x, (chosen.size, 1)) for x in (s.q, s.v, self._lam(s), y))
        t = np.tile(self.times.at(s), chosen.size)

        def gradients(step: complex, run: Callable[..., tuple[Array, ...]]) -> list[Array]:
            moved = np.asarray(self.model.integrate(q, step * directions)) if level == "q" else q
            speed = v + step * directions if level == "v" else v
            K, C, J = run(moved, speed, lam, t + np.real(step) if level == "t" else t)
            return [np.einsum("tij,ti->tj", K, w), np.einsum("tij,ti->tj", C, w), np.einsum("tki,ti->tk", J, w)]

        def stepped(*state: Array) -> tuple[Array, ...]:
            rows = np.zeros((len(state[0]), len(self.rows), n), complex)
            if level == "q" and len(self.rows):
                rows = evaluate_rows(self._complex.T, state[0], None, None, t, 0, len(self.rows)).J
            return (*self._linearised_complex(*state), rows)

        if not elements_of(self.model).user:
            slopes = [x.imag / STEP for x in gradients(1j * STEP, stepped)]
        else:
            slopes = [np.zeros(0)] * 3
            for times, weight in EIGHTH:
                ahead, behind = (gradients(sign * times * STRIDE, self._linearised) for sign in (1, -1))
                for k, (a, b) in enumerate(zip(ahead, behind, strict=True)):
                    change = weight / STRIDE * (a - b)
                    slopes[k] = change if times == 1 else slopes[k] + change
        shaped = [x.reshape(chosen.size, nt, -1) for x in slopes]
        return [(int(j), (shaped[0][i], shaped[1][i], shaped[2][i])) for i, j in enumerate(chosen)]

    # -------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        out = np.zeros((s.nt, self.m, len(self.parameters)))
        for k, path in enumerate(self.parameters):
            model = self.model.stepped({path: self.model.value(path) + 1j * STEP})
            out[:, :, k] = self._values(System(model, rows=self.rows, dtype=complex), s).imag / STEP
        return out
