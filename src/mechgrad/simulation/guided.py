"""Motions that geometry alone decides: drivers fix all degrees of freedom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.row_forces import row_forces
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.spatial import inverse_dynamics
from mechgrad.inverse.tree_reactions import AXES, JointReactions
from mechgrad.kernels.in_numpy import in_numpy
from mechgrad.kinematics.bodies import BodyMotion, body_motion
from mechgrad.kinematics.held import find_quantity
from mechgrad.kinematics.kernels.measures import gradient
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows
from mechgrad.mechanics.reactions import wrenches
from mechgrad.model.constraints import Driver
from mechgrad.model.mechanism import N_ALL, R_FUNCTION
from mechgrad.model.primitives.rows import Place
from mechgrad.simulation.motion import Motion
from mechgrad.steps.guided.pieces import GuidedRecord
from mechgrad.steps.guided.step import march
from mechgrad.steps.independent.candidates import named_rows
from mechgrad.tolerances import RANK
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class GuidedMotion(Motion):
    """A motion that drivers decide.

    Attributes
    ----------
    model : Model
    t : (nt,) [s]
    q, v, a : (nt, n_q), (nt, n_v), (nt, n_v)
    record : what was driven besides the constraints of the model, and how the motion was found
    at : how what was held moves, as it was given
    tolerance : largest miss of a row that was accepted, for lengths up to a metre

    >>> turning = kinematic_motion(pendulum, [0.0, 1.0], {"pin": mg.functions.Polynomial((0, 2))})
    >>> turning.markers(["bob.com"]).velocity[0, 0]
    array([-2.,  0.,  0.])
    >>> turning
    GuidedMotion of 'pendulum': 2 instants from 0 to 1 s, n_q = 1, n_v = 1; driven pin, positions missed by at most ...
    """

    record: GuidedRecord
    at: Mapping[Any, Any]
    tolerance: float = 1e-12

    @property
    def held(self) -> tuple[str, ...]:
        """Names of what was driven besides the constraints of the model."""
        return self.record.held

    @property
    def norms(self) -> FloatArray:
        """Largest misses of the rows in positions, velocities and accelerations, (nt, 3)."""
        return self.record.norms

    def __repr__(self) -> str:
        driven = f"driven {', '.join(self.held)}" if self.held else "driven by its constraints"
        return (
            f"GuidedMotion of {self.model.name!r}: {len(self.t)} instants from {self.t[0]:.6g} to {self.t[-1]:.6g} s, "
            f"n_q = {self.model.n_q}, n_v = {self.model.n_v}; {driven}, positions missed by at most "
            f"{self.norms[:, 0].max():.1g}. Next: .t, .q, .v, .a, .markers([...]), .driving(), .reactions(), "
            ".efforts(force), .plot(), .report('x.html'), gradient(motion, ...)"
        )

    def _mechanism(self) -> System:
        return System(self.model, dtype=complex if np.iscomplexobj(self.q) else None)

    def driving(self, loads: Sequence[Load] | None = None) -> dict[str, Array]:
        """What drives it: for everything that is held, and for each constraint of the model that follows a function of
        time, the generalized force that makes it follow, (nt,) [N m or N], positive where it pushes forwards.

        Constraints with several rows have one entry for each, "guide: point x". A driven distance is a strut: positive
        where it pushes its points apart.

        loads : external loads that act besides the forces of the model

        >>> turn = kinematic_motion(pendulum, [0.0, 1.0], {"pin": mg.functions.Polynomial((0, 0.5))})
        >>> bool(np.allclose(turn.driving()["pin"], 19.62 * np.sin(turn.q[:, 0])))
        True
        """
        found = guided_forces(self, loads)
        # a driver that holds its coordinate in one place is one all the same
        drivers = {c.name for c in self.model.constraints if isinstance(c, Driver)}
        moving = elements_of(self.model).rows_i[found.system.rows, R_FUNCTION] >= 0
        owners = [name.rpartition(": ")[0] or name for name in found.system.names]
        driven: dict[str, Array] = {}
        for name, owner, moves, y in zip(found.system.names, owners, moving, found.multipliers.T, strict=True):
            if moves or owner in drivers:
                driven[owner if owners.count(owner) == 1 else name] = -y
        return driven | dict(zip(self.held, -found.driving.T, strict=True))

    def reactions(self, axes: str = "world", loads: Sequence[Load] | None = None) -> JointReactions:
        """What every joint transmits over time, cut joints included, as `joint_reactions` says: what parents exert on
        children, drives at their own coordinates included.

        Accelerations are given here; multipliers, and the forces of what is driven besides the model, balance

            M a + h + Gamma^T lam + H^T s = Q

        loads : external loads that act besides the forces of the model
        """
        if axes not in AXES:
            raise InputError(f"axes is {axes!r}; choose one of {', '.join(map(repr, AXES))}.")
        model, found = self.model, guided_forces(self, loads)
        couple, force = wrenches(
            found.system, self.q, self.v, self.a, found.multipliers, self.t, model.joints, axes, found.loads(self)
        )
        return JointReactions(model.joint_names, couple, force, axes)


def kinematic_motion(
    model: Model,
    t: ArrayLike,
    at: Mapping[Any, Any] | None = None,
    *,
    guess: ArrayLike | None = None,
    tolerance: float = 1e-12,
) -> GuidedMotion:
    """Positions, velocities and accelerations over time of a mechanism whose drivers fix all degrees of freedom.

        Phi(q, t) = 0,    h(q) = at(t)        and their first and second rates

    Parameters
    ----------
    t : (nt,)
        Increasing [s].
    at : mapping from names (as in `assemble`) to how they move, besides `Driver` and `GuidedPoint` of the model
        A `Function`; a number; (nt,) values at the times, joined by a cubic spline; or a callable of the time that
        returns (value, rate, second rate), or the value alone if it accepts complex numbers (its second rate is then
        good to about ten digits).
    guess : (n_q,), optional
        Where the search for the first instant starts; it decides how the mechanism is put together.
    tolerance : float
        Largest miss of a row [m or 1], for lengths up to a metre.

    Raises
    ------
    AssemblyError
        If some freedom is not driven, if the drivers cannot be followed, or at a dead point, where velocities are not
        determined.

    >>> crank = mg.constraints.Driver("motor", "pin", mg.functions.Harmonic(0.5, frequency=1.0))
    >>> driven = mg.Model("driven", pendulum.bodies, pendulum.joints, constraints=[crank])
    >>> kinematic_motion(driven, [0.0, 0.25]).q.ravel()
    array([0. , 0.5])
    """
    t = np.array(t, float)
    if t.ndim != 1 or not len(t) or not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise InputError(f"t has shape {t.shape}; give increasing, finite instants, at least one.")
    found = march(model, t, at, guess, tolerance)
    return GuidedMotion(model, t, found.q, found.v, found.a, found, dict(at or {}), tolerance)


class GuidedForces(NamedTuple):
    """What balances a guided motion: multipliers (nt, m) of the constraint rows, and of what is driven besides them
    (nt, held); on the mechanism both act with a minus."""

    system: System
    multipliers: Array
    driving: Array

    def loads(self, motion: GuidedMotion) -> list[Load]:
        """Drives of points, vectors and measures as loads over time; those of coordinates act within their joints.

        A multiplier y on a row g(x_1, x_2, ...) pushes its points with -y dg/dx, and turns its vectors u with
        -y u x dg/du.
        """
        model, found = motion.model, []
        bodies = body_motion(model, motion.q)
        for name, y in zip(motion.held, self.driving.T, strict=True):
            row = find_quantity(model, name).row
            if row is None:
                continue
            x = [_in_world(bodies, place) for place in row.places]
            placed = [tuple(part.T) for part in x] + [(0.0 * y,) * 3] * (4 - len(x))
            _, *slopes = in_numpy(gradient)(row.kind, row.radius, row.direction, *placed, (0.0 * y,) * 3, 0.0 * y)
            for place, u, slope in zip(row.places, x, slopes, strict=False):
                force = -y[:, None] * np.stack(np.broadcast_arrays(*slope, y)[:3], axis=1)
                if place.body != "ground" and place.is_point:
                    found.append(Load(place.body, force, point=place.local))
                elif place.body != "ground":
                    found.append(Load(place.body, torque=np.cross(u, force)))
        return found


def _in_world(bodies: BodyMotion, place: Place) -> Array:
    """Where a point or a vector of a body is in the world, (nt, 3)."""
    local = np.asarray(place.local)
    if place.body == "ground":
        return np.broadcast_to(local, bodies.p[:, 0].shape)
    body = bodies.of(place.body)
    return np.asarray(body.R @ local + (body.p if place.is_point else 0.0))


def guided_forces(motion: GuidedMotion, loads: Sequence[Load] | None = None) -> GuidedForces:
    """The forces that a guided motion takes; the smallest ones where rows depend on each other.

    M a + h + Gamma^T lam + H^T s = Q        H: rows of what is driven besides the model
    """
    model, q, v, a, t = motion.model, motion.q, motion.v, motion.a, motion.t
    dtype = complex if np.iscomplexobj(q) else None
    system = System(model, None, loads, independent=named_rows(model, motion.held), dtype=dtype)
    m, laws, last = system.n_constraints, system.n_rows, int(system.T.ints[N_ALL])
    J = evaluate_rows(system.T, q, v, None, t, 0, last).J
    y, _ = row_forces(system, q, v, a, np.zeros((len(q), m), system.dtype), t)
    unbalanced = inverse_dynamics(model.open_tree(), q, v, a, loads=list(system.loads))
    unbalanced = unbalanced + np.einsum("tkj,tk->tj", J[:, m:laws], y[:, m:laws])
    W = np.concatenate([J[:, :m], J[:, laws:last]], axis=1)
    found = -np.einsum("tkj,tj->tk", np.linalg.pinv(W.swapaxes(1, 2), rcond=RANK), unbalanced)
    return GuidedForces(system, found[:, :m], found[:, m:])
