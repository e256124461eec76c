"""A linkage with other numbers is put together in the way it was before: no search lands in the mirror image."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.simulation.repeats import repeat_of
from mechgrad.steps.guided.put_together import carried, way

Z = (0.0, 0.0, 1.0)
T = np.arange(6.0)


def four_bar(ground: float, crank: float, coupler: float, rocker: float, angles: np.ndarray) -> mg.Model:
    turn = mg.functions.Spline(tuple(T), tuple(angles))
    return mg.Model(
        "four-bar",
        [mg.Body(name) for name in ("frame", "crank", "coupler", "rocker")],
        [
            mg.Revolute("O", "ground", "frame", axis=Z),
            mg.Revolute("A", "frame", "crank", axis=Z),
            mg.Revolute("B", "crank", "coupler", (crank, 0, 0), axis=Z),
            mg.Revolute("D", "frame", "rocker", (ground, 0, 0), axis=Z),
            mg.Revolute("C", "coupler", "rocker", (coupler, 0, 0), child_origin=(rocker, 0, 0), axis=Z),
        ],
        cut=["C"],
        constraints=[mg.constraints.Driver("tilt", "O", 0.3), mg.constraints.Driver("turn", "A", turn)],
    )


BARS = ("D.origin.x", "B.origin.x", "C.origin.x", "C.child_origin.x")
ANGLES = np.linspace(0.5, 4.5, 6)
GUESSES = {"upwards": [0.3, 0.5, 0.5, 1.5], "downwards": [0.3, 0.5, -1.5, -1.5]}


def turning(guess) -> mg.results.GuidedMotion:
    return mg.kinematic_motion(four_bar(40.0, 15.0, 35.0, 30.0, ANGLES), T, guess=guess)


def bend(motion) -> np.ndarray:
    """Sine of the angle from coupler to rocker: its sign is the way a four-bar is put together."""
    return np.sin(motion.q[:, 3] - motion.q[:, 1] - motion.q[:, 2])


def designs(count: int):
    """Lengths of crank-rockers anywhere between 5 and 60, tilts, and rising angles of their cranks."""
    rng = np.random.default_rng(0)
    while count:
        r = rng.uniform(5.0, 60.0, 4)
        if max(r[1] + r[k] - (r.sum() - r[1] - r[k]) for k in (0, 2, 3)) < -0.5:
            count -= 1
            angles = np.sort(rng.uniform(0.0, 2 * np.pi, 6)) + rng.uniform(0.0, 2 * np.pi)
            yield r, angles, rng.uniform(0.0, 2 * np.pi)


@pytest.mark.parametrize("guess", GUESSES.values(), ids=GUESSES)
def test_far_designs_keep_the_way_they_are_put_together(guess):
    """Closing the loop by the law of cosines; a search from the old configuration alone lands elsewhere, sometimes."""
    motion = turning(guess)
    repeat, sign = repeat_of(motion), np.sign(bend(motion)[0])
    assert (np.sign(bend(motion)) == sign).all()
    elsewhere = 0
    for lengths, angles, tilt in designs(40):
        values = dict(zip(BARS, lengths, strict=True)) | dict(
            zip((f"turn.function.values.{k}" for k in range(6)), angles, strict=True)
        )
        found = repeat.with_values(values | {"tilt.function.value": tilt}).made()
        assert (np.sign(bend(found)) == sign).all()
        ground, crank, coupler, rocker = lengths
        diagonal2 = ground**2 + crank**2 - 2.0 * ground * crank * np.cos(angles)
        cosine = (coupler**2 + rocker**2 - diagonal2) / (2.0 * coupler * rocker)
        assert np.cos(found.q[:, 3] - found.q[:, 1] - found.q[:, 2]) == pytest.approx(cosine, abs=1e-9)
        free = mg.kinematic_motion(found.model, T, guess=motion.q[0])
        elsewhere += np.sign(bend(free)[0]) != sign
    assert elsewhere > 0


def test_the_sign_is_that_of_the_way():
    above, below = (turning(guess) for guess in GUESSES.values())
    assert bend(above)[0] * bend(below)[0] < 0.0
    assert way(above.model, above.q[0], T, None) == -way(below.model, below.q[0], T, None) != 0


def test_a_way_that_ends_is_told():
    """At the same angle of the crank, but turned by 3 rad in a linkage whose crank cannot pass in between."""
    stuck = four_bar(40.0, 30.0, 20.0, 25.0, 0.8 + 0.01 * T)  # no Grashof linkage: the crank swings
    motion = mg.kinematic_motion(stuck, T, guess=[0.3, 0.8, -0.5, 2.0])
    far = stuck.with_values({f"turn.function.values.{k}": -0.8 - 2 * np.pi + 0.01 * k for k in range(6)})
    with pytest.raises(mg.errors.AssemblyError, match=r"not in the way it was before: .* % of the way to them"):
        carried(motion.model, motion.q[0], far, T, None, 1e-12)
