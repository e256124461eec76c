"""Gravity that moves nothing: planar drawings get it in their plane, others a warning with the remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.kinematics.batch import tree_of
from mechgrad.model.idle_gravity import idle_hinge


def pendulum(**options: object) -> mg.Model:
    return mg.Model("pendulum", [mg.Body("bob", 2.0, (0.7, 0.1, 0))], [mg.Revolute("pin", "ground", "bob")], **options)  # type: ignore[arg-type]


def idle(model: mg.Model) -> str | None:
    return idle_hinge(model, tree_of(model))


def two_links(first: mg.results.Joint, second: mg.results.Joint, **options: object) -> mg.Model:
    bodies = [mg.Body("a", 1.0, (0.3, 0.1, 0.2), (1, 1, 1)), mg.Body("b", 1.0, (0.2, 0, 0.1), (1, 1, 1))]
    return mg.Model("two", bodies, [first, second], **options)  # type: ignore[arg-type]


TURNED = (0.5, 0.5, 0.5, 0.5)  # x -> y -> z -> x: the second link's z stands for the first one's x
UPRIGHT = mg.Revolute("one", "ground", "a")


@pytest.mark.parametrize(
    ("model", "hinge"),
    [
        (pendulum(), "pin"),
        (two_links(UPRIGHT, mg.Revolute("two", "a", "b", (0.5, 0, 0))), "one"),
        # the axis is along gravity in the world, not in its parent
        (
            two_links(
                mg.Revolute("one", "ground", "a", orientation=TURNED), mg.Revolute("two", "a", "b", axis=(0, 1, 0)),
                gravity=(0, 0, 4),
            ),
            "one",
        ),
        (two_links(UPRIGHT, mg.Prismatic("two", "a", "b", axis=(1, 2, 0))), "one"),
        (mg.Model("puck", [mg.Body("puck", 1.0)], [mg.Planar("ice", "ground", "puck")]), "ice"),
        # heights change
        (two_links(UPRIGHT, mg.Revolute("two", "a", "b", axis=(0, 1e-3, 1))), None),
        (two_links(UPRIGHT, mg.Prismatic("two", "a", "b", axis=(0, 1e-3, 1))), None),
        (two_links(UPRIGHT, mg.Spherical("two", "a", "b")), None),
        (two_links(mg.Revolute("one", "ground", "a", orientation=TURNED), mg.Revolute("two", "a", "b")), None),
        (mg.Model("free", [mg.Body("b", 1.0)], [mg.Floating("f", "ground", "b")]), None),
        (pendulum(gravity=(0, -9.81, 0)), None),
        # on purpose: no gravity, no mass, balanced, level rails, a rotor on a level axis
        (pendulum(gravity=(0, 0, 0)), None),
        (mg.Model("light", [mg.Body("bob")], [mg.Revolute("pin", "ground", "bob")]), None),
        (mg.Model("flywheel", [mg.Body("w", 3.0, (0, 0, 2), (1, 1, 1))], [mg.Revolute("pin", "ground", "w")]), None),
        (mg.Model("cart", [mg.Body("c", 3.0, (1, 0, 0))], [mg.Prismatic("rail", "ground", "c", axis=(1, 0, 0))]), None),
        (mg.Model("rotor", [mg.Body("w", 3.0)], [mg.Revolute("pin", "ground", "w", axis=(1, 0, 0))]), None),
    ],
)  # fmt: skip
def test_what_gravity_moves(model: mg.Model, hinge: str | None) -> None:
    assert idle(model) == hinge
    if hinge is not None:  # and indeed no configuration has a generalized force of gravity
        rng = np.random.default_rng(1)
        with pytest.warns(mg.errors.IdleGravityWarning):
            tau = mg.inverse_dynamics(model, rng.uniform(-2, 2, (5, model.n_q)))
        np.testing.assert_allclose(tau, 0.0, atol=1e-12)


def test_massless_ends_do_not_count() -> None:
    """A probe without mass beyond the arm turns about any axis: gravity moves it as little."""
    bodies = [mg.Body("arm", 1.0, (0.5, 0, 0)), mg.Body("probe")]
    joints = [mg.Revolute("pin", "ground", "arm"), mg.Revolute("tip", "arm", "probe", (1, 0, 0), axis=(1, 0, 0))]
    assert idle(mg.Model("probe", bodies, joints)) == "pin"


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: mg.inverse_dynamics(model, [0.3]),
        lambda model: mg.inverse_dynamics_derivatives(model, [0.3]),
        lambda model: mg.forward_dynamics(model, [0.3]),
        lambda model: mg.forward_dynamics_derivatives(model, [0.3]),
        lambda model: mg.joint_reactions(model, [0.3], tau=0),
        lambda model: mg.simulate(model, [0.3], duration=0.01),
        lambda model: mg.equilibrium(model, at={"pin": 0.0}),
    ],
)
def test_said_once_where_it_is_asked(ask) -> None:  # type: ignore[no-untyped-def]
    model = pendulum()
    with pytest.warns(mg.errors.IdleGravityWarning) as caught:
        ask(model)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    for part in ("'pendulum'", "'pin'", "(0, 0, -9.81)", "gravity=(0, -9.81, 0)", "gravity=(0, 0, 0)"):
        assert part in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(model)
        ask(model.with_values({"bob.mass": 3.0}))


def test_kinematics_say_nothing() -> None:
    model = pendulum()
    mg.kinematics.body_motion(model, [0.3])
    mg.assemble(model, {"pin": 0.4})
    mg.mass_matrix(model, [0.3])


def drawn(planar: object, tip: tuple[float, float, float], **options: object) -> mg.Model:
    parts = [mg.drawing.NaturalBody("ground", ["O"]), mg.drawing.NaturalBody("bob", ["O", "P"], mass=2, com="P")]
    return mg.drawing.model_from_points("drawn", {"O": (0, 0, 0), "P": tip}, parts, planar=planar, **options).model  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("planar", "tip", "gravity"),
    [
        (True, (0.5, 0, 0), (0, -9.81, 0)),
        ((0, 0, -3), (0.5, 0, 0), (0, -9.81, 0)),
        ((0, 1, 0), (0.5, 0, 0), (0, 0, -9.81)),
        ((0, 1, 1), (0.5, 0, 0), (0, 0, -9.81)),
    ],
)
def test_planar_drawings_have_gravity_in_their_plane(planar: object, tip, gravity) -> None:  # type: ignore[no-untyped-def]
    """A bob of 2 kg, level at 0.5 m: the torque that holds it is m g l times the share of gravity in the plane."""
    model = drawn(planar, tip)
    assert model.gravity.tolist() == list(gravity)
    share = np.sqrt(0.5) if planar == (0, 1, 1) else 1.0
    assert abs(mg.inverse_dynamics(model, [0.0])[0]) == pytest.approx(2 * 9.81 * 0.5 * share)


def test_gravity_that_is_given_stays() -> None:
    assert drawn(True, (0.5, 0, 0), gravity=(0, 0, -9.81)).gravity.tolist() == [0, 0, -9.81]
    assert drawn(False, (0.5, 0, 0)).gravity.tolist() == [0, 0, -9.81]
