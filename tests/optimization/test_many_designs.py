"""Optima from many starts: basins, failures, logs, interruptions."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from support.two_wells import ANGLE, TARGET, thrown, two_wells

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.io.expressions import Expression
from mechgrad.optimization.design.multistart import basins_of, sobol_points

VELOCITY = "start.velocity.pin"


def values(found):
    return [None if s.optimum is None else s.optimum.value for s in found.starts]


@pytest.fixture(scope="module")
def found():
    return two_wells().multistart(9)


def test_both_optima_are_found_and_every_start_is_in_one(found):
    """The closed form: the pendulum is symmetric, so the two velocities are opposite, and both reach +-0.2 rad."""
    assert len(found.basins) == 2
    assert found.basins[0].value <= found.basins[1].value < 1e-20
    right, left = sorted((b.values[VELOCITY] for b in found.basins), reverse=True)
    assert right == pytest.approx(-left, rel=1e-6)
    assert found.best is found.basins[0].optimum
    for basin in found.basins:
        assert abs(basin.optimum.motion.q[-1, 0]) == pytest.approx(TARGET, abs=1e-8)
    assert sorted(n for b in found.basins for n in b.starts) == list(range(1, 10))
    assert min(len(b.starts) for b in found.basins) >= 2
    assert not found.interrupted
    assert found.unfinished == ()
    text = str(found)
    assert all(word in text for word in ("basin", VELOCITY, "starts"))


def test_the_first_start_is_the_problems_own_and_the_others_are_spread(found):
    assert found.starts[0].start == {VELOCITY: 1.0}
    x = np.array([s.start[VELOCITY] for s in found.starts[1:]])
    assert sorted(np.floor(x + 4.0).astype(int)) == list(range(8))  # 8 Sobol points: one in each eighth
    alone = two_wells().solve()
    assert found.starts[0].optimum.values == alone.values


def test_seeds_repeat_and_fewer_points_are_the_first_of_more():
    problem = two_wells()
    few, many = sobol_points(problem, 5, 3), sobol_points(problem, 8, 3)
    np.testing.assert_array_equal(few, many[:5])
    assert not np.array_equal(many, sobol_points(problem, 8, 4))


def test_one_after_the_other_is_the_same_to_the_last_bit(found):
    again = two_wells().multistart(9, executor="serial")
    assert [s.optimum.values for s in again.starts] == [s.optimum.values for s in found.starts]
    assert [s.optimum.value for s in again.starts] == [s.optimum.value for s in found.starts]


def test_what_is_one_optimum_is_a_matter_of_value_and_place(found):
    """Optima of equal value at different places are two; with a tolerance wider than their distance they are one."""
    assert len(basins_of(found.starts, 1e-3)) == 2
    assert len(basins_of(found.starts, 0.99)) == 1
    assert len(basins_of([found.starts[0], found.starts[0]], 1e-9)) == 1


def test_starts_that_cannot_be_computed_are_told():
    """The logarithm of a negative number: starts that swing to the left have no value."""
    objective = mg.AtEnd(Expression("log(x) ** 2 + x", ["x"]), ANGLE)
    motion = thrown()
    right = mg.simulate(motion.model, mg.assemble(motion.model, {"pin": 0.0}, {"pin": -1.0}), 1.0, step=0.01)
    told = []
    found = two_wells(right, objective).multistart(5, progress=told.append)
    bad = [s for s in found.starts if s.optimum is None]
    assert bad
    assert len(found.starts) == 5
    assert sorted(s.number for s in told) == [1, 2, 3, 4, 5]
    assert all("t = 1 s" in s.failure and "InputError" in s.failure for s in bad)
    assert all(f"start {s.number}: InputError" in str(found) for s in bad)
    assert found.best.success


def test_where_no_start_leads_anywhere_the_reasons_are_told():
    nowhere = mg.AtEnd(Expression("log(-1 - x ** 2)", ["x"]), ANGLE)
    found = two_wells(minimize=nowhere).multistart(2)
    assert found.basins == ()
    with pytest.raises(InputError, match=r"no start led anywhere: start 1: InputError"):
        _ = found.best


def test_a_log_takes_a_run_up_where_it_was_killed(tmp_path, found):
    """Half of a log, its last line torn as by SIGKILL: the result is that of one run, and less is computed."""
    whole = tmp_path / "whole.jsonl"
    complete = two_wells().multistart(9, log=whole)
    lines = whole.read_text().splitlines()
    assert len(lines) > 60
    torn = tmp_path / "torn.jsonl"
    torn.write_text("\n".join(lines[: len(lines) // 2]) + '\n{"number": 12, "x": [0.1')
    resumed = two_wells().multistart(9, resume=torn)
    assert [s.optimum.values for s in resumed.starts] == [s.optimum.values for s in complete.starts]
    assert [len(s.optimum.history) for s in resumed.starts] == [len(s.optimum.history) for s in complete.starts]
    replayed = [e.replayed for s in resumed.starts for e in s.optimum.history]
    assert 0.2 < np.mean(replayed) < 0.8
    points = {tuple(json.loads(line)["x"]) for line in torn.read_text().splitlines()[1:] if line.endswith("}")}
    assert points == {tuple(json.loads(line)["x"]) for line in lines[1:]}


def test_a_log_of_another_problem_is_refused(tmp_path):
    two_wells().multistart(2, log=tmp_path / "a.jsonl")
    other = two_wells(minimize=mg.AtEnd(lambda q: q**2 + 1.0, ANGLE))
    with pytest.raises(InputError, match="the log has other values than this problem"):
        other.multistart(2, resume=tmp_path / "a.jsonl")


@pytest.mark.parametrize("way", ["false", "ctrl-c"])
def test_an_interruption_returns_what_is_there(way):
    def enough(started):
        if way == "false":
            return False
        signal.raise_signal(signal.SIGINT)
        return None

    part = two_wells().multistart(33, at_once=1, progress=enough)
    assert 1 <= len(part.starts) < 33
    assert part.interrupted
    assert part.best.value < 1e-20
    assert "interrupted" in str(part)


def test_bad_input_is_refused():
    problem = two_wells()
    for arguments, message in (
        ({"count": 0}, "count is 0"),
        ({"count": 2.5}, "count is 2.5"),
        ({"count": 4, "seed": -1}, "seed is -1"),
        ({"count": 4, "same": 0.0}, "same is 0.0"),
        ({"count": 4, "at_once": 0}, "at_once is 0"),
    ):
        with pytest.raises(InputError, match=message):
            problem.multistart(**arguments)
    free = mg.DesignProblem(thrown(), [VELOCITY], mg.AtEnd(ANGLE))
    with pytest.raises(InputError, match=r"'start.velocity.pin': starts are spread between bounds"):
        free.multistart(3)
    assert len(mg.DesignProblem(thrown(), [VELOCITY], mg.AtEnd(lambda q: q**2, ANGLE)).multistart(1).starts) == 1


def test_basins_are_drawn(found):
    axes = found.plot().axes[0]
    assert len(axes.lines) == 9
    assert len({line.get_color() for line in axes.lines}) == 2
