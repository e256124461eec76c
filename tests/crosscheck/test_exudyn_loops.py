"""Loops and chains against Exudyn: other coordinates, joints and integrators, the same trapezoidal rule."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from support import slider_crank_reference
from support.chain_reference import chain_data

import mechgrad as mg
from mechgrad.gallery import buggy, buggy_start
from mechgrad.gallery.buggy import RADIUS
from mechgrad.gallery.mechanisms import five_bar, five_bar_start, slider_crank
from mechgrad.kinematics.assembly import assemble
from mechgrad.simulation.simulate import simulate

pytestmark = pytest.mark.skipif(importlib.util.find_spec("exudyn") is None, reason="Exudyn is not installed")

RECORDS = 10


def twins():
    from support import exudyn_twins  # loading Exudyn takes a second, and it may not be there

    return exudyn_twins


def gaps(ours, theirs):
    """Largest differences of position, velocity and acceleration at the recorded instants."""
    names = ("position", "velocity", "acceleration")
    return [np.abs(getattr(ours, name)[:, 0] - getattr(theirs, name)).max() for name in names]


def test_five_bar():
    """Both are of second order: they differ by their errors, which shrink fourfold."""
    found = []
    for step in (2e-3, 1e-3):
        theirs = twins().five_bar(step, 1.0, RECORDS)
        ours = simulate(five_bar(), five_bar_start(), duration=1.0, step=step, samples=RECORDS + 1).markers(["P2"])
        found.append(gaps(ours, theirs))
    assert np.all(np.array(found[1]) < [1e-5, 1e-4, 2e-3])
    assert found[0][0] / found[1][0] == pytest.approx(4.0, rel=0.2)


def test_slider_crank():
    data = slider_crank_reference.BENCHMARK
    speed = slider_crank_reference.solve(data, 1.0, samples=np.array([0.0, 1.0])).velocity[0]
    model = slider_crank()
    start = assemble(model, guess=model.neutral(), rates={"PC.x": speed})
    theirs = twins().slider_crank(2.5e-4, 1.0, RECORDS)
    ours = simulate(model, start, duration=1.0, step=2.5e-4, samples=RECORDS + 1).markers(["D"])
    assert np.all(np.array(gaps(ours, theirs)) < [1e-5, 1e-3, 3e-2])
    assert np.ptp(ours.position[:, 0, 0]) > 0.02


@pytest.mark.parametrize("formulation", ["semi-recursive", "fully-recursive"])
def test_chain(formulation):
    """Twelve links with crossing hinges, by the trapezoidal rule in joint angles here and in rigid bodies there."""
    n = 12
    data = chain_data(n)
    bodies = [mg.Body(f"link {k}", data["mass"], data["com"], data["inertia"]) for k in range(n)]
    axes = {"x": (1, 0, 0), "y": (0, 1, 0)}
    joints = [
        mg.Revolute(f"hinge {k}", f"link {k - 1}" if k else "ground", f"link {k}", data["tip"] if k else (0, 0, 0),
                    axis=axes[data["axes"][k]])
        for k in range(n)
    ]  # fmt: skip
    model = mg.Model("chain", bodies, joints, [mg.Point("tip", f"link {n - 1}", data["tip"])], gravity=data["gravity"])
    theirs = twins().chain(n, 1e-3, 0.5, RECORDS)
    ours = simulate(
        model,
        data["angles"],
        duration=0.5,
        formulation=formulation,
        scheme="trapezoidal",
        step=1e-3,
        samples=RECORDS + 1,
    ).markers(["tip"])
    assert np.all(np.array(gaps(ours, theirs)) < [1e-4, 2e-3, 5e-2])
    assert np.ptp(ours.position[:, 0], axis=0).max() > 0.05


def test_the_buggy_comes_down_on_its_springs_alike():
    """Eighteen rigid bodies on a level road at 3 m/s: 45 mm down on springs and tyres, to a part in 250 of that.

    What is left is the grip, which Exudyn has by slip velocity.
    """
    from support.exudyn_buggy import settle

    model = buggy()
    motion = mg.simulate(model, buggy_start(model, 3.0, 3.0 / RADIUS), 1.0, step=1e-3)
    ours = motion.markers(["chassis.com"]).position[::50, 0]
    theirs = settle(model, 1e-3, 1.0, 20, twins().SPARSE, speed=3.0).position
    assert np.ptp(ours[:, 2]) > 0.044
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=np.ptp(ours[:, 2]) / 250)
