"""Certificates of loops, constraints, forces and drivers: they pass, and every falsified part is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad.cli.main import app
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import bricard
from mechgrad.sensitivities import certify_model, element_check, gradient_by_tables


def crank(roller: bool = False) -> mg.Model:
    """A crank and a rod on a slide, driven, with a spring, a motor, friction and a ball that rolls on the slide."""
    bodies = [
        mg.Body(name, 1.0 + 0.3 * k, (0.2, -0.1, 0.05), (0.2, 0.3, 0.4)) for k, name in enumerate(("a", "b", "c"))
    ]
    joints = [
        mg.Revolute("pin", "ground", "a", axis=(0.0, 1.0, 0.0)),
        mg.Revolute("knee", "a", "b", (0.5, 0.0, 0.0), axis=(0.0, 1.0, 0.0)),
        mg.Revolute("wrist", "b", "c", (1.2, 0.0, 0.0), axis=(0.0, 1.0, 0.0)),
        mg.Prismatic("slide", "ground", "c", axis=(1.0, 0.0, 0.2)),
    ]
    points = [mg.Point("p", "b", (0.3, 0.1, 0.2)), mg.Point("post", "ground", (0.4, -0.2, 0.7))]
    constraints = [mg.constraints.Driver("drive", "pin", mg.functions.Harmonic(0.4, 1.3, phase=0.2))]
    forces = [
        mg.forces.SpringDamper("spring", "post", "p", 30.0, 2.0, 0.5),
        mg.forces.Motor("motor", "knee", mg.functions.Spline((0.0, 0.5, 1.0), (0.3, -0.4, 0.8))),
        mg.forces.JointFriction("friction", "wrist", 0.3, 0.1),
    ]
    vectors = []
    if roller:
        bodies.append(mg.Body("ball", 0.7, inertia=(0.02, 0.02, 0.02)))
        joints.append(mg.Floating("free", "ground", "ball"))
        vectors.append(mg.Vector("up", "ground", (0.0, 0.1, 1.0)))
        constraints.append(mg.constraints.Rolling("rolls", "ball.origin", 0.3, "up", contact=True, plane_point="post"))
    return mg.Model("crank", bodies, joints, points, vectors, constraints=constraints, forces=forces)


TITLES = [
    *(f"equations of motion by {x}" for x in ("coordinates", "velocities", "accelerations", "parameters")),
    *(f"constraints by {x}" for x in ("coordinates", "velocities", "accelerations", "parameters")),
    *(f"forward dynamics by {x}" for x in ("coordinates", "velocities", "forces", "parameters")),
    *(f"inverse dynamics by {x}" for x in ("coordinates", "velocities", "accelerations", "parameters")),
    *(f"markers by {x}" for x in ("coordinates", "velocities", "accelerations", "parameters")),
]
WRT = ["b.mass", "b.com.x", "knee.origin.x", "slide.axis.z", "drive.*", "spring.*", "motor.torque.values.1",
       "friction.*", "p.position.y"]  # fmt: skip


@pytest.mark.parametrize("roller", [False, True])
def test_loops_forces_and_drivers_pass_in_all_families(roller: bool) -> None:
    result = certify_model(crank(roller), wrt=WRT, seed=3, samples=2)
    assert result.passed, str(result)
    assert [c.title for c in result] == TITLES
    assert all(np.max(c.influence) > 0.05 for c in result)
    judges = {c.title: c.judge for c in result}
    assert judges["equations of motion by coordinates"] == "complex step"
    assert judges["equations of motion by parameters"] == "complex step"
    assert judges["constraints by coordinates"] == "central differences"
    by_numbers = result["equations of motion by parameters"]
    felt = dict(zip(by_numbers.names, by_numbers.influence, strict=True))
    for path in ("spring.stiffness", "spring.damping", "motor.torque.values.1", "friction.coulomb", "knee.origin.x"):
        assert felt[path] > 1e-3, path
    driven = dict(
        zip(result["constraints by parameters"].names, result["constraints by parameters"].influence, strict=True)
    )
    assert driven["drive.function.amplitude"] > 1e-3
    assert not set(result["inverse dynamics by parameters"].names) & {"spring.stiffness", "drive.function.amplitude"}
    assert any("those of the tree" in note for note in result.notes)
    accelerations = result["forward dynamics by parameters"]
    assert set(accelerations.names) == set(by_numbers.names)
    assert any(name.startswith("lam of ") for name in accelerations.outputs)
    for path in ("spring.stiffness", "drive.function.amplitude", "slide.axis.z"):
        assert dict(zip(accelerations.names, accelerations.influence, strict=True))[path] > 1e-3, path


@pytest.mark.parametrize(
    ("function", "key", "title"),
    [
        *(("motion_terms", k, t) for k, t in zip(("r_q", "r_v", "M"), TITLES[:3], strict=True)),
        ("TableGradient", "by_parameters", TITLES[3]), ("TableGradient", "by_parameters", TITLES[7]),
        *(("constraint_terms", k, t) for k, t in (
            ("gamma", TITLES[4]), ("rate_q", TITLES[4]), ("second_q", TITLES[4]), ("second_v", TITLES[5]),
            ("gamma", TITLES[6]))),
    ],
)  # fmt: skip
def test_every_falsified_part_is_found(monkeypatch: pytest.MonkeyPatch, function: str, key: str, title: str) -> None:
    if function == "TableGradient":
        honest = gradient_by_tables.TableGradient.by_parameters
        monkeypatch.setattr(gradient_by_tables.TableGradient, key, lambda self: honest(self) * (1.0 + 1e-4))
    else:
        honest = getattr(element_check, function)

        def falsified(*args: object, **options: object) -> object:
            found = honest(*args, **options)
            return replace(found, **{key: getattr(found, key) * (1.0 + 1e-4)})

        monkeypatch.setattr(element_check, function, falsified)
    family = title.rpartition(" by ")[0]
    result = certify_model(crank(), wrt=["knee.origin.x", "spring.stiffness"], families=[family])
    assert not result.passed
    assert result[title].outcome == "failed", str(result)


@pytest.mark.parametrize("of_multipliers", [False, True])
@pytest.mark.parametrize(("key", "title"), list(zip(("dq", "dv", "dtau", "dp"), TITLES[8:12], strict=True)))
def test_every_falsified_acceleration_is_found(monkeypatch: pytest.MonkeyPatch, of_multipliers, key, title) -> None:
    honest = element_check.forward_dynamics_derivatives

    def falsified(*args: object, **options: object) -> object:
        found = honest(*args, **options)
        block = found.multipliers if of_multipliers else found
        block = replace(block, **{key: getattr(block, key) * (1.0 + 1e-4)})
        return replace(found, multipliers=block) if of_multipliers else block

    monkeypatch.setattr(element_check, "forward_dynamics_derivatives", falsified)
    result = certify_model(crank(roller=True), wrt=["ball.mass", "post.position.x"], families=["forward dynamics"])
    assert [c.title for c in result if c.outcome == "failed"] == [title], str(result)


def test_rows_that_depend_on_each_other_are_left_to_others() -> None:
    result = certify_model(bricard(), wrt=(), q=bricard().neutral())
    assert result.passed
    assert not any(c.title.startswith("forward dynamics") for c in result)
    assert any("forward dynamics is not checked: constraint rows depend" in note for note in result.notes)


def test_families_can_be_chosen_and_no_steps_asked_for() -> None:
    result = certify_model(crank(), wrt=(), families=["equations of motion"], steps=())
    assert [c.title for c in result] == TITLES[:3]
    assert result.passed
    with pytest.raises(UnknownNameError, match="equations of motion"):
        certify_model(crank(), families=["equations"])


def test_loads_and_users_derivatives_of_the_tree() -> None:
    load = mg.Load("b", force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3), point="p", name="push")
    result = certify_model(crank(), loads=[load], wrt=["push.force.*", "spring.stiffness"])
    assert result.passed, str(result)
    for family in ("inverse dynamics", "forward dynamics"):
        assert "push.force.x" in result[f"{family} by parameters"].names

    def mine(model: mg.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, object]:
        return {"da": mg.mass_matrix(model, q).dense()}

    assert certify_model(crank(), wrt=(), derivatives=mine).passed


def test_the_command_takes_loops() -> None:
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["check", "five_bar", "--wrt", "S1.*", "--wrt", "A1.mass"])
    assert result.exit_code == 0, result.output
    for title in ("equations of motion by coordinates", "constraints by coordinates", "passed: "):
        assert title in result.output
