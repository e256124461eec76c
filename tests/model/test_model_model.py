import copy
import dataclasses
import pickle
import tomllib

import numpy as np
import pytest
import tomli_w
from joint_poses import dh_pose_by_formula, every_joint, pose_from_atoms

from mechgrad.errors import ModelError, ShapeError, UnknownNameError, ValueRangeError
from mechgrad.model import (
    Body,
    Cardan,
    Cylindrical,
    DenavitHartenberg,
    DesignVariable,
    DHRow,
    Fixed,
    Floating,
    Model,
    Planar,
    Point,
    Revolute,
    Spherical,
    Vector,
    dh_model,
)


@pytest.fixture(scope="module")
def biped():
    return Model(
        "biped",
        [Body("pelvis", 10, inertia=(0.1, 0.1, 0.1)), *(Body(n, 2.5) for n in ("l1", "l2", "r1", "r2")), Body("cap")],
        [
            Floating("root", "ground", "pelvis"),
            Spherical("lhip", "pelvis", "l1", (0, 0.1, 0)),
            Revolute("lknee", "l1", "l2", axis=(0, 1, 0)),
            Cardan("rhip", "pelvis", "r1", (0, -0.1, 0)),
            Cylindrical("rknee", "r1", "r2"),
            Fixed("neck", "pelvis", "cap"),
        ],
        [Point("tip", "cap", (0, 0, 0.2))],
        [Vector("up", "ground", (0, 0, 1))],
        variables=[DesignVariable("width", {"lhip.origin.y": 1, "rhip.origin.y": -1}, 0.1, bounds=(0.05, 0.2))],
    )


# ---- names and sizes


def test_coordinates_are_named_and_ordered_by_joints(biped):
    assert biped.n_q == 7 + 4 + 1 + 2 + 2
    assert biped.n_v == 6 + 3 + 1 + 2 + 2
    assert biped.q_names == (
        *(f"root.{k}" for k in ("x", "y", "z", "e0", "e1", "e2", "e3")),
        *(f"lhip.e{k}" for k in range(4)),
        "lknee",
        "rhip.angle1",
        "rhip.angle2",
        "rknee.distance",
        "rknee.angle",
    )
    assert biped.v_names[:9] == (
        *(f"root.{k}" for k in ("vx", "vy", "vz", "wx", "wy", "wz")),
        *(f"lhip.{k}" for k in ("wx", "wy", "wz")),
    )
    assert Model("m", [Body("b")], [Planar("p", "ground", "b")]).q_names == ("p.x", "p.y", "p.angle")


def test_slices_cut_q_and_v_at_the_joints(biped):
    assert biped.q_names[biped.q_slice("rhip")] == ("rhip.angle1", "rhip.angle2")
    assert biped.v_names[biped.v_slice("lknee")] == ("lknee",)
    assert biped.q_slice("neck") == slice(16, 16)


def test_members_are_found_by_name(biped):
    assert biped.body("l1").mass == 2.5
    assert biped.joint("lhip").child == "l1"
    assert biped.marker("tip") is biped.point("tip")
    assert biped.marker("up") is biped.vector("up")
    assert biped.variable("width").value == 0.1
    assert biped.body_names == ("pelvis", "l1", "l2", "r1", "r2", "cap")
    assert biped.joint_names == ("root", "lhip", "lknee", "rhip", "rknee", "neck")
    with pytest.raises(UnknownNameError, match=r"unknown point 'pelvis'.*tip"):
        biped.marker("pelvis")


def test_total_mass_is_the_sum(biped):
    assert biped.total_mass == 20.0


def test_parents_and_topology_are_one_based(biped):
    assert biped.parents.tolist() == [0, 1, 2, 1, 4, 1]
    assert biped.topology.branch_parent.tolist() == [[1, 0], [2, 1], [3, 1], [4, 1]]
    assert biped.topology.joint_branch.tolist() == [[1, 1], [2, 3], [4, 5], [6, 6]]
    assert biped.topology is biped.topology


def test_an_empty_model_is_a_model():
    model = Model("nothing")
    assert (model.n_q, model.n_v, model.total_mass) == (0, 0, 0.0)
    assert model.neutral().shape == (0,)
    assert model.topology.joint_branch.shape == (0, 2)
    assert Model.from_dict(model.to_dict()) == model
    assert "ground" in model.describe()


def test_members_may_be_given_as_generators():
    model = Model("m", (Body(n) for n in "ab"), (Fixed(f"j{n}", "ground", n) for n in "ab"))
    assert model.body_names == ("a", "b")


def test_a_model_cannot_be_changed(biped):
    with pytest.raises(AttributeError):
        biped.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        biped.gravity[0] = 1.0


# ---- equality and copies


def test_equality_is_by_exact_numbers(biped):
    again = dataclasses.replace(biped)
    assert again == biped
    assert hash(again) == hash(biped)
    assert dataclasses.replace(biped, gravity=(0, 0, -9.81 - 1e-14)) != biped
    assert dataclasses.replace(biped, points=()) != biped
    assert biped != "biped"


def test_copies_and_pickles_are_equal_and_drop_the_cache(biped):
    biped.cached("unpicklable", lambda model: lambda: None)
    for other in (pickle.loads(pickle.dumps(biped)), copy.deepcopy(biped)):
        assert other == biped
        assert "unpicklable" not in other._cache
        assert other.with_values({"pelvis.com.x": 1.0}).value("pelvis.com.x") == 1.0
        assert other.value("pelvis.com.x") == 0.0


# ---- dictionaries


def all_kinds():
    joints = every_joint(np.random.default_rng(3))
    joints = [dataclasses.replace(j, name=f"j{i}", child=f"b{i}") for i, j in enumerate(joints)]
    rng = np.random.default_rng(4)
    J = rng.normal(size=(3, 3))
    J = np.trace(J @ J.T) * np.eye(3) - J @ J.T
    bodies = [Body(f"b{i}", rng.uniform(), rng.normal(size=3), 0.5 * (J + J.T)) for i in range(len(joints))]
    return Model("all", bodies, joints, gravity=rng.normal(size=3))


@pytest.mark.parametrize("through_toml", [False, True])
def test_every_kind_of_joint_survives_a_dictionary_exactly(through_toml):
    data = all_kinds().to_dict()
    if through_toml:
        data = tomllib.loads(tomli_w.dumps(data))
    assert Model.from_dict(data) == all_kinds()


def test_a_whole_model_survives_toml_exactly(biped):
    assert Model.from_dict(tomllib.loads(tomli_w.dumps(biped.to_dict()))) == biped


def test_dictionaries_leave_out_defaults(biped):
    data = biped.to_dict()
    assert data["bodies"][0] == {"name": "pelvis", "mass": 10.0, "inertia": [0.1, 0.1, 0.1]}
    assert data["bodies"][-1] == {"name": "cap"}
    assert data["joints"][5] == {"type": "fixed", "name": "neck", "parent": "pelvis", "child": "cap"}
    assert data["joints"][2]["axis"] == [0.0, 1.0, 0.0]
    assert data["variables"] == [
        {
            "name": "width",
            "targets": {"lhip.origin.y": 1.0, "rhip.origin.y": -1.0},
            "value": 0.1,
            "bounds": [0.05, 0.2],
        }
    ]
    assert "variables" not in Model("m").to_dict()


def test_targets_without_factors_are_written_as_a_list():
    variables = [DesignVariable("m", ["a.mass", "b.mass"], 1.0)]
    model = Model("m", [Body("a"), Body("b")], [Fixed("f", "ground", "a"), Fixed("g", "a", "b")], variables=variables)
    assert model.to_dict()["variables"][0]["targets"] == ["a.mass", "b.mass"]
    assert Model.from_dict(model.to_dict()) == model


def test_universal_is_read_as_cardan():
    joint = {"type": "universal", "name": "u", "parent": "ground", "child": "b"}
    assert Model.from_dict({"name": "m", "bodies": [{"name": "b"}], "joints": [joint]}).joint("u") == Cardan(
        "u", "ground", "b"
    )


@pytest.mark.parametrize(
    ("data", "error", "texts"),
    [
        ({}, ModelError, ("name",)),
        ({"name": "m", "body": []}, UnknownNameError, ("'body'", "Did you mean 'bodies'?")),
        ({"name": "m", "bodies": [{"name": "b", "mas": 1}]}, UnknownNameError, ("bodies[0] ('b')", "'mas'", "'mass'")),
        ({"name": "m", "bodies": [{"mass": 1}]}, ModelError, ("bodies[0]", "'name'")),
        ({"name": "m", "bodies": ["b"]}, ShapeError, ("bodies[0]", "'b'")),
        ({"name": "m", "joints": [{"name": "j"}]}, ModelError, ("joints[0]", "'type'", "revolute")),
        ({"name": "m", "joints": [{"type": "hinge", "name": "j"}]}, UnknownNameError, ("'j'", "'hinge'", "revolute")),
        ({"name": "m", "joints": [{"type": "fixed", "name": "j", "parent": "ground"}]}, ModelError, ("'j'", "'child'")),
        ({"name": "m", "points": [{"name": "p", "body": "b"}]}, UnknownNameError, ("'p'", "'b'")),
    ],
)
def test_faulty_dictionaries_are_refused_by_place_and_key(data, error, texts):
    with pytest.raises(error) as caught:
        Model.from_dict(data)
    assert all(text in str(caught.value) for text in texts), str(caught.value)


def test_what_a_file_cannot_hold_is_refused(biped):
    with pytest.raises(ValueRangeError, match="'pelvis': mass is complex"):
        biped.with_values({"pelvis.mass": 1 + 1j}).to_dict()
    model = Model(
        "m", [Body("b")], [Fixed("f", "ground", "b")], variables=[DesignVariable("v", {"b.mass": np.exp}, 1.0)]
    )
    with pytest.raises(ValueRangeError, match=r"'v'.*'b\.mass'.*Python function"):
        model.to_dict()


# ---- text


def test_repr_is_one_line(biped):
    assert repr(biped) == "Model('biped': 6 bodies, 6 joints, n_q=16, n_v=14, 20 kg)"
    assert "\n" not in repr(biped.with_values({"pelvis.mass": 1 + 1j}))


def test_describe_draws_the_tree(biped):
    assert biped.describe().splitlines() == [
        "biped",
        "  bodies 6, joints 6",
        "  coordinates n_q = 16, mobility n_v = 14",
        "  total mass 20 kg",
        "  gravity (0, 0, -9.81) m/s^2",
        "",
        "joint        kind         q       body    mass",
        "ground",
        "└─ root      Floating     0..6    pelvis  10 kg",
        "   ├─ lhip   Spherical    7..10   l1      2.5 kg",
        "   │  lknee  Revolute     11      l2      2.5 kg",
        "   ├─ rhip   Cardan       12..13  r1      2.5 kg",
        "   │  rknee  Cylindrical  14..15  r2      2.5 kg",
        "   └─ neck   Fixed        -       cap     massless",
        "",
        "points: tip (cap)",
        "",
        "vectors: up (ground)",
        "",
        "variables",
        "  width = 0.1  ->  lhip.origin.y, rhip.origin.y",
    ]


def test_a_long_chain_is_described_without_running_off_the_page():
    text = dh_model("snake", [DHRow(a=0.1) for _ in range(200)]).describe()
    assert max(len(line) for line in text.splitlines()) < 80
    assert "DH revolute" in text


# ---- Denavit-Hartenberg tables


def test_a_table_becomes_joints_dh_1_to_n_and_links_1_to_n():
    model = dh_model("arm", [DHRow("revolute", 0.1, 0.2, 0.3, 0.4), DHRow("prismatic", sign=-1)])
    assert model.joints == (
        DenavitHartenberg("dh.1", "ground", "link1", "revolute", 0.1, 0.2, 0.3, 0.4),
        DenavitHartenberg("dh.2", "link1", "link2", "prismatic", sign=-1),
    )
    assert model.body_names == ("link1", "link2")
    assert model.value("dh.1.alpha") == 0.4


def test_names_bodies_convention_and_gravity_of_a_table_can_be_given():
    model = dh_model(
        "arm",
        [DHRow(name="base"), DHRow()],
        bodies=[Body("trunk", 2.0), None],
        convention="modified",
        gravity=(0, -9.81, 0),
        variables=[DesignVariable("m", "trunk.mass", 5.0)],
    )
    assert model.joint_names == ("base", "dh.2")
    assert model.body_names == ("trunk", "link2")
    assert {joint.convention for joint in model.joints} == {"modified"}
    assert model.total_mass == 5.0


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_poses_along_a_branched_table_are_products_of_the_four_by_four_matrices(convention):
    rng = np.random.default_rng(9)
    parents = [0, 1, 2, 2, 4, 1, 0]
    kinds = ["revolute", "prismatic", "revolute", "revolute", "prismatic", "revolute", "revolute"]
    signs = [1, -1, -1, 1, 1, -1, 1]
    rows = [DHRow(k, *rng.normal(size=4), parent=p, sign=s) for k, p, s in zip(kinds, parents, signs, strict=True)]
    model = dh_model("tree", rows, convention=convention)
    assert model.parents.tolist() == parents
    q = rng.normal(size=7)
    atoms, matrices = [np.eye(4)], [np.eye(4)]
    for i, joint in enumerate(model.joints):
        atoms.append(atoms[parents[i]] @ pose_from_atoms(joint, q[i : i + 1]))
        matrices.append(matrices[parents[i]] @ dh_pose_by_formula(joint, q[i]))
    np.testing.assert_allclose(atoms, matrices, atol=1e-13)
