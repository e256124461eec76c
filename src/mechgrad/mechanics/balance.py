"""Torques of actuators and multipliers of constraints that balance a mechanism.

    minimise |u|^2    subject to    B^T u - Gamma^T lam = r

B picks the driven coordinates. The conditions for that minimum are linear, u = B mu with D = B^T B:

    D mu - Gamma^T lam = b,    Gamma mu = c                b = r, c = 0; their derivatives have other right-hand sides

With Gamma = U s V^T, R the columns of V that belong to no singular value (velocities that constraints allow) and K the
pseudo-inverse of B R:

    mu = G^+ c + R w,    B R w = K^T R^T (b - D G^+ c),    lam = (G^+)^T (D mu - b)

lam is the shortest where rows depend on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.assembly import RANK
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

MISSES = 10.0  # singular values below so many times what constraints miss by are not told from zero


class Freedoms:
    """Velocities that rows allow, at many states.

    Attributes
    ----------
    gamma : (nt, m, n) the rows
    inverse : (nt, n, m) their pseudo-inverse
    R : (nt, n, f) orthonormal columns with gamma R = 0, f the most of all states; what a state lacks is zero columns
    counts : (nt,) how many columns a state has
    """

    def __init__(self, gamma: FloatArray, miss: FloatArray) -> None:
        nt, m, n = gamma.shape
        self.gamma = gamma
        if not m:
            self.inverse, self.R, self.counts = (
                np.zeros((nt, n, 0)), np.broadcast_to(np.eye(n), (nt, n, n)), np.full(nt, n)
            )  # fmt: skip
            return
        U, s, Vt = np.linalg.svd(gamma)
        k = s.shape[1]
        kept = s > np.maximum(RANK * s[:, :1], MISSES * miss[:, None])
        rank = kept.sum(axis=1)
        inverted = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        self.inverse = (Vt[:, :k].swapaxes(1, 2) * inverted[:, None]) @ U[:, :, :k].swapaxes(1, 2)
        first = int(rank.min(initial=k))
        free = np.arange(first, n) >= rank[:, None]
        self.R = Vt[:, first:].swapaxes(1, 2) * free[:, None]
        self.counts = n - rank


class Balance:
    """The linear equations above for many states, decomposed once.

    Parameters
    ----------
    gamma : (nt, m, n) real parts of the rows
    driven : columns that have actuators
    miss : (nt,) by how much each state misses its constraints [m or 1]
    """

    def __init__(self, model: Model, gamma: FloatArray, driven: IntArray, miss: FloatArray) -> None:
        self.gamma, self.driven = gamma, driven
        self.freedoms = Freedoms(gamma, miss)
        R = self.freedoms.R
        if not gamma.shape[1] and len(driven) == gamma.shape[2]:  # all of a tree: tau is what is missing
            self.K = R[:, :, driven]
            return
        BR = R[:, driven]
        if not BR.size:
            if self.freedoms.counts.any():
                self._complain(model, int(np.argmax(self.freedoms.counts)), R)
            self.K = np.zeros((len(R), R.shape[2], len(driven)))
            return
        U, s, Wt = np.linalg.svd(BR, full_matrices=False)
        kept = s > RANK  # R is orthonormal: these are cosines
        bad = np.flatnonzero(kept.sum(axis=1) < self.freedoms.counts)
        if bad.size:
            self._complain(model, int(bad[0]), R)
        inverted = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        self.K = (Wt.swapaxes(1, 2) * inverted[:, None]) @ U.swapaxes(1, 2)

    def solve(self, b: FloatArray, c: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """mu (nt, n, k) and lam (nt, m, k) for right-hand sides b (nt, n, k) and c (nt, m, k), zero if left out."""
        R, inverse = self.freedoms.R, self.freedoms.inverse
        start = np.zeros_like(b) if c is None else inverse @ c
        rest = b - self.acting(start)
        mu = start + R @ (self.K @ (self.K.swapaxes(1, 2) @ (R.swapaxes(1, 2) @ rest)))
        return mu, inverse.swapaxes(1, 2) @ (self.acting(mu) - b)

    def acting(self, mu: Array) -> Array:
        """D mu: torques, zero where nothing drives."""
        tau = np.zeros_like(mu)
        tau[:, self.driven] = mu[:, self.driven]
        return tau

    def torques(self, r: Array, gamma: Array) -> tuple[Array, Array, Array]:
        """tau, lam and mu for r (nt, n), real or with the imaginary parts of a complex step, exact for rows of constant
        rank."""
        mu, lam = (x[..., 0] for x in self.solve(r.real[..., None]))
        tau = self.acting(mu)
        if not (np.iscomplexobj(r) or np.iscomplexobj(gamma)):
            return tau, lam, mu
        turned = gamma.imag
        b = r.imag + np.einsum("tmn,tm->tn", turned, lam)
        c = -np.einsum("tmn,tn->tm", turned, mu)
        mu_i, lam_i = (x[..., 0] for x in self.solve(b[..., None], c[..., None]))
        # the shortest lam stays in the range of Gamma, which turns where rows depend on each other
        along = turned @ (self.freedoms.inverse @ lam[..., None])
        lam_i = lam_i + (along - self.gamma @ (self.freedoms.inverse @ along))[..., 0]
        return tau + 1j * self.acting(mu_i), lam + 1j * lam_i, mu + 1j * mu_i

    def _complain(self, model: Model, k: int, R: FloatArray) -> None:
        """Raise for a state whose freedoms are not all driven."""
        count = int(self.freedoms.counts[k])
        N = R[k][:, np.abs(R[k]).max(axis=0) > 0.0]
        BR = N[self.driven]
        _, s, Wt = np.linalg.svd(BR) if BR.size else (None, np.zeros(0), np.eye(count))
        rank = int((s > RANK).sum())
        idle = np.abs(N @ Wt[rank:].T).max(axis=1)
        most = model.v_names[int(np.argmax(idle))]
        given = ", ".join(model.v_names[j] for j in self.driven) or "none"
        where = f"state {k} of " if len(R) > 1 else ""
        raise InputError(
            f"{where}model {model.name!r} has {count} independent coordinate(s), and the driven ones ({given}) act on "
            f"{rank} of them: nothing drives a motion in which {most!r} moves most. Drive that coordinate as well, or "
            "leave out driven to drive all of them; at a dead point, drive another coordinate."
        )
