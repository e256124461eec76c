"""Jacobian and Hessian of motion programs against differences, term by term, and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import double_pendulum
from mechgrad.optimization.motion.collocation import Collocation
from mechgrad.optimization.motion.measures import Coordinates, Points, Torques
from mechgrad.optimization.motion.splines import Splines
from mechgrad.optimization.motion.transcription import Constraint, SquaresTerm, Transcription
from mechgrad.sensitivities.extrapolation import extrapolated_jacobian

MODEL = double_pendulum()
LOADS = [mg.Load("lower", force=(3.0, 0.0, -5.0), point=(0, 0, -1.0))]


def collocation(free, per_segment=2, n_p=0):
    return Collocation(Splines(3), 2, np.linspace(0, 1, 3 * per_segment + 1), free, n_p)


FREE_NUMBERS = ("lower.mass", "elbow.origin.z", "upper.com.z")

MEASURES = {
    "q": lambda: Coordinates(MODEL, "q"),
    "v": lambda: Coordinates(MODEL, "v", ["elbow"]),
    "a": lambda: Coordinates(MODEL, "a"),
    "torques": lambda: Torques(MODEL, None, LOADS),
    "one torque": lambda: Torques(MODEL, ["elbow"]),
    "point": lambda: Points(MODEL, ["tip"]),
    "point and parameters": lambda: Points(MODEL, ["tip"], FREE_NUMBERS),
    "torques and parameters": lambda: Torques(MODEL, None, LOADS, FREE_NUMBERS),
}


def program(name, free, cost=False):
    measure = MEASURES[name]()
    n_p = len(measure.parameters)
    c = collocation(free, n_p=n_p)
    if cost:
        term = SquaresTerm(measure, c, 0.7, np.full(measure.m, 1.5))
        return Transcription(collocation(free, n_p=n_p), 0.8, 0.3, [term], [])
    return Transcription(
        collocation(free, n_p=n_p),
        0.8,
        0.3,
        [],
        [Constraint("c", measure, c, np.full(measure.m, -1.0), np.ones(measure.m))],
    )


def unknowns(p, seed=0):
    x = np.random.default_rng(seed).standard_normal(p.n)
    if p.collocation.free:
        x[p.collocation.at_T] = 1.3
    if p.collocation.n_p:
        x[p.n - p.collocation.n_p :] = [MODEL.value(path) for path in FREE_NUMBERS]
    return x


def dense(structure, values, shape):
    out = np.zeros(shape)
    np.add.at(out, structure, values)
    return out


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("name", MEASURES)
def test_constraint_jacobian_and_hessian(name, free):
    p = program(name, free)
    x = unknowns(p)
    J = dense(p.jacobian_structure, p.jacobian(x), (p.m, p.n))
    numeric = extrapolated_jacobian(p.values, x, longest=0.1)
    scale = np.max(np.abs(J))
    assert scale > 0.1
    assert np.max(np.abs(J - numeric.values)) < 1e-8 * scale
    assert len(p.names) == p.m
    y = np.random.default_rng(1).standard_normal(p.m)
    rows, cols = p.hessian_structure
    assert np.all(rows >= cols)
    assert len({*zip(rows.tolist(), cols.tolist(), strict=True)}) == rows.size, "no entry stands twice"
    H = dense((rows, cols), p.hessian(x, 1.0, y), (p.n, p.n))
    H = H + np.tril(H, -1).T
    gradient = lambda z: dense(p.jacobian_structure, p.jacobian(z), (p.m, p.n)).T @ y  # noqa: E731
    numeric = extrapolated_jacobian(gradient, x, longest=0.1)
    scale = max(1.0, np.max(np.abs(numeric.values)))
    assert np.max(np.abs(H - numeric.values)) < 1e-8 * scale
    if name not in ("q",) and (free or name in ("torques", "one torque", "point")):
        assert np.max(np.abs(H)) > 1e-2


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("name", MEASURES)
def test_cost_gradient_and_hessian(name, free):
    p = program(name, free, cost=True)
    x = unknowns(p)
    g = p.gradient(x)
    numeric = extrapolated_jacobian(lambda z: p.objective(z), x, longest=0.1)
    assert np.max(np.abs(g)) > 0.01
    assert np.max(np.abs(g - numeric.values[0])) < 1e-8 * np.max(np.abs(g))
    H = dense(p.hessian_structure, p.hessian(x, 2.0, np.zeros(0)), (p.n, p.n))
    H = (H + np.tril(H, -1).T) / 2.0
    numeric = extrapolated_jacobian(p.gradient, x, longest=0.1)
    assert np.max(np.abs(H)) > 0.01
    assert np.max(np.abs(H - numeric.values)) < 1e-8 * np.max(np.abs(H))


def test_the_integral_converges_to_the_integral():
    """Torque squares of a smooth motion: the trapezoidal rule on finer and finer samples, against a very fine one."""
    x = unknowns(program("torques", True))
    values = []
    for per_segment in (4, 8, 16, 64):
        c = collocation(True, per_segment)
        values.append(SquaresTerm(Torques(MODEL), c, 1.0, np.ones(2)).value(x, 1.0))
    errors = np.abs(np.array(values[:3]) - values[3])
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.3)


def test_samples_of_a_program_are_the_spline():
    c = collocation(True)
    x = unknowns(program("q", True))
    q, v, a, T = c.motion(x, 9.0)
    assert T == 1.3
    h = 1e-5
    shifted = [Collocation(Splines(3), 2, np.clip(c.xi + s * h, 0, 1), True).motion(x, 9.0) for s in (1, -1)]
    inner = slice(1, -1)
    np.testing.assert_allclose((shifted[0][0] - shifted[1][0])[inner] / (2 * h * T), v[inner], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose((shifted[0][1] - shifted[1][1])[inner] / (2 * h * T), a[inner], rtol=1e-3, atol=2e-2)
    assert np.max(np.abs(q)) > 0.1
