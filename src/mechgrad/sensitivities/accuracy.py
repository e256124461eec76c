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
MISSED = 1e-7  # of velocities and accelerations: steps that miss constraints by more are told, exact to less is exact


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
        if missed := missed_constraints(motion):
            return missed
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


def missed_constraints(motion: Trajectory) -> str:
    """What to say of steps that miss their constraints by more than their derivative may overlook; "" of others.

    Long steps near a change point leave something of the constraints (`dynamics.ali3p`); derivatives take them for met.
    """
    norms = np.real(motion.norms)
    if not (motion.formulation.meets_constraints and norms.size):
        return ""
    values, rates, seconds = (float(x) for x in norms.reshape(-1, 3).max(axis=0))
    speed, change = (float(np.abs(x).max(initial=0.0)) for x in (motion.v, motion.a))
    share = max(rates / speed if speed else 0.0, seconds / change if change else 0.0)
    if share <= MISSED:
        return ""
    steps = f"steps of {motion.recipe.step:g} s" if motion.recipe.step else "the steps"
    return (
        f"Not exact: derivatives take constraints for met, and {steps} miss them by up to {values:.0e}, rates by "
        f"{rates:.0e} and second rates by {seconds:.0e}, near where rows lose their rank. Expect errors of {share:.0e} "
        "and more, of multipliers and reactions above all; take shorter steps, or DOP853."
    )
