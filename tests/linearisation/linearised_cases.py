"""Mechanisms of every kind with a state each, at rest and on the move."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "sensitivities"))
import gradient_mechanisms as mechanisms
from support.random_loops import random_linkage

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start, double_pendulum, five_bar

Case = tuple[mg.Model, object]


def held(model: mg.Model, q: np.ndarray, v: np.ndarray) -> mg.State:
    return mg.state(model, q, v)


def moving_five_bar() -> Case:
    model = mechanisms.linked_five_bar()
    return model, mechanisms.held_five_bar(model, (0.4, -0.7))


def resting_five_bar() -> Case:
    model = five_bar()
    return model, mg.equilibrium(model, mg.gallery.five_bar_start())


def held_arm() -> Case:
    """Two links held aslant: what holds them follows every number, and so does what the held loads do."""
    model = double_pendulum()
    push = mg.Load("lower", (3.0, 0.0, 1.0), point=(0.0, 0.0, -0.4), name="push")
    return model, mg.equilibrium(model, at={"shoulder": 0.5, "elbow": 0.7}, tau=[0.3, -0.2], loads=[push])


def held_five_bar() -> Case:
    """One angle held, the other at rest under springs and weights."""
    model = five_bar()
    return model, mg.equilibrium(model, mg.gallery.five_bar_start(), at={"A": -2.0})


def driven_and_rubbed() -> Case:
    return mechanisms.driven_five_bar()


def stated_twice() -> Case:
    return mechanisms.redundant_five_bar()


def slider_crank() -> Case:
    return mechanisms.spatial_slider_crank()


def slider_crank_with_a_ball() -> Case:
    return mechanisms.spatial_slider_crank("slide")


def every_constraint() -> Case:
    return mechanisms.constrained()


def every_force() -> Case:
    model, (q, v) = mechanisms.forced_tree()
    return model, mg.state(model, q, v)


def linkage() -> Case:
    model, at = random_linkage(3, 5)
    return model, mg.assemble(model, at, dict.fromkeys(at, 0.6), t=0.1)


def leaning_bicycle() -> Case:
    model = bicycle("rolling")
    return model, bicycle_start(model, 3.0, lean=0.2)


def bicycle_on_tyres() -> Case:
    model = bicycle()
    return model, bicycle_start(model, 3.0)


def top() -> Case:
    """A spinning top on a slider, turned at random."""
    bodies = [mg.Body("cart", 0.7), mg.Body("top", 2.0, (0.02, 0.01, 0.2), (0.05, 0.06, 0.03))]
    joints = [mg.Prismatic("slide", "ground", "cart", axis=(1, 0.2, 0)), mg.Spherical("tip", "cart", "top", (0, 0, 1))]
    spring = mg.forces.JointSpring("spring", "slide", 20.0, damping=0.3)
    model = mg.Model("top", bodies, joints, forces=[spring])
    q = model.integrate(model.neutral(), [0.1, 0.3, -0.2, 0.5])
    return model, mg.state(model, q, [0.3, 2.0, -1.0, 9.0])


CASES: dict[str, Callable[[], Case]] = {
    f.__name__: f
    for f in (
        moving_five_bar, resting_five_bar, held_arm, held_five_bar, driven_and_rubbed, stated_twice, slider_crank,
        slider_crank_with_a_ball, every_constraint, every_force, linkage, leaning_bicycle, bicycle_on_tyres, top,
    )
}  # fmt: skip
