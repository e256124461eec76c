"""What is refused, and what is told: before anything is computed, or as the reason of a bad point."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from support.design_cases import driven, rest_to_rest, slider

import mechgrad as mg
from mechgrad.optimization.design.progress_table import HEADINGS, shown
from mechgrad.visualization.plots.optimum_plots import share_of

Variable, Limit, Linear = mg.design.Variable, mg.design.Limit, mg.design.Linear
POSITION = mg.measures.JointCoordinate("x")
END = mg.AtEnd(lambda x: (x - 1.0) ** 2, POSITION)


@pytest.fixture(scope="module")
def motion() -> mg.Trajectory:
    return driven()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "there are no variables"),
        ({"block.mass": (3.0, 1.0)}, r"bounds \(3, 1\) leave nothing between them"),
        ({"block.mass": (np.nan, 1.0)}, "hold a NaN"),
        ({"block.mass": 3.0}, "give two numbers"),
        ({"block.mass": range(1, 4)}, "integers: what can only be counted has no derivative"),
        ({"block.mass": (3.0, 4.0)}, r"starts at 2, outside of its bounds \[3, 4\]"),
        ({"block.weight": (1.0, 4.0)}, "mass"),
        ({"motor.knots.*": (1.0, 4.0)}, "nothing matches the pattern"),
        ({"start.position.y": (1.0, 4.0)}, "unknown start value 'start.position.y'.*start.position.x"),
        ({"samples": (10, 20)}, "how something is computed is no variable"),
        ({"tau.y": (0, 1)}, "unknown constant force 'tau.y'.*tau.x"),
        (["block.mass", "block.mass"], "'block.mass' is there twice"),
        ([Variable("block.mass", scale=-1.0)] if False else [3.0], "is no variable"),
        ([Variable("block.mass", scenarios=("other",))], "unknown scenario 'other'"),
        (["block.mass", mg.DesignVariable("m", "block.mass", 2.0)], "both drive 'block.mass'"),
    ],
)
def test_variables_that_are_none(motion, variables, message):
    with pytest.raises(mg.MechgradError, match=message):
        mg.DesignProblem(motion, variables, END)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Variable("", (0, 1)), "the path of a variable is ''"),
        (lambda: Variable("a", value=np.nan), "value is nan"),
        (lambda: Variable("a", scale=-1.0), "it must be positive"),
        (lambda: Limit(END), "limits nothing"),
        (lambda: Limit(END, 2.0, 1.0), "leave nothing between them"),
        (lambda: Limit(POSITION, 2.0), "is a measure"),
        (lambda: Limit(END, upper=np.nan), "upper is nan"),
        (lambda: Linear({}, 1.0), "factors are {}"),
        (lambda: Linear({"a": np.inf}, 1.0), "give a finite number"),
        (lambda: mg.design.Scenario(driven(), weight=0.0), "weight is 0"),
        (lambda: mg.design.Scenario(3), "int cannot be made once more"),
        (lambda: mg.design.Measured(POSITION, [0.1], [1.0, 2.0]), "1 instants and 2 values"),
        (lambda: mg.design.Measured(POSITION, [0.1], [np.nan]), "finite"),
        (lambda: mg.design.Measured(POSITION, [0.1], [1.0], sigma=0.0), "standard deviations are positive"),
        (lambda: mg.design.Measured(END, [0.1], [1.0]), "needs a measure first"),
        (lambda: mg.objectives.AtTimes([0.2, 0.1], POSITION), "increasing, finite instants"),
        (lambda: mg.objectives.SmoothMaximum(POSITION, error=0.0), "the error of SmoothMaximum is 0"),
    ],
)
def test_parts_that_are_none(make, message):
    with pytest.raises(mg.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"minimize": POSITION}, "is a measure, which has a value at every instant"),
        ({"constraints": [END]}, "is no constraint"),
        ({"constraints": [Linear({"block.size": 1.0}, upper=1.0)]}, "unknown variable 'block.size'"),
        ({"constraints": [Limit(END, upper=1.0, scenarios="other")]}, "unknown scenario 'other'"),
        ({"minimize": mg.design.WorstCase({"other": END})}, "unknown scenario 'other'"),
        ({"scenarios": []}, "there is no scenario"),
    ],
)
def test_problems_that_are_none(motion, arguments, message):
    given = {"scenarios": motion, "variables": {"block.mass": (1.0, 3.0)}, "minimize": END}
    with pytest.raises(mg.MechgradError, match=message):
        mg.DesignProblem(**{**given, **arguments})


def test_two_scenarios_of_one_name_and_two_starts(motion):
    two = [mg.design.Scenario(motion, "a"), mg.design.Scenario(motion, "a")]
    with pytest.raises(mg.InputError, match="two scenarios are called 'a'"):
        mg.DesignProblem(two, ["block.mass"], END)
    other = motion.recipe.with_values({"block.mass": 3.0}).simulate()
    with pytest.raises(mg.InputError, match="starts from 2 in 'a', 3 in 'b': give its value"):
        mg.DesignProblem({"a": motion, "b": other}, ["block.mass"], END)
    own = mg.DesignProblem(
        {"a": motion, "b": other}, [Variable("block.mass", scenarios="a"), Variable("block.mass", scenarios="b")], END
    )
    assert own.space.named(own.space.start) == {"a: block.mass": 2.0, "b: block.mass": 3.0}


def test_several_values_are_no_objective(motion):
    many = mg.objectives.AtTimes([0.5, 1.0], POSITION)
    with pytest.raises(mg.InputError, match=r"2 values, and only one number can be made small.*WorstCase"):
        mg.DesignProblem(motion, ["block.mass"], many).solve()


def test_a_variable_without_influence_is_named(motion):
    free = mg.DesignProblem(motion, {"block.mass": (1.0, 3.0), "block.com.y": (-1.0, 1.0)}, END)
    with pytest.warns(mg.design.NoInfluenceWarning, match=r"'block.com.y': no influence at the start") as told:
        best = free.solve()
    assert told[0].filename == __file__
    assert best.values["block.com.y"] == 0.0


def test_an_objective_that_is_no_number_is_named_with_its_instant():
    """From the start on it is an error; later it is a bad point, and the search comes back."""
    motion = mg.simulate(slider(), mg.state(slider(), [0.0], [1.0]), 5.0, step=0.1)
    wild = mg.Integral(lambda x: np.where(x > 3.15, np.nan, x), POSITION)
    with pytest.raises(mg.InputError, match=r"Integral is \[?nan\]? at t = 3.2 s"):
        mg.DesignProblem(motion, ["start.velocity.x"], wild).solve()
    narrow = mg.AtEnd(lambda x, t: np.where(x > 6.0, np.nan, (x - 5.9) ** 2), POSITION)
    problem = mg.DesignProblem(motion, {"start.velocity.x": (0.0, 20.0)}, narrow)
    best = problem.solve()
    assert best.success, best
    assert best.values["start.velocity.x"] == pytest.approx(5.9 / 5.0, abs=1e-6)
    assert "at t = 5 s" in best.failures[0].failure
    assert f"{len(best.failures)} designs failed on the way" in str(best)


def test_units_of_the_objective_do_not_matter():
    """An objective a million million times as large takes the same way."""
    first = rest_to_rest().solve()
    problem = rest_to_rest()
    large = mg.DesignProblem(problem.scenarios[0], {"motor.torque.values.*": (-40.0, 40.0)}, 1e12 * problem.minimize,
                             problem.constraints)  # fmt: skip
    second = large.solve()
    assert len(second.history) == len(first.history)
    assert second.x == pytest.approx(first.x, rel=1e-6)
    nanometres = [Limit(1e9 * mg.AtEnd(POSITION), 1e9, 1e9), problem.constraints[1]]
    third = mg.DesignProblem(problem.scenarios[0], large.variables, problem.minimize, nanometres).solve()
    assert len(third.history) == len(first.history)
    assert third.x == pytest.approx(first.x, rel=1e-6)


def test_design_variables_linear_limits_and_reports(motion):
    """Two knots in one variable; x + y <= c; what is printed names everything."""
    ends = mg.DesignVariable("ends", {"motor.torque.values.0": 1.0, "motor.torque.values.4": -1.0}, 1.0, (-50.0, 50.0))
    problem = mg.DesignProblem(
        motion, [ends, Variable("motor.torque.values.1", (-50, 50)), Variable("motor.torque.values.3", (-50, 50))],
        mg.Integral(lambda f: f**2, mg.measures.Effort("motor")),
        [Limit(mg.AtEnd(POSITION), 1.0, 1.0, "arrives"),
         Linear({"ends": 1.0, "motor.torque.values.1": 1.0}, upper=8.0, name="both")],
    )  # fmt: skip
    best = problem.solve(tolerance=1e-10)
    assert best.success, best
    assert best.values["ends"] + best.values["motor.torque.values.1"] <= 8.0 + 1e-9
    assert (
        best.model.value("motor.torque.values.0") == -best.model.value("motor.torque.values.4") == best.values["ends"]
    )
    text = str(problem) + str(best)
    for name in ("ends", "arrives", "both", "slider", "minimize", "converged"):
        assert name in text
    # what the limit costs, against solving with another one
    looser = mg.DesignProblem(
        motion,
        problem.variables,
        problem.minimize,
        [problem.constraints[0], Linear({"ends": 1.0, "motor.torque.values.1": 1.0}, upper=8.001)],
    )
    both = next(side for side in best.constraints if side.name == "both")
    assert both.active
    assert looser.solve(tolerance=1e-10).value - best.value == pytest.approx(-0.001 * both.multiplier, rel=1e-3)


@pytest.mark.parametrize("solver", ["auto", "ipopt", "trust-constr"])
def test_limits_that_contradict_each_other_are_named(motion, solver):
    """At 1 m and at 2 m at once: no design, and the answer says which limits are not met."""
    ends = [Limit(mg.AtEnd(POSITION), x, x, f"at {x:g} m") for x in (1.0, 2.0)]
    best = mg.DesignProblem(motion, {"start.velocity.x": (-5.0, 5.0)}, END, ends).solve(solver, max_iterations=200)
    assert not best.success
    assert best.status in ("infeasible", "failed", "iteration limit")
    assert "violated: at 1 m" in str(best) or "violated: at 2 m" in str(best)
    assert best.result.infeasibility > 1e-3


def test_pictures_have_their_panels(motion):
    figure = rest_to_rest(motion).solve().plot({"position": POSITION})
    titles = [ax.get_title("left") for ax in figure.axes if ax.get_title("left")]
    assert titles[0] == "objective (converged)"
    assert titles[1] == "violation of the limits"
    assert titles[2:] == ["variables between their bounds", "limited values (filled: active)", "position"]
    assert len(figure.axes[4].lines) == 2


@pytest.mark.parametrize(
    ("value", "lower", "upper", "active", "share"),
    [
        (3.0, 2.0, 6.0, False, 0.25),
        (1e-16, 0.0, 0.0, True, 0.5),
        (7.0, -np.inf, np.inf, False, 0.5),
        (6.0, -np.inf, 8.0, False, 0.75),
        (8.0, -np.inf, 8.0, True, 1.0),
        (4.0, 1.0, np.inf, False, 0.75),
        (-5.0, -np.inf, 8.0, False, 0.0),
    ],
)
def test_where_a_value_lies_between_its_limits(value, lower, upper, active, share):
    assert share_of(mg.design.Side("x", value, lower, upper, 0.0, active)) == pytest.approx(share)


def test_progress_is_a_table_on_a_terminal_and_lines_elsewhere(motion, capsys):
    seen = []
    rest_to_rest(motion).solve(progress=seen.append)
    rest_to_rest(motion).solve(progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(seen)
    assert "infeasible" in lines[0]
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    with shown(True, 10, None, screen) as report:
        for record in seen:
            report(record)
    text = screen.file.getvalue()
    for word in (*HEADINGS, f"{seen[-1].objective:.6e}"):
        assert word in text


def test_what_data_cannot_tell_apart_is_named():
    """A mass on a spring: its swing tells k / m and nothing else."""
    spring = mg.forces.JointSpring("S", "x", stiffness=8.0)
    model = slider(forces=[spring])
    start = mg.simulate(model, mg.state(model, [1.0], [0.0]), 2.0, step=0.01)
    t = np.linspace(0.1, 2.0, 20)
    rng = np.random.default_rng(3)
    values = np.cos(2.2 * t) + 0.01 * rng.normal(size=20)
    data = mg.design.Measured(POSITION, t, values)
    bounds = {"S.stiffness": (2.0, 40.0), "block.mass": (0.5, 8.0)}
    both = mg.DesignProblem(start, bounds, mg.design.LeastSquares(data)).solve()
    found = both.identification()
    assert len(found.undetermined) == 1
    assert "% of S.stiffness" in found.undetermined[0]
    assert "% of block.mass" in found.undetermined[0]
    assert np.isinf(found.standard_errors).all()
    assert both.values["S.stiffness"] / both.values["block.mass"] == pytest.approx(2.2**2, rel=0.02)
    one = mg.DesignProblem(start, {"S.stiffness": (2.0, 40.0)}, mg.design.LeastSquares(data)).solve()
    known = one.identification()
    assert known.undetermined == ()
    assert known.noise == pytest.approx(0.01, rel=0.4)
    k, m = one.values["S.stiffness"], 2.0
    w = np.sqrt(k / m)  # dx/dk = -t sin(w t) / (2 m w)
    assert known.standard_errors[0] == pytest.approx(
        known.noise / np.linalg.norm(t * np.sin(w * t) / (2 * m * w)), rel=1e-6
    )
    assert known.contains({"S.stiffness": 2.0 * 2.2**2})
    assert "95 % interval" in str(known)
    with pytest.raises(mg.InputError, match="only least squares identify"):
        rest_to_rest().solve().identification()
