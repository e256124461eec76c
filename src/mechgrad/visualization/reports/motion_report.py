"""A motion as a page for a colleague: what moves, how, by what, and what its joints carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.errors import InputError
from mechgrad.pages import Page, Part, Picture, Section, Table, facts, require_pictures
from mechgrad.visualization.plots.history_plots import measured_curves, named_measures, plot_histories, plot_motion
from mechgrad.visualization.plots.phase_plots import plot_phase
from mechgrad.visualization.plots.reaction_plots import plot_reactions
from mechgrad.visualization.plots.style import one_start
from mechgrad.visualization.reports.report_parts import animation, model_section, settings_section, time_facts


def report_page(motion: Any, measures: Any, title: str, *, animated: bool = True, reactions: bool = True) -> Page:
    """The page."""
    require_pictures()
    one_start(motion)
    if not len(motion.t):
        raise InputError("there is no instant to report of.")
    for name, x in (("q", motion.q), ("v", motion.v), ("a", motion.a)):
        bad = ~np.isfinite(x)
        if bad.any():
            k, j = (int(i[0]) for i in np.nonzero(bad))
            raise InputError(
                f"{name} of the motion is {x[k, j]} at t = {motion.t[k]:g} s, and {int(bad.sum())} numbers are not "
                "finite: a report of it would be worth nothing. Find out where they come from first."
            )
    given = named_measures([measures]) if measures else {}
    return Page(
        title or motion.model.name,
        [
            Section("The motion", [facts(_summary(motion))]),
            Section("To be seen", animation(motion) if animated else ()),
            Section("Measures", _measures(motion, given)),
            Section("Coordinates, velocities, energies", _states(motion)),
            Section("What the joints carry", _reactions(motion) if reactions else ()),
            model_section(motion.model, motion.q[0], float(np.real(motion.t[0]))),
            settings_section(motion),
            Section("What it took", [facts(time_facts(motion))]),
        ],
        lead=_lead(motion),
    )


def _lead(motion: Any) -> str:
    ended = getattr(motion, "ended", "duration")
    span = f"{float(np.real(motion.t[0])):.6g} to {float(np.real(motion.t[-1])):.6g} s"
    how = "" if ended in ("duration", "stop") else f", which ended early: {ended}"
    return f"A motion of {motion.model.name} from {span}, {len(motion.t)} instants{how}."


def _summary(motion: Any) -> dict[str, str]:
    energy = np.real(motion.energy())
    found = {
        "instants": str(len(motion.t)),
        "coordinates, velocities": f"{motion.model.n_q}, {motion.model.n_v}",
        "energy [J]": f"{energy[0]:.8g} at the start, {energy[-1]:.8g} at the end, {np.ptp(energy):.3g} between least "
        "and most",
    }
    if motion.has_constraints:
        norms = np.max(np.real(motion.norms), axis=0)
        found["constraints missed by at most"] = f"{norms[0]:.2g}, rates {norms[1]:.2g}, second rates {norms[2]:.2g}"
    return found


def _measures(motion: Any, given: Any) -> list[Part]:
    if not given:
        return []
    rows = []
    for curve in measured_curves(motion, given):
        y = curve.values
        name = f"{curve.owner} {curve.part}".strip() + (f" [{curve.unit}]" if curve.unit else "")
        rows.append([name, *(f"{x:.6g}" for x in (y[0], y[-1], y.min(), y.max()))])
    return [
        Picture(plot_histories(motion, given), "measures over time"),
        Table(("", "at the start", "at the end", "least", "most"), rows),
    ]


def _states(motion: Any) -> list[Part]:
    parts: list[Part] = [Picture(plot_motion(motion), "coordinates and velocities by unit, energies, constraints")]
    if 0 < len(motion.model.layout.plain_q) <= 6:
        parts.append(Picture(plot_phase(motion), "velocities over coordinates; the dot is the start"))
    return parts


def _reactions(motion: Any) -> list[Part]:
    if not motion.model.joints:
        return []
    return [Picture(plot_reactions(motion), "magnitudes of forces and couples")]


__all__ = ["report_page"]
