"""Who is evaluated together: requirements and integrals of equal or related measures in as few bundles as possible.

Measures of one family (points, coordinates of one level, squared distances) are joined into one with the rows of all,
and requirements at different instants into one grid: constants, not evaluations, then say which value is asked for
where. Integrals keep their own grid, whose weights they need; requirements join it if it holds their instants.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from scipy import sparse

from mechgrad.optimization.motion.bundle import Bundle, Integral, Rows
from mechgrad.optimization.motion.grid import Grid
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.setting import IntegralOf, Requirement
from mechgrad.typing import Array

SAME = 1e-9  # instants closer than this are one


class _Group:
    """A measure on a grid, while it is being filled."""

    def __init__(self, measure: SampleFunction, xi: Array, rule: str) -> None:
        self.measure, self.xi, self.rule = measure, xi, rule
        self.rows: list[Rows] = []
        self.integrals: list[Integral] = []

    def holds(self, xi: Array) -> bool:
        return bool(np.all(np.min(np.abs(self.xi - xi[:, None]), axis=1) < SAME))

    def add(self, r: Requirement, rows: Array) -> None:
        """A requirement on some rows of the measure."""
        at = np.argmin(np.abs(self.xi - r.xi[:, None]), axis=1)
        place = (at[:, None] * self.measure.m + rows).ravel()
        combine = r.matrix().tocoo()
        shape = (combine.shape[0], self.xi.size * self.measure.m)
        moved = sparse.csr_array((combine.data, (combine.row, place[combine.col])), shape=shape)
        scale = np.ones(r.lower.size) * r.scale
        self.rows.append(Rows(r.label, moved, r.lower, r.upper, r.row_names(), scale))


def bundled(
    requirements: Sequence[Requirement],
    integrals: Sequence[IntegralOf],
    grid: Callable[[Array, str], Grid],
    paths: tuple[str, ...],
) -> list[Bundle]:
    """Bundles that hold all requirements and integrals."""
    groups: dict[Hashable, list[_Group]] = {}
    for i in integrals:
        measure = i.measure.freed(paths) if paths else i.measure
        ours = groups.setdefault(measure.key, [])
        same = [g for g in ours if g.rule == i.rule and g.xi.size == i.xi.size and g.holds(i.xi)]
        if not same:
            ours.append(_Group(measure, i.xi, i.rule))
        (same or ours[-1:])[0].integrals.append(Integral(i.linear, i.squares))
    families: dict[Hashable, list[tuple[Requirement, SampleFunction]]] = {}
    for r in requirements:
        measure = r.measure.freed(paths) if paths else r.measure
        hosts = [g for g in groups.get(measure.key, ()) if g.holds(r.xi)]
        if hosts:
            hosts[0].add(r, np.arange(measure.m))
            continue
        family = measure.family
        families.setdefault(measure.key if family is None else family, []).append((r, measure))
    for members in families.values():
        given = list({measure.key: measure for _, measure in members}.values())
        whole, rows = given[0].joined(given) if given[0].family is not None else (given[0], [np.arange(given[0].m)])
        at = {measure.key: r for measure, r in zip(given, rows, strict=True)}
        xi = np.sort(np.concatenate([r.xi for r, _ in members]))
        group = _Group(whole, xi[np.concatenate([[True], np.diff(xi) > SAME])], "trapezoid")
        for r, measure in members:
            group.add(r, at[measure.key])
        groups.setdefault(("joined", len(groups)), []).append(group)
    found = [g for ours in groups.values() for g in ours]
    return [Bundle(g.measure.on(g.xi), grid(g.xi, g.rule), g.rows, g.integrals) for g in found]
