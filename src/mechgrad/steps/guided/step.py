"""Motions that geometry alone decides: drivers fix all degrees of freedom, and each instant follows from the last.

    Phi(q, t) = 0,  h(q) = f(t);    Gamma v = -Phi_t,  H v = f';    Gamma a = c,  H a + H' v = f''

From one instant to the next, q + dt v + dt^2/2 a predicts and Newton's method corrects. Where the correction is not
small against the prediction, or the determinant of the equations changes its sign, the step is halved: this is what
keeps a mechanism in the way it was put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechgrad.errors import AssemblyError
from mechgrad.kinematics.assembly import assemble, linear_rates, newton, worst_rows
from mechgrad.kinematics.held import Equations, find_values
from mechgrad.kinematics.mobility import independent_quantities, null_space
from mechgrad.steps.guided.drives import Drive, as_drive
from mechgrad.steps.guided.pieces import GuidedRecord
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

HALVINGS = 12
LARGEST_TURN = 1.0  # of one step [rad]: beyond, a prediction from two derivatives is worth nothing
CORRECTION = 0.3  # largest correction that still is one and not a jump, as a part of the step; angles and lengths apart
ALWAYS_SMALL = 1e-3  # [rad or m]: corrections below this are accepted from any prediction


def march(model: Model, t: FloatArray, at: Mapping[Any, Any] | None, guess: Any, tolerance: float) -> GuidedRecord:
    """All instants, each from the one before."""
    held = find_values(model, at)
    drives = [as_drive(given, t, name) for name, (_, given) in held.items()]
    values = {name: drive(float(t[0]))[0] for name, drive in zip(held, drives, strict=True)}
    equations = Equations.of(model, (quantity for quantity, _ in held.values()), *values.values())
    guide = _Guide(model, drives, equations, tolerance)
    start = assemble(model, values, guess=guess, t=float(t[0]), tolerance=tolerance)
    guide.check_determined(start.q, float(t[0]))
    instants = [guide.rates(start.q, float(t[0]), start.position_error)]
    for instant in t[1:]:
        instants.append(guide.advance(instants[-1], float(instant)))
    q, v, a = (np.array([getattr(x, name) for x in instants]) for name in ("q", "v", "a"))
    return GuidedRecord(model, t, q, v, a, tuple(held), np.array([x.norms for x in instants]))


class _Instant(NamedTuple):
    t: float
    q: Array
    v: Array
    a: Array
    J: FloatArray
    norms: tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Guide:
    """Carries a motion from one instant to another."""

    model: Model
    drives: list[Drive]
    equations: Equations
    tolerance: float

    def target(self, t: float, order: int) -> Array:
        return np.array([drive(t)[order] for drive in self.drives], self.equations.dtype)

    def check_determined(self, q: Array, t: float) -> None:
        """Raise unless drivers and constraints fix all positions."""
        equations = self.equations
        J = equations.at(q.astype(equations.dtype), None, t).J[equations.finite_rows]
        free = null_space(J)
        if free.shape[1]:
            names = ", ".join(independent_quantities(self.model, q.real, free, t))
            raise AssemblyError(
                f"model {self.model.name!r} keeps {free.shape[1]} degree(s) of freedom at t = {t:g} s beside its "
                f"constraints and drivers. Drive them as well, for example {names}; at a dead "
                "point, start elsewhere."
            )

    def rates(self, q: Array, t: float, miss: float) -> _Instant:
        """Velocities and accelerations at a configuration."""
        equations = self.equations
        J = equations.at(q.astype(equations.dtype), None, t).J.real
        if left := null_space(J).shape[1]:
            raise AssemblyError(
                f"model {self.model.name!r} is at a dead point or change point at t = {t:g} s: its drivers leave "
                f"{left} velocities open. Shift the instants, or drive another coordinate."
            )
        v, miss_v = linear_rates(self.equations, q, None, t, self.target(t, 1))
        a, miss_a = linear_rates(self.equations, q, v, t, self.target(t, 2))
        return _Instant(t, q, v, a, J, (miss, miss_v, miss_a))

    def advance(self, last: _Instant, end: float) -> _Instant:
        """The instant at `end`, by steps that are halved while their correction is too large."""
        h, halvings = end - last.t, 0
        while last.t < end:
            t = end if last.t + 1.001 * h >= end else last.t + h
            step = self._step(last, t)
            if isinstance(step, str):
                halvings, h = halvings + 1, 0.5 * h
                if halvings > HALVINGS:
                    raise AssemblyError(
                        f"model {self.model.name!r} cannot follow its drivers beyond t = {last.t:.6g} s: {step} "
                        "Drive it within its reach, and around dead points."
                    )
                continue
            last, halvings, h = step, max(halvings - 1, 0), 2.0 * h
        return last

    def _step(self, last: _Instant, t: float) -> _Instant | str:
        """The instant at t, or why a shorter step is needed."""
        h, equations = t - last.t, self.equations
        target = self.target(t, 0)
        move = h * last.v + 0.5 * h * h * last.a
        if (turn := _largest(move, _angles(self.model, "v"))) > LARGEST_TURN:
            return f"in the next {h:.2g} s it would turn by {turn:.2g} rad."
        predicted = self.model.integrate(last.q, move)
        found = newton(equations, target, predicted, t, self.tolerance * equations.reach(target))
        if not found.closed:
            names = [equations.names[k] for k in equations.finite_rows]
            return f"the nearest configuration misses {worst_rows(names, found.miss)} [m or 1]."
        in_q, in_v = _angles(self.model, "q"), _angles(self.model, "v")
        for here, there in ((in_q, in_v), (~in_q, ~in_v)):
            jump = _largest(found.q - predicted, here)
            if jump > max(CORRECTION * _largest(move, there), ALWAYS_SMALL):
                return f"the configuration would jump by {jump:.2g} [rad or m]."
        new = self.rates(found.q, t, found.size)
        # the ratio of their determinants: two ways to put a mechanism together are parted by a singular configuration
        if np.linalg.det(np.linalg.pinv(last.J) @ new.J) <= 0.0:
            return "the mechanism would change the way it is put together."
        return new


def _angles(model: Model, which: str) -> Array:
    """Which entries of q or v belong to rotations."""
    return model.shared(
        ("angles", which),
        lambda m: np.array([not u.startswith("m") for j in m.tree_joints for u in getattr(j, f"{which}_units")], bool),
    )


def _largest(x: Array, chosen: Array) -> float:
    return float(np.abs(x.real[chosen]).max(initial=0.0))
