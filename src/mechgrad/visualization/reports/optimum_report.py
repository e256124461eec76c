"""An optimum as a page for a colleague: question, answer, what limits it, and whether its gradients are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mechgrad.measures.base import Measure
from mechgrad.optimization.design.optimum import Optimum
from mechgrad.optimization.design.side import Side
from mechgrad.pages import Listing, Page, Paragraph, Part, Picture, Section, Table, facts, require_pictures
from mechgrad.visualization.plots.convergence_plots import plot_convergence
from mechgrad.visualization.plots.optimum_plots import given_measures, plot_before_and_after, plot_between
from mechgrad.visualization.reports.report_parts import animation

FAILURES = 10  # designs without values that are listed, the last ones


def report_page(
    best: Optimum,
    measures: Mapping[str, Measure] | Sequence[Measure] | Measure,
    sensitivity: str | Sequence[str],
    certify: bool,
    title: str,
    *,
    animated: bool = True,
) -> Page:
    """The page."""
    require_pictures()
    return Page(
        title or f"{best.model.name}: {best.status}",
        [
            Section("Result", [_result(best)]),
            Section("Variables", _sides(best.variables, "variables between their bounds")),
            Section("Limits", _sides(best.constraints, "limited values between their limits (filled: active)")),
            Section("Before and after", [*_histories(best, measures), *(_animation(best) if animated else ())]),
            Section("Convergence", _convergence(best)),
            Section("Numbers that were held", _sensitivity(best, sensitivity)),
            Section("Gradients", _certificates(best) if certify else ()),
            Section("Designs without values", _failures(best)),
            Section("The question", [Listing(str(best.problem)), *_recipes(best)]),
            Section("The model at its best", [Listing(model.describe()) for model in _models(best)]),
            Section("What it took", [_cost(best)]),
        ],
        lead=best.reason,
    )


def _result(best: Optimum) -> Table:
    named = {
        "status": best.status,
        "objective at the start": f"{best.start_value:.8g}",
        "objective at the end": f"{best.value:.8g}",
        "largest violation": f"{best.result.infeasibility:.2g} (scaled)",
    }
    return facts(named | {f"violated {k + 1}": str(x) for k, x in enumerate(best.result.worst)})


def _sides(items: Sequence[Side], caption: str) -> list[Part]:
    """A picture and a table; rows whose limit is reached are marked."""
    if not items:
        return []
    figure = plot_between(items)
    rows = [[x.name, *(f"{y:.7g}" for y in (x.value, x.lower, x.upper, x.multiplier))] for x in items]
    marked = [k for k, x in enumerate(items) if x.active]
    return [Picture(figure, caption), Table(("", "value", "lower", "upper", "multiplier"), rows, marked)]


def _histories(best: Optimum, measures: Any) -> list[Part]:
    return [
        Picture(plot_before_and_after(best.before_and_after, label, measure), f"{label}, before and after")
        for label, measure in given_measures(measures).items()
    ]


def _animation(best: Optimum) -> list[Part]:
    """The first scenario that moves, with what it was at the start as a ghost; a single state if none does."""
    motions = best.before_and_after
    moving = {name: x for name, x in motions.items() if np.ndim(x[1].q) == 2 and len(x[1].q) > 1}
    name, (before, after) = next(iter((moving or motions).items()))
    if np.ndim(after.q) > 2:
        return []
    told = f"{name}: at its best, and translucent what it was at the start."
    return animation(after, ghost=before, told=told)


def _convergence(best: Optimum) -> list[Part]:
    stages: list[Part] = [
        Paragraph(f"shorter horizon {k}: {stage.status}, {stage.start_value:.6g} -> {stage.value:.6g}, "
                  f"{stage.iterations} iterations")
        for k, stage in enumerate(best.stages, start=1)
    ]  # fmt: skip
    return [*stages, Picture(plot_convergence(best), "objective, and violation of the limits, by iteration")]


def _sensitivity(best: Optimum, wrt: str | Sequence[str]) -> list[Part]:
    if not wrt:
        return []
    rows = [[name, f"{x:.7g}"] for name, x in best.sensitivity(wrt).items()]
    told = "What the minimum would change by for one unit of a number that was held (envelope theorem)."
    return [Paragraph(told), Table(("", "d minimum / d number"), rows)]


def _certificates(best: Optimum) -> list[Part]:
    found: list[Part] = []
    for certificate in best.certify().values():
        found += [Paragraph(certificate.verdict), Listing(certificate.table())]
    return found


def _failures(best: Optimum) -> list[Part]:
    if not best.failures:
        return []
    last = best.failures[-FAILURES:]
    told = f"{len(best.failures)} of {len(best.history)} evaluations had no values; the last {len(last)} of them:"
    return [Paragraph(told), Table(("number", "reason"), [[str(e.number), e.failure] for e in last])]


def _recipes(best: Optimum) -> list[Part]:
    return [facts({s.name: repr(getattr(s.repeat, "recipe", s.repeat.noun)) for s in best.problem.scenarios})]


def _models(best: Optimum) -> list[Any]:
    """Those that differ."""
    found: list[Any] = []
    for model in best.models.values():
        if not any(model == other for other in found):
            found.append(model)
    return found


def _cost(best: Optimum) -> Table:
    evaluated = [e for e in best.history if not e.replayed]
    return facts(
        {
            "solver": f"{best.result.solver}, {best.iterations} iterations",
            "evaluations": f"{len(best.history)}, {len(best.history) - len(evaluated)} of them from a log",
            "motions made": best.program.evaluator.simulations,
            "time": f"{best.seconds:.3g} s, of which {best.result.time_functions:.3g} s in functions and "
            f"{best.result.time_solver:.3g} s in the solver",
            "time of a usual evaluation": f"{1e3 * float(np.median([e.seconds for e in evaluated] or [0.0])):.3g} ms",
        }
    )
