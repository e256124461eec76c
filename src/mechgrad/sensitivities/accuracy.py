"""How close the derivative of a motion's steps is to that of the motion itself, in words and as an estimate.

Discrete derivatives are exact for the steps as they were taken. What these steps miss of the motion, their derivative
misses too, and more where forces have kinks. With error control (DOP853) steps end where contacts switch, and errors
fall with the tolerance; every switch passes on what was missed before, amplified.
"""

from __future__ import annotations

import numpy as np

from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.runge_kutta.step import switching

# errors of derivatives beside the tolerance, relative to the largest: what was measured on bodies that bounce on
# spheres, wheels and tyres with friction (docs/gradients.md), rounded up. One in forty was beyond: no bound.
SMOOTH, PER_SWITCH = 100.0, 300.0
NAMED = 4  # instants that a sentence names


def expected_accuracy(motion: Trajectory) -> float | None:
    """Relative error of derivatives to be expected of a motion with error control, an order of magnitude; None for
    fixed steps, where it depends on the step.

        (100 + 300 switches) rtol

    >>> round(expected_accuracy(mg.simulate(model, [0.5], duration=1.0, rtol=1e-8, atol=1e-8)), 12)
    1e-06
    """
    if not motion.scheme.chooses_steps:
        return None
    recipe = motion.recipe
    return float(max(recipe.rtol, recipe.atol) * (SMOOTH + PER_SWITCH * len(motion.events)))


def accuracy_note(motion: Trajectory) -> str:
    """A sentence on what derivatives of a motion are worth.

    >>> accuracy_note(mg.simulate(model, [0.5], duration=1.0, rtol=1e-8, atol=1e-8))
    'Exact for the steps as taken (rtol = 1e-08, atol = 1e-08); of the motion itself to about 1e-06.'
    """
    recipe, expected = motion.recipe, expected_accuracy(motion)
    if expected is None:
        how = f", of {recipe.step:g} s" if recipe.step else f" (rtol = {recipe.rtol:g}, atol = {recipe.atol:g})"
        text = f"Exact for the steps as taken{how}"
        if switching(motion.system.recursive):
            return (
                f"{text}; contacts switch within steps, which leaves an error of the order of the step: halve it to "
                "see how much, or take DOP853, whose steps end at switches."
            )
        return f"{text}."
    text = f"Exact for the steps as taken (rtol = {recipe.rtol:g}, atol = {recipe.atol:g}); "
    if count := len(motion.events):
        named = ", ".join(f"{t:.6g}" for t in np.asarray(motion.events)[:NAMED]) + (", ..." if count > NAMED else "")
        text += f"{count} switch{'es' if count > 1 else ''} of contacts located, at {named} s; "
    return text + f"of the motion itself to about {expected:.0e}."
