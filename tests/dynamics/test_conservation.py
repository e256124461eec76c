"""What a motion keeps: energy of conservative loops, momentum of floating bodies; and equal ways to the same motion."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.system import System
from mechgrad.gallery import chain
from mechgrad.gallery.mechanisms import five_bar, five_bar_start
from mechgrad.simulation.simulate import simulate
from mechgrad.steps.schemes import HHT, GeneralizedAlpha, Trapezoidal

SECOND_ORDER = ("trapezoidal", "newmark", "hht", "generalized-alpha")


def floating():
    """A body with an arm on a ball, far from any symmetry."""
    bodies = [
        mg.Body("hull", 1.5, (0.1, -0.05, 0.2), (0.4, 0.5, 0.6)),
        mg.Body("arm", 0.7, (0, 0.1, -0.3), (0.05, 0.06, 0.02)),
    ]
    joints = [mg.Floating("free", "ground", "hull"), mg.Spherical("ball", "hull", "arm", origin=(0, 0.2, 0))]
    return mg.Model("floating", bodies, joints, gravity=(0, 0, 0))


FLOATING = floating()
RNG = np.random.default_rng(3)
Q0 = np.asarray(FLOATING.integrate(FLOATING.neutral(), RNG.normal(0, 0.4, FLOATING.n_v)))
V0 = RNG.normal(0, 1.0, FLOATING.n_v)


def momenta(motion):
    """Linear momentum, and angular momentum about the world's origin, (nt, 6)."""
    model = motion.model
    at = mg.kinematics.body_motion(model, motion.q, motion.v)
    total = np.zeros((len(motion.t), 6))
    for body in model.bodies:
        pose = at.of(body.name)
        arm = np.einsum("tij,j->ti", pose.R, np.asarray(body.com))
        p = body.mass * (pose.v + np.cross(pose.w, arm))
        spin = np.einsum("tij,jk,tlk,tl->ti", pose.R, body.inertia, pose.R, pose.w)
        total += np.hstack([p, np.cross(pose.p + arm, p) + spin])
    return total


def energy_of_loop(step, duration):
    every = round(0.02 / step)
    samples = round(duration / step) // every + 1
    return simulate(
        five_bar(),
        five_bar_start(),
        duration=duration,
        formulation="ali3p",
        scheme="trapezoidal",
        step=step,
        samples=samples,
    ).energy()


# ---- loops


def test_energy_of_a_loop_shrinks_with_second_order():
    steps = np.array([4e-3, 2e-3, 1e-3])
    drifts = [np.ptp(energy_of_loop(h, 5.0)) for h in steps]
    assert np.polyfit(np.log(steps), np.log(drifts), 1)[0] == pytest.approx(2.0, abs=0.1), drifts


def test_energy_of_a_loop_stays_bounded():
    """Twenty seconds are no worse than five: the error oscillates, it does not grow."""
    energy = energy_of_loop(2e-3, 20.0)
    away = np.abs(energy - energy[0])
    assert away.max() < 2.0 * away[:251].max()
    assert away.max() < 2e-2  # [J], of the 60 J that gravity and springs exchange


@pytest.mark.parametrize(
    ("scheme", "radius"),
    [
        (GeneralizedAlpha(0.5), 0.5),
        (GeneralizedAlpha(0.8), 0.8),
        (HHT(0.3), 0.7 / 1.3),
        (HHT(0.1), 0.9 / 1.1),
        (Trapezoidal(), 1.0),
        (GeneralizedAlpha(1.0), 1.0),
    ],
    ids=str,
)
def test_damping_of_what_a_step_cannot_resolve(scheme, radius):
    """An oscillator ten thousand times faster than the step: amplitudes shrink by the spectral radius in each step.

    HHT: (1 - damping) / (1 + damping). Triple eigenvalues add a factor n^2, so that the ratio over n = 100 to 200 is up
    to four times larger.
    """
    spring = mg.forces.TorsionSpring("spring", "x", stiffness=1e8)
    model = mg.Model(
        "oscillator", [mg.Body("b", 1.0)], [mg.Prismatic("x", "ground", "b")], gravity=(0, 0, 0), forces=[spring]
    )
    motion = simulate(model, [1e-3], duration=200.0, scheme=scheme, step=1.0)
    size = np.abs(motion.q[:, 0])
    assert np.log(size[200] / size[100]) / 100 == pytest.approx(np.log(radius), abs=np.log(4.2) / 100)


# ---- floating bodies


@pytest.mark.parametrize("how", [{"rtol": 1e-11, "atol": 1e-11}, {"step": 1e-3}], ids=["dop853", "rk4"])
def test_explicit_motions_keep_momentum(how):
    motion = simulate(FLOATING, mg.state(FLOATING, Q0, V0), 2.0, formulation="fully-recursive", samples=21, **how)
    kept = momenta(motion)
    assert np.abs(kept[0]).min() > 0.05
    np.testing.assert_allclose(kept, np.tile(kept[0], (len(kept), 1)), rtol=0, atol=1e-8)
    assert np.ptp(motion.energy()) < 1e-8
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:7], axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("scheme", SECOND_ORDER)
def test_implicit_motions_approach_the_explicit_one(scheme):
    """Second order in poses and momenta, with Euler parameters of length one."""
    truth = simulate(FLOATING, mg.state(FLOATING, Q0, V0), 1.0, samples=6, rtol=1e-12, atol=1e-12)
    wanted = mg.kinematics.body_motion(FLOATING, truth.q)
    steps, errors, lost = np.array([4e-3, 2e-3, 1e-3]), [], []
    for h in steps:
        motion = simulate(
            FLOATING, mg.state(FLOATING, Q0, V0), 1.0, formulation="semi-recursive", scheme=scheme, step=h, samples=6
        )
        found = mg.kinematics.body_motion(FLOATING, motion.q)
        errors.append(max(np.abs(found.R - wanted.R).max(), np.abs(found.p - wanted.p).max()))
        lost.append(np.abs(momenta(motion) - momenta(motion)[0]).max())
        np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:7], axis=1), 1.0, atol=1e-12)
    for misses in (errors, lost):
        assert np.polyfit(np.log(steps), np.log(misses), 1)[0] == pytest.approx(2.0, abs=0.1), misses
    assert errors[-1] < 1e-5


@pytest.mark.parametrize("scheme", SECOND_ORDER)
@pytest.mark.parametrize(
    ("model", "v0"), [(FLOATING, V0), (chain(6), np.linspace(-1, 1, 6))], ids=["floating", "chain"]
)
def test_both_ways_of_trees_take_the_same_steps(model, v0, scheme):
    """Newton's iteration on M a + h = 0 and fixed-point iteration on a(q, v) end in the same discrete motion."""
    q0 = Q0 if model is FLOATING else np.linspace(0.2, 0.7, 6)
    newton, fixed_point = (
        simulate(model, mg.state(model, q0, v0), 0.1, formulation=name, scheme=scheme, step=1e-3)
        for name in ("semi-recursive", "fully-recursive")
    )
    np.testing.assert_allclose(fixed_point.q, newton.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(fixed_point.v, newton.v, rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", [FLOATING, chain(6), chain(20)], ids=lambda model: f"{model.name}-{model.n_v}")
def test_recursive_accelerations_are_those_of_the_mass_matrix(model):
    rng = np.random.default_rng(8)
    q = np.asarray(model.integrate(np.tile(model.neutral(), (5, 1)), rng.normal(0, 0.5, (5, model.n_v))))
    v, tau = rng.normal(size=(5, model.n_v)), rng.normal(size=model.n_v)
    a, _, row, _ = System(model, tau).accelerations(q, v, np.zeros(5))
    assert row == -1
    for k in range(5):
        M, bias = mg.mass_matrix(model, q[k]).dense(), mg.inverse_dynamics(model, q[k], v[k], np.zeros(model.n_v))
        wanted = np.linalg.solve(M, tau - bias)
        np.testing.assert_allclose(a[k], wanted, rtol=0, atol=1e-12 * np.linalg.cond(M) * np.abs(wanted).max())


def test_accelerations_of_a_motion_are_those_of_its_states():
    motion = simulate(
        FLOATING, mg.state(FLOATING, Q0, V0), 0.5, formulation="semi-recursive", scheme="trapezoidal", step=5e-3
    )
    a, _, _, _ = System(FLOATING).accelerations(motion.q, motion.v, motion.t)
    np.testing.assert_allclose(motion.a, a, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.kinetic_energy(), motion.energy())
