"""Compiled passes over the atoms of a tree: where everything is, how it moves, and how that changes."""
