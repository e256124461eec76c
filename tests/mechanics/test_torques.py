"""Torques of mechanisms with loops, constraints and force elements: against forward dynamics, drivers, virtual work."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from torque_cases import CASES, bricard_state, closed_twice, sprung_pendulum, stewart

import mechgrad as mg
from mechgrad.gallery import bricard, five_bar, five_bar_start, human, human_motion
from mechgrad.inverse.spatial import inverse_dynamics as tree_torques

TIMES = np.linspace(0.0, 0.2, 5)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]()


def columns(model, names):
    return [model.v_names.index(name) for name in names]


@pytest.mark.parametrize("which", ["driven", "more"])
def test_torques_are_those_that_forward_dynamics_turns_into_the_motion(case, which):
    driven = getattr(case, which)
    q, v, a = case.state()
    wanted = case.torques(driven)
    tau = mg.inverse_dynamics(case.model, q, v, a, driven=driven, t=case.t, loads=case.loads)
    used = columns(case.model, driven)
    assert np.abs(wanted[used]).min() > 1e-3
    # a few hundred roundings, times the condition of the reference: it divides by differences of accelerations
    np.testing.assert_allclose(tau, wanted, atol=1e-11 * np.abs(wanted).max())
    assert not np.delete(tau, used).any()


def test_torques_do_the_work_of_what_they_balance(case):
    q, v, a = case.state()
    tau = mg.inverse_dynamics(case.model, q, v, a, driven=case.more, t=case.t)
    r = mg.terms.motion_terms(case.model, q, v, a, t=case.t).r
    assert abs(r @ v) > 1e-2
    assert tau @ v == pytest.approx(r @ v, abs=1e-12 * np.abs(r * v).sum())
    assert abs(r @ v - tree_torques(case.model.open_tree(), q, v, a) @ v) > 1e-2 or not case.model.forces


def test_more_drives_than_freedoms_share_with_the_smallest_squares(case):
    """The projected equations by NumPy: pinv gives the solution of least norm."""
    q, v, a = case.state()
    r, Gamma = (
        mg.terms.motion_terms(case.model, q, v, a, t=case.t).r,
        mg.terms.constraint_terms(case.model, q, t=case.t).gamma,
    )
    R = null_space(Gamma)
    for driven in (case.more, list(case.model.v_names)):
        used = columns(case.model, driven)
        assert len(used) > R.shape[1]
        wanted = np.zeros(case.model.n_v)
        wanted[used] = np.linalg.pinv(R[used].T) @ (R.T @ r)
        tau = mg.inverse_dynamics(case.model, q, v, a, driven=driven, t=case.t)
        np.testing.assert_allclose(tau, wanted, atol=1e-11 * np.abs(wanted).max())
        assert np.linalg.norm(tau) < np.linalg.norm(
            mg.inverse_dynamics(case.model, q, v, a, driven=case.driven, t=case.t)
        )
    np.testing.assert_array_equal(tau, mg.inverse_dynamics(case.model, q, v, a, t=case.t))  # all, unless told


def test_multipliers_close_the_equations_of_motion(case):
    q, v, a = case.state()
    tau, lam = mg.inverse_dynamics(case.model, q, v, a, driven=case.driven, t=case.t, return_multipliers=True)
    r, Gamma = (
        mg.terms.motion_terms(case.model, q, v, a, t=case.t).r,
        mg.terms.constraint_terms(case.model, q, t=case.t).gamma,
    )
    assert np.abs(Gamma.T @ lam).max() > 0.05
    np.testing.assert_allclose(tau - Gamma.T @ lam, r, atol=1e-12 * np.abs(r).max() + 1e-13 * np.abs(lam).max())
    # no row depends on another here: these are the multipliers of forward dynamics
    _, wanted = mg.forward_dynamics(case.model, q, v, t=case.t, tau=tau, return_multipliers=True)
    np.testing.assert_allclose(lam, wanted, atol=1e-9 * np.abs(wanted).max())


def test_a_simulated_motion_gives_its_torques_back():
    applied = np.array([3.0, 0.0, -2.0, 0.0])
    motion = mg.simulate(five_bar(), five_bar_start(), duration=0.3, step=1e-3, tau=applied)
    tau = mg.inverse_dynamics(five_bar(), motion.q, motion.v, motion.a, driven=["A", "2"])
    # Newton's iteration leaves 1e-10 in coordinates, some 1e-6 of it in accelerations over steps of 1 ms
    np.testing.assert_allclose(tau, np.tile(applied, (301, 1)), atol=1e-4)
    still = mg.inverse_dynamics(five_bar(), motion.q, driven=["A", "2"])
    assert np.abs(still - applied).max() > 1.0  # the motion matters


def test_drivers_push_with_these_torques():
    """The same motion prescribed by drivers: their multipliers, reversed, are the torques."""
    drives = {
        "A": mg.functions.Harmonic(0.2, frequency=0.6, offset=-2.3),
        "2": mg.functions.Polynomial((1.1, 0.3, -0.8)),
    }
    free = five_bar()
    model = mg.Model(
        "driven", free.bodies, free.joints, free.points, gravity=free.gravity, forces=free.forces, cut=free.cut,
        constraints=[mg.constraints.Driver(f"drive {name}", name, f) for name, f in drives.items()],
    )  # fmt: skip
    motion = mg.kinematic_motion(model, TIMES, guess=five_bar_start())
    a, lam = mg.forward_dynamics(model, motion.q, motion.v, t=TIMES, return_multipliers=True)
    np.testing.assert_allclose(a, motion.a, atol=1e-8)
    tau = mg.inverse_dynamics(free, motion.q, motion.v, motion.a, driven=["A", "2"])
    assert np.ptp(tau[:, [0, 2]], axis=0).min() > 1.0
    np.testing.assert_allclose(tau[:, [0, 2]], -lam[:, -2:], atol=1e-9 * np.abs(lam).max())
    # with the drivers in the model nothing is left to be driven: they carry all of it
    none, carried = mg.inverse_dynamics(
        model, motion.q, motion.v, motion.a, t=TIMES, driven=["A", "1"], return_multipliers=True
    )
    assert np.abs(none).max() < 1e-9
    np.testing.assert_allclose(carried, lam, atol=1e-9 * np.abs(lam).max())
    # named coordinates are assembled to the same states
    z, zd, zdd = ({name: getattr(f, level)(TIMES) for name, f in drives.items()} for level in
                  ("__call__", "rate", "second"))  # fmt: skip
    named = mg.inverse_dynamics(free, z, zd, zdd, guess=five_bar_start(), driven=["A", "2"])
    np.testing.assert_allclose(named, tau, atol=1e-9 * np.abs(tau).max())


def test_legs_of_a_platform_push_as_the_guided_motion_says():
    legs = [f"leg {k}" for k in range(6)]
    at = {name: mg.functions.Polynomial((0.02 * (-1) ** k, 0.1 - 0.04 * k, 0.3 * k)) for k, name in enumerate(legs)}
    model = stewart()
    motion = mg.kinematic_motion(model, TIMES, at)
    wanted = motion.driving()
    tau = mg.inverse_dynamics(model, motion.q, motion.v, motion.a, driven=legs)
    for name in legs:
        assert np.abs(wanted[name]).max() > 1.0
        np.testing.assert_allclose(tau[:, model.v_names.index(name)], wanted[name], atol=1e-9)


# ---- rows that depend on each other


@pytest.mark.parametrize("miss", [0.0, 1e-6])
def test_a_linkage_with_a_row_too_many(miss):
    """Lagrange's equation of the one freedom: tau_A = (M a + h) . dq/dx; a state that misses a little keeps it."""
    model = bricard()
    q, v, a = bricard_state(0.4, 1.3, -2.0)
    direction = v / 1.3
    wanted = tree_torques(model.open_tree(), q, v, a) @ direction
    assert abs(wanted) > 1.0
    q = q + miss * np.array([1.0, -2.0, 0.5, 1.0, 0.0])
    tau, lam = mg.inverse_dynamics(model, q, v, a, driven=["A"], return_multipliers=True, tolerance=1e-4)
    assert tau[0] == pytest.approx(wanted, rel=1e-11 + 100 * miss)
    if not miss:
        Gamma = mg.terms.constraint_terms(model, q).gamma
        assert np.linalg.svd(Gamma)[1][-1] < 1e-12  # five rows, rank four
        left = null_space(Gamma.T, rcond=1e-9)
        assert left.shape[1] == 1
        np.testing.assert_allclose(left.T @ lam, 0.0, atol=1e-12 * np.abs(lam).max())  # the shortest multipliers
        np.testing.assert_allclose(tau - Gamma.T @ lam, tree_torques(model.open_tree(), q, v, a), atol=1e-11)


def test_a_closure_stated_twice_changes_nothing():
    m, twice, case = five_bar(), closed_twice(), CASES["five-bar"]()
    q, v, a = case.state()
    wanted, once = mg.inverse_dynamics(m, q, v, a, driven=case.driven, return_multipliers=True)
    tau, lam = mg.inverse_dynamics(twice, q, v, a, driven=case.driven, return_multipliers=True)
    assert len(lam) > len(once)
    np.testing.assert_allclose(tau, wanted, atol=1e-11)
    # two equal rows share alike
    np.testing.assert_allclose(np.sort(np.abs(lam)), np.sort(np.abs(np.repeat(once / 2, 2))), atol=1e-10)


# ---- trees


def test_a_tree_with_springs_there_and_back():
    model, rng = sprung_pendulum(), np.random.default_rng(2)
    q, v, tau = (rng.normal(size=(7, 2)) for _ in range(3))
    t = np.linspace(0.0, 0.6, 7)
    for k in range(7):
        a, _ = mg.forward_dynamics(model, q[k], v[k], t=t[k], tau=tau[k], return_multipliers=True)
        np.testing.assert_allclose(mg.inverse_dynamics(model, q[k], v[k], a, t=t[k]), tau[k], atol=1e-11)
        assert np.abs(tree_torques(model.open_tree(), q[k], v[k], a) - tau[k]).max() > 0.5  # springs are felt
    motion = mg.simulate(model, mg.state(model, q[0], v[0]), duration=0.2, step=1e-3, tau=tau[0])
    found = mg.inverse_dynamics(model, motion.q, motion.v, motion.a, t=motion.t)
    np.testing.assert_allclose(found, np.tile(tau[0], (len(motion.t), 1)), atol=1e-5)


def test_loads_may_change_from_state_to_state():
    model, rng = sprung_pendulum(), np.random.default_rng(3)
    q, v, a, force = *(rng.normal(size=(4, 2)) for _ in range(3)), rng.normal(size=(4, 3))
    point = (0.1, 0.2, -0.3)
    tau = mg.inverse_dynamics(model, q, v, a, loads=[mg.Load("lower", force, point=point)])
    bare = mg.inverse_dynamics(model, q, v, a)
    assert np.abs(tau - bare).min() > 1e-3
    for k in range(4):
        one = mg.inverse_dynamics(model, q[k], v[k], a[k], loads=[mg.Load("lower", force[k], point=point)])
        np.testing.assert_allclose(tau[k], one, rtol=1e-13, atol=1e-13)
    out = np.empty((4, 2))
    assert mg.inverse_dynamics(model, q, v, a, out=out) is out
    np.testing.assert_array_equal(out, bare)


def test_plain_trees_go_their_old_way():
    model = human()
    _, q, v, a = human_motion(samples=9)
    np.testing.assert_array_equal(mg.inverse_dynamics(model, q, v, a), tree_torques(model, q, v, a))
    loaded = {"loads": [mg.Load("foot_right", force=(0, 0, 380))], "threads": 2}
    np.testing.assert_array_equal(mg.inverse_dynamics(model, q, v, a, **loaded), tree_torques(model, q, v, a, **loaded))
    tau, lam = mg.inverse_dynamics(model, q, v, a, driven=list(model.v_names), return_multipliers=True)
    np.testing.assert_array_equal(tau, tree_torques(model, q, v, a))
    assert lam.shape == (9, 0)
