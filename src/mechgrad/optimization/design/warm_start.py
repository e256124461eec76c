"""From a motion that was found by inverse dynamics to knots of drives that make it by forward dynamics."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from mechgrad.errors import InputError
from mechgrad.model.forces import Motor
from mechgrad.model.functions import Spline
from mechgrad.model.model import Model
from mechgrad.optimization.motion.solution import MotionSolution

FINER = 8  # samples of the motion between two knots
WITHIN = 1e-9  # [s] knots may lie outside of the motion by rounding


def knots_from(solution: MotionSolution, model: Model) -> dict[str, float]:
    """Values of the knots of all motors of a model by their paths, so that they do what a motion needs.

        motor.torque.values.k = tau(t_k)        tau: what `solution` needs there, by inverse dynamics

    A start for `DesignProblem.solve(start=...)` that is near the optimum already.

    solution : of a `MotionProblem` with the same mechanism without these motors
    model : with a `Motor` at every driven coordinate, whose torque is a `Spline` within the duration

    >>> from mechgrad.optimization.motion import MotionSolution, Splines
    >>> still = MotionSolution(model, Splines(2), np.full((5, 1), 0.3), 1.0, None)
    >>> motor = mg.forces.Motor("M", "pin", mg.functions.Spline((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)))
    >>> driven = mg.Model("driven", model.bodies, model.joints, forces=[motor])
    >>> round(knots_from(still, driven)["M.torque.values.1"], 3)  # 19.62 N m times sin(0.3)
    5.798
    """
    motors = [(force, force.torque) for force in model.forces if isinstance(force, Motor)]
    splines = [(motor, torque) for motor, torque in motors if isinstance(torque, Spline)]
    if not splines:
        raise InputError(f"model {model.name!r} has no motor whose torque is a spline; its knots are what is found.")
    names, found = list(solution.model.v_names), dict[str, float]()
    for motor, spline in splines:
        if motor.coordinate not in names:
            raise InputError(f"motor {motor.name!r} drives {motor.coordinate!r}, which the motion does not have.")
        times = np.array(spline.times, float)
        if times[0] < -WITHIN or times[-1] > solution.duration + WITHIN:
            raise InputError(
                f"knots of motor {motor.name!r} lie between {times[0]:g} and {times[-1]:g} s; the motion lasts "
                f"{solution.duration:g} s."
            )
        samples = FINER * max(len(times), 8) + 1
        torques = np.asarray(solution.torques(samples), float)
        torque = CubicSpline(solution.times(samples), torques[:, names.index(motor.coordinate)])
        found |= {f"{motor.name}.torque.values.{k}": float(x) for k, x in enumerate(torque(times))}
    return found
