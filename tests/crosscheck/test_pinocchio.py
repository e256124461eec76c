"""Against Pinocchio: torques, their derivatives, loads, forward dynamics, on the human and on random trees."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import relative_error
from support.pinocchio_twin import Twin
from support.random_trees import ONE_DOF, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion

CHAINS = (
    *ONE_DOF,
    "cylindrical",
    "cardan",
    "planar",
    "fixed",
)  # joints that are chains of one-degree-of-freedom motions
TOLERANCE = 1e-11


@pytest.fixture(scope="module")
def walker() -> tuple[mg.Model, Twin]:
    model = human()
    return model, Twin(model)


def test_human_torques_and_all_derivatives(walker):
    model, twin = walker
    _, q, v, a = human_motion()
    D = mg.inverse_dynamics_derivatives(model, q, v, a)
    tau = mg.inverse_dynamics(model, q, v, a)
    dq, dv, da = D.dq.dense(), D.dv.dense(), D.da.dense()
    for k in range(0, 301, 7):
        wanted = twin.derivatives(q[k], v[k], a[k])
        assert relative_error(tau[k], twin.torques(q[k], v[k], a[k])) < TOLERANCE
        assert relative_error(D.tau[k], tau[k]) < 1e-13
        for got, want in zip((dq[k], dv[k], da[k]), wanted, strict=True):
            assert relative_error(got, want) < TOLERANCE
            assert np.count_nonzero(want) > 100


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_random_trees(seed, n):
    model = random_tree(seed, n, CHAINS)
    twin = Twin(model)
    if model.n_v == 0:
        return
    q, v, a = random_state(model, seed, nt=3)
    loads = random_loads(model, seed)
    tau = mg.inverse_dynamics(model, q, v, a, loads=loads)
    D = mg.inverse_dynamics_derivatives(model, q, v, a)
    for k in range(3):
        assert relative_error(tau[k], twin.torques(q[k], v[k], a[k], loads)) < TOLERANCE
        wanted = twin.derivatives(q[k], v[k], a[k])
        for got, want in zip((D.dq, D.dv, D.da), wanted, strict=True):
            assert relative_error(got.dense()[k], want) < TOLERANCE


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 15))
def test_forward_dynamics_and_its_derivatives(seed, n):
    model = random_tree(seed, n, ONE_DOF, massless=0.0)
    twin = Twin(model)
    q, v, tau = random_state(model, seed)
    state = twin.theirs(q, v, tau)
    want = pin.aba(twin.model, twin.data, *state)[twin.order]
    tolerance = 1e-12 * max(10.0, np.linalg.cond(mg.mass_matrix(model, q).dense()))
    assert relative_error(mg.forward_dynamics(model, q, v, tau), want) < tolerance
    pin.computeABADerivatives(twin.model, twin.data, *state)
    F = mg.forward_dynamics_derivatives(model, q, v, tau)
    for got, ref in ((F.dq, twin.data.ddq_dq), (F.dv, twin.data.ddq_dv)):
        assert relative_error(got, twin.ours(ref)) < tolerance
    assert relative_error(F.dtau, twin.ours(twin.data.Minv, symmetric=True)) < tolerance


def test_spherical_and_floating_joints_by_power():
    """Pinocchio measures their velocity in child axes, we in parent axes: tau_parent = R tau_child, at every joint."""
    rng = np.random.default_rng(5)
    bodies = [mg.Body(f"b{i}", 1.0 + i, rng.uniform(-0.3, 0.3, 3), np.diag([0.5, 0.6, 0.7])) for i in range(3)]
    origins = rng.uniform(-1, 1, (3, 3))
    model = mg.Model(
        "balls", bodies,
        [mg.Floating("base", "ground", "b0", origin=origins[0]), mg.Spherical("s1", "b0", "b1", origin=origins[1]),
         mg.Spherical("s2", "b1", "b2", origin=origins[2])],
        gravity=(1.0, -2.0, -9.0),
    )  # fmt: skip
    twin = pin.Model()
    twin.gravity.linear = np.asarray(model.gravity)
    parent = 0
    composite = pin.JointModelComposite()
    composite.addJoint(pin.JointModelTranslation())
    composite.addJoint(pin.JointModelSpherical())
    for k, joint in enumerate((composite, pin.JointModelSpherical(), pin.JointModelSpherical())):
        parent = twin.addJoint(parent, joint, pin.SE3(np.eye(3), origins[k]), f"j{k}")
        twin.appendBodyToJoint(
            parent, pin.Inertia(bodies[k].mass, bodies[k].com, bodies[k].inertia), pin.SE3.Identity()
        )
    q, v, a = random_state(model, 11)
    scale = np.array([1.7, 0.6, 2.0])  # any length of the Euler parameters stands for the same rotation
    q_theirs, v_theirs, a_theirs, turn = q.copy(), v.copy(), a.copy(), np.eye(12)[: model.n_v, : model.n_v]
    for k, (at, vat) in enumerate(((3, 3), (7, 6), (11, 9))):
        e = q[at : at + 4].copy()
        q_theirs[at : at + 4] = np.r_[e[1:], e[0]]
        R = pin.Quaternion(q_theirs[at : at + 4]).toRotationMatrix()
        v_theirs[vat : vat + 3], a_theirs[vat : vat + 3] = R.T @ v[vat : vat + 3], R.T @ a[vat : vat + 3]
        turn[vat : vat + 3, vat : vat + 3] = R
        q[at : at + 4] *= scale[k]
    want = turn @ pin.rnea(twin, twin.createData(), q_theirs, v_theirs, a_theirs)
    assert relative_error(mg.inverse_dynamics(model, q, v, a), want) < TOLERANCE
