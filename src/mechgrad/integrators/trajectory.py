"""What a simulation returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.errors import MechgradError
from mechgrad.integrators.schemes import Scheme
from mechgrad.inverse.forward import mass_matrix
from mechgrad.inverse.loads import Load
from mechgrad.inverse.reactions import JointReactions, joint_reactions
from mechgrad.kinematics.markers import MarkerMotion, marker_motion
from mechgrad.kinematics.mechanism import evaluate_rows
from mechgrad.model.mechanism import AT_LAW_NUMBERS, AT_LAWS, L_FIRST, L_KIND, LAW, LAW_NUMBERS, N_LAWS
from mechgrad.model.rows import SPRING
from mechgrad.typing import Array, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion over time; for a batch of starts all arrays of states have the batch as their first axis.

    Attributes
    ----------
    model : Model
    t : (nt,) [s]
    q, v, a : (nt, n_q), (nt, n_v), (nt, n_v)
    tau : (n_v,) generalized forces that acted, loads besides
    loads : external loads
    multipliers : (nt, m)
        Of the constraint rows that act, named by `constraint_names`; the mechanism feels -Gamma^T lam.
    norms : (nt, 3)
        Norms of constraint values, rates and second rates.
    iterations : (nt,) or None
        Newton iterations since the instant before, of implicit schemes.
    steps, rejected : int
        Steps that were taken, and trial steps that the error control refused.
    ended : str
        "duration", "stop" if the stop condition was met, or why the march could not go on.
    formulation, scheme : how it was computed
    """

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    loads: tuple[Load, ...]
    multipliers: Array
    norms: Array
    steps: int
    rejected: int
    ended: str
    system: System
    formulation: str
    scheme: Scheme
    iterations: IntArray | None = None

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraint rows, in the order of the multipliers."""
        return self.system.names

    def _flat(self, x: Array) -> Array:
        return np.ascontiguousarray(x.reshape(-1, x.shape[-1]))

    def kinetic_energy(self) -> Array:
        """v . M v / 2 at every instant [J]."""
        M, v = mass_matrix(self.model, self._flat(self.q)), self._flat(self.v)
        rows, cols = M.pattern.rows, M.pattern.cols
        return np.asarray(0.5 * np.sum(M.values * v[:, rows] * v[:, cols], axis=1).reshape(self.v.shape[:-1]))

    def potential_energy(self) -> Array:
        """Of gravity, -sum m g . x with x the centres of mass [J]; zero at the world's origin."""
        bodies = [body for body in self.model.bodies if body.mass]
        total = np.zeros(self.q.reshape(-1, self.q.shape[-1]).shape[0])
        if bodies:
            x = marker_motion(self.model, [f"{body.name}.com" for body in bodies], self._flat(self.q)).position
            weights = np.array([body.mass for body in bodies])
            total = -np.einsum("b,tbk,k->t", weights, x, np.asarray(self.model.gravity, float))
        return np.asarray(total.reshape(self.q.shape[:-1]))

    def spring_energy(self) -> Array:
        """Of linear springs, sum k (g - g0)^2 / 2, translational and rotational [J]; for one start."""
        T = self.system.T
        springs = [k for k in range(int(T.ints[N_LAWS])) if T.ints[T.ints[AT_LAWS] + k * LAW + L_KIND] == SPRING]
        if not springs or self.q.ndim != 2 or not len(self.q):
            return np.zeros(self.q.shape[:-1])
        rows = [int(T.ints[T.ints[AT_LAWS] + k * LAW + L_FIRST]) for k in springs]
        numbers = np.array([T.numbers[T.ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS :][:3] for k in springs])
        g = evaluate_rows(T, self.q, None, None, self.t, 0, self.system.n_rows).values[:, rows]
        return np.asarray((0.5 * numbers[:, 0] * (g - numbers[:, 2]) ** 2).sum(axis=1))

    def energy(self) -> Array:
        """Kinetic energy and that of gravity and of linear springs together [J]: constant without other forces."""
        return self.kinetic_energy() + self.potential_energy() + self.spring_energy()

    def markers(self, names: Sequence[str]) -> MarkerMotion:
        """Motion of points, vectors and spins, (nt, markers, 3) each; for one start."""
        return marker_motion(self.model, names, self.q, self.v, self.a)

    def reactions(self) -> JointReactions:
        """What every joint transmits over time; for one start."""
        return joint_reactions(self.model, self.q, self.v, self.a, loads=list(self.loads))

    def plot(self) -> Any:
        """Coordinates, velocities and energies over time; returns the matplotlib figure. For one start."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 3.4), layout="constrained")
        names = {"coordinates": self.model.q_names, "velocities": self.model.v_names}
        for k, (values, title) in enumerate(((self.q, "coordinates"), (self.v, "velocities"))):
            ax = figure.add_subplot(1, 3, k + 1)
            ax.plot(self.t, values, label=names[title] if values.shape[1] <= 8 else None)
            ax.set(title=title, xlabel="time [s]")
            if values.shape[1] <= 8:
                ax.legend(frameon=False, fontsize=8)
        ax = figure.add_subplot(1, 3, 3)
        for values, label in ((self.kinetic_energy(), "kinetic"), (self.potential_energy(), "potential")):
            ax.plot(self.t, values, label=label)
        ax.plot(self.t, self.energy(), "k", lw=0.8, label="sum")
        ax.set(title="energy [J]", xlabel="time [s]")
        ax.legend(frameon=False, fontsize=8)
        for ax in figure.axes:
            ax.grid(alpha=0.3)
        return figure


class StepFailed(MechgradError, ArithmeticError):
    """A march could not go on; `.trajectory` is the motion until then."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory
