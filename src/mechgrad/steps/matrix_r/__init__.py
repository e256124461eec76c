"""Implicit steps in independent coordinates, Matrix R, and their derivatives."""
