"""Implicit steps of open trees by fixed-point iteration, and their derivatives by the same iteration: O(n)."""
