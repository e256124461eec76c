"""Mechanisms to start from: knows how to fill a Model with plausible numbers, and computes nothing with it."""

from mechgrad.gallery.human import human, human_motion
from mechgrad.gallery.robots import arm7, chain, double_pendulum

__all__ = ["arm7", "chain", "double_pendulum", "human", "human_motion"]
