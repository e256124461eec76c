"""Model files: nothing is lost on the way through one, and every mistake in one is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechgrad import gallery
from mechgrad.errors import MassError, ModelError, UnknownNameError
from mechgrad.io import ModelFileError, ModelFileNotFoundError, load_model, save_model
from mechgrad.model import (
    JOINT_TYPES,
    Body,
    Cardan,
    Cylindrical,
    DenavitHartenberg,
    DesignVariable,
    Fixed,
    Floating,
    Model,
    Planar,
    Point,
    Prismatic,
    Revolute,
    Spherical,
    Vector,
)

THIRD = 1.0 / 3.0
PLACED = {"origin": (0.1, -0.2, THIRD), "orientation": (0.3, 0.1, 2.0, -0.7), "child_origin": (1e-300, 1e22, 0.1 + 0.2)}


def every_joint() -> Model:
    """One joint of each kind, no field at its default."""
    joints = [
        Fixed("f", "ground", "b1", **PLACED),
        Revolute("r", "b1", "b2", axis=(1.0, 2.0, 3.0), **PLACED),
        Prismatic("p", "b2", "b3", axis=(-1.0, THIRD, 0.0), **PLACED),
        Cylindrical("c", "b3", "b4", axis=(0.0, 1.0, -0.0), **PLACED),
        Cardan("u", "b4", "b5", axis1=(1.0, 0.1, 0.0), axis2=(0.0, 1.0, 0.7), **PLACED),
        Planar("pl", "b5", "b6", normal=(0.0, 1.0, 1.0), direction=(1.0, 0.0, 0.2), **PLACED),
        Spherical("s", "b6", "b7", **PLACED),
        Floating("fl", "ground", "b8", **PLACED),
        DenavitHartenberg("dh.1", "b8", "b9", "prismatic", 0.1, 0.2, THIRD, -0.4, sign=-1, convention="modified"),
        DenavitHartenberg("dh.2", "b9", "b10", "revolute", a=1.0),
    ]
    bodies = [Body(f"b{i}", mass=i * THIRD, com=(THIRD, 0.0, i), inertia=(2.0, 2.1, 2.2)) for i in range(1, 10)]
    bodies.append(Body("b10", mass=1.0, inertia=((2.0, 0.1, THIRD), (0.1, 2.0, 0.0), (THIRD, 0.0, 2.0))))
    return Model(
        'every joint, « quoted » "so" and [1, 2]',
        bodies=bodies,
        joints=joints,
        points=[Point("tip", "b10", (0.0, 0.5, THIRD)), Point("post", "ground", (1.0, 0.0, 0.0))],
        vectors=[Vector("up", "b3", (0.0, 0.0, 3.0))],
        gravity=(0.1, -9.80665, THIRD),
        variables=[
            DesignVariable("width", ["r.origin.x", "p.origin.x"], 0.1),
            DesignVariable("size", {"b1.mass": 2.0, "tip.position.z": -THIRD}, 0.7, bounds=(0.1, np.inf), scale=0.5),
        ],
    )


def test_the_test_model_has_every_kind() -> None:
    assert {type(joint) for joint in every_joint().joints} == set(JOINT_TYPES.values())


@pytest.mark.parametrize(
    "model",
    [every_joint(), gallery.human(), gallery.arm7(), gallery.chain(4), gallery.double_pendulum(), Model("empty")],
    ids=lambda model: model.name[:11],
)
def test_round_trip_is_exact(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    save_model(model, path)
    loaded = load_model(path)
    assert loaded == model
    for parameter in model.parameters():
        assert loaded.value(parameter.path) == parameter.value
    # A second trip writes the same text: what is left out is what is filled in.
    again = tmp_path / "again.toml"
    save_model(loaded, again)
    assert again.read_text() == path.read_text()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
def test_every_finite_float_survives(tmp_path_factory: pytest.TempPathFactory, position: list[float]) -> None:
    path = tmp_path_factory.mktemp("floats") / "model.toml"
    save_model(Model("floats", points=[Point("p", "ground", position)]), path)
    np.testing.assert_array_equal(load_model(path).points[0].position, position)


def test_a_change_is_seen(tmp_path: Path) -> None:
    """The comparison above can fail: one unit in the last place of one number is a different model."""
    path = tmp_path / "model.toml"
    model = gallery.arm7()
    save_model(model, path)
    text = path.read_text()
    assert "mass = 3.6\n" in text
    path.write_text(text.replace("mass = 3.6\n", f"mass = {np.nextafter(3.6, 4)!s}\n"))
    assert load_model(path) != model


def test_file_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.toml"
    save_model(gallery.double_pendulum(), path)
    assert path.read_text().startswith(
        """[model]
name = "double pendulum"

[[bodies]]
name = "upper"
mass = 1.0
com = [0.0, 0.0, -0.5]
"""
    )
    assert (
        '[[joints]]\nkind = "revolute"\nname = "shoulder"\nparent = "ground"\nchild = "upper"\naxis = ['
        in path.read_text()
    )
    assert "orientation" not in path.read_text()  # at its default


def test_variables_with_factors_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    save_model(every_joint(), path)
    assert '[variables.targets]\n"b1.mass" = 2.0\n' in path.read_text()
    assert load_model(path).with_values({"size": 2.0}).value("b1.mass") == 4.0


def test_integers_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(HEAD + BODY + "mass = 2\n" + JOINT.replace("revolute", "universal"))
    model = load_model(path)
    assert model.value("b.mass") == 2.0
    assert isinstance(model.joint("j"), Cardan)


def test_callable_target_cannot_be_saved(tmp_path: Path) -> None:
    model = gallery.double_pendulum()
    squared = DesignVariable("thickness", {"lower.mass": lambda x: x**2}, 1.0)
    model = Model("m", bodies=model.bodies, joints=model.joints, points=model.points, variables=[squared])
    with pytest.raises(ModelError, match=r"'thickness'.*'lower.mass'.*function"):
        save_model(model, tmp_path / "model.toml")
    assert not (tmp_path / "model.toml").exists()


@pytest.mark.parametrize("path", ["lower.mass", "elbow.origin.x", "lower.inertia.yy", "gravity.x"])
def test_complex_numbers_cannot_be_saved(tmp_path: Path, path: str) -> None:
    model = gallery.double_pendulum()
    with pytest.raises(ModelError, match="complex"):
        save_model(model.with_values({path: model.value(path) + 1e-30j}), tmp_path / "model.toml")


HEAD = '[model]\nname = "m"\n'
BODY = '[[bodies]]\nname = "b"\n'
JOINT = '[[joints]]\nkind = "revolute"\nname = "j"\nparent = "ground"\nchild = "b"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[model]\nname = "m"\nmass = = 2\n', r"not valid TOML.*line 3"),
        (HEAD + "[[body]]\n", r"unknown section 'body'.*'bodies'\?.*Known: model, bodies, joints"),
        (HEAD + "gravty = [0, 0, 0]\n", r"\[model\].*unknown key 'gravty'.*'gravity'"),
        ("[[bodies]]\nname = 'b'\n", r"no 'name'"),
        ("model = 3\n", r"'model' must be a table"),
        (HEAD + BODY + "mas = 2\n", r"bodies\[0\] \('b'\): unknown .*'mas'.*'mass'.*Known: name, mass, com, inertia"),
        (HEAD + "[[bodies]]\nmass = 1\n", r"bodies\[0\]: .*'name'.* missing"),
        (HEAD + "[bodies]\nname = 'b'\n", r"'bodies' must be a list of tables.*\[\[bodies\]\]"),
        (
            HEAD + BODY + JOINT.replace("revolute", "hinge"),
            r"joints\[0\] \('j'\): unknown joint kind 'hinge'.*fixed, revolute, prismatic",
        ),
        (HEAD + BODY + JOINT.replace('"revolute"', "[1]"), r"unknown joint kind \[1\]"),
        (HEAD + BODY + JOINT.replace('kind = "revolute"\n', ""), r"joints\[0\] \('j'\): 'kind' is missing.*revolute"),
        (HEAD + BODY + JOINT + "normal = [0, 0, 1]\n", r"unknown key 'normal'.*axis"),
        (
            HEAD + BODY + JOINT + "[[vectors]]\nname = 'v'\nbody = 'b'\n",
            r"vectors\[0\] \('v'\): .*'direction'.* missing",
        ),
        (
            HEAD + BODY + JOINT + "[[variables]]\nname = 'x'\nvalue = 1\n",
            r"variables\[0\] \('x'\): .*'targets'.* missing",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ModelError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith(str(path))


def test_what_the_model_rejects_keeps_its_type_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(HEAD + BODY + "mass = -2.0\n" + JOINT)
    with pytest.raises(MassError, match=r"wrong\.toml: .*'b'.*-2"):
        load_model(path)
    path.write_text(HEAD + BODY + JOINT.replace('child = "b"', 'child = "c"'))
    with pytest.raises(UnknownNameError, match=r"wrong\.toml: .*'c'"):
        load_model(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileNotFoundError, match=r"none\.toml: there is no such"):
        load_model(tmp_path / "none.toml")
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.toml")


def test_neither_folder_nor_binary(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="folder"):
        load_model(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelFileError, match="UTF-8"):
        load_model(tmp_path / "binary.toml")
