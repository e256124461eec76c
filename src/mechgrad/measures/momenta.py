"""Centre of mass and momentum of a mechanism, with gradients in a few passes that are linear in the number of joints.

A probe of the ground (`inverse.probes`) gives the ground three turns and three slides at rest. With all accelerations
equal to the velocities, and no velocities, what they need is the momentum

    (L, P) = (M v) of the probe,      P = sum m x',    L = sum (x cross m x' + I w)         about the world's origin

and for weights W on it, mu at the probe,  mu . M v  has M mu for its gradient by v, (M v)_q^T mu for that by q. Where
the ground is accelerated by W, joints need S_q^T W with S = sum of masses times centres; accelerated by u it needs the
moment S x u, so that W . S = w . (S x u) for a unit vector u across W and w = W x u: a weighted residual, whose
gradient by all parameters is one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.probes import Probed, probed
from mechgrad.inverse.second_order import inverse_dynamics_gradient
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.kinematics.bodies import body_motion
from mechgrad.kinematics.marker_motions import marker_motion
from mechgrad.measures.base import Gradients, Measure, StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.measures.probing import ProbedCase
from mechgrad.mechanics.energies import weightless_tree
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

GROUND = "ground"


def _probes(model: Model) -> Probed:
    return model.cached("probe of the ground", lambda m: probed(m, ground=True))


class _Bodies(NamedTuple):
    """Masses (bodies,), positions and velocities of centres of mass, and angular momenta about these, (nt, bodies, 3),
    in world axes."""

    mass: Array
    x: Array
    xd: Array
    spin: Array

    @staticmethod
    def of(at: StateSamples) -> _Bodies:
        bodies, moved = at.model.bodies, body_motion(at.model, at.states.q, at.states.v)
        c = np.einsum("tbij,bj->tbi", moved.R, np.array([body.com for body in bodies]).reshape(-1, 3))
        J = np.array([body.inertia for body in bodies]).reshape(-1, 3, 3)
        spin = np.einsum("tbij,bjk,tblk,tbl->tbi", moved.R, J, moved.R, moved.w, optimize=True)
        mass = np.array([body.mass for body in bodies])
        return _Bodies(mass, moved.p + c, moved.v + np.cross(moved.w, c), spin)


@dataclass(frozen=True)
class _GroundMomentum(Measure):
    """Part of the momentum, in world axes, (nt, 3)."""

    uses: ClassVar[str] = "q v"
    slots: ClassVar[slice]

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        q, v, _, lam, t = at.states
        probes = _probes(at.model)
        case, tree = ProbedCase(at, probes), weightless_tree(probes.model)
        wide_q, wide_v = probes.widen_q(q), probes.widen(v)
        mu = np.zeros((weights.shape[1], len(t), case.model.n_v))
        mu[:, :, probes.probes[GROUND][self.slots]] = weights.swapaxes(0, 1)
        each = [inverse_dynamics_gradient(tree, wide_q, None, wide_v, some) for some in mu]
        by_q, by_v = (np.stack([x[part][:, probes.columns] for x in each], axis=1) for part in (0, 2))
        here = case.states(q, 0.0 * v, v, 0.0 * lam, t)
        by_p = case.by_parameters(parameters, len(mu), [Weights(here, mu, forced=False)])
        return Gradients(by_q, by_v, p=by_p)


@final
@dataclass(frozen=True)
class Momentum(_GroundMomentum):
    """Of all bodies, sum of m x', in world axes over time, (nt, 3) [kg m/s].

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.Momentum()), ["bob.mass"]).shape
    (3, 1)
    """

    slots: ClassVar[slice] = slice(3, 6)
    unit: ClassVar[str] = "kg m/s"
    parts: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def values(self, at: StateSamples) -> Array:
        bodies = _Bodies.of(at)
        return np.asarray(np.einsum("b,tbi->ti", bodies.mass, bodies.xd))


@final
@dataclass(frozen=True)
class AngularMomentum(_GroundMomentum):
    """Of all bodies about the world's origin, in world axes over time, (nt, 3) [kg m^2/s].

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.AngularMomentum()), ["bob.mass"]).shape
    (3, 1)
    """

    slots: ClassVar[slice] = slice(0, 3)
    unit: ClassVar[str] = "kg m²/s"
    parts: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def values(self, at: StateSamples) -> Array:
        bodies = _Bodies.of(at)
        return np.asarray(np.einsum("b,tbi->ti", bodies.mass, np.cross(bodies.x, bodies.xd)) + bodies.spin.sum(axis=1))


@final
@dataclass(frozen=True)
class CentreOfMass(Measure):
    """Of all bodies, sum of m x / sum of m, in world axes over time, (nt, 3) [m].

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.CentreOfMass()), ["bob.com.z"]).shape
    (3, 1)
    """

    uses: ClassVar[str] = "q"
    unit: ClassVar[str] = "m"
    parts: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def check_model(self, model: NamedParts, what: str) -> None:
        _total_mass(model)

    def values(self, at: StateSamples) -> Array:
        total, bodies = _total_mass(at.model), [body for body in at.model.bodies if body.mass]
        x = marker_motion(at.model, [f"{body.name}.com" for body in bodies], at.states.q).position
        return np.asarray(np.einsum("b,tbi->ti", np.array([body.mass for body in bodies]) / total, x))

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        q, v, a, lam, t = at.states
        total, probes = float(np.real(_total_mass(at.model))), _probes(at.model)
        case, tree, wide_q = ProbedCase(at, probes), weightless_tree(probes.model), probes.widen_q(q)
        turns, slides = np.split(probes.probes[GROUND], 2)
        by_q = np.zeros((*weights.shape[:2], at.model.n_v))
        by_p = -np.tensordot(weights, self.values(at), ([0, 2], [0, 1]))[:, None] * _mass_share(at, parameters, total)
        for k, W in enumerate(weights.swapaxes(0, 1) / total):
            accelerated = np.zeros((len(t), case.model.n_v))
            accelerated[:, slides] = W
            by_q[:, k] = inverse_dynamics(tree, wide_q, None, accelerated)[:, probes.columns]
            u = _across(W)
            here = case.states(q, 0.0 * v, 0.0 * a, 0.0 * lam, t)
            here.a[:, slides] = u
            mu = np.zeros((1, len(t), case.model.n_v))
            mu[0][:, turns] = np.cross(W, u)
            by_p[k] += case.by_parameters(parameters, 1, [Weights(here, mu, forced=False)])[0]
        return Gradients(by_q, p=by_p)


def _total_mass(model: NamedParts) -> float:
    """Complex where numbers of the model are."""
    total = sum((body.mass for body in model.bodies), 0.0)
    if not np.real(total) > 0.0:
        raise InputError(f"the bodies of model {model.name!r} have no mass together, and no centre of mass.")
    return total


def _across(W: FloatArray) -> FloatArray:
    """A unit vector across each of the rows of W."""
    least = np.eye(3)[np.argmin(np.abs(W), axis=1)]
    u = np.cross(W, least)
    size = np.linalg.norm(u, axis=1, keepdims=True)
    return np.where(size > 0.0, u / np.where(size > 0.0, size, 1.0), least)


def _mass_share(at: StateSamples, parameters: MotionParameters, total: float) -> FloatArray:
    """m_p / m of all parameters, (np,)."""
    masses, share = {f"{body.name}.mass" for body in at.model.bodies}, np.zeros(len(parameters))
    for k in parameters.in_model:
        for path, factor in at.model.path_derivative(parameters.names[k]):
            if path in masses:
                share[k] += factor / total
    return share
