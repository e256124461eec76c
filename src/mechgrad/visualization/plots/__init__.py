"""Plots of results, a file per kind: arrays and their names in, matplotlib figures out, in one style."""
