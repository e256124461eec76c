"""Compiled steps: matrix r."""
