"""What `linearise` refuses, and what its results say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from linearised_cases import CASES

import mechgrad as mg
from mechgrad.errors import SingularMassMatrixError
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start, four_bars

MODEL = double_pendulum()


@pytest.mark.parametrize(
    ("about", "more", "message"),
    [
        (mg.state(MODEL, [[0.1, 0.2], [0.3, 0.4]]), {}, "holds 2 starts"),
        (mg.state(MODEL, [0.1, np.nan]), {}, "not finite"),
        (mg.state(MODEL, [0.1, 0.2 + 1e-30j]), {}, "real numbers"),
        ({"shoulder": 0.1}, {"t": np.inf}, "t is inf"),
        (mg.state(MODEL, [0.1, 0.2]), {"t": 1.0}, "one of t = 0 s"),
        ({"knee": 0.1}, {}, "knee"),
        ({"shoulder": 0.1}, {"independent": ["shoulder"]}, r"independent names 1 coordinate.*has 2"),
        ({"shoulder": 0.1}, {"independent": "shoulder"}, r"lists of names: \['shoulder'\]"),
        ({"shoulder": 0.1}, {"independent": ["shoulder", "knee"]}, "knee"),
        ({"shoulder": 0.1}, {"tau": [1.0]}, r"tau has shape \(1,\)"),
        ({"shoulder": 0.1}, {"loads": [mg.Load("lower", np.zeros((3, 3)))]}, "loads of one state are constant"),
    ],
)
def test_refused(about: object, more: dict[str, object], message: str) -> None:
    with pytest.raises(mg.MechgradError, match=message):
        mg.linearise(MODEL, about, **more)  # type: ignore[arg-type]


def test_a_motion_needs_an_instant() -> None:
    motion = mg.simulate(MODEL, [0.1, 0.2], 0.1)
    with pytest.raises(mg.InputError, match=r"Give t between 0 and 0\.1 s"):
        mg.linearise(MODEL, motion)
    with pytest.raises(mg.InputError, match="not within the motion"):
        mg.linearise(MODEL, motion, t=0.2)
    batch = mg.simulate(MODEL, np.full((2, 2), 0.1), 0.1, step=0.01)
    with pytest.raises(mg.InputError, match=r"motion\.rows"):
        mg.linearise(MODEL, batch, t=0.05)


def test_a_motion_from_a_file_is_taken_again(tmp_path: Path) -> None:
    motion = mg.simulate(MODEL, [0.1, 0.2], 0.1, step=0.01)
    mg.io.save_trajectory(motion, tmp_path / "motion.npz")
    saved = mg.io.load_trajectory(tmp_path / "motion.npz")
    with pytest.raises(mg.InputError, match=r"motion\.repeated"):
        mg.linearise(saved.model, saved, t=0.05)
    again = saved.repeated()
    lin = mg.linearise(again.model, again, t=0.05)
    np.testing.assert_allclose(lin.A, mg.linearise(MODEL, motion, t=0.05).A, atol=1e-12)


def test_the_state_of_another_model() -> None:
    with pytest.raises(mg.InputError, match="belongs to another model"):
        mg.linearise(double_pendulum(), mg.state(MODEL, [0.1, 0.2]))


def test_a_loop_that_is_open() -> None:
    model = five_bar()
    with pytest.raises(mg.AssemblyError, match="does not meet constraint"):
        mg.linearise(model, five_bar_start() + 0.1 * np.eye(4)[0])


def test_a_change_point() -> None:
    """A parallelogram on one line."""
    model, start = four_bars(1)
    q, v = start(0.0, 0.0)
    with pytest.raises(mg.AssemblyError, match="singular configuration"):
        mg.linearise(model, mg.state(model, q, v))


def test_coordinates_at_a_dead_point() -> None:
    model, start = CASES["slider_crank"]()
    free = mg.linearise(model, start)
    assert len(free.coordinates) == 1
    five = five_bar()
    rest = mg.equilibrium(five, five_bar_start())
    with pytest.raises(mg.InputError, match=r"rates names '2', which is not among the independent"):
        mg.linearise(five, rest, independent=["A", "1"], rates=["A", "2"])


def test_a_body_without_inertia() -> None:
    bodies = [mg.Body("arm", 1.0, (0, 0, -1)), mg.Body("ghost", 0.0)]
    joints = [
        mg.Revolute("pin", "ground", "arm", axis=(0, 1, 0)),
        mg.Revolute("idle", "arm", "ghost", (0, 0, -1), axis=(0, 1, 0)),
    ]
    with pytest.raises(SingularMassMatrixError, match="inertia"):
        mg.linearise(mg.Model("ghost", bodies, joints), {"pin": 0.1})


def test_derivatives_by_what_there_is_not() -> None:
    lin = mg.linearise(MODEL, {"shoulder": 0.1, "elbow": 0.0})
    with pytest.raises(mg.MechgradError, match=r"upper\.maas"):
        lin.derivatives("upper.maas")
    with pytest.raises(mg.InputError, match="pattern"):
        lin.with_values({"*.mass": 1.0})
    with pytest.raises(mg.MechgradError, match=r"lower\.mass"):
        lin.derivatives("upper.mass").by("lower.mass")


def test_results_speak() -> None:
    model = MODEL
    lin = mg.linearise(model, mg.equilibrium(model, [0.1, 0.1]))
    text = repr(lin)
    assert text.startswith("Linearisation of 'double pendulum' about rest at t = 0 s: 4 states, 2 modes. Next: .modes")
    table = str(lin).splitlines()
    assert len(table) == 4
    assert "frequency [Hz]" in table[1]
    assert "shoulder" in table[2]
    mode = lin.modes[0]
    assert repr(mode).startswith("Mode(")
    assert f"{mode.frequency:.4f} Hz" in repr(mode)
    assert "by 1 parameters: upper.mass" in repr(lin.derivatives("upper.mass"))
    growing = mg.linearise(model, mg.equilibrium(model, [3.1, 0.0])).modes[0]
    assert "time constant" in repr(growing)
    assert growing.frequency == 0.0
    assert growing.damping_ratio == -1.0


def test_motions_of_modes() -> None:
    lin = mg.linearise(MODEL, mg.equilibrium(MODEL, [0.1, 0.1]))
    mode = lin.modes[1]
    t = np.linspace(0.0, 1.0 / mode.frequency, 9)
    q = mode.motion(t, 0.2)
    assert np.abs(q[0]).max() == pytest.approx(0.2)
    np.testing.assert_allclose(q[-1], q[0], atol=1e-12)
    np.testing.assert_allclose(q[4], -q[0], atol=1e-9)
    np.testing.assert_allclose(mode.motion(0.0, 0.2, phase=np.pi)[0], -q[0], atol=1e-12)
    with pytest.raises(mg.InputError, match="finite"):
        mode.motion([np.nan])
