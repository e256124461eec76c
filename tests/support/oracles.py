"""Independent answers: complex steps, and the principle of virtual power written with whole-body kinematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import mechgrad as mg

STEP = 1e-30


def relative_error(got: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference, relative to the largest entry wanted (at least 1)."""
    return float(np.max(np.abs(got - wanted), initial=0.0) / max(1.0, np.max(np.abs(wanted), initial=0.0)))


def by_q(function: Callable[[np.ndarray], np.ndarray], model: mg.Model, q: np.ndarray) -> np.ndarray:
    """d function / dq along the tangent of q, by complex step: columns last."""
    return np.stack([np.imag(function(model.integrate(q, 1j * STEP * e))) / STEP for e in np.eye(model.n_v)], axis=-1)


def by_x(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """d function / dx of a plain vector, by complex step: columns last."""
    return np.stack([np.imag(function(x + 1j * STEP * e)) / STEP for e in np.eye(x.size)], axis=-1)


def by_parameter(function: Callable[[mg.Model], np.ndarray], model: mg.Model, path: str) -> np.ndarray:
    """d function / d parameter, by complex step."""
    return np.imag(function(model.with_values({path: model.value(path) + 1j * STEP}, check=False))) / STEP


def virtual_power(
    model: mg.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, loads: Sequence[mg.Load] = ()
) -> np.ndarray:
    """Generalized forces of one state from Jacobians and accelerations of whole bodies: no recursion, no spatial
    algebra.

    tau = sum over bodies of  J_com^T (m a_com - m g - f) + J_w^T (I dw + w x I w - couples about the centre of mass)
    """
    motion = mg.kinematics.body_motion(model, q, v, a)
    tau = np.zeros(model.n_v)
    for body in model.bodies:
        b = motion.of(body.name)
        arm = b.R @ body.com
        J = mg.kinematics.body_jacobian(model, body.name, q)
        J_com = J[3:] + np.cross(J[:3], arm[:, None], axis=0)
        a_com = b.a + np.cross(b.dw, arm) + np.cross(b.w, np.cross(b.w, arm))
        inertia = b.R @ body.inertia @ b.R.T
        force = body.mass * (a_com - model.gravity)
        moment = inertia @ b.dw + np.cross(b.w, inertia @ b.w)
        for load in loads:
            if load.body == body.name:
                R = b.R if load.axes == "body" else np.eye(3)
                f, c = R @ np.asarray(load.force), R @ np.asarray(load.torque)
                force = force - f
                moment = moment - c - np.cross(b.R @ (np.asarray(load.point) - body.com), f)
        tau += J_com.T @ force + J[:3].T @ moment
    return tau
