"""Pictures of results: plots of arrays, solids that move, pages and films; nothing is imported before it is drawn."""

from mechgrad.visualization.plots.demo_plot import plot_demo
from mechgrad.visualization.plots.sensitivity_plots import plot_sensitivities
from mechgrad.visualization.plots.torque_plots import plot_torques
from mechgrad.visualization.saving import save_scene
from mechgrad.visualization.scene import Scene, scene_of
from mechgrad.visualization.viewer import Viewer, view
from mechgrad.visualization.web_page import animation_html

__all__ = [
    "Scene", "Viewer", "animation_html", "plot_demo", "plot_sensitivities", "plot_torques", "save_scene", "scene_of",
    "view",
]  # fmt: skip
