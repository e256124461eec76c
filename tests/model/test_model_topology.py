import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechgrad.errors import ParentOrderError, ShapeError, ValueRangeError
from mechgrad.model.topology import (
    branch_matrices,
    canonical_order,
    is_canonical,
    joint_parent_matrix,
    parents_from_branches,
    renumber,
    topology,
)

HUMAN_PARENTS = [{1: 0, 14: 5, 22: 5, 32: 22, 41: 22}.get(i, i - 1) for i in range(1, 44)]
HUMAN_PHI = [(1, 0), (2, 1), (3, 1), (4, 1), (5, 4), (6, 4), (7, 4)]
HUMAN_PSI = [(1, 5), (6, 13), (14, 21), (22, 22), (23, 31), (32, 40), (41, 43)]

trees = st.integers(0, 40).flatmap(lambda n: st.tuples(*(st.integers(0, i) for i in range(n))).map(list))


def children_of(parents):
    return {i: [j for j, p in enumerate(parents, start=1) if p == i] for i in range(len(parents) + 1)}


def test_human_has_the_published_branch_matrices():
    phi, psi, order = branch_matrices(HUMAN_PARENTS)
    assert [tuple(row) for row in phi] == HUMAN_PHI
    assert [tuple(row) for row in psi] == HUMAN_PSI
    assert order.tolist() == list(range(1, 44))


def test_human_parents_follow_from_its_branch_matrices():
    assert parents_from_branches(HUMAN_PHI, HUMAN_PSI).tolist() == HUMAN_PARENTS


@settings(deadline=None)
@given(trees)
def test_parents_to_branches_to_parents_is_exact_after_renumbering(parents):
    phi, psi, order = branch_matrices(parents)
    assert parents_from_branches(phi, psi).tolist() == renumber(parents, order).tolist()


@settings(deadline=None)
@given(trees)
def test_a_canonical_numbering_is_kept(parents):
    canonical = renumber(parents, canonical_order(parents))
    assert is_canonical(canonical)
    phi, psi, order = branch_matrices(canonical)
    assert order.tolist() == list(range(1, len(parents) + 1))
    assert parents_from_branches(phi, psi).tolist() == canonical.tolist()


@settings(deadline=None)
@given(trees)
def test_renumbering_preserves_the_tree(parents):
    order = canonical_order(parents).tolist()
    new = renumber(parents, order).tolist()
    for new_number, old_number in enumerate(order, start=1):
        old_parent = parents[old_number - 1]
        assert (order[new[new_number - 1] - 1] if new[new_number - 1] else 0) == old_parent


@settings(deadline=None)
@given(trees)
def test_branches_are_longest_runs_and_no_branch_has_exactly_one_child(parents):
    phi, psi, order = branch_matrices(parents)
    kids = children_of(renumber(parents, order).tolist())
    for first, last in psi.tolist():
        assert all(kids[joint] == [joint + 1] for joint in range(first, last))
        assert len(kids[last]) != 1
    branch_parents = phi[:, 1].tolist()
    assert all(branch_parents.count(k) != 1 for k in range(1, len(phi) + 1))
    assert all(parent < k for k, parent in phi.tolist())


@settings(deadline=None)
@given(trees)
def test_is_canonical_means_that_an_only_child_follows_its_parent(parents):
    kids = children_of(parents)
    assert is_canonical(parents) == all(kids[i] == [i + 1] for i in range(1, len(parents) + 1) if len(kids[i]) == 1)


def test_a_numbering_that_is_not_consecutive_inside_branches_is_renumbered_depth_first():
    parents = [0, 1, 1, 2, 3]
    assert not is_canonical(parents)
    phi, psi, order = branch_matrices(parents)
    assert order.tolist() == [1, 2, 4, 3, 5]
    assert psi.tolist() == [[1, 1], [2, 3], [4, 5]]
    assert phi.tolist() == [[1, 0], [2, 1], [3, 1]]


def test_several_roots_are_several_branches():
    phi, psi, _ = branch_matrices([0, 1, 0, 3])
    assert phi.tolist() == [[1, 0], [2, 0]]
    assert psi.tolist() == [[1, 2], [3, 4]]


def test_empty_tree_has_empty_matrices():
    phi, psi, order = branch_matrices([])
    assert phi.shape == psi.shape == (0, 2)
    assert order.shape == (0,)
    assert parents_from_branches(phi, psi).shape == (0,)
    assert joint_parent_matrix([]).shape == (0, 2)


def test_a_chain_of_ten_thousand_joints_needs_no_recursion():
    parents = np.arange(10_000)
    assert branch_matrices(parents).joint_branch.tolist() == [[1, 10_000]]
    assert canonical_order(parents)[-1] == 10_000


def test_topology_collects_both_encodings():
    t = topology([0, 1, 1])
    assert t.joint_parent.tolist() == [[1, 0], [2, 1], [3, 1]]
    assert t.branch_parent.tolist() == [[1, 0], [2, 1], [3, 1]]


def test_a_parent_with_a_larger_number_is_refused_by_joint_number():
    with pytest.raises(ParentOrderError, match="joint 2 has parent 3"):
        joint_parent_matrix([0, 3, 1])


def test_parents_must_be_integers():
    with pytest.raises(ShapeError, match="integers"):
        joint_parent_matrix([0.0, 1.0])


def test_an_order_that_is_no_permutation_is_refused():
    with pytest.raises(ValueRangeError, match="permutation"):
        renumber([0, 1], [1, 1])


@pytest.mark.parametrize(
    ("phi", "psi", "error", "text"),
    [
        ([[1, 0]], [[1, 2], [3, 3]], ShapeError, "1 rows of branch parents but 2"),
        ([[1, 0], [2, 2]], [[1, 2], [3, 3]], ParentOrderError, "branch row 2"),
        ([[1, 0], [2, 1]], [[1, 2], [4, 5]], ValueRangeError, "branch 2 holds joints 4..5"),
    ],
)
def test_inconsistent_branch_matrices_are_refused(phi, psi, error, text):
    with pytest.raises(error, match=text):
        parents_from_branches(phi, psi)
