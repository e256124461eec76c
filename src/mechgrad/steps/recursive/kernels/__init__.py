"""Compiled steps: recursive."""
