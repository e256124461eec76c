"""What a force element exerts along its rows, as a function of samples.

    F(g, g', t),    dF = F_g dg + F_g' dg'        dg = Gamma dq,    dg' = Gamma_rate dq + Gamma dv

so that the gradient of y . F is (Gamma^T w + Gamma_rate^T u, Gamma^T u) by q and v with w = F_g^T y and u = F_g'^T y.
Second derivatives are complex steps through it, exact. F_g and F_g' are the stiffness and damping of a mechanism of
massless slides, one per row, that the law acts on: its rows are these slides' coordinates. Laws in Python state first
derivatives only; for these, central differences of eighth order take the place of complex steps.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.kernels.states import linearised_states
from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.columns import STEP
from mechgrad.model.forces.base import Force
from mechgrad.model.forces.user_force import UserForce
from mechgrad.model.model import Model
from mechgrad.model.primitives.attached import places
from mechgrad.model.primitives.rows import CONTACT, CURVE, GROUND, TYRE, USER, Law
from mechgrad.optimization.motion.measures.base import ModelFunction
from mechgrad.optimization.motion.measures.element_forces import dependence_with
from mechgrad.optimization.motion.measures.law_alone import law_alone
from mechgrad.optimization.motion.measures.motion_samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.optimization.motion.measures.times import EIGHTH, STRIDE, Times, time_rates
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.measures.forces import Effort

NO_ROWS = np.zeros(0, np.int64)


@final
@dataclass(frozen=True, eq=False)
class ElementEfforts(ModelFunction):
    """F of one force element along each of its rows [N, N m], as `mg.measures.Effort` has it; positive where it
    resists."""

    model: Model
    measure: Effort
    times: Times = field(default_factory=Times)
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        known = [force.name for force in self.model.forces]
        if self.measure.force not in known:
            raise unknown_name("force", self.measure.force, known, f"model {self.model.name!r}")
        label, count = self.measure.label, sum(len(law.rows) for law in self._laws)
        names = (label,) if count == 1 else tuple(f"{label}[{k}]" for k in range(count))
        object.__setattr__(self, "names", names)

    @property
    def key(self) -> Hashable:
        return ("efforts", id(self.model), self.measure, self.times, self.parameters)

    @property
    def _force(self) -> Force:
        return next(force for force in self.model.forces if force.name == self.measure.force)

    @cached_property
    def _laws(self) -> tuple[Law, ...]:
        return self._force.laws(places(self.model))

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        return not any(law.kind in (CURVE, CONTACT, TYRE, USER, *GROUND) for law in self._laws)

    # -------------------------------------------------------------------------------------------------- the mechanism
    @cached_property
    def _rows(self) -> slice:
        """Its rows among those of all laws."""
        where, before = places(self.model), 0
        for force in self.model.forces:
            if force.name == self.measure.force:
                break
            before += sum(len(law.rows) for law in force.laws(where))
        return slice(before, before + self.m)

    @cached_property
    def _real(self) -> System:
        return System(self.model, rows=NO_ROWS)

    @cached_property
    def _complex(self) -> System:
        return System(self.model, rows=NO_ROWS, dtype=complex)

    @cached_property
    def _alone(self) -> Model:
        return law_alone(self._force, self.model)

    @cached_property
    def _slides(self) -> dict[type, System]:
        """The law alone, in real and complex numbers."""
        return {dtype: System(self._alone, dtype=dtype) for dtype in (float, complex)}

    def _partials_of_law(self, g: Array, gd: Array, t: Array) -> tuple[Array, Array]:
        """F_g and F_g' (nt, m, m) where rows have these values and rates."""
        dtype = complex if np.iscomplexobj(g) or np.iscomplexobj(gd) else float
        system, nt, m = self._slides[dtype], len(g), self.m
        states: list[Array] = [np.array(x, dtype, order="C") for x in (g, gd, np.zeros((nt, m)), np.zeros((nt, 0)))]
        r: Array = np.zeros((nt, m), dtype)
        K, C, M = (np.zeros((nt, m * m), dtype) for _ in range(3))
        bad = linearised_states(system.T, *states, np.array(t, float), r, K, C, M)
        system.users.raise_pending()
        if bad >= 0:
            raise InputError(
                f"what {self.measure.force!r} of model {self.model.name!r} exerts on sample {bad} is not a finite "
                "number."
            )
        return K.reshape(nt, m, m), C.reshape(nt, m, m)

    def _evaluated(self, q: Array, v: Array, t: Array) -> tuple[Array, Array, Array, Array]:
        """Values and rates of its rows (nt, m), Gamma and Gamma_rate (nt, m, n_v)."""
        system = self._complex if np.iscomplexobj(q) or np.iscomplexobj(v) else self._real
        found = evaluate_rows(system.T, q, v, None, t, 0, system.n_rows)
        mine = self._rows
        return found.values[:, mine], found.rates[:, mine], found.J[:, mine], found.J_rate[:, mine]

    def _values(self, system: System, s: Samples) -> Array:
        t = self.times.at(s)
        y, _ = row_forces(system, s.q, s.v, s.a, np.zeros((s.nt, 0), system.dtype), t)
        return np.asarray(y[:, self._rows])

    def values(self, s: Samples) -> Array:
        complex_ = any(np.iscomplexobj(x) for x in (s.q, s.z))
        return self._values(self._complex if complex_ else self._real, s)

    # ---------------------------------------------------------------------------------------------------- first order
    @property
    def _timed(self) -> bool:
        return self.times.column >= 0

    @cached_property
    def _moved(self) -> Array:
        """Columns that move its rows, (n_v,) bool."""
        depends = dependence_with(self.model, NO_ROWS, self.parameters).rows[self._rows]
        return np.asarray(np.any(depends, axis=0))

    @cached_property
    def structure(self) -> Structure:
        columns = np.flatnonzero(self._moved)
        count = columns.size
        columns = np.append(columns, self.times.column) if self._timed else columns
        rows, cols = np.repeat(np.arange(self.m), columns.size), np.tile(columns, self.m)
        return Structure(self.m, rows, cols, {
            "q": np.ones(rows.size, bool), "v": np.tile(np.arange(columns.size) < count, self.m)
        })  # fmt: skip

    def _first(self, s: Samples) -> tuple[Array, Array]:
        """F_q and F_v, (nt, m, n_v)."""

        def make() -> tuple[Array, Array]:
            t = self.times.at(s)
            g, gd, J, J_rate = self._evaluated(s.q, s.v, t)
            by_g, by_gd = self._partials_of_law(g, gd, t)
            return by_g @ J + by_gd @ J_rate, by_gd @ J

        return s.remember((self, "first"), make)

    def _by_time(self, s: Samples, order: int) -> Array:
        """F_t or F_tt, (nt, m)."""
        t = self.times.at(s)
        g, gd, _, _ = self._evaluated(s.q, s.v, t)
        return time_rates(self._alone, g, gd, t, order)

    def partials(self, s: Samples) -> Partials:
        by_q, by_v = self._first(s)
        structure, width = self.structure, s.z.shape[2]
        wide = np.zeros((2, s.nt, self.m, width))
        wide[0, :, :, : self.model.n_v], wide[1, :, :, : self.model.n_v] = by_q, by_v
        if self._timed:
            wide[0, :, :, self.times.column] = self._by_time(s, 1)
        by = {level: wide[k][:, structure.rows, structure.cols] for k, level in enumerate("qv")}
        return Partials(structure, by)

    # --------------------------------------------------------------------------------------------------- second order
    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        columns = np.flatnonzero(self._moved)
        count = columns.size
        columns = np.append(columns, self.times.column) if self._timed else columns
        rows, cols = np.repeat(columns, columns.size), np.tile(columns, columns.size)
        plain = np.arange(columns.size) < count
        both = np.outer(plain, plain).ravel()
        with_v = np.tile(plain, columns.size)  # the second of "qv" is a velocity, the first may be time
        return CurvatureStructure(rows, cols, {"qq": np.ones(rows.size, bool), "qv": with_v, "vv": both})

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        n, width = self.model.n_v, s.z.shape[2]
        g = {level: np.zeros((s.nt, width)) for level in "qv"}
        for level, part in zip("qv", self._first(s), strict=True):
            g[level][:, :n] = np.einsum("tmn,tm->tn", part, y)
        dense = {pair: np.zeros((s.nt, width, width)) for pair in ("qq", "qv", "vv")}
        for j in np.flatnonzero(self._moved).tolist():
            dense["qq"][:, :n, j], dense["qv"][:, j, :n] = self._slope(s, y, j, "q")
            dense["vv"][:, :n, j] = self._slope(s, y, j, "v")[1]
        if self._timed:
            c = self.times.column
            g["q"][:, c] = np.sum(y * self._by_time(s, 1), axis=1)
            dense["qq"][:, c, c] = np.sum(y * self._by_time(s, 2), axis=1)
            if isinstance(self._force, UserForce):
                by_q, by_v = self._slope(s, y, 0, "t")
                dense["qq"][:, c, :n] = dense["qq"][:, :n, c] = by_q
                dense["qv"][:, c, :n] = by_v
        structure = self.curvature_structure
        return Curvature(structure, {pair: x[:, structure.rows, structure.cols] for pair, x in dense.items()}), g

    def _slope(self, s: Samples, y: Array, j: int, level: str) -> tuple[Array, Array]:
        """Derivatives of the gradient of y . F by q and v along q_j, v_j, or time (nt, n_v)."""
        direction, at = np.tile(np.eye(self.model.n_v)[j], (s.nt, 1)), self.times.at(s)

        def gradient(step: complex) -> tuple[Array, Array]:
            q = np.asarray(self.model.integrate(s.q, step * direction)) if level == "q" else s.q
            v = s.v + step * direction if level == "v" else s.v
            t = at + np.real(step) if level == "t" else at
            g, gd, J, J_rate = self._evaluated(q, v, t)
            w, u = (np.einsum("tij,ti->tj", x, y) for x in self._partials_of_law(g, gd, t))
            return (
                np.einsum("tmn,tm->tn", J, w) + np.einsum("tmn,tm->tn", J_rate, u),
                np.einsum("tmn,tm->tn", J, u),
            )

        if not isinstance(self._force, UserForce):
            by_q, by_v = gradient(1j * STEP)
            return by_q.imag / STEP, by_v.imag / STEP
        found = [np.zeros((s.nt, self.model.n_v)) for _ in range(2)]
        for times, weight in EIGHTH:
            ahead, behind = gradient(times * STRIDE), gradient(-times * STRIDE)
            for k in range(2):
                found[k] += weight / STRIDE * (ahead[k] - behind[k])
        return found[0], found[1]

    # -------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        out = np.zeros((s.nt, self.m, len(self.parameters)))
        for k, path in enumerate(self.parameters):
            model = self.model.stepped({path: self.model.value(path) + 1j * STEP})
            out[:, :, k] = self._values(System(model, rows=NO_ROWS, dtype=complex), s).imag / STEP
        return out
