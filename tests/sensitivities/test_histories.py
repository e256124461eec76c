"""Derivatives of measures over time, of simulated and of guided motions, against complex steps of the whole motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import five_bar, five_bar_start
from mechgrad.sensitivities.guided_subject import GuidedSubject, repeated_guided
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.repeat import repeated, samples_of

STEP = 1e-30
TIMES = np.linspace(0.0, 0.3, 4)
VECTORS = [
    mg.Vector("along", "12", (0.6, 0.8, 0.1)),
    mg.Vector("up", "ground", (0, 1, 0)),
    mg.Vector("n", "ground", (0, 0, 1)),
]
KINEMATIC = [
    mg.measures.JointCoordinate("3"),
    mg.measures.JointVelocity("3"),
    mg.measures.JointAcceleration("3"),
    mg.measures.PointPosition("P2"),
    mg.measures.PointVelocity("12.com"),
    mg.measures.PointAcceleration("P2"),
    mg.measures.Distance("P2", "A1.com"),
    mg.measures.Angle("up", "along", "n"),
    mg.measures.KineticEnergy(),
    mg.measures.PotentialEnergy(),
    mg.measures.Effort("S1"),
]
FORCED = [mg.measures.Multiplier("B: point x"), mg.measures.JointReaction("B")]
WRT = ["1.origin.x", "A1.mass", "S1.stiffness", "12.com.y", "along.direction.x"]


def model() -> mg.Model:
    plain = five_bar()
    return mg.Model(
        "bars", plain.bodies, plain.joints, plain.points, VECTORS, gravity=plain.gravity, forces=plain.forces
    )


def guided() -> mg.results.GuidedMotion:
    first, second = five_bar_start()[:2]
    at = {
        "A": mg.functions.Polynomial((float(first), 0.4, 0.3)),
        "1": mg.functions.Harmonic(0.2, frequency=1.0, offset=float(second)),
    }
    return mg.kinematic_motion(model(), TIMES, at, guess=five_bar_start())


def simulated() -> mg.Trajectory:
    start = mg.assemble(
        model(), dict(zip(("A", "1"), five_bar_start()[:2], strict=True)), {"A": 0.3, "1": -0.2}, guess=five_bar_start()
    )
    return mg.simulate(model(), start, duration=0.03, step=0.01, formulation=mg.formulations.ALI3P(tolerance=1e-13))


@pytest.mark.parametrize("make", [guided, simulated])
def test_every_measure_over_time(make: Any) -> None:
    motion = make()
    is_guided = isinstance(motion, mg.results.GuidedMotion)
    wrt = WRT if is_guided else [*WRT, "start.position.A", "start.velocity.1"]
    found = mg.motion_sensitivities(motion, wrt)
    assert found.q.shape == (len(motion.t), 4, len(wrt))
    assert found.multipliers.shape[1] == (0 if is_guided else 2)
    parameters = GuidedSubject(motion).parameters(wrt) if is_guided else Parameters(motion, wrt)
    others = []
    for k in range(len(wrt)):
        values = parameters.values() + 0j
        values[k] += 1j * STEP
        others.append((repeated_guided if is_guided else repeated)(motion, parameters, values))
    for measure in [*KINEMATIC, *([] if is_guided else FORCED)]:
        mine = found.of(measure)
        moments = [GuidedSubject(x).samples() if is_guided else samples_of(x) for x in others]
        true = np.stack([np.asarray(measure.values(at)).imag / STEP for at in moments], axis=-1)
        assert mine.shape == true.shape
        size = np.abs(true).max()
        assert size > 1e-3, measure
        assert np.abs(mine - true).max() < 1e-9 * size, measure


def test_what_has_no_history() -> None:
    found = mg.motion_sensitivities(guided(), WRT)
    for measure in FORCED:
        with pytest.raises(InputError, match="decided by its drivers"):
            found.of(measure)
    with pytest.raises(InputError, match="is no measure"):
        found.of("P2")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no start values"):
        mg.motion_sensitivities(guided(), "start.position.A")


def test_positions_over_time_can_be_plotted() -> None:
    assert len(mg.motion_sensitivities(guided(), WRT[:2]).plot().axes) == 2
