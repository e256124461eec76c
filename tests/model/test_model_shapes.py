"""Shapes of bodies: they survive every way a model goes, change nothing that is computed, and refuse nonsense."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.model.shapes import SHAPES

EVERY = (
    mg.shapes.Box((0.4, 0.2, 0.1), origin=(0, 0, 0.05), orientation=(1, 0, 0, 1)),
    mg.shapes.Sphere(0.1, stretch=(1, 2, 3)),
    mg.shapes.Cylinder((0, 0, 0), (0, 0, 1), 0.1, "#123abc"),
    mg.shapes.Capsule((0, 0, 0), (1, 0, 0), 0.1, 0.05),
    mg.shapes.Ring(0.3, 0.02, axis=(0, 1, 0), spokes=12),
    mg.shapes.Mesh("parts/bracket.stl", scale=0.001),
)


def shaped(shape: object = EVERY) -> mg.Model:
    bob = mg.Body("bob", mass=2, com=(0, 0, -1), shape=shape)
    return mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])


def test_every_kind_is_tried() -> None:
    assert {type(shape) for shape in EVERY} == set(SHAPES.values())


def test_files_hold_shapes(tmp_path) -> None:
    model = shaped()
    mg.save_model(model, tmp_path / "model.toml")
    again = mg.load_model(tmp_path / "model.toml")
    assert again == model
    assert again.body("bob").shapes == EVERY
    assert again != shaped(EVERY[:1])
    assert mg.Model.from_dict(model.to_dict()) == model
    assert "shape" not in mg.Model.from_dict(shaped(None).to_dict()).to_dict()["bodies"][0]


def test_other_numbers_keep_the_shapes() -> None:
    heavier = shaped().with_values({"bob.mass": 3.0})
    assert heavier.body("bob").shapes == EVERY
    assert shaped().with_values({"bob.com.z": -1 + 1e-30j}).body("bob").shapes == EVERY
    assert [p.path for p in shaped().parameters()] == [p.path for p in shaped(None).parameters()]
    assert shaped().describe() == shaped(None).describe()
    assert "Ring" in repr(shaped().body("bob"))


def test_nothing_that_is_computed_depends_on_them() -> None:
    np.testing.assert_array_equal(
        mg.inverse_dynamics(shaped(), [0.3], [0.2], [0.1]), mg.inverse_dynamics(shaped(None), [0.3], [0.2], [0.1])
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mg.shapes.Box((1, 0, 1)), "size = .* must be positive"),
        (lambda: mg.shapes.Box((1, 1)), "finite number"),
        (lambda: mg.shapes.Sphere(np.nan), "finite number"),
        (lambda: mg.shapes.Sphere("large"), "must be"),
        (lambda: mg.shapes.Sphere(1, colour="red"), 'write it as "#rrggbb"'),
        (lambda: mg.shapes.Cylinder((0, 0, 0), (0, 0, 0), 1), "no length"),
        (lambda: mg.shapes.Capsule((0, 0, 0), (0, 0, 1), 1, -1), "end_radius = -1"),
        (lambda: mg.shapes.Ring(0.1, 0.06), "thinner"),
        (lambda: mg.shapes.Box((1, 1, 1), orientation=(0, 0, 0, 0)), "length zero"),
        (lambda: mg.shapes.Mesh("picture.jpg"), "must end with"),
        (lambda: shaped("box"), "one of mg.shapes"),
        (lambda: shaped({"kind": "sfere", "radius": 1}), "Did you mean 'sphere'"),
        (lambda: shaped({"kind": "sphere", "radios": 1}), "Did you mean 'radius'"),
        (lambda: shaped({"kind": "sphere"}), "lacks radius"),
        (lambda: shaped({"radius": 1}), "with a 'kind'"),
    ],
)
def test_nonsense_is_refused(make, message) -> None:
    with pytest.raises(mg.ModelError, match=message):
        make()
