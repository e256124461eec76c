"""Motions that drivers decide, as `gradient` sees them: no start values, no multipliers and no forces of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast, final

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.measures.base import Measure, StateSamples
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import Objective
from mechgrad.simulation.guided import GuidedMotion, kinematic_motion
from mechgrad.typing import Array


@final
class GuidedSubject:
    """A guided motion with what parameters and measures ask of any motion.

    >>> GuidedSubject(mg.kinematic_motion(model, [0.0, 0.5], {"pin": [0.0, 1.0]})).system.independent
    ('pin',)
    """

    start: ClassVar[None] = None
    forced: ClassVar[bool] = False  # tau and loads decide nothing
    loads: ClassVar[tuple[Load, ...]] = ()
    constraint_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, motion: GuidedMotion) -> None:
        self.model, self.system = motion.model, motion.record.system
        self.t, self.q, self.v, self.a = motion.t, motion.q, motion.v, motion.a
        self.multipliers, self.tau = np.zeros((len(motion.t), 0)), np.zeros(motion.model.n_v)

    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        """Parameters of the model; start values have no meaning here."""
        names = [wrt] if isinstance(wrt, str) else list(wrt)
        if start := [name for name in names if name.startswith("start.")]:
            raise InputError(
                f"{start[0]!r}: a motion that drivers decide has no start values. Differentiate by the numbers of the "
                "driver's function instead."
            )
        return Parameters(cast(Any, self), names)

    def samples(self) -> StateSamples:
        """Its states, to be measured."""
        states = States(self.q, self.v, self.a, self.multipliers, self.t)
        return StateSamples(self.model, states, self.tau, self.loads, self.constraint_names, "trapezoid")


def repeated_guided(motion: GuidedMotion, parameters: Parameters, values: Array) -> GuidedMotion:
    """The motion with other values of its parameters, complex ones too."""
    return kinematic_motion(
        parameters.changed(values)[0], motion.t, motion.at, guess=motion.q[0], tolerance=motion.tolerance
    )


def check_measure(measure: Measure) -> None:
    """Raise for a measure that a motion decided by drivers does not have."""
    if measure.depends_on_forces or "lam" in measure.uses.split():
        raise InputError(
            f"{type(measure).__name__} belongs to motions that forces decide, and this one is decided by its drivers. "
            "Use mg.simulate, with Driver or GuidedPoint in the model."
        )


def check_measures(objectives: Sequence[Objective]) -> None:
    """`check_measure` for all measures of some objectives."""
    for objective in objectives:
        for _, term in objective.terms():
            for measure in term.measures:
                check_measure(measure)
