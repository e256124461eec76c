import numpy as np
import pytest
from joint_poses import (
    DH_VARIANTS,
    PLACED,
    dh_pose_by_formula,
    every_joint,
    pose_by_formula,
    pose_from_atoms,
    random_dh,
    random_joint,
)
from numpy.testing import assert_allclose

from mechgrad.model import (
    JOINT_TYPES,
    Cardan,
    Cylindrical,
    DenavitHartenberg,
    Floating,
    Joint,
    Revolute,
    Spherical,
    Universal,
    joints,
)
from mechgrad.model.joints import BALL, FIXED, PRISMATIC, REVOLUTE
from mechgrad.model.primitives.fields import replaced, table

H = 1e-30
JOINTS = every_joint(np.random.default_rng(11))
IDS = [
    f"{type(j).__name__}-{getattr(j, 'kind', '')}{getattr(j, 'sign', '')}{getattr(j, 'convention', '')}" for j in JOINTS
]
every_kind = pytest.mark.parametrize("joint", JOINTS, ids=IDS)


def placements(joint):
    """All numbers of atoms and tail, in one vector."""
    parts = [part.ravel() for atom in joint.atoms() for part in (atom.E, atom.r)]
    return np.concatenate(parts + [part.ravel() for part in joint.tail()])


@pytest.mark.parametrize("cls", PLACED)
def test_atoms_and_tail_compose_to_the_documented_pose(cls):
    rng = np.random.default_rng(5)
    for _ in range(20):
        joint = random_joint(cls, rng)
        q = rng.normal(size=joint.n_q)
        assert_allclose(pose_from_atoms(joint, q), pose_by_formula(joint, q), atol=1e-13)


@pytest.mark.parametrize(("kind", "sign", "convention"), DH_VARIANTS)
def test_denavit_hartenberg_atoms_compose_to_the_four_by_four_matrix(kind, sign, convention):
    rng = np.random.default_rng(6)
    for _ in range(20):
        joint = random_dh(kind, sign, convention, rng)
        q = rng.normal(size=1)
        assert_allclose(pose_from_atoms(joint, q), dh_pose_by_formula(joint, q[0]), atol=1e-14)


@every_kind
def test_frames_of_atoms_are_rotations(joint):
    for E in [atom.E for atom in joint.atoms()] + [joint.tail()[0]]:
        assert_allclose(E.T @ E, np.eye(3), atol=1e-14)
        assert np.linalg.det(E) == pytest.approx(1.0)


@every_kind
def test_complex_step_of_every_field_is_the_derivative_of_atoms_and_tail(joint):
    for label, (name, index, _) in table(type(joint)).entries.items():
        value = getattr(joint, name)
        x = value[index] if index else value
        stepped = placements(replaced(joint, {(name, index): x + 1j * H}))
        h = 1e-6
        plus, minus = (placements(replaced(joint, {(name, index): x + s * h})) for s in (1, -1))
        # central difference: truncation h^2 |f'''| ~ 1e-11, cancellation eps / h ~ 1e-10
        assert_allclose(stepped.imag / H, (plus - minus) / (2 * h), atol=2e-8, rtol=1e-7, err_msg=label)
        assert np.abs(stepped.imag / H).max() > 1e-3, f"{label} has no influence"
        assert_allclose(stepped.real, placements(joint), atol=1e-15)


@pytest.mark.parametrize("label", ["x", "y"])
def test_pose_is_smooth_where_the_choice_of_the_axis_frame_jumps(label):
    joint = Revolute("j", "ground", "b", child_origin=(0.1, 0.2, 0.3))
    key, q, h = ("axis", ("xyz".index(label),)), np.array([0.8]), 1e-6
    exact = pose_from_atoms(replaced(joint, {key: 1j * H}), q).imag / H
    plus, minus = (pose_from_atoms(replaced(joint, {key: s * h}), q) for s in (1, -1))
    assert_allclose(exact, (plus - minus) / (2 * h), atol=1e-9)
    assert np.abs(exact).max() > 0.1


@every_kind
def test_kinds_labels_and_units_match_the_atoms(joint):
    assert joint.kinds == tuple(atom.kind for atom in joint.atoms())
    width_q = {REVOLUTE: 1, PRISMATIC: 1, BALL: 4, FIXED: 0}
    width_v = {REVOLUTE: 1, PRISMATIC: 1, BALL: 3, FIXED: 0}
    assert len(joint.q_labels) == len(joint.q_units) == joint.n_q == sum(width_q[k] for k in joint.kinds)
    assert len(joint.v_labels) == len(joint.v_units) == joint.n_v == sum(width_v[k] for k in joint.kinds)


def test_units_follow_the_motion():
    assert Cylindrical("j", "a", "b").q_units == ("m", "rad")
    assert Cylindrical("j", "a", "b").v_units == ("m/s", "rad/s")
    assert Spherical("j", "a", "b").q_units == ("1", "1", "1", "1")
    assert Floating("j", "a", "b").v_units == ("m/s",) * 3 + ("rad/s",) * 3
    assert DenavitHartenberg("j", "a", "b", "prismatic").q_units == ("m",)


def test_axes_of_any_length_give_the_same_pose_and_are_stored_as_given():
    long, short = (Revolute("j", "ground", "b", axis=k * np.array([1.0, 2.0, 3.0])) for k in (10.0, 0.1))
    assert long.axis.tolist() == [10.0, 20.0, 30.0]
    assert_allclose(pose_from_atoms(long, np.array([0.4])), pose_from_atoms(short, np.array([0.4])), atol=1e-15)


def test_children_are_parallel_to_parents_at_zero_for_default_orientation():
    for joint in (Revolute("j", "g", "b", axis=(1, 2, 3)), Cardan("j", "g", "b", axis1=(1, 2, 0), axis2=(0, 1, 4))):
        assert_allclose(pose_from_atoms(joint, np.zeros(joint.n_q))[:3, :3], np.eye(3), atol=1e-15)


def test_joints_are_immutable_and_their_arrays_read_only():
    joint = Revolute("j", "ground", "b", [1, 0, 0], axis=(0, 2, 0))
    assert joint.origin.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        joint.axis[0] = 1.0
    with pytest.raises(AttributeError):
        joint.axis = (1, 0, 0)


def test_a_given_array_is_copied_so_that_the_caller_may_reuse_it():
    axis = np.array([0.0, 0.0, 1.0])
    joint = Revolute("j", "ground", "b", axis=axis)
    axis[0] = 5.0
    assert joint.axis.tolist() == [0.0, 0.0, 1.0]


def test_joints_compare_by_exact_numbers():
    a = Revolute("j", "ground", "b", axis=(0, 0, 1))
    assert a == Revolute("j", "ground", "b")
    assert hash(a) == hash(Revolute("j", "ground", "b"))
    assert a != Revolute("j", "ground", "b", axis=(0, 0, 1 + 1e-15))
    assert a != Cylindrical("j", "ground", "b")


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(Revolute("j", "ground", "b", axis=(0, 1, 0))) == "Revolute('j', 'ground', 'b', axis=(0, 1, 0))"
    assert repr(DenavitHartenberg("j", "a", "b", "prismatic", d=0.5, sign=-1)) == (
        "DenavitHartenberg('j', 'a', 'b', kind='prismatic', d=0.5, sign=-1)"
    )


def test_registry_names_every_joint_class_and_universal_is_cardan():
    public = [getattr(joints, name) for name in joints.__all__]
    concrete = {
        thing for thing in public if isinstance(thing, type) and issubclass(thing, Joint) and thing is not Joint
    }
    assert set(JOINT_TYPES.values()) == concrete
    assert all(JOINT_TYPES[cls.type_name] is cls for cls in concrete)
    assert JOINT_TYPES["universal"] is Universal is Cardan


def test_a_joint_class_without_a_motion_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        Joint("j", "ground", "b")
