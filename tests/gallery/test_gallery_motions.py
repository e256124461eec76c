"""Every mechanism of the gallery moves from its start, and its energy changes by the work that is done on it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson

import mechgrad as mg
from mechgrad.cli.models import GALLERY

BRIEF = {"seven_body": 0.01}  # in 0.03 s its crank turns two and a half times
SAMPLES = {"anchor": 6401}  # links touch and let go: of 201, 801, 3201 samples Simpson's rule leaves 1e-4, 5e-5, 1e-6
AT_REST = {"slider_crank", "stewart_platform"}  # where they start


@pytest.mark.parametrize("name", GALLERY)
def test_it_moves_and_energy_is_accounted_for(name: str) -> None:
    model = GALLERY[name].make()
    found = GALLERY[name].start(model)
    start = mg.state(model, *found) if isinstance(found, tuple) else found
    motion = mg.simulate(model, start, BRIEF.get(name, 0.1), rtol=1e-9, atol=1e-9, samples=SAMPLES.get(name, 201))
    kinetic = motion.kinetic_energy()
    energy = kinetic + motion.potential_energy()
    work = simpson(motion.power().total, x=motion.t)
    # Simpson's rule over 200 intervals leaves 1e-8 or so of what the fastest of them, the quarter car, turns over
    assert abs(energy[-1] - energy[0] - work) < 1e-7 * max(1.0, np.ptp(energy), kinetic.max())
    assert (kinetic.max() < 1e-20) == (name in AT_REST)
