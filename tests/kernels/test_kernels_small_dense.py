"""Small linear systems against numpy.linalg, on every scalar; a singular sample harms only itself."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_scalars import NAMES, SCALARS, on_every_scalar

from mechgrad.kernels.lanes import store
from mechgrad.kernels.small_dense import tree_factor, tree_solve

EPS = np.finfo(float).eps


def _factor(scalar, M, start, parent, scratch, failed):
    store(failed, 0, tree_factor(M, start, parent, scratch, scalar))


def _tree_solve(scalar, M, start, parent, x, m):
    tree_solve(M, start, parent, x, m, scalar)


FACTOR, TREE_SOLVE = on_every_scalar(_factor), on_every_scalar(_tree_solve)


def assert_solves(A: np.ndarray, X: np.ndarray, B: np.ndarray) -> None:
    """|A X - B| is small beside |A| |X| in every sample, and X is numpy's within the condition number."""
    n = A.shape[-1]
    residual = np.abs(A @ X - B)
    assert np.all(residual <= 8 * n**2 * EPS * (np.abs(A) @ np.abs(X) + np.abs(B)))
    for a, x, b in zip(A, X, B, strict=True):
        wanted = np.linalg.solve(a, b)
        bound = 8 * n**2 * EPS * np.linalg.cond(a) * np.max(np.abs(wanted), initial=1e-300)
        assert np.max(np.abs(x - wanted), initial=0.0) <= bound


# ---------------------------------------------------------------------------------- matrices with a tree's pattern
class TreePattern:
    """A random tree and the storage of its symmetric matrices by chains of ancestors."""

    def __init__(self, rng: np.random.Generator, n: int, branching: float) -> None:
        self.n = n
        self.parent = np.array(
            [-1 if j == 0 else (rng.integers(-1, j) if rng.random() < branching else j - 1) for j in range(n)], np.int64
        )
        self.paths = []
        for j in range(n):
            path, i = [], j
            while i >= 0:
                path.append(i)
                i = int(self.parent[i])
            self.paths.append(path)
        self.start = np.cumsum([0, *(len(path) for path in self.paths)])[:-1].astype(np.int64)

    def matrix(self, rng: np.random.Generator) -> np.ndarray:
        """Like a mass matrix: every node adds a rank-two energy of the rates along its path, and some of its own."""
        M = np.zeros((self.n, self.n))
        for j, path in enumerate(self.paths):
            J = rng.standard_normal((2, len(path)))
            M[np.ix_(path, path)] += J.T @ J
            M[j, j] += 0.1
        return M

    def by_chains(self, M: np.ndarray) -> np.ndarray:
        """(..., n, n) to (..., entries)."""
        return np.concatenate([M[..., j, path] for j, path in enumerate(self.paths)], axis=-1)

    def factors(self, chains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """L and D of stored factors."""
        L, D = np.eye(self.n, dtype=chains.dtype), np.zeros((self.n, self.n), chains.dtype)
        for j, path in enumerate(self.paths):
            row = chains[self.start[j] : self.start[j] + len(path)]
            D[j, j] = row[0]
            L[j, path[1:]] = row[1:]
        return L, D


def factor(scalar, tree: TreePattern, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors stored by chains, in slots, and the flags of the samples."""
    slots = scalar.slots(tree.by_chains(M))
    scratch, failed = np.empty(tree.n * scalar.width, scalar.dtype), np.empty(scalar.width, scalar.dtype)
    FACTOR[scalar.name](slots, tree.start, tree.parent, scratch, failed)
    return slots, failed


def matrices(scalar, tree: TreePattern, rng: np.random.Generator) -> np.ndarray:
    M = np.stack([tree.matrix(rng) for _ in range(scalar.width)])
    if scalar.dtype is complex:  # symmetric, not Hermitian: what a complex step makes of a mass matrix
        M = M + 0.05j * tree.matrix(rng)
    return M


TREES = [(1, 0.0), (2, 1.0), (6, 0.0), (9, 0.3), (15, 0.5), (12, 1.0)]


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
@pytest.mark.parametrize(("n", "branching"), TREES)
def test_tree_factor_and_solve(scalar, n: int, branching: float) -> None:
    rng = np.random.default_rng(50 + n)
    for m in (0, 1, 4):
        tree = TreePattern(rng, n, branching)
        M, B = matrices(scalar, tree, rng), scalar.normal(rng, n, m)
        slots, failed = factor(scalar, tree, M)
        assert not failed.any()
        for k, chains in enumerate(scalar.samples(slots, slots.size // scalar.width)):
            L, D = tree.factors(chains)
            np.testing.assert_allclose(L.T @ D @ L, M[k], rtol=0, atol=8 * n * EPS * np.max(np.abs(M[k])))
        x = scalar.slots(B)
        TREE_SOLVE[scalar.name](slots, tree.start, tree.parent, x, m)
        assert_solves(M, scalar.samples(x, n, m), B)


def test_some_trees_branch_and_some_have_several_roots() -> None:
    trees = [TreePattern(np.random.default_rng(50 + n), n, branching) for n, branching in TREES]
    assert any(np.count_nonzero(tree.parent == -1) > 1 for tree in trees)
    assert any(np.max(np.bincount(tree.parent[tree.parent >= 0])) > 1 for tree in trees if tree.n > 2)
    assert any(len(tree.paths[-1]) == tree.n > 2 for tree in trees)


def massless_leaf(tree: TreePattern, M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The last coordinate moves nothing: its row is zero."""
    M = M.copy()
    M[-1, :] = M[:, -1] = 0.0
    return M


def dependent_rates(tree: TreePattern, M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Only rank 2 on the longest path: the third pivot is a rounding error of either sign instead of a zero."""
    path = max(tree.paths, key=len)
    assert len(path) > 2
    angle = np.array([0.0, np.pi / 2, *rng.uniform(0.2, 1.4, len(path) - 2)]) + rng.uniform(0.0, 0.3, len(path))
    J = np.array([np.cos(angle), np.sin(angle)])
    M = np.diag(np.where(np.isin(np.arange(tree.n), path), 0.0, 1.0))
    M[np.ix_(path, path)] += J.T @ J
    return M


def not_a_number(tree: TreePattern, M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    M = M.copy()
    M[0, 0] = np.nan
    return M


@pytest.mark.parametrize("spoil", [massless_leaf, dependent_rates, not_a_number])
@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_singular_samples_are_flagged_and_no_others(scalar, spoil) -> None:
    for trial in range(16):
        lane = trial % scalar.width
        rng = np.random.default_rng(60 + trial)
        tree = TreePattern(rng, 9, 0.4)
        M, B = matrices(scalar, tree, rng), scalar.normal(rng, tree.n, 2)
        M[lane] = spoil(tree, M[lane].real, rng)
        slots, failed = factor(scalar, tree, M)
        others = np.arange(scalar.width) != lane
        np.testing.assert_array_equal(failed, np.where(others, 0.0, 1.0))
        x = scalar.slots(B)
        TREE_SOLVE[scalar.name](slots, tree.start, tree.parent, x, 2)
        assert_solves(M[others], scalar.samples(x, tree.n, 2)[others], B[others])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_do_not_make_a_matrix_singular(scale: float) -> None:
    """Pivots are judged beside their own diagonal: millimetres and tonnes are as regular as metres and kilograms."""
    scalar = SCALARS[1]
    rng = np.random.default_rng(70)
    tree = TreePattern(rng, 8, 0.4)
    units = np.where(np.arange(tree.n) % 2, scale, 1.0)
    M = matrices(scalar, tree, rng) * units * units[:, None]
    assert not factor(scalar, tree, M)[1].any()
