"""Bodies that tumble: explicit steps keep the tolerance, results keep their axes, Euler parameters length one."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_trees import random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import free_top, free_top_motion, heavy_top, slider_crank, tops
from mechgrad.simulation.simulate import simulate_again

SCHEMES = ("dop853", "rk4", "trapezoidal", "newmark", "hht", "generalized-alpha")
CONTROLLED = tuple(scheme for scheme in SCHEMES if scheme != "rk4")


def rotations(e):
    """R(e) of Euler parameters (nt, 4) of length one."""
    return np.array([tops._rotation(x) for x in e])


def lengths(motion, model):
    return np.linalg.norm(motion.q[:, model.layout.ball_q], axis=-1)


def pinned_top():
    """The free top held at its centre by a ball: the same rotation."""
    model, q, v = free_top()
    return mg.Model("pinned", model.bodies, [mg.Spherical("pin", "ground", "top")], gravity=(0, 0, 0)), q[3:], v[3:]


@pytest.mark.parametrize("make", [free_top, pinned_top])
def test_error_control_keeps_a_tumbling_body_where_it_is(make):
    model, q, v = make()
    motion = mg.simulate(model, mg.state(model, q, v), 10.0)
    R, w = free_top_motion(motion.t)
    assert (np.einsum("tji,tj->ti", R, w)[:, 1] < -5.0).any()  # tipped over, and back again
    # 1e-9, grown a thousandfold by the motion itself; velocities carried in parent axes leave 7e-2 and 1e-1
    assert np.abs(rotations(motion.q[:, -4:]) - R).max() < 1e-6
    assert np.abs(motion.v[:, -3:] - w).max() < 1e-6


def test_fixed_steps_keep_a_tumbling_body_where_it_is():
    model, q, v = free_top()
    motion = mg.simulate(model, mg.state(model, q, v), 6.0, scheme="rk4", step=5e-3, samples=61)
    R, w = free_top_motion(motion.t)
    # parent axes: 8e-4 and 3e-3
    assert np.abs(rotations(motion.q[:, 3:]) - R).max() < 2e-6
    assert np.abs(motion.v[:, 3:] - w).max() < 2e-6
    # batches in lanes are the same motion
    both = mg.simulate(model, mg.state(model, np.stack([q, q]), np.stack([v, 0.5 * v])), 6.0, step=5e-3, samples=61)
    assert np.abs(both.v[0] - motion.v).max() < 1e-10
    assert np.abs(both.v[1] - motion.v).max() > 1.0


@pytest.mark.parametrize("how", [{"scheme": "dop853"}, {"scheme": "rk4", "step": 2e-4}], ids=["dop853", "rk4"])
def test_velocities_and_accelerations_are_reported_in_parent_axes(how):
    """On parents that turn themselves: rates of what is reported, by differences over five instants."""
    model = random_tree(3, 5, kinds=("spherical", "revolute"), massless=0.0)
    q, v, _ = random_state(model, 1)
    motion = mg.simulate(model, mg.state(model, q, v), 0.01, samples=51, **how)
    h, balls = motion.t[1] - motion.t[0], model.layout
    assert len(balls.ball_q) >= 2

    def rate(x):
        return (8 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12 * h)

    middle = slice(2, -2)
    size = np.abs(motion.a[middle]).max()
    assert np.abs(rate(motion.v) - motion.a[middle]).max() < 1e-6 * size  # h^4 and rounding 1e-16 / h
    for at_q, at_v in zip(balls.ball_q, balls.ball_v, strict=True):
        e, de = motion.q[middle][:, at_q], rate(motion.q[:, at_q])
        w = 2 * (e[:, :1] * de[:, 1:] - de[:, :1] * e[:, 1:] + np.cross(e[:, 1:], de[:, 1:]))
        there = motion.v[middle][:, at_v]
        assert np.abs(there - np.einsum("tji,tj->ti", rotations(e), there)).max() > 0.1  # child axes are others
        assert np.abs(w - there).max() < 1e-6 * np.abs(there).max()


def test_stop_conditions_see_parent_axes():
    model, q, v = free_top()
    exact = free_top_motion(np.linspace(0.0, 6.0, 6001))[1][:, 2]
    level = (exact.min() + exact.max()) / 2
    first = np.flatnonzero((exact[1:] - level) * (exact[:-1] - level) < 0)[0]
    motion = mg.simulate(model, mg.state(model, q, v), 6.0, stop=lambda t, q, v: v[:, 5] - level)
    assert motion.ended == "stop"
    assert first / 1000 <= motion.t[-1] <= (first + 1) / 1000
    assert abs(motion.v[-1, 5] - level) < 1e-9


@pytest.mark.parametrize("make", [free_top, heavy_top])
def test_held_steps_are_those_that_were_taken(make):
    model, q, v = make()
    motion = mg.simulate(model, mg.state(model, q, v), 0.5)
    again = simulate_again(motion, model, mg.state(model, q, v))
    assert np.array_equal(again.q, motion.q)
    assert np.array_equal(again.v, motion.v)


@pytest.mark.parametrize("how", [{"scheme": "dop853"}, {"scheme": "rk4", "step": 0.02}], ids=["dop853", "rk4"])
def test_gradients_of_tumbling_bodies_are_those_of_the_steps(how):
    model, q, v = free_top()
    motion = mg.simulate(model, mg.state(model, q, v), 1.0, samples=11, **how)
    goals = {
        "turn": mg.AtEnd(lambda w: w[:, 0] + 2 * w[:, 1] - w[:, 2], mg.measures.PointVelocity("top.spin")),
        "speed": mg.Integral(lambda x: x**3, mg.measures.JointVelocity("free.wz")),
    }
    wrt = ["top.inertia.yy", "top.inertia.xz", "start.velocity.free.wx", "start.position.free.wy", "top.inertia.zz"]
    found = {method: mg.gradient(motion, goals, wrt, method=method) for method in ("direct", "adjoint")}
    certificate = found["adjoint"].certify()
    assert certificate.passed, certificate
    values = [np.asarray(x.array) for x in found.values()]
    assert np.abs(values[0]).min() > 1e-6
    assert np.allclose(*values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("length", [2.0, 0.3, -3.0])
@pytest.mark.parametrize(
    ("scheme", "step"), [(scheme, 0.01) for scheme in SCHEMES] + [(scheme, None) for scheme in CONTROLLED]
)
def test_euler_parameters_of_any_length_start_the_same_motion(scheme, step, length):
    model, _, _ = heavy_top()
    q, v = tops.TURNED, np.array([0.3, 9.0, -0.5])
    how = {"duration": 0.2, "scheme": scheme, "step": step, "samples": 11}
    one, other = (
        mg.simulate(model, mg.state(model, q, v), **how),
        mg.simulate(model, mg.state(model, length * q, v), **how),
    )
    assert np.ptp(one.v[:, 0]) > 0.1
    for motion in (one, other):
        # products of lengths one, rounded in each of up to 20000 steps: the root of that times 2e-16
        assert np.abs(lengths(motion, model) - 1.0).max() < 3e-14
    # divided by its length, the start is the same but for its last digits
    assert np.abs(np.sign(length) * other.q - one.q).max() < 1e-11
    assert np.abs(other.v - one.v).max() < 1e-10


def test_batches_of_any_length():
    model, _, _ = heavy_top()
    starts, v = np.stack([tops.TURNED, 5.0 * tops.TURNED]), np.tile([0.3, 9.0, -0.5], (2, 1))
    motion = mg.simulate(model, mg.state(model, starts, v), 0.2, step=0.01)
    assert np.abs(np.linalg.norm(motion.q, axis=-1) - 1.0).max() < 1e-14
    assert np.abs(motion.v[1] - motion.v[0]).max() < 1e-12


@pytest.mark.parametrize(
    "how", [{"scheme": "dop853"}, {"scheme": "trapezoidal", "step": 0.01}], ids=["dop853", "implicit"]
)
def test_derivatives_do_not_feel_the_length_of_the_start(how):
    model, _, _ = heavy_top()
    goal = mg.AtEnd(lambda x: x[:, 2] + x[:, 0], mg.measures.PointPosition("centre"))
    wrt = ["top.mass", "start.position.tip.wx", "start.velocity.tip.wz"]
    found = []
    for length in (1.0, 2.5):
        motion = mg.simulate(model, mg.state(model, length * tops.TURNED, [0.3, 9.0, -0.5]), 0.2, samples=11, **how)
        g = mg.gradient(motion, goal, wrt)
        assert g.certify().passed
        found.append(np.asarray(g.array))
    assert np.abs(found[0]).min() > 1e-4
    assert np.allclose(found[0], found[1], rtol=1e-8, atol=0)


def test_loops_start_with_length_one_from_any_guess():
    model = slider_crank(cut="slide")
    crank = {"crank axis": 0.4}
    near = mg.assemble(model, crank).q
    far = near.copy()
    far[model.layout.ball_q] *= 2.0
    start = mg.assemble(model, crank, {"crank axis": 3.0}, guess=far)
    assert np.abs(np.linalg.norm(start.q[model.layout.ball_q], axis=-1) - 1.0).max() < 1e-14
    assert np.abs(start.q - near).max() < 1e-9
    for formulation in ("ali3p", "index1", "matrix-r"):
        motion = mg.simulate(model, start, duration=0.02, step=1e-3, formulation=formulation)
        given = start.q.copy()
        given[model.layout.ball_q] *= 2.0
        other = mg.simulate(model, mg.state(model, given, start.v), 0.02, step=1e-3, formulation=formulation)
        assert np.abs(lengths(other, model) - 1.0).max() < 3e-14
        assert np.abs(other.q - motion.q).max() < 1e-9


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_rotation_is_refused(scheme):
    model, _, v = heavy_top()
    with pytest.raises(mg.InputError, match=r"Euler parameters.* all zero"):
        mg.simulate(model, mg.state(model, np.zeros(4), v), 0.1, scheme=scheme, step=0.01)
