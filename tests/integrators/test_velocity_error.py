"""Error control of implicit steps: velocities have a tolerance of their own.

A slow and small oscillation, x = A cos t with A of a millimetre: positions, judged by rtol times a metre, allow
steps ten times as long as velocities of 1 mm/s do.
"""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg

AMPLITUDE, PERIODS = 1e-3, 2


def oscillation(rtol, atol):
    model = mg.Model(
        "oscillator", [mg.Body("block", 2.0)], [mg.Prismatic("slide", "ground", "block", axis=(1, 0, 0))],
        gravity=(0, 0, 0), forces=[mg.TorsionSpring("spring", "slide", 2.0)],
    )  # fmt: skip
    duration = 2 * np.pi * PERIODS
    return mg.simulate(model, [AMPLITUDE], duration=duration, scheme="trapezoidal", rtol=rtol, atol=atol, samples=161)


def velocity_error(motion):
    return float(np.abs(motion.v[:, 0] + AMPLITUDE * np.sin(motion.t)).max())


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_relative_error_of_small_velocities(rtol):
    """Every step may miss by rtol times the velocity. All of them add up to a shift of phase, so that the whole error
    is a number of steps times that, no more and, since steps are as long as they may be, not much less."""
    motion = oscillation(rtol, atol=1e-15)
    allowed = motion.steps * rtol * AMPLITUDE
    assert 0.2 * allowed < velocity_error(motion) < 1.2 * allowed
    # rtol of a metre would let positions off with steps ten times as long
    assert motion.steps > 20 * PERIODS


def test_an_absolute_tolerance_above_the_velocities_lengthens_the_steps():
    tight, loose = oscillation(1e-6, 1e-15), oscillation(1e-6, 1e-6)
    assert tight.steps > 5 * loose.steps
    assert velocity_error(tight) < 0.1 * velocity_error(loose)
