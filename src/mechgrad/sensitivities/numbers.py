"""The numbers of a model and its loads as one vector x, and back: changed numbers to a changed model and loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mechgrad.inverse.loads import FIELDS, Load, load_paths, load_vector
from mechgrad.model.columns import expand_paths
from mechgrad.model.model import Model
from mechgrad.typing import Array, FloatArray

UNMOVING = ("mass", "com", "inertia", "gravity", "load")  # kinds of parameters that no marker depends on


class Number(NamedTuple):
    """One parameter: its value now, the magnitude that steps are relative to, its kind."""

    value: float
    scale: float
    kind: str


@dataclass(frozen=True, eq=False)
class Numbers:
    """Chosen parameters of a model and its loads."""

    model: Model
    loads: tuple[Load, ...]
    chosen: dict[str, Number]

    @property
    def paths(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.chosen)

    @property
    def values(self) -> FloatArray:
        """Their values now."""
        return np.array([number.value for number in self.chosen.values()])

    @property
    def scales(self) -> FloatArray:
        """Their magnitudes."""
        return np.array([number.scale for number in self.chosen.values()])

    def geometric(self) -> Numbers:
        """Those that can move a marker."""
        return replace(self, chosen={p: x for p, x in self.chosen.items() if x.kind not in UNMOVING})

    def of_model(self) -> Numbers:
        """Those of the model alone, without loads."""
        return replace(self, chosen={p: x for p, x in self.chosen.items() if x.kind != "load"})

    def of_tree(self) -> Numbers:
        """Those that act in a tree of bodies, and loads; the model is that tree."""
        acting = {item.name for item in (*self.model.constraints, *self.model.forces)}
        chosen = {p: x for p, x in self.chosen.items() if x.kind == "load" or self.model.locate(p)[0] not in acting}
        return replace(self, model=self.model.open_tree(), chosen=chosen)

    def changed(self, x: Array) -> tuple[Model, list[Load]]:
        """Model and loads with the numbers x; whatever equals its value now is left alone."""
        loads, values = list(self.loads), {}
        for (path, number), new in zip(self.chosen.items(), x, strict=True):
            if new == number.value:
                continue
            if number.kind != "load":
                values[path] = new.item()
                continue
            k, field, axis = load_paths(loads)[path]
            vector = load_vector(self.model, loads[k], field).astype(x.dtype)
            vector[..., axis] += new - number.value
            new_field: dict[str, Any] = {field: vector}
            loads[k] = replace(loads[k], **new_field)
        # check=False: a step may leave what is possible, such as the inertia of a slender rod
        return (self.model.with_values(values, check=False) if values else self.model), loads


def choose_numbers(model: Model, loads: Sequence[Load], wrt: str | Sequence[str], notes: list[str]) -> Numbers:
    """The parameters that names and patterns choose, without those that a design variable drives (with a note)."""
    of_loads, parameters = load_paths(loads), {p.path: p for p in model.parameters()}
    typical: dict[str, float] = {}
    for kind in {p.kind for p in parameters.values()}:
        sizes = np.abs([float(np.real(p.value)) for p in parameters.values() if p.kind == kind])
        typical[kind] = float(np.median(sizes[sizes > 1e-9 * sizes.max()])) if sizes.any() else 1.0
    chosen: dict[str, Number] = {}
    drivers: set[str] = set()
    for path in expand_paths(model, wrt, list(of_loads)):
        if path in of_loads:
            k, field, axis = of_loads[path]
            value = float(np.max(load_vector(model, loads[k], field)[..., axis]))
            chosen[path] = Number(value, max(1.0, abs(value)), "load")
        elif driver := parameters[path].driver:
            drivers.add(driver)
        else:
            value, kind = float(np.real(parameters[path].value)), parameters[path].kind
            # a zero is stepped like others of its kind: 1 kg m^2 would mean much to a finger
            chosen[path] = Number(value, abs(value) if abs(value) > 1e-3 * typical[kind] else typical[kind], kind)
    if drivers:
        notes.append(f"numbers driven by a design variable are checked through it: {', '.join(sorted(drivers))}.")
    return Numbers(model, tuple(loads), chosen)


def repeated(loads: Sequence[Load], times: int) -> list[Load]:
    """Loads for all samples, so many times over."""

    def rows(load: Load) -> dict[str, Any]:
        given = {field: np.asarray(getattr(load, field)) for field in FIELDS}
        return {field: np.tile(x, (times, 1)) for field, x in given.items() if x.ndim == 2 and len(x) > 1}

    return [replace(load, **rows(load)) for load in loads]
