"""What motions have in common, whether forces or drivers decide them: energies, markers, efforts, pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.dynamics.samples import StateSamples
from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.kinematics.marker_motions import MarkerMotion, marker_motion
from mechgrad.mechanics.efforts import Efforts, efforts_of
from mechgrad.mechanics.energies import kinetic_energy, potential_energy, spring_energy
from mechgrad.pages import Page, checked_path
from mechgrad.pictures import animations, plots, reports
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True, eq=False)
class Motion(ABC):
    """States over time. Three kinds: `Trajectory`, `GuidedMotion`, and `SavedMotion` of a file."""

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array

    @abstractmethod
    def _mechanism(self) -> System:
        """The model, made ready for its equations of motion."""

    def _flat(self, x: Array) -> Array:
        return np.ascontiguousarray(x.reshape(-1, x.shape[-1]))

    def _shaped(self, x: Array) -> Array:
        """One number per instant (and start) from one per row of `_flat` states."""
        return np.asarray(x.reshape(self.q.shape[:-1]))

    def _times(self) -> Array:
        """The instant of each row of `_flat` states."""
        return np.broadcast_to(self.t, self.q.shape[:-1]).ravel()

    def kinetic_energy(self) -> Array:
        """v . M v / 2 at every instant [J]."""
        return self._shaped(kinetic_energy(self.model, self._flat(self.q), self._flat(self.v)))

    def potential_energy(self) -> Array:
        """Of gravity, -sum m g . x with x the centres of mass [J]; zero at the world's origin."""
        return self._shaped(potential_energy(self.model, self._flat(self.q)))

    def spring_energy(self) -> Array:
        """Of linear springs, sum k (g - g0)^2 / 2, translational and rotational [J]."""
        return self._shaped(spring_energy(self._mechanism(), self._flat(self.q), self._times()))

    def energy(self) -> Array:
        """Kinetic energy and that of gravity and of linear springs together [J]: constant without other forces."""
        return self.kinetic_energy() + self.potential_energy() + self.spring_energy()

    def markers(self, names: Sequence[str]) -> MarkerMotion:
        """Motion of points, vectors and spins, (nt, markers, 3) each; for one start."""
        return marker_motion(self.model, names, self.q, self.v, self.a)

    def efforts(self, force: str) -> Efforts:
        """What a force element (spring, tyre, motor, ...) exerts over time along each of its rows, named, with units.

        `Effort` is the same as a measure, for objectives.
        """
        q, v, a = (self._flat(x) for x in (self.q, self.v, self.a))
        found = efforts_of(self._mechanism(), force, q, v, a, self._times())
        return replace(found, values=found.values.reshape(*self.q.shape[:-1], -1))

    def measured(self, measure: Any) -> Array:
        """Values of a measure of `mg.measures` at every instant, (nt, ...); for one start.

        >>> swing = mg.simulate(model, {"pin": 0.5}, 1.0)
        >>> swing.measured(mg.measures.Distance("bob.com", "ground.origin"))[:2]
        array([1., 1.])
        """
        system = self._mechanism()
        lam: Array = getattr(self, "multipliers", np.zeros((len(self.t), 0)))
        if not callable(getattr(measure, "values", None)) or self.q.ndim != 2:
            raise InputError(
                f"{measure!r} is no measure such as mg.measures.PointPosition('P'), or there are many starts."
            )
        if not hasattr(self, "multipliers") and (measure.depends_on_forces or "lam" in measure.uses.split()):
            raise InputError(f"{measure.label} belongs to motions that forces decide, and drivers decide this one.")
        states = States(self.q, self.v, self.a, lam, self.t)
        at = StateSamples(self.model, states, system.tau, system.loads, system.names, "trapezoid")
        return np.asarray(measure.values(at))

    def report(
        self, path: str | Path, measures: Any = (), *, title: str = "", animated: bool = True, reactions: bool = True
    ) -> Path:
        """Write a page that opens in any browser, without a network: the animation, measures, coordinates and energies,
        what joints carry, the model, how the motion was made, versions and times. Returns where it is.

        Parameters
        ----------
        path : its name, ending with .html; a file of that name is replaced
        measures : one of `mg.measures`, a coordinate by name, several, or a mapping from titles to them
        title : in place of the name of the model
        animated : whether the motion can be played; without it the page has no script
        reactions : whether to show what joints carry

        >>> swing = mg.simulate(model, {"pin": 0.5}, 1.0)
        >>> swing.report("swing.html", ["pin", mg.measures.KineticEnergy()]).name
        'swing.html'
        """
        where = checked_path(path)
        page: Page = reports("motion_report").report_page(self, measures, title, animated=animated, reactions=reactions)
        return page.write(where)

    @property
    def has_constraints(self) -> bool:
        """Whether the model has constraints or loops, which a motion can miss."""
        return bool(self._mechanism().n_constraints)

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write the motion as something to look at; the ending says as what, `options` are those of `save_scene`.

            .html         a page that opens offline: play, scrub, camera, switches
            .png          a picture, `at` a time [s], or with strip=6 as many instants in one
            .gif, .mp4    a film

        >>> mg.simulate(model, {"pin": 0.5}, 1.0).save("swing.html", trails=["bob.com"]).name
        'swing.html'
        """
        written: Path = animations("saving").save_scene(self, path, **options)
        return written

    def _repr_html_(self) -> str | None:
        """The animation, where a notebook shows a motion; None (and its text instead) where what draws is missing."""
        if self.q.ndim != 2 or not len(self.q) or not np.isfinite(self.q).all():
            return None
        try:
            text: str = animations("web_page").animation_html(animations("scene").scene_of(self), standalone=False)
        except ImportError:
            return None
        return text

    def plot(self, *measures: Any) -> Any:
        """Coordinates, velocities and energies over time by unit, and how well the constraints hold, if there are any;
        or measures of `mg.measures` and names of coordinates, a panel for each unit.

        Returns the matplotlib figure. For one start; more pictures are in `mg.plots`.

        >>> len(mg.simulate(model, {"pin": 0.5}, 1.0).plot("pin", mg.measures.KineticEnergy()).axes)
        2
        """
        drawn = plots("history_plots")
        return drawn.plot_histories(self, *measures) if measures else drawn.plot_motion(self)
