"""Models from points and vectors: every joint found, loops cut, numbers in the frames of bodies."""

from __future__ import annotations

import numpy as np
import pytest
from drawings import AXES, PLACES, X, Y, Z, two_bodies
from loop_models import poses_of, random_q
from row_values import value
from scipy.spatial.transform import Rotation
from support.oracles import STEP, relative_error

import mechgrad as mg
from mechgrad.measures import Angle, Distance
from mechgrad.model.detection import InPlane, OnLine, Perpendicular
from mechgrad.model.joints.reversed import Reversed
from mechgrad.model.natural import NaturalBody, model_from_points
from mechgrad.model.quantities import UserCoordinate

# ---- every kind of joint


@pytest.mark.parametrize(
    ("ground", "moving", "relations", "kind", "name"),
    [
        ("P", "P Q", (), mg.Spherical, "P"),
        ("P ez", "P ez Q", (), mg.Revolute, "P"),
        ("P T", "P T Q", (), mg.Revolute, "P"),
        ("P T ey", "P T ey", (), mg.Revolute, "P"),
        ("P ex", "P ey Q", (Perpendicular("ey", "ex"),), mg.Cardan, "P"),
        ("P ex", "P ey Q", (Perpendicular("ey", "ex", at="P", name="fork"),), mg.Cardan, "fork"),
        ("O ex", "P ex Q", (OnLine("P", "O", "ex"),), mg.Cylindrical, "ex"),
        ("O ex ey", "P ex ey", (OnLine("P", "O", "ex"),), mg.Prismatic, "ex"),
        ("O ex ey ez", "P ey ez", (OnLine("O", "P", "ex"),), mg.Prismatic, "O-P"),
        ("O ez", "P ez Q", (InPlane("P", "O", "ez"),), mg.Planar, "ez"),
        ("O P T", "O P T", (), mg.Fixed, "O"),
        ("P ez ex", "P ez ex", (), mg.Fixed, "P"),
        ("P T ex", "P T ex", (), mg.Fixed, "P"),
        ("O", "P Q", (), mg.Floating, "free: body"),
    ],
)
def test_every_joint_is_found(ground, moving, relations, kind, name):
    drawing = two_bodies(ground, moving, *relations)
    (joint,) = drawing.model.joints
    assert (type(joint), joint.name, joint.parent, joint.child) == (kind, name, "ground", "body")
    assert drawing.model.constraints == ()
    assert f"{name}: {kind.__name__}, ground - body; " in drawing.report
    # the drawing is where all coordinates are zero, and shared points and vectors stay together
    motion = mg.kinematics.marker_motion(drawing.model, list(drawing.markers.values()), drawing.model.neutral())
    wanted = [PLACES[word] if word in PLACES else AXES[word] for word, _ in drawing.markers]
    np.testing.assert_allclose(motion.position, wanted, atol=1e-15)
    q = random_q(drawing.model, np.random.default_rng(1))
    shared = set(ground.split()) & set(moving.split())
    for word in shared:
        both = mg.kinematics.marker_motion(drawing.model, [f"{word}@ground", f"{word}@body"], q).position
        np.testing.assert_allclose(both[0], both[1], atol=1e-14)
    for relation in relations:
        poses = poses_of(drawing.model, q)
        at = {}
        for (word, body), marker in drawing.markers.items():
            R, p = poses[body]
            at.setdefault(word, R @ drawing.model.marker(marker).local + (p if word in PLACES else 0.0))
        if isinstance(relation, Perpendicular):
            assert abs(at[relation.vector_a] @ at[relation.vector_b]) < 1e-14
        else:
            arm, w = at[relation.point_a] - at[relation.point_b], at[relation.vector]
            off = arm @ w if isinstance(relation, InPlane) else np.cross(arm, w)
            assert np.abs(off).max() < 1e-14
            assert np.linalg.norm(arm) > 0.01


def test_the_point_of_the_child_moves_in_the_plane():
    model = two_bodies("O ez", "P ez Q", InPlane("O", "P", "ez")).model
    np.testing.assert_allclose(
        mg.kinematics.marker_motion(model, ["P"], [0.1, 0.2, 0.7]).position[0], (0.6, 0.2, 0), atol=1e-15
    )


def test_planar_mechanisms_need_points_only():
    hinge = two_bodies("P", "P Q", planar=True).model
    assert hinge.joints == (mg.Revolute("P", "ground", "body", (0.5, 0, 0)),)
    assert two_bodies("P T", "P T", planar=True).model.n_v == 0
    slide = two_bodies("O ex", "P ex", OnLine("O", "P", "ex"), planar=(0, 0, 3)).model
    assert [type(joint) for joint in slide.joints] == [mg.Prismatic]
    free = two_bodies("O", "P Q", planar=(0, -2, 0)).model
    assert type(free.joints[0]) is mg.Planar
    np.testing.assert_array_equal(free.joints[0].normal, (0, -1, 0))
    # a vector along the normal says nothing new, and holds nothing together
    assert two_bodies("O ez", "P ez Q", planar=True).model.constraints == ()


def test_what_makes_no_joint_becomes_a_constraint():
    drawing = two_bodies(
        "O T ex ez",
        "P Q ey ex",
        Perpendicular("ez", "ey"),
        OnLine("O", "P", "ex", name="rail"),
        InPlane("O", "P", "ez"),
        mg.constraints.FixedDistance("rope", "T", "Q", 1.0),
    )
    assert [type(joint) for joint in drawing.model.joints] == [mg.Cylindrical]
    assert drawing.model.joint_names == ("rail",)
    kinds = {item.name: type(item) for item in drawing.model.constraints}
    assert kinds == {
        "ez across ey": mg.constraints.DotProduct,
        "P in plane of O": mg.constraints.PointInPlane,
        "rope": mg.constraints.FixedDistance,
    }
    assert drawing.model.constraint("P in plane of O") == mg.constraints.PointInPlane("P in plane of O", "P", "O", "ez")
    loose = two_bodies("O T ex", "P Q ex ez", InPlane("O", "P", "ez"))
    assert loose.model.n_v == 6
    same = loose.model.constraint("ex: ground-body")
    assert same == mg.constraints.SameVector("ex: ground-body", "ex@ground", "ex@body")
    assert "ex: ground-body: constraint SameVector" in loose.report


def test_names_of_shared_points_in_forces_and_constraints():
    drawing = two_bodies(
        "P",
        "P Q",
        mg.constraints.FixedDistance("rope", "P@body", "Q", 0.4),
        mg.constraints.FixedDistance("plain", "P", "Q", 0.4),
        forces=[
            mg.forces.SpringDamper("spring", "P@ground", "Q", 10.0),
            mg.forces.UserForce("own", [mg.measures.Distance("P@ground", "Q")], lambda t, g, gd: g),
        ],
    )
    spring, own = drawing.model.forces
    assert (spring.point_a, spring.point_b) == ("P@ground", "Q")
    assert own.measures == (mg.measures.Distance("P@ground", "Q"),)
    assert drawing.model.constraint("rope").point_a == "P@body"
    assert drawing.model.constraint("plain").point_a == "P@ground"
    assert (drawing.marker("P"), drawing.marker("P", "body"), drawing.marker("Q")) == ("P@ground", "P@body", "Q")


# ---- loops


FIVE = {"A": (0, 0, 0), "B": (-0.2, 0, 0.5), "C": (0.4, 0, 1.1), "D": (1.2, 0, 0.6), "E": (1, 0, 0)}


@pytest.mark.parametrize("shared", [True, False])
def test_a_five_bar_of_points(shared):
    """With the hinges' direction in every body, or drawn as a plane mechanism."""
    bars = [
        NaturalBody(f"{a}{b}", [a, b], ["k"] * shared, mass=1, com=(a, b, 0.5)) for a, b in ("AB", "BC", "CD", "DE")
    ]
    ground = NaturalBody("ground", ["A", "E"], ["k"] * shared)
    options = {"vectors": {"k": (0, 2, 0)}} if shared else {"planar": (0, 2, 0)}
    model = model_from_points("five-bar", FIVE, [*bars, ground], **options).model
    assert {type(joint) for joint in model.joints} == {mg.Revolute}
    assert sorted(model.joint_names) == list("ABCDE")
    assert model.n_q == model.n_v == 4
    assert model.cut == (model.joint_names[-1],)
    assert not any(isinstance(joint, Reversed) for joint in model.tree_joints)
    assert len(model.cut_joints[0].closure()) == 5
    poses = poses_of(model, model.neutral())
    assert [abs(value(row, poses)) < 1e-15 for row in model.cut_joints[0].closure()] == [True] * 5
    assert model_from_points("five-bar", FIVE, [*bars, ground], cut=["E"], **options).model.q_names == tuple("ABCD")


CRANK = {"A": (0, 0.1, 0.12), "B": (0, 0.1, 0.2), "C": (0.2, 0, 0), "D": (0.25, 0, 0), "O": (0, 0, 0)}
ROD = np.subtract(CRANK["C"], CRANK["B"])


def slider_crank(**options):
    """The spatial slider-crank: hinge at A, ball at B, Cardan joint at C, slide along ex."""
    bodies = [
        NaturalBody("ground", ["A", "O"], ["ax", "ex", "ey"]),
        NaturalBody("crank", ["A", "B"], ["ax"], mass=0.12, com=("A", "B", 0.5), inertia=(1e-4,) * 3),
        NaturalBody("rod", ["B", "C"], ["fork"], mass=0.5, com=("B", "C", 0.5), inertia=(4e-3,) * 3),
        NaturalBody("slider", ["C", "D"], ["ex", "ey"], mass=2.0, com=("C", "D", 0.5), inertia=(1e-4,) * 3),
    ]
    vectors = {"ax": X, "ex": X, "ey": Y, "fork": np.cross(X, ROD)}
    relations = [Perpendicular("ex", "fork"), OnLine("C", "O", "ex", name="guide")]
    return model_from_points("slider-crank", CRANK, bodies, vectors=vectors, constraints=relations, **options)


def test_a_slider_crank_of_points_is_cut_at_its_ball():
    model = slider_crank().model
    kinds = {joint.name: type(joint) for joint in model.joints}
    assert kinds == {"A": mg.Revolute, "B": mg.Spherical, "C": mg.Cardan, "guide": mg.Prismatic}
    assert (model.cut, model.n_q, len(model.cut_joints[0].closure())) == (("B",), 4, 3)
    # the tree comes from the slider, whose axis is then the first
    fork = model.joint("C")
    assert (fork.parent, fork.child) == ("slider", "rod")
    np.testing.assert_allclose([fork.axis1, fork.axis2], [X, np.cross(X, ROD) / np.sqrt(0.05)], atol=1e-15)
    assert "  B: Spherical, crank - rod, cut; share the point 'B'" in slider_crank().report
    assert "'fork' and 'ex' are perpendicular" in slider_crank().report


@pytest.mark.parametrize(("cut", "n_q", "rows"), [("A", 7, 5), ("B", 4, 3), ("C", 6, 4), ("guide", 7, 5)])
def test_a_slider_crank_of_points_can_be_cut_anywhere(cut, n_q, rows):
    model = slider_crank(cut=[cut]).model
    assert (model.n_q, len(model.joint(cut).closure())) == (n_q, rows)
    assert not any(isinstance(joint, Reversed) for joint in model.tree_joints)
    poses = poses_of(model, model.neutral())
    assert max(abs(value(row, poses)) for row in model.joint(cut).closure()) < 1e-15
    # the mobility is one: rows less coordinates, here and at the other cuts
    assert model.n_v - rows == 1


@pytest.mark.parametrize(("at", "cardan", "ball"), [("B", "B", "C"), ("C", "C", "B")])
def test_the_place_of_a_cardan_joint_can_be_told(at, cardan, ball):
    """With one vector for shaft and guide, the fork is perpendicular to it at either end of the rod."""
    bodies = [NaturalBody("ground", ["A", "O"], ["ex", "ey"]), NaturalBody("crank", ["A", "B"], ["ex"]),
              NaturalBody("rod", ["B", "C"], ["fork"]), NaturalBody("slider", ["C", "D"], ["ex", "ey"])]  # fmt: skip
    relations = [Perpendicular("ex", "fork", at=at), OnLine("C", "O", "ex", name="guide")]
    vectors = {"ex": X, "ey": Y, "fork": np.cross(X, ROD)}
    model = model_from_points("slider-crank", CRANK, bodies, vectors=vectors, constraints=relations).model
    assert type(model.joint(cardan)) is mg.Cardan
    assert type(model.joint(ball)) is mg.Spherical
    assert (model.cut, model.constraints) == ((ball,), ())


def test_a_name_of_many_bodies_makes_no_more_joints_than_it_takes():
    bars = [NaturalBody(name, ["O", end], ["ez"], mass=1) for name, end in (("a", "P"), ("b", "Q"), ("c", "T"))]
    model = model_from_points("star", PLACES, bars, vectors={"ez": Z}, free=["b"]).model
    assert [type(joint) for joint in model.tree_joints] == [mg.Floating, mg.Revolute, mg.Revolute]
    assert model.cut == ()
    assert model.joint_names == ("free: b", "O: a-b", "O: a-c")
    # the closest connection comes first: the hinge of b and c, then one ball
    bars = [NaturalBody("a", ["O"]), NaturalBody("b", ["O"], ["ez"]), NaturalBody("c", ["O"], ["ez"])]
    model = model_from_points("star", {"O": (0, 0, 0)}, bars, vectors={"ez": Z}).model
    assert {joint.name: type(joint) for joint in model.joints} == {
        "free: a": mg.Floating, "O: a-b": mg.Spherical, "O: b-c": mg.Revolute
    }  # fmt: skip


def test_directions_kept_by_a_chain_of_slides_need_no_joint_of_their_own():
    points = {"O": (0, 0, 0), "P": (0.4, 0, 0), "Q": (0.4, 0.3, 0)}
    stages = [NaturalBody("ground", ["O"], ["ex", "ey"]), NaturalBody("first", ["P"], ["ex", "ey"]),
              NaturalBody("second", ["Q"], ["ex", "ey"])]  # fmt: skip
    rails = [OnLine("P", "O", "ex"), OnLine("Q", "P", "ey")]
    model = model_from_points("table", points, stages, vectors={"ex": X, "ey": Y}, constraints=rails).model
    assert model.q_names == ("ex", "ey")
    assert model.constraints == ()


# ---- numbers


def tree_of_points(turn=None, shift=(0, 0, 0)):
    """A tree in space with frames given by names, turned and shifted as a whole."""
    R = np.eye(3) if turn is None else turn.as_matrix()
    points = {"O": (0, 0, 0), "A": (0.3, 0.1, -0.9), "B": (0.5, 0.9, -1.4), "G": (0.35, 0.5, -1.2), "H": (1, 1, 0),
              "K": (0.9, 0.7, -1.1), "L": (0.2, -0.6, -1.3), "M": (1.1, 0.4, -1), "N": (0.5, -0.2, -1.4)}  # fmt: skip
    vectors = {"h": (0.2, 1, 0), "u": (1, 1, 0), "w": (1, -1, 2), "s": (0.3, 0.1, -1), "n": (0, 1, 4)}
    J = np.diag([0.05, 0.06, 0.07]) + 0.01
    turned = R @ J @ R.T
    bodies = [
        NaturalBody("ground", ["O"], ["h"]),
        NaturalBody("upper", ["O", "A", "H", "L"], ["h", "u", "n"], 2, ("O", "A", 0.4), turned, frame=("A", "O", "H")),
        NaturalBody("lower", ["A", "B", "G"], ["w", "s"], 1.5, "G", 2 * J, "frame", ("A", "w", "G")),
        NaturalBody("tip", ["B", "K"], ["s"], 0.7, R @ (0.6, 1, -1.3) + shift, turned, frame=("B", "s", "K")),
        NaturalBody("tool", ["K", "M"], mass=0.3, com="M", inertia=turned),
        NaturalBody("pad", ["N"], ["n"], mass=0.2, com=R @ (0, 0, -1) + shift, inertia=turned),
    ]
    return model_from_points(
        "turned",
        {name: R @ np.array(x, float) + shift for name, x in points.items()},
        bodies,
        vectors={name: R @ np.array(u, float) for name, u in vectors.items()},
        constraints=[Perpendicular("u", "w"), InPlane("N", "L", "n")],
        gravity=R @ (1.0, -2.0, -9.0),
    ).model


def test_a_double_pendulum_of_points_is_the_one_written_by_hand():
    points = {"O": (0, 0, 2), "A": (0.6, 0, 1.2), "B": (0.6, 0.1, 0.3)}
    J = np.diag([0.05, 0.06, 0.07]) + 0.01
    drawn = model_from_points(
        "drawn",
        points,
        [
            NaturalBody("ground", ["O"], ["y"]),
            NaturalBody("upper", ["O", "A"], ["y", "u"], mass=2.0, com=("O", "A", 0.25), inertia=J),
            NaturalBody("lower", ["A", "B"], ["w"], mass=1.5, com=(0.6, 0.05, 0.7), inertia=(0.1, 0.1, 0.02)),
        ],
        vectors={"y": (0, 3, 0), "u": (1, 0, 1), "w": (1, 1, -1)},
        constraints=[Perpendicular("u", "w")],
    ).model
    hand = mg.Model(
        "hand",
        [
            mg.Body("upper", 2.0, (0.15, 0, -0.2), J),
            mg.Body("lower", 1.5, (0, 0.05, -0.5), (0.1, 0.1, 0.02)),
        ],
        [
            mg.Revolute("O", "ground", "upper", (0, 0, 2), axis=(0, 1, 0)),
            mg.Cardan("A", "upper", "lower", (0.6, 0, -0.8), axis1=(1, 0, 1), axis2=(1, 1, -1)),
        ],
    )
    assert drawn.q_names == hand.q_names == ("O", "A.angle1", "A.angle2")
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, 8, 3))
    M, tau = mg.mass_matrix(hand, q).dense(), mg.inverse_dynamics(hand, q, v, a)
    assert np.abs(tau).max() > 10
    assert relative_error(mg.mass_matrix(drawn, q).dense(), M) < 1e-12
    assert relative_error(mg.inverse_dynamics(drawn, q, v, a), tau) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_generalized_forces_do_not_depend_on_where_the_drawing_lies(seed):
    rng = np.random.default_rng(seed)
    still, moved = tree_of_points(), tree_of_points(Rotation.random(random_state=rng), rng.normal(size=3))
    kinds = {joint.name: type(joint) for joint in still.joints}
    assert kinds == {"O": mg.Revolute, "A": mg.Cardan, "B": mg.Revolute, "K": mg.Spherical, "n": mg.Planar}
    q = np.array([random_q(still, rng) for _ in range(5)])
    v, a = rng.normal(size=(2, 5, still.n_v))
    tau = mg.inverse_dynamics(still, q, v, a)
    assert (np.abs(tau).max(axis=0) > 0.1).all()
    assert relative_error(mg.inverse_dynamics(moved, q, v, a), tau) < 1e-12


def test_complex_numbers_travel_through_the_drawing():
    def torque(x):
        points = {"O": (0, 0, 0), "A": (x, 0.1, -0.9), "B": (0.5, 0.9, -1.4), "S": (1, 1, 0)}
        bodies = [
            NaturalBody("ground", ["O"], ["h"]),
            NaturalBody("upper", ["O", "A"], ["h"], mass=2, com=("O", "A", 0.4)),
            NaturalBody("lower", ["A", "B", "S"], [], 1, ("A", "B", 0.5), (0.1, 0.2, 0.25), "frame", ("B", "A", "S")),
        ]
        model = model_from_points("m", points, bodies, vectors={"h": (0.2, 1, 0)}).model
        q = model.integrate(model.neutral(), [0.3, 0.2, -0.4, 0.5])
        return mg.inverse_dynamics(model, q, [1.0, -0.5, 0.3, 0.7], [0.2, 0.4, -0.6, 0.8])

    exact = torque(0.3 + 1j * STEP).imag / STEP
    h = 1e-5
    assert np.abs(exact).max() > 1
    # h^2 f''' and eps / h are below 1e-9 for numbers of size 10
    np.testing.assert_allclose(exact, (torque(0.3 + h) - torque(0.3 - h)) / (2 * h), atol=1e-8)


# ---- distances and angles of the user


def test_distances_and_angles_that_are_coordinates_are_recognised():
    drawing = two_bodies(
        "O ex ey",
        "P ex ey Q",
        OnLine("P", "O", "ex"),
        Distance("O", "P", name="stroke"),
        Distance("O", "Q", name="diagonal"),
    )
    assert drawing.coordinates == {"stroke": "ex"}
    assert drawing.identified["stroke"] == UserCoordinate("ex", 1.0, 0.5)
    assert "stroke = 0.5 + coordinate 'ex'" in drawing.report
    assert "diagonal: measured" in drawing.report
    assert two_bodies("O P", "P Q", Distance("O", "Q", name="d")).coordinates == {}
    poses = poses_of(drawing.model, [0.3])
    assert value(drawing.rows["stroke"], poses, {"ex": 0.3}) == pytest.approx(0.8, abs=1e-15)
    assert value(drawing.rows["diagonal"], poses) == pytest.approx(np.hypot(np.hypot(0.5, 0.3), 0.1), abs=1e-15)


@pytest.mark.parametrize(
    ("quantity", "wanted"),
    [
        (Angle("ex", "bar", "k", name="t"), ("pin", 1.0)),
        (Angle("bar", "ex", "k", name="t"), ("pin", -1.0)),
        (Angle("bar", "ex", "down", name="t"), ("pin", 1.0)),
        (Angle("tilted", "bar", "k", name="t"), ("pin", 1.0)),
        (Angle("back", "bar", "k", name="t"), ("pin", 1.0)),  # beyond half a turn
        (Angle("tilted", "leaning", "k", name="t"), None),
        (Distance("O", "Q", name="t"), None),
    ],
)
def test_angles_are_recognised_with_their_sense(quantity, wanted):
    points = {"pin": (0.1, 0, 0), "Q": (1, 0.5, 0), "O": (0, 0, 0)}
    drawing = model_from_points(
        "hinge",
        points,
        [
            NaturalBody("ground", ["pin", "O"], ["k", "ex", "tilted", "down", "back"]),
            NaturalBody("arm", ["pin", "Q"], ["k", "bar", "leaning"]),
        ],
        vectors={
            "k": Z,
            "ex": X,
            "tilted": (1, 0, 0.5),
            "down": -Z,
            "back": (1, 0.6, 0),
            "bar": (-1, -0.5, 0),
            "leaning": (0, 1, 1),
        },
        constraints=[quantity],
    )
    assert drawing.coordinates == ({} if wanted is None else {"t": "pin"})
    if wanted is not None:
        assert drawing.identified["t"].sign == wanted[1]
    q = np.array([0.7])
    measured = value(drawing.rows["t"], poses_of(drawing.model, q), {"pin": q[0]})
    direct = {
        "ex": X,
        "k": Z,
        "down": -Z,
        "tilted": np.array([1, 0, 0.5]) / np.sqrt(1.25),
        "back": np.array([1, 0.6, 0]),
    }
    R = Rotation.from_rotvec(q[0] * Z)
    direct["bar"] = R.apply(np.array([-1, -0.5, 0]) / np.sqrt(1.25))
    direct["leaning"] = R.apply(np.array([0, 1, 1]) / np.sqrt(2))
    if isinstance(quantity, Angle):
        u, w, axis = (direct[name] for name in (quantity.vector_a, quantity.vector_b, quantity.axis))
        gap = measured - np.arctan2(axis @ np.cross(u, w), u @ w)
        assert abs(np.remainder(gap + np.pi, 2 * np.pi) - np.pi) < 1e-14
    else:
        tip = R.apply(np.subtract(points["Q"], points["pin"])) + points["pin"]
        assert measured == pytest.approx(np.linalg.norm(tip), abs=1e-15)


def test_both_angles_of_a_cardan_joint_are_recognised_and_cut_joints_have_none():
    points = {"C": (0, 0, 0), "D": (0, 0, 1)}
    bodies = [NaturalBody("ground", ["C"], ["a", "c"]), NaturalBody("shaft", ["C", "D"], ["b", "d"])]
    vectors = {"a": X, "b": Y, "c": (0, 1, 1), "d": (1, 0, 1)}
    asked = [Perpendicular("a", "b"), Angle("c", "b", "a", name="first"), Angle("a", "d", "b", name="second")]
    drawing = model_from_points("shaft", points, bodies, vectors=vectors, constraints=asked)
    assert drawing.coordinates == {"first": "C.angle1", "second": "C.angle2"}
    assert drawing.identified["first"].offset == pytest.approx(-np.pi / 4, abs=1e-15)
    bars = [NaturalBody(f"{a}{b}", [a, b], [f"u{b}"]) for a, b in ("AB", "BC", "CD", "DE")]
    vectors = {f"u{b}": np.subtract(FIVE[b], FIVE[a]) for a, b in ("AB", "BC", "CD", "DE")}
    vectors |= {"x": X, "k": Y}
    ground, asked = NaturalBody("ground", ["A", "E"], ["x", "k"]), [Angle("x", f"u{b}", "k", name=b) for b in "BE"]
    for cut, wanted in (("D", {"B": "A", "E": "E"}), ("A", {"E": "E"}), ("E", {"B": "A"})):
        drawing = model_from_points(
            "five", FIVE, [ground, *bars], vectors=vectors, constraints=asked, planar=Y, cut=[cut]
        )
        assert drawing.coordinates == wanted
