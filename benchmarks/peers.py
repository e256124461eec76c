"""What other libraries need for closed mechanisms and a long chain: Exudyn, Pinocchio, and scipy on equations by hand.

python benchmarks/peers.py [--quick]

Functions to import, or a table and, as its last line, one JSON object. Times are the best of a few runs: of the
solver's call for Exudyn, of the loop over steps for Pinocchio, of the whole solution for scipy. Nothing of mechgrad is
loaded. The mechanisms are the twins that the tests compare with each other.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import odeint

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from environment import machine
from support import exudyn_twins as exudyn
from support import five_bar_reference as five_bar
from support.chain_reference import chain_data, pinocchio_chain, rk4_step
from support.exudyn_twins import Run, Solver

__all__ = [
    "chain_data",
    "exudyn_us_by_way",
    "exudyn_us_per_step",
    "pinocchio_chain_us_per_step",
    "scipy_accuracy",
    "scipy_seconds",
]

Way = Callable[[float, float], Run]  # of step and duration
ROUNDS = 3

_IMPLICIT = {
    "trapezoidal, full Newton": Solver("trapezoidal", modified_newton=False),
    "trapezoidal, modified Newton": Solver("trapezoidal"),
    "generalized alpha, full Newton": Solver("generalized alpha", modified_newton=False),
    "generalized alpha, modified Newton": Solver("generalized alpha"),
}


def _ways(mechanism: str) -> tuple[dict[str, Way], int]:
    """The ways to simulate it that are worth timing, and how many steps make a run."""
    if mechanism == "five_bar":
        return {k: lambda h, T, s=s: exudyn.five_bar(h, T, solver=s) for k, s in _IMPLICIT.items()}, 2000
    if mechanism == "slider_crank":
        return {k: lambda h, T, s=s: exudyn.slider_crank(h, T, solver=s) for k, s in _IMPLICIT.items()}, 2000
    if mechanism.startswith("chain") and mechanism[5:].isdigit():
        n = int(mechanism[5:])
        alpha, sparse = Solver("generalized alpha"), Solver("generalized alpha", linear="sparse")
        return {
            "rigid bodies, generalized alpha": lambda h, T: exudyn.chain(n, h, T, solver=sparse),
            "tree, generalized alpha": lambda h, T: exudyn.chain_tree(n, h, T, solver=alpha),
            "tree, rk4": lambda h, T: exudyn.chain_tree(n, h, T, solver=Solver("rk4")),
        }, 500
    raise ValueError(f"no mechanism {mechanism!r}: there are 'five_bar', 'slider_crank' and 'chain' with a number")


def exudyn_us_by_way(mechanism: str, step: float = 1e-3, rounds: int = ROUNDS) -> dict[str, float]:
    """Microseconds per step of each way; 'five_bar', 'slider_crank' or 'chain43' (any number of links)."""
    ways, steps = _ways(mechanism)
    found = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            found[name] = min(found[name], way(step, steps * step).microseconds_per_step)
    return found


def exudyn_us_per_step(mechanism: str, step: float = 1e-3, rounds: int = ROUNDS) -> float:
    """Microseconds per step of Exudyn's quickest way."""
    return min(exudyn_us_by_way(mechanism, step, rounds).values())


def pinocchio_chain_us_per_step(n: int = 43, step: float = 1e-3, steps: int = 500, rounds: int = ROUNDS) -> float:
    """Microseconds per RK4 step (four articulated-body passes) in a Python loop."""
    march, start = rk4_step(pinocchio_chain(n)), np.array(chain_data(n)["angles"])
    best = np.inf
    for _ in range(rounds):
        q, v = start, np.zeros(n)
        begin = time.perf_counter()
        for _ in range(steps):
            q, v = march(q, v, step)
        best = min(best, (time.perf_counter() - begin) / steps)
    return 1e6 * best


def _with_solve_ivp(rtol: float) -> np.ndarray:
    return five_bar.solve(rtol=rtol, atol=rtol).psi[-1]


def _with_odeint(rtol: float) -> np.ndarray:
    rates, start = five_bar.equations(five_bar.DATA), five_bar.start(five_bar.DATA)
    states = odeint(rates, start, [0.0, 5.0], tfirst=True, rtol=rtol, atol=rtol, mxstep=100_000)
    return np.asarray(states[-1, 4:])


# DOP853 steps in Python; odeint is compiled and calls Python for the equations only
SCIPY: dict[str, Callable[[float], np.ndarray]] = {"DOP853": _with_solve_ivp, "odeint": _with_odeint}


def scipy_accuracy(tolerance: float, method: str = "DOP853") -> float:
    """The loosest rtol = atol (quarter decades) that gives the five-bar's objectives over 5 s to `tolerance`, each
    relative to its own value.
    """
    if method not in SCIPY:
        raise ValueError(f"no method {method!r}: there are {', '.join(SCIPY)}")
    exact = five_bar.solve(rtol=1e-13, atol=1e-13).psi[-1]
    for exponent in np.arange(1.0, 12.25, 0.25):
        rtol = float(10**-exponent)
        if np.max(np.abs(SCIPY[method](rtol) / exact - 1)) <= tolerance:
            return rtol
    raise ValueError(f"{method} does not reach a relative error of {tolerance:g} here: ask for 1e-10 or more")


def scipy_seconds(tolerance: float, method: str = "DOP853", rounds: int = 7) -> float:
    """Seconds for 5 s of the five-bar with all three objectives to the relative error `tolerance`."""
    rtol = scipy_accuracy(tolerance, method)
    best = np.inf
    for _ in range(rounds):
        begin = time.perf_counter()
        SCIPY[method](rtol)
        best = min(best, time.perf_counter() - begin)
    return float(best)


def main() -> None:
    """Print all times."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="one round each")
    rounds = 1 if options.parse_args().quick else ROUNDS
    figures: dict[str, Any] = {"machine": machine()}
    for mechanism in ("five_bar", "slider_crank", "chain43"):
        for way, us in exudyn_us_by_way(mechanism, rounds=rounds).items():
            print(f"Exudyn     {mechanism:13} {way:36} {us:9.1f} µs/step")
            key = f"exudyn_{mechanism}_us"
            figures[key] = float(f"{min(us, figures.get(key, np.inf)):.4g}")
    us = pinocchio_chain_us_per_step(rounds=rounds)
    print(f"Pinocchio  {'chain43':13} {'rk4 in Python':36} {us:9.1f} µs/step")
    figures["pinocchio_chain43_us"] = float(f"{us:.4g}")
    for method in SCIPY:
        for tolerance in (1e-4, 1e-6, 1e-9):
            ms = 1e3 * scipy_seconds(tolerance, method, 3 * rounds)
            print(f"scipy      {'five_bar, 5 s':13} {f'{method}, objectives to {tolerance:g}':36} {ms:9.2f} ms")
            figures[f"scipy_{method}_five_bar_{tolerance:g}_ms"] = float(f"{ms:.4g}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
