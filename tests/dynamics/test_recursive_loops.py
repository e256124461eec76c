"""Recursive elimination of closed mechanisms: the same accelerations and motions as with matrices, O(n)."""

from __future__ import annotations

import hard_mechanisms as hard
import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery
from mechgrad.dynamics.fully_recursive import FullyRecursive
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.loop_plan import recursive_plan
from mechgrad.dynamics.system import System
from mechgrad.errors import MechgradError


def _four_bars():
    model, start = gallery.four_bars(3)
    return model, mg.state(model, *start(1.9, -1.0))


def _with_start(make, start):
    model = make()
    return model, start(model)


def _geared():
    """A gear and a driver, both rows of coordinates, one closing at an atom and one in the world; and a ball."""
    bars = [mg.Body(name, 1.0, (0.5, 0, 0), (0.1, 0.2, 0.3)) for name in "abcd"]
    joints = [
        mg.Revolute("1", "ground", "a"),
        mg.Revolute("2", "a", "b", (1, 0, 0)),
        mg.Spherical("3", "b", "c", (1, 0, 0)),
        mg.Revolute("4", "a", "d", (0.5, 0, 0)),
    ]
    rows = [mg.constraints.Gear("mesh", "2", "4", -2.0), mg.constraints.Driver("drive", "1", 0.3)]
    model = mg.Model("geared", bars, joints, constraints=rows)
    return model, mg.state(model, model.neutral())


CASES = {
    "four-bars": _four_bars,
    "five-bar": lambda: (gallery.five_bar(), gallery.five_bar_start()),
    "slider-crank": lambda: _with_start(
        gallery.slider_crank, lambda m: mg.assemble(m, {m.q_names[0]: 0.3}, {m.v_names[0]: 4.0})
    ),
    "seven bodies": lambda: _with_start(gallery.seven_body, gallery.seven_body_start),
    "stewart": lambda: _with_start(
        gallery.stewart_platform, lambda m: gallery.stewart_platform_start(m, rates=(0.3, -0.2, 0.1, 0.2, -0.1, 0.05))
    ),
    "delta": lambda: _with_start(gallery.delta_robot, gallery.delta_robot_start),
    "rolling bicycle": lambda: _with_start(
        lambda: gallery.bicycle("rolling"), lambda m: gallery.bicycle_start(m, lean=0.1)
    ),
    "buggy": lambda: _with_start(gallery.buggy, lambda m: mg.state(m, m.neutral())),
    "geared": _geared,
}


@pytest.mark.parametrize("name", CASES)
def test_accelerations_beside_matrices(name):
    """At states without symmetry, on the constraints or not: also rows at velocity level, gears, laws, balls."""
    model, start = CASES[name]()
    start = start if hasattr(start, "q") else mg.state(model, start)
    system, rng = System(model), np.random.default_rng(1)
    q = np.asarray(model.integrate(np.tile(start.q, (3, 1)), 0.01 * rng.normal(size=(3, model.n_v))))
    v, t = rng.normal(size=(3, model.n_v)), np.zeros(3)
    wanted = system.accelerations(q, v, t)
    found = system.accelerations(q, v, t, recursive=True)
    assert np.abs(wanted[1]).max() > 1e-3
    for got, expected in zip(found[:2], wanted[:2], strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["four-bars", "five-bar", "slider-crank", "stewart"])
def test_motions_beside_matrices(name):
    model, start = CASES[name]()
    how = {"scheme": "rk4", "step": 1e-3, "samples": 11}
    dense = mg.simulate(model, start, 0.05, formulation=Index1(matrices="dense"), **how)
    moved = mg.simulate(model, start, 0.05, formulation="fully-recursive", step=1e-3, samples=11)
    assert np.ptp(dense.q, axis=0).max() > 1e-4
    for what in ("q", "v", "a", "multipliers"):
        wanted, got = getattr(dense, what), getattr(moved, what)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-11 * max(1.0, np.abs(wanted).max()), err_msg=what)
    assert moved.norms[:, :2].max() < 1e-13


def test_change_points_and_rows_that_depend_on_others():
    """A row of parallelograms through both its change points, beside its closed form; Bennett's linkage."""
    model, start = gallery.four_bars(2)
    motion = mg.simulate(model, mg.state(model, *start(np.pi / 2, -1.0)), 2.0, step=1e-3, formulation="fully-recursive")
    wanted = gallery.four_bars_angle(2, np.pi / 2, -1.0, motion.t)
    assert wanted.min() < -np.pi / 2 - 0.1  # past both of them
    np.testing.assert_allclose(motion.q[:, 0], wanted, rtol=0, atol=1e-6)
    model, q = hard.bennett()
    start = mg.assemble(model, {"1": q[0]}, {"1": 0.5}, guess=q)
    motion = mg.simulate(model, start, 0.3, step=5e-4, samples=7, formulation="fully-recursive")
    exact = np.array([hard.bennett(start=angle)[1] for angle in motion.q[:, 0]])
    assert abs(motion.q[-1, 0] - q[0]) > 0.5
    np.testing.assert_allclose(motion.q, exact, rtol=0, atol=1e-9)


@pytest.mark.slow  # compiles a march of its own
def test_without_projection_the_rank_is_watched():
    """A parallelogram on its way to a change point: told, not guessed."""
    model, start = gallery.four_bars(1)
    state = mg.state(model, *start(np.pi / 2, -1.0))
    with pytest.raises(MechgradError, match=r"change point|rank") as caught:
        mg.simulate(model, state, 2.0, step=1e-3, formulation=FullyRecursive(projection=False))
    assert 0.1 < caught.value.trajectory.t[-1] < 1.5


def test_plans_grow_with_the_mechanism():
    """Numbers that elimination keeps: in proportion to N loops in a row, all of which end in the world."""
    small, large = (recursive_plan(System(gallery.four_bars(n)[0]).recursive) for n in (10, 40))
    for name in ("entries", "pairs", "couplings", "weights"):
        assert getattr(large, name) < 4.5 * getattr(small, name)
    assert large.most_open == small.most_open == 4
