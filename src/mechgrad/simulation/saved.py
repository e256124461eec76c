"""A motion that was read from a file: its states, and the recipe that makes it once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.tree_reactions import JointReactions
from mechgrad.mechanics.reactions import joint_reactions
from mechgrad.simulation.motion import Motion
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.simulation.recipe import Recipe
    from mechgrad.simulation.trajectory import Trajectory

SAME = 1e-6  # of the largest coordinate: what a motion may differ by from itself on another machine


@final
@dataclass(frozen=True, eq=False)
class SavedMotion(Motion):
    """States as a file had them. What needs the steps themselves asks for the motion once more, `repeated()`.

    Attributes
    ----------
    model : Model
    t, q, v, a : as of the `Trajectory` that was saved
    multipliers : (nt, m), norms : (nt, 3)
    ended : "duration", or why the march could not go on
    recipe : what made it

    >>> mg.io.save_trajectory(mg.simulate(model, {"pin": 0.5}, 0.2), "swing")
    >>> swing = mg.io.load_trajectory("swing")
    >>> swing
    SavedMotion of 'pendulum': 201 instants to 0.2 s, ended by duration; ... Next: .t, .q, .v, .a, .recipe, ...
    >>> heavier = swing.recipe.with_values({"bob.mass": 2.5}).simulate()
    >>> by = mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.com.z"])
    """

    multipliers: Array
    norms: Array
    ended: str
    recipe: Recipe

    def repeated(self) -> Trajectory:
        """The motion made once more by its recipe; raises InputError where that is another motion than the saved one.

        The same mechgrad on the same machine makes it to the last bit, others up to rounding, which sensitive motions
        enlarge.
        """
        motion = self.recipe.simulate()
        if motion.q.shape != self.q.shape:
            raise InputError(
                f"the recipe makes states of shape {motion.q.shape}, and those saved have {self.q.shape}: they do not "
                "belong together. Trust one of them: motion.recipe.simulate(), or the states as they are."
            )
        miss = np.abs(motion.q - self.q)
        if not miss.max(initial=0.0) <= SAME * max(1.0, float(np.abs(self.q).max(initial=0.0))):
            *_, k, i = np.unravel_index(int(np.argmax(miss)), miss.shape)
            raise InputError(
                f"the recipe makes another motion of {self.model.name!r} than the one that was saved: "
                f"{self.model.q_names[i]!r} differs by {miss.max():.3g} at t = {self.t[k]:g} s. Another version of "
                "mechgrad or another machine may have made it; use motion.recipe.simulate()."
            )
        return motion

    def reactions(self, axes: str = "world") -> JointReactions:
        """What every joint transmits over time, cut joints included; for one start. As `joint_reactions` says.

        With tau and loads of the recipe; accelerations and multipliers are those that meet the equations of motion in
        (q, v, t), as of the motion that was saved.
        """
        recipe = self.recipe
        return joint_reactions(
            self.model, self.q, self.v, t=self.t, tau=recipe.tau, loads=list(recipe.loads), axes=axes
        )

    def _mechanism(self) -> System:
        return System(self.model, self.recipe.tau, self.recipe.loads)

    def __repr__(self) -> str:
        many = f"{len(self.q)} motions, " if self.q.ndim == 3 else ""
        span = f" to {self.t[-1]:.6g} s" if len(self.t) else ""
        return (
            f"SavedMotion of {self.model.name!r}: {many}{len(self.t)} instants{span}, ended by {self.ended}; "
            f"{self.recipe!r} Next: .t, .q, .v, .a, .recipe, .repeated(), .energy(), .reactions(), .plot(), "
            ".report('x.html'), gradient(motion, ...)"
        )
