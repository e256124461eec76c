"""The same program in units in which its numbers are near one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mechgrad.optimization.solvers.program import HessianFunction, NonlinearProgram, Structure
from mechgrad.optimization.solvers.result import Multipliers
from mechgrad.typing import ArrayLike, FloatArray


def asfloat(values: ArrayLike) -> FloatArray:
    """As an array of floats, not copied if it is one."""
    return np.asarray(values, dtype=float)


@dataclass(frozen=True, eq=False)
class ScaledProgram:
    """A program in scaled units, and the way back.

        X = x / s_x,    C = c / s_c,    F = f / s_f,    lam = LAM s_f / s_c,    z = Z s_f / s_x

    Attributes
    ----------
    program : NonlinearProgram
        What a solver sees; all its scales are one.
    original : NonlinearProgram
        What the user wrote.
    """

    program: NonlinearProgram
    original: NonlinearProgram

    def inward(self, x: ArrayLike) -> FloatArray:
        """X of x."""
        return asfloat(asfloat(x) / self.original.variable_scale)

    def outward(self, x: FloatArray) -> FloatArray:
        """The x of X, exactly inside of bounds that X keeps."""
        back = asfloat(x) * self.original.variable_scale
        inside = (self.program.lb <= x) & (x <= self.program.ub)
        return asfloat(np.where(inside, np.clip(back, self.original.lb, self.original.ub), back))

    def multipliers_inward(self, multipliers: Multipliers) -> Multipliers:
        """LAM and Z of lam and z."""
        p = self.original
        return Multipliers(
            multipliers.constraints * p.constraint_scale / p.objective_scale,
            multipliers.bounds * p.variable_scale / p.objective_scale,
        )

    def multipliers_outward(self, multipliers: Multipliers) -> Multipliers:
        """The lam and z of LAM and Z."""
        p = self.original
        return Multipliers(
            multipliers.constraints * p.objective_scale / p.constraint_scale,
            multipliers.bounds * p.objective_scale / p.variable_scale,
        )


def scaled(program: NonlinearProgram) -> ScaledProgram:
    """Present a program in units of its scales; without scales, itself.

    `solve` does so on its own. Derivatives cost one multiplication per stored entry.
    """
    if not program.is_scaled:
        return ScaledProgram(program, program)
    s_x, s_c, s_f = program.variable_scale, program.constraint_scale, program.objective_scale
    rows, cols = program.jacobian_structure
    jacobian_factor = s_x[cols] / s_c[rows] if program.m else np.zeros(0)

    def objective(x: FloatArray) -> float:
        return program.objective(x * s_x) / s_f

    def gradient(x: FloatArray) -> FloatArray:
        return asfloat(asfloat(program.gradient(x * s_x)) * (s_x / s_f))

    def constraints(x: FloatArray) -> FloatArray:
        assert program.constraints is not None
        return asfloat(asfloat(program.constraints(x * s_x)) / s_c)

    def jacobian(x: FloatArray) -> FloatArray:
        assert program.jacobian is not None
        return asfloat(asfloat(program.jacobian(x * s_x)) * jacobian_factor)

    root = np.sqrt(s_f)

    def residuals(x: FloatArray) -> FloatArray:
        assert program.residuals is not None
        return asfloat(asfloat(program.residuals(x * s_x)) / root)

    def residual_jacobian(x: FloatArray) -> FloatArray:
        assert program.residual_jacobian is not None
        return asfloat(asfloat(program.residual_jacobian(x * s_x)) * (s_x / root))

    return ScaledProgram(
        replace(
            program,
            residuals=residuals if program.residuals else None,
            residual_jacobian=residual_jacobian if program.residual_jacobian else None,
            objective=objective,
            gradient=gradient,
            constraints=constraints if program.m else None,
            jacobian=jacobian if program.m else None,
            hessian=_hessian(program.hessian, program.hessian_structure, program),
            gauss_newton=_hessian(program.gauss_newton, program.gauss_newton_structure, program),
            lb=program.lb / s_x,
            ub=program.ub / s_x,
            cl=program.cl / s_c,
            cu=program.cu / s_c,
            variable_scale=None,
            constraint_scale=None,
            objective_scale=1.0,
        ),
        program,
    )


def _hessian(
    function: HessianFunction | None, structure: Structure | None, program: NonlinearProgram
) -> HessianFunction | None:
    if function is None or structure is None:
        return None
    s_x, s_c, s_f = program.variable_scale, program.constraint_scale, program.objective_scale
    factor = s_x[structure[0]] * s_x[structure[1]]

    def hessian(x: FloatArray, sigma: float, lam: FloatArray) -> FloatArray:
        return asfloat(asfloat(function(x * s_x, sigma / s_f, lam / s_c)) * factor)

    return hessian
