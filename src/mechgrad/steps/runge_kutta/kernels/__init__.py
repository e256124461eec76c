"""Compiled steps: runge kutta."""
