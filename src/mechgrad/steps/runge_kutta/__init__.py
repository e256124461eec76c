"""Explicit steps: Runge-Kutta methods with fixed steps or error control, and their derivatives."""
