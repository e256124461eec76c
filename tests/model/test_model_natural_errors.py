"""Models from points and vectors: what is said about drawings that cannot be understood."""

from __future__ import annotations

import numpy as np
import pytest
from drawings import X, Y, Z, two_bodies

import mechgrad as mg
from mechgrad import errors
from mechgrad.measures import Distance
from mechgrad.model.detection import InPlane, OnLine, Perpendicular
from mechgrad.model.drawing import NaturalBody
from mechgrad.model.natural import model_from_points


@pytest.mark.parametrize(
    ("ground", "moving", "relations", "error", "texts"),
    [
        ("O ex ey", "P ex ey", (), errors.ValueRangeError, ("'ground' and 'body'", "'ex', 'ey'", "OnLine")),
        ("O ex", "P ex", (OnLine("P", "O", "ez"),), errors.UnknownNameError, ("vector 'ez'", "Known: ex")),
        ("O ex", "P ex", (OnLine("S", "O", "ex"),), errors.UnknownNameError, ("point 'S'", "Known: O, P")),
        ("O ex", "T ex", (OnLine("T", "O", "ex"),), errors.ValueRangeError, ("'T' is 0.4 m off the line through 'O'",)),
        ("O ex", "P ex", (InPlane("P", "O", "ex"),), errors.ValueRangeError, ("'P' is 0.5 m off the plane",)),
        ("O ex", "O ex", (Perpendicular("ex", "ex"),), errors.ValueRangeError, ("0 degrees instead of 90",)),
        ("O ex ey", "O", (Perpendicular("ex", "ey"),), errors.ValueRangeError, ("one body owns all of it",)),
        ("O", "Q", (Distance("O", "S", name="d"),), errors.UnknownNameError, ("point 'S'", "Known: O, Q")),
        ("O", "P Q", (Distance("P", "Q", name="d"),), errors.ValueRangeError, ("measures nothing that could move",)),
        ("O", "P Q", (Distance("O", "Q", name="d"),) * 2, errors.DuplicateNameError, ("called 'd'",)),
    ],
)
def test_relations_that_cannot_be_are_reported(ground, moving, relations, error, texts):
    with pytest.raises(error) as caught:
        two_bodies(ground, moving, *relations)
    assert type(caught.value) is error
    for text in texts:
        assert text in str(caught.value)


BAR = NaturalBody("bar", ["A", "B"], ["u"], mass=1)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"points": {"A": (0, 0, 0)}}, errors.UnknownNameError, "body 'bar': unknown point 'B'"),
        ({"vectors": {"u": (0, 0, 0)}}, errors.ZeroAxisError, "vector 'u' = (0, 0, 0) has length zero"),
        ({"vectors": {"u": X, "w": Y}}, errors.ValueRangeError, "vector 'w' belongs to no body"),
        ({"vectors": {"u": X, "A": Y}}, errors.DuplicateNameError, "the name 'A' is used twice"),
        ({"bodies": [NaturalBody("bar", ["A", "u"], ["B"])]}, errors.ValueRangeError, "'u' is listed as a point"),
        ({"free": []}, errors.DisconnectedError, "body 'bar': no joint leads to the ground, and free names 0"),
        ({"free": ["rod"]}, errors.UnknownNameError, "free: unknown body 'rod'"),
        (
            {"bodies": [BAR, NaturalBody("rod", ["A"])], "free": ["bar", "rod"]},
            errors.DisconnectedError,
            "free names 2",
        ),
        (
            {"bodies": [NaturalBody("bar", ["A", "B"], ["u"], com="u")]},
            errors.UnknownNameError,
            "com: unknown point 'u'",
        ),
        (
            {"bodies": [NaturalBody("bar", ["A", "B"], ["u"], com=("A", "B"))]},
            errors.ShapeError,
            "(point, point, fraction)",
        ),
        ({"bodies": [NaturalBody("bar", ["A", "B"], ["u"], frame=("A", "B"))]}, errors.ShapeError, "three names"),
        (
            {"bodies": [NaturalBody("bar", ["A", "B"], ["u"], frame=("u", "A", "B"))]},
            errors.ValueRangeError,
            "is a vector",
        ),
        (
            {"bodies": [NaturalBody("bar", ["A", "B"], ["u"], frame=("A", "B", "u"))]},
            errors.ValueRangeError,
            "no plane",
        ),
        ({"bodies": [NaturalBody("bar", ["A", "B"], ["u"], frame=("A", "B", "C"))]}, errors.UnknownNameError, "'C'"),
        ({"bodies": [mg.Body("bar")]}, errors.ValueRangeError, "number 1 is Body('bar'), not a NaturalBody"),
        ({"constraints": ["A"]}, errors.ValueRangeError, "constraints[0] is 'A', not a Constraint"),
        ({"planar": (0, 0, 0)}, errors.ZeroAxisError, "planar = (0, 0, 0) has length zero"),
        ({"cut": ["A"]}, errors.UnknownNameError, "cut: unknown joint 'A'"),
    ],
)
def test_a_wrong_drawing_is_reported(change, error, text):
    arguments = {"points": {"A": (0, 0, 0), "B": (1, 0, 0)}, "bodies": [BAR], "vectors": {"u": X}, **change}
    with pytest.raises(error) as caught:
        model_from_points("wrong", arguments.pop("points"), arguments.pop("bodies"), **arguments)
    assert type(caught.value) is error
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("gap", "text"), [((0, 0, 0), "coincide (0 m apart)"), ((1e-4, 0, 0.5), "0.0115 degrees from parallel")]
)
def test_an_axis_that_is_none_is_reported(gap, text):
    points = {"A": (0.2, 0, 0), "B": np.add((0.2, 0, 0), gap), "O": (0, 1, 0)}
    bodies = [NaturalBody("ground", ["A", "B", "O"], ["w"]), NaturalBody("bar", ["A", "B"], ["w"])]
    with pytest.raises(errors.ValueRangeError) as caught:
        model_from_points("m", points, bodies, vectors={"w": Z})
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: NaturalBody("bar", "A"), errors.ShapeError, "points is the string 'A'"),
        (lambda: NaturalBody("bar", ["A", "A"]), errors.DuplicateNameError, "lists 'A' 2 times"),
        (lambda: NaturalBody("bar", inertia_axes="body"), errors.UnknownNameError, "Known: world, frame"),
        (lambda: NaturalBody("ground", mass=1), errors.ValueRangeError, "'ground' has a mass"),
    ],
)
def test_a_wrong_body_is_reported(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert type(caught.value) is error
    assert text in str(caught.value)


def test_markers_of_the_drawing_are_known_by_name_and_owner():
    drawing = two_bodies("P", "P Q")
    with pytest.raises(errors.UnknownNameError, match="unknown point or vector 'S'"):
        drawing.marker("S")
    with pytest.raises(errors.UnknownNameError, match="'Q' of the drawing: unknown owner 'ground'"):
        drawing.marker("Q", "ground")
