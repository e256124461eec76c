"""Compiled choice of independent coordinates."""
