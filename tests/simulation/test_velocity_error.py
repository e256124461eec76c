"""Error control of implicit steps: velocities have a tolerance of their own, at every frequency.

Oscillations x = A cos(w t): the error of a velocity is w times that of the position, and so is the velocity. Where they
are slow and small, positions are judged by rtol times a metre.
"""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg

PERIODS = 2


def oscillation(rtol, atol, w=1.0, amplitude=1.0, **how):
    model = mg.Model(
        "oscillator", [mg.Body("block", 2.0)], [mg.Prismatic("slide", "ground", "block", axis=(1, 0, 0))],
        gravity=(0, 0, 0), forces=[mg.forces.TorsionSpring("spring", "slide", 2.0 * w**2)],
    )  # fmt: skip
    how = {"scheme": "trapezoidal", "samples": 161} | how
    return mg.simulate(model, [amplitude], duration=2 * np.pi * PERIODS / w, rtol=rtol, atol=atol, **how)


def velocity_error(motion, w=1.0, amplitude=1.0):
    return float(np.abs(motion.v[:, 0] + amplitude * w * np.sin(w * motion.t)).max())


@pytest.mark.parametrize("w", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("formulation", [None, "fully-recursive"])
def test_relative_error_of_velocities(rtol, w, formulation):
    """All steps together may miss by rtol times the velocity; they do by no more than a few times that, and, since
    steps are as long as they may be, not by much less."""
    motion = oscillation(rtol, 1e-15, w, formulation=formulation)
    allowed = rtol * w
    assert 0.02 * allowed < velocity_error(motion, w) < 5 * allowed


@pytest.mark.parametrize(
    "scheme", [mg.schemes.HHT(0.1), mg.schemes.GeneralizedAlpha(0.7), mg.schemes.Newmark(0.3, 0.55)]
)
def test_every_scheme_is_judged_by_its_own_error(scheme):
    """That of Newmark's scheme with gamma > 1/2 is of second order only."""
    motion = oscillation(1e-5, 1e-15, 30.0, scheme=scheme)
    allowed = 1e-5 * 30.0
    assert 0.01 * allowed < velocity_error(motion, 30.0) < 10 * allowed


def test_an_absolute_tolerance_above_the_velocities_lengthens_the_steps():
    tight, loose = (oscillation(1e-6, atol, amplitude=1e-3) for atol in (1e-15, 1e-4))
    assert tight.steps > 5 * loose.steps
    assert velocity_error(tight, amplitude=1e-3) < 0.1 * velocity_error(loose, amplitude=1e-3)


def test_iterations_are_those_of_all_steps():
    motion = oscillation(1e-6, 1e-6, samples=3)
    assert motion.iterations.sum() >= motion.steps > 100
    np.testing.assert_array_equal(oscillation(1e-6, 1e-6, samples=3, progress=True).q, motion.q)


def test_progress_is_shown(capsys):
    oscillation(1e-4, 1e-4, progress=True)
    shown = capsys.readouterr().out
    assert "50 %" in shown
    assert shown.rstrip().endswith("t = 12.57 s")
