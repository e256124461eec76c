"""Mechanisms to start from: knows how to fill a Model with plausible numbers; and a step to walk."""

from mechgrad.gallery.anchor import anchor, anchor_start
from mechgrad.gallery.bicycle import bicycle, bicycle_freedoms, bicycle_start
from mechgrad.gallery.buggy import buggy
from mechgrad.gallery.buggy_runs import buggy_freedoms, buggy_rest, buggy_start, lane_change
from mechgrad.gallery.cars import half_car, quarter_car
from mechgrad.gallery.gait import Gait, GaitCheck, gait
from mechgrad.gallery.hard import bricard, four_bars, four_bars_angle, seven_body, seven_body_end, seven_body_start
from mechgrad.gallery.human import human, human_motion
from mechgrad.gallery.mechanisms import five_bar, five_bar_start, slider_crank
from mechgrad.gallery.parallel_robots import delta_robot, delta_robot_start, stewart_platform, stewart_platform_start
from mechgrad.gallery.planar_linkages import theo_jansen_leg, theo_jansen_leg_start, watts_linkage
from mechgrad.gallery.robots import arm7, chain, double_pendulum
from mechgrad.gallery.tops import (
    free_top,
    free_top_motion,
    gyroscope,
    gyroscope_start,
    heavy_top,
    heavy_top_height,
)
from mechgrad.gallery.walker import WALKER_SEGMENTS, walker, walker_limits, walker_mirror

__all__ = [
    "WALKER_SEGMENTS",
    "Gait",
    "GaitCheck",
    "anchor",
    "anchor_start",
    "arm7",
    "bicycle",
    "bicycle_freedoms",
    "bicycle_start",
    "bricard",
    "buggy",
    "buggy_freedoms",
    "buggy_rest",
    "buggy_start",
    "chain",
    "delta_robot",
    "delta_robot_start",
    "double_pendulum",
    "five_bar",
    "five_bar_start",
    "four_bars",
    "four_bars_angle",
    "free_top",
    "free_top_motion",
    "gait",
    "gyroscope",
    "gyroscope_start",
    "half_car",
    "heavy_top",
    "heavy_top_height",
    "human",
    "human_motion",
    "lane_change",
    "quarter_car",
    "seven_body",
    "seven_body_end",
    "seven_body_start",
    "slider_crank",
    "stewart_platform",
    "stewart_platform_start",
    "theo_jansen_leg",
    "theo_jansen_leg_start",
    "walker",
    "walker_limits",
    "walker_mirror",
    "watts_linkage",
]
