"""Forces at points that several bodies of a drawing own: which of them is pushed is said, never guessed."""

from __future__ import annotations

import pytest

import mechgrad as mg

POINTS = {"O": (0, 0, 0), "W": (0, 0, 0.3), "P": (1, 0, 0.3), "R": (0, 0, 0)}


def corner(*forces: mg.forces.Force) -> mg.Model:
    """A knuckle that slides up, and a wheel on its axle at the point W; R is a point of the road."""
    parts = [
        mg.drawing.NaturalBody("ground", ["R", "O"], ["ex", "ez"]),
        mg.drawing.NaturalBody("knuckle", ["W"], ["ex", "ez", "axle"], mass=5),
        mg.drawing.NaturalBody("wheel", ["W", "P"], ["axle"], mass=8, inertia=(0.4, 0.8, 0.4)),
    ]
    return mg.drawing.model_from_points(
        "corner", POINTS, parts, vectors={"ex": (1, 0, 0), "ez": (0, 0, 1), "axle": (0, 1, 0)},
        constraints=[mg.drawing.OnLine("W", "O", "ez", name="up")], forces=forces,
    ).model  # fmt: skip


def contact(point: str) -> mg.forces.Force:
    return mg.forces.WheelContact("tyre", point, "axle", 0.31, "R", "ez", 2e5, friction=0.8)


@pytest.mark.parametrize(
    ("force", "field"),
    [
        (contact("W"), "'tyre'"),
        (mg.forces.SpringDamper("spring", "O", "W", 1e4, free_length=0.3), "'spring'"),
        (mg.forces.UserForce("law", (mg.measures.Distance("O", "W"),), lambda t, g, gd: -g), "'law'"),
    ],
)
def test_points_of_several_bodies_are_refused(force: mg.forces.Force, field: str) -> None:
    with pytest.raises(mg.ModelError) as error:
        corner(force)
    for part in (field, "'W'", "'knuckle' and 'wheel'", "'W@knuckle' or 'W@wheel'"):
        assert part in str(error.value)


def test_the_chosen_body_feels_the_road() -> None:
    """The wheel is spun up by the road it slips on; on the knuckle, the force turns nothing."""

    def spin(owner: str) -> float:
        model = corner(contact(f"W@{owner}"))
        assert model.force("tyre").point == f"W@{owner}"  # type: ignore[attr-defined]
        v = [0.0] * model.n_v
        v[model.v_names.index("W")] = 20.0
        a = mg.forward_dynamics(model, model.neutral(), v)
        return float(a[model.v_names.index("W")])

    assert spin("knuckle") == 0.0
    assert abs(spin("wheel")) > 1.0


def test_points_of_one_body_need_no_owner() -> None:
    model = corner(mg.forces.SpringDamper("spring", "O", "P", 1e4, free_length=0.3))
    assert model.force("spring").point_b == "P"  # type: ignore[attr-defined]
