"""Compile ahead: call every compiled function once on a small mechanism, so that the compiler's work is on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import mechgrad as mg
from mechgrad.gallery import chain, five_bar, five_bar_start
from mechgrad.inverse.accumulation import semi_recursive_terms
from mechgrad.inverse.lagrange import lagrange_derivatives, lagrange_torques, point_sensitivities
from mechgrad.inverse.newton_euler import newton_euler_derivatives, newton_euler_torques
from mechgrad.typing import Array

__all__ = ["WarmStep", "demo_steps", "warm_steps"]

_MODEL = chain(2)
_TIP = ["tip"]
_SPARSE = "ALI3P(matrices='sparse')"
_WRT = ["link2.mass", "joint2.origin.x"]

# What to call it, the call, and whether it also accepts complex numbers.
_CALLS: tuple[tuple[str, Callable[[Array], object], bool], ...] = (
    ("torques", lambda x: mg.inverse_dynamics(_MODEL, x, x, x), True),
    ("derivatives of torques", lambda x: mg.inverse_dynamics_derivatives(_MODEL, x, x, x, wrt=_WRT), True),
    ("mass matrix", lambda x: mg.mass_matrix(_MODEL, x), True),
    ("accelerations", lambda x: mg.forward_dynamics(_MODEL, x, x, x, method="factor"), True),
    ("accelerations, recursive", lambda x: mg.forward_dynamics(_MODEL, x, x, x, method="recursive"), True),
    ("derivatives of accelerations", lambda x: mg.forward_dynamics_derivatives(_MODEL, x, x, x, wrt=_WRT), True),
    ("reactions", lambda x: mg.joint_reactions(_MODEL, x, x, x), True),
    ("derivatives of reactions", lambda x: mg.terms.joint_reactions_derivatives(_MODEL, x, x, x, wrt=_WRT), False),
    ("second derivatives", lambda x: mg.terms.inverse_dynamics_hessian(_MODEL, x, x, x, x), True),
    ("dense matrices", lambda x: mg.inverse_dynamics_derivatives(_MODEL, x, x, x).dq.dense(), True),
    ("torques, Lagrangian form", lambda x: lagrange_torques(_MODEL, x, x, x), True),
    ("derivatives, Lagrangian form", lambda x: lagrange_derivatives(_MODEL, x, x, x), True),
    ("points, Lagrangian form", lambda x: point_sensitivities(_MODEL, _TIP, x, x, x), True),
    ("torques, Newton-Euler", lambda x: newton_euler_torques(_MODEL, x, x, x), True),
    ("derivatives, Newton-Euler", lambda x: newton_euler_derivatives(_MODEL, x, x, x), True),
    ("semi-recursive terms", lambda x: semi_recursive_terms(_MODEL, x, x, x), True),
    ("motion of points", lambda x: mg.kinematics.marker_motion(_MODEL, _TIP, x, x, x), True),
    ("derivatives of points", lambda x: mg.kinematics.marker_derivatives(_MODEL, _TIP, x, x, x), False),
    ("motion, fixed step", lambda x: mg.simulate(_MODEL, x, duration=0.02, step=0.01), True),
    ("motion, error control", lambda x: mg.simulate(_MODEL, np.atleast_2d(x)[0], duration=0.02), False),
    ("motion of loops, implicit", lambda x: _loop(x, "ali3p", "trapezoidal", 0.01), True),
    ("motion of large loops, implicit", lambda x: _loop(x, _SPARSE, "trapezoidal", 0.01), True),
    ("motion of loops, recursive", lambda x: _loop(x, "fully-recursive", "rk4", 0.01), True),
    ("motion of loops, Matrix R", lambda x: _loop(x, "matrix-r", "trapezoidal", 0.01), True),
    ("motion of loops, explicit", lambda x: _loop(x, "index1", "rk4", 0.01), True),
    ("motion of loops, error control", lambda x: _loop(x.real, "ali3p", "trapezoidal", None), False),
    ("motion of loops, Matrix R, error control", lambda x: _loop(x.real, "matrix-r", "trapezoidal", None), False),
    ("motion by fixed point", lambda x: _open(x, "fully-recursive"), True),
    ("motion by fixed point, error control", lambda x: _open(x.real, "fully-recursive", step=None), False),
    ("forces of rows", lambda x: _loop(x.real, "ali3p", "trapezoidal", 0.01).reactions(), False),
    ("equations of motion, linearised", lambda x: mg.equilibrium(five_bar(), five_bar_start()), False),
    ("small motions", lambda x: mg.linearise(five_bar(), five_bar_start()).derivatives("12.mass"), False),
    ("gradients, direct", lambda x: _gradient("ali3p", "trapezoidal", "direct"), False),
    ("gradients, adjoint", lambda x: _gradient("ali3p", "trapezoidal", "adjoint"), False),
    ("gradients of large loops", lambda x: _both(_SPARSE, "trapezoidal"), False),
    ("gradients, Matrix R", lambda x: _both("matrix-r", "trapezoidal"), False),
    ("gradients, explicit", lambda x: (_both("index1", "rk4"), _both("matrix-r", "rk4")), False),
    ("gradients, recursive", lambda x: _tree_gradients(x.real, "rk4"), False),
    ("gradients of loops, recursive", lambda x: _both("fully-recursive", "rk4", mg.measures.PointAcceleration), False),
    ("gradients by fixed point", lambda x: _tree_gradients(x.real, "trapezoidal"), False),
    ("geometric stiffness", lambda x: mg.kinematics.contracted_hessian(_MODEL, _TIP, x, [[0.0, 0.0, 1.0]]), False),
)


_OfPoint = Callable[[str], mg.measures.Measure]


def _loop(x: Array, formulation: str, scheme: str, step: float | None) -> mg.Trajectory:
    """A moment of a closed mechanism, of complex numbers if x is."""
    start = five_bar_start() + 0 * np.ravel(x)[0]
    return mg.simulate(five_bar(), start, duration=0.02, formulation=formulation, scheme=scheme, step=step, samples=3)


def _gradient(formulation: str, scheme: str, method: str, measure: _OfPoint = mg.measures.PointVelocity) -> mg.Gradient:
    """A gradient of a moment of a closed mechanism."""
    motion = mg.simulate(
        five_bar(), five_bar_start(), duration=0.02, formulation=formulation, scheme=scheme, step=0.01, samples=3
    )
    return mg.gradient(motion, mg.AtEnd(measure("P2")), ["A1.mass", "S1.stiffness"], method=method)


def _both(formulation: str, scheme: str, measure: _OfPoint = mg.measures.PointVelocity) -> object:
    return [_gradient(formulation, scheme, method, measure) for method in ("direct", "adjoint")]


def _open(x: Array, formulation: str, scheme: str = "trapezoidal", step: float | None = 0.01) -> mg.Trajectory:
    """A moment of a tree."""
    return mg.simulate(_MODEL, np.atleast_2d(x)[0], duration=0.02, formulation=formulation, scheme=scheme, step=step)


def _tree_gradients(x: Array, scheme: str) -> object:
    """Both kinds of derivatives of a moment of a tree."""
    motion = _open(x, "fully-recursive", scheme)
    goals = [mg.AtEnd(mg.measures.JointAcceleration("joint1")), mg.AtEnd(mg.measures.JointReaction("joint1"))]
    return [mg.gradient(motion, goals, _WRT, method=method) for method in ("direct", "adjoint")]


@dataclass(frozen=True, slots=True)
class WarmStep:
    """One function to compile: what it is called, and a call that needs it."""

    label: str
    run: Callable[[], object]


def warm_steps() -> Iterator[WarmStep]:
    """The calls that between them use every compiled function: for many samples, for one state, for complex numbers."""
    yield from _steps("", _states(3), lambda complex_too: True)
    yield from _steps(", one state", _states(3)[0], lambda complex_too: True)
    yield from _steps(", complex", _states(3) + 0j, lambda complex_too: complex_too)


def demo_steps() -> Iterator[WarmStep]:
    """Only what the demonstration uses."""
    by_label = {label: call for label, call, _ in _CALLS}
    for label in ("torques", "derivatives of torques", "dense matrices", "motion of points"):
        yield WarmStep(label, lambda label=label: by_label[label](_states(3)))  # type: ignore[misc]
    yield WarmStep("torques, complex", lambda: by_label["torques"](_states(3) + 0j))


def _steps(suffix: str, state: Array, wanted: Callable[[bool], bool]) -> Iterator[WarmStep]:
    for label, call, complex_too in _CALLS:
        if wanted(complex_too):
            yield WarmStep(label + suffix, lambda call=call: call(state))  # type: ignore[misc]


def _states(samples: int) -> Array:
    return np.full((samples, _MODEL.n_v), 0.1)
