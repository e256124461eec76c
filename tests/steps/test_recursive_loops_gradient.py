"""Closed mechanisms differentiated by recursive elimination, both ways, without a matrix."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery
from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import INDEX_1, System
from mechgrad.steps.acceleration_slopes import pulled_back

M = mg.measures


def _five_bar():
    return (
        gallery.five_bar(),
        gallery.five_bar_start(),
        ["S1.stiffness", "A1.mass", "A1.com.x", "12.mass", "gravity.y"],
    )


def _crank():
    model = gallery.slider_crank()
    start = mg.assemble(model, {model.q_names[0]: 0.3}, {model.v_names[0]: 4.0})
    numbers = [p.path for p in model.parameters()]
    return model, start, [*numbers[:: max(1, len(numbers) // 10)], f"start.velocity.{model.v_names[0]}"]


def _stewart():
    model = gallery.stewart_platform()
    start = gallery.stewart_platform_start(model, rates=(0.3, -0.2, 0.1, 0.2, -0.1, 0.05))
    return model, start, ["plate.mass", "cylinder 1.mass", "plate.com.x"]


def _bicycle():
    model = gallery.bicycle("rolling")
    return (
        model,
        gallery.bicycle_start(model, lean=0.1),
        [p.path for p in model.parameters() if p.path.endswith("mass")],
    )


CASES = {"five-bar": _five_bar, "slider-crank": _crank, "stewart": _stewart, "rolling bicycle": _bicycle}
GOALS = [mg.AtEnd(M.KineticEnergy()), mg.Integral(M.PotentialEnergy())]


@pytest.mark.parametrize("name", ["five-bar", "stewart", "rolling bicycle"])
def test_pulls_of_accelerations_beside_matrices(name):
    """w . (a, lam) by the state and by residuals and rows, by elimination and by the linearised equations."""
    model, start, _ = CASES[name]()
    start = start if hasattr(start, "q") else mg.state(model, start)
    system, rng = System(model), np.random.default_rng(4)
    N, n, m = 3, model.n_v, system.n_constraints
    q = np.asarray(model.integrate(np.tile(start.q, (N, 1)), rng.uniform(-0.02, 0.02, (N, n))))
    v, t = rng.normal(size=(N, n)), np.zeros(N)
    a, lam, _, _ = system.accelerations(q, v, t)
    states, pulls = States(q, v, a, lam, t), rng.normal(size=(2, N, n + m))
    pulls[1, 2] = 0.0
    wanted, found = (pulled_back(system, INDEX_1, states, pulls, recursive) for recursive in (False, True))
    for got, expected in (
        (found.q, wanted.q), (found.v, wanted.v), (found.weights.mu, wanted.weights.mu),
        (found.weights.w2, wanted.weights.w2),
    ):  # fmt: skip
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert not found.q[2, 1].any()


@pytest.mark.parametrize("name", CASES)
def test_gradients_beside_complex_steps(name):
    """Through the whole simulation and its projections; every goal feels something."""
    model, start, wrt = CASES[name]()
    motion = mg.simulate(model, start, 0.02, step=1e-3, samples=6, formulation="fully-recursive")
    last = mg.AtEnd(M.JointAcceleration(model.v_names[0]))
    found = {
        method: mg.gradient(motion, [*GOALS, last], wrt, method=method).array
        for method in ("adjoint", "direct", "complex")
    }
    size = np.abs(found["complex"]).max(axis=1)
    assert np.all(size > 1e-8)
    for method in ("adjoint", "direct"):
        miss = np.abs(found[method] - found["complex"]).max(axis=1) / size
        assert np.all(miss < 1e-9), f"{method}: {miss}"


def test_gradients_of_projected_steps_beside_matrices():
    """Steps so long that projections matter: 1e-6 of a step; the same as with matrices, and another without them."""
    model, start, wrt = _crank()
    how = {"step": 2e-2, "scheme": "rk4"}
    dense = mg.simulate(model, start, 0.4, formulation="index1", **how)
    moved = mg.simulate(model, start, 0.4, formulation="fully-recursive", **how)
    wanted = mg.gradient(dense, GOALS, wrt, method="adjoint").array
    size = np.abs(wanted).max(axis=1, keepdims=True)
    for method in ("adjoint", "direct"):
        got = mg.gradient(moved, GOALS, wrt, method=method).array
        assert np.all(np.abs(got - wanted) < 1e-8 * size)


@pytest.mark.slow  # compiles a march of its own
def test_reports_within_steps():
    """DOP853, whose reports are projected, too."""
    model, start, wrt = _five_bar()
    motion = mg.simulate(model, start, 0.05, samples=6, rtol=1e-9, atol=1e-9, formulation="fully-recursive")
    goals = [*GOALS, mg.AtTime(0.0131, M.PointAcceleration("P2"))]
    found = {
        method: mg.gradient(motion, goals, wrt, method=method).array for method in ("adjoint", "direct", "complex")
    }
    size = np.abs(found["complex"]).max(axis=1)
    assert np.all(size[:4] > 1e-3)  # the last: along z, nothing
    for method in ("adjoint", "direct"):
        assert np.all(np.abs(found[method] - found["complex"]).max(axis=1) <= 1e-9 * size)
