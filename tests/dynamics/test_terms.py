"""Terms of the equations of motion and of constraints, by parameters and state, against differences."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.terms import constraint_terms, motion_terms
from mechgrad.gallery import five_bar, five_bar_start, slider_crank

PATHS = {
    "five-bar": ["A1.mass", "A1.com.x", "12.inertia.zz", "1.origin.x", "B.origin.x", "B.child_origin.x",
                 "S1.free_length", "S2.stiffness", "P2.position.y", "gravity.y"],
    "slider-crank": ["rod.mass", "B.origin.z", "C.axis2.y", "slide.axis.y", "crank axis.axis.y", "S1.damping",
                     "D.position.x"],
}  # fmt: skip


def case(name):
    model = five_bar() if name == "five-bar" else slider_crank(spring=True)
    rng = np.random.default_rng(3)
    q = five_bar_start() if name == "five-bar" else np.zeros(4)
    m = len(constraint_terms(model, q).names)
    return model, q + 0.1 * rng.normal(size=4), rng.normal(size=4), rng.normal(size=4), rng.normal(size=m)


def differences(f, x):
    h = 1e-6 * max(1.0, abs(x))
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize("name", PATHS)
def test_by_parameters(name):
    model, q, v, a, lam = case(name)
    motion = motion_terms(model, q, v, a, lam, wrt=PATHS[name])
    rows = constraint_terms(model, q, v, a, lam, wrt=PATHS[name])
    seen = np.zeros(len(PATHS[name]))
    for k, path in enumerate(PATHS[name]):

        def at(x, path=path):
            moved = model.with_values({path: x}, check=False)
            r, c = motion_terms(moved, q, v, a, lam), constraint_terms(moved, q, v, a, lam)
            return np.concatenate([r.r, c.value, c.rate, c.second, c.gamma.T @ lam])

        oracle = differences(at, model.value(path))
        mine = np.concatenate([motion.r_p[:, k], rows.value_p[:, k], rows.rate_p[:, k], rows.second_p[:, k],
                               rows.gamma_p[:, k]])  # fmt: skip
        np.testing.assert_allclose(mine, oracle, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(oracle).max()))
        seen[k] = np.abs(mine).max()
    assert seen.min() > 1e-4  # every parameter is felt


@pytest.mark.parametrize("name", PATHS)
def test_constraints_by_state(name):
    model, q, v, a, lam = case(name)
    c = constraint_terms(model, q, v, a, lam)
    h = 1e-6
    for j in range(model.n_v):
        e = h * np.eye(model.n_v)[j]
        up, down = constraint_terms(model, q + e, v, a, lam), constraint_terms(model, q - e, v, a, lam)
        for by_q, moved in (("gamma", "value"), ("rate_q", "rate"), ("second_q", "second")):
            oracle = (getattr(up, moved) - getattr(down, moved)) / (2 * h)
            np.testing.assert_allclose(getattr(c, by_q)[:, j], oracle, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(c.curvature[:, j], (up.gamma - down.gamma).T @ lam / (2 * h), rtol=1e-7, atol=1e-7)
        up, down = constraint_terms(model, q, v + e, a), constraint_terms(model, q, v - e, a)
        np.testing.assert_allclose(c.second_v[:, j], (up.second - down.second) / (2 * h), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(c.rate, c.gamma @ v + c.rate_t, atol=1e-12)
    assert min(np.abs(x).max() for x in (c.second_q, c.second_v, c.curvature)) > 1e-2


def test_wrong_shapes_are_named():
    model, q, v, a, lam = case("five-bar")
    with pytest.raises(mg.InputError, match="B: point x"):
        motion_terms(model, q, v, a, lam[:1])
    with pytest.raises(mg.InputError, match="v has shape"):
        constraint_terms(model, q, v[:2])
    single, batch = motion_terms(model, q, v, a, lam), motion_terms(model, [q, q], [v, v], [a, a], [lam, lam])
    np.testing.assert_allclose(batch.r_q[1], single.r_q, rtol=1e-15)
