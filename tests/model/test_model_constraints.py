import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from row_values import BODIES, CONSTRAINTS, model_with, random_poses, random_twists, rate, value, velocity
from scipy.spatial.transform import Rotation
from support.printed import named

import mechgrad as mg
from mechgrad.errors import ModelError, UnknownNameError, ValueRangeError
from mechgrad.model import CONSTRAINT_TYPES
from mechgrad.model.primitives.attached import places
from mechgrad.model.primitives.rows import FIRST_RATE_KIND

MODEL = model_with()
WHERE = places(MODEL)


@pytest.fixture
def poses():
    return random_poses(np.random.default_rng(5), BODIES)


def at(name, poses):
    """A marker in the world."""
    place = WHERE(name)
    rotation, origin = poses[place.body]
    return rotation @ place.local + (origin if place.is_point else 0.0)


def residual(constraint, poses, q=None, t=0.0):
    return np.array([value(row, poses, q, t) for row in constraint.rows(WHERE) if row.kind < FIRST_RATE_KIND])


def test_the_list_of_examples_is_complete():
    assert {type(c) for c in CONSTRAINTS} == set(CONSTRAINT_TYPES.values())
    assert {c.type_name: type(c) for c in CONSTRAINTS} == CONSTRAINT_TYPES


def test_markers_resolve_to_places():
    assert_allclose(WHERE("arm.com").local, MODEL.body("arm").com)
    assert_allclose(WHERE("up").local, np.array([0.1, -0.2, 1.5]) / np.sqrt(0.01 + 0.04 + 2.25))
    assert WHERE("up") is WHERE("up")
    assert (WHERE("ground.origin").body, WHERE("ground.origin").is_point) == ("ground", True)


def test_points_and_distances(poses):
    a, b = at("on cart", poses), at("on ball", poses)
    assert_allclose(
        residual(mg.constraints.FixedDistance("c", "on cart", "on ball", 0.9), poses), [np.linalg.norm(a - b) - 0.9]
    )
    assert_allclose(residual(mg.constraints.SamePoint("c", "on cart", "on ball"), poses), a - b)
    height = at("up", poses) @ (b - at("spot", poses))
    assert_allclose(residual(mg.constraints.PointInPlane("c", "on ball", "spot", "up", 0.2), poses), [height - 0.2])
    off = residual(mg.constraints.PointOnLine("c", "on ball", "on cart", "cart axis"), poses)
    assert_allclose(np.linalg.norm(off), np.linalg.norm(np.cross(at("cart axis", poses), b - a)))


@pytest.mark.parametrize("cls", [mg.constraints.Parallel, mg.constraints.SameVector])
def test_parallel_rows_measure_the_cross_product(poses, cls):
    rows = residual(cls("c", "cart axis", "arm axis"), poses)
    assert rows.shape == (2,)
    assert_allclose(np.linalg.norm(rows), np.linalg.norm(np.cross(at("cart axis", poses), at("arm axis", poses))))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_parallel_holds_for_both_ways_round(poses, sign):
    turn, _ = Rotation.align_vectors([sign * at("cart axis", poses)], [WHERE("arm axis").local])
    poses["arm"] = (turn.as_matrix(), np.zeros(3))
    assert_allclose(residual(mg.constraints.Parallel("c", "cart axis", "arm axis"), poses), 0.0, atol=1e-14)


def test_dot_product_is_the_cosine(poses):
    cosine = at("cart axis", poses) @ at("arm axis", poses)
    assert_allclose(residual(mg.constraints.DotProduct("c", "cart axis", "arm axis", 0.3), poses), [cosine - 0.3])


@pytest.mark.parametrize("angle", [0.4, 2.9, -1.3])
def test_angle_is_right_handed_from_a_to_b(angle):
    model = mg.Model(
        "two", [mg.Body("a"), mg.Body("b")], [mg.Floating("fa", "ground", "a"), mg.Floating("fb", "ground", "b")],
        vectors=[mg.Vector("ua", "a", (2, 0, 0)), mg.Vector("ub", "b", (3, 0, 0)), mg.Vector("w", "a", (0, 0, 5))],
    )  # fmt: skip
    base = Rotation.from_rotvec([0.3, -0.8, 0.5])
    poses = {
        "a": (base.as_matrix(), np.zeros(3)),
        "b": ((base * Rotation.from_rotvec([0, 0, angle])).as_matrix(), np.ones(3)),
    }
    (row,) = mg.constraints.AngleBetween("c", "ua", "ub", "w", angle=0.25).rows(places(model))
    assert_allclose(value(row, poses), angle - 0.25)
    (row,) = mg.constraints.AngleBetween("c", "ua", "ub", "w", angle=mg.functions.Polynomial((0, 0.5))).rows(
        places(model)
    )
    assert_allclose(value(row, poses, t=0.5), angle - 0.25)


def test_coordinates():
    q = {"slide": 0.3, "hinge": 0.7, "knee": -0.4}
    total = mg.constraints.LinearCombination("c", {"slide": 2.0, "knee": -1.0}, value=0.1)
    assert_allclose(residual(total, {}, q), [0.6 + 0.4 - 0.1])
    assert mg.constraints.LinearCombination("c", ["slide", "knee"], 0.1, [2.0, -1.0]) == total
    assert_allclose(residual(mg.constraints.Gear("c", "hinge", "knee", 1.5, 0.2), {}, q), [0.7 + 1.5 * 0.4 - 0.2])
    driver = mg.constraints.Driver("c", "hinge", mg.functions.Harmonic(0.5, 2.0))
    assert_allclose(residual(driver, {}, q, t=0.1), [0.7 - 0.5 * np.sin(0.4 * np.pi)])
    assert_allclose(residual(mg.constraints.Driver("c", "hinge", 0.1), {}, q), [0.6])
    turning = mg.constraints.Driver("c", "hinge", speed=2.0, start=0.3)
    assert_allclose(residual(turning, {}, q, t=0.1), [0.7 - 0.5])
    assert turning == mg.constraints.Driver("c", "hinge", mg.functions.Polynomial((0.3, 2.0)))
    assert_allclose(residual(mg.constraints.Driver("c", "hinge", speed=2.0), {}, q, t=0.1), [0.7 - 0.2])


def test_guided_point_guides_what_is_given(poses):
    x = at("on arm", poses)
    guided = mg.constraints.GuidedPoint("c", "on arm", x=0.3, z=mg.functions.Polynomial((0.1, 2.0)))
    assert_allclose(residual(guided, poses, t=0.5), [x[0] - 0.3, x[2] - 1.1])
    assert [row.label for row in guided.rows(WHERE)] == ["point x", "point z"]


def test_a_rolling_sphere_does_not_slip(poses):
    """On a moving plane: v = V_plane(c) + w_rel x (radius n) is rolling, anything along the plane more is slip."""
    rng = np.random.default_rng(8)
    rolling = mg.constraints.Rolling("c", "ball.origin", 0.3, "cart axis", contact=True, plane_point="on cart")
    n = at("cart axis", poses)
    x = at("on cart", poses) + 0.3 * n + np.cross(n, rng.normal(size=3))
    poses["ball"] = (poses["ball"][0], x)
    twists = random_twists(rng, BODIES)
    c, w = x - 0.3 * n, twists["ball"][0]
    slip = np.cross(n, rng.normal(size=3))
    assert_allclose(residual(rolling, poses), [0.0], atol=1e-14)
    for extra in (0.0, 1.0):
        twists["ball"] = (w, velocity(c, "cart", poses, twists) + 0.3 * np.cross(w, n) + extra * slip + 0.7 * n)
        rates = [rate(row, poses, twists) for row in rolling.rows(WHERE) if row.kind >= FIRST_RATE_KIND]
        assert_allclose(np.linalg.norm(rates), extra * np.linalg.norm(slip), atol=1e-14)


def test_a_wheel_touches_and_slips_at_its_lowest_point(poses):
    """Against the circle itself, searched for its lowest point."""
    rolling = mg.constraints.Rolling("c", "hub", 0.4, "up", kind="wheel", axis="axle", contact=True, plane_point="spot")
    w, n, x = at("axle", poses), at("up", poses), at("hub", poses)
    e1 = np.cross(w, n) / np.linalg.norm(np.cross(w, n))
    e2 = np.cross(w, e1)
    angles = np.linspace(0, 2 * np.pi, 200_001)
    circle = x + 0.4 * (np.cos(angles)[:, None] * e1 + np.sin(angles)[:, None] * e2)
    heights = (circle - at("spot", poses)) @ n
    lowest = circle[np.argmin(heights)]
    # the step of 3e-5 rad misses the minimum by its square, the point by itself
    assert_allclose(residual(rolling, poses), [heights.min()], atol=1e-8)
    twists = random_twists(np.random.default_rng(9), BODIES)
    v = velocity(lowest, "wheel", poses, twists)
    along, across = (rate(row, poses, twists) for row in rolling.rows(WHERE) if row.kind >= FIRST_RATE_KIND)
    assert_allclose([along, across], [v @ e1, v @ np.cross(n, e1)], atol=1e-3)
    assert np.abs([along, across]).min() > 0.05


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: c.name)
def test_labels_tell_rows_apart(constraint):
    labels = [row.label for row in constraint.rows(WHERE)]
    assert len(set(labels)) == len(labels)
    assert all(labels)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: c.name)
def test_constraints_equal_and_print(constraint):
    same = eval(named(repr(constraint)), {"mg": mg})
    # six digits are printed
    assert same == constraint
    assert hash(same) == hash(constraint)
    assert constraint not in [c for c in CONSTRAINTS if c is not constraint]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: mg.constraints.DotProduct("c", "up", "axle", 1.0),
            ValueRangeError,
            "constraint 'c': value = 1 is the cosine",
        ),
        (
            lambda: mg.constraints.FixedDistance("c", "hub", "spot", 0.0),
            ValueRangeError,
            "distance = 0 m must be positive",
        ),
        (
            lambda: mg.constraints.FixedDistance("c", "hub", "spot", "long"),
            ModelError,
            "constraint 'c': distance = 'long' must be",
        ),
        (lambda: mg.constraints.Gear("c", "hinge", "hinge", 2), ValueRangeError, "connects 'hinge' to itself"),
        (lambda: mg.constraints.GuidedPoint("c", "hub"), ValueRangeError, "guides nothing. Give x, y or z."),
        (lambda: mg.constraints.Rolling("c", "hub", -0.1, "up"), ValueRangeError, "radius = -0.1 must be positive"),
        (
            lambda: mg.constraints.Rolling("c", "hub", 0.1, "up", kind="wheel"),
            ValueRangeError,
            "Name the wheel's axis.",
        ),
        (lambda: mg.constraints.Rolling("c", "hub", 0.1, "up", axis="axle"), ValueRangeError, "say kind='wheel'"),
        (lambda: mg.constraints.Rolling("c", "hub", 0.1, "up", kind="weel"), UnknownNameError, "Did you mean 'wheel'?"),
        (lambda: mg.constraints.Rolling("c", "hub", 0.1, "up", contact=True), ValueRangeError, "Name a plane_point."),
        (lambda: mg.constraints.LinearCombination("c", "hinge"), ModelError, "a mapping coordinate -> factor"),
        (
            lambda: mg.constraints.LinearCombination("c", ["a", "b"], factors=[1]),
            ModelError,
            "2 coordinates but 1 factors",
        ),
        (lambda: mg.constraints.LinearCombination("c", ["a", "a"], factors=[1, 2]), ModelError, "named twice"),
        (lambda: mg.constraints.Driver("", "hinge", 0.0), ValueRangeError, "constraint name ''"),
        (lambda: mg.constraints.Driver("c", "hinge"), ValueRangeError, "nothing says how 'hinge' moves"),
        (lambda: mg.constraints.Driver("c", "hinge", start=1.0), ValueRangeError, "nothing says how 'hinge' moves"),
        (
            lambda: mg.constraints.Driver("c", "hinge", 0.1, speed=1.0),
            ValueRangeError,
            "a function and speed are given",
        ),
        (
            lambda: mg.constraints.Driver("c", "hinge", 0.1, start=1.0),
            ValueRangeError,
            "a function and start are given",
        ),
    ],
)
def test_errors_of_numbers(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("constraint", "error", "message"),
    [
        (
            mg.constraints.SamePoint("c", "hub", "on bal"),
            UnknownNameError,
            "constraint 'c': point_b: unknown point 'on bal'. Did",
        ),
        (
            mg.constraints.SamePoint("c", "hub", "up"),
            ValueRangeError,
            "point_b = 'up' is a vector, but a point is needed",
        ),
        (mg.constraints.SamePoint("c", "hub", 3), ModelError, "point_b = 3 must be the name of a point"),
        (
            mg.constraints.Parallel("c", "up", "hub"),
            ValueRangeError,
            "vector_b = 'hub' is a point, but a vector is needed",
        ),
        (mg.constraints.Driver("c", "hing", 0.0), UnknownNameError, "unknown coordinate 'hing'. Did you mean 'hinge'?"),
        (
            mg.constraints.Driver("c", "ball free.e0", 0.0),
            ValueRangeError,
            "is an Euler parameter, which is no coordinate",
        ),
        (
            mg.constraints.LinearCombination("c", {"slide": 1, "B.e0": 1}),
            ValueRangeError,
            "joint 'B' is cut to open a loop",
        ),
        (
            mg.constraints.PointInPlane("c", "hub", "spot", "axle"),
            ValueRangeError,
            "plane_point = 'spot' on 'ground', normal = ",
        ),
        (mg.constraints.PointOnLine("c", "hub", "spot", "axle"), ValueRangeError, "these must be on one body"),
        (
            mg.constraints.PointOnCurve("c", "hub", "spot", "up", "axle", 0.1),
            ValueRangeError,
            "these must be on one body",
        ),
        (mg.constraints.PointOnCurve("c", "hub", "spot", "up", "up", 0.1), ValueRangeError, "are parallel; a curve"),
        (mg.constraints.AngleBetween("c", "up", "axle", "cart axis"), ValueRangeError, "these must be on one body"),
        (
            mg.constraints.Rolling("c", "hub", 1, "up", kind="wheel", axis="cart axis"),
            ValueRangeError,
            "must be on one body",
        ),
        (mg.constraints.Rolling("c", "hub", 1, "up", plane_point="on cart"), ValueRangeError, "must be on one body"),
    ],
)
def test_errors_of_names(constraint, error, message):
    with pytest.raises(error, match=re.escape(message)):
        model_with([constraint])
