"""A motion that was found: on any grid, with its torques and reactions, and how it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.tree_reactions import JointReactions
from mechgrad.kinematics.batch import check_samples
from mechgrad.kinematics.marker_motions import marker_motion
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.reactions import joint_reactions
from mechgrad.model.model import Model
from mechgrad.optimization.motion.clock import Clock, FreeKnots, GivenDuration
from mechgrad.optimization.motion.closing import setting_of
from mechgrad.optimization.motion.grid import Grid
from mechgrad.optimization.motion.measures.ground import GroundTorques, Stance
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad, CutForce, Torques, loads_at
from mechgrad.optimization.motion.measures.motion_samples import Samples
from mechgrad.optimization.motion.setting import Setting
from mechgrad.optimization.motion.splines import Splines
from mechgrad.optimization.solvers import SolverResult
from mechgrad.pictures import plots
from mechgrad.typing import Array, Wrench


@final
@dataclass(frozen=True, eq=False)
class GroundReactions:
    """What the ground does, over time.

    Attributes
    ----------
    t : (nt,) [s]
    couple, force : (nt, 3) [N m], [N]
        Of all feet together; the couple is the moment about the world's origin.
    zmp : (nt, 3)
        The zero-moment point on the ground [m].
    feet : dict of Wrench
        `.couple` (about the world's origin) and `.force` on each body that stands, (nt, 3), zero while it does not.
    """

    t: Array
    couple: Array
    force: Array
    zmp: Array
    feet: dict[str, Wrench]


@final
@dataclass(frozen=True, eq=False)
class MotionSolution:
    """The answer of a MotionProblem.

    Attributes
    ----------
    model, splines : what moves (with the free numbers that were found), and how its motion is described
    control_points : (n_points, n)
    duration : float [s]
    result : SolverResult or None
        Reason, multipliers, iterations, times; None for a motion that was loaded.
    cuts : forces in cut joints, whose profiles follow the coordinates
    lengths : (segments,) or None
        Lengths of the segments [s], if they were free.
    problem : MotionProblem or None
        What it solves; None for a motion that was loaded.
    driven : names of the actuators, if not all coordinates have one
    reference : (n_q,) attitudes about which balls turn, or None
    """

    model: Model
    splines: Splines
    control_points: Array
    duration: float
    result: SolverResult | None
    cuts: tuple[CutForce, ...] = ()
    lengths: Array | None = None
    problem: Any = field(default=None, repr=False)
    driven: tuple[str, ...] | None = None
    reference: Array | None = None

    @cached_property
    def setting(self) -> Setting:
        """Profiles by name, drives, attitudes: how control points are to be read."""
        given = self.splines, self.cuts, self.driven, self.reference
        found = setting_of(self.model, *given, self.duration, self.duration)
        if self.problem is not None:  # the same rows and profiles, whatever numbers of the model were found
            known: Setting = self.problem.setting
            return replace(known, model=self.model, attitudes=found.attitudes)
        return replace(found, timed=self.control_points.shape[1] > found.width)

    def _clock(self) -> tuple[Clock, Array]:
        if self.lengths is None:
            return GivenDuration(self.duration), np.zeros(0)
        return FreeKnots(self.splines.segments, self.duration, self.duration, self.duration), self.lengths

    def profiles_at(self, xi: Array) -> Samples:
        """Profiles at some instants of normalised time: coordinates, attitudes about their reference, forces."""
        clock, theta = self._clock()
        grid = Grid(self.splines, self.control_points.shape[1], self.model.n_v, xi, clock)
        return grid.moment(np.concatenate([self.control_points.ravel(), theta])).samples

    def samples_at(self, xi: Array) -> Samples:
        """The motion at some instants of normalised time."""
        attitudes = self.setting.attitudes
        assert attitudes is not None  # settings of problems and motions have them
        return attitudes.samples(self.profiles_at(xi))

    def _even(self, samples: int) -> Array:
        return np.linspace(0.0, 1.0, check_samples(samples))

    def times(self, samples: int = 101) -> Array:
        """t [s] of an even grid of normalised time (even in time, too, unless the segments have different lengths)."""
        clock, theta = self._clock()
        return clock.times(theta, self._even(samples))

    def time(self, xi: float) -> float:
        """t [s] at an instant of normalised time."""
        clock, theta = self._clock()
        return float(clock.times(theta, np.array([xi]))[0])

    def motion(self, samples: int = 101) -> tuple[Array, Array, Array, Array]:
        """t (samples,), q (samples, n_q), v, a (samples, n_v) on an even grid."""
        s = self.samples_at(self._even(samples))
        return self.times(samples), s.q, s.v, s.a

    def torques(
        self,
        samples: int = 101,
        loads: Sequence[AnyLoad] | None = None,
        ground: Sequence[Stance] | None = None,
    ) -> Array:
        """What actuators exert on an even grid, (samples, n_v), against force elements, constraints, forces in cut
        joints and the ground; zero for joints that are not driven (`residuals` tells what they would need)."""
        s = self.samples_at(self._even(samples))
        tau = self.setting.torques(loads, ground).on(s.xi).values(s)[:, : self.model.n_v]
        if self.setting.driven is not None:
            tau[:, self.setting.passive] = 0.0
        return tau

    def cut_forces(self, samples: int = 101) -> Array:
        """Forces between points that `CutForce` names, (samples, components)."""
        s = self.profiles_at(self._even(samples))
        return np.asarray(s.z[0][:, self.model.n_v : self.setting.first_multiplier])

    def multipliers(self, samples: int = 101) -> dict[str, Array]:
        """Multipliers of closures and constraints by the name of their row, (samples,) each [N, N m].

        M a + h + Gamma^T lam = Q: positive ones resist the growth of their row, as those of `constraint_terms`.

        >>> from mechgrad.optimization.motion import MotionSolution, Splines
        >>> motion = MotionSolution(five_bar(), Splines(2), np.ones((5, 6)), 1.0, None, driven=("A", "1"))
        >>> motion.multipliers(3)["B: point x"].round(3)
        array([1., 1., 1.])
        """
        z, first = self.profiles_at(self._even(samples)).z[0], self.setting.first_multiplier
        return {name: np.array(z[:, first + k]) for k, name in enumerate(self.setting.multiplier_names)}

    def ground_reactions(
        self, ground: Sequence[Stance], samples: int = 101, loads: Sequence[AnyLoad] | None = None
    ) -> GroundReactions:
        """What the ground does to the body that stands on it."""
        s = self.samples_at(self._even(samples))
        measure = self._on_ground(s, loads, ground)
        W = measure.values(s)[:, self.model.n_v :]
        couple, force = W[:, :3], W[:, 3:]
        zmp = np.stack([-couple[:, 1] / force[:, 2], couple[:, 0] / force[:, 2], np.zeros(s.nt)], axis=1)
        feet = {body: Wrench(w[:, :3], w[:, 3:]) for body, w in measure.wrenches(s).items()}
        return GroundReactions(self.times(samples), couple, force, zmp, feet)

    def reactions(
        self,
        samples: int = 101,
        loads: Sequence[AnyLoad] | None = None,
        ground: Sequence[Stance] | None = None,
    ) -> JointReactions:
        """What each joint transmits, on an even grid: as `joint_reactions`, with all loads of the motion."""
        s = self.samples_at(self._even(samples))
        acting = Torques(self.model, loads, self.cuts).forces_at(s) if self.cuts else loads_at(loads, s.xi)
        if ground is not None:
            feet = self._on_ground(s, loads, ground).wrenches(s)
            origins = marker_motion(self.model, [f"{body}.origin" for body in feet], s.q).position
            for k, (body, w) in enumerate(feet.items()):
                couple, force = w[:, :3], w[:, 3:]
                acting = [*acting, Load(body, force, couple - np.cross(origins[:, k], force))]
        if not has_elements(self.model):
            return joint_reactions(self.model, s.q, s.v, s.a, loads=acting)
        t = self.setting.times.at(self.profiles_at(s.xi))
        if self.setting.driven is None:
            return joint_reactions(self.model, s.q, s.v, s.a, t=t, loads=acting)
        return joint_reactions(self.model, s.q, s.v, tau=self.torques(s.nt, loads, ground), t=t, loads=acting)

    def _on_ground(
        self, s: Samples, loads: Sequence[AnyLoad] | None, ground: Sequence[Stance]
    ) -> GroundTorques:  # fmt: skip
        measure = self.setting.torques(loads, tuple(ground))
        assert isinstance(measure, GroundTorques)
        return measure.on(s.xi)

    def overshoot(
        self,
        limit: float | Array,
        samples: int = 2001,
        loads: Sequence[AnyLoad] | None = None,
        ground: Sequence[Stance] | None = None,
    ) -> Array:
        """How far |tau| exceeds a limit anywhere between the samples where it was enforced, per joint (0 if
        nowhere)."""
        tau = self.torques(samples, loads, ground)
        return np.asarray(np.maximum(np.max(np.abs(tau), axis=0) - limit, 0.0))

    def residuals(self, finer: int = 8) -> dict[str, float]:
        """How far each kind of constraint is violated anywhere, also between the instants where it is enforced.

        On a grid `finer` times as fine as those instants, in the units of the constraints (squared for what is enforced
        on squares); 1 looks at the instants alone.
        """
        if self.problem is None:
            raise InputError(
                "this motion does not know what it had to respect: it was loaded, or made by hand. Ask the problem: "
                "problem.residuals(solution)."
            )
        found: dict[str, float] = self.problem.residuals(self, finer)
        return found

    def unknowns_on(self, splines: Splines, clock: Clock) -> Array:
        """This motion as unknowns on other splines: a start for a refined problem."""
        if splines == self.splines and (self.lengths is None or isinstance(clock, FreeKnots)):
            theta = clock.of_duration(self.duration) if self.lengths is None else self.lengths
            return np.concatenate([self.control_points.ravel(), theta])
        samples = 8 * splines.segments + 1
        xi = np.linspace(0, 1, samples)
        own, own_theta = self._clock()
        t = own.times(own_theta, np.linspace(0, 1, 4001))
        # the same instants of time, whatever the lengths of the segments were
        at = np.interp(xi * self.duration, t, np.linspace(0, 1, 4001))
        P = splines.fit(xi, self.profiles_at(at).z[0])
        return np.concatenate([P.ravel(), clock.of_duration(self.duration)])

    # ------------------------------------------------------------------------------------------------------- pictures
    def plot(
        self,
        samples: int = 401,
        loads: Sequence[AnyLoad] | None = None,
        ground: Sequence[Stance] | None = None,
    ) -> Any:
        """Positions, velocities and generalized forces over time, by unit; returns the matplotlib figure."""
        t, q, v, _ = self.motion(samples)
        return plots("history_plots").plot_states(self.model, t, q, v, self.torques(samples, loads, ground))

    def animate(
        self, segments: Sequence[tuple[str, str]], path: str | Path | None = None, frames: int = 40, repeat: int = 1
    ) -> Any:
        """The motion as a stick figure: lines between pairs of markers; returns the matplotlib animation.

        With `path` (a .gif) it is written there, `repeat` times over in one file.
        """
        from matplotlib.animation import FuncAnimation, PillowWriter
        from matplotlib.figure import Figure

        names = list(dict.fromkeys(name for pair in segments for name in pair))
        if not names:
            raise InputError("segments is empty; give pairs of marker names to join.")
        _, q, _, _ = self.motion(frames)
        x = marker_motion(self.model, names, q).position
        figure = Figure(figsize=(5, 5), layout="constrained")
        ax: Any = figure.add_subplot(projection="3d")
        low, high = x.min(axis=(0, 1)), x.max(axis=(0, 1))
        middle, reach = (low + high) / 2, max(float(np.max(high - low)) / 2, 1e-3)
        ax.set(**{f"{axis}lim": (m - reach, m + reach) for axis, m in zip("xyz", middle, strict=True)})
        lines = [ax.plot([], [], [], "o-", ms=2, lw=2, color="C0")[0] for _ in segments]

        def draw(frame: int) -> list[Any]:
            for line, (a, b) in zip(lines, segments, strict=True):
                ends = x[frame % frames][[names.index(a), names.index(b)]]
                line.set_data_3d(*ends.T)
            return lines

        interval = 1e3 * self.duration / (frames - 1)
        animation = FuncAnimation(figure, draw, frames=frames * repeat, interval=interval)
        if path is not None:
            animation.save(str(path), PillowWriter(fps=min(50, max(1, round(1e3 / interval)))))
        return animation
