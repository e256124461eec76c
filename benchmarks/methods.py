"""The methods of the literature beside the fast one: all sensitivities of the human, and cost against the number of
joints.

python benchmarks/methods.py [--quick]

Prints tables and, as its last line, one JSON object with every figure. Times are milliseconds for all derivatives
by q, v and a of 301 samples of the human (3 x 43 x 43 x 301 entries), candidates interleaved, one thread. Adaptive
differences are timed on a few samples and scaled; the figures reported by Zhakatayev et al. (2023) stand beside
them: 16.6 ms and 2.62e5 s.
"""

from __future__ import annotations

import argparse

import numpy as np
from common import Report, digits, exponent, interleave, machine

import mechgrad as mg
from mechgrad.gallery import chain, human, human_motion
from mechgrad.inverse.closed_form import closed_form_torques
from mechgrad.sensitivities.extrapolation import extrapolated_jacobian

METHODS = ("spatial", "lagrange", "newton-euler")
PAPER_ANALYTIC_MS, PAPER_DIFFERENCES_MS = 16.6, 2.62e8
STEP = 1e-30


def key(method: str) -> str:
    """Name of a method in JSON."""
    return method.replace("-", "_")


def study(report: Report, rounds: int) -> None:
    """Every sensitivity of the 43-joint human over 301 samples."""
    model = human()
    _, *state = human_motion(301)
    n, nt = model.n_v, len(state[0])
    exact = mg.inverse_dynamics_derivatives(model, *state)
    for method in METHODS[1:]:
        other = mg.inverse_dynamics_derivatives(model, *state, method=method)
        for name in ("dq", "dv", "da"):
            wanted = getattr(exact, name).values
            error = np.max(np.abs(getattr(other, name).values - wanted)) / np.max(np.abs(wanted))
            assert error < 1e-10, (method, name, error)

    def by_complex_step() -> None:
        for which in range(3):
            for e in np.eye(n):
                moved = [x + 1j * STEP * e if k == which else x for k, x in enumerate(state)]
                mg.inverse_dynamics(model, *moved)

    few = (7, 150)

    def by_differences() -> None:
        for k in few:
            fixed = [x[k] for x in state]
            for which in range(3):

                def torques(x: np.ndarray, fixed: list[np.ndarray] = fixed, which: int = which) -> np.ndarray:
                    return mg.inverse_dynamics(model, *(x if j == which else y for j, y in enumerate(fixed)))

                extrapolated_jacobian(torques, fixed[which], batched=True)

    calls = {m: lambda m=m: mg.inverse_dynamics_derivatives(model, *state, method=m) for m in METHODS}
    calls |= {"complex step": by_complex_step, "adaptive differences": by_differences}
    times = interleave(calls, rounds)
    milliseconds = {name: 1e3 * float(np.median(x)) for name, x in times.items()}
    milliseconds["adaptive differences"] *= nt / len(few)
    rows = []
    for name, value in milliseconds.items():
        report.note(f"{key(name).replace(' ', '_')}_ms", value)
        report.note(f"{key(name).replace(' ', '_')}_us_per_sample", 1e3 * value / nt)
        report.note(f"{key(name).replace(' ', '_')}_over_spatial", value / milliseconds["spatial"])
        paper = PAPER_DIFFERENCES_MS if name == "adaptive differences" else PAPER_ANALYTIC_MS
        rows.append(
            [
                name,
                digits(value),
                digits(1e3 * value / nt),
                digits(value / milliseconds["spatial"]),
                digits(paper / value),
            ]
        )
    report.note("spatial_vs_paper_analytic", PAPER_ANALYTIC_MS / milliseconds["spatial"])
    report.note("differences_over_spatial", milliseconds["adaptive differences"] / milliseconds["spatial"])
    report.table(
        "all sensitivities, human, 43 joints x 301 samples",
        ["method", "ms", "µs/sample", "x spatial", "source / ours"],
        rows,
    )


def torques(report: Report, rounds: int) -> None:
    """Torques of the human by each method, and both reference points of the semi-recursive terms."""
    model = human()
    _, *state = human_motion(301)
    calls = {m: lambda m=m: mg.inverse_dynamics(model, *state, method=m) for m in METHODS}
    for point in ("com", "origin"):
        calls[f"terms about {point}"] = lambda p=point: mg.terms.semi_recursive_terms(model, *state, reference=p)

    def apart() -> None:
        mg.mass_matrix(model, state[0]).dense()
        mg.inverse_dynamics(model, *state)

    calls["mass matrix and torques"] = apart
    times = {name: float(np.median(x)) / 301 for name, x in interleave(calls, 3 * rounds).items()}
    rows = []
    for name, seconds in times.items():
        report.note(f"{key(name).replace(' ', '_')}{'_torques' if name in METHODS else ''}_us", 1e6 * seconds)
        rows.append([name, digits(1e6 * seconds)])
    for name in METHODS[1:]:
        report.note(f"{key(name)}_torques_over_spatial", times[name] / times["spatial"])
    report.table("human, 301 samples: torques; M and M a + h", ["", "µs/sample"], rows)


def growth(report: Report, rounds: int) -> None:
    """Cost of torques and of all sensitivities against the number of joints."""
    sizes = (4, 8, 16, 32, 64)
    found: dict[str, list[float]] = {}
    for n in sizes:
        model = chain(n)
        state = np.random.default_rng(n).uniform(-1, 1, (3, 64, n))
        calls = {}
        for m in METHODS:
            calls[f"{m}, torques"] = lambda m=m, x=model, s=state: mg.inverse_dynamics(x, *s, method=m)
            calls[f"{m}, derivatives"] = lambda m=m, x=model, s=state: mg.inverse_dynamics_derivatives(x, *s, method=m)
        for name, x in interleave(calls, rounds).items():
            found.setdefault(name, []).append(float(np.median(x)) / 64)
    small = (4, 6, 8, 10)
    closed, recursive = [], []
    for n in small:
        model = chain(n)
        state = np.random.default_rng(n).uniform(-1, 1, (3, 8, n))
        calls = {"closed form": lambda x=model, s=state: closed_form_torques(x, *s)}
        many = np.random.default_rng(n).uniform(-1, 1, (3, 301, n))
        calls["spatial"] = lambda x=model, s=many: mg.inverse_dynamics(x, *s)
        times = interleave(calls, rounds)
        closed.append(float(np.median(times["closed form"])) / 8)
        recursive.append(float(np.median(times["spatial"])) / 301)
    for n, seconds in zip(small, closed, strict=True):
        report.note(f"closed_form_{n}_joints_ms", 1e3 * seconds)
    report.note("spatial_10_joints_us", 1e6 * recursive[-1])
    rows = []
    for name, seconds in found.items():
        # the upper half of the sizes: below, the fixed cost of a call hides the growth
        slope = exponent(sizes[2:], seconds[2:])
        report.note(f"{key(name).replace(', ', '_')}_exponent", slope)
        rows.append([name, *(digits(1e6 * s) for s in seconds), f"{slope:.2f}"])
    slope = exponent(small[1:], closed[1:])
    report.note("closed_form_torques_exponent", slope)
    report.table(
        "cost against joints, chains, µs per sample (exponent: fitted from n = 16 on)",
        ["", *(f"n={n}" for n in sizes), "exponent"], rows,
    )  # fmt: skip
    report.table(
        "regular Lagrangian, not recursive, torques, µs per sample (exponent: from n = 6 on)",
        ["", *(f"n={n}" for n in small), "exponent"],
        [["closed form", *(digits(1e6 * s) for s in closed), f"{slope:.2f}"]],
    )


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().quick else 11
    report = Report()
    report.figures["machine"] = machine()
    study(report, rounds)
    torques(report, rounds)
    growth(report, rounds)
    report.finish()


if __name__ == "__main__":
    main()
