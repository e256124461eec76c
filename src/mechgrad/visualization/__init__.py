"""Pictures of results: knows arrays and their names, computes nothing, imports matplotlib only when asked to draw."""

from mechgrad.visualization.plots import plot_demo, plot_sensitivities, plot_torques

__all__ = ["plot_demo", "plot_sensitivities", "plot_torques"]
