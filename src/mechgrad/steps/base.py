"""What every kind of step states: how it marches, and how changes pass through its steps, forwards and backwards.

A folder of `steps/` is one kind of step, with the same files in each:

    step.py       the march: a `Task` becomes a `Record`
    pieces.py     its steps once more, linearised piece by piece (`Steps`)
    tangent.py    changes on their way through the pieces, forwards (`Tangent`)
    adjoint.py    how objectives change with the state, on its way back (`Adjoint`)
    methods.py    all of these under one name (`StepMethod`), and what it serves

`Sweeps.direct` and `Sweeps.adjoint` carry derivatives through the pieces; they know no kind. `steps.methods` finds the
folders.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.states import StateGradients, States, StateSlopes
from mechgrad.dynamics.system import System
from mechgrad.model.mechanism import Mechanism
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.record import Record
from mechgrad.steps.schemes import Scheme
from mechgrad.steps.task import Task
from mechgrad.steps.turns import beside
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


class ParameterColumns(Protocol):
    """What steps ask of the parameters that they are differentiated by.

    acting : positions of those that act in the equations of motion;   in_model : of numbers of the model
    """

    names: tuple[str, ...]
    acting: list[int]
    in_model: list[int]

    def __len__(self) -> int: ...

    def is_start(self, k: int) -> bool:
        """Whether parameter k is a start value."""

    def record(self, k: int) -> Mechanism:
        """The mechanism with an imaginary step along parameter k."""

    def unforced_record(self, k: int) -> Mechanism:
        """The same without gravity, forces and loads."""

    def keeps_geometry(self, k: int) -> bool:
        """Whether parameter k changes masses or laws and nothing else."""

    def changes_mass(self, k: int) -> bool:
        """Whether parameter k changes masses."""


class Tangent(ABC):
    """Changes by parameters, on their way forwards; dq, dv: those of the start, (np, n_v) each."""

    @abstractmethod
    def __init__(self, steps: Any, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None: ...

    @abstractmethod
    def through(self, piece: Any) -> None:
        """Carry them through a linearised piece of the march."""

    @abstractmethod
    def finished(self) -> StateSlopes:
        """Those of all reported states."""


class Adjoint(ABC):
    """Gradients of objectives by the state, on their way backwards; g: by the reported states."""

    @abstractmethod
    def __init__(self, steps: Any, g: StateGradients, sink: WeightSink) -> None: ...

    @abstractmethod
    def through(self, piece: Any) -> Iterable[Weights]:
        """Carry it through a linearised piece; the weights that parameters act with there."""

    @abstractmethod
    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v)."""


class Steps(ABC):
    """The steps of a march, linearised piece by piece.

    system : the mechanism that moved;   pool : threads that linearise, ahead of the sweep
    """

    system: System
    pool: ChunkPool

    @abstractmethod
    def pieces(self, columns: int) -> Sequence[Any]:
        """The march in pieces, each linearised at once; columns: vectors that are carried along."""

    @abstractmethod
    def linearised(self, piece: Any, parameters: ParameterColumns | None = None) -> Any:
        """A piece with its matrices, and with what parameters do in it, if there are any."""


@final
class Sweeps:
    """The derivative of a march: its steps, and how changes pass through them, forwards and backwards."""

    def __init__(self, steps: Steps, tangent: type[Tangent], adjoint: type[Adjoint]) -> None:
        self.steps, self._tangent, self._adjoint = steps, tangent, adjoint

    @property
    def system(self) -> System:
        """The mechanism that moved."""
        return self.steps.system

    def direct(self, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> StateSlopes:
        """Derivatives of all reported states, from those of the start (np, n_v)."""
        steps, tangent = self.steps, self._tangent(self.steps, parameters, dq, dv)
        with beside(), steps.pool as pool:
            for piece in pool.ahead(lambda x: steps.linearised(x, parameters), steps.pieces(len(parameters))):
                tangent.through(piece)
        return tangent.finished()

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v); the weights that parameters act with go to `sink`."""
        steps, adjoint = self.steps, self._adjoint(self.steps, g, sink)
        with beside(), steps.pool as pool:
            for piece in pool.ahead(steps.linearised, reversed(steps.pieces(g.q.shape[1]))):
                for weights in adjoint.through(piece):
                    pool.later(sink, weights)
        return adjoint.finished(sink)


@dataclass(frozen=True)
class StepMethod:
    """A kind of step.

    serves : whether it takes a formulation with a scheme, with steps of a given length (or without one)
    march : a task becomes a record
    steps : the steps of a record, to be differentiated; some threads share the work
    tangent, adjoint : how changes pass through these
    states : the states after all steps, whether they were reported or not, some at a time
    notices_rank : whether its derivatives notice themselves where constraints lose their rank
    smooth_reports : whether reported states are smooth enough for quadrature of high order
    outputs : how many instants to report at least, so that each step has so many
    degree : of the polynomials between its steps (`steps.hermite`): 3 from q and v, 5 from accelerations besides
    reported_at : a record once more, by the same steps, with other instants reported (sorted, the first is its start);
        None where polynomials between its steps say what lies between
    nodes : the record with the states at the ends of all steps, where these choose their lengths and what is reported
        lies between; None where outputs are ends of steps
    """

    name: str
    serves: Callable[[Formulation, Scheme, bool], bool]
    march: Callable[[Task], Record]
    steps: Callable[[Record, int], Steps]
    tangent: type[Tangent]
    adjoint: type[Adjoint]
    states: Callable[[Record], Iterator[States]]
    outputs: Callable[[Record, int], int]
    notices_rank: bool = False
    smooth_reports: bool = True
    degree: int = 3
    reported_at: Callable[[Record, FloatArray], Record] | None = None
    nodes: Callable[[Record], Record] | None = None

    def sweeps(self, record: Record, threads: int = 1) -> Sweeps:
        """The derivative of a record."""
        return Sweeps(self.steps(record, threads), self.tangent, self.adjoint)
