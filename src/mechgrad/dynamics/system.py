"""A model made ready for its equations of motion: the record of arrays, user laws, constant forces and loads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.elimination import Elimination, chosen_elimination
from mechgrad.dynamics.index1 import REGULAR
from mechgrad.dynamics.kernels import states as _kernels
from mechgrad.dynamics.kernels.loop_elimination import Loops
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.dynamics.kernels.state_accelerations import TOO_FEW_DIGITS
from mechgrad.dynamics.laws import UserLaws
from mechgrad.dynamics.loop_plan import RecursivePlan, plan_of
from mechgrad.dynamics.states import as_complex, unforced
from mechgrad.errors import AssemblyError, InputError
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.mechanism_record import (
    RowValues,
    elements_of,
    evaluate_rows,
    mechanism_of,
    one_of_all,
    row_report,
)
from mechgrad.memory import require_memory
from mechgrad.model.joints import PRISMATIC
from mechgrad.model.mechanism import AT_TAU, N_HOLONOMIC, N_ROWS, Mechanism
from mechgrad.model.primitives.rows import Row
from mechgrad.model.tree import KIND, V_AT, Reference
from mechgrad.tolerances import RANK as RANK
from mechgrad.typing import Array, ArrayLike, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

SURE, FACTOR_OF_ESTIMATE = 1e8, 10.0  # |(J J^T)^-1| below which no line depends on others; estimates are low
MANY_ROWS = 40  # a rank of more is looked at in sparse matrices first
SURROUNDINGS = 4  # configurations from which the scales of rows are taken
INDEX_1 = np.array([REGULAR, 0.0, 0.0, 0.0])


@cache
def _random_turns(n: int) -> FloatArray:
    turns = np.random.default_rng(7).normal(size=(SURROUNDINGS, n))
    turns[0] = 0.0
    return turns


def surely_independent(J: FloatArray) -> bool:
    """Whether the lines of J (m, n) are far from depending on each other, by sparse factors of J J^T with lines of unit
    length: the smallest eigenvalue of that is at least 1 / |(J J^T)^-1|_1. False says nothing."""
    from scipy import sparse
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    size = np.linalg.norm(J, axis=1)
    if not np.all(size > 0.0):
        return False
    unit = sparse.csr_array(J / size[:, None])
    try:
        factors = splu(sparse.csc_matrix(unit @ unit.T))
    except RuntimeError:  # singular
        return False
    inverse = LinearOperator(factors.shape, matvec=factors.solve, rmatvec=lambda x: factors.solve(x, "T"))
    return bool(FACTOR_OF_ESTIMATE * onenormest(inverse) < SURE)


class System:
    """A model, constant generalized forces and loads, as marches read them.

    Attributes
    ----------
    model : Model
    T : Mechanism
    tau, loads : what was given
    names : of the constraint rows that act, in the order of the multipliers
    rows : their positions among all constraint rows of the model;   independent : names of the independent coordinates
    dtype : float or complex
    """

    def __init__(
        self,
        model: Model,
        tau: ArrayLike | None = None,
        loads: Sequence[Load] | None = None,
        *,
        dtype: type | None = None,
        rows: IntArray | None = None,
        independent: Sequence[Row] = (),
        reference: Reference = "root",
    ) -> None:
        tree, elements = tree_of(model), elements_of(model)
        is_complex = dtype is complex or tree.dtype is complex or elements.dtype is complex or loads_are_complex(loads)
        forces = np.zeros(model.n_v) if tau is None else np.asarray(tau)
        is_complex |= bool(np.iscomplexobj(forces))
        if forces.shape != (model.n_v,) or not np.all(np.isfinite(forces)):
            raise InputError(
                f"tau has shape {forces.shape}; give {model.n_v} finite numbers, in the order of model.v_names."
            )
        self.model, self.tau, self.loads, self.reference = model, forces, tuple(loads or ()), reference
        self.dtype: type = complex if is_complex else float
        table = compile_loads(model, tree, loads, 1, self.dtype)
        self.users = UserLaws(elements.user)
        kept = row_report(model).kept if rows is None else rows
        self.rows = kept
        self.independent = tuple(row.label for row in independent)
        self._record = partial(
            mechanism_of, model, rows=kept, independent=independent, tau=forces,
            loads=(table.indices, table.rows(slice(0, 1))), users=self.users.addresses, dtype=self.dtype,
            reference=reference,
        )  # fmt: skip
        self.names = tuple(elements.row_names[k] for k in kept)
        self._redundant: tuple[tuple[bytes, float], tuple[str, ...]] | None = None

    @cached_property
    def T(self) -> Mechanism:
        """The record, made when it is first asked for."""
        n, m = self.model.n_v, len(self.names)
        require_memory(
            8.0 * (4 * n * n + 2 * (n + m) ** 2),  # the workspace of a step, `dynamics.kernels.solver`
            f"the matrices of {n} velocities and {m} constraint rows of model {self.model.name!r}",
            "Explicit motions (scheme 'rk4' or 'dop853') by FullyRecursive need none.",
        )
        return self._record()

    @cached_property
    def recursive(self) -> Mechanism:
        """The record of size O(n_v), without what relates pairs of columns: what needs no matrix reads it."""
        return self._record(pairs=False)

    @cached_property
    def unforced(self) -> Mechanism:
        """The record without gravity, forces and loads."""
        found = unforced(self.T)
        return found._replace(ints=one_of_all(self.model, found.ints))

    @cached_property
    def unforced_recursive(self) -> Mechanism:
        """`recursive` without gravity, forces and loads."""
        found = unforced(self.recursive)
        return found._replace(ints=one_of_all(self.model, found.ints))

    @cached_property
    def unforced_complex(self) -> Mechanism:
        """The same in complex numbers."""
        return as_complex(self.unforced)

    def elimination(self, matrices: str = "auto") -> Elimination | None:
        """How unknowns are eliminated in sparse matrices; None where dense ones serve better."""
        if not self.names:
            return None
        known: dict[bytes, Elimination | None] = self.model.shared("eliminations", lambda _: {})
        return chosen_elimination(self.T, matrices, known)

    def sparse(self, matrices: str = "auto") -> Sparse | None:
        """`elimination` as kernels read it, with a workspace of its own."""
        found = self.elimination(matrices)
        return None if found is None else found.record(self.dtype)

    def recursion(self, numbers: Array, lanes: int = 1, dtype: type | None = None) -> Loops:
        """Recursive elimination of the loops, with a workspace of its own.

        numbers : (eps, Omega, xi, compliant) of a formulation;   lanes, dtype : of the scalar, if not 1 and as here
        """
        plans: dict[bytes, RecursivePlan] = self.model.shared("recursive plans", lambda _: {})
        return plan_of(self.recursive, plans).record(self.recursive, numbers, dtype or self.dtype, lanes)

    @property
    def n_constraints(self) -> int:
        """Number of constraint rows that act."""
        return len(self.names)

    @property
    def n_holonomic(self) -> int:
        """Number of those at position level, which come first."""
        return int(self.recursive.ints[N_HOLONOMIC])

    @property
    def n_rows(self) -> int:
        """Number of rows that act, those of force laws too."""
        return int(self.recursive.ints[N_ROWS])

    def constraints(
        self, q: Array, v: Array | None = None, a: Array | None = None, t: ArrayLike = 0.0, jacobians: bool = True
    ) -> RowValues:
        """Values, rates, second rates and, unless they are not asked for, Jacobians of the constraint rows at samples
        (nt, n)."""
        times = np.broadcast_to(np.asarray(t, float), (len(q),))
        T = self.T if jacobians else self.recursive
        return evaluate_rows(T, q, v, a, times, 0, self.n_constraints, jacobians)

    def under(self, tau: Array, loads: Array) -> Mechanism:
        """The record that accelerations read, under other generalized forces (n_v,) and numbers of its loads."""
        T = self.T if self.names else self.recursive
        numbers = T.numbers.copy()
        numbers[T.ints[AT_TAU] : T.ints[AT_TAU] + self.model.n_v] = tau
        loads = np.array(loads, self.dtype)
        for x in (numbers, loads):
            x.setflags(write=False)
        return T._replace(numbers=numbers, loads_f=loads)

    def accelerations(
        self, q: Array, v: Array, t: FloatArray, numbers: Array = INDEX_1, record: Mechanism | None = None,
        recursive: bool = False,
    ) -> tuple[Array, Array, int, int]:  # fmt: skip
        """a, lam of samples (nt, n); and (row, reason) of the first without a solution, or (-1, DONE).

        record : under other forces than the system's own;   recursive : loops by recursive elimination, not matrices
        """
        a: Array = np.full((len(q), self.model.n_v), np.nan, self.dtype)
        lam: Array = np.full((len(q), self.n_constraints), np.nan, self.dtype)
        # copies: contiguous and writeable whatever was given, so that one machine code serves
        q, v = (np.array(x, self.dtype, order="C") for x in (q, v))
        times = np.array(t, float)
        T = (self.recursive if recursive or not self.names else self.T) if record is None else record
        loops = self.recursion(numbers) if self.names and recursive else None
        sparse = self.sparse() if self.names and loops is None else None
        row, reason = _kernels.state_accelerations(T, numbers, q, v, times, a, lam, sparse, loops)
        if reason == TOO_FEW_DIGITS:
            row, reason = _kernels.state_accelerations(T, numbers, q, v, times, a, lam)
        self.users.raise_pending()
        return a, lam, row, reason

    def row_scales(self, q: Array, t: float = 0.0) -> FloatArray:
        """Inverse masses that act in the constraint rows, (m,): diagonal of Gamma M^-1 Gamma^T, roughly, about q.

        The largest of a few configurations that differ by random turns: where a row has no influence at q itself (a
        linkage on one line), or little, its scale is that of its surroundings. An order of magnitude: numbers that
        keep equations regular are measured with it.
        """
        m, model = self.n_constraints, self.model
        if not m:
            return np.ones(0)
        atoms = self.T.atoms_i
        turns = _random_turns(model.n_v).copy()
        turns[:, atoms[atoms[:, KIND] == PRISMATIC, V_AT]] = 0.0
        here: Array = np.tile(np.asarray(q, self.dtype), (SURROUNDINGS, 1))
        around: Array = np.ascontiguousarray(model.integrate(here, turns), dtype=self.dtype)
        found = np.empty((SURROUNDINGS, m))
        _kernels.row_scales(self.T, around, float(t), found, self.sparse())
        found = np.nan_to_num(found, nan=0.0, posinf=0.0)
        scales = np.asarray(found.max(axis=0))
        return np.where(scales > 0.0, scales, 1.0)

    def redundant(self, q: Array, t: float = 0.0) -> tuple[str, ...]:
        """Names of constraint rows that depend on others in this configuration."""
        if not self.n_constraints:
            return ()
        key = np.asarray(q).tobytes(), float(t)
        known = self._redundant
        if known is None or known[0] != key:  # a march and its derivatives ask for the same
            known = self._redundant = key, self._redundant_rows(q, t)
        return known[1]

    def _redundant_rows(self, q: Array, t: float) -> tuple[str, ...]:
        J = self.constraints(q[None].real, t=t).J[0].real
        if not J.size or (len(J) > MANY_ROWS and surely_independent(J)):
            return ()
        size = np.sqrt(np.einsum("ij,ij->i", J, J))
        unit = J / np.where(size > 0, size, 1.0)[:, None]
        singular = np.linalg.svd(unit, compute_uv=False)
        if len(J) <= J.shape[1] and singular[-1] > RANK * singular[0]:  # no diagonal of R is smaller than all of these
            return ()
        from scipy.linalg import qr

        _, R, order = qr(unit.T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.sum(diagonal > RANK * max(diagonal[0], 1e-300))) if diagonal.size else 0
        return tuple(self.names[k] for k in sorted(order[rank:]))

    def check_start(self, q: Array, v: Array, t: float, tolerance: float = 1e-6) -> None:
        """Raise unless a state meets the constraints."""
        if not self.n_constraints:
            return
        rows = self.constraints(q[None], v[None], t=t, jacobians=False)
        for what, values, count in (
            ("value", rows.values[0], self.n_holonomic),
            ("rate", rows.rates[0], len(self.names)),
        ):
            miss = np.abs(values[:count])
            if count and not miss.max() <= tolerance:
                k = int(np.nanargmax(miss)) if np.isfinite(miss).any() else 0
                raise AssemblyError(
                    f"the start does not meet constraint {self.names[k]!r} of model {self.model.name!r}: its {what} is "
                    f"{miss[k]:.3g}, which should be 0. Use mg.assemble(model, at={{...}}) to find a start that closes "
                    "all loops."
                )
