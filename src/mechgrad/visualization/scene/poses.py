"""Where everything is at every instant that is drawn: what can be drawn becomes states, and states become poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.bodies import body_motion
from mechgrad.model.model import Model
from mechgrad.typing import FloatArray, IntArray
from mechgrad.visualization.scene.quaternions import euler_parameters

MOST_PER_SECOND = 100.0  # instants that are kept of finer motions; what is between them is interpolated
FEWEST = 300  # of a short motion, however short
MODE_FRAMES, MODE_SECONDS = 61, 2.0


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """States that are drawn.

    thing : what they are of;   t : (nt,) [s], increasing;   q, v : (nt, .)
    kept : which instants of the motion they are
    """

    model: Model
    thing: Any
    t: FloatArray
    q: FloatArray
    v: FloatArray
    kept: IntArray

    @property
    def moves(self) -> bool:
        """Whether there is more than one instant."""
        return len(self.t) > 1


def drawn(thing: Any, amplitude: float | None = None) -> Drawn:
    """The states of a motion, of a state, of a mode of small motions, or of a model at rest in its neutral pose.

    Raises InputError for what is none of these, for many starts, and for numbers that are not finite.
    """
    if isinstance(thing, Model):
        still = assemble(thing) if thing.cut_joints or thing.constraints else None
        q = thing.neutral() if still is None else still.q
        return _checked(thing, thing, np.zeros(1), np.atleast_2d(q), None)
    model = getattr(thing, "model", None)
    if not isinstance(model, Model) or not hasattr(thing, "q"):
        raise InputError(
            f"cannot draw a {type(thing).__name__}: give a motion (mg.simulate, mg.kinematic_motion, a MotionProblem's "
            "solution), a state, a mode of mg.linearise, or a model."
        )
    if hasattr(thing, "displacement"):
        return _mode(model, thing, amplitude)
    q = np.real(np.asarray(thing.q))
    t = np.atleast_1d(np.real(np.asarray(getattr(thing, "t", 0.0), dtype=complex)))
    if q.ndim == 3 or (q.ndim == 2 and len(t) != len(q)):
        raise InputError(
            f"{type(thing).__name__} holds {len(q)} starts; draw one of them: motion.rows()[0], and another one as its "
            "ghost."
        )
    return _checked(model, thing, t, np.atleast_2d(q), getattr(thing, "v", None))


def _mode(model: Model, mode: Any, amplitude: float | None) -> Drawn:
    """q(t) = q0 + amplitude Re(displacement exp(i w t)): two seconds of it, whatever its frequency."""
    u = np.asarray(mode.displacement)
    largest = np.abs(u).max()
    size = 0.25 if amplitude is None else float(amplitude)
    turns = np.exp(2j * np.pi * np.linspace(0.0, 1.0, MODE_FRAMES))
    dq = size * np.real(np.multiply.outer(turns, u / (largest or 1.0)))
    q = np.stack([np.real(model.integrate(np.real(mode.q), step)) for step in dq])
    return _checked(model, mode, np.linspace(0.0, MODE_SECONDS, MODE_FRAMES), q, None)


def _checked(model: Model, thing: Any, t: FloatArray, q: FloatArray, v: Any) -> Drawn:
    if not len(t) or not len(q):
        raise InputError(f"the motion of {model.name!r} has no instant: there is nothing to draw.")
    if q.shape[1] != model.n_q:
        raise InputError(f"q has {q.shape[1]} coordinates and model {model.name!r} has {model.n_q}.")
    kept = _instants(t)
    zero = np.zeros((len(kept), model.n_v))
    q, v = q[kept], zero if v is None else np.atleast_2d(np.real(np.asarray(v)))[kept]
    for name, x, names in (("q", q, model.q_names), ("v", v, model.v_names)):
        if not np.isfinite(x).all():
            k, i = np.argwhere(~np.isfinite(x))[0]
            raise InputError(
                f"the motion of {model.name!r} is not finite: {name} of {names[i]!r} is {x[k, i]} at t = "
                f"{t[kept][k]:.6g} s. Draw it up to there, or look for what made it (`motion.ended`)."
            )
    if not np.isfinite(t).all() or (np.diff(t) < 0).any():
        raise InputError(f"the times of the motion of {model.name!r} must be finite and increase.")
    return Drawn(model, thing, t[kept], q, v, kept)


def _instants(t: FloatArray) -> IntArray:
    """Instants to keep: all, or about a hundred per second, both ends among them."""
    most = max(FEWEST, int(np.ceil(MOST_PER_SECOND * float(t[-1] - t[0]) * (1 + 1e-9))) + 1)
    if len(t) <= most or not t[-1] > t[0]:
        return np.arange(len(t))
    grid = np.linspace(t[0], t[-1], most)
    after = np.clip(np.searchsorted(t, grid), 1, len(t) - 1)
    nearest = after - ((grid - t[after - 1]) < (t[after] - grid))
    return np.unique(np.concatenate([[0], nearest, [len(t) - 1]]))


@final
@dataclass(frozen=True, eq=False)
class Poses:
    """Of all bodies, world axes: p, v (nt, bodies, 3), R (nt, bodies, 3, 3), e (nt, bodies, 4), w (nt, bodies, 3)."""

    names: tuple[str, ...]
    p: FloatArray
    R: FloatArray
    e: FloatArray
    v: FloatArray
    w: FloatArray

    def point(self, frame: int, local: FloatArray) -> FloatArray:
        """World coordinates of a point of a body (nt, 3); frame -1 is the ground."""
        if frame < 0:
            return np.broadcast_to(local, (len(self.p), 3))
        return np.asarray(self.p[:, frame] + self.R[:, frame] @ local)


def poses_of(states: Drawn) -> Poses:
    """Of the states that are drawn."""
    model = states.model
    if not model.bodies:
        nothing = np.zeros((len(states.t), 0, 3))
        return Poses((), nothing, np.zeros((len(states.t), 0, 3, 3)), np.zeros((len(states.t), 0, 4)), nothing, nothing)
    found = body_motion(model, states.q, states.v)
    p, R, v, w = (np.real(x) for x in (found.p, found.R, found.v, found.w))
    return Poses(found.names, p, R, euler_parameters(R), v, w)
