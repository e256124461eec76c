"""Motions over time against closed forms, against scipy, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import chain, double_pendulum
from mechgrad.simulation.simulate import simulate
from mechgrad.simulation.trajectory import StepFailed

PENDULUM = mg.Model(
    "pendulum", [mg.Body("bob", 2.0, (0, 0, -1.0))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
)
TOP = mg.Model(
    "top", [mg.Body("b", 1.0, (0, 0, 0), (1.0, 2.0, 3.0))], [mg.Spherical("s", "ground", "b")], gravity=(0, 0, 0)
)


def floating():
    body = mg.Body("b", 1.5, (0.1, -0.05, 0.2), (0.4, 0.5, 0.6))
    arm = mg.Body("arm", 0.7, (0, 0, -0.3), (0.05, 0.05, 0.01))
    joints = [mg.Floating("f", "ground", "b"), mg.Spherical("s", "b", "arm", origin=(0, 0.2, 0))]
    return mg.Model("floating", [body, arm], joints)


def pendulum_angle(t, amplitude):
    """Released from rest: sin(q/2) = k sn(K - w t), k = sin(amplitude / 2)."""
    k = np.sin(amplitude / 2)
    sn = ellipj(ellipk(k**2) - np.sqrt(9.81) * t, k**2)[0]
    return 2 * np.arcsin(k * sn)


@pytest.mark.parametrize("how", [{"rtol": 1e-11, "atol": 1e-11}, {"step": 1e-3}])
def test_pendulum_by_elliptic_functions(how):
    motion = simulate(PENDULUM, [2.0], duration=3.0, **how)
    np.testing.assert_allclose(motion.q[:, 0], pendulum_angle(motion.t, 2.0), atol=2e-9)
    assert motion.ended == "duration"
    np.testing.assert_allclose(motion.a[:, 0], -9.81 * np.sin(motion.q[:, 0]), atol=1e-10)
    assert np.ptp(motion.energy()) < 1e-7
    assert np.ptp(motion.kinetic_energy()) > 10


def test_torque_free_top_by_elliptic_functions():
    """Body rates of a free rigid body with I = (1, 2, 3) are Jacobi functions; rates here are in parent axes."""
    I1, I2, I3 = 1.0, 2.0, 3.0
    w0 = np.array([0.9, 0.0, 1.1])
    motion = simulate(TOP, mg.state(TOP, TOP.neutral(), w0), 6.0, rtol=1e-12, atol=1e-12)
    R = mg.kinematics.body_motion(TOP, motion.q).R[:, 0]
    body = np.einsum("tij,ti->tj", R, motion.v)
    H2, T2 = (np.array([I1, I2, I3]) ** 2) @ w0**2, np.array([I1, I2, I3]) @ w0**2
    assert H2 > T2 * I2, "the branch of the closed form"
    a1 = np.sqrt((T2 * I3 - H2) / (I1 * (I3 - I1)))
    a2 = np.sqrt((T2 * I3 - H2) / (I2 * (I3 - I2)))
    a3 = np.sqrt((H2 - T2 * I1) / (I3 * (I3 - I1)))
    m = (I2 - I1) * (T2 * I3 - H2) / ((I3 - I2) * (H2 - T2 * I1))
    rate = np.sqrt((I3 - I2) * (H2 - T2 * I1) / (I1 * I2 * I3))
    sn, cn, dn, _ = ellipj(rate * motion.t, m)
    np.testing.assert_allclose(body, np.stack([a1 * cn, a2 * sn, a3 * dn], axis=1), atol=1e-9)
    H = np.einsum("tij,j,tj->ti", R, [I1, I2, I3], body)
    np.testing.assert_allclose(H, H[:1].repeat(len(H), axis=0), atol=1e-9)
    assert np.linalg.norm(motion.q[-1]) == pytest.approx(1, abs=1e-9)


def test_order_of_the_fixed_step():
    model = double_pendulum()
    truth = simulate(model, [1.0, 0.5], duration=2.0, samples=11, rtol=1e-13, atol=1e-13)
    steps, errors = np.array([0.02, 0.01, 0.005, 0.0025]), []
    for h in steps:
        found = simulate(model, [1.0, 0.5], duration=2.0, samples=11, step=h)
        errors.append(np.max(np.abs(np.hstack([found.q - truth.q, found.v - truth.v]))))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(4, abs=0.3), errors


@pytest.mark.parametrize("model", [double_pendulum(), floating(), chain(5)], ids=lambda m: m.name)
def test_error_control_against_scipy(model):
    rng = np.random.default_rng(0)
    q0, v0 = model.integrate(model.neutral(), rng.normal(0, 0.4, model.n_v)), rng.normal(0, 0.5, model.n_v)
    tau = rng.normal(0, 0.3, model.n_v)
    loads = [mg.Load(model.bodies[-1].name, force=(0.3, -0.2, 0.5), point=(0, 0, 0.1))]
    motion = simulate(model, mg.state(model, q0, v0), 1.5, tau=tau, loads=loads, rtol=1e-11, atol=1e-11, samples=16)
    n_q = model.n_q

    def slope(_, y):
        q, v = y[:n_q], y[n_q:]
        h = 1e-30
        dq = np.asarray(model.integrate(q.astype(complex), 1j * h * v)).imag / h
        return np.concatenate([dq, mg.forward_dynamics(model, q, v, tau, loads=loads)])

    wanted = solve_ivp(slope, (0, 1.5), np.r_[q0, v0], "DOP853", motion.t, rtol=1e-11, atol=1e-11).y.T
    np.testing.assert_allclose(motion.v, wanted[:, n_q:], atol=1e-7)
    same = (
        mg.kinematics.body_motion(model, motion.q),
        mg.kinematics.body_motion(model, np.ascontiguousarray(wanted[:, :n_q])),
    )
    np.testing.assert_allclose(same[0].p, same[1].p, atol=1e-8)
    np.testing.assert_allclose(same[0].R, same[1].R, atol=1e-8)
    assert motion.steps > 5


def test_tighter_tolerances_cost_more_and_give_more():
    model = double_pendulum()
    truth = simulate(model, [2.0, 0.5], duration=3.0, rtol=1e-13, atol=1e-13).q[-1]
    found = [simulate(model, [2.0, 0.5], duration=3.0, rtol=e, atol=e) for e in (1e-4, 1e-7, 1e-10)]
    errors = [np.max(np.abs(m.q[-1] - truth)) for m in found]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-8
    assert found[0].steps < found[1].steps < found[2].steps


@pytest.mark.parametrize("batch", [1, 3, 8, 11])
def test_many_starts_in_lanes_are_single_motions(batch):
    model = floating()
    rng = np.random.default_rng(batch)
    q0 = np.array([model.integrate(model.neutral(), rng.normal(0, 0.5, model.n_v)) for _ in range(batch)])
    v0 = rng.normal(0, 0.5, (batch, model.n_v))
    together = simulate(model, mg.state(model, q0, v0), 0.2, step=0.01)
    assert together.q.shape == (batch, 21, model.n_q)
    assert together.energy().shape == (batch, 21)
    for k in range(batch):
        alone = simulate(model, mg.state(model, q0[k], v0[k]), 0.2, step=0.01)
        np.testing.assert_allclose(together.q[k], alone.q, atol=1e-13)
        np.testing.assert_allclose(together.v[k], alone.v, atol=1e-12)
        np.testing.assert_allclose(together.a[k], alone.a, atol=1e-11)


def test_complex_step_through_a_motion():
    model, h = double_pendulum(), 1e-30
    moved = simulate(model, np.array([1.0 + 1j * h, 0.5]), duration=1.0, step=0.01)
    by_start = moved.q[-1].imag / h
    ends = [simulate(model, [1.0 + s * 1e-5, 0.5], duration=1.0, step=0.01).q[-1] for s in (1, -1)]
    np.testing.assert_allclose(by_start, (ends[0] - ends[1]) / 2e-5, rtol=1e-6)
    stepped = model.with_values({"lower.mass": model.value("lower.mass") + 1j * h})
    by_mass = simulate(stepped, [1.0, 0.5], duration=1.0, step=0.01).q[-1].imag / h
    assert np.max(np.abs(by_mass)) > 1e-3


@pytest.mark.parametrize("how", [{}, {"step": 2e-3}])
def test_stop_where_a_condition_changes_sign(how):
    """A free fall by 1 m ends after sqrt(2 / g)."""
    model = mg.Model("drop", [mg.Body("b", 1.0)], [mg.Prismatic("z", "ground", "b", axis=(0, 0, 1))])
    motion = simulate(model, [1.0], duration=2.0, stop=lambda t, q, v: q[:, 0], **how)
    assert motion.ended == "stop"
    assert motion.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-11)
    assert abs(motion.q[-1, 0]) < 1e-11
    assert np.all(motion.q[:-1, 0] > 0)
    again = simulate(model, [1.0], duration=0.2, stop=lambda t, q, v: q[:, 0], **how)
    assert again.ended == "duration"
    with pytest.raises(mg.InputError, match="stop returned shape"):
        simulate(model, [1.0], 1.0, stop=lambda t, q, v: q, **how)


def test_samples_choose_the_instants_not_the_motion():
    few, many = (simulate(PENDULUM, [2.0], duration=3.0, samples=n) for n in (4, 301))
    np.testing.assert_allclose(few.q, many.q[::100], atol=1e-8)
    assert few.steps == many.steps
    rough = simulate(PENDULUM, [2.0], duration=3.0, step=0.01, samples=4)
    fine = simulate(PENDULUM, [2.0], duration=3.0, step=0.01)
    np.testing.assert_array_equal(rough.q, fine.q[::100])


def test_progress_is_shown_and_changes_nothing(capsys):
    quiet = simulate(PENDULUM, [2.0], duration=3.0)
    loud = simulate(PENDULUM, [2.0], duration=3.0, progress=True)
    assert "100 %" in capsys.readouterr().out
    np.testing.assert_allclose(quiet.q, loud.q, atol=1e-8)


def test_a_march_that_cannot_go_on_keeps_the_motion_so_far():
    rod = mg.Model("rod", [mg.Body("b", 1.0)], [mg.Revolute("r", "ground", "b")])  # spins no inertia
    for how in ({}, {"step": 0.1}):
        with pytest.raises(mg.errors.SingularMassMatrixError, match="'r' moves no inertia"):
            simulate(rod, [0.0], duration=1.0, **how)
    wild = chain(6)
    with pytest.raises(StepFailed, match=r"not finite.*shorter step") as caught:
        simulate(wild, mg.state(wild, np.full(6, 0.5), np.full(6, 1e155)), 1.0, step=0.5)
    assert caught.value.trajectory.q.shape[0] >= 1


def test_results_know_more():
    motion = simulate(double_pendulum(), [1.0, 0.5], duration=1.0, samples=11)
    assert motion.markers(["tip"]).position.shape == (11, 1, 3)
    assert motion.reactions().force.shape == (11, 2, 3)
    assert len(motion.plot().axes) == 3


def test_bad_input():
    model = double_pendulum()
    cases = [
        ({"q0": [1.0]}, "q has shape"),
        ({"q0": [1.0, np.nan]}, "q of 'elbow' is nan"),
        ({"v0": [[0.0, 0.0]]}, "v has shape"),
        ({"duration": -1.0}, "duration is -1"),
        ({"scheme": "rk4"}, "needs a step"),
        ({"step": 0.3}, "not a whole number of steps"),
        ({"step": 0.01, "samples": 8}, "evenly spaced samples"),
        ({"step": 3.0}, "not longer than the duration"),
        ({"samples": 1}, "at least 2"),
        ({"rtol": 0.0}, "must be positive"),
        ({"tau": [1.0]}, "tau has shape"),
        ({"q0": [[1.0, 0.5]] * 3, "v0": [[0.0, 0.0]] * 2, "step": 0.1}, "3 starts and v 2"),
        ({"q0": [[1.0, 0.5]] * 3}, "takes one start"),
    ]
    for change, message in cases:
        given = {"q0": [1.0, 0.5], "duration": 1.0} | change
        with pytest.raises(mg.InputError, match=message):
            simulate(model, mg.state(model, given.pop("q0"), given.pop("v0", None)), **given)
    with pytest.raises(UnknownNameError, match=r"unknown scheme 'euler'\. Known: newmark, trapezoidal, hht"):
        simulate(model, [1.0, 0.5], 1.0, scheme="euler")
