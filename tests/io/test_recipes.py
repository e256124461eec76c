"""Recipes, motions and certificates in files: what is read back moves as it did, to the last bit."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import mechgrad as mg
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start, free_top
from mechgrad.io import (
    certificate_to_dict,
    load_recipe,
    load_trajectory,
    recipe_from_dict,
    recipe_to_dict,
    save_certificate,
    save_recipe,
    save_trajectory,
)
from mechgrad.steps.runge_kutta.tableau import RungeKutta


def sprung() -> mg.Model:
    spring = mg.forces.JointSpring("spring", "elbow", stiffness=3.0)
    model = double_pendulum()
    return mg.Model("sprung", model.bodies, model.joints, model.points, forces=[spring])


def closed(**how: Any) -> mg.Trajectory:
    model = five_bar()
    start = mg.assemble(model, {"A": -2.3, "P2.x": 0.4}, {"A": 0.3, "P2.x": -0.2}, guess=five_bar_start(), t=0.4)
    return mg.simulate(model, start, 0.02, **{"step": 1e-3, **how})


def left_free() -> mg.Trajectory:
    """The rate of something held is left free, and nothing else is held in its place."""
    model = five_bar()
    start = mg.assemble(model, {"A": -2.3, "P2.x": 0.4}, {"A": 0.3, "P2.x": None}, guess=five_bar_start())
    return mg.simulate(model, start, 0.02, step=1e-3)


def at_rest() -> mg.Trajectory:
    model, push = sprung(), mg.Load("upper", force=(1.0, 0, 0.5), point="upper.com", name="push")
    rest = mg.equilibrium(model, at={"shoulder": 0.4}, loads=[push], rates={"elbow": 0.7})
    return mg.simulate(model, rest, 0.1, tau=[0.1, -0.2], loads=[push, mg.Load("lower", torque=(0, 0.3, 0))])


def measured() -> mg.Trajectory:
    model = double_pendulum()
    reach = mg.measures.Distance("tip", "ground.origin", name="reach")
    return mg.simulate(model, mg.assemble(model, {"shoulder": 0.3, reach: 1.2}, guess=[0.3, 1.0]), 0.1)


def renamed() -> mg.Trajectory:
    """Held rates and start values of other names than coordinates, changed after the assembly."""
    wheel = mg.Body("body", 1.0, inertia=(0.1, 0.2, 0.3))
    model = mg.Model("free", [wheel], [mg.Floating("root", "ground", "body")])
    motion = mg.simulate(model, mg.assemble(model, {"root.x": 0.3}, {model.v_names[0]: 2.0}), 0.1)
    return motion.recipe.with_values({f"start.velocity.{model.v_names[0]}": 1.5}).simulate()


MOTIONS = {
    "given": lambda: mg.simulate(sprung(), mg.state(sprung(), [0.3, -0.2], [1.0, 0.1], t=2.0), 0.1, samples=7),
    "batch": lambda: mg.simulate(sprung(), mg.state(sprung(), [[0.3, -0.2], [0.1, 1 / 3]]), 0.05, step=1e-2),
    "ball": lambda: mg.simulate(free_top()[0], mg.state(free_top()[0], *free_top()[1:]), 0.02, rtol=1e-7, atol=1e-8),
    "assembled": closed,
    "left free": left_free,
    "measured": measured,
    "renamed": renamed,
    "at rest": at_rest,
    "matrix R": lambda: closed(formulation=mg.formulations.MatrixR(["A", "1"], reuse=False), scheme="hht"),
    "switched off": lambda: closed(formulation=mg.formulations.ALI3P(projection=None), reference="com"),
    "tableau": lambda: closed(formulation="index1", scheme=RungeKutta([[0, 0], [0.5, 0]], [0.0, 1.0])),
    "alpha": lambda: closed(formulation="penalty", scheme=mg.schemes.GeneralizedAlpha(0.7)),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_a_recipe_read_back_moves_to_the_last_bit(name: str, tmp_path: Path) -> None:
    motion = MOTIONS[name]()
    save_recipe(motion.recipe, tmp_path / "r.toml")
    recipe = load_recipe(tmp_path / "r.toml")
    again = recipe.simulate()
    for part in ("t", "q", "v", "a", "multipliers"):
        np.testing.assert_array_equal(getattr(again, part), getattr(motion, part))
    assert recipe.start.way == motion.recipe.start.way
    assert repr(recipe.formulation) == repr(motion.formulation)
    assert recipe.scheme == motion.scheme
    assert recipe_to_dict(recipe) == recipe_to_dict(motion.recipe)  # everything is there, and nothing wanders
    assert recipe_from_dict(json.loads(json.dumps(recipe_to_dict(recipe)))).model == motion.model


@pytest.mark.parametrize(
    ("name", "wrt"),
    [
        ("assembled", ["A1.mass", "1.origin.x", "start.position.A", "start.velocity.A"]),
        ("at rest", ["spring.stiffness", "start.position.shoulder", "push.force.x", "tau.elbow"]),
        ("measured", ["upper.mass", "elbow.origin.z", "start.position.reach"]),
    ],
)
def test_gradients_find_the_start_anew_in_the_same_way(name: str, wrt: list[str], tmp_path: Path) -> None:
    motion = MOTIONS[name]()
    save_recipe(motion.recipe, tmp_path / "r.toml")
    end = mg.AtEnd(mg.measures.JointVelocity(motion.model.v_names[1]))
    before, after = (mg.gradient(x, end, wrt) for x in (motion, load_recipe(tmp_path / "r.toml").simulate()))
    assert np.abs(before.array).min() > 1e-6  # every one of them has an influence
    np.testing.assert_allclose(after.array, before.array, rtol=1e-13)  # sums of threads and of BLAS have no fixed order
    assert after.held == before.held
    assert after.certify().passed


def test_what_no_file_can_hold() -> None:
    model = double_pendulum()
    swing = mg.simulate(model, [1.0, 0.5], 5.0, stop=lambda t, q, v: q[:, 0])
    with pytest.raises(mg.InputError, match=r"a stop condition, a function.*recipe\.changed\(stop=None"):
        recipe_to_dict(swing.recipe)
    push = mg.forces.UserForce("push", mg.measures.JointCoordinate("elbow"), lambda t, x, v: -x)
    mine = mg.Model("mine", model.bodies, model.joints, model.points, forces=[push])
    with pytest.raises(mg.ModelError, match="push"):
        recipe_to_dict(mg.simulate(mine, [1.0, 0.5], 0.1).recipe)
    turned = mg.simulate(model, mg.state(model, np.array([1.0 + 1e-20j, 0.5])), 0.01, step=1e-2)
    with pytest.raises(mg.InputError, match=r"start\.q is in the middle of a complex step"):
        recipe_to_dict(turned.recipe)


def changed(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    owner, *keys = content, *path.split(".")
    for key in keys[:-1]:
        owner = owner[key]
    if value is None:
        del owner[keys[-1]]
    else:
        owner[keys[-1]] = value
    return content


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("assembled", "start.q", [-2.2, 1.7, 1.2, 1.7], r"the positions of this state.*'B\.?.* by"),
        ("assembled", "start.at.A", -2.2, r"the positions of this state.*miss 'A' by -0\.1.*leave q and v out"),
        ("assembled", "start.v", [1.0, 0.0, 0.0, 0.0], "the velocities of this state"),
        ("assembled", "start.v", None, "q without v"),
        ("assembled", "start.way", "by magic", "unknown way 'by magic'"),
        ("assembled", "start.guess", [0.0] * 4, "q beside guess"),
        ("assembled", "start.tau", [0.0] * 4, "geometry decides an assembled start"),
        ("at rest", "start.q", [0.4, 1.0], "is left unbalanced"),
        ("at rest", "start.at.shoulder", 0.5, r"miss 'shoulder' by -0\.1"),
        ("at rest", "start.v", [0.0, 0.0], "velocities of an equilibrium follow from rates"),
        ("at rest", "tau", [0.0], r"tau has shape \(1,\)"),
        ("at rest", "loads", [{"body": "moon"}], "unknown body 'moon'"),
        ("at rest", "loads", [{"force": [1, 0, 0]}], r"loads\[0\]: 'body' is missing"),
        ("given", "start.at", {"shoulder": 0.3}, "q beside at"),
        ("given", "start.q", [[0.3], [0.2, 0.1]], "of one length"),
        ("given", "duration", None, "'duration' is missing"),
        ("given", "model", None, "'model' is missing"),
        ("given", "version", 2, r"in version 2 of the format; this mechgrad reads version 1"),
        ("given", "samples", 1, "samples is 1"),
        ("given", "reference", "moon", "unknown reference 'moon'"),
        ("given", "formulation.kind", "magic", "unknown formulation 'magic'"),
        ("given", "formulation.tolerance", "small", r"formulation\.tolerance is small; it must be one finite number"),
        ("given", "scheme", "runge-kutta", r"no usual numbers: give RungeKutta\(A, B\)"),
        ("tableau", "scheme.A", None, "scheme 'runge-kutta': 'A' is missing"),
        ("tableau", "scheme.B", [1.0, 1.0], "the sum of B is 2"),
    ],
)  # fmt: skip
def test_recipes_that_do_not_hold_are_refused(name: str, path: str, value: Any, message: str, tmp_path: Path) -> None:
    content = changed(recipe_to_dict(MOTIONS[name]().recipe), path, value)
    (tmp_path / "r.toml").write_text(tomli_w.dumps(content), encoding="utf-8")
    with pytest.raises(mg.InputError, match=message) as caught:
        load_recipe(tmp_path / "r.toml")
    assert str(tmp_path / "r.toml") in str(caught.value)


def test_recipes_written_by_hand(tmp_path: Path) -> None:
    """Starts are found, and what is left out is as `simulate` chooses it."""
    content: dict[str, Any] = {
        "duration": 0.1,
        "t0": 0.2,
        "formulation": "semi-recursive",
        "scheme": "hht",
        "step": 0.01,
    }
    content |= {"model": recipe_to_dict(at_rest().recipe)["model"]}
    content["start"] = {"way": "at rest", "at": {"shoulder": 0.4}, "guess": [0.4, 0.1]}
    (tmp_path / "r.toml").write_text(tomli_w.dumps(content), encoding="utf-8")
    recipe, rest = load_recipe(tmp_path / "r.toml"), mg.equilibrium(sprung(), [0.4, 0.1], at={"shoulder": 0.4})
    np.testing.assert_allclose(recipe.start.q, rest.q, atol=1e-12)
    assert (recipe.start.t, recipe.t0, recipe.rtol, repr(recipe.scheme)) == (0.2, 0.2, 1e-9, "HHT(damping=0.05)")
    content["start"] = {"at": {"shoulder": 0.4}, "rates": {"elbow": 1.0}}
    assert recipe_from_dict(content).start.v.tolist() == [0.0, 1.0]


def test_a_saved_motion_has_its_states_and_can_be_repeated(tmp_path: Path) -> None:
    motion = closed()
    save_trajectory(motion, tmp_path / "swing")
    saved = load_trajectory(tmp_path / "swing.npz")
    for part in ("t", "q", "v", "a", "multipliers", "norms"):
        np.testing.assert_array_equal(getattr(saved, part), getattr(motion, part))
    np.testing.assert_array_equal(saved.energy(), motion.energy())
    reach = mg.measures.PointPosition("P2")
    np.testing.assert_array_equal(saved.measured(reach), motion.measured(reach))
    heavier = saved.recipe.with_values({"A1.mass": 2.0}).simulate()
    np.testing.assert_array_equal(heavier.q, motion.recipe.with_values({"A1.mass": 2.0}).simulate().q)
    assert np.abs(heavier.q - motion.q).max() > 1e-4
    save_trajectory(saved, tmp_path / "copy")
    np.testing.assert_array_equal(load_trajectory(tmp_path / "copy").q, motion.q)


def test_the_gradient_of_a_saved_motion_is_that_of_its_recipe(tmp_path: Path) -> None:
    motion = closed()
    save_trajectory(motion, tmp_path / "swing")
    saved, end = load_trajectory(tmp_path / "swing"), mg.AtEnd(mg.measures.PointVelocity("P2"))
    expected = mg.gradient(motion, end, ["A1.mass", "start.position.A"])
    found = mg.gradient(saved, end, ["A1.mass", "start.position.A"])
    assert np.abs(expected.array).max() > 1e-3
    np.testing.assert_allclose(found.array, expected.array, rtol=1e-13)
    certificate = found.certify()
    assert certificate.passed
    assert certificate.recipe is saved.recipe


def test_states_that_are_not_those_of_the_recipe_have_no_gradient(tmp_path: Path) -> None:
    motion = closed()
    save_trajectory(motion, tmp_path / "swing")
    with np.load(tmp_path / "swing.npz") as archive:
        content = dict(archive)
    content["q"][7, 2] += 1e-3
    np.savez(tmp_path / "swing.npz", **content)
    with pytest.raises(mg.InputError, match=r"'2' differs by 0\.001 at t = 0\.407 s"):
        load_trajectory(tmp_path / "swing").repeated()
    for name, value, message in (
        ("q", content["q"][:, :2], r"q has shape \(21, 2\), where its recipe makes \(21, 4\)"),
        ("v", content["v"] * np.nan, "v is no array of finite numbers"),
        ("t", np.array(["a"]), "t is no array of finite numbers"),
        ("recipe", "duration = [", "recipe: not valid TOML"),
        ("version", 7, "in version 7"),
        ("format", "mechgrad motion", "does not say that it is a 'mechgrad trajectory'"),
    ):
        np.savez(tmp_path / "bad.npz", **{**content, name: value})
        with pytest.raises(mg.InputError, match=message) as caught:
            load_trajectory(tmp_path / "bad")
        assert str(tmp_path / "bad.npz") in str(caught.value)
    np.savez(tmp_path / "bad.npz", **{k: x for k, x in content.items() if k != "recipe"})
    with pytest.raises(mg.InputError, match="it has no recipe"):
        load_trajectory(tmp_path / "bad")
    with pytest.raises(mg.InputError, match="there is no such motion"):
        load_trajectory(tmp_path / "nowhere")
    with pytest.raises(mg.InputError, match="a State is no Trajectory"):
        save_trajectory(motion.recipe.start, tmp_path / "x")  # type: ignore[arg-type]


def test_certificates_say_and_keep_what_was_certified(tmp_path: Path) -> None:
    motion, end, wrt = closed(), mg.AtEnd(mg.measures.PointVelocity("P2")), ["A1.mass", "start.position.A"]
    certificate = mg.gradient(motion, end, wrt).certify()
    assert certificate.recipe is motion.recipe
    for what in ("five-bar", "ALI3P()", "Trapezoidal()", "steps of 0.001 s", "0.02 s from", "A = -2.3"):
        assert what in str(certificate)
    save_certificate(certificate, tmp_path / "c.json")
    kept = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert (kept["outcome"], kept["names"], kept["verdict"]) == ("passed", wrt, certificate.verdict)
    np.testing.assert_array_equal(kept["given"], certificate.analytic)
    again = mg.gradient(recipe_from_dict(kept["recipe"]).simulate(), end, kept["names"])
    np.testing.assert_allclose(again.array, kept["given"], rtol=1e-13)
    assert again.certify().passed


def test_certificates_of_what_no_file_can_hold_say_so() -> None:
    model = double_pendulum()
    push = mg.forces.UserForce("push", mg.measures.JointCoordinate("elbow"), lambda t, x, v: -x)
    mine = mg.Model("mine", model.bodies, model.joints, model.points, forces=[push])
    motion = mg.simulate(mine, [1.0, 0.5], 0.05, step=1e-2)
    kept = certificate_to_dict(mg.gradient(motion, mg.AtEnd(mg.measures.KineticEnergy()), ["upper.mass"]).certify())
    assert "push" in kept["recipe_missing"]
    assert "recipe" not in kept
    plain = certificate_to_dict(mg.certify(lambda x: x[0] ** 2, [2.0], [4.0]))
    assert plain["outcome"] == "passed"
    assert "recipe" not in plain
    assert "recipe_missing" not in plain


def test_the_text_is_toml_for_people(tmp_path: Path) -> None:
    save_recipe(at_rest().recipe, tmp_path / "r.toml")
    text = (tmp_path / "r.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    assert content == recipe_to_dict(at_rest().recipe)
    assert "[[model.bodies]]\n" in text
    assert "[[loads]]\n" in text
    assert content["start"]["loads"][0]["name"] == "push"
