"""Mechanisms to start from: knows how to fill a Model with plausible numbers; and a step to walk."""

from mechgrad.gallery.bicycle import bicycle, bicycle_start
from mechgrad.gallery.gait import Gait, GaitCheck, gait
from mechgrad.gallery.human import human, human_motion
from mechgrad.gallery.mechanisms import five_bar, five_bar_start, slider_crank
from mechgrad.gallery.robots import arm7, chain, double_pendulum
from mechgrad.gallery.walker import WALKER_SEGMENTS, walker, walker_limits, walker_mirror

__all__ = [
    "WALKER_SEGMENTS",
    "Gait",
    "GaitCheck",
    "arm7",
    "bicycle",
    "bicycle_start",
    "chain",
    "double_pendulum",
    "five_bar",
    "five_bar_start",
    "gait",
    "human",
    "human_motion",
    "slider_crank",
    "walker",
    "walker_limits",
    "walker_mirror",
]
