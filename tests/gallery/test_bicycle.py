"""The benchmark bicycle: published eigenvalues; and what drift does to sensitivities."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError, MechgradError
from mechgrad.gallery import bicycle, bicycle_freedoms, bicycle_start, slider_crank

# Meijaard, Papadopoulos, Ruina and Schwab (2007), table 2 and section 5: eigenvalues [1/s] by speed [m/s]
PUBLISHED = {
    0.0: [-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393],
    5.0: [
        -14.07838969279822, -0.77534188219585 - 4.46486771378823j, -0.77534188219585 + 4.46486771378823j,
        -0.32286642900409,
    ],
}  # fmt: skip
WEAVE, CAPSIZE = 4.292382536341, 6.024262015388
WEIGHT = 94.0 * 9.81


@pytest.fixture(scope="module")
def example() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "examples" / "10_bicycle_drift.py"
    spec = importlib.util.spec_from_file_location("bicycle_drift", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("speed", PUBLISHED)
def test_eigenvalues_are_the_published_ones(example: ModuleType, speed: float) -> None:
    assert example.lateral_eigenvalues(speed) == pytest.approx(PUBLISHED[speed], abs=1e-11)


def test_stable_between_weave_and_capsize(example: ModuleType) -> None:
    growth = {v: example.lateral_eigenvalues(v).real.max() for v in (WEAVE - 0.01, WEAVE, 5.0, CAPSIZE, CAPSIZE + 0.01)}
    slow, weave, stable, capsize, fast = growth.values()
    assert slow > 1e-3
    assert stable < -0.3
    assert fast > 1e-3
    assert weave == pytest.approx(0.0, abs=1e-10)
    assert capsize == pytest.approx(0.0, abs=1e-10)


def test_rolling_start_leans_and_rolls() -> None:
    model = bicycle("rolling")
    start = bicycle_start(model, 4.0, lean=0.2)
    rows = mg.terms.constraint_terms(model, start.q, start.v)
    assert len(rows.names) == 6
    assert np.abs(rows.value).max() < 1e-14
    assert np.abs(rows.rate).max() < 1e-14
    hub = mg.kinematics.marker_motion(model, ["rear hub", "front hub"], start.q, start.v)
    assert hub.position[:, 2] == pytest.approx(np.cos(0.2) * np.array([0.30, 0.35]))
    assert hub.position[0, 1] == pytest.approx(-0.3 * np.sin(0.2))  # leaning to the right, y is left
    assert hub.velocity == pytest.approx(np.tile([4.0, 0.0, 0.0], (2, 1)))


@pytest.mark.parametrize(("contact", "stiffness"), [("tyres", 6e3), ("tyres", 6e4), ("ellipse tyres", 6e3)])
def test_on_tyres_it_runs_straight_at_its_depth_of_rest(contact: str, stiffness: float) -> None:
    model = bicycle(contact, stiffness=stiffness)
    start = bicycle_start(model)
    hub = mg.kinematics.marker_motion(model, ["rear hub", "front hub"], start.q)
    depth = np.array([0.30, 0.35]) - hub.position[:, 2]
    assert (depth > 0).all()
    assert stiffness * depth.sum() == pytest.approx(WEIGHT, rel=1e-10)
    assert np.abs(mg.forward_dynamics(model, start.q, start.v)).max() < 1e-9
    assert start.v[[0, 7, 8]] == pytest.approx([4.6, 4.6 / 0.30, 4.6 / 0.35])


def test_motors_follow_their_knots() -> None:
    model = bicycle(knots=3, duration=2.0, drive=[1.0, 5.0, -2.0], steer=0.5)
    assert [model.value(f"drive.torque.values.{k}") for k in range(3)] == [1.0, 5.0, -2.0]
    assert [model.value(f"steer.torque.values.{k}") for k in range(3)] == [0.5, 0.5, 0.5]
    start = bicycle_start(model)
    pushed = mg.terms.motion_terms(model, start.q, start.v, t=1.0).r
    assert pushed[[7, 6]] == pytest.approx([-5.0, -0.5], abs=1e-9)  # what the motors exert stands on the other side


@pytest.mark.parametrize("method", ["ali3p", "matrix-r"])
def test_gradients_on_ellipse_tyres_are_exact(method: str) -> None:
    """Both formulations, by torques, tyres and masses: direct, adjoint, complex steps, differences."""
    torques = {"drive": [4.0, -3.0, 9.0], "steer": [0.5, -1.0, 0.8]}
    model = bicycle("ellipse tyres", knots=3, duration=0.3, **torques)
    form = mg.formulations.ALI3P() if method == "ali3p" else mg.formulations.MatrixR(bicycle_freedoms())
    motion = mg.simulate(model, bicycle_start(model, lean=0.1), 0.3, step=2e-3, formulation=form, scheme="trapezoidal")
    hub, side = mg.measures.PointVelocity("rear hub"), mg.measures.PointPosition("side")
    goal = mg.Integral(lambda v, u: (np.sqrt((v * v).sum(-1)) - 4.5) ** 2 + u[:, 2] ** 2, hub, side)
    knots = [f"{motor}.torque.values.{k}" for motor in torques for k in range(3)]
    numbers = ["frame.mass", "rear tyre.stiffness", "front tyre.critical_angle", "rear tyre.restitution_damping"]
    g = mg.gradient(motion, goal, [*knots, *numbers], method="adjoint")
    np.testing.assert_allclose(mg.gradient(motion, goal, g.parameters, method="direct").array, g.array, rtol=1e-7)
    certificate = g.certify(tolerance=1e-7)
    assert certificate.passed, str(certificate)
    assert (np.abs(g.relative()) > 1e-6).all()


def test_both_formulations_move_alike() -> None:
    """Nine coordinates of points, vectors and hinges instead of those of joints; without names it is refused."""
    model = bicycle("ellipse tyres", knots=2, duration=1.0, steer=0.5)
    start, how = bicycle_start(model), {"step": 2e-3, "scheme": "trapezoidal"}
    one = mg.simulate(model, start, 0.5, formulation="ali3p", **how)
    other = mg.simulate(model, start, 0.5, formulation=mg.formulations.MatrixR(bicycle_freedoms()), **how)
    np.testing.assert_allclose(other.q[-1], one.q[-1], atol=2e-5)
    assert abs(one.markers(["side"]).position[-1, 0, 2]) > 0.02  # it falls over, slowly
    with pytest.raises(InputError, match="or name its independent coordinates"):
        mg.simulate(model, start, 0.5, formulation="matrix-r", **how)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"contact": "ice"}, "ice.*tyres"),
        ({"knots": 1}, "knots is 1"),
        ({"duration": 0.0}, "duration 0"),
        ({"drive": [1.0, 2.0]}, r"drive has shape \(2,\).*16"),
    ],
)
def test_says_what_is_wrong(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(MechgradError, match=message):
        bicycle(**wrong)  # type: ignore[arg-type]


def test_start_within_reason() -> None:
    with pytest.raises(InputError, match=r"lean 1\.5 rad"):
        bicycle_start(bicycle("rolling"), lean=1.5)


def test_sensitivities_drift_unless_projected() -> None:
    """Steps of 5 ms over 5 s: without projection the loop opens, and dq/dp is off much further than q is."""
    model = slider_crank(spring=True)
    start = mg.assemble(model, {"crank axis": 0.0}, {"crank axis": 6.0}, guess=model.neutral())

    def run(step: float, formulation: mg.formulations.Index1) -> mg.results.MotionSensitivities:
        motion = mg.simulate(model, start, duration=5.0, step=step, samples=51, scheme="rk4", formulation=formulation)
        return mg.motion_sensitivities(motion, ["slider.mass", "S1.stiffness"])

    exact = run(1e-3, mg.formulations.Index1())
    loose, held = run(5e-3, mg.formulations.Index1(projection=False)), run(5e-3, mg.formulations.Index1())

    def error(found: mg.results.MotionSensitivities) -> np.ndarray:
        return np.asarray(np.abs(found.q[-1] - exact.q[-1]).max(axis=0) / np.abs(exact.q).max(axis=(0, 1)))

    assert (error(loose) > 50 * error(held)).all()
    off = np.abs(loose.motion.q - exact.motion.q).max() / np.abs(exact.motion.q).max()
    assert np.abs(loose.q - exact.q).max() / np.abs(exact.q).max() > 5 * off

    def slope(found: mg.results.MotionSensitivities) -> np.ndarray:
        rows = mg.terms.constraint_terms(model, found.motion.q, found.motion.v)
        return np.asarray(np.abs(rows.gamma @ found.q).max(axis=(1, 2)))

    assert slope(held).max() < 1e-12
    assert slope(loose)[-1] > 1e-4


def test_drift_grows_with_the_square_of_time() -> None:
    """Undamped: the constraint and its derivative by parameters are both left by second-order drift."""
    model = slider_crank()
    start = mg.assemble(model, {"crank axis": 0.0}, {"crank axis": 6.0}, guess=model.neutral())
    motion = mg.simulate(
        model,
        start,
        duration=10.0,
        step=2.5e-3,
        samples=5,
        scheme="rk4",
        formulation=mg.formulations.Index1(projection=False),
    )
    slopes = mg.motion_sensitivities(motion, ["slider.mass"])
    rows = mg.terms.constraint_terms(model, motion.q, motion.v)
    gap, slope = np.abs(rows.value).max(axis=1), np.abs(rows.gamma @ slopes.q).max(axis=(1, 2))
    assert np.log2(gap[4] / gap[2]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(slope[4] / slope[2]) == pytest.approx(2.0, abs=0.2)
    assert motion.norms[:, 2].max() < 1e-9  # the second rate is kept all along
