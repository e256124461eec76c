"""Motions that are best: joint profiles as splines, torques by inverse dynamics, a sparse nonlinear program with exact derivatives."""
