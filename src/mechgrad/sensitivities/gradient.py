"""Gradients of objectives of motions by any parameters: one entry for all formulations, schemes and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final, overload

import numpy as np

from mechgrad.kinematics.batch import check_threads
from mechgrad.measures.base import Measure
from mechgrad.pictures import plots
from mechgrad.sensitivities.batch_gradient import BatchGradient
from mechgrad.sensitivities.cases import Subject
from mechgrad.sensitivities.differentiable import case_of
from mechgrad.sensitivities.histories import Histories, measure_histories
from mechgrad.sensitivities.many_gradients import ObjectivesOfEach, gradients_of_all
from mechgrad.sensitivities.single_gradient import Gradient, Objectives, asked, check_method, computed
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.typing import FloatArray


@overload
def gradient(
    motion: Subject, objectives: Objectives, wrt: str | Sequence[str], *, method: str = "auto", threads: int = 0
) -> Gradient: ...


@overload
def gradient(
    motion: Sequence[Subject] | Mapping[str, Subject],
    objectives: Objectives | ObjectivesOfEach,
    wrt: str | Sequence[str],
    *,
    method: str = "auto",
    threads: int = 0,
) -> BatchGradient: ...


def gradient(
    motion: Subject | Sequence[Subject] | Mapping[str, Subject],
    objectives: Objectives | ObjectivesOfEach,
    wrt: str | Sequence[str],
    *,
    method: str = "auto",
    threads: int = 0,
) -> Gradient | BatchGradient:
    """Derivatives of objectives of a motion, exact for the motion as it was computed.

        dpsi/dp = sum over instants of  psi_x dx/dp + psi_p

    Parameters
    ----------
    motion : Trajectory of `simulate`, one start; GuidedMotion of `kinematic_motion`; Equilibrium; State of `assemble`
        Of a SavedMotion, the same made once more by its recipe.
        Or several of these, a list or a mapping from names to them: then all at once, in threads (`BatchGradient`).
        Any formulation and scheme; the derivative is that of the same discrete steps, and of how their start was found:
        what `assemble` or `equilibrium` held is held, everything else follows.
    objectives : an `Integral`, `AtEnd`, `AtTime` or a sum of these; a list of them, or a mapping from names to them
        Of an Equilibrium or a State, measures themselves as well. Of several motions also a function of name or
        position, where each is compared with data of its own: lambda name: mg.Tracking(..).
    wrt : list of str
        Parameters of the model (paths, patterns, design variables); what the motion starts with,
        "start.position.hinge", "start.velocity.hinge" (what `assemble` held; any coordinate of a tree); and the forces
        that `simulate` was given, "tau.hinge", "push.force.x" of a load called push.
    method :
        "direct"              tangents of all steps: cost grows with the number of parameters
        "adjoint"             the transpose: cost grows with the number of objectives only
        "auto"                the cheaper of these two; `Gradient.choice` says which and why
        "continuous-adjoint"  the differential adjoint equations, discretised: needs smaller steps, see the docs;
                              "continuous-adjoint-1" and "-2" are the two ways of index-1 equations
        "complex"             a complex step through the whole simulation, per parameter
        "fd"                  central differences, per parameter
    threads :
        Of "direct" and "adjoint" around implicit steps: all cores for 0. The steps themselves follow each other. Of
        several motions: one thread each, so that every gradient is the one it would be alone with threads=1, to the
        last bit. (Between one thread and more, "adjoint" adds up in another order: equal to rounding.)

    Returns
    -------
    Gradient, or BatchGradient of several motions

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> g = mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["start.position.pin"])
    >>> bool(abs(g["start.position.pin"][0]) <= 1.0)
    True
    >>> print(g)
                                   psi
    value                ...
    start.position.pin   ...
    direct, since there are no more parameters (1) than objectives (1).
    held at the start: all coordinates and velocities.
    Exact for the steps as taken, of 0.01 s.
    """
    check_method(method)
    check_threads(threads)
    if isinstance(motion, Sequence | Mapping):
        return gradients_of_all(motion, objectives, wrt, method, threads)
    return computed(asked(motion, objectives, wrt), method, threads)  # type: ignore[arg-type]


@final
@dataclass(frozen=True, eq=False)
class MotionSensitivities:
    """Derivatives of a whole motion by parameters.

    Attributes
    ----------
    t : (nt,)
    q, v, a : (nt, n_v, np) of positions (along `model.integrate`), velocities and accelerations
    multipliers : (nt, m, np), none of motions that drivers decide
    parameters : names of the columns

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.motion_sensitivities(swing, ["bob.mass", "bob.com.z"]).of(mg.measures.PointVelocity("bob.com")).shape
    (101, 3, 2)
    """

    motion: Trajectory | GuidedMotion
    t: FloatArray
    q: FloatArray
    v: FloatArray
    a: FloatArray
    multipliers: FloatArray
    parameters: tuple[str, ...]

    def of(self, measure: Measure) -> FloatArray:
        """dy/dp over time of a measure y, (nt, *shape of its values, np)."""
        states = Histories(self.q, self.v, self.a, self.multipliers)
        return measure_histories(self.motion, self.parameters, states, measure)

    def plot(self, *measures: Any) -> Any:
        """Sensitivities of positions, or of measures, over time: a panel per parameter and unit; returns the matplotlib
        figure."""
        return plots("sensitivity_plots").plot_sensitivity_histories(self, *measures)


def motion_sensitivities(
    motion: Trajectory | GuidedMotion, wrt: str | Sequence[str], *, threads: int = 0
) -> MotionSensitivities:
    """dq/dp, dv/dp, da/dp and dlam/dp over a motion, by direct differentiation of its steps, or of its instants if
    drivers decide it (`kinematic_motion`); those of any measure by `.of(measure)`.

    Parameters and threads as in `gradient`.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> s = mg.motion_sensitivities(swing, ["start.position.pin"])
    >>> s.q.shape, float(s.q[0, 0, 0])
    ((101, 1, 1), 1.0)
    """
    case = case_of(motion)
    parameters = case.parameters(wrt)
    found = case.histories(parameters, threads)
    q, v, a, lam = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in found)
    return MotionSensitivities(motion, motion.t, q, v, a, lam, parameters.names)
