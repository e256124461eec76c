"""What a motion is differentiated by: numbers of the model, and what it starts with.

"arm.mass", "S1.stiffness", "*.com.x", ...        paths of the model, patterns, design variables
"start.position.hinge", "start.velocity.hinge"    what is held at the start, or any coordinate of a tree
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.integrators.independent import named_rows
from mechgrad.integrators.trajectory import Trajectory
from mechgrad.kinematics.mechanism import elements_of, mechanism_of, row_report
from mechgrad.model.columns import STEP, expand_paths
from mechgrad.model.fields import entry, table
from mechgrad.model.functions import Spline
from mechgrad.model.mechanism import AT_LAW_NUMBERS, AT_PIECES, PIECE, REFERENCE, Mechanism
from mechgrad.model.model import Model
from mechgrad.model.parameters import resolve
from mechgrad.model.tree import MASS
from mechgrad.sensitivities.states import unforced
from mechgrad.typing import FloatArray

TABLES = ("atoms_f", "markers_f", "loads_f", "numbers")
POSITION, VELOCITY = "start.position.", "start.velocity."


def _is_start(name: str) -> bool:
    return name.startswith((POSITION, VELOCITY))


@final
class Parameters:
    """The parameters of one motion, in order.

    names : as asked for, patterns resolved
    in_model : positions of those that are numbers of the model
    """

    def __init__(self, motion: Trajectory, wrt: str | Sequence[str]) -> None:
        self.motion, self.model = motion, motion.model
        self.names = tuple(dict.fromkeys(self._resolved(wrt)))
        if not self.names:
            raise InputError("wrt names no parameter; give paths such as 'arm.mass' or 'start.position.hinge'.")
        layout, groups = self.model._layout, self.model._groups
        self._slots = [None if _is_start(name) else resolve(layout, groups, name) for name in self.names]
        self.in_model = [k for k, slot in enumerate(self._slots) if slot is not None]
        self._records: dict[int, Mechanism] = {}
        self._unforced: dict[int, Mechanism] = {}

    def _resolved(self, wrt: str | Sequence[str]) -> list[str]:
        chosen: list[str] = []
        for item in [wrt] if isinstance(wrt, str) else wrt:
            if not item.startswith("start."):
                chosen += expand_paths(self.model, [item])
                continue
            known = self._start_names()
            found = [name for name in known if fnmatchcase(name, item)] if any(c in item for c in "*?[") else [item]
            for name in found or [item]:
                if name not in known:
                    raise unknown_name("start value", name, known, f"the start of model {self.model.name!r}")
            chosen += found
        return chosen

    def _start_names(self) -> list[str]:
        start, model = self.motion.start, self.model
        if self.motion.system.n_constraints:
            positions, rates = (start.held, start.held_rates) if start is not None else ((), ())
        else:
            positions = rates = model.v_names
        return [POSITION + name for name in positions] + [VELOCITY + name for name in rates]

    def __len__(self) -> int:
        return len(self.names)

    def is_start(self, k: int) -> bool:
        """Whether parameter k is a start value."""
        return self._slots[k] is None

    def value(self, k: int) -> float:
        """The present value of parameter k."""
        if not self.is_start(k):
            return float(np.real(self.model.value(self.names[k])))
        from mechgrad.sensitivities.start import start_value

        return start_value(self.motion, self.names[k])

    def values(self) -> FloatArray:
        """The present values of all; thousands of knots share one array each."""
        fields: dict[tuple[str, int, str], Any] = {}
        result = np.empty(len(self))
        for k, slot in enumerate(self._slots):
            if slot is None or slot.group == "gravity":
                result[k] = self.value(k)
                continue
            key = slot.group, slot.position, slot.field
            if key not in fields:
                fields[key] = entry(getattr(self.model, slot.group)[slot.position], slot.field, ())
            result[k] = np.real(fields[key][slot.index] if slot.index else fields[key])
        return result

    def moved(self, k: int, step: complex = 1j * STEP) -> Model:
        """The model with a step along parameter k."""
        model = self.model._moved({self.names[k]: self.model.value(self.names[k]) + step})
        model.cached("row report", lambda _: row_report(self.model))  # the same rows act
        return model

    def record(self, k: int) -> Mechanism:
        """The mechanism with an imaginary step along parameter k, a number of the model."""
        if k not in self._records:
            system, model = self.motion.system, self.moved(k)
            T = system.T
            self._records[k] = mechanism_of(
                model, rows=system.rows, free=named_rows(model, system.free), tau=system.tau,
                loads=(T.loads_i, T.loads_f), users=system.users.addresses, dtype=complex,
                about_com=bool(T.ints[REFERENCE]),
            )  # fmt: skip
        return self._records[k]

    def unforced_record(self, k: int) -> Mechanism:
        """`record` without gravity, forces and loads."""
        if k not in self._unforced:
            self._unforced[k] = unforced(self.record(k))
        return self._unforced[k]

    def pushes(self, k: int) -> bool:
        """Whether parameter k is a number of a force element: it moves no point and closes no loop."""
        slot = self._slots[k]
        return slot is not None and slot.group == "forces"

    def knots(self) -> list[tuple[list[int], int, Spline, list[int]]]:
        """Values of splines, by function: positions of the parameters, where its pieces begin among the numbers of the
        mechanism, the function, and which of its values they are."""
        elements, T = elements_of(self.model), self.motion.system.T
        places: dict[tuple[str, int, str], tuple[list[int], list[int]]] = {}
        for k, slot in enumerate(self._slots):
            if slot is not None and slot.group in ("forces", "constraints") and slot.field.endswith(".values"):
                positions, values = places.setdefault((slot.group, slot.position, slot.field), ([], []))
                positions.append(k)
                values.append(slot.index[0])
        found: dict[tuple[str, int], tuple[Spline, list[int], list[int]]] = {}
        for (group, position, field), (positions, values) in places.items():
            element = getattr(self.model, group)[position]
            function = getattr(element, field.removesuffix(".values"))
            fields = [name for name in table(type(element)).functions if getattr(element, name) is function]
            if isinstance(function, Spline) and len(fields) == 1:
                found[element.name, id(function)] = function, positions, values
        return [
            (positions, int(T.ints[AT_PIECES]) + PIECE * int(elements.functions_i[index, 0]), function, values)
            for (owner, _), (function, positions, values) in found.items()
            for index, other in enumerate(elements.functions)
            if other is function and elements.function_owners[index] == owner
        ]

    def shapes(self, k: int) -> bool:
        """Whether parameter k changes placements, markers or constraints: what the motion of rows is made of."""
        T = self.record(k)
        laws = slice(int(T.ints[AT_LAW_NUMBERS]), int(T.ints[AT_PIECES]))
        numbers = T.numbers.imag.copy()
        numbers[laws] = 0.0
        return bool(T.atoms_f[:-1, :MASS].imag.any() or T.markers_f.imag.any() or numbers.any())

    def acts_alone(self, k: int) -> bool:
        """Whether parameter k changes masses or laws and nothing else: neither placements nor gravity."""
        return not self.shapes(k) and not self.record(k).atoms_f[-1].imag.any()

    def weighs(self, k: int) -> bool:
        """Whether parameter k changes masses."""
        return bool(self.record(k).atoms_f[:-1, MASS:].imag.any())

    def tables(self, k: int) -> dict[str, FloatArray]:
        """Derivatives of the tables of the mechanism by parameter k."""
        T = self.record(k)
        return {name: getattr(T, name).imag / STEP for name in TABLES}
