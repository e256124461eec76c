"""Gradients of one scenario at the start and at the optimum, judged together."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.optimization.design.evaluation import Question
from mechgrad.sensitivities.certificate import Certificate, certify
from mechgrad.sensitivities.differentiable import case_of
from mechgrad.sensitivities.gradient import gradient
from mechgrad.typing import Array


def certified(question: Question, name: str, motions: tuple[Any, Any], tolerance: float) -> Certificate:
    """The certificate of d [F(start + d), F(start + d) + F(optimum + d)] / dd at d = 0.

    The sum, since slopes at an optimum may be nothing beside the rounding of what they are compared with.
    """
    cases = [case_of(motion) for motion in motions]
    known = [case.parameters(list(question.wrt)) for case in cases]
    given = [gradient(motion, question.objectives, question.wrt) for motion in motions]
    points = [parameters.values() for parameters in known]

    def function(x: Array) -> Array:
        found = []
        for case, parameters, point in zip(cases, known, points, strict=True):
            at = np.asarray(x) - points[0] + point
            again = case.repeated if np.iscomplexobj(x) else case.differing
            found.append(np.concatenate(again(parameters, at).values(question.objectives)))
        return np.concatenate([found[0], found[0] + found[1]])

    labels = [f"{label} {where}" for where in ("at the start", "there and at the optimum") for label in
              given[0].objectives]  # fmt: skip
    arrays = [given[0].array, given[0].array + given[1].array]
    return certify(
        function, points[0], np.concatenate(arrays), names=question.wrt, outputs=labels,
        tolerance=tolerance, direction=True, slack=max(case.expected_error() for case in cases),
        title=f"gradients of {name!r} at the start and at the optimum",
    )  # fmt: skip
