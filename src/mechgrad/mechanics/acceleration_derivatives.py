"""Derivatives of the accelerations and multipliers of any mechanism, by the implicit function theorem.

    [ M      Gamma^T ] [ da   ]      [ r_q dq + r_v dv - dtau + r_p dp       ]      r = M a + h - Q + Gamma^T lam
    [ Gamma  0       ] [ dlam ] = -  [ c_q dq + c_v dv + c_p dp              ]      c: second rates of the constraints

The partials are those of `motion_terms` and `constraint_terms`, at the solution. Where rows depend on each other, these
equations leave dlam open along Z, the combinations of rows that add up to nothing, Gamma^T Z = 0. There lam is that of
least norm, Z^T lam = 0, which turns as Z does:

    Z^T dlam = Z^T dGamma u,       Gamma u = lam,        u across the null space of Gamma
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.system import RANK
from mechgrad.dynamics.terms import constraint_terms, motion_terms
from mechgrad.errors import InputError
from mechgrad.inverse.forward import ForwardDynamicsDerivatives, MultiplierDerivatives
from mechgrad.inverse.forward import forward_dynamics_derivatives as tree_derivatives
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex, loads_of, loads_vary
from mechgrad.inverse.spatial import inverse_dynamics_derivatives as tree_torque_derivatives
from mechgrad.kinematics.batch import Batch, tree_of
from mechgrad.kinematics.mechanism_record import elements_of
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.accelerations import forward_dynamics, instants
from mechgrad.memory import require_memory
from mechgrad.model.columns import expand_paths
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None,
    threads: int = 1,
) -> ForwardDynamicsDerivatives:
    """Accelerations of any mechanism and their exact derivatives by q, v, tau and parameters.

        a_x = -S^-1 r_x,    a_tau = S^-1        S = M for trees, [M Gamma^T; Gamma 0] where constraints act

    Parameters
    ----------
    q, v, tau, t, loads, threads
        As in `forward_dynamics`.
    wrt : path, pattern or list of them
        Parameters of the model, and of loads (`"load.0.force.x"`).

    Returns
    -------
    ForwardDynamicsDerivatives
        Dense arrays; with constraints, `.multipliers` has lam and the same derivatives of it.

    All coordinates of the tree vary here, so that derivatives by q and v hold off the constraints, too: multiplied with
    velocities that meet them they are those of the mechanism. Where constraint rows depend on each other only as long
    as loops are closed (overconstrained linkages), off the constraints there is no derivative, and the result holds
    along them alone.

    >>> forward_dynamics_derivatives(model, [0.0]).dq          # -g / l
    array([[-9.81]])
    """
    note_idle_gravity(model, tree_of(model))  # here, since a warning names the line that called this function
    if not has_elements(model):
        return tree_derivatives(model, q, v, tau, wrt=wrt, loads=loads, threads=threads)
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("tau", tau, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    if batch.dtype is complex or elements_of(model).dtype is complex:
        raise InputError(
            "forward_dynamics_derivatives of mechanisms with force elements or constraints takes real numbers; take a "
            "complex step through forward_dynamics instead."
        )
    times = instants(t, batch.nt)
    a, lam = forward_dynamics(model, q, v, tau, t=times, loads=loads, return_multipliers=True)
    at = _At(model, batch, np.atleast_2d(a), np.atleast_2d(lam).reshape(batch.nt, -1), times, loads, wrt)
    (dq, dv, dtau, dp), by_lam = ([x[0] for x in block] if batch.single else block for block in at.derivatives())
    multipliers = MultiplierDerivatives(at.names, lam, *by_lam) if at.names else None
    return ForwardDynamicsDerivatives(a, dq, dv, dtau, dp, at.paths, multipliers)


class _At:
    """Solved states of a mechanism, and what is differentiated by."""

    def __init__(
        self,
        model: Model,
        batch: Batch,
        a: FloatArray,
        lam: FloatArray,
        t: FloatArray,
        loads: Sequence[Load] | None,
        wrt: str | Sequence[str],
    ) -> None:
        self.model, self.t, self.a, self.lam, self.loads = model, t, a, lam, loads
        self.q, self.v, _ = batch.arrays
        self.of_loads = compile_loads(model, batch.tree, loads, batch.nt, float).paths
        self.paths = expand_paths(model, wrt, self.of_loads)
        self.in_model = [path for path in self.paths if path not in self.of_loads]
        n, m, nt = model.n_v, lam.shape[1], batch.nt
        require_memory(
            8.0 * nt * (n + m) * (8 * n + 2 * m + 2 * len(self.paths)),
            f"the derivatives of {n} accelerations and {m} multipliers for "
            + ("a single state" if nt == 1 else f"{nt} samples"),
            "Take fewer samples at a time.",
        )
        self.constraints = constraint_terms(model, self.q, self.v, a, t=t, wrt=self.in_model)
        self.names = self.constraints.names

    def derivatives(self) -> tuple[list[Array], list[Array]]:
        """By q, v, tau and parameters: of a (nt, n, ...) and of lam (nt, m, ...)."""
        n, (nt, m), c = self.model.n_v, self.lam.shape, self.constraints
        M, r_q, r_v, r_p = self._motion()
        identity = np.broadcast_to(np.eye(n), (nt, n, n))
        above = np.concatenate([r_q, r_v, -identity, r_p], axis=2)
        below = np.concatenate([c.second_q, c.second_v, np.zeros((nt, m, n)), self._all(c.second_p)], axis=2)
        x = np.empty((nt, n + m, above.shape[2]))
        rank = np.zeros(nt, int)
        if m:
            sizes = np.linalg.svd(c.gamma, compute_uv=False)
            rank = np.sum(sizes > RANK * sizes[:, :1], axis=1)
        full = np.flatnonzero(rank == m)
        x[full] = _solved(M[full], c.gamma[full], above[full], below[full])
        for k in np.flatnonzero(rank < m).tolist():
            x[k] = self._dependent(k, int(rank[k]), M[k], above[k], below[k])
        ends = np.cumsum([n, n, n])
        return np.split(x[:, :n], ends, axis=2), np.split(x[:, n:], ends, axis=2)

    def _dependent(self, k: int, rank: int, M: FloatArray, above: FloatArray, below: FloatArray) -> FloatArray:
        """Where rows depend on each other: solved for as many combinations of them as are independent."""
        n, model = len(M), self.model
        gamma, lam = self.constraints.gamma[k], self.lam[k]
        U, sizes, Vt = np.linalg.svd(gamma)
        kept, Z = U[:, :rank], U[:, rank:]
        x = _solved(M[None], (kept.T @ gamma)[None], above[None], (kept.T @ below)[None])[0]
        u = Vt[:rank].T @ ((kept.T @ lam) / sizes[:rank])
        moving, still = (
            constraint_terms(model, self.q[k], w, t=self.t[k], wrt=self.in_model) for w in (u, np.zeros(n))
        )
        by_q, by_p = moving.rate_q - still.rate_q, moving.rate_p - still.rate_p
        turned = np.concatenate([by_q, np.zeros((len(lam), 2 * n)), self._all(by_p)], axis=1)
        return np.concatenate([x[:n], kept @ x[n:] + Z @ (Z.T @ turned)])

    def _motion(self) -> tuple[FloatArray, ...]:
        """M, r_q, r_v, r_p of all samples; those with loads of their own go one by one."""
        nt = len(self.q)
        parts = [slice(k, k + 1) for k in range(nt)] if loads_vary(self.loads) else [slice(0, nt)]
        found = []
        for part in parts:
            states = (x[part] for x in (self.q, self.v, self.a, self.lam))
            found.append(
                motion_terms(self.model, *states, t=self.t[part], loads=loads_of(self.loads, part), wrt=self.in_model)
            )
        M, r_q, r_v, r_p = (np.concatenate([getattr(x, name) for x in found]) for name in ("M", "r_q", "r_v", "r_p"))
        by_paths = self._all(r_p)
        if given := [path for path in self.paths if path in self.of_loads]:
            D = tree_torque_derivatives(
                self.model.open_tree(), self.q, self.v, self.a, loads=self.loads, wrt=given
            )  # fmt: skip
            by_paths[:, :, [self.paths.index(path) for path in given]] = D.dp.dense()
        return M, r_q, r_v, by_paths

    def _all(self, by_model: FloatArray) -> FloatArray:
        """Columns of all parameters from those of the model's, zero for loads."""
        wide = np.zeros((*by_model.shape[:-1], len(self.paths)))
        wide[..., [self.paths.index(path) for path in self.in_model]] = by_model
        return wide


def _solved(M: FloatArray, gamma: FloatArray, above: FloatArray, below: FloatArray) -> FloatArray:
    """-[M Gamma^T; Gamma 0]^-1 [above; below]."""
    nt, m = gamma.shape[:2]
    S = np.concatenate(
        [
            np.concatenate([M, gamma.swapaxes(1, 2)], axis=2),
            np.concatenate([gamma, np.zeros((nt, m, m))], axis=2),
        ],
        axis=1,
    )
    return -np.linalg.solve(S, np.concatenate([above, below], axis=1))
