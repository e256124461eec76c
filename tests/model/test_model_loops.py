"""Closed loops: which joints are cut, what the cut ones ask, and what a model with loops says and keeps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from loop_models import between, bodies, every_kind, five_bar, poses_of, random_q, slider_crank, twist_jacobian, values
from support.oracles import STEP, relative_error

import mechgrad as mg
from mechgrad import errors
from mechgrad.kinematics.batch import tree_of
from mechgrad.model.joints.reversed import Reversed
from mechgrad.model.primitives.fields import entries, entry, replaced


def carried(joint):
    """The joint as part of a tree, with a parent that moves."""
    parts = [mg.Floating("root", "ground", "a"), between(joint, "a", "b")]
    return mg.Model("carried", bodies("ab"), parts)


@every_kind
def test_closure_vanishes_wherever_the_joint_can_go_and_nowhere_else_nearby(joint):
    rng = np.random.default_rng(3)
    model = carried(joint)
    rows = model.joint("j").closure()
    assert len(rows) == 6 - joint.n_v
    assert len({row.label for row in rows}) == len(rows)
    for place in {id(place): place for row in rows for place in row.places}.values():
        assert place.body in ("a", "b")
        assert place.is_point or place.local @ place.local == pytest.approx(1.0, abs=1e-14)
    for _ in range(10):
        poses = poses_of(model, random_q(model, rng))
        np.testing.assert_allclose(values(rows, poses), 0.0, atol=2e-13)
        # no row follows from the others: by twists of either body the rank is full
        for body in "ab":
            smallest = np.linalg.svd(twist_jacobian(rows, poses, body), compute_uv=False).min()
            assert smallest > 1e-3
        R, p = poses["b"]
        elsewhere = {**poses, "b": (R @ np.linalg.qr(rng.normal(size=(3, 3)))[0], p + rng.normal(size=3))}
        assert np.abs(values(rows, elsewhere)).max() > 1e-2


@every_kind
def test_closure_moves_with_every_number_of_the_joint_as_differences_say(joint):
    model = carried(joint)
    poses, seen = poses_of(model, random_q(model, np.random.default_rng(4))), 0.0
    plain = model.joint("j")

    def at(name, index, x):
        return values(replaced(plain, {(name, index): x}).closure(), poses)

    for label, (name, index, _) in entries(plain).items():
        x, h = entry(plain, name, index), 1e-6
        exact = at(name, index, x + 1j * STEP).imag / STEP
        # the truncation error is h^2 f''', the cancellation eps / h
        differences = (at(name, index, x + h) - at(name, index, x - h)) / (2 * h)
        np.testing.assert_allclose(exact, differences, atol=1e-7, err_msg=label)
        seen = max(seen, np.abs(exact).max())
    assert seen > 0.1


def test_a_floating_joint_closes_nothing():
    with pytest.raises(errors.ClosedLoopError, match="'root' is a Floating"):
        mg.Floating("root", "ground", "a").closure()


# ---- which joints are cut


def test_a_five_bar_is_cut_at_its_last_hinge():
    model = five_bar()
    assert model.cut == ("h4",)
    assert model.cut_joints == (model.joint("h4"),)
    assert model.tree_joints == model.joints[:4]
    assert model.q_names == ("h0", "h1", "h2", "h3")
    assert model.parents.tolist() == [0, 1, 2, 3]
    assert model.joint_names == ("h0", "h1", "h2", "h3", "h4")
    assert (tree_of(model).n_atoms, tree_of(model).n_v) == (4, 4)


@pytest.mark.parametrize("cardan", [("rod", "slider"), ("slider", "rod")])
def test_a_slider_crank_is_cut_at_its_ball(cardan):
    model = slider_crank(cardan)
    assert model.cut == ("B",)
    assert set(model.q_names) == {"A", "D", "C.angle1", "C.angle2"}
    assert model.n_q == model.n_v == 4
    assert isinstance(model.tree_joint("C"), Reversed) is (cardan == ("rod", "slider"))
    assert [row.label for row in model.cut_joints[0].closure()] == ["point x", "point y", "point z"]


@pytest.mark.parametrize("cardan", [("rod", "slider"), ("slider", "rod")])
@pytest.mark.parametrize(("cut", "n_q", "n_v"), [("A", 7, 6), ("B", 4, 4), ("C", 6, 5), ("D", 7, 6)])
def test_a_loop_can_be_cut_at_any_joint(cardan, cut, n_q, n_v):
    model = slider_crank(cardan, cut=[cut])
    assert (model.cut, model.n_q, model.n_v) == ((cut,), n_q, n_v)
    # loop equations less tree coordinates: the mobility does not depend on the cut
    assert model.n_v - len(model.joint(cut).closure()) == 1
    reached = {"ground"}
    for joint in model.tree_joints:
        assert joint.parent in reached
        assert joint.child not in reached
        reached.add(joint.child)
    assert len(reached) == 4


def test_all_cuts_of_a_loop_mean_the_same_mechanism():
    """A pose in which the closure of one cut holds has the closures of all others hold."""
    open_model = slider_crank(cut=["D"])
    poses = poses_of(open_model, random_q(open_model, np.random.default_rng(2)))
    R, p = poses["slider"]
    turn = np.linalg.inv(R)  # the ground is where the slider wants it: turn everything about it
    poses = {name: (turn @ E, turn @ (r - p)) if name != "ground" else (E, r) for name, (E, r) in poses.items()}
    for name in "BCD":
        np.testing.assert_allclose(values(open_model.joint(name).closure(), poses), 0.0, atol=1e-13)
    assert np.abs(values(open_model.joint("A").closure(), poses)).max() > 1e-2


def test_welds_are_kept_and_balls_and_many_coordinates_are_cut():
    a, b = bodies("ab")

    def cut(*joints):
        return mg.Model("m", [a, b], joints).cut

    first = mg.Revolute("r", "ground", "a")
    assert cut(first, mg.Revolute("s", "a", "b"), mg.Fixed("w", "ground", "b")) == ("s",)
    assert cut(mg.Cardan("c", "ground", "a"), mg.Revolute("s", "a", "b"), mg.Revolute("t", "ground", "b")) == ("c",)
    assert cut(first, mg.Spherical("ball", "a", "b"), mg.Planar("p", "ground", "b")) == ("ball",)
    assert cut(first, mg.Cylindrical("c", "a", "b"), mg.Planar("p", "ground", "b")) == ("p",)


def test_the_order_of_the_list_is_kept_as_far_as_parents_come_first():
    a, b, c = bodies("abc")
    loop = [mg.Revolute("2", "a", "b"), mg.Revolute("3", "ground", "c"), mg.Revolute("1", "ground", "a"),
            mg.Spherical("4", "b", "c")]  # fmt: skip
    assert mg.Model("m", [a, b, c], loop).q_names == ("3", "1", "2")
    listed = [loop[k] for k in (1, 2, 3, 0)]
    assert mg.Model("m", [a, b, c], listed).q_names == ("3", "1", "2")
    assert mg.Model("m", [a, b, c], [loop[k] for k in (2, 1, 0, 3)]).q_names == ("1", "3", "2")


def test_two_loops_are_cut_twice():
    a, b = bodies("ab")
    pins = [mg.Revolute(name, "ground", body) for name, body in (("1", "a"), ("2", "a"), ("3", "b"))]
    model = mg.Model("m", [a, b], [*pins, mg.Revolute("4", "a", "b")])
    assert model.cut == ("2", "4")
    assert [joint.name for joint in model.tree_joints] == ["1", "3"]


# ---- what is said about loops


@pytest.mark.parametrize(
    ("cut", "error", "texts"),
    [
        ([], errors.ClosedLoopError, ("cut = []", "'h4'", "cut=['h4']")),
        (["h1", "h2"], errors.ClosedLoopError, ("cut = ['h1', 'h2']", "'b'", "way to the ground")),
        ("h1", errors.ValueRangeError, ("string 'h1'", "['h1']")),
        (["h9"], errors.UnknownNameError, ("cut", "'h9'", "Known: h0, h1, h2, h3, h4")),
        (["h1", "h1"], errors.DuplicateNameError, ("'h1' twice",)),
    ],
)
def test_a_wrong_cut_is_reported(cut, error, texts):
    with pytest.raises(error) as caught:
        five_bar(cut=cut)
    assert type(caught.value) is error
    for text in texts:
        assert text in str(caught.value)


def test_a_tree_cannot_be_cut():
    with pytest.raises(errors.ClosedLoopError, match=r"cut = \['r'\] leaves 'a' without a way to the ground"):
        mg.Model("m", bodies("a"), [mg.Revolute("r", "ground", "a")], cut=["r"])
    assert mg.Model("m", bodies("a"), [mg.Revolute("r", "ground", "a")], cut=[]).cut == ()


def test_a_floating_joint_in_a_loop_is_refused_unless_others_are_cut():
    joints = [mg.Floating("f", "ground", "a"), mg.Revolute("r", "ground", "a")]
    with pytest.raises(errors.ClosedLoopError, match=r"'f' \(number 1\) is a Floating in a closed loop"):
        mg.Model("m", bodies("a"), joints)
    assert mg.Model("m", bodies("a"), joints, cut=["r"]).n_v == 6


def test_a_loop_away_from_the_ground_is_disconnected():
    joints = [mg.Revolute("1", "a", "b"), mg.Revolute("2", "a", "b"), mg.Revolute("3", "ground", "c")]
    with pytest.raises(errors.DisconnectedError, match=r"body 'a' \(number 1\).*no chain of joints"):
        mg.Model("m", bodies("abc"), joints)


def test_a_cut_joint_has_no_coordinates():
    model = five_bar()
    for ask in (model.q_slice, model.v_slice, model.tree_joint):
        with pytest.raises(errors.ClosedLoopError, match=r"'h4' closes a loop and is cut.*h0, h1, h2, h3"):
            ask("h4")
    with pytest.raises(errors.ClosedLoopError, match="'h4'"):
        mg.joint_reactions(model.open_tree(), model.neutral(), joints=["h4"])


def test_describe_tells_cut_and_reversed_joints():
    text = slider_crank().describe()
    assert "joints 4, 1 of them cut" in text
    assert "velocities n_v = 4" in text
    assert "Cardan, reversed" in text
    assert "cut: B (Spherical, crank - rod)" in text
    assert "cut" not in five_bar_tree().describe()
    assert "mobility n_v = 4" in five_bar_tree().describe()


def five_bar_tree():
    model = five_bar()
    return mg.Model("tree", model.bodies, model.joints[:4])


# ---- numbers, files, copies


def test_numbers_of_a_cut_joint_are_parameters_that_move_its_closure_only():
    model = slider_crank()
    paths = [p.path for p in model.parameters("B.*")]
    assert "B.origin.y" in paths
    moved = model.with_values({"B.origin.y": 0.09})
    assert moved.cut == ("B",)
    assert moved.cut_joints[0].origin[1] == 0.09
    assert np.array_equal(tree_of(moved).atoms_f, tree_of(model).atoms_f)
    q = random_q(model, np.random.default_rng(1))
    D = mg.inverse_dynamics_derivatives(model.open_tree(), q, wrt=["B.origin.y", "C.origin.x"])
    assert np.array_equal(D.by("B.origin.y"), np.zeros(4))
    assert np.abs(D.by("C.origin.x")).max() > 0.1


def test_a_variable_may_drive_numbers_of_both_sides_of_a_cut():
    model = slider_crank(variables=[mg.DesignVariable("r", ["B.origin.y", "A.origin.z"], 0.2)])
    assert model.cut_joints[0].origin[1] == model.tree_joints[0].origin[2] == 0.2
    assert model.with_values({"r": 0.3}).cut_joints[0].origin[1] == 0.3


@pytest.mark.parametrize("make", [five_bar, slider_crank, lambda: slider_crank(("slider", "rod"), cut=["C"])])
def test_loops_survive_files_pickles_and_dictionaries(make, tmp_path):
    model = make()
    mg.save_model(model, tmp_path / "loop.toml")
    copies = [mg.load_model(tmp_path / "loop.toml"), pickle.loads(pickle.dumps(model))]
    for copy in (*copies, mg.Model.from_dict(model.to_dict())):
        assert copy == model
        assert (copy.cut, copy.q_names) == (model.cut, model.q_names)
        assert copy.tree_joints == model.tree_joints
        assert np.array_equal(tree_of(copy).atoms_f, tree_of(model).atoms_f)
    assert model != make_other_cut(model)


def make_other_cut(model):
    other = next(name for name in model.joint_names if name not in model.cut)
    return mg.Model(model.name, model.bodies, model.joints, gravity=model.gravity, cut=[other])


def test_newton_euler_walks_the_tree_of_a_loop_model():
    model = slider_crank().open_tree()
    rng = np.random.default_rng(9)
    q, v, a = rng.normal(size=(3, 4))
    plain = mg.joint_reactions(model, q, v, a)
    other = mg.joint_reactions(model, q, v, a, method="newton-euler")
    assert plain.names == other.names == tuple(name for name in model.joint_names if name not in model.cut)
    assert relative_error(other.force, plain.force) < 1e-12
    assert relative_error(other.couple, plain.couple) < 1e-12
