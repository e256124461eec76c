"""Accelerations by recursive elimination beside the factors of the mass matrix and Pinocchio's articulated bodies.

    python benchmarks/forward_dynamics.py [--quick]

Candidates alternate inside one run. Times per sample are the least of all rounds, since whatever else runs on a machine
only adds to them; ratios are ratios of these, above 1 means that the recursion is faster. A call holds about 16000
columns (samples times joints), so that what a call costs by itself does not hide the growth with n.
Pinocchio is called from Python once per sample and its result copied into an array made beforehand. The last line is
one JSON object; times end in _us, per sample.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pinocchio as pin
from common import Report, Times, difference, digits, exponent, interleave, machine, pin_model

import mechgrad as mg
from mechgrad.gallery import chain, human, human_motion

COLUMNS_PER_CALL = 16384
LONGEST_FACTORED = 128  # factors cost n^3 for a chain
AGREEMENT = 1e-8  # the human's mass matrix has a condition number of some millions


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    growth: tuple[int, ...]
    crossover: tuple[int, ...]
    bushes: tuple[int, ...]


FULL = Effort(41, (4, 8, 16, 32, 64, 128, 256, 512), (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32), (1, 2, 3, 4, 6, 8))
QUICK = Effort(15, (4, 16, 64, 512), (2, 4, 8, 16, 32), (1, 3, 8))

State = tuple[np.ndarray, np.ndarray, np.ndarray]


def state_of(model: mg.Model, samples: int) -> State:
    """Random q, v, tau of hinges."""
    q, v, tau = np.random.default_rng(model.n_v).uniform(-1.0, 1.0, (3, samples, model.n_v))
    return q, v, tau


def ways(model: mg.Model, state: State, names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """The candidates by name."""
    out = np.empty_like(state[1])
    return {name: partial(mg.forward_dynamics, model, *state, method=name, out=out) for name in names}  # type: ignore[arg-type]


def compare(model: mg.Model, rounds: int, names: Sequence[str] = ("recursive", "factor")) -> Times:
    """Seconds per sample in each round, many samples in one call."""
    state = state_of(model, max(32, COLUMNS_PER_CALL // model.n_v))
    times = interleave(ways(model, state, names), rounds)
    return {name: seconds / len(state[0]) for name, seconds in times.items()}


def compare_single(model: mg.Model, rounds: int) -> Times:
    """Seconds per call with one state."""
    q, v, tau = state_of(model, 1)
    return interleave(ways(model, (q[0], v[0], tau[0]), ("recursive", "factor")), rounds, repeat=100)


def faster(times: Times, ours: str, theirs: str) -> float:
    """How many times faster `ours` is."""
    return float(np.min(times[theirs]) / np.min(times[ours]))


def us(seconds: np.ndarray) -> float:
    """Least of all rounds, in microseconds."""
    return float(np.min(seconds)) * 1e6


def bush(branches: int, length: int) -> mg.Model:
    """Branches of some links each, all from the ground: short chains, where factors are at their best."""
    bodies, joints = [], []
    for b in range(branches):
        parent = "ground"
        for k in range(length):
            name = f"b{b}.{k}"
            bodies.append(mg.Body(name, 1.0, (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02])))
            joints.append(mg.Revolute(f"j{b}.{k}", parent, name, axis=(0.0, 1.0, 0.3 * k), origin=(0.2, 0.0, 0.1)))
            parent = name
    return mg.Model(f"bush of {branches} x {length}", bodies, joints)


# ------------------------------------------------------------------------------------------------------ sections
def growth(report: Report, effort: Effort) -> None:
    """Time against the number of links, and what is left of the torques given."""
    rows, found = [], []
    for n in effort.growth:
        model = chain(n)
        names = ("recursive", "factor") if n <= LONGEST_FACTORED else ("recursive",)
        times = compare(model, max(9, effort.rounds // (1 + n // 64)), names)
        found.append(us(times["recursive"]))
        report.note(f"chain{n}_recursive_us", found[-1])
        report.note(f"chain{n}_recursive_ns_per_joint", found[-1] / n * 1e3)
        if "factor" in times:
            report.note(f"chain{n}_factor_us", us(times["factor"]))
        q, v, tau = state_of(model, 8)
        a = mg.forward_dynamics(model, q, v, tau, method="recursive")
        left = np.max(np.abs(mg.inverse_dynamics(model, q, v, a) - tau))
        # beside the torques that would hold it: what the sum a tau stands in is made of
        residual = report.note(f"chain{n}_residual", float(left / np.max(np.abs(mg.inverse_dynamics(model, q, v)))))
        factors = digits(us(times["factor"])) if "factor" in times else ""
        rows.append([str(n), digits(found[-1]), digits(found[-1] / n * 1e3), factors, f"{residual:.0e}"])
    slope = report.note("fully_recursive_growth_exponent", exponent(effort.growth, found))
    rows.append(["exponent", f"{slope:.2f}", "", "", ""])
    header = ["links", "recursive [µs]", "[ns/joint]", "factor [µs]", "residual of torques"]
    report.table("serial chains, per sample", header, rows)


def crossover(report: Report, effort: Effort) -> None:
    """From which length of a chain on elimination is quicker; and where it is not: many short branches."""
    rows, ratios = [], []
    for n in effort.crossover:
        ratios.append(_two_ways(report, rows, f"chain{n}", chain(n), effort))
    slower = [n for n, ratio in zip(effort.crossover, ratios, strict=True) if ratio <= 1.0]
    report.note("crossover_n", next(n for n in (*effort.crossover, 10**9) if n > max(slower, default=0)))
    bushes = [_two_ways(report, rows, f"bush10x{k}", bush(10, k), effort) for k in effort.bushes]
    report.note("bush_worst_ratio", min(bushes))
    header = ["", "entries/column", "recursive [µs]", "factor [µs]", "ratio", "ratio, single"]
    report.table("chains and bushes of ten branches, per sample", header, rows)


def _two_ways(report: Report, rows: list[list[str]], key: str, model: mg.Model, effort: Effort) -> float:
    times, single = compare(model, effort.rounds), compare_single(model, effort.rounds)
    ratio = report.note(f"{key}_ratio_vs_factor", faster(times, "recursive", "factor"))
    alone = report.note(f"{key}_single_ratio_vs_factor", faster(single, "recursive", "factor"))
    q = np.zeros((1, model.n_v))
    entries = (mg.mass_matrix(model, q).pattern.nnz + model.n_v) / (2 * model.n_v)
    figures = (entries, us(times["recursive"]), us(times["factor"]), ratio, alone)
    rows.append([key, *map(digits, figures)])
    return ratio


def beside_pinocchio(report: Report, effort: Effort) -> None:
    """A chain of 43 links and the human, 301 samples in one call and one state per call."""
    rows = []
    _, q, v, a = human_motion(301)
    walker = human()
    cases = (
        ("chain43", chain(43), state_of(chain(43), 301)),
        ("human", walker, (q, v, mg.inverse_dynamics(walker, q, v, a))),
    )
    for key, model, state in cases:
        twin = pin_model(model)
        data, out = twin.createData(), np.empty_like(state[1])

        def theirs(twin: pin.Model = twin, data: pin.Data = data, out: np.ndarray = out, state: State = state) -> None:
            for k, (q, v, tau) in enumerate(zip(*state, strict=True)):
                out[k] = pin.aba(twin, data, q, v, tau)

        def singly(model: mg.Model = model, state: State = state) -> None:
            for q, v, tau in zip(*state, strict=True):
                mg.forward_dynamics(model, q, v, tau)

        theirs()
        ours = mg.forward_dynamics(model, *state, method="recursive")
        apart = report.note(f"{key}_difference", difference(ours, out))
        report.note(f"{key}_difference_of_ways", difference(ours, mg.forward_dynamics(model, *state, method="factor")))
        if not apart < AGREEMENT:
            raise SystemExit(f"{key}: mechgrad and Pinocchio differ by {apart:.1e}; times would mean nothing.")
        calls = ways(model, state, ("recursive", "factor")) | {"single": singly, "pin": theirs}
        times = interleave(calls, effort.rounds)
        for name, suffix in (("recursive", ""), ("factor", "_factor"), ("single", "_single")):
            ratio = report.note(f"{key}{suffix}_ratio_vs_pin", faster(times, name, "pin"))
            mine = report.note(f"{key}{suffix}_us", us(times[name]) / 301)
            rows.append([f"{key}, {name}", digits(mine), digits(us(times["pin"]) / 301), digits(ratio)])
    report.table("beside Pinocchio, per sample", ["", "ours [µs]", "pin [µs]", "ratio"], rows)


def main() -> None:
    """All sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    effort = QUICK if parser.parse_args().quick else FULL
    report = Report()
    report.figures["machine"] = machine()
    growth(report, effort)
    crossover(report, effort)
    beside_pinocchio(report, effort)
    report.finish()


if __name__ == "__main__":
    main()
