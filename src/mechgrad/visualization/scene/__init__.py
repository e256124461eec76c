"""Solids for everything a model has, with the pose of every body over time: plain data that knows no browser."""

from mechgrad.visualization.scene.arrows import LAYERS
from mechgrad.visualization.scene.nodes import Arrows, Curve, Ghost, Node, Path, Stretched, Surface, Trail
from mechgrad.visualization.scene.scene import Scene, scene_of

__all__ = ["LAYERS", "Arrows", "Curve", "Ghost", "Node", "Path", "Scene", "Stretched", "Surface", "Trail", "scene_of"]
