"""How a tyre stands on its road: load, slips, forces, depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.measures.base import StateSamples
from mechgrad.measures.forces import ForceMeasure
from mechgrad.measures.geometric import dot
from mechgrad.model.model import Model
from mechgrad.model.primitives.attached import places
from mechgrad.model.primitives.rows import GROUND_MAGIC, GROUND_TANH, GROUND_TYRE, TYRE
from mechgrad.typing import Array

TYRES = (TYRE, GROUND_TANH, GROUND_TYRE, GROUND_MAGIC)


@final
@dataclass(frozen=True)
class TyreContact(ForceMeasure):
    """Load, slips, forces and depth of a tyre over time, (nt, 6).

        load          N [N], along the normal n of the road below the hub, not negative
        slip          kappa = -s / U [1], positive where it drives;  U = sqrt(u^2 + slip_speed^2)
        slip angle    alpha = atan(r / U) [rad], positive where the wheel slides to its left, towards n x ahead
        along, across     forces on the wheel [N]: forwards, ahead = w x n, and to its left, n x ahead
        depth         [m], negative in the air

    s and r are the velocities of the lowest point along and across the track, u that of the hub along it, w the axis of
    the wheel, relative to the road. In the air forces are zero, and slips what they would be.

    `TyreContact(..)` of a `Tyre`, an `EllipseTyre` or a `MagicFormulaTyre`. For a limit on one of its numbers or an
    objective of some take them apart: they are columns of an array.

    >>> TyreContact("front left tyre").parts[:3]
    ('load', 'slip', 'slip angle')
    >>> mg.AtEnd(lambda y: y[:, 0], TyreContact("front left tyre"))                         # the load in the end
    AtEnd(...)
    """

    parts: ClassVar[tuple[str, ...]] = ("load", "slip", "slip angle", "along", "across", "depth")

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        return tuple(zip(self.parts, ("N", "1", "rad", "N", "N", "m"), strict=True))

    def values(self, at: StateSamples) -> Array:
        tyre, kind = self._tyre(at.model)
        system = at.system()
        q, v, _, _, t = at.states
        found = evaluate_rows(system.T, q, v, None, t, 0, system.n_rows)
        mine = self._rows(at, system)
        g, rates, efforts = found.values[:, mine], found.rates[:, mine], self._efforts(at, system)
        if kind == TYRE:  # rows of its own: height, slips along and across, advance
            load, along, across = -efforts.T[:3]
            depth, (_, s, r, u) = -g[:, 0], rates.T
        else:
            load, along, across, depth, s, r, u = _on_surface(tyre, g, rates, efforts)
        U = np.sqrt(u * u + tyre.slip_speed**2)
        return np.stack([load, -s / U, np.arctan(r / U), along, across, depth], axis=1)

    def _tyre(self, model: Model) -> tuple[Any, int]:
        """The force, and the kind of its law."""
        names = [force.name for force in model.forces]
        if self.force not in names:
            raise unknown_name("force", self.force, names, f"model {model.name!r}")
        tyre = model.force(self.force)
        kind = tyre.laws(places(model))[0].kind
        if kind not in TYRES:
            raise InputError(
                f"force {self.force!r} of model {model.name!r} is a {type(tyre).__name__}; TyreContact measures Tyre, "
                "EllipseTyre and MagicFormulaTyre. mg.measures.Effort measures any force."
            )
        return tyre, kind


def _on_surface(tyre: Any, g: Array, rates: Array, F: Array) -> tuple[Array, ...]:
    """Load, forces along and across, depth, and velocities s, r, u, from the nine rows of a tyre on a surface: position
    of the hub, slips that tell how it turns, its axis (`model.forces.ground_touch`)."""
    p, w, v, slid = g[:, :3], g[:, 6:9], rates[:, :3], rates[:, 3:6]
    h, (hx, hy) = tyre.ground.elevation(p[:, 0], p[:, 1]), tyre.ground.slopes(p[:, 0], p[:, 1])
    n = np.stack([-hx, -hy, np.ones_like(p[:, 0])], axis=1) / np.sqrt(1.0 + hx * hx + hy * hy)[:, None]
    lean = dot(n, w)
    rho = np.sqrt(1.0 - lean * lean)
    depth = tyre.radius * rho - (p[:, 2] - h) * n[:, 2]
    # efforts on rows are minus forces, and moments on pairs of slips
    moment = np.stack([F[:, 4], -F[:, 5], -F[:, 3]], axis=1)
    force = np.stack([moment[:, 1] - F[:, 0], moment[:, 2] - moment[:, 0] - F[:, 1], -F[:, 2]], axis=1)
    spin = np.stack([v[:, 1] - slid[:, 1], slid[:, 2] - v[:, 0], slid[:, 0] - v[:, 1]], axis=1)
    arm = -(tyre.radius / rho)[:, None] * (n - lean[:, None] * w)
    u = v + np.cross(spin, arm)
    ahead = np.cross(w, n)
    ahead = ahead / np.sqrt(dot(ahead, ahead))[:, None]
    side = np.cross(n, ahead)
    return dot(force, n), dot(force, ahead), dot(force, side), depth, dot(u, ahead), dot(u, side), dot(v, ahead)
