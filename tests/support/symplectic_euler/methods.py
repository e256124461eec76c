"""What it serves."""

from __future__ import annotations

from mechgrad.steps.base import StepMethod
from mechgrad.steps.methods import register
from mechgrad.steps.rank import reported
from support.symplectic_euler.adjoint import EulerAdjoint
from support.symplectic_euler.pieces import EulerSteps
from support.symplectic_euler.step import march
from support.symplectic_euler.tangent import EulerTangent

METHOD = register(
    StepMethod(
        "symplectic Euler",
        lambda formulation, scheme, controlled: scheme.key == "symplectic-euler" and not controlled,
        march,
        EulerSteps,
        EulerTangent,
        EulerAdjoint,
        reported,
        lambda record, per_step: record.steps,
    )
)
