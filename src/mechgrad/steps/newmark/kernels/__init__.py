"""Compiled steps: newmark."""
