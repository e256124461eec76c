"""How a solve ends before its time: limits, Ctrl-C, errors, numbers that are none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from support.programs import HS071_START, hs071, rosenbrock

from mechgrad.optimization.solvers import (
    Iteration,
    Multipliers,
    Outcome,
    SolverUnavailableError,
    available_solvers,
    ipopt_library,
    print_progress,
    register,
    solve,
)
from mechgrad.optimization.solvers import solve as solve_function

SOLVERS = ["ipopt", "trust-constr", "slsqp"]
FUNCTIONS = ["objective", "gradient", "constraints", "jacobian", "hessian"]
CALLS = [(s, f) for s in SOLVERS for f in FUNCTIONS if (s, f) != ("slsqp", "hessian")]


def after(calls: int, function, then):
    """`function`, which from the call after the given number on does something else."""
    count = 0

    def wrapped(*arguments):
        nonlocal count
        count += 1
        return then(function(*arguments)) if count > calls else function(*arguments)

    return wrapped


def failing(name: str, calls: int, then):
    return hs071(**{name: after(calls, getattr(hs071(), name), then)})


@pytest.mark.parametrize("solver", SOLVERS)
def test_iteration_limit(solver):
    end = solve(hs071(), HS071_START, solver, max_iterations=3)
    assert end.status == "iteration limit"
    assert "3 iterations" in end.reason
    assert end.iterations == 3
    assert len(end.history) >= 3


@pytest.mark.parametrize(("solver", "name"), CALLS)
def test_interrupt_keeps_the_best_iterate(solver, name):
    """Best: the least infeasible; the program is asked no more after the interrupt, whatever the solver wants."""

    def interrupt(value):
        raise KeyboardInterrupt

    end = solve(failing(name, 4, interrupt), HS071_START, solver)
    assert end.status == "interrupted"
    assert "interrupted" in end.reason
    assert end.evaluations[name] == 5
    assert end.infeasibility == pytest.approx(min(record.infeasibility for record in end.history))
    assert np.isfinite(end.objective)
    assert end.constraints == pytest.approx(hs071().constraints(end.x))


@pytest.mark.parametrize("solver", SOLVERS)
def test_best_is_not_the_last(solver):
    """From the feasible minimum of one objective towards another: the first steps leave the curved constraint."""
    feasible = solve(hs071(), HS071_START, "slsqp").x
    tail = {"objective": lambda x: -x[2], "gradient": lambda x: np.array([0.0, 0.0, -1.0, 0.0])}
    other = hs071(**tail, hessian=None, hessian_structure=None)
    end = solve(other, feasible, solver, progress=lambda record: record.iteration < 2)
    assert end.status == "interrupted"
    seen = [max(record.infeasibility, 1e-8) for record in end.history]
    assert seen[-1] > 1.01 * min(seen)
    assert max(end.infeasibility, 1e-8) == pytest.approx(min(seen))


def test_best_among_feasible_iterates_has_the_smallest_objective():
    """No constraints: the objective decides, although a Newton step of Rosenbrock's function first climbs."""
    end = solve(rosenbrock(), [-1.2, 1.0, -1.2, 1.0], progress=lambda record: record.iteration < 6)
    assert end.objective == min(record.objective for record in end.history)


@pytest.mark.parametrize(("solver", "name"), CALLS)
def test_errors_of_functions_are_raised_with_the_point(solver, name):
    def broken(value):
        raise ZeroDivisionError("no such thing")

    with pytest.raises(ZeroDivisionError, match="no such thing") as caught:
        solve(failing(name, 3, broken), HS071_START, solver)
    assert caught.value.iterate.shape == (4,)
    assert np.isfinite(caught.value.iterate).all()
    assert f"`{name}`" in caught.value.__notes__[0]


@pytest.mark.parametrize(("solver", "name"), CALLS)
@pytest.mark.parametrize("calls", [0, 3])
def test_nan_is_told(solver, name, calls):
    """From the start on, or from some iteration on: a reason that names the number, never a result without."""
    end = solve(failing(name, calls, lambda value: value * np.nan), HS071_START, solver)
    assert end.status == "failed"
    assert "not a number" in end.reason
    expected = {
        "objective": "the objective is nan",
        "gradient": "objective by x[0] is nan (and 3 more)",
        "constraints": "constraint product is nan",
        "jacobian": "constraint product by x[0] is nan",
        "hessian": "second derivative by x[0] and x[0] is nan",
    }
    assert expected[name] in end.reason


def test_ipopt_steps_back_from_a_place_without_value():
    """log(x) - x from far: the first full step leaves the domain, a shorter one does not."""
    from mechgrad.optimization.solvers import NonlinearProgram

    visited = []

    def objective(x):
        visited.append(x[0])
        return x[0] - np.log(x[0]) if x[0] > 0.0 else np.nan

    program = NonlinearProgram(
        n=1,
        objective=objective,
        gradient=lambda x: 1.0 - 1.0 / x,
        hessian=lambda x, sigma, lam: sigma / x**2,
        hessian_structure=([0], [0]),
    )
    best = solve(program, [3.0])
    assert best.success, best
    assert best.x == pytest.approx([1.0])
    assert min(visited) <= 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_wrong_shape_from_a_function(solver):
    with pytest.raises(ValueError, match=r"`jacobian` returned an array of shape \(7,\); an array of shape \(8,\)"):
        solve(failing("jacobian", 0, lambda value: value[:7]), HS071_START, solver)


@pytest.mark.parametrize("solver", SOLVERS)
def test_time_limit(solver):
    def slow(x):
        threading.Event().wait(0.02)
        return rosenbrock().objective(x)

    program = rosenbrock()
    object.__setattr__(program, "objective", slow)
    end = solve(program, [-1.2, 1.0, -1.2, 1.0], solver, time_limit=0.1)
    assert end.status == "time limit"
    assert "0.1 s" in end.reason
    assert 0.1 <= end.time < 2.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_progress(solver, capsys):
    records: list[Iteration] = []
    end = solve(hs071(), HS071_START, solver, progress=records.append)
    assert tuple(records) == end.history
    assert [r.iteration for r in records] == sorted({r.iteration for r in records})
    assert records[-1].objective == pytest.approx(end.objective, abs=1e-6)
    assert records[-1].time <= end.time
    assert any(r.step > 0 for r in records)
    solve(hs071(), HS071_START, solver, progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if "objective" not in line]) == len(records)


@pytest.mark.parametrize("solver", SOLVERS)
def test_progress_may_end_the_solve_or_fail(solver):
    end = solve(hs071(), HS071_START, solver, progress=lambda record: record.iteration < 2)
    assert end.status == "interrupted"
    assert "progress function" in end.reason
    assert end.iterations == 2

    def broken(record):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        solve(hs071(), HS071_START, solver, progress=broken)


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c(solver):
    """A real signal to a real process, at any moment: the result comes back, and the handler is Python's again."""
    script = f"""
        import signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off in the background
        from support.programs import rosenbrock
        from mechgrad.optimization.solvers import solve
        program = rosenbrock()
        value = program.objective
        def slow(x):
            time.sleep(0.01)
            return value(x)
        object.__setattr__(program, "objective", slow)
        end = solve(program, [-1.2, 1.0, -1.2, 1.0], {solver!r}, tolerance=1e-15, hessian="lbfgs",
                    max_iterations=100000, progress=lambda r: print("iteration", flush=True))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        print(end.status)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "iteration\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.splitlines()[-1] == "interrupted"


def test_solve_in_a_thread():
    """Signals belong to the main thread; elsewhere the solve goes without."""
    results = []
    thread = threading.Thread(target=lambda: results.append(solve(hs071(), HS071_START)))
    thread.start()
    thread.join()
    assert results[0].success


class Liar:
    """Claims success wherever it is."""

    name = "liar"
    hessians = ("lbfgs",)

    def missing(self) -> str:
        return ""

    def run(self, task):
        unknown = Multipliers(np.zeros(2), np.zeros(4))
        return Outcome(np.full(4, 2.0), unknown, "converged", "believe me", 1)


@pytest.fixture
def registry(monkeypatch):
    import importlib

    module = importlib.import_module(solve_function.__module__)
    monkeypatch.setattr(module, "_ADAPTERS", dict(module._ADAPTERS))


@pytest.mark.usefixtures("registry")
def test_success_is_checked():
    register(Liar())
    end = solve(hs071(), HS071_START, "liar")
    assert end.status == "failed"
    assert "violated" in end.reason
    assert end.worst[0].name == "square"


def test_missing_library(monkeypatch):
    monkeypatch.setenv("MECHGRAD_IPOPT", "/nowhere/libipopt.so")
    ipopt_library.load.cache_clear()
    try:
        always = {"trust-constr", "slsqp", "l-bfgs-b", "least-squares"}
        assert always <= set(available_solvers()) <= always | {"mma"}
        with pytest.raises(SolverUnavailableError, match=r"nowhere.*mechgrad\[ipopt\].*trust-constr, slsqp"):
            solve(hs071(), HS071_START)
    finally:
        ipopt_library.load.cache_clear()


def test_printer(capsys):
    print_progress(Iteration(1, -2.5, 0.0, 0.5, 1.25))
    assert capsys.readouterr().out == "    1   -2.500000e+00     0.0e+00   5.0e-01   1.25 s\n"
