"""What every start states: its numbers, its derivative, and how it is found once more with other numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.states import States, slopes
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.assembly import least_squares
from mechgrad.kinematics.held import Equations, Quantity, find_quantity
from mechgrad.kinematics.state import State
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import N_ALL, N_ROWS, Mechanism
from mechgrad.model.model import Model
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.torn import MISS, torn
from mechgrad.typing import Array, FloatArray

POSITION, VELOCITY = "start.position.", "start.velocity."
MOTION, START = "motion", "start"
"""Roles of tau and loads: those that act on a motion, and those that its equilibrium at the start was found with."""


class StartParameters(ParameterColumns, Protocol):
    """What starts ask of the parameters that they are differentiated by.

    of_start : positions of those that are start values
    """

    model: Model
    of_start: list[int]

    def is_force(self, k: int) -> bool:
        """Whether parameter k is a number of a force element."""

    def moves_nothing(self, k: int) -> bool:
        """Whether parameter k is a mass, an inertia or a number of a force element, or drives such alone."""

    def keeps_rows(self, k: int) -> bool:
        """Whether parameter k enters no constraint row."""

    def moved(self, k: int) -> Model:
        """The model with an imaginary step along parameter k."""

    def record_of(self, system: System, k: int, role: str = MOTION) -> Mechanism:
        """The mechanism of a system with an imaginary step along parameter k."""


class Forces(NamedTuple):
    """Constant forces on a mechanism besides those of its model: tau (n_v,) and loads."""

    tau: Array
    loads: tuple[Load, ...]


class Start(ABC):
    """The first state of a motion as a function of parameters.

    forces : tau and loads that it was found with, where these decide; None elsewhere
    """

    forces: Forces | None = None

    @abstractmethod
    def values(self) -> dict[str, float]:
        """Its own numbers by their names, "start.position.hinge" and "start.velocity.hinge"."""

    @abstractmethod
    def slopes(self, parameters: StartParameters) -> tuple[FloatArray, FloatArray]:
        """dq0/dp and dv0/dp, (np, n_v) each; positions along `model.integrate`. Raises for parameters that the start
        cannot follow, and for those of which it does not say how."""

    @abstractmethod
    def again(self, model: Model, numbers: Mapping[str, Any], forces: Forces) -> State | Equilibrium:
        """What `simulate` starts with once more.

        model : with other numbers;   numbers : all of `values`, some changed;   forces : as `self.forces`, changed
        """

    @abstractmethod
    def describe(self) -> str:
        """What is held at the start when parameters change, as a sentence."""


def coordinate_names(model: Model) -> tuple[list[str], list[int]]:
    """Names of all directions in which a configuration can be displaced, in the order of v, and where plain ones sit in
    q (-1 elsewhere): "free.z" of `q_names` for plain coordinates, "free.wx" of `v_names` for turns of balls."""
    layout = model.layout
    plain = dict(zip(layout.plain_v.tolist(), layout.plain_q.tolist(), strict=True))
    names = [model.q_names[plain[j]] if j in plain else name for j, name in enumerate(model.v_names)]
    return names, [plain.get(j, -1) for j in range(model.n_v)]


def row_slopes(equations: Equations, q: Array, v: Array, t: float) -> tuple[FloatArray, FloatArray]:
    """Change of the values and rates of all equations along the imaginary parts of their numbers, q and v."""
    T, m = equations.T, equations.n_constraints
    state = States(q[None], v[None], np.zeros((1, len(v))), np.zeros((1, m)), np.array([t]))
    found = slopes(T, state, residual=False)
    values, rates = list(found.values[0, :m]), list(found.rates[0, :m])
    measured = iter(range(int(T.ints[N_ROWS]), int(T.ints[N_ALL])))
    for quantity in equations.held:
        if quantity.row is not None:
            k = next(measured)
            values.append(found.values[0, k])
            rates.append(found.rates[0, k])
        else:
            values.append(q[quantity.q_at].imag / STEP if quantity.q_at >= 0 else 0.0)
            rates.append(v[quantity.v_at].imag / STEP)
    return np.array(values), np.array(rates)


def quantities(model: Model, names: Sequence[str], *, rate: bool = False) -> list[Quantity]:
    """What is held, in a model."""
    return [find_quantity(model, name, rate=rate) for name in names]


def followed(J: Array, b: FloatArray, model: Model, name: str, determined: bool) -> FloatArray:
    """The x with J x = b; raises where there is none, or more than one."""
    if not np.abs(b).max(initial=0.0) > 0.0:
        return np.zeros(J.shape[1])
    if not determined:
        raise InputError(
            f"the start of model {model.name!r} depends on {name!r}, and what is held there does not say how. Start "
            "from mg.assemble(model, at={...}, rates={...}) with as many held quantities as there are degrees of "
            "freedom."
        )
    x = least_squares(J, b)[0].real
    miss = float(np.abs(J.real @ x - b).max())
    if miss > MISS * max(1.0, float(np.abs(b).max())):
        raise torn(model, name, miss)
    return np.asarray(x)


class Rates:
    """Velocities that follow from constraints and held rates:  Gamma v = -Phi_t,  H v = given."""

    def __init__(self, model: Model, q: FloatArray, v: FloatArray, t: float, held: Mapping[str, Any]) -> None:
        self.model, self.q, self.v, self.t, self.held = model, q, v, t, tuple(held)
        equations = Equations.of(model, quantities(model, self.held, rate=True), q)
        self.quantities = equations.held
        self.J = equations.at(q, v, t).J
        self.determined = least_squares(self.J, np.zeros(len(self.J)))[1] == model.n_v

    def slope(self, moved: Model, name: str, dq: FloatArray) -> FloatArray:
        """dv along dq and along the imaginary step of a model, or by one of the held rates."""
        q = np.asarray(self.model.integrate(self.q + 0j, 1j * STEP * dq))
        there = Equations.of(moved, quantities(moved, self.held, rate=True), self.q + 0j)
        b = -row_slopes(there, q, self.v + 0j, self.t)[1]
        if name.startswith(VELOCITY):
            b[there.n_constraints + self.held.index(name.removeprefix(VELOCITY))] += 1.0
        return followed(self.J, b, self.model, name, self.determined)
