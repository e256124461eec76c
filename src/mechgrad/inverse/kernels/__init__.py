"""Compiled passes of inverse and forward dynamics over the atoms of a tree."""
