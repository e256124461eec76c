"""The compiled tree of a model whose numbers changed: that of a model built anew, with a shared structure."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_trees import random_state, random_tree

import mechgrad as mg
from mechgrad.inverse.probes import probed
from mechgrad.kinematics.batch import tree_of
from mechgrad.model import DenavitHartenberg
from mechgrad.model.tree import HAS_MASS

H = 1e-30


def rebuilt(model):
    """The same model without anything it inherited."""
    new = pickle.loads(pickle.dumps(model))
    assert new.of_original("tree") is None
    assert new._shared == {}
    return new


def check_equal(got, want):
    assert got.dtype is want.dtype
    assert (got.n_q, got.n_v, got.body_atom, got.joint_atoms) == (want.n_q, want.n_v, want.body_atom, want.joint_atoms)
    for name in ("atoms_i", "atoms_f", "columns_i", "pairs"):
        array = getattr(got, name)
        assert np.array_equal(array, getattr(want, name)), name
        assert array.dtype == getattr(want, name).dtype
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    assert np.array_equal(got.pattern.rows, want.pattern.rows)
    assert np.array_equal(got.pattern.cols, want.pattern.cols)
    assert got.body_tail.keys() == want.body_tail.keys()
    for body, pose in got.body_tail.items():
        for a, b in zip(pose, want.body_tail[body], strict=True):
            assert np.array_equal(a, b)
            assert a.dtype == b.dtype


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14), with_probes=st.booleans())
def test_any_chain_of_changes_compiles_to_what_a_new_model_does(seed, n, with_probes):
    rng = np.random.default_rng(seed)
    model = random_tree(seed, n)
    if with_probes:
        model = probed(model, [model.joints[-1].name], ground=True).model
    paths = [p.path for p in model.parameters()]
    seen = set()
    for _ in range(8):
        if rng.random() < 0.7:  # others are never compiled: the next one inherits from an earlier model
            check_equal(tree_of(model), tree_of(rebuilt(model)))
            seen.add(tree_of(model).structure)
        values = {}
        for path in rng.choice(paths, rng.integers(1, 4)):
            step = rng.uniform(-0.1, 0.1) + (1j * H if rng.random() < 0.3 else 0)
            values[path] = model.value(path).real + step
            if path.endswith(".mass") and rng.random() < 0.5:
                values[path] = 0.0
        model = model.with_values(values, check=False)
    assert len(seen) <= 1


def test_a_changed_number_changes_torques_and_nothing_else():
    model = random_tree(3, 9, massless=0.0, branching=0.0)
    q, v, a = random_state(model, 1)
    before = mg.inverse_dynamics(model, q, v, a)
    atoms_f = tree_of(model).atoms_f.copy()
    for path in ("b4.mass", "b4.com.x", "b4.inertia.xy", "j5.origin.x", "j2.d", "gravity.x"):
        new = model.with_values({path: model.value(path) + 0.1}, check=False)
        got = mg.inverse_dynamics(new, q, v, a)
        assert np.array_equal(got, mg.inverse_dynamics(rebuilt(new), q, v, a))
        assert np.max(np.abs(got - before)) > 1e-4
        assert np.array_equal(mg.inverse_dynamics(new.with_values({path: model.value(path)}), q, v, a), before)
    assert np.array_equal(tree_of(model).atoms_f, atoms_f)


def test_structure_is_shared_and_made_once():
    model = random_tree(3, 9)
    trees = [tree_of(model), tree_of(model.with_values({"b4.mass": 9.0})), tree_of(model.with_values({"j2.d": 1j * H}))]
    for tree in trees[1:]:
        assert tree.structure is trees[0].structure
        assert tree.pattern is trees[0].pattern
        assert tree.atoms_i is trees[0].atoms_i
        assert tree.chain_positions is trees[0].chain_positions
    assert tree_of(rebuilt(model)).structure is not trees[0].structure
    assert tree_of(mg.Model(model.name, model.bodies, model.joints)).structure is not trees[0].structure


def test_copies_made_before_the_first_compilation_share_the_structure_too():
    model = random_tree(3, 9)
    copy = model.with_values({"b4.mass": 9.0})
    assert tree_of(copy).structure is tree_of(model).structure


def test_only_what_changed_is_asked_again(monkeypatch):
    table = [(0.1 * k, 0.2, 0.3, 0.4) for k in range(12)]
    model = mg.Model(
        "chain",
        [mg.Body(f"b{k}", 1.0, (0.1, 0, 0)) for k in range(12)],
        [
            DenavitHartenberg(f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", theta=theta, d=d, a=a, alpha=alpha)
            for k, (theta, d, a, alpha) in enumerate(table)
        ],
    )
    tree_of(model)
    asked = []
    atoms = DenavitHartenberg.atoms

    def noted(joint):
        asked.append(joint.name)
        return atoms(joint)

    monkeypatch.setattr(DenavitHartenberg, "atoms", noted)
    tree_of(model.with_values({"b3.mass": 2.0, "gravity.x": 1.0}))
    assert asked == []
    moved = model.with_values({"j3.a": 0.5, "j7.theta": 1j * H})
    tree_of(moved)
    assert asked == ["j3", "j7"]
    asked.clear()
    tree_of(moved.with_values({"j3.a": 0.6}))  # a complex joint is not inherited
    assert asked == ["j3", "j7"]
    asked.clear()
    further = model.with_values({"j3.a": 0.5})
    tree_of(further)
    tree_of(further.with_values({"j4.a": 0.5}))  # from the nearest compiled model, not from the first
    assert asked == ["j3", "j4"]


@pytest.mark.parametrize("number", [0.0, 2.0, 1j * H])
def test_a_body_gains_and_loses_its_mass(number):
    model = mg.Model("two", [mg.Body("a"), mg.Body("b", 1.0, (1, 0, 0))],
                     [mg.Revolute("j", "ground", "a", axis=(0, 1, 0)), mg.Revolute("k", "a", "b")])  # fmt: skip
    assert tree_of(model).atoms_i[:, HAS_MASS].tolist() == [0, 1]
    new = model.with_values({"a.mass": number})
    assert tree_of(new).atoms_i[:, HAS_MASS].tolist() == [number != 0, 1]
    assert tree_of(new.with_values({"a.mass": 0.0})).atoms_i[:, HAS_MASS].tolist() == [0, 1]
    assert tree_of(model).atoms_i[:, HAS_MASS].tolist() == [0, 1]


def test_a_complex_model_has_real_copies():
    model = random_tree(2, 6)
    stepped = model.with_values({"j2.d": 0.3 + 1j * H, "b3.mass": 1 + 1j * H})
    assert tree_of(stepped).dtype is complex
    back = stepped.with_values({"j2.d": 0.3, "b3.mass": 1.0})
    assert tree_of(back).dtype is float
    check_equal(tree_of(back), tree_of(model.with_values({"j2.d": 0.3, "b3.mass": 1.0})))


@pytest.mark.parametrize(
    "path", ["Pb1.position.x", "Ub1.direction.x", "gravity.x", "b1.com.x", "j1.axis.x", "j3.theta"]
)
def test_one_complex_number_makes_a_tree_complex(path):
    model = random_tree(2, 6)
    tree_of(model)
    stepped = model.with_values({path: model.value(path) + 1j * H})
    assert tree_of(stepped).dtype is complex
    check_equal(tree_of(stepped), tree_of(rebuilt(stepped)))
    assert tree_of(model).dtype is float


def test_a_model_without_joints_has_an_empty_tree():
    model = mg.Model("nothing").with_values({"gravity.x": 1.0})
    assert tree_of(model).atoms_f[-1, :3].tolist() == [1, 0, -9.81]
    assert (tree_of(model).n_atoms, tree_of(model).n_v) == (0, 0)


def test_what_is_shared_is_computed_once_for_all_copies():
    model = random_tree(2, 3)
    copy = model.with_values({"b1.mass": 3.0})
    assert copy.shared("answer", lambda m: 42) == 42
    assert model.shared("answer", lambda m: 0) == 42
    assert copy.topology is model.topology
    assert mg.Model(model.name, model.bodies, model.joints).shared("answer", lambda m: 1) == 1


def test_probed_models_share_their_structure():
    P = probed(random_tree(2, 6), ["j2", "j4"], ground=True)
    new = P.at({"b3.mass": 3.0})
    assert tree_of(new.model).structure is tree_of(P.model).structure
