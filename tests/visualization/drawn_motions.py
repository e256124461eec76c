"""Motions as far as pictures ask: no simulation is needed for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mechgrad as mg


def pendulum(**body: object) -> mg.Model:
    bob = mg.Body("bob", mass=2, com=(0, 0, -1), **body)  # type: ignore[arg-type]
    return mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])


@dataclass(frozen=True)
class Swing:
    """A motion as far as pictures ask: no simulation is needed for it."""

    model: mg.Model
    t: np.ndarray
    q: np.ndarray


def swing(model: mg.Model, n: int = 11, duration: float = 1.0) -> Swing:
    t = np.linspace(0.0, duration, n)
    return Swing(model, t, np.outer(np.sin(t), np.ones(model.n_q)))
