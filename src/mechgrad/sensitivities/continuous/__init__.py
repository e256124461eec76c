"""Continuous adjoints: the differential adjoint equations of each formulation, discretised along a motion."""

from mechgrad.sensitivities.continuous.gradient import ContinuousAdjoint, adjoint_of, continuous_gradient

__all__ = ["ContinuousAdjoint", "adjoint_of", "continuous_gradient"]
