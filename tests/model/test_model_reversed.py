"""Joints that the tree runs through from their child to their parent: poses, forces, derivatives, probes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from joint_poses import pose_by_formula, pose_from_atoms
from loop_models import JOINTS, between, bodies, every_kind, five_bar, poses_of, random_q, values
from support.oracles import by_parameter, relative_error, virtual_power

import mechgrad as mg
from mechgrad import errors
from mechgrad.inverse.probes import probed
from mechgrad.kinematics.batch import tree_of
from mechgrad.model import BALL, DenavitHartenberg
from mechgrad.model.joints.reversed import Reversed
from mechgrad.model.primitives.fields import entries

# ---- reversed joints


def inverse_q(joint, q):
    """Coordinates of the reversed joint from those of the joint: atom by atom from the back, balls conjugate."""
    parts = []
    for kind in joint.kinds:
        width = 4 if kind == BALL else 1 if joint.n_q else 0
        parts.append(q[:width] * (np.array([1, -1, -1, -1]) if kind == BALL else 1))
        q = q[width:]
    return np.concatenate([*parts[::-1], np.zeros(0)])


@every_kind
def test_a_reversed_joint_is_the_inverse_pose_with_the_same_coordinates(joint):
    rng = np.random.default_rng(8)
    back = Reversed(joint)
    assert (back.name, back.parent, back.child) == (joint.name, joint.child, joint.parent)
    assert (back.n_q, back.n_v) == (joint.n_q, joint.n_v)
    assert sorted(back.q_labels) == sorted(joint.q_labels)
    assert back.kinds == tuple(atom.kind for atom in back.atoms()) == joint.kinds[::-1]
    for _ in range(5):
        q = rng.normal(size=joint.n_q)
        forth = pose_from_atoms(joint, q)
        np.testing.assert_allclose(pose_from_atoms(back, inverse_q(joint, q)) @ forth, np.eye(4), atol=1e-13)


def test_a_reversed_joint_lists_its_atoms_from_the_child():
    assert Reversed(mg.Planar("j", "a", "b")).q_labels == ("angle", "y", "x")
    assert Reversed(mg.Spherical("j", "a", "b")).q_labels == ("e0", "e1", "e2", "e3")
    assert Reversed(mg.Fixed("j", "a", "b")).q_labels == ()
    assert Reversed(mg.Cylindrical("j", "a", "b")).q_units == ("rad", "m")


def test_a_floating_joint_is_not_reversed():
    with pytest.raises(errors.ValueRangeError, match=r"'f' \(Floating\).*Swap its two bodies"):
        mg.Model("m", bodies("ab"), [mg.Revolute("r", "ground", "a"), mg.Floating("f", "b", "a")])


def backwards(joint):
    """A tree that meets the joint at its child: ground - a, then the joint written from b to a, then c on b."""
    parts = [mg.Cardan("first", "ground", "a", (0.1, 0.2, 0.3)), between(joint, "b", "a"), mg.Revolute("last", "b", "c",
             (0.3, 0.1, -0.2), axis=(1, 2, 3))]  # fmt: skip
    return mg.Model("backwards", bodies("abc"), parts)


@every_kind
def test_bodies_behind_a_reversed_joint_stand_where_the_formula_puts_them(joint):
    model = backwards(joint)
    assert [type(j) for j in model.tree_joints] == [mg.Cardan, Reversed, mg.Revolute]
    assert model.cut == ()
    q = random_q(model, np.random.default_rng(5))
    poses = poses_of(model, q)
    in_b = pose_from_atoms(joint, inverse_q(Reversed(joint), q[model.q_slice("j")]))
    if not isinstance(joint, DenavitHartenberg):
        np.testing.assert_allclose(in_b, pose_by_formula(joint, inverse_q(Reversed(joint), q[model.q_slice("j")])),
                                   atol=1e-13)  # fmt: skip
    (R_a, p_a), (R_b, p_b) = poses["a"], poses["b"]
    np.testing.assert_allclose(R_b @ in_b[:3, :3], R_a, atol=1e-13)
    np.testing.assert_allclose(p_b + R_b @ in_b[:3, 3], p_a, atol=1e-13)
    np.testing.assert_allclose(values(model.joint("j").closure(), poses), 0.0, atol=2e-13)


@every_kind
def test_forces_and_their_derivatives_by_every_number_of_a_reversed_joint(joint):
    model = backwards(joint)
    rng = np.random.default_rng(6)
    q, v, a = random_q(model, rng), rng.normal(size=model.n_v), rng.normal(size=model.n_v)
    assert relative_error(mg.inverse_dynamics(model, q, v, a), virtual_power(model, q, v, a)) < 1e-12
    paths = [f"j.{label}" for label in entries(joint)]
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=paths)
    for path in paths:
        exact = by_parameter(lambda m: mg.inverse_dynamics(m, q, v, a), model, path)
        assert relative_error(D.by(path), exact) < 1e-11, path
    assert max(np.abs(D.by(path)).max() for path in paths) > 0.1


def test_only_the_reversed_joint_that_changed_is_asked_again(monkeypatch):
    model = five_bar(cut=["h0"])
    tree_of(model)
    asked, atoms = [], Reversed.atoms

    def noted(joint):
        asked.append(joint.name)
        return atoms(joint)

    monkeypatch.setattr(Reversed, "atoms", noted)
    changed = model.with_values({"h2.origin.x": 0.7})
    tree_of(changed)
    assert asked == ["h2"]
    assert tree_of(changed).structure is tree_of(model).structure
    rebuilt = tree_of(pickle.loads(pickle.dumps(changed)))
    assert np.array_equal(tree_of(changed).atoms_f, rebuilt.atoms_f)
    assert not np.array_equal(tree_of(changed).atoms_f, tree_of(model).atoms_f)


def test_probes_find_their_place_in_a_reversed_joint():
    model = backwards(JOINTS[1])
    rng = np.random.default_rng(7)
    q, v, a = random_q(model, rng), rng.normal(size=model.n_v), rng.normal(size=model.n_v)
    P = probed(model, ["j", "last"], ground=True)
    tau = mg.inverse_dynamics(P.model, P.widen_q(q), P.widen(v), P.widen(a))
    assert relative_error(tau[P.columns], mg.inverse_dynamics(model, q, v, a)) < 1e-12
    # what b exerts on a through j, in axes of a, whichever way the tree runs
    reaction = mg.joint_reactions(model, q, v, a, joints=["j"], axes="child")
    assert relative_error(tau[P.probes["j"]][3:], reaction.force[0]) < 1e-12
    assert np.abs(reaction.force[0]).min() > 0.1
