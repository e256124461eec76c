"""Mechanisms whose coordinates all meet dead points, so that Matrix R has to choose others along the way."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start
from mechgrad.steps.independent import candidates


def _bar(name: str, length: float, mass: float) -> mg.Body:
    across = mass * length**2 / 12.0
    return mg.Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(1e-3, across, across))


def planar_four_bar(crank: float, coupler: float, rocker: float, base: float) -> mg.Model:
    """Hinges A, B, C about z, D cut; the base along x, gravity along -y."""
    z = (0.0, 0.0, 1.0)
    bodies = [_bar("crank", crank, 1.0), _bar("coupler", coupler, 1.5), _bar("rocker", rocker, 0.7)]
    joints = [
        mg.Revolute("A", "ground", "crank", axis=z),
        mg.Revolute("B", "crank", "coupler", (crank, 0, 0), axis=z),
        mg.Revolute("C", "coupler", "rocker", (coupler, 0, 0), axis=z),
        mg.Revolute("D", "ground", "rocker", (base, 0, 0), child_origin=(rocker, 0, 0), axis=z),
    ]
    points = [mg.Point("P", "coupler", (coupler, 0.1, 0))]
    return mg.Model("four-bar", bodies, joints, points, gravity=(0, -9.81, 0))


def rockers() -> tuple[mg.Model, mg.State]:
    """A four-bar of which no bar turns round (shortest and longest are longer than the others together): every hinge
    turns back within 1.4 s from this start."""
    model = planar_four_bar(1.0, 0.8, 0.9, 1.3)
    return model, mg.assemble(model, {"A": 0.4}, {"A": 2.0}, guess=[0.4, 0.5, -2.0])


def parallelogram() -> tuple[mg.Model, mg.State]:
    """Bars of 1 and 1.5 m; they lie on one line, where the closure loses rank, at A = pi."""
    model = planar_four_bar(1.0, 1.5, 1.0, 1.5)
    return model, mg.assemble(model, {"A": 0.4}, {"A": 6.0}, guess=[0.4, -0.4, 0.4 - np.pi])


def whirling_five_bar() -> tuple[mg.Model, mg.State]:
    """The five-bar without springs, two freedoms, fast enough to turn over."""
    model, q = five_bar(springs=False), five_bar_start()
    return model, mg.assemble(model, {"A": q[0], "1": q[1]}, {"A": 3.0, "1": -5.0}, guess=q)


def six_bar() -> mg.Model:
    """Bricard's linkage: six bars of 1 m along the edges of a cube, hinges H0 to H5 across both bars they join, the
    sixth bar on the ground. Counting says no freedom, and it has one: of the five rows of H5 one depends on the others.

    All coordinates are zero in the cube; it falls from rest there.
    """
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    along = np.roll(corners, -1, axis=0) - corners
    bodies = [
        mg.Body(f"bar{i + 1}", mass=1.0, com=d / 2, inertia=np.eye(3) / 12 - (1 / 12 - 1e-4) * np.outer(d, d))
        for i, d in enumerate(along[:5])
    ]
    axes = [np.cross(along[i - 1], along[i]) for i in range(6)]
    joints = [mg.Revolute("H0", "ground", "bar1", axis=axes[0])]
    joints += [mg.Revolute(f"H{i}", f"bar{i}", f"bar{i + 1}", along[i - 1], axis=axes[i]) for i in range(1, 5)]
    joints += [mg.Revolute("H5", "ground", "bar5", corners[5], child_origin=along[4], axis=axes[5])]
    return mg.Model("six-bar", bodies, joints, [mg.Point("P", "bar3", along[2])], gravity=(0, -9.81, 0))


def begin_with(monkeypatch: pytest.MonkeyPatch, coordinate: int) -> None:
    """Let Matrix R begin with a coordinate of the tree that is as good as others, in symmetric mechanisms such as
    `six_bar`, but not for long."""
    monkeypatch.setattr(candidates, "_free_coordinates", lambda system, J, freedom: np.array([coordinate]))
