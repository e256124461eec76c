"""Pictures of results: knows arrays and their names, computes nothing, imports matplotlib only when asked to draw."""

from mechgrad.visualization.plots.demo_plot import plot_demo
from mechgrad.visualization.plots.sensitivity_plots import plot_sensitivities
from mechgrad.visualization.plots.torque_plots import plot_torques

__all__ = ["plot_demo", "plot_sensitivities", "plot_torques"]
