"""Gradient and Hessian of y . tau: against first derivatives, and complex steps of those."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_q, by_x, relative_error
from support.random_trees import ALL_KINDS, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.inverse.second_order import inverse_dynamics_gradient, inverse_dynamics_hessian

TOLERANCE = 1e-12


def check(model, q, v, a, y, loads):
    def contracted(q, v, a):
        D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
        return [np.swapaxes(x.dense(), -1, -2) @ y for x in (D.dq, D.dv, D.da)]

    H = inverse_dynamics_hessian(model, q, v, a, y, loads=loads)
    for got, want in zip((H.q, H.v, H.a), contracted(q, v, a), strict=True):
        assert relative_error(got, want) < TOLERANCE
    for got, want in zip(inverse_dynamics_gradient(model, q, v, a, y, loads=loads), (H.q, H.v, H.a), strict=True):
        assert relative_error(got, want) < 1e-14
    blocks = (
        (H.qq, by_q(lambda x: contracted(x, v, a)[0], model, q)),
        (H.qv, by_x(lambda x: contracted(q, x, a)[0], v)),
        (H.vv, by_x(lambda x: contracted(q, x, a)[1], v)),
        (H.qa, by_x(lambda x: contracted(q, v, x)[0], a)),
    )
    for got, want in blocks:
        assert relative_error(got.dense(), want) < TOLERANCE
        outside = np.ones(want.shape, bool)
        outside[got.pattern.rows, got.pattern.cols] = False
        assert np.all(want[outside] == 0)
    assert np.max(np.abs(by_x(lambda x: contracted(q, v, x)[1], a))) == 0
    assert np.max(np.abs(by_x(lambda x: contracted(q, v, x)[2], a))) == 0
    return blocks


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20))
def test_random_trees_of_all_kinds_with_loads(seed, n):
    model = random_tree(seed, n)
    if model.n_v:
        y = np.random.default_rng(seed).standard_normal(model.n_v)
        check(model, *random_state(model, seed), y, random_loads(model, seed))


@pytest.mark.parametrize("axes", ["world", "body", None])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_each_joint_kind_between_two_hinges(kind, axes):
    model = random_tree(17, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    y = np.random.default_rng(1).standard_normal(model.n_v)
    loads = random_loads(model, 2, axes=axes) if axes else None
    for _, want in check(model, *random_state(model, 8), y, loads):
        assert np.max(np.abs(want)) > 1e-3


def test_human_and_its_symmetry():
    model = human()
    _, q, v, a = human_motion(samples=40)
    y = np.random.default_rng(0).standard_normal(q.shape)
    H = inverse_dynamics_hessian(model, q, v, a, y)
    check(model, q[7], v[7], a[7], y[7], random_loads(model, 3))
    dense = H.dense()
    assert dense.shape == (40, 129, 129)
    assert relative_error(dense, dense.swapaxes(-1, -2)) < 1e-13
    one = inverse_dynamics_hessian(model, q[33], v[33], a[33], y[33])
    assert relative_error(one.dense(), dense[33]) < 1e-13


def test_the_power_of_inertia_is_quadratic_in_velocities():
    """L(v) - L(0) = v . L_vv v / 2 where h is quadratic in v: a closed form for one block."""
    model = random_tree(5, 8, ("revolute", "spherical", "cardan"), massless=0.0)
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    H = inverse_dynamics_hessian(model, q, v, a, y)
    change = y @ (mg.inverse_dynamics(model, q, v, a) - mg.inverse_dynamics(model, q, None, a))
    assert v @ H.vv.dense() @ v / 2 == pytest.approx(change, rel=1e-12)
    assert abs(change) > 0.1


def test_complex_step_through_the_gradient_gives_parameter_columns():
    model = random_tree(5, 8, massless=0.0)
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    stepped = model.with_values({"b3.mass": model.value("b3.mass") + 1e-30j})
    got = [x.imag / 1e-30 for x in inverse_dynamics_gradient(stepped, q, v, a, y)]
    h = 1e-4
    ahead, behind = (model.with_values({"b3.mass": model.value("b3.mass") + s * h}) for s in (1, -1))
    for k in range(3):  # linear in the mass: the difference quotient is exact up to rounding
        want = (inverse_dynamics_gradient(ahead, q, v, a, y)[k] - inverse_dynamics_gradient(behind, q, v, a, y)[k]) / (
            2 * h
        )
        assert relative_error(got[k], want) < 1e-8
        assert np.max(np.abs(got[k])) > 1e-2


def test_bad_input_is_named():
    model = random_tree(1, 3)
    q, v, a = random_state(model, 1)
    with pytest.raises(mg.InputError, match="y is nan at column 0"):
        inverse_dynamics_hessian(model, q, v, a, np.full(model.n_v, np.nan))
    with pytest.raises(mg.InputError, match=r"y has shape \(2,\)"):
        inverse_dynamics_gradient(model, q, v, a, [1.0, 2.0])
