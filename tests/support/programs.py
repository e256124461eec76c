"""Nonlinear programs with known answers, small enough to check by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import rosen, rosen_der, rosen_hess

from mechgrad.optimization.solvers import NonlinearProgram

HS071_START = np.array([1.0, 5.0, 5.0, 1.0])
HS071_BEST = 17.0140173  # Hock and Schittkowski (1981), problem 71


def hs071(**changes: Any) -> NonlinearProgram:
    """min x1 x4 (x1 + x2 + x3) + x3;  x1 x2 x3 x4 >= 25,  x . x = 40,  1 <= x <= 5."""
    rows, cols = np.tril_indices(4)

    def gradient(x):
        return np.array([x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * (x[0] + x[1] + x[2])])

    def jacobian(x):
        product = [np.prod(np.delete(x, i)) for i in range(4)]
        return np.concatenate([product, 2 * x])

    def hessian(x, sigma, lam):
        h = np.zeros((4, 4))
        h[0] = [2 * x[3], x[3], x[3], 2 * x[0] + x[1] + x[2]]
        h[1, 3] = h[2, 3] = x[0]
        h = sigma * (np.triu(h) + np.triu(h, 1).T)
        for i in range(4):
            for k in range(4):
                if i != k:
                    h[i, k] += lam[0] * np.prod(np.delete(x, [i, k]))
        return (h + 2 * lam[1] * np.eye(4))[rows, cols]

    fields: dict[str, Any] = {
        "n": 4,
        "m": 2,
        "objective": lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        "gradient": gradient,
        "constraints": lambda x: np.array([np.prod(x), x @ x]),
        "jacobian": jacobian,
        "jacobian_structure": (np.repeat([0, 1], 4), np.tile(np.arange(4), 2)),
        "hessian": hessian,
        "hessian_structure": (rows, cols),
        "lb": 1.0,
        "ub": 5.0,
        "cl": [25.0, 40.0],
        "cu": [np.inf, 40.0],
        "constraint_names": ["product", "square"],
    }
    return NonlinearProgram(**{**fields, **changes})


def rosenbrock(n: int = 4) -> NonlinearProgram:
    """The curved valley of Rosenbrock, without any bounds; its minimum is 0 at (1, ..., 1)."""
    rows = np.concatenate([np.arange(n), np.arange(1, n)])
    cols = np.concatenate([np.arange(n), np.arange(n - 1)])
    return NonlinearProgram(
        n=n,
        objective=lambda x: float(rosen(x)),
        gradient=rosen_der,
        hessian=lambda x, sigma, lam: sigma * rosen_hess(x)[rows, cols],
        hessian_structure=(rows, cols),
    )


def quadratic(**changes: Any) -> NonlinearProgram:
    """min (x0 - 1)^2 + 2 (x1 - 2)^2 + 3 x2^2;  x0 + x1 + x2 = 6.

    By hand: 2 (x0 - 1) = 4 (x1 - 2) = 6 x2 = -lam, so x = (1, 2, 0) - lam (1/2, 1/4, 1/6), lam = -36/11.
    """
    weights = np.array([1.0, 2.0, 3.0])
    centre = np.array([1.0, 2.0, 0.0])
    fields: dict[str, Any] = {
        "n": 3,
        "m": 1,
        "objective": lambda x: float(weights @ (x - centre) ** 2),
        "gradient": lambda x: 2 * weights * (x - centre),
        "constraints": lambda x: np.array([x.sum()]),
        "jacobian": lambda x: np.ones(3),
        "jacobian_structure": ([0, 0, 0], [0, 1, 2]),
        "hessian": lambda x, sigma, lam: 2 * sigma * weights,
        "hessian_structure": ([0, 1, 2], [0, 1, 2]),
        "cl": 6.0,
        "cu": 6.0,
    }
    return NonlinearProgram(**{**fields, **changes})


def bounded(target: tuple[float, float], **changes: Any) -> NonlinearProgram:
    """min (x - target)^2 / 2 with 0 <= x <= 1: the multiplier of an active bound is target - bound."""
    goal = np.array(target)
    fields: dict[str, Any] = {
        "n": 2,
        "objective": lambda x: float((x - goal) @ (x - goal)) / 2,
        "gradient": lambda x: x - goal,
        "hessian": lambda x, sigma, lam: sigma * np.ones(2),
        "hessian_structure": ([0, 1], [0, 1]),
        "lb": 0.0,
        "ub": 1.0,
    }
    return NonlinearProgram(**{**fields, **changes})


def contradiction() -> NonlinearProgram:
    """x . x >= 4 and x . x <= 1, beside a constraint that is met everywhere."""
    return NonlinearProgram(
        n=2,
        m=3,
        objective=lambda x: float(x.sum()),
        gradient=lambda x: np.ones(2),
        constraints=lambda x: np.array([x @ x, x[0] - x[1], x @ x]),
        jacobian=lambda x: np.concatenate([2 * x, [1.0, -1.0], 2 * x]),
        jacobian_structure=([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]),
        hessian=lambda x, sigma, lam: 2 * (lam[0] + lam[2]) * np.ones(2),
        hessian_structure=([0, 1], [0, 1]),
        lb=-10.0,
        ub=10.0,
        cl=[4.0, -50.0, -np.inf],
        cu=[np.inf, 50.0, 1.0],
        constraint_names=["far away", "harmless", "close by"],
    )


def chain(links: int = 166) -> NonlinearProgram:
    """A pendulum swung up in 5 s with bounded torque: angle, rate and torque at `links` instants, trapezoidal rule."""
    k = links
    h = 5.0 / (k - 1)
    angle, rate, torque = np.arange(k), k + np.arange(k), 2 * k + np.arange(k)
    first, second = np.arange(k - 1), k - 1 + np.arange(k - 1)
    ones = np.ones(k - 1)

    def constraints(x):
        q, v = x[angle], x[rate]
        a = x[torque] - 9.81 * np.sin(q) - 0.1 * v
        return np.concatenate(
            [np.diff(q) - h / 2 * (v[1:] + v[:-1]), np.diff(v) - h / 2 * (a[1:] + a[:-1]), [q[0], v[0], q[-1], v[-1]]]
        )

    def jacobian(x):
        slope = h / 2 * 9.81 * np.cos(x[angle])
        damping = 0.05 * h
        parts = [ones, -ones, -h / 2 * ones, -h / 2 * ones, (1 + damping) * ones, (damping - 1) * ones]
        return np.concatenate([*parts, slope[1:], slope[:-1], -h / 2 * ones, -h / 2 * ones, np.ones(4)])

    def hessian(x, sigma, lam):
        weight = np.zeros(k)
        weight[1:] += lam[second]
        weight[:-1] += lam[second]
        return np.concatenate([-h / 2 * 9.81 * np.sin(x[angle]) * weight, np.full(k, 2 * h * sigma)])

    def gradient(x):
        out = np.zeros(3 * k)
        out[torque] = 2 * h * x[torque]
        return out

    limit = np.full(3 * k, np.inf)
    limit[torque] = 4.0
    values = np.concatenate([np.zeros(2 * (k - 1)), [0, 0, np.pi, 0]])
    rows = np.concatenate([*[first] * 4, *[second] * 6, 2 * (k - 1) + np.arange(4)])
    pairs = [c for part in (angle, rate, rate, angle, torque) for c in (part[1:], part[:-1])]
    cols = np.concatenate([*pairs, [angle[0], rate[0], angle[-1], rate[-1]]])
    diagonal = np.concatenate([angle, torque])
    return NonlinearProgram(
        n=3 * k,
        m=2 * (k - 1) + 4,
        objective=lambda x: h * float(x[torque] @ x[torque]),
        gradient=gradient,
        constraints=constraints,
        jacobian=jacobian,
        jacobian_structure=(rows, cols),
        hessian=hessian,
        hessian_structure=(diagonal, diagonal),
        lb=-limit,
        ub=limit,
        cl=values,
        cu=values,
    )


def chain_start(links: int = 166) -> np.ndarray:
    """A straight line from hanging to standing."""
    return np.concatenate([np.linspace(0, np.pi, links), np.zeros(2 * links)])
