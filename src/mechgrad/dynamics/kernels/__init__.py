"""Compiled parts of the equations of motion."""
