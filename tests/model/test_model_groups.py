"""Constraints and forces as members of a model: names, numbers, copies, files and text."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from loop_models import five_bar

import mechgrad as mg
from mechgrad import errors
from mechgrad.inverse.newton_euler import newton_euler_torques
from mechgrad.kinematics.batch import tree_of
from mechgrad.measures import Distance
from mechgrad.model.constraints import Driver, FixedDistance, LinearCombination, Rolling
from mechgrad.model.forces import Motor, SpringDamper, UserForce
from mechgrad.model.functions import Spline

POINTS = [mg.Point("P", "b", (0.1, 0.2, 0.3)), mg.Point("Q", "ground", (1, 2, 3))]
VECTORS = [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "b", (0, 1, 0))]
CONSTRAINTS = [
    FixedDistance("rod", "P", "Q", 2.5),
    Driver("drive", "h0", Spline((0, 1, 2), (0.0, 0.5, 0.25), ends="clamped")),
    LinearCombination("sum", {"h1": 1, "h2": -2}),
    Rolling("wheel", "P", 0.4, "up", kind="wheel", axis="axle"),
]
FORCES = [
    SpringDamper("spring", "P", "Q", stiffness=100.0, damping=2.0, free_length=0.5),
    Motor("motor", "h1", Spline((0, 1, 2), (1.0, 3.0, 2.0))),
]


def furnished(constraints=CONSTRAINTS, forces=FORCES, **options):
    return five_bar(points=POINTS, vectors=VECTORS, constraints=constraints, forces=forces, **options)


def test_members_are_found_by_name():
    model = furnished()
    assert model.constraint("rod") is CONSTRAINTS[0]
    assert model.force("motor") is FORCES[1]
    with pytest.raises(errors.UnknownNameError, match=r"unknown constraint 'spring'.*Known: rod, drive, sum, wheel"):
        model.constraint("spring")
    with pytest.raises(errors.UnknownNameError, match=r"unknown force 'rod'.*Known: spring, motor"):
        model.force("rod")


def test_every_number_has_a_path_and_can_be_changed():
    model = furnished()
    listed = {p.path: p for p in model.parameters()}
    assert listed["rod.distance.value"].value == 2.5
    assert [listed[f"drive.function.values.{k}"].value for k in range(3)] == [0.0, 0.5, 0.25]
    assert [p.path for p in model.parameters("motor.*")] == [f"motor.torque.values.{k}" for k in range(3)]
    assert listed["spring.stiffness"].unit == "N/m"
    assert list(listed).index("Q.position.x") < list(listed).index("rod.distance.value")
    assert list(listed).index("sum.factors.1") < list(listed).index("spring.damping")
    assert list(listed).index("spring.damping") < list(listed).index("gravity.x")
    for path in listed:
        if path.split(".")[0] in ("rod", "drive", "sum", "wheel", "spring", "motor"):
            moved = model.with_values({path: listed[path].value + 0.125 + 1e-30j})
            assert moved.value(path) == listed[path].value + 0.125 + 1e-30j
            assert moved != model
            assert moved.with_values({path: listed[path].value}).value(path) == listed[path].value
            assert moved.joints is model.joints


def test_unknown_labels_list_the_known_ones():
    with pytest.raises(errors.UnknownNameError, match=r"force 'spring'.*Did you mean 'stiffness'.*damping"):
        furnished().value("spring.stifness")
    with pytest.raises(errors.UnknownNameError, match=r"motor.torque.values.9.*Known: torque.values.0"):
        furnished().value("motor.torque.values.9")


def test_a_variable_drives_numbers_of_forces_and_functions():
    variable = mg.DesignVariable("k", {"spring.stiffness": 10.0, "motor.torque.values.1": 1.0}, 5.0)
    model = furnished(variables=[variable])
    assert model.force("spring").stiffness == 50.0
    assert model.with_values({"k": 7.0}).force("motor").torque.values.tolist() == [1.0, 7.0, 2.0]
    with pytest.raises(errors.ValueRangeError, match="driven by variable 'k'"):
        model.with_values({"spring.stiffness": 3.0})


def test_numbers_of_elements_are_no_part_of_the_tree():
    model = furnished()
    near = tree_of(model)
    moved = model.with_values({"spring.stiffness": 7.0 + 1e-30j, "drive.function.values.1": 2.0})
    assert np.array_equal(tree_of(moved).atoms_f, near.atoms_f)
    with pytest.raises(mg.InputError, match="more than a tree"):
        newton_euler_torques(model, np.full(4, 0.3))
    D = mg.inverse_dynamics_derivatives(
        model.open_tree(), np.full(4, 0.3), wrt=["spring.stiffness", "rod.distance.value", "b.mass"]
    )
    assert np.array_equal(D.by("spring.stiffness"), np.zeros(4))
    assert np.array_equal(D.by("rod.distance.value"), np.zeros(4))
    assert np.abs(D.by("b.mass")).max() > 0.1


def test_files_dictionaries_and_pickles_hold_them_all(tmp_path):
    model = furnished()
    mg.save_model(model, tmp_path / "all.toml")
    text = (tmp_path / "all.toml").read_text()
    assert 'kind = "rolling"' in text
    assert 'shape = "wheel"' in text
    assert "distance = 2.5" in text
    assert "[forces.torque]" in text
    for copy in (
        mg.load_model(tmp_path / "all.toml"),
        mg.Model.from_dict(model.to_dict()),
        pickle.loads(pickle.dumps(model)),
    ):
        assert copy == model
        assert copy.constraints == model.constraints
        assert copy.forces == model.forces
    assert model != furnished(forces=FORCES[:1])
    assert model != furnished(constraints=CONSTRAINTS[:2])


def test_a_wrong_kind_in_a_file_is_reported(tmp_path):
    mg.save_model(furnished(), tmp_path / "all.toml")
    text = (tmp_path / "all.toml").read_text()
    (tmp_path / "wrong.toml").write_text(text.replace('kind = "motor"', 'kind = "moter"'))
    with pytest.raises(errors.UnknownNameError, match=r"forces\[1\] \('motor'\).*'moter'.*Did you mean 'motor'"):
        mg.load_model(tmp_path / "wrong.toml")
    with pytest.raises(errors.UnknownNameError, match=r"constraints\[0\] \('r'\): unknown constraint type 'rodd'"):
        mg.Model.from_dict({"name": "m", "constraints": [{"type": "rodd", "name": "r"}]})


def test_code_and_complex_numbers_cannot_be_written():
    own = UserForce("own", [Distance("P", "Q")], lambda t, g, gd: 3 * g)
    with pytest.raises(errors.ValueRangeError, match="force 'own': function is a Python function"):
        furnished(forces=[own]).to_dict()
    with pytest.raises(errors.ValueRangeError, match="values is complex"):
        furnished().with_values({"motor.torque.values.1": 1e-30j}).to_dict()


@pytest.mark.parametrize(
    ("parts", "error", "text"),
    [
        ({"forces": [SpringDamper("rod", "P", "Q", 1.0)]}, errors.DuplicateNameError, "'rod' is used twice: by constr"),
        ({"forces": CONSTRAINTS[:1]}, errors.ValueRangeError, r"forces\[0\] is .* not a Force"),
        ({"constraints": FORCES[:1]}, errors.ValueRangeError, r"constraints\[0\] is .* not a Constraint"),
        ({"constraints": [FixedDistance("x", "P", "R", 1.0)]}, errors.UnknownNameError, "'x'.*'R'.*P, Q"),
        ({"constraints": [mg.constraints.Gear("g", "h0", "h4", 1.0)]}, errors.ValueRangeError, "'h4' is cut"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(parts, error, text):
    with pytest.raises(error, match=text):
        furnished(**parts)


def test_describe_lists_them():
    text = furnished().describe()
    assert "constraints: rod (FixedDistance), drive (Driver), sum (LinearCombination), wheel (Rolling)" in text
    assert "forces: spring (SpringDamper), motor (Motor)" in text
