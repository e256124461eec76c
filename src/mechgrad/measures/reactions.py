"""What joints transmit, with gradients that cost little more than the linearised equations of motion.

A probe (`inverse.probes`) makes the wrench w through a joint of the tree six entries of the residual, in the axes of
its child, about its point there; through a cut joint it is  -Gamma^T lam  of the joint's own rows at a probe of its
child. Accelerations and multipliers follow from q and v:

    s = sum W . y,    y = A(q, p) w(q, v, a, lam, p)        A turns and shifts w to the axes and point asked for
    ds = mu . dw + c . (displacements of frames),           mu = A^T W
    S^T x = (w_a, w_lam)^T mu                               S: the saddle matrix of the accelerations
    ds = (mu w_q - x . (r, second)_q) dq + ...              parameters: the same weights on residual and rows

Where no constraint acts, S is M: x by recursive elimination and the gradient of (mu, -x) . (w, r) in one sweep each
way, O(n) without any matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import States, linearised, unforced
from mechgrad.dynamics.system import INDEX_1, System
from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.forward import forward_dynamics as tree_accelerations
from mechgrad.inverse.probes import probed
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.inverse.tree_reactions import AXES
from mechgrad.kinematics.bodies import BodyMotion, body_motion
from mechgrad.kinematics.marker_motions import marker_derivatives
from mechgrad.measures.base import Gradients, Measure, StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.measures.probing import ProbedCase, chunks
from mechgrad.mechanics.accelerations import forward_dynamics
from mechgrad.mechanics.energies import weightless_tree
from mechgrad.mechanics.reactions import closure_rows, joint_axes, joint_point, wrenches
from mechgrad.model.columns import STEP
from mechgrad.model.joints.base import inverted
from mechgrad.model.model import Model
from mechgrad.steps.acceleration_slopes import Mechanics
from mechgrad.steps.gradients_by_state import gradients_by_state
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

GROUND = "ground"


@final
@dataclass(frozen=True)
class JointReaction(Measure):
    """Couple and force that a joint transmits over time, (nt, 6) [N m, N], as `joint_reactions` says.

    They follow from positions and velocities by the equations of motion, whatever formulation made the motion.

    >>> JointReaction("pin").axes
    'world'
    """

    joint: str
    axes: str = "world"
    uses: ClassVar[str] = "q v"
    depends_on_forces: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("couple x", "couple y", "couple z", "force x", "force y", "force z")

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        return tuple((part, "N" if part.startswith("force") else "N m") for part in self.parts)

    def values(self, at: StateSamples) -> Array:
        return self.found(at, at.system())[2]

    def found(self, at: StateSamples, system: System) -> tuple[Array, Array, Array]:
        """Accelerations, multipliers, and the values that follow from them."""
        q, v, _, _, t = at.states
        if self.axes not in AXES:
            raise InputError(f"axes is {self.axes!r}; choose one of {', '.join(map(repr, AXES))}.")
        if self.joint not in at.model.joint_names:
            raise unknown_name("joint", self.joint, at.model.joint_names, f"model {at.model.name!r}")
        a, lam = forward_dynamics(at.model, q, v, at.tau, t=t, loads=at.loads, return_multipliers=True)
        couple, force = wrenches(system, q, v, a, lam, t, [at.model.joint(self.joint)], self.axes)
        return a, lam, np.concatenate([couple, force], axis=-1)[:, 0]

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        work, nt = _Reaction(self, at, parameters), len(at.states.t)
        parts = [slice(0, nt)] if work.is_of_a_tree else chunks(nt, at.model)
        found = [work.gradients(at.rows(part), weights[part]) for part in parts]
        q, v, p = zip(*found, strict=True)
        return Gradients(np.concatenate(q), np.concatenate(v), p=np.sum(p, axis=0))


class _Side(NamedTuple):
    """The joint of the tree whose probe sees the wrench, and the sign with which it does."""

    probe: str
    sign: float


def _side(model: Model, name: str) -> _Side:
    if name not in model.cut:
        return _Side(name, 1.0)
    joint, carried = model.joint(name), {way.child: way for way in model.tree_joints}
    above, body = set(), joint.parent
    while body in carried:
        above.add(body)
        body = carried[body].parent
    # a probe must move one side of the joint only; multipliers push with Gamma^T lam against the child
    body, sign = (joint.parent, 1.0) if joint.child in above else (joint.child, -1.0)
    way = carried[body]
    backwards = way.child != model.joint(way.name).child  # then the probe moves that side by its inverse
    return _Side(way.name, -sign if backwards else sign)


class _Frames(NamedTuple):
    """Weights of the wrench at the probe (nt, k, 6), and of displacements (nt, k, 3): of the origins of the children of
    the probed joint and of the joint itself, of the turns of both and of the body whose axes were asked for; local: of
    the points on both bodies, in their axes."""

    mu: FloatArray
    shifts: tuple[FloatArray, FloatArray]
    turns: tuple[FloatArray, FloatArray, FloatArray]
    local: tuple[FloatArray, FloatArray]


@final
class _Reaction:
    """The gradients of one reaction along one motion."""

    def __init__(self, measure: JointReaction, at: StateSamples, parameters: MotionParameters) -> None:
        model = at.model
        self.measure, self.model, self.parameters = measure, model, parameters
        self.joint, self.side = model.joint(measure.joint), _side(model, measure.joint)
        self.way = model.joint(self.side.probe)
        self.system = System(model, at.tau, at.loads)
        probe = self.side.probe
        self.case = ProbedCase(at, model.cached(("reaction", probe), lambda m: probed(m, [probe])))
        self.rows = closure_rows(model, self.system).get(measure.joint)  # of a cut joint
        self.axes = {"world": GROUND, "parent": self.joint.parent, "child": self.joint.child}[measure.axes]
        self.is_of_a_tree = self.rows is None and not self.system.n_constraints

    def gradients(self, at: StateSamples, W: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """By q, v (nt, k, n_v) and by parameters (k, np), of weights W (nt, k, 6)."""
        q, v, _, _, t = at.states
        a, lam, y = self.measure.found(at, self.system)
        states = States(q, v, a, lam, t)
        frames = self._frames(q, y, W)
        moved_q, moved_p = self._displaced(q, frames)
        if self.is_of_a_tree:
            by_q, by_v, by_p = self._of_tree(states, frames)
            return by_q + moved_q, by_v, by_p + moved_p
        columns, probe = self.case.probes.columns, self.case.probes.probes[self.side.probe]
        wide = self.case.states(q, v, a, lam, t)
        here = linearised(self.case.system.T, wide, False)
        n, m = self.model.n_v, lam.shape[1]
        M, gamma = here.M[:, columns][:, :, columns], here.J[:, :m][:, :, columns]
        if self.rows is None:
            held, closing = None, frames.mu
            by_q, by_v = (closing @ x[:, probe][:, :, columns] for x in (here.K, here.C))
            pulls = np.concatenate(
                [closing @ here.M[:, probe][:, :, columns], closing @ here.J[:, :m, probe].swapaxes(1, 2)], 2
            )
        else:
            own = np.zeros_like(lam)
            own[:, self.rows] = lam[:, self.rows]
            held, closing = self.case.states(q, 0 * v, 0 * a, own, t), np.zeros_like(frames.mu)
            bare = linearised(unforced(self.case.system.T), held, False)
            by_q, by_v = frames.mu @ bare.K[:, probe][:, :, columns], np.zeros((*W.shape[:2], n))
            pulls = np.zeros((*W.shape[:2], n + m))
            pulls[:, :, n + self.rows] = frames.mu @ here.J[:, self.rows][:, :, probe].swapaxes(1, 2)
        mechanics = Mechanics.of(self.system, INDEX_1)
        x = -mechanics.solve(M, gamma, pulls, t, back=True, compliant=False)
        r, nu = x[:, :, :n], x[:, :, n:]
        by_q += r @ here.K[:, columns][:, :, columns]
        by_v += r @ here.C[:, columns][:, :, columns]
        if m:
            rate_q, second_q = coordinate_slopes(self.model, mechanics.unforced_complex, states)
            holonomic = m == self.system.n_holonomic
            second_v = velocity_slopes(self.model, mechanics.unforced_complex, states, rate_q, gamma, holonomic)
            by_q += nu @ second_q[:, :m]
            by_v += nu @ second_v[:, :m]
        mu = np.zeros((W.shape[1], len(t), self.case.model.n_v))
        mu[:, :, columns], mu[:, :, probe] = r.swapaxes(0, 1), closing.swapaxes(0, 1)
        weights = [Weights(wide, mu, w2=np.ascontiguousarray(nu.swapaxes(0, 1)) if m else None)]
        if held is not None:
            alone = np.zeros_like(mu)
            alone[:, :, probe] = frames.mu.swapaxes(0, 1)
            weights.append(Weights(held, alone, forced=False))
        by_p = self.case.by_parameters(self.parameters, W.shape[1], weights)
        return by_q + moved_q, by_v, by_p + moved_p

    def _of_tree(self, states: States, frames: _Frames) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The part of w in the gradients where no constraint acts, O(n): x = -M^-1 M_wp mu by elimination, then the
        gradient of the residual with both as weights."""
        probes, model = self.case.probes, self.model
        columns, probe = probes.columns, probes.probes[self.side.probe]
        wide = self.case.states(*states)
        nt, count, _ = frames.mu.shape
        mu = np.zeros((count, nt, self.case.model.n_v))
        mu[:, :, probe] = frames.mu.swapaxes(0, 1)
        pull = inverse_dynamics(
            weightless_tree(self.case.model), np.tile(wide.q, (count, 1)), None, mu.reshape(-1, mu.shape[2])
        )
        x = tree_accelerations(weightless_tree(model), np.tile(states.q, (count, 1)), None, -pull[:, columns])
        mu[:, :, columns] = x.reshape(count, nt, -1)
        weights = Weights(wide, mu)
        found = gradients_by_state(self.case.system, weights)
        by_p = self.case.by_parameters(self.parameters, count, [weights])
        return found.q[:, :, columns], found.v[:, :, columns], by_p

    def _frames(self, q: FloatArray, y: FloatArray, W: FloatArray) -> _Frames:
        """How weights in the axes and about the point asked for act on the probe, and on the frames between."""
        bodies: BodyMotion = body_motion(self.model, q)
        turn, sign = joint_axes(bodies, self.axes), self.side.sign
        m, f = (np.einsum("...ij,...j->...i", turn, part)[:, None] for part in np.split(y, 2, axis=1))
        Wm, Wf = (np.einsum("...ij,...kj->...ki", turn, part) for part in np.split(W, 2, axis=2))
        F, x = sign * f, (joint_point(bodies, self.way), joint_point(bodies, self.joint))
        d = (x[0] - x[1])[:, None]
        moment = sign * m - np.cross(d, F)  # about the probe's point
        at_point = sign * (Wf + np.cross(Wm, d))
        shift = sign * np.cross(F, Wm)
        pose = bodies.of(self.way.child), bodies.of(self.joint.child)
        arms = [point - body.p for point, body in zip(x, pose, strict=True)]
        mu = np.concatenate([np.einsum("tji,tkj->tki", pose[0].R, part) for part in (sign * Wm, at_point)], axis=2)
        turned = np.cross(F, at_point) + sign * np.cross(moment, Wm)
        turns = [np.cross(arm[:, None], part) for arm, part in zip(arms, (shift, -shift), strict=True)]
        local = [np.einsum("tji,tkj->tki", body.R, part) for body, part in zip(pose, (shift, -shift), strict=True)]
        asked = np.cross(Wf, f) + np.cross(Wm, m)
        return _Frames(mu, (shift, -shift), (turned + turns[0], turns[1], asked), (local[0], local[1]))

    def _displaced(self, q: FloatArray, frames: _Frames) -> tuple[FloatArray, FloatArray]:
        """What displacements of frames do: by q (nt, k, n_v), and by parameters (k, np)."""
        body, child, axes = self.way.child, self.joint.child, self.axes
        names = [f"{body}.origin", f"{child}.origin", f"{body}.spin", f"{child}.spin", f"{axes}.spin"]
        weights = [*frames.shifts, *frames.turns]
        if axes == GROUND:
            names, weights = names[:-1], weights[:-1]
        depends_on = [k for k in self.parameters.in_model if not self.parameters.is_force(k)]
        unique, at_name = self.parameters.once(depends_on)
        D = marker_derivatives(self.model, names, q, wrt=unique)
        by_q = sum(w @ D.x_q[:, i] for i, w in enumerate(weights))
        by_p = np.zeros((frames.mu.shape[1], len(self.parameters)))
        if depends_on:
            each = sum(np.tensordot(w, D.x_p[:, i], ([0, 2], [0, 1])) for i, w in enumerate(weights))
            by_p[:, depends_on] = np.asarray(each)[:, at_name]
        totals = [x.sum(axis=0) for x in frames.local]
        for k in depends_on:
            targets = [path for path, _ in self.model.path_derivative(self.parameters.names[k])]
            mine = [joint.name for joint in (self.way, self.joint)]
            if any(path.startswith(f"{name}.") for path in targets for name in mine):
                moved = self.parameters.moved(k)
                points = (moved.joint(self.way.name), moved.joint(self.joint.name))
                for total, joint in zip(totals, points, strict=True):
                    by_p[:, k] += total @ np.imag(inverted(joint.tail())[1]) / STEP
        return np.asarray(by_q), by_p
