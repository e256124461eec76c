"""Fully recursive sensitivities: published numbers, and the dense method."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sensitivities"))
import gradient_mechanisms as mechanisms
from support.random_trees import random_tree

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.steps.recursive import methods as of_trees
from mechgrad.steps.runge_kutta import methods as explicit

EXPLICIT, RECURSIVE = explicit.METHODS[0], of_trees.METHODS[0]

# kinetic energy of the double pendulum of point masses and its derivatives by L1, L2, MP, MQ (closed form, order eight)
ENERGIES = {
    1: (0.895584417589, 2.684725154238, 2.245777974391, -0.067784429928, 1.926737695034),
    2: (2.583352226205, 5.21128255266, 4.362421278598, 0.351365660994, 4.463973130422),
    5: (0.204196519073, -5.563707209111, -4.964669996987, 1.252370316286, -2.096347594427),
}
# accelerations of spatial chains and of their sensitivities by m1 and l1, first and last joint
CHAINS = {
    2: (4.142815402446665, -9.491480230390648, -0.5240683058401369, -2.630869645256189, -6.491460108739783,
        -2.703884955400106),
    6: (-0.4012480047349634, -1.037173346098855, -0.2906338836624955, -3.072647218613712, 0.7210820431705353,
        -3.029849882358002),
    12: (-1.880475179903183, -1.483674151981364, -0.1520636224447858, -1.055283294360052, 2.799966166903336,
         -1.062908229110452),
}  # fmt: skip


def point_masses():
    """Two massless rods with a mass at the end of each; lengths as design variables."""
    bodies = [mg.Body("P", 1.0, com=(0, -1.0, 0)), mg.Body("Q", 0.5, com=(0, -0.8, 0))]
    z = (0, 0, 1)
    joints = [mg.Revolute("q1", "ground", "P", axis=z), mg.Revolute("q2", "P", "Q", (0, -1.0, 0), axis=z)]
    lengths = [
        mg.DesignVariable("L1", {"P.com.y": -1.0, "q2.origin.y": -1.0}, 1.0),
        mg.DesignVariable("L2", {"Q.com.y": -1.0}, 0.8),
    ]
    return mg.Model("point masses", bodies, joints, gravity=(0, -9.81, 0), variables=lengths)


def spatial_chain(n):
    """Rods of half a metre, hinged about x and y in turn, hanging along -z."""
    length = 0.5
    inertia = (length**2 / 12, length**2 / 12, 1e-3)
    bodies = [mg.Body(f"b{k}", 1.0, com=(0, 0, -length / 2), inertia=inertia) for k in range(1, n + 1)]
    joints = [
        mg.Revolute(
            f"j{k}", "ground" if k == 1 else f"b{k - 1}", f"b{k}", (0, 0, 0 if k == 1 else -length),
            axis=(1, 0, 0) if k % 2 else (0, 1, 0),
        )
        for k in range(1, n + 1)
    ]  # fmt: skip
    across = lambda x: x**2 / 12  # noqa: E731
    targets = {"b1.com.z": -0.5, "b1.inertia.xx": across, "b1.inertia.yy": across}
    if n > 1:
        targets["j2.origin.z"] = -1.0
    return mg.Model("chain", bodies, joints, variables=[mg.DesignVariable("l1", targets, length)])


def test_energies_of_the_double_pendulum():
    motion = mg.simulate(point_masses(), [np.pi / 6, np.pi / 12], duration=5.0, step=5e-4, scheme="rk4")
    for t, numbers in ENERGIES.items():
        g = mg.gradient(
            motion, mg.AtTime(t, mg.measures.KineticEnergy()), ["L1", "L2", "P.mass", "Q.mass"], method="direct"
        )
        np.testing.assert_allclose(g.values, numbers[:1], rtol=1e-8)
        np.testing.assert_allclose(g.array[0], numbers[1:], rtol=1e-7)


@pytest.mark.parametrize("n", CHAINS)
def test_accelerations_of_spatial_chains(n):
    """At the first instant, along given changes of the state."""
    model, k = spatial_chain(n), np.arange(1, n + 1)
    q, v = 0.3 * (-1.0) ** k + 0.02 * k, 0.5 * np.cos(k)
    motion = mg.simulate(model, mg.state(model, q, v), duration=1e-3, step=1e-3, scheme="rk4")
    parameters = Parameters(motion, ["b1.mass", "l1"])
    dq, dv = np.tile(0.1 * np.sin(k), (2, 1)), np.tile(0.2 * np.cos(2 * k), (2, 1))
    found = RECURSIVE.sweeps(motion.record).direct(parameters, dq, dv)
    got = [motion.a[0, 0], motion.a[0, -1], *found.a[0, 0, [0, -1]], *found.a[0, 1, [0, -1]]]
    np.testing.assert_allclose(got, CHAINS[n], rtol=1e-10)


@pytest.mark.parametrize("tree", ["forces", "random"])
def test_agrees_with_the_dense_method(tree):
    """Every joint kind, every force, steps between reports."""
    if tree == "forces":
        model, start = mechanisms.forced_tree()
    else:
        model = random_tree(5, 9, massless=0.0)
        rng = np.random.default_rng(2)
        q = np.asarray(model.integrate(model.neutral(), rng.uniform(-0.5, 0.5, model.n_v)))
        start = q, 0.5 * rng.normal(size=model.n_v)
    motion = mg.simulate(model, mg.state(model, *start), duration=0.02, step=1e-3, samples=11, scheme="rk4")
    wrt = [*[p.path for p in model.parameters()][::7], "start.position.*", "start.velocity.*"]
    parameters = Parameters(motion, wrt)
    slopes = parameters.start.slopes(parameters)
    dense, recursive = (kind.sweeps(motion.record).direct(parameters, *slopes) for kind in (EXPLICIT, RECURSIVE))
    for x, y in zip(dense[:3], recursive[:3], strict=True):
        np.testing.assert_allclose(y, x, atol=1e-12 * np.abs(x).max())
        assert np.abs(x).max() > 1e-6


def test_implicit_schemes_refuse_loops():
    model, start = mechanisms.driven_five_bar()
    with pytest.raises(InputError, match="rk4"):
        mg.simulate(model, start, duration=0.01, step=1e-3, scheme="trapezoidal", formulation="fully-recursive")
