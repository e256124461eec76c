"""Trees differentiated without a matrix, both ways: explicit steps, error control, fixed-point iteration."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sensitivities"))
import gradient_mechanisms as mechanisms
from support.random_trees import random_loads, random_tree

import mechgrad as mg
from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import INDEX_1, System
from mechgrad.errors import InputError
from mechgrad.gallery import chain
from mechgrad.steps.acceleration_slopes import Mechanics, StateAccelerations, pulled_back

M = mg.measures
FULLY = mg.formulations.FullyRecursive(tolerance=1e-16)  # complex steps see the iteration's slope as far as it goes
T0 = 0.3


def loaded_tree():
    """A branched tree of all joints with its start, a load and forces at the joints."""
    model, rng = random_tree(5, 9, massless=0.0), np.random.default_rng(2)
    q = np.asarray(model.integrate(model.neutral(), rng.uniform(-0.5, 0.5, model.n_v)))
    push = mg.Load("b2", force=(1, 2, 3), torque=(0.3, 0.2, 0.1), point=(0.1, 0.2, 0.3), name="push")
    start = mg.state(model, q, 0.5 * rng.normal(size=model.n_v), t=T0)
    return model, start, {"loads": [push], "tau": rng.normal(size=model.n_v)}


def forced_tree():
    """Floating bodies, springs, motors, contacts, a law in Python."""
    model, start = mechanisms.forced_tree()
    return model, mg.state(model, *start, t=T0), {}


def compared(motion, goals, wrt, rtol):
    """Adjoint and direct against complex steps through the whole simulation, and that each goal feels something."""
    found = {
        method: mg.gradient(motion, goals, wrt, method=method).array for method in ("adjoint", "direct", "complex")
    }
    size = np.abs(found["complex"]).max(axis=1)
    assert np.all(size > 1e-6)
    for method in ("adjoint", "direct"):
        miss = np.abs(found[method] - found["complex"]).max(axis=1) / size
        assert np.all(miss < rtol), f"{method}: {miss}"


@pytest.mark.parametrize("case", [forced_tree, loaded_tree])
def test_pulls_of_accelerations_beside_matrices(case):
    """w . a by the state and by residuals, in one elimination and one sweep, and by the linearised equations."""
    model, start, how = case()
    loads = None if case is forced_tree else random_loads(model, 3)
    system, rng = System(model, how.get("tau"), loads), np.random.default_rng(4)
    N, n = 4, model.n_v
    q = np.asarray(model.integrate(np.tile(start.q, (N, 1)), rng.uniform(-0.2, 0.2, (N, n))))
    v, t = rng.normal(size=(N, n)), T0 + np.arange(N)
    a, lam, _, _ = system.accelerations(q, v, t)
    states, pulls = States(q, v, a, lam, t), rng.normal(size=(2, N, n))
    pulls[1, 2] = 0.0
    dense, found = (
        StateAccelerations(Mechanics.of(system, INDEX_1), states),
        pulled_back(system, INDEX_1, states, pulls),
    )
    lines = pulls.swapaxes(0, 1)
    for got, expected in (
        (found.q, lines @ dense.by_q), (found.v, lines @ dense.by_v), (found.weights.mu, dense.weights(pulls).mu)
    ):  # fmt: skip
        assert np.abs(expected).max() > 1.0
        np.testing.assert_allclose(got, expected, atol=1e-12 * np.abs(expected).max())
    assert not found.q[2, 1].any()


@pytest.mark.parametrize(
    "how",
    [
        {"scheme": "rk4", "step": 2e-3},
        {"scheme": mg.schemes.RungeKutta([[0, 0], [1, 0]], [0.5, 0.5]), "step": 2e-3},
        {"scheme": "dop853"},
        {"scheme": "trapezoidal", "step": 2e-3, "formulation": FULLY},
        {"scheme": mg.schemes.GeneralizedAlpha(0.7), "step": 2e-3, "formulation": FULLY},
    ],
    ids=["rk4", "tableau", "dop853", "fixed point", "fixed point with memory"],
)
def test_trees_under_loads(how):
    """Integrals, between two steps and at the end; by bodies, joints, tau, a load and the start."""
    model, start, given = loaded_tree()
    motion = mg.simulate(model, start, duration=0.04, samples=6, **given, **how)
    assert motion.t[0] == T0
    goals = [
        mg.Integral(M.KineticEnergy()),
        mg.AtTime(T0 + 0.0131, M.PointAcceleration("b8.com")),
        mg.AtEnd(M.PotentialEnergy()),
    ]
    wrt = [
        *[p.path for p in model.parameters()][::12],
        "b3.mass",
        "b5.mass",
        "start.position.j4",
        "start.velocity.j8.wx",
    ]
    wrt += ["start.position.j8.wy", f"tau.{model.v_names[3]}", "push.force.x", "push.point.y", "b3.mass"]
    compared(motion, goals, wrt, 1e-10)


def test_trees_with_forces():
    model, start, _ = forced_tree()
    motion = mg.simulate(model, start, duration=0.02, step=1e-3, samples=11, scheme="rk4")
    goals = [mg.Integral(M.KineticEnergy()), mg.AtEnd(M.JointAcceleration(model.v_names[0]))]
    forces = [p.path for p in model.parameters() if p.path.split(".")[0] in {x.name for x in model.forces}]
    # accelerations by contacts of 2e5 N/m are large, and so are their roundings: 3e-10 was seen
    compared(motion, goals, [*forces[::3], "*.mass", "start.position.*"], 1e-9)


@pytest.mark.parametrize("how", [{"scheme": "rk4", "step": 1e-2}, {"scheme": "dop853"}], ids=["rk4", "dop853"])
def test_ends_that_move(how):
    """The end and what happens there, where a stop condition decides it."""
    model = chain(3)
    start = mg.state(model, [0.9, -0.2, 0.3], [0.1, 0.2, -0.1], t=T0)
    motion = mg.simulate(model, start, 3.0, stop={"joint1": 1.2}, **how)
    assert motion.ended == "stop"
    goals = [mg.objectives.EndTime(), mg.AtEnd(M.KineticEnergy())]
    compared(motion, goals, ["link1.mass", "link3.com.x", "gravity.z", "start.position.joint2"], 1e-9)


def test_derivatives_say_where_they_do_not_converge():
    """The march begins with a guess, which a derivative has not."""
    model = chain(3)
    quick = mg.formulations.FullyRecursive(tolerance=1e-5, max_iterations=2)
    motion = mg.simulate(model, [0.4, 0.2, -0.3], 0.05, step=1e-3, scheme="trapezoidal", formulation=quick)
    for method in ("adjoint", "direct"):
        with pytest.raises(InputError, match=r"(?s)t = 0\.\d+ s.*within 2 passes.*shorter step"):
            mg.gradient(motion, mg.AtEnd(M.KineticEnergy()), ["link1.mass", "link2.mass"], method=method)


@pytest.mark.parametrize("scheme", ["rk4", "trapezoidal"])
def test_no_matrix_of_the_whole_mechanism(scheme):
    """From `simulate` to the gradient of every energy, room is O(n): less than that of one matrix."""
    n = 4000
    model = chain(n)
    how = {"step": 1e-4, "scheme": scheme, "formulation": "fully-recursive"}
    wrt = ["link3.mass", "link7.mass", "link7.com.x", "start.position.joint9"]
    tracemalloc.start()
    try:
        motion = mg.simulate(model, np.full(n, 0.01), 2e-4, **how)
        g = mg.gradient(motion, [mg.AtEnd(M.KineticEnergy()), mg.AtEnd(M.PotentialEnergy())], wrt, method="adjoint")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.abs(g.array).max() > 0.0
    assert g.shape == (2, 4)
    assert most < 8 * n * n
