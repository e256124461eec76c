"""What a problem asks for by itself where a mechanism is more than a tree of driven joints.

A spline of degree k on s segments has s + k numbers. Of each constraint row these are spent on its value at the s + 1
knots, on its rate at both ends, and for k = 5 on its value in the middle of the first and of the last segment; rows at
velocity level have no value, and s + k - 1 rates.

Multipliers are splines, too. With as many actuators as freedoms, torques of the other joints vanish at s + k instants,
which decides all multipliers: the knots, and (k - 1) / 2 instants more within the first and the last segment. With
other numbers of actuators, multipliers run straight at both ends (second derivative zero, s + k - 2 numbers are left),
and torques vanish at s + k - 2 instants: so many leave start and rate of a freedom open that nothing drives, and values
at the knots, which costs see, decide about multipliers that no passive joint decides.

Equations that others repeat are left out: rows at an instant whose coordinates `At` gives, rows at the end of a
`Periodic` motion, and rows that depend on others wherever the mechanism is assembled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.linalg import qr

from mechgrad.dynamics.system import RANK, System
from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.mechanism_record import elements_of, row_report
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.checked_states import columns_of
from mechgrad.optimization.motion.measures.attitudes import Attitudes
from mechgrad.optimization.motion.measures.constraint_rows import ConstraintRows
from mechgrad.optimization.motion.measures.coordinates import Profiles
from mechgrad.optimization.motion.measures.ground import Stance
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad, CutForce, Torques
from mechgrad.optimization.motion.measures.joint_wrenches import Reactions
from mechgrad.optimization.motion.measures.times import check_clocks_of_users, depends_on_time
from mechgrad.optimization.motion.setting import Requirement, Setting, bounded
from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array, ArrayLike, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

CLOSED = 1e-6  # [m, or 1]: what states that are demanded may miss constraints by


def acting_rows(model: Model) -> IntArray:
    """Constraint rows that multipliers are found for: without those that depend on others where it is assembled."""
    kept = row_report(model).kept
    if not kept.size:
        return kept
    try:
        q = assemble(model).q
    except AssemblyError:  # not from nowhere: all rows are kept
        return kept
    redundant = System(model, rows=kept).redundant(np.asarray(q))
    names = elements_of(model).row_names
    return np.array([k for k in kept if names[k] not in redundant], np.int64)


def driven_columns(model: Model, driven: Sequence[str] | None, rows: IntArray) -> IntArray:
    """Columns with actuators of a closed mechanism, which have to be named."""
    if driven is not None:
        return columns_of(model, driven, "driven")
    freedoms = model.n_v - len(rows)
    raise InputError(
        f"model {model.name!r} is closed by {len(rows)} constraint rows and has {freedoms} freedom(s) in "
        f"{model.n_v} coordinates: say which of these have actuators, "
        f"MotionProblem(..., driven=[{', '.join(map(repr, model.v_names[: max(freedoms, 1)]))}]). With more "
        "actuators than freedoms (driven=model.v_names: all), the cost decides how they share the load."
    )


def setting_of(
    model: Model,
    splines: Splines,
    cuts: tuple[CutForce, ...],
    driven: Sequence[str] | None,
    reference: ArrayLike | None,
    duration: float | None,
    typical: float,
) -> Setting:
    """The setting of a mechanism: rows with multipliers, drives, attitudes, and time (`duration` None: to be found)."""
    attitudes = Attitudes.of(model, reference)
    if not has_elements(model):
        columns = None if driven is None else columns_of(model, driven, "driven")
        return Setting(model, splines, cuts, columns, attitudes=attitudes, duration=duration, typical_duration=typical)
    rows = acting_rows(model)
    columns = None if driven is None and not len(rows) else driven_columns(model, driven, rows)
    if duration is None:
        check_clocks_of_users(model)
    timed = duration is None and depends_on_time(model)
    return Setting(model, splines, cuts, columns, rows, attitudes, duration, typical, timed)


def within_ends(setting: Setting, count: int) -> Array:
    """Instants that divide the first and the last segment evenly, `count` in each."""
    inside = np.arange(1, count + 1) / ((count + 1) * setting.splines.segments)
    return np.concatenate([inside, 1 - inside])


def _extra(setting: Setting) -> int:
    """How many instants more than knots and two rates a row needs at each end: quintic splines, one."""
    return (setting.splines.degree - 3) // 2


@final
@dataclass(frozen=True, eq=False)
class Closures:
    """Constraint rows hold. `given` maps (xi, level) to the columns that are demanded there."""

    given: dict[tuple[float, str], set[int]]
    periodic: str = ""
    q: Array | None = None  # (2, n_q) configurations at the start and at the end, as far as known
    per_segment: int = 1

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        model, rows = setting.model, setting.rows
        holonomic = rows[rows < elements_of(model).n_holonomic]
        rolling = rows[rows >= elements_of(model).n_holonomic]
        knots = setting.instants(self.per_segment, (0.0, 1.0), "closures")
        found = []
        if holonomic.size:
            ends = np.array([0.0, 1.0])
            more = within_ends(setting, _extra(setting) + setting.timed)  # rates of drivers have no derivative by time
            found += self._rows(setting, holonomic, "value", np.unique(np.concatenate([knots, more])))
            if not setting.timed:
                found += self._rows(setting, holonomic, "rate", ends)
        if rolling.size:
            more = within_ends(setting, _extra(setting) + 1)[:-1]
            found += self._rows(setting, rolling, "rate", np.unique(np.concatenate([knots, more])))
        return found

    def _rows(self, setting: Setting, rows: IntArray, level: str, xi: Array) -> list[Requirement]:
        measure = ConstraintRows(setting.model, rows, level, setting.times)
        label = "closures" if level == "value" else "rates of closures"
        asked = np.ones((xi.size, rows.size), bool)
        if self.per_segment == 1:
            for k, x in enumerate(xi):
                asked[k] = self._independent(setting, rows, level, float(x))
        bound = np.where(asked, 0.0, np.inf)
        return [bounded(label, measure, xi, np.arange(rows.size), -bound, bound)]

    def _independent(self, setting: Setting, rows: IntArray, level: str, xi: float) -> Array:
        """Which rows say more at an instant than what is demanded there of coordinates."""
        model, short = setting.model, "q" if level == "value" else "v"
        if xi == 1.0 and short in self.periodic:
            return np.zeros(rows.size, bool)
        given = self.given.get((xi, short), set())
        if not given:
            return np.ones(rows.size, bool)
        q = model.neutral() if self.q is None else self.q[0 if xi < 0.5 else 1]
        J = System(model, rows=rows).constraints(q[None], t=setting.time_guess(xi)).J[0]
        J = J[:, [c for c in range(model.n_v) if c not in given]]
        asked = np.zeros(rows.size, bool)
        if J.size:
            _, R, order = qr(J.T, mode="economic", pivoting=True)
            sizes = np.abs(np.diag(R))
            asked[order[: int(np.sum(sizes > max(RANK * sizes[0], 1e-12)))]] = True
        return asked


def acting_loads(parts: Sequence[Any]) -> tuple[AnyLoad, ...]:
    """The loads that terms and constraints on torques name, which have to be the same for all of them."""
    found: dict[tuple[int, ...], tuple[AnyLoad, ...]] = {}
    for part in parts:
        given = [part, *(m for m in getattr(part, "inputs", ()) if isinstance(m, Torques | Reactions))]
        for one in given:
            measure = getattr(one, "measure", None)
            if hasattr(one, "loads") and (measure is None or getattr(measure, "depends_on_forces", False)):
                found[tuple(map(id, one.loads or ()))] = tuple(one.loads or ())
    if len(found) > 1:
        raise InputError(
            "joints without a drive have no torque under the loads of the motion, and terms and constraints of this "
            f"problem name {len(found)} different sets of loads. Give the same objects to all: loads=LOADS."
        )
    return next(iter(found.values()), ())


def standing(parts: Sequence[Any]) -> tuple[Stance, ...] | None:
    """The feet that terms and constraints name, which have to be the same for all of them."""
    found = {tuple(map(id, part.ground)): tuple(part.ground) for part in parts if getattr(part, "ground", None)}
    if len(found) > 1:
        raise InputError(
            "joints without a drive have no torque while feet stand on the ground, and terms and constraints of this "
            f"problem name {len(found)} different sets of feet. Give the same objects to all: ground=FEET."
        )
    return next(iter(found.values()), None)


@final
@dataclass(frozen=True, eq=False)
class PassiveJoints:
    """Joints without a drive have no torque, under the loads of the problem and on the feet that it names."""

    loads: tuple[AnyLoad, ...] = ()
    per_segment: int = 1
    ground: tuple[Stance, ...] | None = None

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        passive = setting.passive
        if not passive.size:
            return []
        if self.ground is not None and (idle := [c for c in setting.rooted if c in passive]):
            raise InputError(
                f"torques on the ground: {setting.model.v_names[idle[0]]!r} of model {setting.model.name!r} joins the "
                "ground and is not driven, and the feet do its work. Name it among driven=[...]: its torque is zero."
            )
        xi = setting.instants(self.per_segment, (0.0, 1.0), "passive joints")
        more = _extra(setting) + setting.determined
        xi = np.unique(np.concatenate([xi, within_ends(setting, more)])) if self.per_segment == 1 else xi
        torques = setting.torques(self.loads or None, self.ground)
        return [bounded("torques of passive joints", torques, xi, passive, 0.0, 0.0)]


@final
@dataclass(frozen=True, eq=False)
class NaturalEnds:
    """Multipliers run straight at both ends, unless passive joints decide them there."""

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        m = len(setting.rows)
        if setting.determined:
            return []
        names = tuple(f"{name}, second derivative" for name in setting.multiplier_names)
        measure = Profiles(setting.first_multiplier + np.arange(m), names, "a")
        size = (setting.splines.segments / setting.typical_duration) ** 2
        return [bounded("ends of multipliers", measure, np.array([0.0, 1.0]), np.arange(m), 0.0, 0.0, size)]


@final
@dataclass(frozen=True, eq=False)
class Clockwork:
    """The profile of time runs from 0 at the rate 1, at as many instants as its spline has numbers."""

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        if not setting.timed:
            return []
        k, t = setting.splines.degree, setting.splines.knot_vector
        # averages of knots of the derivative's spline, one per number of it: the collocation is regular
        xi = np.clip([np.mean(t[i + 1 : i + k]) for i in range(1, setting.splines.n_points)], 0.0, 1.0)
        xi = _apart(np.asarray(xi), setting.splines.segments)
        column = np.array([setting.times.column])
        rate, start = Profiles(column, ("rate of time",), "v"), Profiles(column, ("time",))
        return [
            bounded("rate of time", rate, xi, np.arange(1), 1.0, 1.0),
            bounded("start of time", start, np.zeros(1), np.arange(1), 0.0, 0.0),
        ]


def _apart(xi: Array, segments: int) -> Array:
    """Instants beyond the ends of uniform knots, spread within the first and the last segment."""
    out = xi.copy()
    for end, inner in ((0.0, 1.0), (1.0, -1.0)):
        there = np.flatnonzero(np.abs(out - end) < 1e-9)
        for i, k in enumerate(there if end == 0.0 else there[::-1]):
            out[k] = end + inner * i / (len(there) * segments)
    return np.sort(out)


def refuse_open_states(model: Model, q: Array, rows: IntArray, t: float, label: str) -> None:
    """Raise where a configuration that is demanded misses a constraint."""
    system = System(model, rows=rows)
    count = system.n_holonomic
    if not count:
        return
    miss = np.abs(system.constraints(q[None], t=t).values[0][:count])
    if miss.max() > CLOSED:
        k = int(np.argmax(miss))
        raise InputError(
            f"{label}: the configuration that is demanded misses {system.names[k]!r} of model {model.name!r} by "
            f"{miss[k]:.3g}. Take it from mg.assemble(model, at={{...}}), or demand independent coordinates alone: "
            "At(..., joints=[...])."
        )
