"""Searches whose evaluations are made in stretches elsewhere: the same points, each motion once, nothing lost."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import replace

import numpy as np
import pytest
from support.design_cases import rest_to_rest, slider
from support.two_wells import ANGLE, miss, thrown, two_wells

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.io.expressions import Expression
from mechgrad.optimization.design import executors, stretches
from mechgrad.simulation.repeats import SimulatedRepeat


class Elsewhere(Executor):
    """Work as bytes, computed on the spot; `changed` may spoil what comes back."""

    def __init__(self, changed=lambda number, reply: reply) -> None:
        self.calls, self.changed = [], changed

    def submit(self, fn, /, *args, **kwargs):
        self.calls.append(fn.__name__)
        call, sent = pickle.loads(pickle.dumps((fn, args)))
        future: Future = Future()
        try:
            future.set_result(self.changed(len(self.calls), pickle.loads(pickle.dumps(call(*sent)))))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


@pytest.fixture
def made(monkeypatch):
    """How many motions were made."""
    count, really = [], SimulatedRepeat.made

    def counted(self):
        count.append(self)
        return really(self)

    monkeypatch.setattr(SimulatedRepeat, "made", counted)
    return count


def check_same(best, other):
    """Every evaluation of one start, gradients included, to the last bit."""
    assert best.values == other.values
    assert best.status == other.status
    assert len(best.history) == len(other.history)
    for a, b in zip(best.history, other.history, strict=True):
        assert (a.number, a.failure, a.replayed) == (b.number, b.failure, b.replayed)
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.values, b.values)
        assert (a.gradient is None) == (b.gradient is None)
        if a.gradient is not None:
            np.testing.assert_array_equal(a.gradient, b.gradient)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
@pytest.mark.parametrize("solver", ["auto", "slsqp", "trust-constr", "ipopt"])
def test_a_search_in_stretches_is_the_search(monkeypatch, made, solver, seconds):
    """Limits, line searches with points that have no gradient; one point a stretch, and all points in one."""
    monkeypatch.setattr(stretches, "SECONDS", seconds)
    monkeypatch.setattr(executors, "SECONDS", seconds)
    problem = rest_to_rest()
    made.clear()
    serial = problem.solve(solver, executor="serial", max_iterations=30)
    by_serial = len(made)
    made.clear()
    sent = Elsewhere()
    best = problem.solve(solver, executor=sent, max_iterations=30)
    check_same(best, serial)
    assert set(sent.calls) == {"stretch"}
    assert len(sent.calls) == (1 if seconds else len(best.history))
    assert len(made) == by_serial == len(best.history)  # no motion is made twice, for a gradient or at all
    assert best.program.evaluator.simulations == len(best.history)


def test_many_starts_go_elsewhere_whole(made):
    serial = two_wells().multistart(5, executor="serial")
    by_serial = len(made)
    made.clear()
    sent = Elsewhere()
    found = two_wells().multistart(5, executor=sent, at_once=1)
    assert sent.calls == ["stretch"] * 5
    assert len(made) == by_serial
    for a, b in zip(found.starts, serial.starts, strict=True):
        check_same(a.optimum, b.optimum)


def test_scenarios_go_one_by_one_where_searches_are_fewer(made):
    """Three scenarios and one search are three jobs a point, values with their gradients; four searches go whole."""
    several = two_wells({f"{k}": thrown(0.6 + 0.1 * k) for k in range(3)})
    sent = Elsewhere()
    best = several.solve(executor=sent)
    assert sent.calls == ["answered"] * (3 * len(best.history))
    assert len(made) == 3 * len(best.history)
    assert all(e.gradient is not None for e in best.history)
    sent = Elsewhere()
    several.multistart(4, executor=sent, at_once=1)
    assert sent.calls == ["stretch"] * 4


def test_the_log_has_all_of_it_and_continues(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "SECONDS", 0.0)
    log = tmp_path / "run.jsonl"
    best = rest_to_rest().solve(executor=Elsewhere(), log=log)
    lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    assert [line["number"] for line in lines] == [e.number for e in best.history]
    for line, e in zip(lines, best.history, strict=True):
        assert line["x"] == e.x.tolist()
        assert line["gradient"] == (None if e.gradient is None else e.gradient.tolist())
    half = tmp_path / "half.jsonl"
    half.write_text("\n".join(log.read_text().splitlines()[: 1 + len(lines) // 2]) + '\n{"number": 9, "x": [1')
    sent = Elsewhere()
    again = rest_to_rest().solve(executor=sent, resume=half)
    assert again.values == best.values
    assert sum(e.replayed for e in again.history) == len(lines) // 2
    assert len(sent.calls) == len(lines) - len(lines) // 2


def test_a_lost_stretch_leaves_a_search_that_asks_for_points(monkeypatch):
    serial = two_wells().multistart(3, executor="serial")

    def lost(number, reply):
        if number == 2:
            raise BrokenExecutor("a worker is gone")
        return reply

    spare = []

    def process(count):
        spare.append(Elsewhere())
        return spare[-1]

    monkeypatch.setattr(executors, "_processes", process)
    with pytest.warns(mg.design.ExecutorWarning, match="nothing is lost"):
        found = two_wells().multistart(3, executor=Elsewhere(lost), at_once=1)
    assert "answered" in spare[0].calls  # the second start, point by point
    assert spare[0].calls[-1] == "stretch"  # the third
    assert [s.optimum.values for s in found.starts] == [s.optimum.values for s in serial.starts]


def test_stretches_that_lead_elsewhere_are_not_used():
    """A machine that rounds otherwise takes another way; the search at home keeps its own."""
    serial = rest_to_rest().solve(executor="serial")

    def astray(number, reply):
        if number == 1:
            moved = [replace(e, x=e.x * (1.0 + 1e-15)) for e in reply.content.evaluations]
            return reply._replace(content=reply.content._replace(evaluations=moved))
        return reply

    sent = Elsewhere(astray)
    best = rest_to_rest().solve(executor=sent)
    assert sent.calls == ["stretch"] + ["answered"] * len(best.history)
    assert best.values == serial.values


def test_bad_points_and_bad_starts_read_as_at_home():
    narrow = mg.AtEnd(Expression("log(x) ** 2 + x", ["x"]), ANGLE)
    motion = thrown()
    right = mg.simulate(motion.model, mg.assemble(motion.model, {"pin": 0.0}, {"pin": -1.0}), 1.0, step=0.01)
    told = [two_wells(right, narrow).multistart(5, executor=x) for x in ("serial", Elsewhere())]
    for a, b in zip(*(found.starts for found in told), strict=True):
        assert a.failure == b.failure
        assert (a.optimum is None) == (b.optimum is None)
        if a.optimum is not None:
            assert [e.failure for e in a.optimum.history] == [e.failure for e in b.optimum.history]
    assert any(s.failure for s in told[0].starts)
    blind = mg.AtEnd(lambda x: np.where(x > 6.0, np.nan, (x - 5.9) ** 2), mg.measures.JointCoordinate("x"))
    motion = mg.simulate(slider(), mg.state(slider(), [0.0], [1.0]), 5.0, step=0.1)
    problem = mg.DesignProblem(motion, {"start.velocity.x": (0.0, 20.0)}, blind)
    serial = problem.solve(executor="serial")
    assert serial.failures
    check_same(problem.solve(executor=Elsewhere()), serial)
    with pytest.raises(InputError, match="t = 1 s"):
        two_wells(minimize=mg.AtEnd(Expression("log(-1 - x ** 2)", ["x"]), ANGLE)).solve(executor=Elsewhere())


def test_progress_and_its_end_are_those_at_home(monkeypatch):
    monkeypatch.setattr(executors, "SECONDS", 0.0)
    seen = []

    def told(record):
        seen.append(record)
        return record.iteration < 2

    best = rest_to_rest().solve(executor=Elsewhere(), progress=told)
    assert best.status == "interrupted"
    assert seen[-1].iteration == 2
    assert len(best.history) < len(rest_to_rest().solve().history)


def test_functions_that_stay_are_named_before_anything_is_computed(monkeypatch, made):
    from mechgrad.optimization.design import parcels
    from mechgrad.optimization.design.evaluation import WorkError

    monkeypatch.setattr(parcels, "_dumps", pickle.dumps)  # as without cloudpickle
    problem = two_wells(minimize=mg.AtEnd(lambda q: miss(q), ANGLE))
    made.clear()
    with pytest.raises(WorkError, match=r"its function holds .*<lambda>"):
        problem.multistart(3, executor=Elsewhere())
    assert made == []
