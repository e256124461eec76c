"""Exact derivatives of what joints transmit, of any mechanism.

Trees of bodies alone take the packed kernels of `inverse.tree_reactions`. Everywhere else couples and forces are
functions of the motion, the multipliers and the numbers p of the model,

    R(q, v, a, lam, p)        dR = R_q dq + R_v dv + R_a da + R_lam dlam + R_p dp

where lam, and with constraints also q, v and a, follow what is differentiated by (`mechanics.torque_derivatives`). The
sum on the right is one complex step along (dq, dv, da, dlam, dp): exact to rounding, for cut joints, joints that the
tree passes backwards, and all axes alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.errors import unknown_name
from mechgrad.inverse.loads import Load, compile_loads
from mechgrad.inverse.tree_reactions import JointReactions, ReactionDerivatives
from mechgrad.inverse.tree_reactions import joint_reactions_derivatives as tree_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.checked_states import TOLERANCE
from mechgrad.mechanics.reactions import backwards, chosen_joints, wrenches
from mechgrad.mechanics.torque_derivatives import (
    Change,
    Terms,
    along_constraints,
    full_pattern,
    independent_names,
    real_balance,
    refuse_independent,
    stepped,
)
from mechgrad.mechanics.torques import Balanced, Given, is_named, refuse_guess
from mechgrad.memory import require_memory
from mechgrad.model.columns import STEP, column_index
from mechgrad.model.joints import Joint
from mechgrad.model.pattern import Packed
from mechgrad.typing import ArrayLike, FloatArray, Wrench

if TYPE_CHECKING:
    from mechgrad.model.model import Model

LEVELS = ("z", "zd", "zdd")


@final
@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedReactionDerivatives:
    """Reactions of a mechanism with constraints, and their derivatives along these: all other coordinates follow.

    Attributes
    ----------
    reactions : JointReactions
    dz, dzd, dzdd : (.., joints, 6, f) or (.., joints, 6, g)
        (couple, force) by the independent coordinates, their rates and second rates.
    dp : (.., joints, 6, n_p)
        By parameters, z, z' and z'' held: loops close again and all else follows.
    independent, independent_rates, parameters : tuples of str
        What the columns are by, as in `ConstrainedDerivatives`.
    """

    reactions: JointReactions
    dz: FloatArray
    dzd: FloatArray
    dzdd: FloatArray
    dp: FloatArray
    independent: tuple[str, ...]
    independent_rates: tuple[str, ...]
    parameters: tuple[str, ...]

    def of(self, joint: str, by: str) -> Wrench:
        """Derivatives of one joint's couple and force: `by` is "z", "zd", "zdd", `.couple` and `.force` are then (..,
        3, f), or a parameter path (.., 3)."""
        names = self.reactions.names
        if joint not in names:
            raise unknown_name("joint", joint, names)
        k = names.index(joint)
        if by in LEVELS:
            block: FloatArray = getattr(self, f"d{by}")[..., k, :, :]
            return Wrench(block[..., :3, :], block[..., 3:, :])
        column = self.dp[..., k, :, column_index(self.parameters, by)]
        return Wrench(column[..., :3], column[..., 3:])

    def __repr__(self) -> str:
        force = self.reactions.force
        samples = "one state" if force.ndim == 2 else f"{len(force)} samples"
        return (
            f"ConstrainedReactionDerivatives({samples}, {len(self.reactions.names)} joints, by "
            f"{', '.join(self.independent) or 'nothing'} and their rates, parameters={len(self.parameters)})"
        )


def joint_reactions_derivatives(
    model: Model, q: Given, v: Given | None = None, a: Given | None = None, *, wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None, driven: Sequence[str] | None = None, independent: Sequence[str] | None = None,
    t: ArrayLike = 0.0, guess: ArrayLike | None = None, tolerance: float = TOLERANCE,
    joints: Sequence[str] | None = None, axes: str = "world", threads: int = 1,
) -> Any:  # fmt: skip
    """What joints of any mechanism transmit in a given motion, with exact derivatives by motion and parameters.

    Parameters
    ----------
    model, q, v, a, loads, driven, t, guess, tolerance, joints, axes, threads
        As in `joint_reactions`.
    wrt, independent
        As in `inverse_dynamics_derivatives`.

    Returns
    -------
    ReactionDerivatives
        Of a tree, packed by a fixed pattern: `D.of("knee", "q").force` is dense (.., 3, n_v), `D.of("knee",
        "shank.mass").couple` is (.., 3). With force elements the pattern is full.
    mechgrad.mechanics.reaction_derivatives.ConstrainedReactionDerivatives
        Of a mechanism with constraints: `D.dz`, `D.dzd`, `D.dzdd`, `D.dp`, dense, by independent coordinates, their
        rates, their second rates and parameters; `D.of("B", "z").force` is (.., 3, f).

    Of forces instead of a motion, take `mg.gradient` of the measure `JointReaction`, along motions or at rest.

    >>> joint_reactions_derivatives(model, [0.0], wrt=["bob.mass"]).of("pin", "bob.mass").force
    array([0.  , 0.  , 9.81])
    >>> joint_reactions_derivatives(five_bar(), five_bar_start(), driven=["A", "1"]).of("B", "z").force.shape
    (3, 2)
    """
    chosen = chosen_joints(model, joints, axes)
    names = tuple(joint.name for joint in chosen)
    plain = driven is None and not is_named(q) and not has_elements(model)
    if plain:
        refuse_guess(guess)
        refuse_independent(model, independent)
        if backwards(model).isdisjoint(names):
            return tree_derivatives(model, q, v, a, wrt=wrt, loads=loads, joints=names, axes=axes, threads=threads)  # type: ignore[arg-type]
    found, paths = real_balance(model, (q, v, a), t, wrt, loads, driven, guess, tolerance, threads)
    at = _At(found, list(loads or ()), chosen, axes)
    if not found.system.n_constraints:
        refuse_independent(model, independent)
        return at.of_tree(paths)
    return at.along(Terms(found, loads, paths), paths, independent_names(model, q, independent))


class _At:
    """Balanced states, and the joints that are asked for."""

    def __init__(self, found: Balanced, loads: list[Load], joints: Sequence[Joint], axes: str) -> None:
        self.found, self.loads, self.joints, self.axes = found, loads, joints, axes
        self.model = found.states.model
        self.names = tuple(joint.name for joint in joints)

    def values(self) -> JointReactions:
        """The reactions themselves."""
        s, lam = self.found.states, self.found.lam
        couple, force = wrenches(self.found.system, s.q, s.v, s.a, lam, s.t, self.joints, self.axes, self.loads)
        return JointReactions(self.names, s.shaped(couple), s.shaped(force), self.axes)

    def of_tree(self, paths: tuple[str, ...]) -> ReactionDerivatives:
        """By q, v, a and parameters; everything may depend on everything."""
        states, n, rows = self.found.states, self.model.n_v, 6 * len(self.joints)
        nt, m = len(states.q), self.found.lam.shape[1]
        self._require_room(3 * n + len(paths))
        one, none = np.broadcast_to(np.eye(n), (nt, n, n)), np.zeros((nt, n, n))
        still = [np.zeros((nt, size, len(paths))) for size in (n, n, n, m, n)]
        alone = np.zeros((nt, m, n))  # there are no multipliers to change
        dq, dv, da, dp = (
            Packed(states.shaped(np.ascontiguousarray(x).reshape(nt, -1)), full_pattern(rows, x.shape[-1]))
            for x in (
                self._columns(Change(one, none, none, alone, none)),
                self._columns(Change(none, one, none, alone, none)),
                self._columns(Change(none, none, one, alone, none)),
                self._columns(Change(*still), paths),
            )
        )
        return ReactionDerivatives(self.values(), dq, dv, da, dp, paths)

    def along(
        self, terms: Terms, paths: tuple[str, ...], independent: Sequence[str] | None
    ) -> ConstrainedReactionDerivatives:
        """By independent coordinates, their rates and second rates, and parameters."""
        along, shaped = along_constraints(self.found, terms, paths, independent), self.found.states.shaped
        self._require_room(sum(change.q.shape[2] for change in along.changes))
        dz, dzd, dzdd = (shaped(self._columns(change)) for change in along.changes[:3])
        dp = shaped(self._columns(along.changes[3], paths))
        return ConstrainedReactionDerivatives(
            self.values(), dz, dzd, dzdd, dp, along.independent, along.independent_rates, paths
        )

    def _require_room(self, columns: int) -> None:
        nt, joints = len(self.found.states.q), len(self.joints)
        require_memory(
            8.0 * nt * 6 * joints * columns, f"derivatives of {joints} reactions by {columns} numbers for {nt} samples",
            "Take fewer samples or joints at a time.",
        )  # fmt: skip

    def _columns(self, change: Change, paths: Sequence[str] = ()) -> FloatArray:
        """Derivatives (nt, joints, 6, k) along the columns of a change; column by column with a number of the model."""
        states = self.found.states
        out = np.zeros((len(states.q), len(self.joints), 6, change.q.shape[2]))
        for k, (system, loads) in enumerate(self._twins(out.shape[3], paths)):
            model = system.model
            q = np.asarray(model.integrate(states.q + 0j, 1j * STEP * change.q[:, :, k]))
            v, a, lam = (
                x + 1j * STEP * dx[:, :, k]
                for x, dx in ((states.v, change.v), (states.a, change.a), (self.found.lam, change.lam))
            )
            joints = [model.joint(name) for name in self.names]
            couple, force = wrenches(system, q, v, a, lam, states.t, joints, self.axes, loads)
            out[..., :3, k], out[..., 3:, k] = couple.imag / STEP, force.imag / STEP
        return out

    def _twins(self, count: int, paths: Sequence[str]) -> Iterator[tuple[System, list[Load]]]:
        """The mechanism with complex numbers: as it is for every column, or with a step along one number each."""
        rows = self.found.system.rows
        if not paths:
            twin = System(self.model, rows=rows, dtype=complex)
            yield from [(twin, self.loads)] * count
            return
        of_loads = compile_loads(self.model, tree_of(self.model), self.loads, len(self.found.states.q), float).paths
        for path in paths:
            moved, loaded = stepped(self.model, self.loads, of_loads, path)
            yield System(moved, rows=rows, dtype=complex), loaded
