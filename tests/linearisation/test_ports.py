"""Inputs and outputs: B, C and D against closed forms, differences of accelerations, and transfer functions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from linearised_cases import CASES

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start

G, L, M = 9.81, 1.3, 2.0
Position, Acceleration, Angle = (
    mg.measures.PointPosition, mg.measures.PointAcceleration, mg.measures.JointCoordinate,
)  # fmt: skip


def pendulum() -> mg.Model:
    bob = mg.Body("bob", M, (0, 0, -L))
    return mg.Model(
        "pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))], [mg.Point("tip", "bob", (0, 0, -L))],
        forces=[mg.forces.Motor("motor", "pin", 0.0)],
    )  # fmt: skip


def test_pendulum() -> None:
    """x = -l sin(q) with this sign of the axis; its acceleration follows the torque at once."""
    load = mg.Load("bob", (0.0, 0.0, 0.0), point="tip", name="push")
    inputs = ["pin", "motor", "motor.torque.value", "push.force.x", "bob.mass"]
    lin = mg.linearise(
        pendulum(), {"pin": 0.0}, loads=[load], inputs=inputs,
        outputs={"tip": Position("tip"), "shake": Acceleration("tip")},
    )  # fmt: skip
    inertia = M * L**2
    np.testing.assert_allclose(lin.B, [[0, 0, 0, 0, 0], [1 / inertia, 1 / inertia, 1 / inertia, -L / inertia, 0]],
                               atol=1e-14)  # fmt: skip
    assert lin.outputs == ("tip[0]", "tip[1]", "tip[2]", "shake[0]", "shake[1]", "shake[2]")
    np.testing.assert_allclose(lin.C[0], [-L, 0], atol=1e-14)
    np.testing.assert_allclose(lin.C[3], [G, 0], atol=1e-13)
    np.testing.assert_allclose(lin.D[0], 0.0)
    np.testing.assert_allclose(lin.D[3], [-L / inertia, -L / inertia, -L / inertia, L**2 / inertia, 0.0], atol=1e-14)
    np.testing.assert_allclose(lin.y0, [0, 0, -L, 0, 0, 0], atol=1e-14)


def accelerated(model: mg.Model, start: mg.State, names: list[str], tau: np.ndarray) -> np.ndarray:
    """z' and u' with the named coordinates and their rates where the start has them."""
    at = {n: start.q[model.q_names.index(n)] for n in names}
    rates = {n: start.v[model.v_names.index(n)] for n in names}
    state = mg.assemble(model, at, rates, guess=start.q, t=start.t)
    a = mg.forward_dynamics(model, state.q, state.v, tau, t=start.t)
    columns = [model.v_names.index(n) for n in names]
    return np.concatenate([state.v[columns], a[columns]])


@pytest.mark.parametrize(
    ("case", "names", "path"),
    [
        ("moving_five_bar", ["A", "1"], "L_A1"),
        ("moving_five_bar", ["A", "1"], "12.mass"),
        ("slider_crank", ["crank axis"], "crank axis.origin.z"),
        ("linkage", ["h0", "h1", "h2"], "motor.torque.values.1"),
    ],
)
def test_numbers_of_loops_as_inputs(case: str, names: list[str], path: str) -> None:
    """Loops close again with a number changed: differences of order four."""
    model, start = CASES[case]()
    lin = mg.linearise(model, start, independent=names, inputs=[path, names[0]])
    value, tau = model.value(path), np.zeros(model.n_v)
    h = 1e-3 * max(abs(value), 0.1)
    moved = [accelerated(model.with_values({path: value + s * h}), start, names, tau) for s in (2, 1, -1, -2)]
    wanted = (8 * (moved[1] - moved[2]) - (moved[0] - moved[3])) / (12 * h)
    assert np.abs(wanted).max() > 1e-3
    np.testing.assert_allclose(lin.B[:, 0], wanted, atol=1e-7 * np.abs(wanted).max())
    tau[model.v_names.index(names[0])] = 1.0
    wanted = accelerated(model, start, names, tau) - accelerated(model, start, names, 0 * tau)
    np.testing.assert_allclose(lin.B[:, 1], wanted, atol=1e-10 * np.abs(wanted).max())


def test_outputs_of_loops() -> None:
    """C and D of positions, accelerations, multipliers and energies: by the measure in states beside."""
    model, start = CASES["moving_five_bar"]()
    names = ["A", "1"]
    row = mg.terms.constraint_terms(model, start.q).names[0]
    outputs = [Position("P2"), Acceleration("P2"), mg.measures.Multiplier(row), mg.measures.KineticEnergy(),
               mg.measures.Effort("S1")]  # fmt: skip
    lin = mg.linearise(model, start, independent=names, inputs=["A"], outputs=outputs)

    def measured(z: np.ndarray, torque: float) -> np.ndarray:
        at = {n: start.q[model.q_names.index(n)] + z[k] for k, n in enumerate(names)}
        rates = {n: start.v[model.v_names.index(n)] + z[k + 2] for k, n in enumerate(names)}
        beside = mg.assemble(model, at, rates, guess=start.q)
        return mg.linearise(
            model, beside, tau=[torque, 0, 0, 0], independent=names, outputs=outputs
        ).y0  # fmt: skip

    h = 1e-4
    for k in range(5):
        x = [measured(s * h * np.eye(5)[k, :4], s * h * np.eye(5)[k, 4]) for s in (2, 1, -1, -2)]
        wanted = (8 * (x[1] - x[2]) - (x[0] - x[3])) / (12 * h)
        got = lin.C[:, k] if k < 4 else lin.D[:, 0]
        assert np.abs(wanted).max() > 1e-2
        np.testing.assert_allclose(got, wanted, atol=1e-7 * max(1.0, np.abs(wanted).max()))
    assert np.abs(lin.D[3:6, 0]).max() > 1e-3


def test_static_gain_of_a_loop() -> None:
    """-C A^-1 B + D is how the equilibrium moves: the derivative that `gradient` gives."""
    model, rest = CASES["resting_five_bar"]()
    lin = mg.linearise(model, rest, inputs=["12.mass", "tau.A"], outputs=Position("P2"))
    gain = lin.D - lin.C @ np.linalg.solve(lin.A, lin.B)
    wanted = mg.gradient(rest, mg.AtEnd(Position("P2")), ["12.mass", "tau.A"]).array
    assert np.abs(wanted).max(axis=0).min() > 1e-4
    np.testing.assert_allclose(gain, wanted, atol=1e-10)


def test_steering_torque_of_the_bicycle() -> None:
    """Torque at the steering acts on lean and steering by the inverse of the published mass matrix."""
    model = bicycle("rolling")
    lin = mg.linearise(model, bicycle_start(model, 5.0), rates=["root.wx", "steering", "root.x"], inputs=["steer"])
    rows = [lin.states.index(f"rate of {name}") for name in ("root.wx", "steering")]
    mass = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    np.testing.assert_allclose(lin.B[rows, 0], np.linalg.solve(mass, [0, 1]) * [-1, 1], atol=1e-11)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"inputs": "pin"}, r"give a list of names: \['pin'\]"),
        ({"inputs": ["pn"]}, "pn"),
        ({"inputs": ["start.position.pin"]}, "number of the start"),
        ({"inputs": ["*.mass*"]}, "pattern"),
        ({"outputs": ["tip"]}, "outputs hold 'tip'; give measures"),
        ({"outputs": {"x": 3}}, "output 'x' is 3"),
        ({"outputs": [Position("nose")]}, "nose"),
    ],
)
def test_says_what_is_wrong(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(mg.MechgradError, match=message):
        mg.linearise(pendulum(), {"pin": 0.0}, **wrong)  # type: ignore[arg-type]


def test_redundant_rows_share_no_multiplier() -> None:
    model, start = CASES["stated_twice"]()
    row = mg.terms.constraint_terms(model, start.q).names[0]
    with pytest.raises(mg.InputError, match="how they share a load is open"):
        mg.linearise(model, start, outputs=mg.measures.Multiplier(row))
    assert mg.linearise(model, start, outputs=Position("P2")).C.shape == (3, 4)
    with pytest.raises(mg.AssemblyError, match="torn apart"):
        mg.linearise(model, start, inputs=["PB.position.x"])
