"""Random mechanisms, random ways to start, random parameters: the certificate's two oracles agree with both methods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.random_loops import random_linkage
from support.random_trees import random_state, random_tree

import mechgrad as mg
from mechgrad.dynamics.states import States
from mechgrad.errors import AssemblyError, MechgradError
from mechgrad.gallery import double_pendulum, slider_crank
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.tearing import check_idle_rows

TREES = ("rk4", "dop853", "trapezoidal", "generalized-alpha")
LOOPS = (
    (mg.formulations.ALI3P(), "trapezoidal"),
    (mg.formulations.ALI3P(), "hht"),
    (mg.formulations.Index1(), "rk4"),
    (mg.formulations.Index1(), "trapezoidal"),
    (mg.formulations.Penalty(1e7), "newmark"),
    (mg.formulations.MatrixR(), "trapezoidal"),
    (mg.formulations.MatrixR(), "rk4"),
)
STEPS = {"duration": 0.06, "step": 0.004}


@st.composite
def trees(draw):
    """An open mechanism in motion, from given numbers, from an assembly or from an equilibrium."""
    seed, scheme = draw(st.integers(0, 10_000)), draw(st.sampled_from(TREES))
    how = {"duration": 0.06, "samples": 4} if scheme == "dop853" else STEPS
    way = draw(st.sampled_from(("given", "assembled", "rest")))
    if way == "given":
        model = random_tree(seed, draw(st.integers(1, 6)), massless=0.0)
        q, v, _ = random_state(model, seed)
        return mg.simulate(model, mg.state(model, q, v), scheme=scheme, **how)
    model, rng = double_pendulum(), np.random.default_rng(seed)
    springs = [
        mg.forces.TorsionSpring(f"k{name}", name, *rng.uniform(5, 9, 1), 0.2, 0.1) for name in ("shoulder", "elbow")
    ]
    model = mg.Model(model.name, model.bodies, model.joints, model.points, gravity=model.gravity, forces=springs)
    if way == "rest":
        rest = mg.equilibrium(model, rng.uniform(-0.5, 0.5, 2), tau=rng.normal(size=2), rates={"elbow": 0.4})
        return mg.simulate(model, rest, scheme=scheme, loads=[mg.Load("lower", rng.normal(size=3), name="push")], **how)
    near = mg.kinematics.marker_motion(model, ["tip"], [0.3, 0.8]).position[0]
    at = {"tip.x": near[0] + 0.05 * rng.normal(), "tip.z": near[2] + 0.05 * rng.normal()}
    return mg.simulate(model, mg.assemble(model, at, {"tip.x": 0.5}, guess=[0.3, 0.8]), scheme=scheme, **how)


@st.composite
def loops(draw):
    """A closed mechanism in motion."""
    seed, (formulation, scheme) = draw(st.integers(0, 10_000)), draw(st.sampled_from(LOOPS))
    rng = np.random.default_rng(seed)
    if draw(st.integers(0, 3)) == 0:
        model = slider_crank(axial_inertia=1e-3, spring=True)
        start = mg.assemble(model, {"crank axis": rng.uniform(-1, 1)}, {"crank axis": rng.uniform(1, 4)})
    else:
        model, held = random_linkage(seed, draw(st.integers(3, 5)))
        try:
            start = mg.assemble(model, held, {name: rng.normal() for name in held})
        except MechgradError:
            assume(False)
    return mg.simulate(model, start, formulation=formulation, scheme=scheme, **STEPS)


def followed(motion, name):
    """Whether a parameter leaves the loops closed; out of the plane it may not."""
    parameters = Parameters(motion, [name])
    try:
        check_idle_rows(parameters, States(motion.q, motion.v, motion.a, motion.multipliers, motion.t))
        parameters.start.slopes(parameters)
    except AssemblyError:
        return False
    return True


def judged(data, motion):
    """Both methods agree with each other, and with the certificate."""
    model = motion.model
    chosen = data.draw(st.lists(st.sampled_from([p.path for p in model.parameters()]), min_size=4, max_size=8))
    chosen = ["gravity.x", *(name for name in chosen if followed(motion, name))]
    values = list(Parameters(motion, ["gravity.x", "start.*"]).names)
    chosen += data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    point = model.points[-1 if model.points[-1].body != "ground" else 0].name
    goals = [
        mg.Integral(lambda x, e: (x * x).sum(-1) + e, mg.measures.PointVelocity(point), mg.measures.PotentialEnergy()),
        mg.AtEnd(mg.measures.PointPosition(point)),
    ]
    by = {method: mg.gradient(motion, goals, chosen, method=method) for method in ("direct", "adjoint")}
    size = np.abs(by["direct"].array).max(axis=1, keepdims=True)
    assert size.max() > 0.0
    size = np.where(size > 1e-12 * size.max(), size, size.max())  # across the plane of a linkage nothing moves
    np.testing.assert_allclose(by["direct"].array / size, by["adjoint"].array / size, atol=1e-9)
    certificate = by["adjoint"].certify(tolerance=1e-6)
    assert certificate.passed, str(certificate)


def property_test(strategy, examples):
    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data(), strategy)
    def test(data, motion):
        judged(data, motion)

    return test


test_some_trees = property_test(trees(), 10)
test_some_loops = property_test(loops(), 10)
test_many_trees = pytest.mark.slow(property_test(trees(), 100))
test_many_loops = pytest.mark.slow(property_test(loops(), 100))
