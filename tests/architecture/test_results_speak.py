"""What results say of themselves: what they are, how large, how they ended, and what to ask next."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import double_pendulum

MODEL = double_pendulum()


def swing(**options) -> mg.Trajectory:
    return mg.simulate(MODEL, {"shoulder": 0.3, "elbow": 0.2}, duration=0.1, step=0.01, **options)


@pytest.fixture(scope="module")
def results() -> dict[str, object]:
    motion = swing()
    return {
        "Trajectory": motion,
        "State": mg.assemble(MODEL, {"shoulder": 0.3}, {"elbow": 2.0}),
        "GuidedMotion": mg.kinematic_motion(MODEL, [0.0, 1.0], {"shoulder": [0.0, 1.0], "elbow": 0.2}),
        "Equilibrium": mg.equilibrium(MODEL, [0.1, 0.1]),
        "Gradient": mg.gradient(motion, mg.AtEnd(mg.measures.PointPosition("tip")), ["upper.mass", "lower.mass"]),
    }


@pytest.mark.parametrize("kind", ["Trajectory", "State", "GuidedMotion", "Equilibrium", "Gradient"])
def test_descriptions_are_short_and_name_real_verbs(kind, results):
    result = results[kind]
    text = repr(result)
    assert text.startswith(f"{kind} of ")
    assert len(text) < 400
    assert "\n" not in text
    verbs = re.findall(r"(?:^|[ g])\.(\w+)", text.split("Next: ")[1])
    assert len(verbs) >= 2
    assert [verb for verb in verbs if not hasattr(result, verb)] == []
    functions = re.findall(r"\b(simulate|gradient)\(", text.split("Next: ")[1])
    assert functions or kind == "Gradient"


def test_descriptions_tell_sizes_and_ends(results):
    found = {name: repr(x) for name, x in results.items()}
    assert "11 instants from 0 to 0.1 s, n_q = 2, n_v = 2; ended by duration after 10 steps" in found["Trajectory"]
    assert "shoulder = 0.3 held, rate of elbow = 2" in found["State"]
    assert "2 instants from 0 to 1 s" in found["GuidedMotion"]
    assert "driven shoulder, elbow" in found["GuidedMotion"]
    assert "stable, nothing held" in found["Equilibrium"]
    assert "3 objectives by 2 parameters (direct)" in found["Gradient"]
    assert "held at the start: all coordinates and velocities." in found["Gradient"]


def test_a_batch_and_an_early_end_are_told():
    q = np.full((3, 2), 0.3)
    assert "3 motions, 11 instants" in repr(mg.simulate(MODEL, q, duration=0.1, step=0.01))
    stopped = mg.simulate(MODEL, [0.3, 0.2], duration=1.0, stop=lambda t, q, v: t - 0.5)
    assert "to 0.5 s" in repr(stopped)
    assert "ended by stop" in repr(stopped)


def test_gradients_are_read_by_name():
    g = mg.gradient(swing(), {"x": mg.AtEnd(mg.measures.PointPosition("tip"))}, ["upper.mass", "lower.com.z"])
    np.testing.assert_array_equal(g["lower.com.z"], g.array[:, 1])
    assert abs(g.array[2, 1]) > 1e-6
    assert g["x[2]", "lower.com.z"] == g.array[2, 1]
    with pytest.raises(UnknownNameError, match=r"upper\.mass"):
        g["upper.maas"]
    with pytest.raises(UnknownNameError, match="objective"):
        g["y", "upper.mass"]
    with pytest.raises(mg.InputError, match="names nothing"):
        g[0]
    assert "held at the start: all coordinates and velocities." in str(g)
