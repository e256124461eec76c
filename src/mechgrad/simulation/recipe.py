"""How a motion is made, as one value: what repeats it, with other numbers too, and what logs and files store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from mechgrad.simulation.recipe_data import RecipeData
from mechgrad.simulation.run import march
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.watch import Told


@final
@dataclass(frozen=True, eq=False, repr=False)
class Recipe(RecipeData[Trajectory]):
    """All that `simulate` needs, with nothing left to choose.

    Attributes
    ----------
    model : Model
    start : State or Equilibrium
    duration, t0 : float [s]
    formulation, scheme : as they were chosen
    step : float [s] or None;   samples : int or None
    tau : (n_v,), loads : constant forces
    reference : "root", "com" or "origin"
        Where velocities and wrenches are taken while they are summed up: about the point where the mechanism's root is;
        residual and mass matrix about centres of mass (RTdyn0), all else about the root; or everything about the
        world's origin (RTdyn1), which costs digits far from it. The motion is the same (docs/reference_points.md).
    rtol, atol : float
        Tolerances of the error control. DOP853: of every step. Implicit schemes: of the whole motion, each step being
        granted its share; how much the motion itself enlarges errors comes on top.
    stop : the condition that may end the motion, or None
        The first step with different signs at its ends (or the first interval between outputs) is found, and the
        instant within it to rounding, between the steps as `Trajectory.at` reads them.

    >>> swing = mg.simulate(model, {"pin": 0.5}, 2.0)
    >>> swing.recipe
    Recipe of 'pendulum': 2 s from State ... FullyRecursive(), DOP853(), rtol = 1e-09, atol = 1e-09.
    >>> longer = swing.recipe.changed(duration=3.0).simulate()
    >>> heavier = swing.recipe.with_values({"bob.mass": 2.5, "start.position.pin": 0.6}).simulate()
    >>> float(heavier.q[0, 0]), heavier.model.value("bob.mass")
    (0.6, 2.5)
    """

    def simulate(self, *, progress: bool | Told = False) -> Trajectory:
        """The motion, made once more; progress as of `mg.simulate`."""
        return march(self, progress=progress)
