"""The regular, non-recursive Lagrangian form of inverse dynamics: what the recursions save.

    tau_i = sum_k M_ik a_k + V_i + W_i
    M_ik  = sum_j tr[T_j,k J_j T_j,i^T]
    V_i   = sum_j sum_k sum_m tr[T_j,km J_j T_j,i^T] v_k v_m
    W_i   = - sum_j m_j g . T_j,i r_j - sum_loads (f . T_j,i r_f + h . axis_i)

T_j,k is the product of the transforms from the ground to link j with A_k replaced by its derivative B_k; T_j,km has two
replaced, or A_k by C_k. Written as it stands, in plain NumPy: O(n^4).

*Choose it for* checking the recursions on small mechanisms and as the baseline of their cost. *Avoid it for* anything
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.kernels.wrenches import L_ATOM, L_IN_BODY_AXES, LOAD, LOAD_C, LOAD_F, LOAD_X
from mechgrad.inverse.lagrange import on_links, pseudo_inertia
from mechgrad.inverse.links import Links, compile_links
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex
from mechgrad.kinematics.batch import Batch
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.model.joints import PRISMATIC, REVOLUTE
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

MAX_JOINTS = 10
BLOCK = 256  # samples at a time: second derivatives of ten transforms take some 13 kB each


def closed_form_torques(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
) -> Array:
    """Generalized forces without recursion, for at most ten coordinates; otherwise as `inverse_dynamics`.

    >>> closed_form_torques(model, [np.pi / 2])
    array([19.62])
    """
    require_tree(model)
    if model.n_v > MAX_JOINTS:
        raise InputError(
            f"model {model.name!r} has {model.n_v} coordinates; the closed form takes at most {MAX_JOINTS}, because "
            "its cost grows with their fourth power. Use inverse_dynamics."
        )
    links = model.cached("closed form", lambda model: compile_links(model, "closed form"))
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    table = compile_loads(model, on_links(batch.tree, links.body), loads, batch.nt, batch.dtype)
    tau = batch.empty(model.n_v)

    def call(part: slice) -> int:
        for start in range(part.start, part.stop, BLOCK):
            rows = slice(start, min(start + BLOCK, part.stop))
            with np.errstate(all="ignore"):  # bad numbers are reported by their place
                state = batch.rows(rows)
                tau[rows] = _torques(links, state, table.indices, table.rows(rows))
            bad = ~np.all(np.isfinite([tau[rows], *state]), axis=(0, 2))
            if np.any(bad):
                return int(start - part.start + np.argmax(bad))
        return -1

    batch.sweep(call)
    return tau[0] if batch.single else tau


def _torques(links: Links, state: tuple[Array, ...], loads_i: Array, loads_f: Array) -> Array:
    q, v, a = state
    A, B, C = _local_transforms(links, q)
    J = pseudo_inertia(links.mass, links.com, links.inertia)
    loads_f = np.broadcast_to(loads_f, (q.shape[0], loads_f.shape[1]))
    M: Array = np.zeros((*q.shape, q.shape[1]), q.dtype)
    V, W = np.zeros_like(q), np.zeros_like(q)
    for j in range(links.n):
        path = _path(links, j)
        moving = [i for i in path if links.column[i] >= 0]
        at = links.column[moving]
        if not moving:
            continue
        T_q = np.stack([_product(path, A, {k: B}) for k in moving], axis=1)
        if np.any(J[j] != 0):
            both = [_product(path, A, {k: B, m: B} if k != m else {k: C}) for k in moving for m in moving]
            T_qq = np.stack(both, axis=1).reshape(-1, at.size, at.size, 4, 4)
            M[:, at[:, None], at] += np.einsum("tkab,bc,tiac->tik", T_q, J[j], T_q, optimize=True)
            V[:, at] += np.einsum("tkmab,bc,tiac,tk,tm->ti", T_qq, J[j], T_q, v[:, at], v[:, at], optimize=True)
            W[:, at] -= np.einsum("a,tiab,b->ti", links.gravity, T_q[:, :, :3], J[j, :, 3])
        for load in np.flatnonzero(loads_i[:, L_ATOM] == j):
            f, h, r = (loads_f[:, load * LOAD + k : load * LOAD + k + 3] for k in (LOAD_F, LOAD_C, LOAD_X))
            if loads_i[load, L_IN_BODY_AXES]:
                E = _product(path, A, {})[:, :3, :3]
                f, h = np.einsum("tab,tb->ta", E, f), np.einsum("tab,tb->ta", E, h)
            W[:, at] -= np.einsum("ta,tiab,tb->ti", f, T_q[:, :, :3, :3], r)
            W[:, at] -= np.einsum("ta,tia->ti", f, T_q[:, :, :3, 3])
            for k in moving:
                if links.kind[k] == REVOLUTE:
                    axis = links.sign[k] * _product(path[: path.index(k)], A, {})[..., :3, 2]
                    W[:, links.column[k]] -= np.sum(h * axis, axis=-1)
    return np.asarray(np.einsum("tik,tk->ti", M, a) + V + W)


def _local_transforms(links: Links, q: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """A, B, C of every link: (nt, 4, 4) each."""
    A, B, C = [], [], []
    for i in range(links.n):
        Z = np.zeros((4, 4))
        screw: Array = np.zeros((q.shape[0], 4, 4), q.dtype)
        screw[:] = np.eye(4)
        x = links.sign[i] * q[:, links.column[i]] if links.column[i] >= 0 else 0.0
        if links.kind[i] == REVOLUTE:
            Z[1, 0], Z[0, 1] = links.sign[i], -links.sign[i]
            screw[:, 0, 0] = screw[:, 1, 1] = np.cos(x)
            screw[:, 1, 0] = np.sin(x)
            screw[:, 0, 1] = -np.sin(x)
        elif links.kind[i] == PRISMATIC:
            Z[2, 3] = links.sign[i]
            screw[:, 2, 3] = x
        A.append(screw @ links.C[i])
        B.append(Z @ A[i])
        C.append(Z @ B[i])
    return A, B, C


def _path(links: Links, link: int) -> list[int]:
    """Links from the ground to this one."""
    path = []
    while link >= 0:
        path.append(link)
        link = int(links.parent[link])
    return path[::-1]


def _product(path: list[int], A: list[Array], instead: dict[int, list[Array]]) -> Array:
    """The product of the transforms along a path, some of them replaced."""
    return reduce(np.matmul, (instead.get(i, A)[i] for i in path), np.eye(4))
