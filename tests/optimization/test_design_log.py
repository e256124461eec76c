"""Nothing is lost: logs, runs that are continued, Ctrl-C, full disks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from support.design_cases import driven, rest_to_rest

import mechgrad as mg


def test_every_evaluation_is_on_a_line(tmp_path):
    best = rest_to_rest().solve(log=tmp_path / "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert lines[0]["variables"] == list(best.values)
    assert lines[0]["functions"] == ["objective", "arrives", "rests"]
    last = {tuple(line["x"]): line for line in lines[1:]}
    assert len(last) == len(best.history)
    for found in best.history:
        line = last[tuple(found.x)]
        assert line["values"] == found.values.tolist()
        assert line["gradient"] == (None if found.gradient is None else found.gradient.tolist())
        assert line["failure"] == ""


@pytest.mark.parametrize("torn", [False, True])
def test_a_run_that_was_killed_is_continued_to_the_same_end(tmp_path, torn):
    """Half of the log, the last line of it cut: the same points, the same result, the first half not computed again."""
    problem = rest_to_rest()
    whole = problem.solve(log=tmp_path / "whole.jsonl")
    text = (tmp_path / "whole.jsonl").read_text()
    lines = text.splitlines(keepends=True)
    half = "".join(lines[: len(lines) // 2]) + (lines[len(lines) // 2][:40] if torn else "")
    (tmp_path / "half.jsonl").write_text(half)
    again = problem.solve(resume=tmp_path / "half.jsonl")
    assert again.values == whole.values
    assert again.value == whole.value
    assert [e.x.tolist() for e in again.history] == [e.x.tolist() for e in whole.history]
    replayed = sum(e.replayed for e in again.history)
    assert 0 < replayed < len(again.history)
    # the log is whole now, and a third run needs no simulation but that which compares the start
    third = problem.solve(resume=tmp_path / "half.jsonl", log=tmp_path / "third.jsonl")
    assert third.value == whole.value
    assert third.program.evaluator.simulations == 0


def test_a_log_of_another_problem_is_refused(tmp_path):
    rest_to_rest().solve(log=tmp_path / "run.jsonl", max_iterations=2)
    other = mg.DesignProblem(driven(), ["block.mass"], rest_to_rest().minimize)
    with pytest.raises(mg.InputError, match=r"variables are .* there and .*'block.mass'"):
        other.solve(resume=tmp_path / "run.jsonl")
    heavier = driven().recipe.with_values({"block.mass": 3.0}).simulate()
    with pytest.raises(mg.InputError, match="other values at the start than this problem"):
        rest_to_rest(heavier).solve(resume=tmp_path / "run.jsonl")
    with pytest.raises(mg.InputError, match="cannot be read"):
        rest_to_rest().solve(resume=tmp_path / "nothing.jsonl")
    (tmp_path / "poem.jsonl").write_text("roses are red\n")
    with pytest.raises(mg.InputError, match="is no log of evaluations"):
        rest_to_rest().solve(resume=tmp_path / "poem.jsonl")
    (tmp_path / "short.jsonl").write_text(
        (tmp_path / "run.jsonl").read_text().replace('"values": [', '"values": [1.0, ')
    )
    with pytest.raises(mg.InputError, match="another number of variables or values"):
        rest_to_rest().solve(resume=tmp_path / "short.jsonl")


def test_a_log_that_cannot_be_written_is_told_before_anything_is_computed(tmp_path):
    (tmp_path / "old.jsonl").write_text("precious\n")
    with pytest.raises(mg.InputError, match=r"is there already, and is not written over\. Continue it by resume="):
        rest_to_rest().solve(log=tmp_path / "old.jsonl")
    with pytest.raises(mg.InputError, match=r"nowhere.*cannot be written: No such file"):
        rest_to_rest().solve(log=tmp_path / "nowhere" / "run.jsonl")


def test_a_full_disk_ends_the_log_and_not_the_run(tmp_path, monkeypatch):
    """/dev/full takes no byte: a warning, once, and the same result."""
    best = rest_to_rest().solve()
    log = tmp_path / "run.jsonl"

    written = Path.open

    def full(path, *arguments, **options):
        return written(Path("/dev/full") if path == log and "a" in arguments else path, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.warns(mg.design.LogWarning, match="No space left.*number 1 on are not stored") as told:
        same = rest_to_rest().solve(log=log)
    assert len(told) == 1
    assert same.values == best.values
    assert len(same.history) == len(best.history)


def test_ctrl_c_gives_the_best_so_far(tmp_path):
    """A process of its own, whose log grows; interrupted after some evaluations it prints what it has."""
    script = textwrap.dedent("""
        import os, signal
        from support.design_cases import rest_to_rest

        def told(record):
            if record.iteration == 2:
                os.kill(os.getpid(), signal.SIGINT)

        best = rest_to_rest().solve("ipopt", log="run.jsonl", progress=told, options={"mu_init": 10.0})
        print(best.status, len(best.history), best.reason)
    """)
    tests = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    status, count, reason = done.stdout.split(maxsplit=2)
    assert status == "interrupted"
    assert "the best iterate so far is returned" in reason
    # and from its log the rest is found
    best = rest_to_rest().solve("ipopt", resume=tmp_path / "run.jsonl", options={"mu_init": 10.0})
    assert best.success
    assert sum(e.replayed for e in best.history) == int(count)


def test_sigkill_leaves_a_log_that_continues(tmp_path):
    script = textwrap.dedent("""
        import os, signal
        from support.design_cases import rest_to_rest

        def told(record):
            if record.iteration == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        rest_to_rest().solve(log="run.jsonl", progress=told)
    """)
    tests = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    best, serial = rest_to_rest().solve(resume=tmp_path / "run.jsonl"), rest_to_rest().solve()
    assert sum(e.replayed for e in best.history) >= 2
    assert best.values == serial.values
    assert np.isfinite(best.value)
