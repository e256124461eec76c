"""A gradient as a page for a colleague: what changes with what, whether it is right, and of what motion it is."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mechgrad.pages import Listing, Page, Paragraph, Part, Picture, Section, Table, facts, require_pictures
from mechgrad.visualization.plots.parameter_units import parameter_unit
from mechgrad.visualization.plots.sensitivity_plots import plot_gradient
from mechgrad.visualization.reports.report_parts import animation, model_section, settings_section, time_facts


def report_page(gradient: Any, title: str, *, certify: bool = True, animated: bool = True) -> Page:
    """The page."""
    require_pictures()
    motion = gradient.motion
    pictures = _pictures(gradient)
    begin = time.perf_counter()
    certificate = gradient.certify() if certify else None
    seconds = time.perf_counter() - begin
    took = time_facts(motion)
    if certificate is not None:
        took["time of the certificate"] = f"{seconds:.3g} s"
    states = np.atleast_2d(motion.q)
    return Page(
        title or f"{motion.model.name}: {', '.join(gradient.objectives[:3])}, and what changes them",
        [
            Section("Derivatives", [_table(gradient, k) for k in range(len(gradient.objectives))]),
            Section("In pictures", pictures),
            Section("Certificate", _certificate(certificate)),
            Section("What is in it", [facts(_choices(gradient))]),
            Section("To be seen", animation(motion) if animated else ()),
            model_section(motion.model, states[0], float(np.real(np.ravel(motion.t)[0]))),
            settings_section(motion),
            Section("What it took", [facts(took)]),
        ],
        lead=certificate.verdict if certificate is not None else "These derivatives were not certified.",
    )


def _table(gradient: Any, k: int) -> Table:
    """One objective: its derivatives by every number, the largest relative ones marked."""
    model, relative = gradient.motion.model, gradient.relative()[k]
    rows = []
    for j, path in enumerate(gradient.parameters):
        unit, p = parameter_unit(model, path), gradient.parameter_values[j]
        ratio = "-" if np.isnan(relative[j]) else f"{relative[j]:.4g}"
        rows.append([path, f"{p:.7g}", unit or "-", f"{gradient.array[k, j]:.8g}", ratio])
    size = np.abs(np.nan_to_num(relative))
    marked = [int(np.argmax(size))] if size.max(initial=0.0) > 0.0 else []
    head = f"{gradient.objectives[k]} = {gradient.values[k]:.8g}"
    return Table((head, "value", "unit", "derivative per unit", "per cent per per cent"), rows, marked)


def _pictures(gradient: Any) -> list[Part]:
    found: list[Part] = [Picture(plot_gradient(gradient, relative=False), "derivatives, a scale for each unit")]
    if np.isfinite(gradient.relative()).any():
        found.append(Picture(plot_gradient(gradient, relative=True), "relative sensitivities"))
    return found


def _certificate(certificate: Any) -> list[Part]:
    if certificate is None:
        return []
    told = "Made once more with other numbers, by complex steps and by differences along a direction."
    return [Paragraph(told), Listing(certificate.table())]


def _choices(gradient: Any) -> dict[str, str]:
    found = {"method": gradient.choice or gradient.method, "held at the start": gradient.held}
    return found | ({"accuracy": gradient.note} if gradient.note else {})
