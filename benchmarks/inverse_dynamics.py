"""Inverse and forward dynamics and their derivatives: times per sample on this machine, beside Pinocchio's.

    python benchmarks/inverse_dynamics.py [--quick]

Ratios are taken inside one run, candidates alternating; above 1 means that mechgrad is faster. Pinocchio is called from
Python once per sample (it has no batch function there) and its results are copied into arrays made beforehand. The last
line is one JSON object with every figure; times end in _us (per sample), _seconds, _ns or _mib.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from common import (
    Report,
    Times,
    difference,
    digits,
    exponent,
    faster,
    interleave,
    machine,
    other_process,
    pin_model,
    symmetric,
)

import mechgrad as mg
from mechgrad.gallery import chain, human, human_motion

AGREEMENT = 1e-11  # relative, before anything is timed
FORWARD_AGREEMENT = 1e-8  # the human's mass matrix has a condition number of some millions


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    single_calls: int
    chains: tuple[int, ...]
    samples: tuple[int, ...]


FULL = Effort(41, 301, (4, 8, 16, 32, 64, 128, 256), (1, 2, 8, 64, 301, 4096, 65536))
QUICK = Effort(11, 101, (4, 16, 64), (1, 8, 301, 4096))


class Pair:
    """The human and its motion, here and in Pinocchio."""

    def __init__(self, samples: int = 301) -> None:
        self.model = human()
        self.nt, self.n = samples, self.model.n_v
        _, self.q, self.v, self.a = human_motion(samples)
        self.tau = mg.inverse_dynamics(self.model, self.q, self.v, self.a)
        self.pin = pin_model(self.model)
        self.data = self.pin.createData()
        self.vectors = np.empty((samples, self.n))
        self.matrices = np.empty((3, samples, self.n, self.n))

    def pin_torques(self) -> np.ndarray:
        model, data, out = self.pin, self.data, self.vectors
        for k in range(self.nt):
            out[k] = pin.rnea(model, data, self.q[k], self.v[k], self.a[k])
        return out

    def pin_derivatives(self) -> np.ndarray:
        model, data = self.pin, self.data
        dq, dv, da = self.matrices
        for k in range(self.nt):
            dq[k], dv[k], da[k] = pin.computeRNEADerivatives(model, data, self.q[k], self.v[k], self.a[k])
        return self.matrices

    def pin_mass_matrix(self) -> np.ndarray:
        model, data, out = self.pin, self.data, self.matrices[2]
        for k in range(self.nt):
            out[k] = pin.crba(model, data, self.q[k])
        return out

    def pin_accelerations(self) -> np.ndarray:
        model, data, out = self.pin, self.data, self.vectors
        for k in range(self.nt):
            out[k] = pin.aba(model, data, self.q[k], self.v[k], self.tau[k])
        return out

    def pin_acceleration_derivatives(self) -> np.ndarray:
        model, data = self.pin, self.data
        dq, dv, dtau = self.matrices
        for k in range(self.nt):
            dq[k], dv[k], dtau[k] = pin.computeABADerivatives(model, data, self.q[k], self.v[k], self.tau[k])
        return self.matrices


def check_agreement(report: Report, pair: Pair) -> None:
    """Both libraries must give the same numbers before their times mean anything."""
    model = pair.model
    D = mg.inverse_dynamics_derivatives(model, pair.q, pair.v, pair.a)
    F = mg.forward_dynamics_derivatives(model, pair.q, pair.v, pair.tau)

    def agree(key: str, within: float, *pairs: tuple[np.ndarray, np.ndarray]) -> None:
        worst = report.note(key, max(difference(ours, theirs) for ours, theirs in pairs))
        if not worst < within:
            raise SystemExit(f"{key} = {worst:.1e}: mechgrad and Pinocchio disagree; times would mean nothing.")

    agree("torque_difference", AGREEMENT, (pair.tau, pair.pin_torques()))
    dq, dv, da = pair.pin_derivatives()
    pairs = (D.dq.dense(), dq), (D.dv.dense(), dv), (D.da.dense(), symmetric(da))
    agree("derivative_difference", AGREEMENT, *pairs)
    M = mg.mass_matrix(model, pair.q).dense()
    agree("mass_matrix_difference", AGREEMENT, (M, symmetric(pair.pin_mass_matrix())))
    agree("forward_difference", FORWARD_AGREEMENT, (F.a, pair.pin_accelerations()))
    dq, dv, dtau = pair.pin_acceleration_derivatives()
    pairs = (F.dq, dq), (F.dv, dv), (F.dtau, symmetric(dtau))
    agree("forward_derivative_difference", FORWARD_AGREEMENT, *pairs)


# --------------------------------------------------------------------------------------------- beside pinocchio
def row(report: Report, key: str, label: str, times: Times, per: int, ours: str = "ours") -> list[str]:
    """Keep and print times per sample and the ratio of one candidate to Pinocchio."""
    mine, theirs = times[ours] / per * 1e6, times["pin"] / per * 1e6
    report.note(f"{key}_us", float(np.median(mine)))
    report.note(f"{key}_us_min", float(np.min(mine)))
    report.note(f"{key}_pin_us", float(np.median(theirs)))
    report.note(f"{key}_pin_us_min", float(np.min(theirs)))
    ratio = report.note(f"{key}_ratio_vs_pin", faster(times, ours, "pin"))
    best = report.note(f"{key}_ratio_vs_pin_of_min", float(np.min(theirs) / np.min(mine)))
    return [
        label,
        *(digits(x) for x in (np.median(mine), np.min(mine), np.median(theirs), np.min(theirs), ratio, best)),
    ]


COLUMNS = ["", "median [µs]", "min [µs]", "pin median", "pin min", "ratio", "ratio of min"]


def batches(report: Report, effort: Effort, pair: Pair) -> None:
    """The human's 301 samples in one call."""
    model, q, v, a, tau = pair.model, pair.q, pair.v, pair.a, pair.tau
    out, D = np.empty_like(tau), mg.inverse_dynamics_derivatives(model, q, v, a)
    M = mg.mass_matrix(model, q)

    def derivatives_dense() -> list[np.ndarray]:
        E = mg.inverse_dynamics_derivatives(model, q, v, a)
        return [E.dq.dense(), E.dv.dense(), E.da.dense()]

    torques = interleave(
        {
            "ours": lambda: mg.inverse_dynamics(model, q, v, a),
            "out": lambda: mg.inverse_dynamics(model, q, v, a, out=out),
            "pin": pair.pin_torques,
        },
        effort.rounds,
        repeat=5,
    )
    derivatives = interleave(
        {
            "ours": lambda: mg.inverse_dynamics_derivatives(model, q, v, a),
            "out": lambda: mg.inverse_dynamics_derivatives(model, q, v, a, out=D),
            "dense": derivatives_dense,
            "pin": pair.pin_derivatives,
        },
        effort.rounds,
    )
    mass = interleave(
        {"ours": lambda: mg.mass_matrix(model, q, out=M), "pin": pair.pin_mass_matrix}, effort.rounds, repeat=2
    )
    forward = interleave(
        {"ours": lambda: mg.forward_dynamics(model, q, v, tau), "pin": pair.pin_accelerations}, effort.rounds, repeat=2
    )
    forward_derivatives = interleave(
        {
            "ours": lambda: mg.forward_dynamics_derivatives(model, q, v, tau),
            "pin": pair.pin_acceleration_derivatives,
        },
        effort.rounds,
    )
    nt = pair.nt
    rows = [
        row(report, "torque", "torques", torques, nt),
        row(report, "torque_out", "  with out=", torques, nt, "out"),
        row(report, "derivative", "their derivatives, packed", derivatives, nt),
        row(report, "derivative_out", "  with out=", derivatives, nt, "out"),
        row(report, "derivative_dense", "  spread to dense", derivatives, nt, "dense"),
        row(report, "mass_matrix", "mass matrix, with out=", mass, nt),
        row(report, "forward", "accelerations", forward, nt),
        row(report, "forward_derivative", "their derivatives", forward_derivatives, nt),
    ]
    report.table(f"human, {pair.n} joints, {nt} samples in one call, per sample", COLUMNS, rows)


def singles(report: Report, effort: Effort, pair: Pair) -> None:
    """One state per call."""
    model, twin, data, calls = pair.model, pair.pin, pair.data, effort.single_calls
    states = [(pair.q[k], pair.v[k], pair.a[k]) for k in range(calls)]
    vector = np.empty(pair.n)
    dq, dv, da = np.empty((3, pair.n, pair.n))

    def ours() -> None:
        for q, v, a in states:
            mg.inverse_dynamics(model, q, v, a)

    def theirs() -> None:
        for q, v, a in states:
            vector[:] = pin.rnea(twin, data, q, v, a)

    def our_derivatives() -> None:
        for q, v, a in states:
            mg.inverse_dynamics_derivatives(model, q, v, a)

    def their_derivatives() -> None:
        for q, v, a in states:
            dq[:], dv[:], da[:] = pin.computeRNEADerivatives(twin, data, q, v, a)

    least, nothing = chain(1), np.zeros(1)
    least_twin = pin_model(least)
    least_data = least_twin.createData()

    def our_call() -> None:
        for _ in states:
            mg.inverse_dynamics(least, nothing, nothing, nothing)

    def their_call() -> None:
        for _ in states:
            vector[:1] = pin.rnea(least_twin, least_data, nothing, nothing, nothing)

    rows = []
    for key, label, pair_of_calls in (
        ("single_torque", "torques", (ours, theirs)),
        ("single_derivative", "their derivatives, packed", (our_derivatives, their_derivatives)),
        ("single_joint_torque", "torque of a single joint", (our_call, their_call)),
    ):
        times = interleave(dict(zip(("ours", "pin"), pair_of_calls, strict=True)), effort.rounds)
        rows.append(row(report, key, label, times, calls))
    report.table(f"human, {pair.n} joints, one state per call (last row: what a call costs)", COLUMNS, rows)


# ---------------------------------------------------------------------------------------------------- by itself
def parameters(report: Report, effort: Effort, pair: Pair) -> None:
    """What columns by parameters cost beyond the derivatives by q, v and a."""
    state = (pair.model, pair.q, pair.v, pair.a)
    rows = []
    for key, wrt in (("mass_columns", "*.mass"), ("dh_columns", "dh.*")):
        with_columns, without = (mg.inverse_dynamics_derivatives(*state, wrt=w) for w in (wrt, ()))
        times = interleave(
            {
                "with": lambda D=with_columns, wrt=wrt: mg.inverse_dynamics_derivatives(*state, wrt=wrt, out=D),
                "without": lambda D=without: mg.inverse_dynamics_derivatives(*state, out=D),
            },
            effort.rounds,
        )
        extra = float(np.median(times["with"] - times["without"])) / pair.nt
        columns, entries = len(with_columns.parameters), with_columns.dp.pattern.nnz
        report.note(f"{key}", columns)
        report.note(f"{key}_entries", entries)
        report.note(f"{key}_us", extra * 1e6)
        report.note(f"{key}_ns_per_entry", extra / entries * 1e9)
        rows.append([wrt, str(columns), str(entries), digits(extra * 1e6), digits(extra / entries * 1e9)])
    header = ["wrt", "columns", "entries", "extra [µs/sample]", "extra [ns/entry]"]
    report.table("human, derivatives by parameters, beyond those by q, v, a", header, rows)


def chains(report: Report, effort: Effort) -> None:
    """Growth with the number of joints: n for torques, n^2 for the n^2 entries of the derivatives."""
    nt = 301
    rows = []
    found: list[tuple[float, float]] = []
    for n in effort.chains:
        found.append(seconds_of_chain(n, nt, effort.rounds))
        torque, derivative = found[-1]
        report.note(f"chain{n}_torque_us", torque * 1e6)
        report.note(f"chain{n}_torque_ns_per_joint", torque / n * 1e9)
        report.note(f"chain{n}_derivative_us", derivative * 1e6)
        figures = (torque * 1e6, torque / n * 1e9, derivative * 1e6, derivative / (3 * n * n) * 1e9)
        rows.append([str(n), *map(digits, figures)])
    torque_slope, derivative_slope = (exponent(effort.chains, seconds) for seconds in zip(*found, strict=True))
    report.note("torque_growth_exponent", torque_slope)
    report.note("derivative_growth_exponent", derivative_slope)
    rows.append(["exponent", f"{torque_slope:.2f}", "", f"{derivative_slope:.2f}", ""])
    header = ["joints", "torques [µs]", "[ns/joint]", "derivatives [µs]", "[ns/entry]"]
    report.table(f"serial chains, {nt} samples, with out=, per sample", header, rows)


def seconds_of_chain(n: int, nt: int, rounds: int) -> tuple[float, float]:
    """Per sample, of torques and of derivatives."""
    model = chain(n)
    q, v, a = np.random.default_rng(n).uniform(-1.0, 1.0, (3, nt, n))
    tau, D = np.empty((nt, n)), mg.inverse_dynamics_derivatives(model, q, v, a)
    torques = interleave({"t": lambda: mg.inverse_dynamics(model, q, v, a, out=tau)}, rounds, max(1, 256 // n))
    derivatives = interleave(
        {"t": lambda: mg.inverse_dynamics_derivatives(model, q, v, a, out=D)},
        max(5, rounds // (1 + n // 64)),
        max(1, 32 // n),
    )
    return float(np.median(torques["t"])) / nt, float(np.median(derivatives["t"])) / nt


def samples(report: Report, effort: Effort) -> None:
    """Growth with the number of samples: the price of a call fades."""
    model, rows = human(), []
    for nt in effort.samples:
        _, q, v, a = human_motion(nt)
        call = partial(mg.inverse_dynamics, model, q, v, a, out=np.empty_like(q))
        times = interleave({"t": call}, min(effort.rounds, 21), max(1, 2000 // nt))
        per_sample = float(np.median(times["t"])) / nt * 1e6
        report.note(f"samples{nt}_torque_us", per_sample)
        rows.append([str(nt), digits(per_sample), digits(per_sample * nt)])
    report.table("human, torques with out=", ["samples", "[µs/sample]", "[µs/call]"], rows)


def threads(report: Report, effort: Effort) -> None:
    """One thread against all cores."""
    model, rows = human(), []
    functions: tuple[tuple[str, int, Callable[..., Any]], ...] = (
        ("torque", 65536, mg.inverse_dynamics),
        ("derivative", 32768 if effort is FULL else 16384, mg.inverse_dynamics_derivatives),
    )
    for key, nt, function in functions:
        _, q, v, a = human_motion(nt)
        call = partial(function, model, q, v, a, out=function(model, q, v, a))
        calls = {"one": partial(call, threads=1), "all": partial(call, threads=0)}
        times = interleave(calls, max(5, effort.rounds // 3))
        one, every = (float(np.median(times[name])) / nt * 1e6 for name in ("one", "all"))
        speedup = report.note(f"{key}_speedup_all_cores", faster(times, "all", "one"))
        report.note(f"{key}_one_thread_us", one)
        report.note(f"{key}_all_cores_us", every)
        rows.append([f"{key}s", str(nt), digits(one), digits(every), f"{speedup:.2f}"])
    header = ["", "samples", "1 thread [µs/sample]", f"{os.cpu_count()} threads", "speed-up"]
    report.table("human, threads, with out=", header, rows)


# ------------------------------------------------------------------------------------------- in other processes
# Peak of the resident memory during the call, less what was resident before it, less the result.
MILLION = """
import json
from pathlib import Path
import numpy as np
import mechgrad as mg
from mechgrad.gallery import arm7
model, nt = arm7(), 1_000_000
state = np.empty((3, nt, 7), "DTYPE")
state[:] = np.linspace(-1.0, 1.0, 7)
mg.inverse_dynamics(model, *state[:, :64])
def mib(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = mib("VmRSS")
tau = mg.inverse_dynamics(model, *state)
print(json.dumps({"extra": mib("VmHWM") - before - tau.nbytes / 2**20, "result": tau.nbytes / 2**20}))
"""


def memory(report: Report) -> None:
    """A million samples need no second copy of themselves."""
    rows = []
    for key, label, dtype in (
        ("million_samples_extra_mib", "float64", "float64"),
        ("million_samples_float32_extra_mib", "float32, converted in blocks", "float32"),
    ):
        answer = other_process(MILLION.replace("DTYPE", dtype))
        report.note(key, answer["extra"])
        rows.append([label, digits(answer["result"]), f"{answer['extra']:.2f}"])
    report.table("arm7, 1,000,000 samples, torques", ["input", "result [MiB]", "peak beyond it [MiB]"], rows)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    effort = QUICK if parser.parse_args().quick else FULL
    report = Report()
    report.figures["machine"] = machine()
    report.say(", ".join(f"{key} {value}" for key, value in report.figures["machine"].items()))
    pair = Pair()
    check_agreement(report, pair)
    report.say(
        f"agreement with Pinocchio: torques {report.figures['torque_difference']:.1e}, "
        f"their derivatives {report.figures['derivative_difference']:.1e} of the largest"
    )
    sections: list[Callable[[], None]] = [
        lambda: batches(report, effort, pair),
        lambda: singles(report, effort, pair),
        lambda: parameters(report, effort, pair),
        lambda: chains(report, effort),
        lambda: samples(report, effort),
        lambda: threads(report, effort),
    ]
    if Path("/proc/self/clear_refs").exists():  # only Linux tells the peak of the resident memory
        sections.append(lambda: memory(report))
    for section in sections:
        section()
    report.finish()


if __name__ == "__main__":
    main()
