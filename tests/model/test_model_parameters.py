import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mechgrad.errors import (
    DuplicateNameError,
    InertiaError,
    MassError,
    NotFiniteError,
    UnknownNameError,
    ValueRangeError,
)
from mechgrad.model import (
    Body,
    Cardan,
    DesignVariable,
    DHRow,
    Fixed,
    Model,
    Parameter,
    Planar,
    Point,
    Revolute,
    Spherical,
    Vector,
    dh_model,
)

H = 1e-30


def biped(**more):
    return Model(
        "biped",
        [
            Body("pelvis", 10, com=(0, 0, 0.1), inertia=[[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]]),
            Body("left.thigh", 5, inertia=(1, 1, 1)),
            Body("right.thigh", 5, inertia=(1, 1, 1)),
            Body("head", 1),
        ],
        [
            Planar("root", "ground", "pelvis", normal=(0, 1, 0)),
            Spherical("left", "pelvis", "left.thigh", (0, 0.1, 0)),
            Cardan("right", "pelvis", "right.thigh", (0, -0.1, 0)),
            Revolute("neck", "pelvis", "head", axis=(0, 1, 0)),
        ],
        [Point("eye", "head", (0.1, 0, 0))],
        [Vector("gaze", "head", (1, 0, 0))],
        **more,
    )


WIDTH = DesignVariable("width", {"left.origin.y": 1.0, "right.origin.y": -1.0}, 0.12)


# ---- listing and reading


def test_every_number_of_every_kind_is_listed_once_with_its_unit():
    found = biped(variables=[WIDTH]).parameters()
    paths = [p.path for p in found]
    assert len(set(paths)) == len(paths)
    assert len(paths) == 4 * 10 + (10 + 6) + 10 + (10 + 6) + (10 + 3) + 3 + 3 + 3 + 1
    units = {
        "mass": "kg",
        "com": "m",
        "inertia": "kg m^2",
        "origin": "m",
        "orientation": "1",
        "child_origin": "m",
        "axis": "1",
        "point": "m",
        "vector": "1",
        "gravity": "m/s^2",
        "variable": "m",
    }
    assert {p.kind: p.unit for p in found} == units


def test_dh_numbers_are_listed_with_angles_in_radians_and_lengths_in_metres():
    found = dh_model("arm", [DHRow(a=0.5)]).parameters("dh.1.*")
    assert found == [
        Parameter("dh.1.theta", 0.0, "rad", "dh"),
        Parameter("dh.1.d", 0.0, "m", "dh"),
        Parameter("dh.1.a", 0.5, "m", "dh"),
        Parameter("dh.1.alpha", 0.0, "rad", "dh"),
    ]


def test_patterns_select_paths():
    assert [p.path for p in biped().parameters("*.mass")] == [
        "pelvis.mass",
        "left.thigh.mass",
        "right.thigh.mass",
        "head.mass",
    ]
    assert [p.path for p in biped().parameters("gravity.[xz]")] == ["gravity.x", "gravity.z"]
    assert biped().parameters("nothing*") == []


def test_listed_values_are_what_value_returns_and_driven_paths_name_their_variable():
    model = biped(variables=[WIDTH])
    for parameter in model.parameters():
        assert model.value(parameter.path) == parameter.value
        assert type(parameter.value) is float
    drivers = {p.path: p.driver for p in model.parameters() if p.driver}
    assert drivers == {"left.origin.y": "width", "right.origin.y": "width"}


def test_dotted_names_are_resolved_by_the_longest_name():
    model = Model("m", [Body("a", 1), Body("a.b", 2)], [Fixed("f", "ground", "a"), Fixed("f.2", "a", "a.b")])
    assert model.value("a.mass") == 1
    assert model.value("a.b.mass") == 2
    assert model.locate("a.b.com.x") == ("a.b", "com.x")
    assert model.locate("f.2.origin.x") == ("f.2", "origin.x")


def test_a_longer_name_does_not_hide_the_fields_of_a_shorter_one():
    model = Model(
        "m", [Body("a", 1, com=(7, 0, 0)), Body("a.com")], [Fixed("f", "ground", "a"), Fixed("g", "a", "a.com")]
    )
    assert model.value("a.com.x") == 7
    assert model.value("a.com.com.x") == 0


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("pelvs.mass", ("'pelvs'", "Did you mean 'pelvis'?")),
        ("pelvis.mas", ("body 'pelvis'", "'mas'", "Did you mean 'mass'?", "inertia.yz")),
        ("pelvis", ("body 'pelvis'", "com.x")),
        ("left.axis.x", ("joint 'left'", "origin.x")),
        ("gravity.w", ("gravity.w", "gravity.x, gravity.y, gravity.z")),
        ("width.x", ("'width'", "no parts")),
        ("eye.direction.x", ("point 'eye'", "position.x")),
    ],
)
def test_unknown_paths_blame_the_half_that_is_wrong(path, texts):
    model = biped(variables=[WIDTH])
    for call in (model.value, model.path_derivative, model.locate, lambda p: model.with_values({p: 1.0})):
        with pytest.raises(UnknownNameError) as caught:
            call(path)
        assert all(text in str(caught.value) for text in texts), str(caught.value)


# ---- with_values


def test_every_listed_path_can_be_set_and_only_that_path_changes():
    model = biped()
    before = {p.path: p.value for p in model.parameters()}
    for path, value in before.items():
        new = model.with_values({path: value + 0.01}, check=False)
        after = {p.path: p.value for p in new.parameters()}
        assert {p for p in before if before[p] != after[p]} == {path}
        assert after[path] == value + 0.01
    assert {p.path: p.value for p in model.parameters()} == before


def test_several_numbers_of_one_thing_are_set_together():
    new = biped().with_values({"pelvis.com.x": 1, "pelvis.com.y": 2, "pelvis.mass": 3, "gravity.x": 4, "gravity.z": 5})
    assert new.body("pelvis").com.tolist() == [1, 2, 0.1]
    assert new.body("pelvis").mass == 3
    assert new.gravity.tolist() == [4, 0, 5]


def test_products_of_inertia_change_with_their_mirror():
    J = biped().with_values({"pelvis.inertia.xz": 0.5}).body("pelvis").inertia
    assert J[0, 2] == J[2, 0] == 0.5


def test_what_does_not_change_is_shared_and_the_cache_is_not():
    model = biped()
    model.cached("answer", lambda m: 42)
    new = model.with_values({"head.mass": 2.0})
    assert new.joints is model.joints
    assert new.body("pelvis") is model.body("pelvis")
    assert model._cache["answer"] == 42
    assert "answer" not in new._cache
    assert model.cached("answer", lambda m: 0) == 42


def test_the_original_and_its_arrays_stay_as_they_were_and_new_arrays_are_read_only():
    model = biped()
    new = model.with_values({"pelvis.com.x": 9.0, "gravity.x": 1.0})
    assert model.body("pelvis").com[0] == 0.0
    assert model.gravity[0] == 0.0
    assert not new.body("pelvis").com.flags.writeable
    assert not new.gravity.flags.writeable


def test_complex_steps_make_only_the_touched_arrays_complex():
    new = biped().with_values({"pelvis.com.x": 1j * H, "head.mass": 1 + 1j * H, "gravity.z": -9.81 + 1j * H})
    assert new.body("pelvis").com.dtype == np.complex128
    assert new.body("pelvis").inertia.dtype == np.float64
    assert new.value("head.mass").imag == H
    assert new.total_mass.imag == H
    assert new.gravity.dtype == np.complex128


def test_with_values_checks_new_numbers_and_names_them():
    with pytest.raises(MassError, match=r"'head'.*-1 kg"):
        biped().with_values({"head.mass": -1})
    with pytest.raises(InertiaError, match=r"'left\.thigh'"):
        biped().with_values({"left.thigh.inertia.xx": 7})
    with pytest.raises(NotFiniteError, match=r"'neck': axis\.x = nan"):
        biped().with_values({"neck.axis.x": np.nan}, check=False)
    with pytest.raises(NotFiniteError, match="gravity"):
        biped().with_values({"gravity.x": np.inf})


def test_without_check_a_rod_can_be_perturbed_across_the_border_of_the_possible():
    model = Model("m", [Body("rod", 1, inertia=(0, 1, 1))], [Fixed("f", "ground", "rod")])
    for path, step in (("rod.inertia.xx", -1e-6), ("rod.inertia.yy", 1e-6)):
        with pytest.raises(InertiaError):
            model.with_values({path: model.value(path) + step})
        assert model.with_values({path: model.value(path) + step}, check=False).value(path) == model.value(path) + step


def test_no_values_give_an_equal_model():
    model = biped(variables=[WIDTH])
    assert model.with_values({}) == model
    assert model.with_values({"head.mass": 1.5}) != model
    assert model.with_values({"head.mass": 1.5}).with_values({"head.mass": 1.0}) == model


def test_changing_numbers_shares_the_topology_instead_of_rebuilding_it():
    model = dh_model("human", [DHRow(a=0.1) for _ in range(43)])
    other = model.with_values({"dh.7.a": 0.2, "link3.mass": 1.0})
    assert other.layout is model.layout
    assert other.joints[0] is model.joints[0]
    assert other.joints[6] is not model.joints[6]


# ---- design variables


def test_variables_are_applied_to_their_targets_at_construction():
    model = biped(variables=[WIDTH])
    assert model.value("left.origin.y") == 0.12
    assert model.value("right.origin.y") == -0.12
    assert model.value("width") == 0.12


def test_setting_a_variable_applies_its_targets_again():
    model = biped(variables=[WIDTH])
    new = model.with_values({"width": 0.3, "head.mass": 2.0})
    assert [new.value(p) for p in ("width", "left.origin.y", "right.origin.y", "head.mass")] == [0.3, 0.3, -0.3, 2.0]
    assert model.value("left.origin.y") == 0.12


def test_a_complex_step_through_a_variable_reaches_its_targets():
    new = biped(variables=[WIDTH]).with_values({"width": 0.12 + 1j * H})
    assert new.value("right.origin.y").imag == -H


def test_a_driven_path_cannot_be_set_directly():
    with pytest.raises(ValueRangeError, match=r"'left\.origin\.y' is driven by variable 'width'.*0\.5"):
        biped(variables=[WIDTH]).with_values({"left.origin.y": 0.5})


def test_targets_may_be_one_path_several_paths_factors_or_functions():
    variables = [
        DesignVariable("a", "pelvis.mass", 11),
        DesignVariable("b", ["left.thigh.mass", "right.thigh.mass"], 6),
        DesignVariable("c", {"eye.position.x": 2, "eye.position.y": lambda x: x**2, "gravity.x": np.sin}, 3.0),
    ]
    model = biped(variables=variables)
    values = [model.value(p) for p in ("pelvis.mass", "left.thigh.mass", "right.thigh.mass")]
    assert values == [11, 6, 6]
    assert [model.value(f"eye.position.{k}") for k in "xy"] == [6, 9]
    assert model.value("gravity.x") == pytest.approx(np.sin(3.0))


def test_path_derivative_is_one_for_paths_and_the_slope_of_each_map_for_variables():
    shape = DesignVariable("s", {"eye.position.x": -2.0, "gravity.x": np.sin, "head.mass": lambda x: x**3}, 1.2)
    model = biped(variables=[shape])
    assert model.path_derivative("pelvis.mass") == [("pelvis.mass", 1.0)]
    paths, weights = zip(*model.path_derivative("s"), strict=True)
    assert paths == ("eye.position.x", "gravity.x", "head.mass")
    assert_allclose(weights, [-2.0, np.cos(1.2), 3 * 1.2**2], rtol=1e-15)


def test_a_map_that_refuses_complex_numbers_is_explained():
    model = biped(variables=[DesignVariable("s", {"gravity.x": math.sin}, 1.2)])
    with pytest.raises(ValueRangeError, match=r"'s'.*'gravity\.x'.*math"):
        model.path_derivative("s")


def test_the_unit_of_a_variable_is_that_of_its_targets_or_open():
    variables = [
        WIDTH,
        DesignVariable("mixed", ["head.mass", "gravity.x"], 1.0),
        DesignVariable("curved", {"pelvis.mass": np.exp}, 1.0),
    ]
    units = {p.path: p.unit for p in biped(variables=variables).parameters() if p.kind == "variable"}
    assert units == {"width": "m", "mixed": "", "curved": ""}


def test_unknown_targets_name_the_variable():
    with pytest.raises(UnknownNameError, match=r"variable 'v'.*'hed'.*Did you mean 'head'"):
        biped(variables=[DesignVariable("v", "hed.mass", 1.0)])


def test_a_path_driven_twice_is_refused_with_both_variables():
    with pytest.raises(DuplicateNameError, match=r"'head\.mass'.*'v'.*'w'"):
        biped(variables=[DesignVariable("v", "head.mass", 1.0), DesignVariable("w", "head.mass", 1.0)])


def test_a_variable_cannot_drive_a_variable():
    with pytest.raises(ValueRangeError, match="'w' drives 'v'"):
        biped(variables=[DesignVariable("v", "head.mass", 1.0), DesignVariable("w", "v", 1.0)])


def test_a_variable_cannot_be_called_like_a_path():
    with pytest.raises(DuplicateNameError, match=r"'head\.mass'"):
        biped(variables=[DesignVariable("head.mass", "pelvis.mass", 1.0)])


def test_bounds_are_checked_on_entry_and_not_along_the_way():
    model = biped(variables=[DesignVariable("v", "head.mass", 1.0, bounds=(0.5, 2))])
    assert model.with_values({"v": 2 + 1e-6}).value("head.mass") == 2 + 1e-6


def test_an_impossible_start_value_of_a_variable_is_refused_at_construction():
    with pytest.raises(MassError, match="'head'"):
        biped(variables=[DesignVariable("v", {"head.mass": -1.0}, 1.0)])
