"""Derivatives of generalized forces against complex steps, for all joint kinds, with loads on every body."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_parameter, by_q, by_x, relative_error, virtual_power
from support.random_trees import ALL_KINDS, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion

TOLERANCE = (
    1e-12  # complex step and recursion both round at some 1e-15 of the largest entry, times the depth of the tree
)
PARAMETER_TOLERANCE = 1e-11


def check_state_derivatives(model, q, v, a, loads):
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
    assert relative_error(D.tau, mg.inverse_dynamics(model, q, v, a, loads=loads)) < 1e-13
    pairs = (
        (D.dq, by_q(lambda x: mg.inverse_dynamics(model, x, v, a, loads=loads), model, q)),
        (D.dv, by_x(lambda x: mg.inverse_dynamics(model, q, x, a, loads=loads), v)),
        (D.da, by_x(lambda x: mg.inverse_dynamics(model, q, v, x, loads=loads), a)),
    )
    for got, want in pairs:
        assert relative_error(got.dense(), want) < TOLERANCE
        outside = np.ones(want.shape, bool)
        outside[got.pattern.rows, got.pattern.cols] = False
        assert np.all(np.abs(want[outside]) == 0), "an entry outside the pattern is not zero"
    return pairs


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_state_derivatives_of_random_trees(seed, n):
    model = random_tree(seed, n)
    if model.n_v:
        check_state_derivatives(model, *random_state(model, seed), random_loads(model, seed))


def test_no_influence_is_zero_on_a_tree_of_all_kinds():
    """A chain of every joint kind: nearly every related pair must have a derivative by q, v and a."""
    model = random_tree(3, len(ALL_KINDS), branching=0.0)
    for got, want in check_state_derivatives(model, *random_state(model, 4), random_loads(model, 5)):
        assert np.mean(want[got.pattern.rows, got.pattern.cols] != 0) > 0.8


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_each_joint_kind_between_two_hinges(kind, axes):
    """Loads in either axes, on both sides of the joint: their turning terms differ."""
    model = random_tree(17, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    loads = random_loads(model, 2, axes=axes)
    bare = mg.inverse_dynamics_derivatives(model, *random_state(model, 8)).dq.values
    loaded = mg.inverse_dynamics_derivatives(model, *random_state(model, 8), loads=loads).dq.values
    assert np.max(np.abs(bare - loaded)) > 0.1
    check_state_derivatives(model, *random_state(model, 8), loads)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14))
def test_torques_are_those_of_virtual_power(seed, n):
    model = random_tree(seed, n)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    assert (
        relative_error(mg.inverse_dynamics(model, q, v, a, loads=loads), virtual_power(model, q, v, a, loads)) < 1e-12
    )


def test_human_derivatives_by_complex_step():
    model = human()
    _, q, v, a = human_motion()
    for k in (10, 137):
        check_state_derivatives(model, q[k], v[k], a[k], random_loads(model, k))


# ----------------------------------------------------------------------------------------------------- parameters
def all_paths(model, loads):
    return [p.path for p in model.parameters()] + [
        f"{load.name}.{field}.{axis}" for load in loads for field in ("force", "torque", "point") for axis in "xyz"
    ]


def stepped_loads(loads, path, step):
    name, field, axis = path.rsplit(".", 2)
    new = []
    for load in loads:
        values = {f: np.array(getattr(load, f), complex) for f in ("force", "torque", "point")}
        if load.name == name:
            values[field]["xyz".index(axis)] += step
        new.append(mg.Load(load.body, values["force"], values["torque"], values["point"], load.axes, load.name))
    return new


@pytest.mark.parametrize("seed", range(6))
def test_every_parameter_of_random_trees(seed):
    model = random_tree(seed, len(ALL_KINDS) + 2, branching=0.3)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    paths = all_paths(model, loads)
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads, wrt=paths)
    kinds = {p.path: p.kind for p in model.parameters()}
    influence: dict[str, float] = {}
    for path in paths:
        if path in kinds:
            want = by_parameter(lambda m: mg.inverse_dynamics(m, q, v, a, loads=loads), model, path)
        else:
            step = 1e-30
            want = mg.inverse_dynamics(model, q, v, a, loads=stepped_loads(loads, path, 1j * step)).imag / step
        assert relative_error(D.by(path), want) < PARAMETER_TOLERANCE, path
        kind = kinds.get(path, "load " + path.split(".")[-2])
        influence[kind] = max(influence.get(kind, 0.0), np.max(np.abs(want)))
    expected = {"mass", "com", "inertia", "origin", "orientation", "child_origin", "axis", "dh", "gravity"}
    expected |= {"load force", "load torque", "load point"}
    assert {kind for kind, size in influence.items() if size > 1e-2} >= expected, influence


def test_all_four_dh_parameters_in_both_conventions_and_both_kinds():
    for kind in ("dh-revolute", "dh-prismatic", "dh-modified"):
        for seed in range(4):
            # a hinge before and behind: chains of slides alone feel no offset along a slide
            model = random_tree(
                100 + seed, 5, ("dh-revolute", kind, "dh-revolute", kind, kind), massless=0.0, branching=0.0
            )
            q, v, a = random_state(model, seed)
            paths = [f"{j.name}.{p}" for j in model.joints for p in ("theta", "d", "a", "alpha")]
            D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=paths)
            for path in paths:
                want = by_parameter(lambda m, q=q, v=v, a=a: mg.inverse_dynamics(m, q, v, a), model, path)
                assert relative_error(D.by(path), want) < PARAMETER_TOLERANCE, path
            for p in ("theta", "d", "a", "alpha"):
                assert max(np.max(np.abs(D.by(f"{j.name}.{p}"))) for j in model.joints) > 1e-2, p


def test_human_parameters_by_complex_step():
    model = human()
    _, q, v, a = human_motion()
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=["*.mass", "dh.2[0-9].*"])
    assert len(D.parameters) > 70
    for path in ("dh.24.a", "dh.27.theta", "dh.22.alpha", "dh.29.d", "head.mass"):
        want = by_parameter(lambda m: mg.inverse_dynamics(m, q[10], v[10], a[10]), model, path)
        assert np.max(np.abs(want)) > 1e-3
        assert relative_error(D.by(path)[10], want) < PARAMETER_TOLERANCE, path


def test_a_design_variable_collects_its_targets():
    base = random_tree(9, 6, ("revolute", "dh-revolute", "spherical"), massless=0.0)
    variable = mg.DesignVariable("size", {"b1.mass": 2.0, "j0.origin.x": 0.5, "b3.com.y": lambda x: x**3}, value=0.7)
    model = mg.Model(base.name, base.bodies, base.joints, base.points, base.vectors, base.gravity, [variable])
    q, v, a = random_state(model, 1)
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=["size", "b1.mass", "j0.origin.x", "b3.com.y"])
    want = by_parameter(lambda m: mg.inverse_dynamics(m, q, v, a), model, "size")
    assert np.max(np.abs(want)) > 0.1
    assert relative_error(D.by("size"), want) < PARAMETER_TOLERANCE
    weighted = 2.0 * D.by("b1.mass") + 0.5 * D.by("j0.origin.x") + 3 * 0.7**2 * D.by("b3.com.y")
    assert relative_error(D.by("size"), weighted) < PARAMETER_TOLERANCE


def test_a_named_load_point_moves_with_its_marker():
    model = random_tree(21, 4, ("revolute", "spherical"), massless=0.0)
    q, v, a = random_state(model, 1)
    loads = [mg.Load("b3", force=(3.0, -4.0, 5.0), point="Pb3")]
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads, wrt=["Pb3.position.y", "Pb1.position.x"])
    want = by_parameter(lambda m: mg.inverse_dynamics(m, q, v, a, loads=loads), model, "Pb3.position.y")
    assert np.max(np.abs(want)) > 1.0
    assert relative_error(D.by("Pb3.position.y"), want) < PARAMETER_TOLERANCE
    assert np.all(D.by("Pb1.position.x") == 0)


def test_loads_that_vary_over_samples_have_derivatives_per_sample():
    model = random_tree(31, 6)
    nt = 11
    q, v, a = random_state(model, 1, nt)
    loads = random_loads(model, 2, nt)
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads, wrt=["L3.point.x", "L2.force.y", "j0.origin.x"])
    for k in (0, 4, 10):
        here = [mg.Load(x.body, x.force[k], x.torque[k], x.point, x.axes, x.name) for x in loads]
        one = mg.inverse_dynamics_derivatives(model, q[k], v[k], a[k], loads=here, wrt=D.parameters)
        for got, want in ((D.tau, one.tau), (D.dq.values, one.dq.values), (D.dp.values, one.dp.values)):
            assert relative_error(got[k], want) < 1e-13
