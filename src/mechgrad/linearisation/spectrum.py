"""Eigenvalues and eigenvectors of x' = A x, without the states that nothing depends on, and their derivatives.

Nothing depends on where a wheel has rolled to: that column of A is zero. Such a state, and then every state on which
only such ones depend, is *neutral*: it brings an eigenvalue zero, which says nothing of the motion. Left out of A, what
remains has all other eigenvalues. Where zero stays a multiple eigenvalue (two masses on a spring, free to travel
together), its subspace is left out as well.

    A V = V diag(lam),   W^H A = diag(lam) W^H,   W^H V = 1:         d lam = diag(W^H dA V)

Equal eigenvalues with as many eigenvectors split as the eigenvalues of their block of W^H dA V do; with fewer (as where
two of them meet and become complex) there is no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig, matrix_balance, qr

from mechgrad.errors import InputError
from mechgrad.typing import Array, FloatArray, IntArray

NEUTRAL = 1e-10  # of the terms that an entry is made of: smaller is rounding
FLOOR = 1e-13  # the same, of the largest terms in a row
NULL = 1e-10  # of the largest singular value of the balanced matrix
EQUAL = 1e-7  # of the largest eigenvalue: closer ones are taken as equal
DEFECTIVE = 1e-6  # smallest angle between left and right eigenvectors, in balanced coordinates


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues (k,), from the one that grows fastest on, pairs with positive imaginary part first.

    right, left : (n, k) eigenvectors, in all states; left^H right = 1
    neutral : (n,) whether a state was left out;   idle : those of them on which nothing depends
    scale : (n,) units in which states are of similar size
    """

    eigenvalues: Array
    right: Array
    left: Array
    neutral: Array
    idle: Array
    scale: FloatArray


def neutral_states(A: FloatArray, sizes: tuple[FloatArray, FloatArray]) -> Array:
    """States on which nothing depends but other such states; sizes (n, n), (n,): what entries and rows are sums of,
    without signs."""
    n = len(A)
    acts = np.abs(A) > np.maximum(NEUTRAL * sizes[0], FLOOR * sizes[1][:, None])
    left_out = np.zeros(n, bool)
    while True:
        idle = ~left_out & ~acts[~left_out].any(axis=0)
        if not idle.any():
            return left_out
        left_out |= idle


def spectrum(A: FloatArray, sizes: tuple[FloatArray, FloatArray] | None = None) -> Spectrum:
    """Of a square matrix without parts that are not finite; sizes: as in `neutral_states`, those of A if left out."""
    n, own = len(A), np.abs(A)
    neutral = neutral_states(A, (own, own.max(axis=1, initial=0.0)) if sizes is None else sizes)
    kept = np.flatnonzero(~neutral)
    B = A[np.ix_(kept, kept)]
    scale = np.ones(n)
    if len(kept):
        _, (factors, _) = matrix_balance(B, permute=False, separate=True)
        scale[kept] = factors
    D = scale[kept]
    balanced = B * D[None, :] / D[:, None]
    inside, depth = _without_multiple_zeros(balanced)
    values, left, right = eig(inside.T @ balanced @ inside, left=True) if inside.size else _nothing()
    size = np.abs(values).max(initial=0.0) or 1.0
    order = np.lexsort((-values.imag, -(values.real / size).round(12)))
    values, left, right = values[order], inside @ left[:, order], inside @ right[:, order]
    for _ in range(depth):
        right = balanced @ right / values
    right, left = right * D[:, None], left / D[:, None]
    right = right / np.linalg.norm(right / D[:, None], axis=0)
    left = left / np.conj(np.sum(left.conj() * right, axis=0))
    whole_right, whole_left = np.zeros((n, len(values)), complex), np.zeros((n, len(values)), complex)
    whole_right[kept], whole_left[kept] = right, left
    _carry_along(A, neutral, values, whole_right)
    left_out = neutral.copy()
    if depth:
        _, _, order = qr(_complement(inside).T, mode="economic", pivoting=True)
        left_out[kept[order[: len(kept) - inside.shape[1]]]] = True
    return Spectrum(values, whole_right, whole_left, left_out, neutral, scale)


def _nothing() -> tuple[Array, Array, Array]:
    return np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros((0, 0), complex)


def _without_multiple_zeros(A: FloatArray) -> tuple[FloatArray, int]:
    """Orthonormal columns Q such that Q^T A Q has the eigenvalues of A but for a zero of higher multiplicity; how often
    null spaces had to be taken away."""
    Q, depth = np.eye(len(A)), 0
    size = np.linalg.norm(A, 2) if A.size else 0.0
    while Q.shape[1]:
        _, s, Vt = np.linalg.svd(Q.T @ A @ Q)
        rank = int(np.sum(s > NULL * size))
        if rank == Q.shape[1]:
            break
        Q, depth = Q @ Vt[:rank].T, depth + 1
    return (Q, depth) if len(A) - Q.shape[1] > 1 else (np.eye(len(A)), 0)


def _complement(Q: FloatArray) -> FloatArray:
    """Orthonormal columns across those of Q."""
    return np.asarray(np.linalg.svd(Q)[0][:, Q.shape[1] :])


def _carry_along(A: FloatArray, neutral: Array, values: Array, right: Array) -> None:
    """Neutral states in eigenvectors: what the others make of them; zero where an eigenvalue is."""
    idle = np.flatnonzero(neutral)
    if not len(idle):
        return
    inside = A[np.ix_(idle, idle)]
    across = A[idle] @ right
    size = np.abs(A).max(initial=0.0)
    for k, value in enumerate(values):
        if abs(value) > NEUTRAL * size:
            right[idle, k] = np.linalg.solve(value * np.eye(len(idle)) - inside, across[:, k])


def clusters(values: Array) -> list[IntArray]:
    """Positions of equal eigenvalues, together."""
    left, found = list(range(len(values))), []
    limit = EQUAL * np.abs(values).max(initial=0.0)
    while left:
        group = [left.pop(0)]
        for k in group:
            near = [j for j in left if abs(values[j] - values[k]) <= limit]
            group += near
            left = [j for j in left if j not in near]
        found.append(np.array(group))
    return found


def eigenvalue_slopes(at: Spectrum, dA: FloatArray, paths: Sequence[str]) -> Array:
    """d(eigenvalues)/dp (np, k) from dA/dp (np, n, n); raise where an eigenvalue has no derivative."""
    result = np.zeros((len(dA), len(at.eigenvalues)), complex)
    for group in clusters(at.eigenvalues):
        W, V = at.left[:, group], at.right[:, group]
        _require_eigenvectors(at, group)
        for k, change in enumerate(dA):
            if len(group) == 1:
                result[k, group] = W[:, 0].conj() @ change @ V[:, 0]
            else:
                inner = np.linalg.solve(W.conj().T @ V, W.conj().T @ change @ V)
                result[k, group] = np.sort_complex(np.linalg.eigvals(inner))
    return result


def _require_eigenvectors(at: Spectrum, group: IntArray) -> None:
    """Raise unless equal eigenvalues have as many eigenvectors."""
    D = at.scale[:, None]
    W, V = at.left[:, group] * D, at.right[:, group] / D
    W, V = (np.where(at.idle[:, None], 0.0, x) for x in (W, V))
    W, V = W / np.linalg.norm(W, axis=0), V / np.linalg.norm(V, axis=0)
    # sines and cosines between what both span: orthonormal bases first
    (Qw, Sw, _), (Qv, Sv, _) = (np.linalg.svd(x, full_matrices=False) for x in (W, V))
    angles = np.linalg.svd(Qw.conj().T @ Qv, compute_uv=False)
    if min(angles.min(), Sw.min() / Sw.max(), Sv.min() / Sv.max()) < DEFECTIVE:
        value = at.eigenvalues[group[0]]
        shown = f"{value.real:.6g}" + (f" {value.imag:+.6g}i" if value.imag else "")
        raise InputError(
            f"eigenvalue {shown} 1/s is met by another one there, with which it shares its mode: it has no derivative. "
            "Differentiate a little beside that point; `locus` draws through it."
        )
