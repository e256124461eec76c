"""Compiled steps: fixed point."""
