"""Where the search for a motion begins, and what is demanded of its ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mechgrad.errors import AssemblyError, InputError
from mechgrad.kinematics.assembly import assemble
from mechgrad.optimization.motion.closing import refuse_open_states
from mechgrad.optimization.motion.constraints import At, Periodic, Requires
from mechgrad.optimization.motion.setting import Setting
from mechgrad.typing import Array

Demands = dict[tuple[float, str], set[int]]


def demanded(constraints: Sequence[Requires], setting: Setting) -> tuple[Demands, str]:
    """Columns that `At` fixes by instant and level, and the levels that return at the end of a periodic motion."""
    given: Demands = {}
    periodic = ""
    for constraint in constraints:
        if isinstance(constraint, At):
            (r,) = constraint.requirements(setting)
            given.setdefault((float(constraint.xi), constraint.level), set()).update(r.measure.structure.cols.tolist())
        if isinstance(constraint, Periodic):
            periodic += constraint.levels
    return given, periodic


def end_profiles(setting: Setting, constraints: Sequence[Requires]) -> tuple[Array, list[set[int]]]:
    """Values of all profiles at the start and at the end, (2, width), and the columns that are demanded there."""
    ends, fixed = np.zeros((2, setting.width)), [set[int](), set[int]()]
    for constraint in constraints:
        if isinstance(constraint, At) and constraint.level == "q" and constraint.xi in (0.0, 1.0):
            (r,) = constraint.requirements(setting)
            columns = r.measure.structure.cols
            ends[int(constraint.xi), columns] = r.lower
            fixed[int(constraint.xi)].update(columns.tolist())
    if setting.timed:
        ends[1, -1] = setting.typical_duration
    return ends, fixed


def _configuration(setting: Setting, p: Array) -> Array:
    assert setting.attitudes is not None  # problems always have them
    return np.asarray(setting.attitudes.configuration(p[None, : setting.model.n_v])[0])


def end_configurations(setting: Setting, constraints: Sequence[Requires]) -> Array:
    """Configurations at the start and at the end, (2, n_q), assembled with what is demanded there."""
    ends, fixed = end_profiles(setting, constraints)
    model, plain = setting.model, set(setting.model.layout.plain_v.tolist())
    found: list[Array] = []
    for k, (p, columns) in enumerate(zip(ends, fixed, strict=True)):
        q, t, label = _configuration(setting, p), setting.time_guess(float(k)), f"q at xi = {k}"
        if len(setting.rows) and len(columns) == model.n_v:
            refuse_open_states(model, q, setting.rows, t, label)
        elif len(setting.rows):
            if k and found and not columns:
                q = found[0]
            elif k:  # where nothing is demanded, the end is sought near the start
                free = [c for c in range(model.n_v) if c not in columns]
                near = _profiles(setting, found[0])
                q = _configuration(setting, np.where(np.isin(np.arange(model.n_v), free), near, p[: model.n_v]))
            held = {model.v_names[c]: float(p[c]) for c in columns if c in plain}
            try:
                q = np.asarray(assemble(model, held, guess=q, t=t).q)
            except AssemblyError as error:
                if held:
                    raise InputError(
                        f"{label}: the mechanism cannot be closed with what is demanded. {error}"
                    ) from error
        found.append(q)
    return np.stack(found)


def _profiles(setting: Setting, q: Array) -> Array:
    assert setting.attitudes is not None
    return setting.attitudes.profiles(q, "guess")


def first_guess(setting: Setting, constraints: Sequence[Requires]) -> Array:
    """Control points (n_points, width): straight lines, closed at the knots where there are constraints."""
    ends, _ = end_profiles(setting, constraints)
    if not len(setting.rows):
        return setting.splines.between(*ends)
    n = setting.model.n_v
    ends[:, :n] = [_profiles(setting, q) for q in end_configurations(setting, constraints)]
    xi = setting.splines.grid
    line = ends[0] + xi[:, None] * (ends[1] - ends[0])
    near = None
    for k, x in enumerate(xi):
        try:
            q = assemble(setting.model, guess=_configuration(setting, line[k]), t=setting.time_guess(float(x))).q
            here = _profiles(setting, np.asarray(q))
        except (AssemblyError, InputError):  # the line leads through places that cannot be closed: it is left as it is
            return setting.splines.between(*ends)
        if near is not None and np.max(np.abs(here - near)) > 1.0:  # another way of assembly
            return setting.splines.between(*ends)
        near = line[k, :n] = here
    return setting.splines.fit(xi, line)
