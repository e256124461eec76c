"""Mechanisms to start from: knows how to fill a Model with plausible numbers; and a step to walk."""

from mechgrad.gallery.bicycle import bicycle, bicycle_start
from mechgrad.gallery.gait import Gait, GaitCheck, gait
from mechgrad.gallery.hard import bricard, four_bars, four_bars_angle, seven_body, seven_body_end, seven_body_start
from mechgrad.gallery.human import human, human_motion
from mechgrad.gallery.mechanisms import five_bar, five_bar_start, slider_crank
from mechgrad.gallery.robots import arm7, chain, double_pendulum
from mechgrad.gallery.tops import free_top, free_top_motion, heavy_top, heavy_top_height
from mechgrad.gallery.walker import WALKER_SEGMENTS, walker, walker_limits, walker_mirror

__all__ = [
    "WALKER_SEGMENTS",
    "Gait",
    "GaitCheck",
    "arm7",
    "bicycle",
    "bicycle_start",
    "bricard",
    "chain",
    "double_pendulum",
    "five_bar",
    "five_bar_start",
    "four_bars",
    "four_bars_angle",
    "free_top",
    "free_top_motion",
    "gait",
    "heavy_top",
    "heavy_top_height",
    "human",
    "human_motion",
    "seven_body",
    "seven_body_end",
    "seven_body_start",
    "slider_crank",
    "walker",
    "walker_limits",
    "walker_mirror",
]
