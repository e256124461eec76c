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
from mechgrad.mechanics.energies import kinetic_energy, potential_energy, spring_energy, springs_of
from mechgrad.pictures import animations
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model

LEAST_DRAWN = 1e-18  # zero has no place on a logarithmic axis


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

    @abstractmethod
    def _misses(self) -> Array:
        """Norms of constraint values, rates and second rates, (nt, 3)."""

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
        """Coordinates, velocities and energies over time, and how well the constraints hold, if there are any; or
        measures of `mg.measures`, a panel each.

        Returns the matplotlib figure. For one start.
        """
        from matplotlib.figure import Figure

        if measures:
            return self._plot_measures(Figure(figsize=(4.0 * len(measures), 3.4), layout="constrained"), measures)
        system = self._mechanism()
        panels = 4 if system.n_constraints else 3
        figure = Figure(figsize=(11 * panels / 3, 3.4), layout="constrained")
        names = {"coordinates": self.model.q_names, "velocities": self.model.v_names}
        for k, (values, title) in enumerate(((self.q, "coordinates"), (self.v, "velocities"))):
            ax = figure.add_subplot(1, panels, k + 1)
            ax.plot(self.t, values, label=names[title] if values.shape[1] <= 8 else None)
            ax.set(title=title, xlabel="time [s]")
            if values.shape[1] <= 8:
                ax.legend(frameon=False, fontsize=8)
        ax = figure.add_subplot(1, panels, 3)
        energies = {"kinetic": self.kinetic_energy(), "gravity": self.potential_energy()}
        if springs_of(system)[0]:
            energies["springs"] = self.spring_energy()
        for label, values in energies.items():
            ax.plot(self.t, values, label=label)
        ax.plot(self.t, sum(energies.values()), "k", lw=0.8, label="sum")
        ax.set(title="energy [J]", xlabel="time [s]")
        ax.legend(frameon=False, fontsize=8)
        if system.n_constraints:
            ax = figure.add_subplot(1, panels, 4)
            misses = np.maximum(np.real(self._misses()), LEAST_DRAWN)
            ax.semilogy(self.t, misses, label=["values", "rates", "second rates"])
            ax.set(title="constraints missed by", xlabel="time [s]")
            ax.legend(frameon=False, fontsize=8)
        for ax in figure.axes:
            ax.grid(alpha=0.3)
        return figure

    def _plot_measures(self, figure: Any, measures: Sequence[Any]) -> Any:
        for ax, measure in zip(figure.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            values = self.measured(measure).reshape(len(self.t), -1)
            ax.plot(self.t, values, label=None if values.shape[1] == 1 else [f"[{k}]" for k in range(values.shape[1])])
            ax.set(title=measure.label, xlabel="time [s]")
            ax.grid(alpha=0.3)
            if values.shape[1] > 1:
                ax.legend(frameon=False, fontsize=8)
        return figure
