"""Continuous adjoints: the differential adjoint equations of each formulation, discretised along a motion."""
