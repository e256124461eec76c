"""The state that small motions are small about: what acts there, and how all of it follows parameters.

    [ M      Gamma^T ] [ a   ]      [ h - Q          ]
    [ Gamma  0       ] [ lam ] = -  [ second|a=0     ]

The state itself is a function of parameters as starts of motions are: given numbers stay, assembled ones follow what
was held, equilibria follow the balance of forces. Accelerations and multipliers follow both,

    [ M Gamma^T; Gamma 0 ] [ da; dlam ] = -[ r_q dq + r_v dv + r_p; second_q dq + second_v dv + second_p ]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.system import System
from mechgrad.errors import AssemblyError, InputError, SingularMassMatrixError
from mechgrad.inverse.loads import Load, loads_vary
from mechgrad.kinematics.mechanism import elements_of, row_report
from mechgrad.kinematics.mobility import mobility
from mechgrad.kinematics.state import State
from mechgrad.linearisation.partials import Instant, Partials, equations, moved_partials, partials, smooth_slope
from mechgrad.linearisation.reduction import independent_rows
from mechgrad.mechanics.checked_states import columns_of
from mechgrad.model.configuration import unit
from mechgrad.model.model import Model
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.simulation.starts.base import MOTION
from mechgrad.simulation.starts.rest import StaticEquations
from mechgrad.tolerances import COMPLEX_STEP as STEP
from mechgrad.typing import Array, ArrayLike, FloatArray

SMALLEST = 1e-3  # of a parameter: differences take steps in parts of it, or of this
MISSED = 1e-6  # [m, 1, m/s, 1/s]: a state that is further off its constraints is none of the mechanism


@dataclass(frozen=True)
class Point:
    """A state of a mechanism under forces, and its accelerations.

    start : as it was found;   tau, loads : as given
    holding : (n_v,) what keeps the held coordinates of an equilibrium in place
    """

    start: State | Equilibrium
    tau_given: Array
    loads: tuple[Load, ...]
    holding: FloatArray

    forced = True  # so that parameters know of tau and loads

    @classmethod
    def of(cls, start: State | Equilibrium, tau: ArrayLike | None, loads: Sequence[Load] | None) -> Point:
        """At a state, under its own forces if it is an equilibrium and none are given."""
        model = start.model
        if np.ndim(start.q) != 1:
            raise InputError(
                f"the state of model {model.name!r} holds {len(start.q)} starts; linearise about one of them."
            )
        if any(np.iscomplexobj(x) and np.any(np.imag(x)) for x in (start.q, start.v)):
            raise InputError("linearisations take real numbers; .derivatives(paths) gives derivatives.")
        holding = np.zeros(model.n_v)
        if start.way == "at rest":
            rest = cast(Equilibrium, start)
            tau = rest.tau if tau is None else tau
            loads = rest.loads if loads is None else loads
            for name, force in rest.holding.items():
                holding[columns_of(model, [name], "held")] = np.real(force)
        forces = np.zeros(model.n_v) if tau is None else np.asarray(tau)
        if forces.shape != (model.n_v,):
            raise InputError(f"tau has shape {forces.shape}; give {model.n_v} numbers, in the order of model.v_names.")
        given = tuple(loads or ())
        if loads_vary(given):
            raise InputError("loads of one state are constant: give each force and point as three numbers.")
        point = cls(start, forces, given, holding)
        point.check()
        return point

    # ---- what parameters ask of anything that is differentiated

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.start.model

    @property
    def tau(self) -> Array:
        """Forces that were given, without those that hold coordinates."""
        return self.tau_given

    @cached_property
    def q(self) -> FloatArray:
        """(1, n_q), Euler parameters of length one."""
        return np.asarray(unit(self.model.layout, np.asarray(np.real(self.start.q), float)))[None]

    @cached_property
    def v(self) -> FloatArray:
        """(1, n_v)."""
        return np.asarray(np.real(self.start.v), float)[None]

    @property
    def t(self) -> FloatArray:
        """(1,)."""
        return np.array([float(self.start.t)])

    @cached_property
    def rows(self) -> Any:
        """Constraint rows that do not depend on each other, among all of the model."""
        kept = row_report(self.model).kept
        if not len(kept):
            return kept
        all_rows = System(self.model, rows=kept)
        J = all_rows.constraints(self.q, t=self.t).J[0]
        return kept[independent_rows(J, all_rows.n_holonomic)]

    @cached_property
    def system(self) -> System:
        """The mechanism under its forces, with rows that do not depend on each other."""
        return System(self.model, self.tau_given + self.holding, self.loads, rows=self.rows)

    # ---- the state

    def check(self) -> None:
        """Raise unless the state meets the constraints, away from where motions branch."""
        q, v, t = self.q[0], self.v[0], float(self.t[0])
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise InputError(f"the state of model {self.model.name!r} holds a number that is not finite.")
        if not len(row_report(self.model).kept):
            return
        System(self.model).check_start(q, v, t, MISSED)
        if mobility(self.model, q, t=t).singular:
            raise AssemblyError(
                f"model {self.model.name!r} is at a singular configuration, where constraints depend on each other as "
                "they do not nearby and motions may branch: small motions have no linear equations there. "
                "print(mg.mobility(model, q)) tells more."
            )

    @cached_property
    def instant(self) -> Instant:
        """The state with its accelerations and multipliers."""
        system, n = self.system, self.model.n_v
        q, v, t = self.q[0], self.v[0], float(self.t[0])
        m = system.n_constraints
        still = Instant(q, v, np.zeros(n), np.zeros(m), t)
        r, _, _, M = equations(system, still)
        rows = system.constraints(self.q, self.v, np.zeros((1, n)), t)
        x = -self.saddle_solve(M, rows.J[0], np.concatenate([r, rows.seconds[0]])[:, None])[:, 0]
        return Instant(q, v, x[:n], x[n:], t)

    def saddle_solve(self, M: FloatArray, gamma: FloatArray, right: FloatArray) -> FloatArray:
        """[M Gamma^T; Gamma 0]^-1 right."""
        m = len(gamma)
        S = np.block([[M, gamma.T], [gamma, np.zeros((m, m))]])
        try:
            x = np.linalg.solve(S, right)
        except np.linalg.LinAlgError:
            x = np.full(right.shape, np.nan)
        if not np.isfinite(x).all():
            raise SingularMassMatrixError(
                f"the accelerations of model {self.model.name!r} are not determined in this state: some coordinate "
                "moves no inertia and no constraint holds it. Give mass or inertia to the bodies it moves."
            )
        return np.asarray(x)

    @cached_property
    def partials(self) -> Partials:
        """The equations of motion and the rows, linearised."""
        twin = System(self.model, self.tau_given + self.holding, self.loads, rows=self.rows, dtype=complex)
        return partials(self.system, twin, self.instant)

    def largest_force(self) -> float:
        """About the largest generalized force at work [N or N m], with lengths of a metre."""
        at, now, model = self.partials, self.instant, self.model
        speed = float(np.abs(now.v).max(initial=0.0))
        weight = float(np.real(model.total_mass)) * float(np.linalg.norm(np.real(model.gravity)))
        inertia = np.abs(at.M).max(initial=0.0) * speed**2 + np.abs(at.M @ now.a).max(initial=0.0)
        return float(max(weight, inertia, np.abs(at.gamma.T * now.lam).max(initial=0.0)))

    # ---- along parameters

    def state_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dq/dp, dv/dp and d(holding)/dp, (np, n_v) each."""
        dq, dv = parameters.start.slopes(parameters)
        held = np.zeros_like(dq)
        if self.start.way == "at rest" and self.start.held:
            rest = cast(Equilibrium, self.start)
            statics = StaticEquations(rest, System(rest.model, rest.tau, rest.loads), MOTION)
            dy = statics.direct(parameters)[1][:, -len(rest.held) :]
            for k, name in enumerate(rest.held):
                held[:, columns_of(self.model, [name], "held")] = -dy[:, [k]]
        return dq, dv, held

    def moved_system(self, parameters: Parameters, k: int, dheld: FloatArray) -> System:
        """The system with an imaginary step along parameter k, which the holding forces follow."""
        model = parameters.moved(k) if k in parameters.in_model else self.model
        tau, loads = parameters.moved_forces(k, MOTION)
        return System(model, tau + self.holding + 1j * STEP * dheld, loads, rows=self.rows, dtype=complex)

    def along(self, parameters: Parameters, k: int, slopes: tuple[FloatArray, FloatArray, FloatArray]) -> Partials:
        """The partials, with slopes along parameter k as imaginary parts; slopes: of q, v and the holding forces."""
        dq, dv, dheld = slopes
        base, now, n = self.partials, self.instant, self.model.n_v
        moved = self.moved_system(parameters, k, dheld)
        q = np.asarray(self.model.integrate(now.q + 0j, 1j * STEP * dq))
        v = now.v + 1j * STEP * dv
        # what a and lam have to make good
        fixed = Instant(q, v, now.a + 0j, now.lam + 0j, now.t)
        r = equations(moved, fixed)[0].imag / STEP
        second = moved.constraints(q[None], v[None], fixed.a[None], now.t).seconds[0].imag / STEP
        x = -self.saddle_solve(base.M, base.gamma, np.concatenate([r, second])[:, None])[:, 0]
        da, dlam = x[:n], x[n:]
        there = Instant(q, v, now.a + 1j * STEP * da, now.lam + 1j * STEP * dlam, now.t)
        found = moved_partials(base, moved, there)
        if not elements_of(self.model).user:
            return found
        dK, dC = self._by_differences(parameters, k, Instant(dq, dv, da, dlam, 0.0), dheld)
        return replace(found, K=base.K + 1j * STEP * dK, C=base.C + 1j * STEP * dC)

    def _by_differences(self, parameters: Parameters, k: int, along: Instant, dheld: FloatArray) -> FloatArray:
        """dK/dp and dC/dp, where laws of users state their first derivatives alone; along: slopes of the state."""
        now, values = self.instant, parameters.values()
        fast = np.abs(along.v).max(initial=0.0) / max(1.0, np.abs(now.v).max(initial=0.0))
        size = max(np.abs(along.q).max(initial=0.0), fast, 1.0 / max(abs(values[k]), SMALLEST))

        def at(s: float) -> FloatArray:
            model, forces, _, _ = parameters.changed(values + s * np.eye(len(values))[k])
            system = System(model, forces.tau + self.holding + s * dheld, forces.loads, rows=self.rows)
            q = np.asarray(self.model.integrate(now.q, s * along.q))
            moved = Instant(q, now.v + s * along.v, now.a + s * along.a, now.lam + s * along.lam, now.t)
            return np.stack(equations(system, moved)[1:3])

        return smooth_slope(at, float(size), f"forces of users on model {self.model.name!r}")
