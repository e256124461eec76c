"""How a mechanism follows its independent coordinates and its parameters.

z are as many coordinates as the constraints leave free. They decide all others, through values, rates and second rates
of the constraints:

    Gamma q_z = 0,                        Gamma q_p = -value_p
    Gamma v_z = -rate_q q_z,              Gamma v_z' = 0,                  Gamma v_p = -(rate_p + rate_q q_p)
    Gamma a_z = -(second_q q_z + second_v v_z),    Gamma a_z' = -second_v v_z',    Gamma a_z'' = 0,    a_p likewise

where the columns of z itself are 1 in q_z, v_z' and a_z'', and 0 in all others. Rows at velocity level (rolling) ask
nothing of positions: z then has more coordinates than z' and z''.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from mechgrad.dynamics.terms import ConstraintTerms
from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.mobility import POORLY
from mechgrad.mechanics.balance import Freedoms
from mechgrad.mechanics.checked_states import columns_of
from mechgrad.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

LOOKED_AT = 16  # states at which independent coordinates are chosen; the best choice for all states is taken
REGULAR = 1e-7  # smallest singular value of the chosen rows of orthonormal freedoms that can be divided by
TORN = 1e-6  # of what a parameter changes: what rows that depend on others may leave


class Followed:
    """Solutions x of Gamma x = -c with x_z given, at many states."""

    def __init__(self, model: Model, freedoms: Freedoms, z: IntArray) -> None:
        self.freedoms, self.z = freedoms, z
        chosen = freedoms.R[:, z]
        smallest = _smallest(chosen)
        if len(smallest) and smallest.min(initial=1.0) < REGULAR:
            k = int(np.argmin(smallest))
            raise InputError(
                f"independent coordinates {', '.join(model.v_names[j] for j in z)} do not decide the others at state "
                f"{k} of model {model.name!r}: it is at a dead point of theirs. Choose others, independent=[...], or "
                "take these states by themselves."
            )
        # columns: how all coordinates follow one of z
        self.tangent = freedoms.R @ np.linalg.inv(chosen)

    def solve(self, c: FloatArray, names: Sequence[str] = (), where: str = "") -> FloatArray:
        """x (nt, n, k) with Gamma x = -c (nt, m, k) and x_z = 0; raise by name where no x does, if names are given."""
        x = -(self.freedoms.inverse @ c)
        x = x - self.tangent @ x[:, self.z]
        if names and c.size:
            left = np.abs(self.freedoms.gamma @ x + c).max(axis=1)
            size = np.abs(c).max(axis=1)
            torn = left > TORN * np.maximum(size, 1e-9 * size.max())
            if torn.any():
                k = int(np.flatnonzero(torn.any(axis=0))[0])
                raise AssemblyError(
                    f"the constraints of {where} cannot follow a change of {names[k]!r}: rows that depend on each "
                    "other would be torn apart. Differentiate by a design variable that keeps the loops closed."
                )
        return x


def choose(model: Model, R: FloatArray, names: Sequence[str] | None, among: IntArray | None = None) -> IntArray:
    """Columns of v that decide all velocities R w, as well as possible at all states; or those of the names."""
    f = R.shape[2]
    if names is not None:
        columns = columns_of(model, names, "independent")
        if len(columns) != f:
            raise InputError(
                f"independent names {len(columns)} coordinate(s): {', '.join(model.v_names[j] for j in columns)}; "
                f"model {model.name!r} has {f} there. Name as many, or leave it out."
            )
        return columns
    best: tuple[float, tuple[int, ...]] = (-1.0, ())
    plain = np.asarray(model.layout.plain_v, np.int64)
    for candidates in (plain, np.arange(model.n_v)) if among is None else (among,):
        if len(candidates) < f:
            continue
        states = np.unique(np.linspace(0, len(R) - 1, LOOKED_AT).astype(int))
        sets = {
            tuple(sorted(candidates[qr(R[k][candidates].T, mode="economic", pivoting=True)[2][:f]].tolist()))
            for k in states
        } if f else {()}  # fmt: skip
        for chosen in sorted(sets):
            score = float(_smallest(R[:, list(chosen)]).min(initial=1.0))
            if score > best[0]:
                best = score, chosen
        if best[0] > POORLY:
            break  # coordinates of hinges and sliders do: they can be named in assembly
    return np.array(best[1], np.int64)


def _smallest(A: FloatArray) -> FloatArray:
    """Smallest singular values of square matrices (nt, f, f)."""
    return np.asarray(np.linalg.svd(A, compute_uv=False)[:, -1], float) if A.shape[1] else np.ones(len(A))


class Motions:
    """Derivatives of q, v, a (nt, n, ..) by z, z', z'' and parameters; z, z_rate: their columns of v."""

    def __init__(
        self,
        model: Model,
        rows: ConstraintTerms,
        positions: Freedoms,
        velocities: Freedoms,
        names: Sequence[str] | None,
        by_p: tuple[FloatArray, FloatArray, FloatArray],
        paths: Sequence[str],
    ) -> None:
        h, where = positions.gamma.shape[1], f"model {model.name!r}"
        self.z = choose(model, positions.R, names)
        self.z_rate = self.z if velocities is positions else choose(model, velocities.R, None, self.z)
        at_q, at_v = Followed(model, positions, self.z), Followed(model, velocities, self.z_rate)
        rate_q, second_q, second_v = rows.rate_q, rows.second_q, rows.second_v
        self.q_z, self.v_zd, self.a_zdd = at_q.tangent, at_v.tangent, at_v.tangent
        self.v_z = at_v.solve(rate_q @ self.q_z)
        self.a_z = at_v.solve(second_q @ self.q_z + second_v @ self.v_z)
        self.a_zd = at_v.solve(second_v @ self.v_zd)
        value_p, rate_p, second_p = by_p
        self.q_p = at_q.solve(value_p[:, :h], paths, where)
        self.v_p = at_v.solve(rate_p + rate_q @ self.q_p, paths, where)
        self.a_p = at_v.solve(second_p + second_q @ self.q_p + second_v @ self.v_p, paths, where)
