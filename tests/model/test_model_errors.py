"""Every way to describe a wrong mechanism: the right error, with the culprit's name and the number in its message."""

import numpy as np
import pytest

from mechgrad import errors
from mechgrad.model import (
    Body,
    Cardan,
    DenavitHartenberg,
    DesignVariable,
    DHRow,
    Fixed,
    Floating,
    Model,
    Planar,
    Point,
    Prismatic,
    Revolute,
    Vector,
    dh_model,
)

A, B, C = Body("A"), Body("B"), Body("C")


def raises(error, *texts):
    """Expect exactly this class, and all texts in the message."""

    class Context:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            assert kind is error, f"expected {error.__name__}, got {kind} {value}"
            assert issubclass(kind, errors.ModelError)
            for text in texts:
                assert text in str(value), f"{text!r} is not in: {value}"
            return True

    return Context()


# ---- names


def test_unknown_parent_lists_the_known_bodies_and_suggests_the_nearest():
    with raises(
        errors.UnknownNameError, "'hip'", "number 1", "'pelvs'", "Did you mean 'pelvis'?", "Known: ground, pelvis"
    ):
        Model("m", [Body("pelvis")], [Revolute("hip", "pelvs", "pelvis")])


def test_unknown_child_is_named_with_its_joint():
    with raises(errors.UnknownNameError, "joint 'hip'", "unknown child body 'leg'", "ground, A"):
        Model("m", [A], [Revolute("hip", "ground", "leg")])


def test_unknown_body_of_a_marker_is_named():
    with raises(errors.UnknownNameError, "point 'tip'", "'arm'", "ground, A"):
        Model("m", [A], [Fixed("f", "ground", "A")], [Point("tip", "arm")])
    with raises(errors.UnknownNameError, "vector 'up'", "'arm'", "ground, A"):
        Model("m", [A], [Fixed("f", "ground", "A")], vectors=[Vector("up", "arm", (0, 0, 1))])


def test_unknown_names_asked_from_a_model_are_keyerrors_with_a_plain_message():
    model = Model("m", [A], [Fixed("weld", "ground", "A")])
    with pytest.raises(KeyError) as caught:
        model.joint("wld")
    assert str(caught.value) == "model 'm': unknown joint 'wld'. Did you mean 'weld'? Known: weld."
    with raises(errors.UnknownNameError, "unknown body 'weld'", "Known: A"):
        model.body("weld")


def test_long_lists_of_known_names_are_cut():
    error = errors.unknown_name("body", "x", [f"b{i}" for i in range(100)])
    assert "b19" in str(error)
    assert "b20" not in str(error)
    assert "100 in all" in str(error)


@pytest.mark.parametrize(
    "parts",
    [
        {"bodies": [A, A], "joints": []},
        {"bodies": [A], "joints": [Fixed("A", "ground", "A")]},
        {"bodies": [A], "joints": [Fixed("f", "ground", "A")], "points": [Point("A", "ground")]},
        {"bodies": [A], "joints": [Fixed("f", "ground", "A")], "vectors": [Vector("A", "ground", (1, 0, 0))]},
        {"bodies": [A], "joints": [Fixed("f", "ground", "A")], "variables": [DesignVariable("A", "A.mass", 1)]},
    ],
)
def test_a_name_used_twice_is_reported_with_both_owners(parts):
    with raises(errors.DuplicateNameError, "'A'", "body number 1"):
        Model("m", **parts)


@pytest.mark.parametrize("name", ["ground", "gravity", "", " x", 3])
def test_reserved_and_unusable_names_are_refused(name):
    for make in (lambda: Body(name), lambda: Fixed(name, "ground", "A"), lambda: Point(name, "A")):
        with raises(errors.ValueRangeError, repr(name)):
            make()


def test_coordinates_of_two_joints_with_the_same_name_are_refused():
    with raises(errors.DuplicateNameError, "'k'", "'k.angle1'"):
        Model("m", [A, B], [Cardan("k", "ground", "A"), Revolute("k.angle1", "A", "B")])


def test_a_thing_in_the_wrong_list_is_refused_by_position():
    with raises(errors.ValueRangeError, "bodies[1]", "not a Body"):
        Model("m", [A, Fixed("f", "ground", "A")])


# ---- connections


def test_a_body_without_a_joint_is_disconnected():
    with raises(errors.DisconnectedError, "'B'", "number 2", "Fixed('B joint', 'ground', 'B')"):
        Model("m", [A, B], [Fixed("f", "ground", "A")])


def test_a_body_that_is_only_a_parent_is_disconnected():
    with raises(errors.DisconnectedError, "'B'", "number 2"):
        Model("m", [A, B], [Fixed("f", "B", "A")])


def test_two_bodies_that_are_each_others_parent_are_reported_as_a_loop():
    with raises(errors.LoopError, "A -> B -> A", "'a'", "'b'", "2 joints"):
        Model("m", [A, B], [Fixed("a", "B", "A"), Fixed("b", "A", "B")])


def test_a_loop_that_hangs_off_the_walk_is_reported_without_the_bodies_leading_to_it():
    joints = [Fixed("c", "A", "C"), Fixed("a", "B", "A"), Fixed("b", "A", "B")]
    with raises(errors.LoopError, "A -> B -> A", "2 joints"):
        Model("m", [A, B, C], joints)


def test_a_joint_of_a_body_with_itself_is_a_loop():
    with raises(errors.LoopError, "'self'", "number 1", "A -> A"):
        Model("m", [A], [Fixed("self", "A", "A")])


def test_a_loop_that_must_not_be_cut_says_which_joint_to_cut():
    joints = [Revolute("left", "ground", "A"), Revolute("right", "ground", "A")]
    assert Model("m", [A], joints).cut == ("right",)
    with raises(errors.ClosedLoopError, "cut = []", "closed by 'right'", "cut=['right']"):
        Model("m", [A], joints, cut=[])


def test_a_parent_that_comes_later_says_which_joint_to_move():
    joints = [Revolute("knee", "A", "B"), Revolute("hip", "ground", "A")]
    with raises(
        errors.ParentOrderError, "'knee' (number 1)", "'hip' (number 2)", "Move joint 'hip' before joint 'knee'"
    ):
        Model("m", [A, B], joints)


def test_the_ground_cannot_be_a_child():
    with raises(errors.ValueRangeError, "'f'", "number 1", "ground cannot be a child"):
        Model("m", [A], [Fixed("f", "A", "ground")])


def test_parent_must_be_a_name_and_not_a_body():
    with raises(errors.ValueRangeError, "'f'", "parent must be the name"):
        Fixed("f", A, "B")


# ---- numbers


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda x: Body("N", mass=x), "mass"),
        (lambda x: Body("N", com=(0, x, 0)), "com"),
        (lambda x: Body("N", inertia=(1, x, 1)), "inertia"),
        (lambda x: Revolute("N", "ground", "A", origin=(x, 0, 0)), "origin"),
        (lambda x: Revolute("N", "ground", "A", orientation=(x, 0, 0, 0)), "orientation"),
        (lambda x: Revolute("N", "ground", "A", child_origin=(x, 0, 0)), "child_origin"),
        (lambda x: Revolute("N", "ground", "A", axis=(x, 0, 0)), "axis"),
        (lambda x: DenavitHartenberg("N", "ground", "A", alpha=x), "alpha"),
        (lambda x: Point("N", "A", (x, 0, 0)), "position"),
        (lambda x: Vector("N", "A", (x, 0, 0)), "direction"),
        (lambda x: Model("N", gravity=(0, 0, x)), "gravity"),
        (lambda x: DesignVariable("N", "A.mass", x), "value"),
    ],
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, complex(0, np.nan)])
def test_numbers_that_are_not_finite_are_refused_by_name_and_field(make, field, bad):
    with raises(errors.NotFiniteError, "'N'", field, str(bad).strip("()j")[-3:]):
        make(bad)


@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (lambda: Body("N", mass=(1, 2)), ("mass", "(2,)")),
        (lambda: Body("N", mass="heavy"), ("mass", "'heavy'")),
        (lambda: Body("N", mass=None), ("mass", "None")),
        (lambda: Body("N", com=(0, 0)), ("com", "(3,)", "(2,)")),
        (lambda: Body("N", com=[[0, 0], [1]]), ("com",)),
        (lambda: Body("N", inertia=(1, 2)), ("inertia", "(2,)")),
        (lambda: Body("N", inertia=0.1), ("inertia", "0.1", "diagonal")),
        (lambda: Fixed("N", "ground", "A", origin=1.0), ("origin", "(3,)", "()")),
        (lambda: Fixed("N", "ground", "A", orientation=(0, 0, 0)), ("orientation", "(4,)", "(3,)")),
        (lambda: DenavitHartenberg("N", "ground", "A", theta=[0.0]), ("theta", "(1,)")),
        (lambda: Vector("N", "A", (1, 0)), ("direction", "(2,)")),
        (lambda: Model("N", gravity=9.81), ("gravity", "()")),
    ],
)
def test_wrong_shapes_are_refused_by_name_and_shape(make, texts):
    with raises(errors.ShapeError, "'N'", *texts):
        make()


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Revolute("N", "ground", "A", axis=(0, 0, 0)), "axis = (0, 0, 0)"),
        (lambda: Prismatic("N", "ground", "A", axis=np.zeros(3)), "axis = (0, 0, 0)"),
        (lambda: Cardan("N", "ground", "A", axis2=(0, 0, 0)), "axis2 = (0, 0, 0)"),
        (lambda: Planar("N", "ground", "A", normal=(0, 0, 0)), "normal = (0, 0, 0)"),
        (lambda: Floating("N", "ground", "A", orientation=(0, 0, 0, 0)), "orientation = (0, 0, 0, 0)"),
        (lambda: Vector("N", "A", (0, 0, 0)), "direction = (0, 0, 0)"),
        (lambda: Revolute("N", "ground", "A", axis=(1e-200, 0, 0)), "axis = (1e-200, 0, 0)"),
    ],
)
def test_axes_and_quaternions_of_length_zero_are_refused(make, field):
    with raises(errors.ZeroAxisError, "'N'", field, "length zero"):
        make()


def test_negative_mass_is_refused_with_its_value():
    with raises(errors.MassError, "'N'", "-2.5 kg"):
        Body("N", mass=-2.5)


def test_an_inertia_that_is_not_symmetric_is_refused_with_the_gap():
    with raises(errors.InertiaError, "'N'", "not symmetric", "0.25"):
        Body("N", 1, inertia=[[1, 0.25, 0], [0, 1, 0], [0, 0, 1]])


def test_an_inertia_that_is_not_positive_is_refused_with_its_moments():
    with raises(errors.InertiaError, "'N'", "not positive", "-1, 3, 3"):
        Body("N", 1, inertia=[[1, 2, 0], [2, 1, 0], [0, 0, 3]])


def test_an_inertia_that_breaks_the_triangle_inequality_is_refused_with_the_excess():
    with raises(errors.InertiaError, "'N'", "1, 1, 2.5", "by 0.5"):
        Body("N", 1, inertia=(1, 2.5, 1))


@pytest.mark.parametrize("axis", range(3))
def test_a_planar_body_with_one_moment_is_told_what_to_write(axis):
    moment = 1 / 12 + 1e-7
    given = np.zeros(3)
    given[axis] = moment
    with pytest.raises(errors.InertiaError, match="about the others, which that motion does not depend on") as caught:
        Body("bar", 1.0, (0.5, 0, 0), given)
    assert f"in a plane across {'xyz'[axis]} and" in str(caught.value)
    # the numbers are those to write: copied from the message they make a body with this moment
    text = str(caught.value).split("inertia=(")[1].split(")")[0]
    written = [float(number) for number in text.split(", ")]
    assert written == [moment if k == axis else moment / 2 for k in range(3)]
    assert Body("bar", 1.0, (0.5, 0, 0), written).inertia[axis, axis] == moment


def test_other_impossible_inertias_are_not_taken_for_planar_ones():
    for inertia in ((0.1, 0, 1), [[1, 1, 0], [1, 1, 0], [0, 0, 0]]):
        with pytest.raises(errors.InertiaError, match="Check units"):
            Body("N", 1, inertia=inertia)


@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (lambda: Cardan("N", "ground", "A", axis1=(1, 2, 3), axis2=(-2, -4, -6)), ("parallel", "(1, 2, 3)")),
        (lambda: Planar("N", "ground", "A", direction=(0, 0, 2)), ("parallel", "(0, 0, 2)")),
        (lambda: DenavitHartenberg("N", "ground", "A", "revolut"), ("revolut", "Did you mean 'revolute'?")),
        (lambda: DenavitHartenberg("N", "ground", "A", convention="distal"), ("distal", "standard, modified")),
        (lambda: DenavitHartenberg("N", "ground", "A", sign=2), ("sign = 2",)),
        (lambda: DesignVariable("N", [], 1.0), ("no targets",)),
        (lambda: DesignVariable("N", "A.mass", 3.0, bounds=(0, 2)), ("value = 3", "[0, 2]")),
        (lambda: DesignVariable("N", "A.mass", 3.0, scale=0), ("scale = 0",)),
        (lambda: DesignVariable("N", "A.mass", 3.0, bounds=(0,)), ("two numbers",)),
        (lambda: DesignVariable("N", 5, 3.0), ("targets = 5",)),
        (lambda: DesignVariable("N", {5: 1.0}, 3.0), ("target 5",)),
    ],
)
def test_values_outside_of_their_range_are_refused(make, texts):
    with raises(errors.ValueRangeError, "'N'", *texts):
        make()


# ---- tables


def test_a_dh_row_with_a_later_parent_is_refused_by_row():
    with raises(errors.ParentOrderError, "'arm'", "row 1", "parent 2"):
        dh_model("arm", [DHRow(parent=2), DHRow()])


def test_a_dh_table_with_the_wrong_number_of_bodies_is_refused():
    with raises(errors.ShapeError, "'arm'", "2 rows but 1 bodies"):
        dh_model("arm", [DHRow(), DHRow()], bodies=[A])


def test_every_error_can_be_caught_as_mechgrad_error_and_as_a_python_one():
    assert {errors.MechgradError, ValueError} <= set(errors.ModelError.__mro__)
    assert {errors.MechgradError, ValueError} <= set(errors.InputError.__mro__)
    assert {errors.MechgradError, ArithmeticError} <= set(errors.SingularMassMatrixError.__mro__)
    assert {errors.ModelError, KeyError} <= set(errors.UnknownNameError.__mro__)
