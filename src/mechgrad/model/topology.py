"""The tree of joints as integer matrices: joint parents, branches and their numbering.

Joints and branches are numbered from 1; parent 0 is the ground. A *branch* is a longest run of joints linked one to
one: it starts at a root or below a fork, and ends at a leaf or at a fork.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.errors import ParentOrderError, ShapeError, ValueRangeError
from mechgrad.typing import ArrayLike, IntArray


class BranchMatrices(NamedTuple):
    """A tree by its branches. Joint numbers are those *after* renumbering by `order`.

    branch_parent : (n_b, 2), rows (k, parent branch of k), 0 for a root branch
    joint_branch : (n_b, 2), rows (first joint, last joint) of branch k
    order : (n,), order[i - 1] is the old number of new joint i; 1..n when the numbering was already canonical
    """

    branch_parent: IntArray
    joint_branch: IntArray
    order: IntArray


class Topology(NamedTuple):
    """The tree of a model in both encodings; see `joint_parent_matrix` and `branch_matrices`."""

    parents: IntArray
    joint_parent: IntArray
    branch_parent: IntArray
    joint_branch: IntArray
    order: IntArray


def joint_parent_matrix(parents: ArrayLike) -> IntArray:
    """The joint parent matrix: rows (i, parent of i).

    >>> joint_parent_matrix([0, 1, 1]).tolist()
    [[1, 0], [2, 1], [3, 1]]
    """
    p = _checked(parents)
    return np.column_stack([np.arange(1, len(p) + 1), p])


def is_canonical(parents: ArrayLike) -> bool:
    """Whether joints are numbered consecutively inside every branch.

    >>> is_canonical([0, 1, 1, 2]), is_canonical([0, 1, 1, 3])
    (False, True)
    """
    p = _checked(parents)
    n_children = np.bincount(p, minlength=len(p) + 1)
    inside = (p > 0) & (n_children[p] == 1)
    return bool((p[inside] == np.flatnonzero(inside)).all())


def canonical_order(parents: ArrayLike) -> IntArray:
    """The depth-first numbering: order[i - 1] is the old number of new joint i; siblings keep their order.

    >>> canonical_order([0, 1, 1, 2]).tolist()
    [1, 2, 4, 3]
    """
    p = _checked(parents)
    children: list[list[int]] = [[] for _ in range(len(p) + 1)]
    for joint, parent in enumerate(p.tolist(), start=1):
        children[parent].append(joint)
    order: list[int] = []
    stack = children[0][::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(children[joint][::-1])
    return np.array(order, dtype=np.int64)


def renumber(parents: ArrayLike, order: ArrayLike) -> IntArray:
    """The parents after renumbering: new joint i is old joint order[i - 1].

    >>> renumber([0, 1, 1, 2], [1, 2, 4, 3]).tolist()
    [0, 1, 2, 1]
    """
    p = _checked(parents)
    old = np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(old), np.arange(1, len(p) + 1)):
        raise ValueRangeError(f"order = {old.tolist()} is not a permutation of 1..{len(p)}.")
    new_number = np.zeros(len(p) + 1, dtype=np.int64)
    new_number[old] = np.arange(1, len(p) + 1)
    return _checked(new_number[p[old - 1]])


def branch_matrices(parents: ArrayLike) -> BranchMatrices:
    """Branch parent matrix and joint-branch matrix of a tree, and the numbering they speak of.

    A numbering that is consecutive inside branches is kept; any other is first renumbered depth-first, and `order`
    says how (feed it to `renumber`). Branches are numbered by their first joint, so a parent branch comes first.

    >>> m = branch_matrices([0, 1, 2, 2])
    >>> m.branch_parent.tolist(), m.joint_branch.tolist()
    ([[1, 0], [2, 1], [3, 1]], [[1, 2], [3, 3], [4, 4]])
    """
    p = _checked(parents)
    n = len(p)
    order = np.arange(1, n + 1, dtype=np.int64)
    if not is_canonical(p):
        order = canonical_order(p)
        p = renumber(p, order)
    n_children = np.bincount(p, minlength=n + 1)
    starts = (p == 0) | (n_children[p] != 1)
    branch_of = np.concatenate([[0], np.cumsum(starts)])
    first = np.flatnonzero(starts) + 1
    last = np.append(first[1:] - 1, n) if n else first
    numbers = np.arange(1, len(first) + 1)
    return BranchMatrices(
        np.column_stack([numbers, branch_of[p[first - 1]]]).astype(np.int64),
        np.column_stack([first, last]).astype(np.int64),
        order,
    )


def parents_from_branches(branch_parent: ArrayLike, joint_branch: ArrayLike) -> IntArray:
    """The parent of every joint from the two branch matrices: the inverse of `branch_matrices`.

    >>> parents_from_branches([[1, 0], [2, 1], [3, 1]], [[1, 2], [3, 3], [4, 4]]).tolist()
    [0, 1, 2, 2]
    """
    phi = np.asarray(branch_parent, dtype=np.int64).reshape(-1, 2)
    psi = np.asarray(joint_branch, dtype=np.int64).reshape(-1, 2)
    if len(phi) != len(psi):
        raise ShapeError(
            f"{len(phi)} rows of branch parents but {len(psi)} rows of joint ranges. Give one of each per branch."
        )
    expected = 1
    parents: list[int] = []
    for k, ((number, parent), (first, last)) in enumerate(zip(phi.tolist(), psi.tolist(), strict=True), start=1):
        if number != k or not 0 <= parent < k:
            raise ParentOrderError(
                f"branch row {k} reads ({number}, {parent}): rows are numbered 1, 2, ... "
                "and a parent branch comes earlier."
            )
        if first != expected or last < first:
            raise ValueRangeError(
                f"branch {k} holds joints {first}..{last}, but must start at joint {expected} and not be empty."
            )
        parents.append(int(psi[parent - 1, 1]) if parent else 0)
        parents.extend(range(first, last))
        expected = last + 1
    return np.array(parents, dtype=np.int64)


def topology(parents: ArrayLike) -> Topology:
    """All matrices of a tree at once."""
    p = _checked(parents)
    return Topology(p, joint_parent_matrix(p), *branch_matrices(p))


def _checked(parents: ArrayLike) -> IntArray:
    given = np.asarray(parents)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ShapeError(f"parents must be a list of integers, one per joint; got {given!r}.")
    p = given.astype(np.int64)
    wrong = np.flatnonzero((p < 0) | (p > np.arange(len(p))))
    if wrong.size:
        i = int(wrong[0])
        raise ParentOrderError(
            f"joint {i + 1} has parent {p[i]}: a parent is 0 (ground) or a joint with a smaller number. "
            "Number the joints from the root outwards."
        )
    return p
