"""Names that look like patterns, and names that look like paths of something else."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg


def arms(*names: str) -> mg.Model:
    """Pendulums of different mass, each called like its body, on hinges "pin k"."""
    bodies = [mg.Body(name, 1.0 + k, (0.1, 0.2, -1)) for k, name in enumerate(names)]
    joints = [mg.Revolute(f"pin {k}", "ground", name, axis=(0, 1, 0)) for k, name in enumerate(names)]
    return mg.Model("arms", bodies, joints)


@pytest.mark.parametrize("name", ["link[1]", "what?", "a*b", "[", "arm.link[1]", "x[!y]"])
def test_exact_names_are_found_whatever_their_characters(name: str) -> None:
    model = arms("link1", name, "whats", "ab", "arm.link1")
    q = np.full(5, 0.3)
    plain = mg.inverse_dynamics_derivatives(arms("link1", "plain", "whats", "ab", "arm.link1"), q, wrt=["plain.mass"])
    assert np.abs(plain.dp.dense()).max() > 1.0
    for wrt in (f"{name}.mass", [f"{name}.mass"]):
        D = mg.inverse_dynamics_derivatives(model, q, wrt=wrt)
        assert D.parameters == (f"{name}.mass",)
        np.testing.assert_array_equal(D.dp.dense(), plain.dp.dense())
    assert [p.path for p in model.parameters(f"{name}.mass")] == [f"{name}.mass"]
    assert [p.path for p in model.parameters(f"{name}.com.*")] == [f"{name}.com.{axis}" for axis in "xyz"]
    assert mg.inverse_dynamics_derivatives(model, q, wrt=f"{name}.com.?").parameters == tuple(
        f"{name}.com.{axis}" for axis in "xyz"
    )


def test_patterns_stay_patterns_where_no_name_is_like_them() -> None:
    model = arms("link1", "link2", "link[3]", "lever")
    paths = [p.path for p in model.parameters("link[12].mass")]
    assert paths == ["link1.mass", "link2.mass"]
    assert [p.path for p in model.parameters("link*.mass")] == ["link1.mass", "link2.mass", "link[3].mass"]
    assert [p.path for p in model.parameters("l*r.mass")] == ["lever.mass"]
    assert [p.path for p in model.parameters("*link[3].mass")] == []  # a part of a word is no name
    assert mg.inverse_dynamics_derivatives(model, np.zeros(4), wrt=["link[3].mass", "link[12].mass"]).parameters == (
        "link[3].mass",
        "link1.mass",
        "link2.mass",
    )
    with pytest.raises(mg.ModelError, match="nothing matches"):
        mg.inverse_dynamics_derivatives(model, np.zeros(4), wrt="link[45].mass")


def test_names_like_patterns_in_gradients_of_motions() -> None:
    """By the path of a number, of a start value and of a force; against the same model with plain names."""

    def gradient(body: str, pin: str) -> mg.Gradient:
        bodies = [mg.Body(body, 1.5, (0.1, 0, -1)), mg.Body("b1", 2.0, (0, 0, -1))]
        joints = [mg.Revolute(pin, "ground", body, axis=(0, 1, 0)), mg.Revolute("p1", body, "b1", axis=(0, 1, 0))]
        swing = mg.simulate(mg.Model("m", bodies, joints), [0.3, 0.1], duration=0.3, step=0.1, tau=[1.0, 0.5])
        wrt = [f"{body}.mass", f"start.position.{pin}", f"tau.{pin}", f"start.veloc*.{pin}"]
        return mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("p1")), wrt)

    special, plain = gradient("b[1]", "p[1]"), gradient("body", "pin")
    assert special.parameters == ("b[1].mass", "start.position.p[1]", "tau.p[1]", "start.velocity.p[1]")
    assert np.abs(plain.array).min() > 1e-4
    np.testing.assert_allclose(special.array, plain.array, rtol=1e-12)


@pytest.mark.parametrize("name", ["start", "tau", "start.position", "tau.pin", "load.0", "load.12.force"])
@pytest.mark.parametrize(
    "build",
    [
        lambda name: arms(name),
        lambda name: mg.Model("m", [mg.Body("b")], [mg.Revolute(name, "ground", "b")]),
        lambda name: mg.Model("m", [mg.Body("b")], [mg.Fixed("f", "ground", "b")], [mg.Point(name, "b")]),
        lambda name: mg.Model(
            "m", [mg.Body("b", 1.0)], [mg.Fixed("f", "ground", "b")],
            variables=[mg.DesignVariable(name, {"b.mass": 1.0}, value=1.0)],
        ),
    ],
)  # fmt: skip
def test_reserved_words_are_refused(build, name: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(mg.ModelError) as error:
        build(name)
    for text in (repr(name), "reserved", repr(name.split(".")[0]), "another name"):
        assert text in str(error.value)


@pytest.mark.parametrize("name", ["load", "starter", "start_position", "taut", "load.ring", "upload.0"])
def test_words_that_only_begin_alike_are_fine(name: str) -> None:
    assert arms(name).value(f"{name}.mass") == 1.0
