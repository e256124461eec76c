"""What a motion is differentiated by: numbers of the model, what it starts with, and the forces it was given.

"arm.mass", "S1.stiffness", "*.com.x", ...        paths of the model, patterns, design variables
"start.position.hinge", "start.velocity.hinge"    what is held at the start, or any coordinate of a tree
"tau.hinge", "push.force.x", "push.point.z"       constant forces of `simulate`: tau by `v_names`, loads by their names
"start.tau.hinge", "start.push.force.x"           those of `equilibrium`, where the motion starts from one that was
                                                  found with other forces than the motion has

Where tau and loads of an equilibrium and of the motion from it are the same, a parameter changes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from mechgrad.dynamics.laws import UserLaws
from mechgrad.dynamics.states import slopes, unforced
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, UnknownNameError, unknown_name
from mechgrad.inverse.loads import compile_loads
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.mechanism_record import elements_of, mechanism_of, one_of_all, renumbered, row_report
from mechgrad.model.columns import STEP, expand_paths
from mechgrad.model.functions import Spline
from mechgrad.model.mechanism import AT_LAW_NUMBERS, AT_PIECES, PIECE, Mechanism
from mechgrad.model.model import Model
from mechgrad.model.parameters import MAGIC, matching, resolve
from mechgrad.model.tree import MASS
from mechgrad.sensitivities.body_numbers import BodyNumbers, body_numbers, put_change
from mechgrad.sensitivities.gradient_by_tables import TABLES, TableGradient
from mechgrad.sensitivities.parameter_kinds import ParameterKinds
from mechgrad.simulation.given_forces import GivenForces, stepped
from mechgrad.simulation.starts import start_of
from mechgrad.simulation.starts.base import MOTION, START, Forces
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.independent.candidates import named_rows
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

ROWS = ("values", "rates", "seconds")
SMALL = 100  # velocities of a model that remembers what it is with an imaginary step: a megabyte or two in all
REMEMBERED = 64  # changed models: the start, loops and equations of motion ask for the same ones


@final
class Parameters:
    """The parameters of one motion, in order.

    names : as asked for, patterns resolved; one that is asked for twice has two columns
    in_model : positions of those that are numbers of the model
    acting : of those that act in the equations of motion: numbers of the model, of tau and of loads
    of_start : of those that are start values
    """

    def __init__(self, motion: Trajectory, wrt: str | Sequence[str], *, needed: bool = True) -> None:
        self.motion, self.model, self.start = motion, motion.model, start_of(motion)
        self.forces = Forces(np.asarray(motion.tau), tuple(motion.loads))
        self._acting_forces = GivenForces(motion.model, self.forces, self.start.forces)
        self._start_values = self.start.values()
        self._given = self._acting_forces.places() if getattr(motion, "forced", True) else {}
        self.names = tuple(self._resolved(wrt))
        if not self.names and needed:
            raise InputError("wrt names no parameter; give paths such as 'arm.mass' or 'start.position.hinge'.")
        layout, groups = self.model.layout, self.model.groups
        outside = self._start_values.keys() | self._given.keys()
        self._slots = [None if name in outside else resolve(layout, groups, name) for name in self.names]
        self.in_model = [k for k, slot in enumerate(self._slots) if slot is not None]
        self.acting = [k for k in range(len(self.names)) if not self.is_start(k)]
        self.of_start = [k for k in range(len(self.names)) if self.is_start(k)]
        self._kinds = ParameterKinds(self.model, self.names, self._slots)
        self._moved: dict[str, Model] = {}
        self._records: dict[int, Mechanism] = {}
        self._unforced: dict[int, Mechanism] = {}
        self._keeps: dict[int, bool] = {}
        self._users: list[UserLaws] = []  # kept here: records hold addresses only

    def alike(self, motion: Any, names: Sequence[str]) -> Parameters:
        """Some of these parameters as those of another motion, or of anything with a model, a system and forces."""
        return Parameters(motion, names, needed=False)

    def _resolved(self, wrt: str | Sequence[str]) -> list[str]:
        if not isinstance(wrt, str | Sequence) or not all(isinstance(item, str) for item in wrt):
            raise InputError(
                f"wrt is {wrt!r}; give paths such as ['arm.mass', 'start.position.hinge'], or patterns such as "
                "'*.mass'. model.parameters() lists the numbers of the model."
            )
        chosen: list[str] = []
        for item in [wrt] if isinstance(wrt, str) else wrt:
            if not item.startswith("start."):
                chosen += self._found(item)
                continue
            known = [*self._start_values, *(name for name in self._given if name.startswith("start."))]
            found = matching(self.model, item, known) if MAGIC.search(item) else [item]
            for name in found or [item]:
                if name not in known:
                    raise unknown_name("start value", name, known, f"the start of model {self.model.name!r}")
            chosen += found
        return chosen

    def _found(self, item: str) -> tuple[str, ...]:
        """Paths of the model, of tau and of loads that a name or a pattern means."""
        try:
            return expand_paths(self.model, [item], list(self._given))
        except UnknownNameError:
            near = [path for path in self._given if path.split(".")[0] == item.split(".")[0]]
            if not near:
                raise
            raise unknown_name("force of the motion", item, near, f"model {self.model.name!r}") from None

    def __len__(self) -> int:
        return len(self.names)

    def is_start(self, k: int) -> bool:
        """Whether parameter k is a start value."""
        return self.names[k] in self._start_values

    def on_motion(self, k: int) -> bool:
        """Whether parameter k acts on the motion itself, not on its start alone."""
        given = self._given.get(self.names[k])
        return not self.is_start(k) and (given is None or MOTION in given.roles)

    def once(self, which: Sequence[int]) -> tuple[list[str], list[int]]:
        """Names of some parameters, each once, and the position of each parameter's name among them."""
        names = [self.names[k] for k in which]
        unique = list(dict.fromkeys(names))
        return unique, [unique.index(name) for name in names]

    def value(self, k: int) -> float:
        """The present value of parameter k."""
        name = self.names[k]
        if self.is_start(k):
            return self._start_values[name]
        if name in self._given:
            return self._acting_forces.value(self._given[name])
        return float(np.real(self.model.value(name)))

    def values(self) -> FloatArray:
        """The present values of all."""
        result = np.empty(len(self))
        for k, slot in enumerate(self._slots):
            if slot is None or slot.group == "gravity":
                result[k] = self.value(k)
        self._kinds.put_values(result)
        return result

    # ---- with other values

    def changed(self, values: Array) -> tuple[Model, Forces, Forces, dict[str, Any]]:
        """Model, forces of the motion, forces and numbers of its start when the parameters have these values; steps of
        a parameter that is there twice add up. Nothing of the present model is reused."""
        before = self.values()
        steps: dict[str, Any] = {}
        for k, name in enumerate(self.names):
            steps[name] = steps.get(name, 0.0) + (values[k] - before[k])
        now = {self.names[k]: before[k] + steps[self.names[k]] for k in range(len(self))}
        model_values = {self.names[k]: now[self.names[k]] for k in self.in_model}
        model = (self.model.stepped(model_values) if model_values else self.model).afresh()
        forces = {MOTION: self.forces, START: self.start.forces or self.forces}
        for name, given in self._given.items():
            if steps.get(name, 0.0) != 0.0:
                forces = {
                    role: stepped(model, x, given, steps[name]) if role in given.roles else x
                    for role, x in forces.items()
                }
        zero = 0.0 * values[0]  # complex numbers, if there are any, everywhere
        start = {name: now.get(name, x) + zero for name, x in self._start_values.items()}
        return model, forces[MOTION], forces[START], start

    def moved(self, k: int) -> Model:
        """The model with an imaginary step along parameter k, a number of the model; remembered for a few of them, by
        small models for all motions that they make."""
        name, small = self.names[k], self.model.n_v <= SMALL
        known: dict[str, Model] = self.model.cached("moved", lambda _: {}) if small else self._moved
        if name in known:
            return known[name]
        model = self.model.stepped({name: self.model.value(name) + 1j * STEP})
        model.cached("row report", lambda _: row_report(self.model))  # the same rows act
        if len(known) < REMEMBERED:
            known[name] = model
        return model

    def moved_forces(self, k: int, role: str = MOTION, step: complex = 1j * STEP) -> Forces:
        """Tau and loads with a step along parameter k, if it is one of theirs."""
        given = self._given.get(self.names[k])
        forces = self._acting_forces.of(role)
        return stepped(self.model, forces, given, step) if given is not None and role in given.roles else forces

    # ---- records of arrays

    def record(self, k: int) -> Mechanism:
        """The mechanism of the motion with an imaginary step along parameter k, one of `acting`."""
        if k not in self._records:
            self._records[k] = self.record_of(self.motion.system, k)
        return self._records[k]

    def record_of(self, system: System, k: int, role: str = MOTION) -> Mechanism:
        """The mechanism of a system with an imaginary step along parameter k, one of `acting`; its tau and loads have
        the given role."""
        own = system is self.motion.system and role == MOTION
        if own and k in self._at_bodies:
            return self._with_line(*self._at_bodies[k])
        model = self.moved(k) if self._slots[k] is not None else self.model
        forces = self.moved_forces(k, role)
        addresses = system.users.addresses
        if self.by_user(k):
            self._users.append(UserLaws(elements_of(model).user))
            addresses = self._users[-1].addresses
        elif own and not system.independent:
            loads = compile_loads(model, tree_of(model), forces.loads, 1, complex).rows(slice(0, 1))
            found = renumbered(self._base, self.model, model, system.rows, forces.tau, loads, system.reference)
            if found is not None:
                return found
        return _record(model, system, forces, addresses)

    @cached_property
    def _base(self) -> Mechanism:
        """The mechanism of the motion in complex numbers, without a step."""
        system = self.motion.system
        return _record(self.model, system, self.forces, system.users.addresses)

    @cached_property
    def _bare(self) -> Mechanism:
        """The same without gravity, forces and loads."""
        found = unforced(self._base)
        return found._replace(ints=one_of_all(self.model, found.ints))

    def _with_line(self, line: int, change: FloatArray) -> Mechanism:
        """The mechanism of the motion with an imaginary step in the numbers of a body."""
        atoms = self._base.atoms_f.copy()
        put_change(self._base.atoms_i, atoms, line, 1j * STEP * change)
        atoms.setflags(write=False)
        return self._base._replace(atoms_f=atoms)

    @cached_property
    def of_bodies(self) -> BodyNumbers:
        """Parameters that are numbers of bodies and change nothing else: no point, no row and no load."""
        attached = elements_of(self.model).centres
        apart = not self.forces.loads and not self.motion.system.independent
        return body_numbers(self.model, self._slots, attached if apart else None)

    @cached_property
    def _at_bodies(self) -> dict[int, tuple[int, FloatArray]]:
        """The line and its change, by parameter."""
        positions, lines, change = self.of_bodies
        return dict(zip(positions, zip(lines, change, strict=True), strict=True))

    def user_record(self, k: int) -> Mechanism:
        """The mechanism of the motion where only the laws of users have a step along parameter k."""
        system, laws = self.motion.system, UserLaws(elements_of(self.moved(k)).user)
        self._users.append(laws)
        T = mechanism_of(
            self.model, rows=system.rows, independent=named_rows(self.model, system.independent), tau=system.tau,
            loads=(system.recursive.loads_i, system.recursive.loads_f), users=laws.addresses, dtype=complex,
            reference=system.reference, pairs=False,
        )  # fmt: skip
        return T

    def raise_pending(self) -> None:
        """Raise what a user's law raised while one of its numbers was stepped, if anything."""
        for laws in self._users:
            laws.raise_pending()

    def unforced_record(self, k: int) -> Mechanism:
        """`record` without gravity, forces and loads."""
        if k not in self._unforced:
            found = unforced(self.record(k))
            same = np.array_equal(found.ints, self._bare.ints)  # then what is remembered with them serves all
            self._unforced[k] = found._replace(ints=self._bare.ints) if same else found
        return self._unforced[k]

    # ---- what a parameter is

    def is_force(self, k: int) -> bool:
        """Whether parameter k is a number of a force element: it moves no point and closes no loop."""
        slot = self._slots[k]
        return slot is not None and slot.group == "forces"

    def moves_nothing(self, k: int) -> bool:
        """Whether parameter k is a mass, an inertia or a number of a force element, or drives such alone: it moves no
        marker and closes no loop."""
        return k in self._kinds.still

    def of_one_body(self, k: int) -> bool:
        """Whether parameter k moves nothing, or moves a centre of mass alone."""
        slot = self._slots[k]
        return self.moves_nothing(k) or (slot is not None and slot.group == "bodies")

    def keeps_rows(self, k: int) -> bool:
        """Whether parameter k enters no constraint row: as `moves_nothing`, and centres of mass where nothing is
        attached."""
        return k in self._kinds.still or k in self._at_bodies

    def places(self, k: int) -> bool:
        """Whether parameter k can move joints, points or vectors, or is a number of a constraint."""
        return k in self._kinds.placing

    def by_user(self, k: int) -> bool:
        """Whether parameter k is a number that a user's force law receives: no table of the mechanism holds it."""
        return k in self._kinds.of_users

    def knots(self) -> list[tuple[list[int], int, Spline, list[int]]]:
        """Values of splines, by function: positions of the parameters, where its pieces begin among the numbers of the
        mechanism, the function, and which of its values they are."""
        elements, first = elements_of(self.model), int(self.motion.system.recursive.ints[AT_PIECES])
        return [
            (positions, first + PIECE * int(elements.functions_i[index, 0]), function, values)
            for owner, function, positions, values in self._kinds.of_splines()
            for index, other in enumerate(elements.functions)
            if other is function and elements.function_owners[index] == owner
        ]

    def shapes(self, k: int) -> bool:
        """Whether parameter k changes placements, markers, constraints, tau or loads: more than masses and laws."""
        if k in self._at_bodies:
            return False
        T = self.record(k)
        laws = slice(int(T.ints[AT_LAW_NUMBERS]), int(T.ints[AT_PIECES]))
        numbers = T.numbers.imag.copy()
        numbers[laws] = 0.0
        return bool(T.atoms_f[:-1, :MASS].imag.any() or T.markers_f.imag.any() or T.loads_f.imag.any() or numbers.any())

    def keeps_geometry(self, k: int) -> bool:
        """Whether parameter k changes masses or laws and nothing else: neither placements nor gravity."""
        if k not in self._keeps:
            self._keeps[k] = not self.by_user(k) and not self.shapes(k) and not self.record(k).atoms_f[-1].imag.any()
        return self._keeps[k]

    def changes_mass(self, k: int) -> bool:
        """Whether parameter k changes masses."""
        return bool(self.record(k).atoms_f[:-1, MASS:].imag.any())

    def tables(self, k: int) -> dict[str, FloatArray]:
        """Derivatives of the tables of the mechanism by parameter k."""
        T = self.record(k)
        return {name: getattr(T, name).imag / STEP for name in TABLES}

    def weighted(self, count: int, weights: Sequence[Weights]) -> FloatArray:
        """Gradients (count, np) of sums of weighted residuals and rows of the mechanism of the motion.

        By all tables at once where there are more parameters than sums, and parameter by parameter where there are not:
        the kernels are those that the adjoint and the direct method need anyway.
        """
        if count < len(self.acting):
            tables = TableGradient(self.motion.system, count, self)
            for some in weights:
                tables.add(some)
            return tables.by_parameters()
        result = np.zeros((count, len(self)))
        for k in self.acting:
            for some in weights:
                T = self.record(k) if some.forced else self.unforced_record(k)
                parts = {name: w for name, w in zip(ROWS, some[2:5], strict=True) if w is not None}
                found = slopes(T, some.states, residual=some.mu is not None, rows=tuple(parts))
                if some.mu is not None:
                    result[:, k] += np.einsum("kti,ti->k", some.mu, found.r)
                for name, w in parts.items():
                    result[:, k] += np.einsum("kti,ti->k", w, getattr(found, name)[:, : w.shape[2]])
        return result


def _record(model: Model, system: System, forces: Forces, addresses: Sequence[int]) -> Mechanism:
    """The complex record of a system with numbers of another model and other forces."""
    loads = compile_loads(model, tree_of(model), forces.loads, 1, complex)
    return mechanism_of(
        model, rows=system.rows, independent=named_rows(model, system.independent), tau=forces.tau,
        loads=(loads.indices, loads.rows(slice(0, 1))), users=addresses, dtype=complex, reference=system.reference,
        pairs=False,
    )  # fmt: skip
