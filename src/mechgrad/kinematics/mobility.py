"""How freely a mechanism moves: degrees of freedom, redundant constraints, singular configurations, free coordinates.

All of it is read from the Jacobian Gamma of the constraints at one configuration:

    degrees of freedom = n_v - rank(Gamma),    allowed velocities v = N u,    Gamma N = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.linalg import qr, solve_triangular

from mechgrad.errors import AssemblyError
from mechgrad.kinematics.assembly import RANK, assemble, find_positions, worst_rows
from mechgrad.kinematics.held import Equations, Quantity, checked_state, find_quantity, point_quantities
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

OPEN = 1e-6  # [m or 1]: a configuration that misses its constraints by more is not assembled
NEARBY = 0.1  # [rad or m]: how far the configurations lie that a singular one is compared with
NEIGHBOURS = 4
INVOLVED = 1e-8  # smallest part a row has in another one
POORLY = 1e-3  # below this part of the largest, a coordinate hardly moves in the freedom it would stand for


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mobility:
    """What the constraints leave free at a configuration; `print` it as a table.

    Attributes
    ----------
    model : Model
    q : (n_q,)
    freedoms : int
        Degrees of freedom of velocities, n_v - rank.
    finite_freedoms : int
        Those of positions, which constraints at velocity level (rolling) do not lower.
    rank, generic_rank : int
        Rank of the constraint rows at q, and at configurations nearby.
    singular : bool
        Whether the rank at q is lower: dead points, change points, where motions may branch.
    condition : float
        Smallest singular value that counts over the largest; small next to a singular configuration.
    redundant : tuple of str
        Rows that follow from the others. Which of a dependent set is named is a matter of choice.
    dependent : tuple of tuple of str
        To each redundant row, itself and the rows it follows from.
    idle : tuple of str
        Rows that hold in every configuration, such as the third direction of a planar loop; they are left out.
    independent : tuple of str
        A well conditioned choice of quantities that fix all finite freedoms: coordinates of hinges and sliders, and
        of points where those do not suffice.

    >>> mobility(double_pendulum()).independent
    ('shoulder', 'elbow')
    """

    model: Model
    q: FloatArray
    freedoms: int
    finite_freedoms: int
    rank: int
    generic_rank: int
    singular: bool
    condition: float
    redundant: tuple[str, ...]
    dependent: tuple[tuple[str, ...], ...]
    idle: tuple[str, ...]
    independent: tuple[str, ...]

    def __str__(self) -> str:
        rows = len(row_report(self.model).names)
        lines = [
            ("degrees of freedom", str(self.freedoms)),
            ("  of positions", str(self.finite_freedoms)),
            ("velocities of the tree", str(self.model.n_v)),
            ("constraint rows", f"{rows} (rank {self.rank}, {len(self.idle)} idle left out)"),
            ("singular", f"yes, rank nearby {self.generic_rank}" if self.singular else "no"),
            ("condition", f"{self.condition:.2g}"),
            ("independent", ", ".join(self.independent) or "-"),
            ("idle", ", ".join(self.idle) or "-"),
            ("redundant", ", ".join(self.redundant) or "-"),
        ]
        lines += [("  follows from", f"{first}: {', '.join(rest)}") for first, *rest in self.dependent]
        return "\n".join([f"mobility of {self.model.name!r}", *(f"  {what:<24}{text}" for what, text in lines)])


def mobility(model: Model, q: ArrayLike | None = None, *, t: float = 0.0) -> Mobility:
    """What is free and what is too much at a configuration, counted and named.

        freedoms = n_v - rank(Gamma(q))

    Parameters
    ----------
    q : (n_q,), optional
        A configuration that meets the constraints; `assemble(model)` if left out.
    t : float
        [s], for drivers.

    Redundant rows are found by QR decomposition of Gamma^T with pivots; a configuration counts as singular if the
    rank is higher nearby (rows that follow functions of time may move for that).

    Two hinges in line close a loop twice:

    >>> upper = mg.Revolute("upper", "ground", "leaf", (0, 0, 2))
    >>> door = [upper, mg.Revolute("lower", "ground", "leaf", child_origin=(0, 0, -2))]
    >>> found = mobility(mg.Model("door", [mg.Body("leaf")], door))
    >>> found.freedoms, found.idle
    (1, ('lower: point x', 'lower: point y', 'lower: point z', 'lower: axis 1', 'lower: axis 2'))
    """
    q = assemble(model, t=t).q.real if q is None else checked_state(model, "q", q, model.n_q).real
    equations = Equations.of(model, ())
    Gamma = _checked_rows(equations, q, t)
    rank, condition = _rank(Gamma)
    redundant, dependent = _dependencies(equations.names, Gamma, rank)
    finite = Gamma[: equations.n_holonomic]
    generic = max([rank, *(_rank(rows)[0] for rows in _nearby(model, equations, q, t))])
    return Mobility(
        model=model,
        q=q,
        freedoms=model.n_v - rank,
        finite_freedoms=model.n_v - _rank(finite)[0],
        rank=rank,
        generic_rank=generic,
        singular=generic > rank,
        condition=condition,
        redundant=redundant,
        dependent=dependent,
        idle=row_report(model).idle,
        independent=tuple(independent_quantities(model, q, null_space(finite), t)),
    )


def independent_coordinates(model: Model, q: ArrayLike, *, t: float = 0.0) -> list[str]:
    """Names of coordinates of hinges and sliders that fix all finite degrees of freedom at q, well conditioned.

    N[chosen] is regular where N spans the allowed velocities. Raises AssemblyError where freedoms of balls have no
    such coordinates; the message suggests coordinates of points, which `assemble` accepts as well.

    >>> independent_coordinates(double_pendulum(), [0.1, 0.2])
    ['shoulder', 'elbow']
    """
    q = checked_state(model, "q", q, model.n_q).real
    equations = Equations.of(model, ())
    N = null_space(_checked_rows(equations, q, t)[: equations.n_holonomic])
    names = independent_quantities(model, q, N, t)
    if others := [name for name in names if name not in model.q_names]:
        raise AssemblyError(
            f"model {model.name!r} has {N.shape[1]} degrees of freedom, of which coordinates of hinges and sliders fix "
            f"{N.shape[1] - len(others)} here: balls have none of their own. Hold coordinates of points besides, for "
            f"example {', '.join(others)}."
        )
    return names


def null_space(A: Array) -> FloatArray:
    """Orthonormal columns N (n, n - rank) with A N = 0.

    >>> null_space(np.array([[0.0, 2.0]])).ravel().round(9).tolist() in ([1.0, 0.0], [-1.0, 0.0])
    True
    """
    if not A.size:
        return np.eye(A.shape[1])
    _, s, Vt = np.linalg.svd(A.real, full_matrices=True)
    return np.asarray(Vt[int((s > RANK * s[0]).sum()) :].T, float)


def independent_quantities(model: Model, q: Array, N: FloatArray, t: float = 0.0) -> list[str]:
    """Names of quantities that fix the velocities N u: plain coordinates first, then coordinates of points."""
    layout = model.layout
    plain = [find_quantity(model, model.q_names[i]) for i in layout.plain_q]
    names, left = _chosen(plain, N[layout.plain_v], N.shape[1])
    if left.shape[1]:
        points = point_quantities(model)
        equations = Equations.of(model, points)
        J = equations.at(q.astype(equations.dtype), None, t).J.real[equations.n_constraints :]
        names += _chosen(points, J @ N @ left, left.shape[1])[0]
    order = {name: k for k, name in enumerate(model.q_names)}
    return sorted(names, key=lambda name: order.get(name, len(order)))


def _chosen(candidates: list[Quantity], H: FloatArray, freedoms: int) -> tuple[list[str], FloatArray]:
    """Those whose rows of H are farthest from dependent, and a basis of the freedoms that they leave."""
    if not H.size:
        return [], np.eye(freedoms)
    _, R, order = qr(H.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    count = int((pivots > POORLY * max(pivots[0], POORLY)).sum())
    rows = order[:count]
    return [candidates[k].name for k in rows], null_space(H[rows]) if count else np.eye(freedoms)


def _checked_rows(equations: Equations, q: FloatArray, t: float) -> FloatArray:
    at = equations.at(q.astype(equations.dtype), None, t)
    n = equations.n_holonomic
    miss = at.values[:n]
    if np.abs(miss.real).max(initial=0.0) > OPEN * equations.reach():
        raise AssemblyError(
            f"q does not meet the constraints of model {equations.model.name!r}: it misses "
            f"{worst_rows(equations.names, miss)} [m or 1]. Take the q of assemble(model, ..., guess=q)."
        )
    return np.asarray(at.J.real, float)


def _rank(A: FloatArray) -> tuple[int, float]:
    """Rank, and the smallest singular value that counts over the largest."""
    if not A.size:
        return 0, 1.0
    s = np.linalg.svd(A, compute_uv=False)
    rank = int((s > RANK * s[0]).sum())
    return rank, float(s[rank - 1] / s[0]) if rank else 1.0


def _dependencies(
    names: tuple[str, ...], Gamma: FloatArray, rank: int
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Rows beyond the rank, and to each the rows it is a combination of."""
    if rank == len(Gamma):
        return (), ()
    _, R, order = qr(Gamma.T, mode="economic", pivoting=True)
    parts = solve_triangular(R[:rank, :rank], R[:rank, rank:]) if rank else np.zeros((0, len(Gamma)))
    sets = {}
    for column, k in enumerate(order[rank:]):
        sources = sorted(order[:rank][np.abs(parts[:, column]) > INVOLVED])
        sets[int(k)] = (names[k], *(names[i] for i in sources))
    ordered = [sets[k] for k in sorted(sets)]
    return tuple(names[0] for names in ordered), tuple(ordered)


def _nearby(model: Model, equations: Equations, q: FloatArray, t: float) -> list[FloatArray]:
    """Constraint rows at assembled configurations around q."""
    if not equations.n_constraints:
        return []
    moving = Equations.of(model, (), fixed_in_time=True)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(NEIGHBOURS):
        start = model.integrate(q, NEARBY * rng.uniform(-1.0, 1.0, model.n_v))
        attempt = find_positions(moving, np.zeros(0), start, t, 1e-9, 1)
        if attempt.closed:
            found.append(np.asarray(equations.at(attempt.q, None, t).J.real, float))
    return found
