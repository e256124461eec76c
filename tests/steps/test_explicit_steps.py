"""Derivatives of motions by explicit steps: direct against complex steps, adjoint against direct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.random_trees import ALL_KINDS, random_state, random_tree

import mechgrad as mg
from mechgrad.dynamics.states import StateGradients
from mechgrad.dynamics.system import System
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start, slider_crank
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.sensitivities.gradient_by_tables import TableGradient
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.repeat import repeated
from mechgrad.simulation.starts.base import coordinate_names
from mechgrad.steps.base import Sweeps
from mechgrad.steps.runge_kutta import dop853
from mechgrad.steps.runge_kutta.constraint_correction import turned
from mechgrad.steps.runge_kutta.held_steps import report_weights
from mechgrad.steps.runge_kutta.methods import METHODS
from mechgrad.steps.runge_kutta.pieces import RungeKuttaSteps

EXPLICIT = METHODS[0]

STEP = 1e-30
FIVE_BAR = [
    "S1.free_length", "S2.stiffness", "A1.mass", "A1.com.x", "1.origin.x", "P1.position.x", "gravity.y",
    "B.child_origin.x", "12.inertia.zz", "start.position.A", "start.velocity.1",
]  # fmt: skip
CRANK = [
    "rod.mass", "rod.com.y", "crank.inertia.xx", "S1.damping", "slide.origin.y", "B.origin.x", "C.child_origin.x",
    "gravity.z",
]  # fmt: skip


def tangent(model: mg.Model, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Changes of coordinates along `model.integrate`."""
    layout, out = model.layout, np.zeros((len(q), model.n_v))
    out[:, layout.plain_v] = dq[:, layout.plain_q]
    atoms = System(model).T.atoms_i
    for k, j in atoms[atoms[:, KIND] == BALL][:, [Q_AT, V_AT]]:
        e, d = q[:, k : k + 4], dq[:, k : k + 4]
        vector = e[:, :1] * d[:, 1:] - d[:, :1] * e[:, 1:] - np.cross(d[:, 1:], e[:, 1:])
        out[:, j : j + 3] = 2.0 * vector / np.sum(e * e, axis=1)[:, None]
    return out


def compared(motion: mg.Trajectory, wrt: list[str], tolerance: float = 1e-9) -> None:
    """Direct derivatives against complex steps through the simulation, adjoint ones against direct ones."""
    parameters, sweeps = Parameters(motion, wrt), EXPLICIT.sweeps(motion.record)
    dq, dv = parameters.start.slopes(parameters)
    found = sweeps.direct(parameters, dq, dv)
    for k, name in enumerate(parameters.names):
        values = parameters.values() + 0j
        values[k] += 1j * STEP
        other = repeated(motion, parameters, values)
        exact = (tangent(motion.model, motion.q, other.q.imag / STEP), other.v.imag / STEP, other.a.imag / STEP,
                 other.multipliers.imag / STEP)  # fmt: skip
        assert np.abs(exact[0]).max() > 1e-7, f"{name} has no influence"
        for what, mine, true in zip(("q", "v", "a", "lam"), found, exact, strict=True):
            error = np.abs(mine[:, k] - true).max(initial=0.0) / max(np.abs(true).max(initial=0.0), 1e-6)
            assert error < tolerance, f"{what} by {name}: {error:.2e}"
    transposed(motion, parameters, sweeps, dq, dv, found)


def transposed(
    motion: mg.Trajectory, parameters: Parameters, sweeps: Sweeps, dq: np.ndarray, dv: np.ndarray, found: Any
) -> None:
    rng = np.random.default_rng(5)
    g = StateGradients(*(rng.normal(size=(len(motion.t), 2, x.shape[2])) for x in found))
    weights: list = []
    yq, yv = sweeps.adjoint(g, weights.append)
    tables = TableGradient(motion.system, 2, parameters)
    for weight in weights:
        tables.add(weight)
    gradient = yq @ dq.T + yv @ dv.T + tables.by_parameters()
    parts = np.stack([np.einsum("toi,tpi->op", a, b) for a, b in zip(g, found, strict=True)])
    size = np.abs(parts).sum(axis=0).max(axis=0)
    np.testing.assert_allclose(gradient / size, parts.sum(axis=0) / size, atol=1e-11)


def tree_motion(**how: Any) -> tuple[mg.Trajectory, list[str]]:
    model = random_tree(1, len(ALL_KINDS), massless=0.0)
    q, v, _ = random_state(model, 1)
    wrt = ["b0.mass", "b3.com.x", "j1.origin.y", "b8.inertia.xy", "gravity.z", "j8.child_origin.x"]
    wrt += [f"start.position.{name}" for name in coordinate_names(model)[0][::3]]
    wrt += [f"start.velocity.{name}" for name in model.v_names[1::4]]
    return mg.simulate(model, mg.state(model, q, v), duration=0.06, samples=4, **how), wrt


@pytest.mark.parametrize("how", [{"scheme": "rk4", "step": 5e-3}, {"scheme": "dop853"}], ids=["rk4", "dop853"])
def test_trees_with_every_joint_kind(how: dict[str, Any]) -> None:
    motion, wrt = tree_motion(**how)
    compared(motion, wrt)


def five_bar_motion(formulation: Any, scheme: str, step: float | None, samples: int, duration: float) -> mg.Trajectory:
    model, start = five_bar(), five_bar_start()
    held = mg.assemble(model, {"A": start[0], "1": start[1]}, {"A": 0.3, "1": -0.2}, guess=start)
    return mg.simulate(
        model, held, duration=duration, formulation=formulation, scheme=scheme, step=step, samples=samples
    )


@pytest.mark.parametrize(
    "formulation",
    [
        mg.formulations.Index1(projection=False),
        mg.formulations.Index1(),
        mg.formulations.Penalty(penalty=1e6),
        mg.formulations.MatrixR(),
    ],
    ids=["unprojected", "projected", "penalty", "matrix-r"],
)
def test_loops_with_fixed_steps(formulation: Any) -> None:
    # such long steps that corrections need two repetitions, whose derivatives then matter
    compared(five_bar_motion(formulation, "rk4", 0.02, 11, 0.4), FIVE_BAR)


@pytest.mark.parametrize(
    "formulation", [mg.formulations.Index1(), mg.formulations.MatrixR()], ids=["projected", "matrix-r"]
)
def test_loops_with_error_control(formulation: Any) -> None:
    compared(five_bar_motion(formulation, "dop853", None, 6, 0.4), FIVE_BAR)


@pytest.mark.parametrize(
    "formulation",
    [
        mg.formulations.Index1(),
        mg.formulations.MatrixR(["crank axis"]),
        mg.formulations.MatrixR(["PC.x"]),
    ],  # of a point, the ball is felt in every stage
    ids=["projected", "coordinate", "point"],
)
def test_a_loop_with_a_ball(formulation: Any) -> None:
    model = slider_crank(cut="slide", spring=True)
    start = mg.assemble(model, {"crank axis": 0.3}, {"crank axis": 2.0})
    motion = mg.simulate(model, start, duration=0.2, formulation=formulation, scheme="rk4", step=0.01, samples=11)
    compared(motion, [*CRANK, "start.position.crank axis", "start.velocity.crank axis"])


def test_rows_at_velocity_level() -> None:
    """A disc that leans, wobbles along a curve and does not slip."""
    up, axle = mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "disc", (0, 1, 0))
    rolls = mg.constraints.Rolling(
        "rolls", "disc.origin", 0.3, "up", kind="wheel", axis="axle", contact=True, plane_point="ground.origin"
    )
    model = mg.Model(
        "disc", [mg.Body("disc", 2.0, inertia=(0.045, 0.09, 0.045))], [mg.Floating("free", "ground", "disc")],
        vectors=[up, axle], gravity=(0.3, 0.2, -9.81), constraints=[rolls],
    )  # fmt: skip
    lean, speed = 0.2, 4.0
    q = model.neutral()
    q[2], q[3:7] = 0.3 * np.cos(lean), (np.cos(lean / 2), np.sin(lean / 2), 0, 0)
    spin = np.array([0.0, np.cos(lean), np.sin(lean)]) * speed
    v = np.r_[np.cross(spin, [0, 0.3 * np.sin(-lean), 0.3 * np.cos(lean)]), spin]
    motion = mg.simulate(model, mg.state(model, q, v), 0.4, scheme="rk4", step=0.02, samples=6)
    compared(motion, ["disc.mass", "disc.inertia.xx", "disc.inertia.xy", "gravity.x", "gravity.z"])


def test_rows_that_follow_time() -> None:
    links = [mg.Body(name, 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1)) for name in ("upper", "lower")]
    joints = [
        mg.Revolute("s", "ground", "upper", axis=(0, 1, 0)),
        mg.Revolute("e", "upper", "lower", (0, 0, -1), axis=(0, 1, 0)),
    ]
    drive = mg.constraints.Driver("drive", "s", mg.functions.Harmonic(0.4, frequency=3.0))
    model = mg.Model("driven", links, joints, gravity=(0, 0, -9.81), constraints=[drive])
    start = mg.assemble(model, {"e": 0.3}, {"e": 0.1})
    motion = mg.simulate(model, start, duration=0.4, scheme="rk4", step=0.02, samples=6, formulation="index1")
    compared(motion, ["drive.function.amplitude", "drive.function.frequency", "lower.mass", "start.velocity.e"])


def test_spans_do_not_matter() -> None:
    """A motion worked off in many short spans has the same derivatives."""
    motion, wrt = tree_motion(scheme="dop853")
    parameters, (whole, parts) = Parameters(motion, wrt), (EXPLICIT.sweeps(motion.record) for _ in range(2))
    parts.steps.chunk = 1
    dq, dv = parameters.start.slopes(parameters)
    for one, other in zip(whole.direct(parameters, dq, dv), parts.direct(parameters, dq, dv), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12 * np.abs(one).max(initial=1.0))
    transposed(motion, parameters, parts, dq, dv, whole.direct(parameters, dq, dv))


def test_weights_of_reports() -> None:
    """The interpolant moves with the mean of the stages, begins at the start and ends with the step."""
    shares = np.array([0.0, 0.3, 0.8, 1.0])
    weights = report_weights(shares)
    np.testing.assert_allclose(weights.sum(axis=1), shares, atol=1e-13)
    np.testing.assert_allclose(weights[0], 0.0, atol=1e-15)
    np.testing.assert_allclose(weights[-1, : dop853.STAGES], dop853.B, atol=1e-15)


def test_a_correction_turns_balls() -> None:
    """E and D of a step d against moving a ball by a complex step."""
    model = mg.Model("ball", [mg.Body("b", 1.0)], [mg.Spherical("j", "ground", "b")])
    rng = np.random.default_rng(2)
    q = model.integrate(model.neutral(), rng.normal(size=3))
    for d in (rng.normal(size=3), 1e-3 * rng.normal(size=3)):
        E, D = turned(System(model).T.atoms_i, d[None])
        moved = np.asarray(model.integrate(q, d))
        for j, unit in enumerate(np.eye(3)):
            before = model.integrate(model.integrate(q + 0j, 1j * STEP * unit), d)
            along = model.integrate(q + 0j, d + 1j * STEP * unit)
            for matrix, change in ((E, before), (D, along)):
                true = tangent(model, moved[None], np.asarray(change).imag[None] / STEP)[0]
                np.testing.assert_allclose(matrix[0, :, j], true, atol=1e-12)


def test_motions_that_have_none() -> None:
    model = double_pendulum()
    stopped = mg.simulate(model, [1.0, 0.5], duration=2.0, stop=lambda t, q, v: q[:, 0])
    with pytest.raises(mg.InputError, match="moves with the parameters"):
        RungeKuttaSteps(stopped.record)
    batch = mg.simulate(model, [[1.0, 0.5]] * 2, duration=0.02, step=0.01)
    with pytest.raises(mg.InputError, match="one real start"):
        RungeKuttaSteps(batch.record)
    implicit = mg.simulate(model, [1.0, 0.5], duration=0.02, step=0.01, scheme="trapezoidal")
    with pytest.raises(mg.InputError, match="not made by explicit steps"):
        RungeKuttaSteps(implicit.record)
