"""Constant forces as variables: tau and loads of motions, of equilibria, and of the motions that start from these."""

from __future__ import annotations

import numpy as np
import pytest
from support.design_cases import slider

import mechgrad as mg

POSITION = mg.measures.JointCoordinate("x")
MISS = mg.AtEnd(lambda x: (x - 1.0) ** 2, POSITION)


def pushed(**given) -> mg.Trajectory:
    """2 kg, for a second, from rest: x = f / 4."""
    model = slider(points=[mg.Point("nose", "block", (0.1, 0, 0))])
    return mg.simulate(model, {"x": 0.0}, 1.0, step=0.05, **given)


@pytest.mark.parametrize("variable", ["tau.x", "push.force.x", "pull.force.x"])
def test_a_constant_force_that_moves_a_block_by_a_metre(variable):
    """Forces of 1.5, 2 and -0.5 N add up to 4 N at the optimum, whichever is free."""
    loads = [mg.Load("block", force=(2, 0, 0), name="push"), mg.Load("block", force=(-0.5, 0, 0), name="pull")]
    motion = pushed(tau=[1.5], loads=loads)
    others = {"tau.x": 1.5, "push.force.x": 2.0, "pull.force.x": -0.5}
    best = mg.DesignProblem(motion, {variable: (-20.0, 20.0)}, MISS).solve()
    wanted = 4.0 - sum(x for name, x in others.items() if name != variable)
    assert best.success
    assert best.values[variable] == pytest.approx(wanted, abs=1e-8)
    assert motion.tau.tolist() == [1.5]  # as it was
    assert best.motion.recipe.forces()[variable] == best.values[variable]
    assert all(c.passed for c in best.certify().values())
    assert best.sensitivity(["block.mass"])["block.mass"] == pytest.approx(0.0, abs=1e-7)


def test_gradients_by_forces_are_those_of_the_problem_and_of_the_recipe():
    motion = pushed(tau=[1.5], loads=[mg.Load("block", force=(2, 0, 0), name="push")])
    found = mg.DesignProblem(motion, ["tau.x", "push.force.*"], mg.AtEnd(POSITION)).evaluate()
    assert found.gradient == pytest.approx(np.array([[0.25, 0.25, 0.0, 0.0]]), abs=1e-12)
    again = motion.recipe.with_values({"tau.x": 2.5, "push.force.x": 3.0, "block.mass": 1.0}).simulate()
    assert again.q[-1, 0] == pytest.approx(5.5 / 2.0)


def test_the_force_that_holds_a_pendulum():
    """tau = m g l sin(q): of an equilibrium, and of a motion from it, which the same force then leaves at rest."""
    bob = mg.Body("bob", mass=2, com=(0, 0, -1))
    model = mg.Model("held", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    rest = mg.equilibrium(model, [0.1], tau=[2.0])
    miss = mg.AtEnd(lambda q: (q - 0.5) ** 2, mg.measures.JointCoordinate("pin"))
    wanted = 19.62 * np.sin(0.5)
    best = mg.DesignProblem(rest, {"tau.pin": (-15.0, 15.0)}, miss).solve(tolerance=1e-10)
    assert best.values["tau.pin"] == pytest.approx(wanted, abs=1e-5)
    still = mg.simulate(model, rest, 0.5, step=0.01, tau=[2.0])
    both = mg.DesignProblem(still, {"tau.pin": (-15.0, 15.0)}, miss).solve(tolerance=1e-10)
    assert both.values["tau.pin"] == pytest.approx(wanted, abs=1e-5)
    assert np.ptp(both.motion.q) < 1e-9
    let_go = mg.simulate(model, rest, 0.2, step=0.01)  # tau acts at the start alone
    assert set(let_go.recipe.forces()) == {"tau.pin", "start.tau.pin"}
    problem = mg.DesignProblem(let_go, ["start.tau.pin", "tau.pin"], mg.AtEnd(mg.measures.JointCoordinate("pin")))
    g = problem.evaluate().gradient[0]
    h = 1e-5
    for k, x0 in enumerate((2.0, 0.0)):
        name = problem.space.names[k]
        ends = [problem.evaluator().at(problem.space.point({name: x0 + s * h}), first=True).values[0] for s in (1, -1)]
        assert g[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)
        assert abs(g[k]) > 1e-3


def test_forces_that_are_no_variables():
    motion = pushed(loads=[mg.Load("block", force=(2, 0, 0), point="nose", name="push")])
    with pytest.raises(mg.MechgradError, match=r"unknown constant force 'push.point.x'.*push.force.x"):
        mg.DesignProblem(motion, ["push.point.x"], MISS)
    with pytest.raises(mg.InputError, match=r"acts at the point 'nose' of the model.*change 'nose.position.x'"):
        motion.recipe.with_values({"push.point.x": 0.3})
    with pytest.raises(mg.MechgradError, match=r"unknown start value 'start.tau.x'"):
        mg.DesignProblem(motion, ["start.tau.x"], MISS)
    turn = mg.kinematic_motion(slider(), [0.0, 1.0], {"x": mg.functions.Polynomial((0, 1))})
    with pytest.raises(mg.MechgradError, match=r"tau"):
        mg.DesignProblem(turn, ["tau.x"], mg.AtEnd(POSITION))


def test_forces_that_scatter():
    """A push with a standard deviation of 0.2 N: that of the position is 0.2 / 4 m."""
    motion = pushed(tau=[4.0])
    cases = mg.design.scattered(motion, {"tau.x": 0.2})
    assert sorted(x.repeat.force_values()["tau.x"] for x in cases.values()) == pytest.approx(
        [4.0 - 0.2 * np.sqrt(3), 4.0, 4.0 + 0.2 * np.sqrt(3)]
    )
    spread = mg.design.deviation(motion, mg.AtEnd(POSITION), {"tau.x": 0.2})
    assert spread.sigma == pytest.approx(0.05)
    with pytest.raises(mg.InputError, match="must be a number of the model"):
        mg.design.scattered(motion, {"tau.x": 0.2}, varied=["tau.x"])
