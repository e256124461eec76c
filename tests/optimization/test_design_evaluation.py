"""Values and gradients of design problems: every kind of scenario against differences, variables of some scenarios, one
motion for a value and its gradient, work as data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.design_cases import rest_to_rest, slider
from test_design_closed_forms import pendulum, swing
from test_design_mechanisms import four_bar

import mechgrad as mg
from mechgrad.optimization.design.evaluation import Question, answer
from mechgrad.optimization.motion import At, MotionProblem, Splines, TorqueSquares
from mechgrad.simulation.repeats import repeat_of

Position, Velocity = mg.measures.JointCoordinate, mg.measures.JointVelocity


def held() -> mg.Model:
    """A pendulum on a spring, shaken by a motor."""
    bob = mg.Body("bob", mass=2, com=(0, 0, -1))
    forces = [
        mg.forces.JointSpring("S", "pin", stiffness=30.0, free_position=1.0),
        mg.forces.Motor("M", "pin", mg.functions.Harmonic(3.0, frequency=0.8)),
    ]
    return mg.Model("held", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))], forces=forces)


def scenarios() -> dict[str, tuple[object, mg.objectives.Objective, list[str]]]:
    """What is computed, an objective, and variables; motions begin at t0 = 0.3 s, when the motor pushes already."""
    end = mg.AtEnd(lambda q, v: q + v**2, Position("pin"), Velocity("pin"))
    rest = mg.equilibrium(held(), t=0.3)
    assembled = mg.assemble(held(), {"pin": 0.2}, {"pin": 0.7}, t=0.3)
    bar = four_bar(1.0, 3.0, 2.5, 3.5, 1.2, 0.8)
    guess = mg.assemble(bar, {"A": 0.4}, guess=[0.4, 0.7, -2.0])
    P = mg.measures.PointPosition("P")
    turn = mg.kinematic_motion(bar, [0.2, 0.5, 0.9], {"A": mg.functions.Polynomial((0.2, 1.0))}, guess=guess.q)
    lengths = ["B.origin.x", "D.child_origin.x", "P.position.y"]
    return {
        "from rest": (mg.simulate(held(), rest, 0.5, step=0.01), end, ["S.stiffness", "bob.com.z", "S.free_position"]),
        "from an assembled state": (
            mg.simulate(held(), assembled, 0.5, step=0.01), end,
            ["S.stiffness", "start.position.pin", "start.velocity.pin"],
        ),
        "guided": (turn, mg.objectives.AtTimes(None, lambda x: x[:, :2], P), lengths),
        "until it passes": (
            mg.simulate(held(), assembled, 2.0, step=0.01, stop={"pin": 0.45}),
            mg.objectives.EndTime() + mg.AtEnd(Velocity("pin")), ["S.stiffness", "start.velocity.pin"],
        ),
        "at rest": (rest, mg.AtEnd(Position("pin")), ["S.stiffness", "bob.mass"]),
        "assembled": (guess, mg.AtEnd(lambda x: x[:, :2], P), [*lengths, "start.position.A"]),
    }  # fmt: skip


@pytest.mark.parametrize(
    "which", ["from rest", "from an assembled state", "until it passes", "guided", "at rest", "assembled"]
)
def test_gradients_against_differences_of_everything_made_anew(which):
    source, objective, names = scenarios()[which]
    problem = mg.DesignProblem(source, names, mg.design.LeastSquares(objective))
    evaluator, x, h = problem.evaluator(), problem.space.start, 1e-5
    found = evaluator.at(x, with_gradient=True, first=True)
    steps = h * np.eye(len(x)) * np.maximum(np.abs(x), 0.1)
    columns = [
        (evaluator.at(x + d, first=True).values - evaluator.at(x - d, first=True).values) / (2 * d.max()) for d in steps
    ]
    assert found.gradient == pytest.approx(np.stack(columns, axis=1), rel=1e-5, abs=1e-7)
    assert (np.abs(found.gradient).max(axis=0) > 1e-3).all()


def test_a_variable_of_some_scenarios_moves_these_alone():
    """Two swings from two amplitudes, one length: three numbers from two records, each residual in its place."""
    t = np.linspace(0.1, 1.5, 15)
    motion = mg.simulate(pendulum(1.0), {"pin": 0.5}, 1.5, rtol=1e-11, atol=1e-11)
    data = {name: mg.design.Measured(Position("pin"), t, swing(1.3, x, t)) for name, x in (("a", 0.7), ("b", 0.4))}
    problem = mg.DesignProblem(
        {"a": motion, "b": mg.design.Scenario(motion, weight=4.0)},
        [
            mg.design.Variable("start.position.pin", (0.1, 1.0), scenarios="b"),
            mg.design.Variable("bob.com.z", (-3.0, -0.5)),
            mg.design.Variable("start.position.pin", (0.1, 1.0), scenarios="a"),
        ],
        mg.design.LeastSquares(data),
    )
    J = problem.evaluate().gradient
    assert (J[:15, 0] == 0.0).all()
    assert (J[15:, 2] == 0.0).all()
    assert np.abs(J[15:, 0]).max() > 0.1
    best = problem.solve(tolerance=1e-10)
    assert best.x == pytest.approx([0.4, -1.3, 0.7], abs=1e-8)
    # weights: f = sum w r^2 / 2, which Gauss-Newton, BFGS and f itself take alike
    away = problem.evaluate({"bob.com.z": -1.1})
    program = problem.program(problem.evaluator())
    F, w = away.values, np.repeat([1.0, 4.0], 15)
    assert program.value(F) == pytest.approx(0.5 * (w * F) @ F)
    assert program.residuals(away.x) == pytest.approx(np.sqrt(w) * F)
    assert program.gradient(away.x) == pytest.approx((w * F) @ away.gradient)
    rows, columns = np.tril_indices(3)
    assert program.gauss_newton(away.x, 1.0, np.zeros(0)) == pytest.approx(
        ((away.gradient.T * w) @ away.gradient)[rows, columns]
    )


def test_a_value_and_its_gradient_take_one_motion():
    problem = rest_to_rest()
    evaluator = problem.evaluator()
    x = problem.space.start + 1.0
    evaluator.at(x)
    evaluator.at(x, with_gradient=True)
    evaluator.at(x, with_gradient=True)
    assert evaluator.simulations == 1
    assert len(evaluator.history) == 1
    best = problem.solve()
    assert best.program.evaluator.simulations == len(best.history)


def test_questions_are_data():
    """A recipe, measures and numbers go to another process and come back as values and derivatives."""
    motion = mg.simulate(held(), {"pin": 0.3}, 0.5, step=0.01)
    question = Question(repeat_of(motion), (mg.AtEnd(Position("pin")),), ("S.stiffness",))
    sent = pickle.loads(pickle.dumps(question))
    here, there = answer(question, {"S.stiffness": 20.0}), answer(sent, {"S.stiffness": 20.0})
    assert there.values == here.values
    assert there.gradient == here.gradient
    assert here.values != answer(question, {"S.stiffness": 21.0}).values


def test_how_many_values_must_not_depend_on_the_design(tmp_path):
    """A motion that ends where it passes an angle reports fewer instants when it is faster."""
    motion = mg.simulate(held(), mg.state(held(), [0.2], [0.7]), 2.0, step=0.01, stop={"pin": 0.45})
    every = mg.design.LeastSquares(mg.objectives.AtTimes(None, Position("pin")))
    evaluator = mg.DesignProblem(motion, ["start.velocity.pin"], every).evaluator()
    evaluator.at(np.array([0.7]), with_gradient=True, first=True)
    for with_gradient in (False, True):
        faster = evaluator.at(np.array([1.4 + with_gradient]), with_gradient=with_gradient)
        assert "how many must not depend on the design" in faster.failure
    mg.io.save_trajectory(mg.simulate(held(), {"pin": 0.3}, 0.2, step=0.01), tmp_path / "saved")
    saved = mg.io.load_trajectory(tmp_path / "saved")
    assert mg.DesignProblem(saved, ["S.stiffness"], mg.AtEnd(Position("pin"))).evaluate().gradient.shape == (1, 1)
    batch = mg.simulate(pendulum(1.0), mg.state(pendulum(1.0), np.zeros((3, 1))), 0.1, scheme="rk4", step=0.01)
    with pytest.raises(mg.InputError, match="a batch of 3 starts is no single motion"):
        mg.design.Scenario(batch)


def test_a_search_starts_where_it_is_told():
    """From the optimum itself there is nothing left to do, and a log continues from there, too."""
    problem = rest_to_rest()
    best = problem.solve(tolerance=1e-10)
    again = problem.solve(start=best.values)
    assert again.start_value == best.value
    assert len(again.history) <= 3
    some = problem.solve(start={"motor.torque.values.0": 7.0})
    assert some.history[0].x.tolist() == [7.0, *problem.space.start[1:].tolist()]
    assert some.x == pytest.approx(best.x, abs=1e-3)


def test_knots_from_a_motion_problem():
    """Least torques of a slider by inverse dynamics: with these knots the motor arrives nearly, the search is short."""
    knots = (0.0, 0.25, 0.5, 0.75, 1.0)
    motor = mg.forces.Motor("motor", "x", mg.functions.Spline(knots, (0.0,) * 5))
    task = MotionProblem(slider(), Splines(6), 1.0).minimize(TorqueSquares())
    found = task.subject_to(At(0, 0.0), At(0, 0.0, "v"), At(1, 1.0), At(1, 0.0, "v")).solve(solver="slsqp")
    start = mg.design.knots_from(found, slider(forces=[motor]))
    assert list(start) == [f"motor.torque.values.{k}" for k in range(5)]
    assert list(start.values()) == pytest.approx(found.torques(5)[:, 0], rel=1e-4)
    best, cold = rest_to_rest().solve(start=start), rest_to_rest().solve()
    _, arrives, rests = best.history[0].values
    assert (arrives, rests) == pytest.approx((1.0, 0.0), abs=0.03)
    assert best.x == pytest.approx(cold.x, abs=1e-3)
    assert len(best.history) < len(cold.history)
    with pytest.raises(mg.InputError, match="has no motor whose torque is a spline"):
        mg.design.knots_from(found, slider())
    long = mg.forces.Motor("motor", "x", mg.functions.Spline((0.0, 1.0, 2.0), (0.0,) * 3))
    with pytest.raises(mg.InputError, match="lie between 0 and 2 s; the motion lasts 1 s"):
        mg.design.knots_from(found, slider(forces=[long]))


def test_goals_of_single_scenarios_and_points_by_name():
    problem = rest_to_rest()
    assert problem.evaluate({"motor.torque.values.0": 2.0}).x[0] == 2.0
    with pytest.raises(mg.InputError, match=r"outside of its bounds \[-40, 40\]"):
        problem.evaluate({"motor.torque.values.0": 50.0})
    with pytest.raises(mg.MechgradError, match="unknown variable 'knot'"):
        problem.evaluate({"knot": 1.0})
    with pytest.raises(mg.InputError, match="the problem has 5 variables"):
        problem.evaluate([1.0, 2.0])
