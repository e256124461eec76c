"""What terms and constraints are told of the problem, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.mechanism_record import elements_of
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.measures.base import Measure
from mechgrad.measures.forces import Effort, Multiplier
from mechgrad.measures.reactions import JointReaction
from mechgrad.model.mechanism import R_KIND
from mechgrad.model.primitives.rows import LINEAR
from mechgrad.optimization.motion.measures.attitudes import Attitudes
from mechgrad.optimization.motion.measures.base import SampleFunction, columns_of
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.coordinates import Coordinates, Profiles
from mechgrad.optimization.motion.measures.element_efforts import ElementEfforts
from mechgrad.optimization.motion.measures.element_forces import dependence_with
from mechgrad.optimization.motion.measures.ground import JUST_BEFORE, GroundTorques, Stance
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad, CutForce, LoadSchedule, Torques
from mechgrad.optimization.motion.measures.joint_wrenches import Reactions
from mechgrad.optimization.motion.measures.mapped import Mapped
from mechgrad.optimization.motion.measures.measured import Measured
from mechgrad.optimization.motion.measures.probed_samples import Acting
from mechgrad.optimization.motion.measures.reaction_axes import reaction_in_axes
from mechgrad.optimization.motion.measures.sample_functions import UserFunction
from mechgrad.optimization.motion.measures.times import Times
from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array, ArrayLike, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True, eq=False)
class Setting:
    """The problem as its parts see it."""

    model: Model
    splines: Splines
    cuts: tuple[CutForce, ...] = ()
    driven: IntArray | None = None  # columns with actuators; None: all
    rows: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # constraint rows with multipliers
    attitudes: Attitudes | None = None
    duration: float | None = None  # [s], if given
    typical_duration: float = 1.0
    timed: bool = False  # whether time is a profile: it is asked for, and the duration is free

    @property
    def first_multiplier(self) -> int:
        """Column of the first multiplier's profile: behind the coordinates and the forces of cuts."""
        return self.model.n_v + sum(len(cut.axes) for cut in self.cuts)

    @property
    def determined(self) -> bool:
        """Whether constraints act and there are as many actuators as freedoms: then motions decide multipliers."""
        count = self.model.n_v if self.driven is None else len(self.driven)
        return bool(len(self.rows)) and count == self.model.n_v - len(self.rows)

    @property
    def multiplier_names(self) -> tuple[str, ...]:
        """Of the constraint rows."""
        names = elements_of(self.model).row_names
        return tuple(names[k] for k in self.rows)

    @property
    def width(self) -> int:
        """Number of profiles: coordinates, forces in cuts, multipliers, time."""
        return self.first_multiplier + len(self.rows) + self.timed

    @property
    def profile_names(self) -> tuple[str, ...]:
        """Of all profiles."""
        forces = [name for cut in self.cuts for name in cut.names]
        return (*self.model.v_names, *forces, *self.multiplier_names, *(["time"] if self.timed else []))

    @property
    def times(self) -> Times:
        """When samples are, as laws and drivers ask."""
        return Times(self.duration, self.width - 1 if self.timed else -1)

    def time_guess(self, xi: float) -> float:
        """t [s] at an instant, as far as known before the search."""
        return xi * self.typical_duration

    @property
    def passive(self) -> IntArray:
        """Columns without actuators."""
        return np.setdiff1d(
            np.arange(self.model.n_v), np.arange(self.model.n_v) if self.driven is None else self.driven
        )

    def driven_rows(self, joints: Sequence[str] | None) -> IntArray:
        """Columns of the torques of some joints, of all that are driven if None."""
        if joints is None and self.driven is not None:
            return self.driven
        rows = columns_of(self.model, joints)
        if self.driven is not None and (idle := [self.model.v_names[r] for r in rows if r not in self.driven]):
            raise InputError(f"{', '.join(idle)} of model {self.model.name!r} is not driven: its torque is zero.")
        return rows

    def coordinates(self, joints: Sequence[str] | None) -> list[str] | None:
        """Names of velocities, for those or for coordinates; a joint of several stands for all of them."""
        if joints is None:
            return None
        found: list[str] = []
        layout = self.model.layout
        places = zip(layout.plain_q, layout.plain_v, strict=True)
        plain = {self.model.q_names[q]: self.model.v_names[v] for q, v in places}
        whole = {joint.name for joint in self.model.tree_joints}
        for name in [joints] if isinstance(joints, str) else joints:
            name = plain.get(name, name)
            alone = name in self.model.v_names or name not in whole
            found += [name] if alone else self.model.v_names[self.model.v_slice(name)]
        return found

    def positions(self, joints: list[str] | None, value: ArrayLike, label: str) -> ArrayLike:
        """Values of profiles that positions (in the order of q) of some coordinates stand for."""
        if self.attitudes is None or not self.attitudes.needed:
            return value
        columns = columns_of(self.model, joints).tolist()
        layout = self.model.layout
        at = dict(zip(layout.plain_v.tolist(), layout.plain_q.tolist(), strict=True))
        places: list[int] = []
        for c in columns:
            if c in at:
                places.append(at[c])
                continue
            ball = next(b for b, three in enumerate(layout.ball_v.tolist()) if c in three)
            if not set(layout.ball_v[ball].tolist()) <= set(columns):
                raise InputError(f"{label}: {self.model.v_names[c]!r} is a part of an attitude; name the joint.")
            if c == layout.ball_v[ball][0]:
                places += layout.ball_q[ball].tolist()
        given = numbers(value, label)
        given = given[None] if given.shape == () and len(places) == 1 else given
        if given.shape != (len(places),):
            raise InputError(
                f"{label}: {given.size} number(s) for {len(places)}: "
                f"{', '.join(self.model.q_names[k] for k in places)} (attitudes are four Euler parameters)."
            )
        q = self.attitudes.reference.copy()
        q[places] = given
        return np.asarray(self.attitudes.profiles(q, label)[columns])

    def mapped(self, measure: SampleFunction) -> SampleFunction:
        """A measure of the mechanism as one of the profiles."""
        if self.attitudes is None or not self.attitudes.needed or isinstance(measure, Profiles):
            return measure
        if isinstance(measure, Coordinates) and measure.level == "q":
            return measure  # profiles themselves: `At` and `Periodic` ask for these
        return Mapped(measure, self.attitudes, self.width)

    @property
    def acting(self) -> Acting:
        """What acts besides drives and loads."""
        return Acting(self.cuts, self.rows, self.first_multiplier, self.times)

    def function_of(self, measure: Any, loads: Sequence[AnyLoad] | None = None) -> Any:
        """A measure of `mg.measures` as a function of samples; what is one already stays as it is.

        Reactions are those of the motion, with what its drives exert, under `loads`.
        """
        if not isinstance(measure, Measure):
            return measure
        if isinstance(measure, Multiplier):
            return self._multiplier(measure)
        if isinstance(measure, Effort):
            return ElementEfforts(self.model, measure, self.times)
        if isinstance(measure, JointReaction):
            return reaction_in_axes(self.reactions((measure.joint,), loads), measure)
        return Measured(self.model, measure)

    def _multiplier(self, measure: Multiplier) -> Profiles:
        names = self.multiplier_names
        if measure.constraint not in names:
            if measure.constraint in elements_of(self.model).row_names[: elements_of(self.model).n_constraints]:
                raise InputError(
                    f"{measure.label}: row {measure.constraint!r} of model {self.model.name!r} depends on other rows "
                    f"and has no multiplier of its own; those with one: {', '.join(names)}."
                )
            raise unknown_name("constraint row", measure.constraint, names, f"model {self.model.name!r}")
        return Profiles(np.array([self.first_multiplier + names.index(measure.constraint)]), (measure.label,))

    def reactions(self, joints: Sequence[str], loads: Sequence[AnyLoad] | None) -> Reactions:
        """What joints transmit, of the tree or cut, with all that acts in the problem."""
        self._check_loads(loads, None)
        return Reactions(self.model, tuple(joints), loads, acting=self.acting)

    def user_measure(
        self, function: Callable[..., Any], inputs: Sequence[SampleFunction | Measure], label: str, time: bool
    ) -> Composite:
        """A user's function of measures of this problem."""
        given = () if isinstance(inputs, SampleFunction | Measure) else tuple(self.function_of(x) for x in inputs)
        if not given or not all(isinstance(measure, SampleFunction) for measure in given):
            raise InputError(
                f"{label}: inputs must be a list of measures: [mg.measures.PointPosition('tip'), Torques(model)]."
            )
        for measure in given:
            if getattr(measure, "model", self.model) is not self.model:
                raise InputError(f"{label}: a measure is of another model than the problem, {self.model.name!r}.")
            if isinstance(measure, Torques) and measure.cuts != self.cuts:
                raise InputError(f"{label}: the problem has cut joints; give Torques(model, cuts=...) the same ones.")
            if isinstance(measure, Coordinates) and measure.level == "q":
                self.refuse_balls(measure.columns, label)
        given = tuple(self._with_all_that_acts(m) for m in given)
        return Composite(given, UserFunction(function, [m.m for m in given], label, time), label)

    def _with_all_that_acts(self, measure: SampleFunction) -> SampleFunction:
        """A user's torques or reactions of a model as those of the problem."""
        if isinstance(measure, Torques):
            return self.torques(measure.loads, None)
        return self.reactions(measure.joints, measure.loads) if isinstance(measure, Reactions) else measure

    def refuse_balls(self, columns: Array, label: str) -> None:
        """Raise where angles of balls are asked for one by one."""
        if self.attitudes is not None and (found := set(self.attitudes.columns.ravel()) & set(columns.tolist())):
            raise InputError(
                f"{label}: positions of {self.model.v_names[min(found)]!r} are an attitude, no numbers of its own. "
                "Name other joints, or ask for points of the body (PointLimits, Points)."
            )

    def torques(self, loads: Sequence[AnyLoad] | None, ground: Sequence[Stance] | None) -> SampleFunction:
        """Generalized forces, in the air or on the ground."""
        self._check_loads(loads, ground)
        if ground is None:
            return self.acting.forces(self.model, loads)
        if self._elements and (pushed := self._held_by_elements()):
            raise InputError(
                f"torques on the ground: a force element or a constraint acts along {pushed[0]!r}, a coordinate that "
                "joins the ground, whose work the feet do. Leave out `ground`, or that element, or let it act between "
                "points."
            )
        return GroundTorques(self.model, tuple(ground), loads, acting=self.acting)

    def _held_by_elements(self) -> list[str]:
        """Coordinates of joints to the ground that a row names: what acts in these joints passes by the feet."""
        elements = elements_of(self.model)
        kinds = elements.rows_i[
            np.concatenate([self.rows, np.arange(elements.n_constraints, elements.n_rows)]), R_KIND
        ]  # fmt: skip
        named = np.any(dependence_with(self.model, self.rows, ()).rows[kinds == LINEAR], axis=0)
        return [self.model.v_names[c] for c in self.rooted if named[c]]

    @property
    def rooted(self) -> list[int]:
        """Columns of the joints that join the ground."""
        joined = [joint.name for joint in self.model.tree_joints if joint.parent == "ground"]
        return [c for name in joined for c in range(*self.model.v_slice(name).indices(self.model.n_v))]

    def _check_loads(self, loads: Sequence[AnyLoad] | None, ground: Sequence[Stance] | None) -> None:
        if isinstance(loads, Load | LoadSchedule) or isinstance(ground, Stance):
            raise InputError("loads and ground are lists: [Load(...)], [Stance(...)].")

    @property
    def _elements(self) -> bool:
        return has_elements(self.model)

    def instants(
        self, per_segment: int, during: tuple[float, float], label: str, ground: Sequence[Stance] | None = None
    ) -> Array:
        """Ends of the spline segments, `per_segment` - 1 instants between them, within `during`.

        Where a stance ends, forces change: with `ground` the instant just before is there, too.
        """
        if isinstance(per_segment, bool) or not isinstance(per_segment, int | np.integer) or per_segment < 1:
            raise InputError(f"{label}: per_segment is {per_segment!r}; give 1, 2, ...")
        if np.shape(during) != (2,):
            raise InputError(f"{label}: during is {during!r}; give (start, end).")
        start, end = during
        if not 0 <= start <= end <= 1:
            raise InputError(f"{label}: during is {during}; need 0 <= start <= end <= 1 (xi = t / T).")
        xi = np.linspace(0.0, 1.0, self.splines.segments * per_segment + 1)
        changes = {stance.end for stance in ground or () if stance.end < 1}
        xi = np.sort(np.concatenate([xi, [end - JUST_BEFORE for end in changes]]))
        xi = xi[(xi >= start - 1e-9) & (xi <= end + 1e-9)]
        if xi.size == 0:
            raise InputError(
                f"{label}: no instant of the grid lies between xi = {start} and {end}. Raise per_segment, or take more "
                "segments."
            )
        return xi


@dataclass(frozen=True, eq=False)
class Requirement:
    """Rows of a combination of a measure at some instants, between bounds.

    `rows` of `combine` (rows, nt m); None takes all values. Bounds per row; `scale` is a typical magnitude.
    """

    label: str
    measure: SampleFunction
    xi: Array
    lower: Array
    upper: Array
    combine: sparse.csr_array | None = None
    names: tuple[str, ...] | None = None
    scale: Array | float = 1.0

    def matrix(self) -> sparse.csr_array:
        """`combine`, or the unit matrix."""
        size = self.xi.size * self.measure.m
        return sparse.csr_array(sparse.identity(size, format="csr")) if self.combine is None else self.combine

    def row_names(self) -> list[str]:
        """One per row."""
        if self.names is not None:
            return [f"{self.label}: {name}" for name in self.names]
        return [f"{self.label}: {name} at xi = {xi:.7g}" for xi in self.xi for name in self.measure.names]


@dataclass(frozen=True, eq=False)
class IntegralOf:
    """sum over samples of omega (linear . y + squares . y^2)."""

    measure: SampleFunction
    xi: Array
    linear: Array
    squares: Array
    rule: str = "trapezoid"


def bounded(
    label: str,
    measure: SampleFunction,
    xi: Array,
    rows: Array,
    lower: ArrayLike,
    upper: ArrayLike,
    scale: ArrayLike | None = None,
) -> Requirement:
    """Some rows of a measure between bounds: numbers, one per row, or one row per instant."""
    lo, up = (_spread(x, xi.size, rows.size, measure, rows, label) for x in (lower, upper))
    for k, r in np.argwhere(np.isnan(lo) | np.isnan(up) | (lo > up) | (lo == np.inf) | (up == -np.inf)):
        raise InputError(f"{label}: {measure.names[rows[r]]} between {lo[k, r]} and {up[k, r]}; the limits cross.")
    keep = np.isfinite(lo) | np.isfinite(up)
    index = (np.arange(xi.size)[:, None] * measure.m + rows)[keep]
    combine = sparse.csr_array((np.ones(index.size), (np.arange(index.size), index)), (index.size, xi.size * measure.m))
    names = [f"{measure.names[r]} at xi = {x:.7g}" for x in xi for r in rows]
    kept = tuple(name for name, k in zip(names, keep.ravel(), strict=True) if k)
    size = np.ones((xi.size, rows.size)) * (1.0 if scale is None else np.asarray(scale, float))
    return Requirement(label, measure, xi, lo[keep], up[keep], combine, kept, size[keep])


def numbers(x: ArrayLike, label: str) -> Array:
    """Bounds as an array."""
    try:
        return np.asarray(x, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: bounds must be numbers; one is {x!r}.") from error


def _spread(x: ArrayLike, nt: int, m: int, measure: SampleFunction, rows: Array, label: str) -> Array:
    values = numbers(x, label)
    if values.shape not in ((), (m,), (nt, m)):
        some = ", ".join([*(measure.names[r] for r in rows[:4]), *(["..."] if m > 4 else [])])
        raise InputError(
            f"{label}: bounds have shape {values.shape}; give a number, {m} numbers ({some}) or ({nt}, {m})."
        )
    return np.broadcast_to(values, (nt, m)).copy()
