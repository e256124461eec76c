"""Walking on the ground: reaction forces from the motion, and the torques that remain, in two steps.

1. Inverse dynamics without the ground gives the wrench W = (M, F) about the world's origin that the ground must
   supply, as the generalized force of six frozen coordinates under the whole model (`probed`). With z up and the
   ground at z = 0 the zero-moment point is

       x_Z = -M_y / F_z        y_Z = M_x / F_z.

2. The wrench is given to the feet that stand. With one foot it is W. With two feet at places p_1, p_2, D = p_2 - p_1,
   and distances d_i from the zero-moment point, the second carries the share s = d_1 / (d_1 + d_2):

       w_1 = (1 - s) W - s (1 - s) (D x F, 0)        w_2 = s W + s (1 - s) (D x F, 0)

   that is each share acts at its own foot, and the couple that the zero-moment point leaves when it is not on the
   line between them, with the moment about the vertical, is shared alike. w_1 + w_2 = W always.

Then  tau = tau(q, v, a) - sum over feet of S^T w  with the twists S_i = (w_i, v_i) about the world's origin of the
joints that carry the foot; the generalized forces of six global coordinates vanish. All is differentiated twice: with
multipliers (y, z) of (tau, W), mu = -S y and l = z + w_W^T mu,

    L_zz = (y, l) . (tau, W)_zz  - (S y)_qq . w  + mu_q w_W W_z + transposed + W_z^T (mu . w_WW) W_z
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.probes import GROUND, Probed, probed
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.marker_motions import contracted_hessian, marker_columns, marker_derivatives, marker_motion
from mechgrad.optimization.motion.measures.base import ModelFunction, SampleFunction, _replaced, with_numbers
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad
from mechgrad.optimization.motion.measures.motion_samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.optimization.motion.measures.probed_samples import (
    Acting,
    forces_of,
    narrowed,
    original_columns,
    widened,
)
from mechgrad.optimization.motion.measures.sharing import share_of_second, twist_derivatives, wrench_cross
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

FEET = 2
JUST_BEFORE = 1e-6  # of xi: the last instant of a stance


@final
@dataclass(frozen=True, eq=False)
class Stance:
    """A body that stands on the ground from xi = start to end, at a place (3,) [m] that stands for it.

    The last of several stances that follow each other ends with xi = 1; until then `end` does not belong to it.
    """

    body: str
    place: ArrayLike
    start: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        place = np.asarray(self.place, float)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise InputError(
                f"the place of {self.body!r} on the ground must be three numbers [m]; it is {self.place!r}."
            )
        if not 0 <= self.start < self.end <= 1:
            raise InputError(f"{self.body!r} stands from xi = {self.start} to {self.end}; need 0 <= start < end <= 1.")

    def holds(self, xi: Array) -> Array:
        """At which instants it stands."""
        return (xi >= self.start - 1e-12) & ((xi < self.end - 1e-12) | (self.end >= 1.0))


@dataclass(frozen=True, eq=False)
class _Feet:
    """Who stands when: for two slots, the body (an index, -1: nobody) and its place."""

    body: Array  # (nt, 2)
    place: Array  # (nt, 2, 3)


@dataclass(frozen=True, eq=False)
class _State:
    """What all orders of derivatives need."""

    tau: Array  # (nt, n_v) of the motion alone
    W: Array  # (nt, 6)
    S: Array  # (nt, 2, n_v, 6) twists of the joints that carry slot 1, 2
    w: Array  # (nt, 2, 6)
    A: Array  # (nt, 2, 6, 6) dw/dW
    share: Array  # (nt,)
    share_W: Array  # (nt, 6)
    share_WW: Array  # (nt, 6, 6)


@final
@dataclass(frozen=True, eq=False)
class GroundTorques(ModelFunction):
    """Torques of all joints while feet stand on the ground, then the wrench (M, F) of the ground: n_v + 6 numbers.

    Force elements and multipliers of loops act as in the torques in the air (`acting`); what of these acts on the
    ground is no part of what the feet transmit.
    """

    model: Model
    stances: tuple[Stance, ...]
    loads: Sequence[AnyLoad] | None = None
    parameters: tuple[str, ...] = ()
    xi: Array | None = None
    acting: Acting = field(default_factory=Acting)
    probes: Probed | None = None
    inner: SampleFunction | None = None  # generalized forces of the probed model
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        known = [body.name for body in self.model.bodies]
        for stance in self.stances:
            if stance.body not in known:
                raise unknown_name("body", stance.body, known, f"model {self.model.name!r}")
        if self.probes is None:
            object.__setattr__(self, "probes", probed(self.model, ground=True))
        if self.inner is None:
            object.__setattr__(self, "inner", forces_of(self._probed, self.acting, self.loads))
        wrench = tuple(f"ground {what}.{axis}" for what in ("couple", "force") for axis in "xyz")
        object.__setattr__(self, "names", (*(f"tau({name})" for name in self.model.v_names), *wrench))
        if self.xi is not None:
            _ = self._attachments

    @property
    def key(self) -> Hashable:
        return ("ground", id(self.model), tuple(map(id, self.stances)), self._forces.key)

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        return self._forces.analytic

    def on(self, xi: Array) -> GroundTorques:
        return _replaced(self, xi=xi)

    def freed(self, paths: tuple[str, ...]) -> GroundTorques:
        return _replaced(self, parameters=paths, inner=self._forces.freed(paths))

    def at(self, numbers: Array) -> GroundTorques:
        return _replaced(
            self, model=with_numbers(self.model, self.parameters, numbers), inner=self._forces.at(numbers)
        )  # fmt: skip

    @property
    def _forces(self) -> SampleFunction:
        assert self.inner is not None  # made above
        return self.inner

    @property
    def _probed(self) -> Probed:
        assert self.probes is not None  # made above
        return self.probes

    @cached_property
    def _bodies(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(stance.body for stance in self.stances))

    @cached_property
    def _attachments(self) -> _Feet:
        assert self.xi is not None  # bound to a grid
        nt = self.xi.size
        body, place, count = np.full((nt, FEET), -1), np.zeros((nt, FEET, 3)), np.zeros(nt, int)
        for stance in self.stances:
            for k in np.flatnonzero(stance.holds(self.xi)):
                if count[k] == FEET:
                    raise InputError(f"more than {FEET} bodies stand at xi = {self.xi[k]:g}; the ground serves {FEET}.")
                body[k, count[k]] = self._bodies.index(stance.body)
                place[k, count[k]] = np.asarray(stance.place, float)
                count[k] += 1
        if np.any(count == 0):
            raise InputError(f"nobody stands at xi = {self.xi[np.argmin(count)]:g}; the stances must cover the motion.")
        return _Feet(body, place)

    @cached_property
    def _carry(self) -> Array:
        """Whether a joint carries slot 1, 2: (nt, 2, n_v)."""
        moves = np.zeros((len(self._bodies) + 1, self.model.n_v), bool)  # the last row: nobody
        for b, body in enumerate(self._bodies):
            moves[b, marker_columns(self.model, f"{body}.origin")] = True
        return np.asarray(moves[self._attachments.body])

    @cached_property
    def _before(self) -> Array:
        """Whether joint m carries joint i and is not i: (m, i); columns of one ball do not carry each other."""
        pattern = tree_of(self.model).pattern
        related = np.zeros((self.model.n_v, self.model.n_v), bool)
        related[pattern.rows, pattern.cols] = True
        return np.triu(related, 1) & ~self._together

    @cached_property
    def _together(self) -> Array:
        """Whether columns are the same, or of one ball: these act at one place, and none turns the axis of another."""
        same = np.eye(self.model.n_v, dtype=bool)
        for three in self.model.layout.ball_v:
            same[np.ix_(three, three)] = True
        return same

    @cached_property
    def _shift(self) -> Array:
        """(D x F, 0) as a matrix acting on W, (nt, 6, 6)."""
        D = self._attachments.place[:, 1] - self._attachments.place[:, 0]
        out = np.zeros((len(D), 6, 6))
        for axis in range(3):
            out[:, :3, 3 + axis] = np.cross(D, np.eye(3)[axis])
        return out

    @cached_property
    def _two(self) -> Array:
        """Samples with two feet on the ground."""
        return np.asarray(self._attachments.body[:, 1] >= 0)

    # --------------------------------------------------------------------------------------------------------- state
    def _state(self, s: Samples) -> _State:
        return s.remember((self, "state"), lambda: self._make_state(s))

    def _make_state(self, s: Samples) -> _State:
        p = self._probed
        tau = self._forces.values(widened(p, s))
        W = tau[:, p.probes[GROUND]]
        share, share_W, share_WW = self._share(W)
        one, shift = np.broadcast_to(np.eye(6), (s.nt, 6, 6)), self._shift
        beta, dbeta = share * (1 - share), 1 - 2 * share
        A = np.empty((s.nt, FEET, 6, 6))
        push = np.einsum("tij,tj->ti", shift, W)
        A[:, 0] = (1 - share)[:, None, None] * one - beta[:, None, None] * shift
        A[:, 1] = share[:, None, None] * one + beta[:, None, None] * shift
        w = np.einsum("tbij,tj->tbi", A, W)
        turn = W + dbeta[:, None] * push
        A[:, 0] -= turn[:, :, None] * share_W[:, None, :]
        A[:, 1] += turn[:, :, None] * share_W[:, None, :]
        return _State(tau[:, p.columns], W, self._twists(s.q), w, A, share, share_W, share_WW)

    def _twists(self, q: Array) -> Array:
        """S of the joints that carry the feet, zero for others, (nt, 2, n_v, 6)."""
        markers = [f"{body}.{what}" for body in self._bodies for what in ("origin", "spin")]
        J = marker_derivatives(self.model, markers, q).x_q.swapaxes(2, 3)
        p = marker_motion(self.model, markers, q).position[:, ::2]
        w = J[:, 1::2]
        twist = np.concatenate([w, J[:, ::2] - np.cross(w, p[:, :, None])], axis=-1)
        twist = np.concatenate([twist, np.zeros_like(twist[:, :1])], axis=1)
        return np.asarray(twist[np.arange(len(q))[:, None], self._attachments.body])

    def _share(self, W: Array) -> tuple[Array, Array, Array]:
        """What the second foot carries, and its derivatives by W; zero where there is none."""
        nt = len(W)
        s, s_W, s_WW = np.zeros(nt), np.zeros((nt, 6)), np.zeros((nt, 6, 6))
        two = np.flatnonzero(self._two)
        if two.size == 0:
            return s, s_W, s_WW
        V, F_z = W[two], W[two, 5]
        Z = np.stack([-V[:, 1], V[:, 0]], axis=1) / F_z[:, None]
        value, s_Z, s_ZZ = share_of_second(Z, self._attachments.place[two, 0, :2], self._attachments.place[two, 1, :2])
        Z_W = np.zeros((two.size, 2, 6))
        Z_W[:, 0, 1], Z_W[:, 1, 0] = -1 / F_z, 1 / F_z
        Z_W[:, :, 5] = -Z / F_z[:, None]
        Z_WW = np.zeros((two.size, 2, 6, 6))
        Z_WW[:, 0, 1, 5] = Z_WW[:, 0, 5, 1] = 1 / F_z**2
        Z_WW[:, 1, 0, 5] = Z_WW[:, 1, 5, 0] = -1 / F_z**2
        Z_WW[:, :, 5, 5] = 2 * Z / F_z[:, None] ** 2
        s[two] = value
        s_W[two] = np.einsum("tk,tki->ti", s_Z, Z_W)
        s_WW[two] = np.einsum("tki,tkl,tlj->tij", Z_W, s_ZZ, Z_W) + np.einsum("tk,tkij->tij", s_Z, Z_WW)
        return s, s_W, s_WW

    def values(self, s: Samples) -> Array:
        state = self._state(s)
        pushed = np.einsum("tbci,tbi->tc", state.S, state.w)
        return np.concatenate([state.tau - pushed, state.W], axis=1)

    def wrenches(self, s: Samples) -> dict[str, Array]:
        """Wrench (M, F) of the ground on each body about the world's origin, (nt, 6), zero while it does not stand."""
        state = self._state(s)
        out = {body: np.zeros((s.nt, 6)) for body in self._bodies}
        for b, body in enumerate(self._bodies):
            for slot in range(FEET):
                here = self._attachments.body[:, slot] == b
                out[body][here] += state.w[here, slot]
        return out

    # --------------------------------------------------------------------------------------------------- first order
    @cached_property
    def _width(self) -> int:
        """Profiles that anything depends on."""
        return max(self.model.n_v, 1 + int(narrowed(self._probed, self._forces.structure.cols).max(initial=-1)))

    @cached_property
    def structure(self) -> Structure:
        """A joint that carries a standing foot depends on all that the ground forces do, others on their own branch."""
        assert self.xi is not None
        n, nt, p, inner = self.model.n_v, self.xi.size, self._probed, self._forces.structure
        place = np.full(p.model.n_v, -1)
        place[p.columns], place[p.probes[GROUND]] = np.arange(n), n + np.arange(6)
        rows, cols = place[inner.rows], narrowed(p, inner.cols)
        kept = cols >= 0
        depends = np.zeros((n + 6, self._width), bool)
        depends[rows[kept], cols[kept]] = True
        depends[n:, :n] = True
        mask = np.repeat(depends[None], nt, axis=0)
        mask[:, :n] |= np.any(self._carry, axis=1)[:, :, None] & np.any(depends[n:], axis=0)
        rows, cols = np.nonzero(np.any(mask, axis=0))
        flags = mask[:, rows, cols]
        return Structure(n + 6, rows, cols, {"q": flags, "v": flags & (cols < n), "a": flags & (cols < n)})

    def _first(self, s: Samples) -> tuple[_State, dict[str, Array], dict[str, Array]]:
        """State, dense (tau)_z of the motion alone (nt, n, width) and W_z (nt, 6, width)."""
        return s.remember((self, "first"), lambda: self._make_first(s))

    def _make_first(self, s: Samples) -> tuple[_State, dict[str, Array], dict[str, Array]]:
        p = self._probed
        wide = widened(p, s)
        D = self._forces.partials(wide)
        rows, n = np.concatenate([p.columns, p.probes[GROUND]])[:, None], p.columns.size
        cols = original_columns(p, self._width)
        tau_z, W_z = {}, {}
        for level in "qva":
            dense = D.dense(level, wide.z.shape[2])[:, rows, cols]
            tau_z[level], W_z[level] = dense[:, :n], dense[:, n:]
        return self._state(s), tau_z, W_z

    def partials(self, s: Samples) -> Partials:
        state, tau_z, W_z = self._first(s)
        structure, n = self.structure, self.model.n_v
        pull = np.einsum("tbci,tbij->tcj", state.S, state.A)
        by = {}
        for level in "qva":
            tau = tau_z[level] - pull @ W_z[level]
            if level == "q":
                tau[:, :, :n] -= self._turned(state)
            by[level] = np.concatenate([tau, W_z[level]], axis=1)[:, structure.rows, structure.cols]
        return Partials(structure, by)

    def _turned(self, state: _State) -> Array:
        """(S_i . w)_,m = (S_m x S_i) . w for m before i: (nt, i, m)."""
        total = np.zeros((len(state.W), self.model.n_v, self.model.n_v))
        for slot in range(FEET):
            S = state.S[:, slot]
            total -= S @ wrench_cross(S, state.w[:, slot]).swapaxes(1, 2)
        return np.asarray(total * self._before.T)

    # -------------------------------------------------------------------------------------------------- second order
    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        n, width = self.model.n_v, self._width
        rows, cols = np.repeat(np.arange(width), width), np.tile(np.arange(width), width)
        second, both = cols < n, (rows < n) & (cols < n)
        two = self._two[:, None] & both
        return CurvatureStructure(rows, cols, {
            "qq": np.ones(rows.size, bool), "qv": second, "qa": second, "vv": both, "va": two, "aa": two
        })  # fmt: skip

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        n, p = self.model.n_v, self._probed
        state, _, W_z = self._first(s)
        y_tau, y_W = y[:, :n], y[:, n:]
        mu = -np.einsum("tbci,tc->tbi", state.S, y_tau)
        weights = np.zeros((s.nt, p.model.n_v))
        weights[:, p.columns] = y_tau
        weights[:, p.probes[GROUND]] = y_W + np.einsum("tbij,tbi->tj", state.A, mu)
        wide = widened(p, s)
        H, slopes = self._forces.curvature(wide, weights)
        at = original_columns(p, self._width)
        blocks = {k: np.ascontiguousarray(H.dense(k, wide.z.shape[2])[:, at[:, None], at]) for k in H.blocks}
        g = {k: x[:, at[: n if x.shape[1] == p.model.n_v else self._width]] for k, x in slopes.items()}
        mu_q = np.zeros((s.nt, FEET, n, 6))
        for slot in range(FEET):
            first, second = twist_derivatives(state.S[:, slot], y_tau, state.w[:, slot], self._before, self._together)
            mu_q[:, slot] = -first
            g["q"][:, :n] -= np.einsum("tmi,ti->tm", first, state.w[:, slot])
            blocks["qq"][:, :n, :n] -= second
        cross = np.einsum("tbmi,tbij->tmj", mu_q, state.A)
        for level in "qva":
            block = cross @ W_z[level]
            blocks["q" + level][:, :n] += block
            if level == "q":
                blocks["qq"][:, :, :n] += block.swapaxes(1, 2)
        self._add_share(blocks, state, mu, W_z)
        return Curvature(self.curvature_structure, {k: x.reshape(s.nt, -1) for k, x in blocks.items()}), g

    def _add_share(self, blocks: dict[str, Array], state: _State, mu: Array, W_z: dict[str, Array]) -> None:
        """W_z^T (mu . w_WW) W_z: the share of each foot moves with the wrench."""
        two = np.flatnonzero(self._two)
        for pair in ("va", "aa"):
            blocks[pair] = np.zeros_like(blocks["qq"])
        if two.size == 0:
            return
        s, s_W, s_WW, W, shift = (x[two] for x in (state.share, state.share_W, state.share_WW, state.W, self._shift))
        m = mu[two, 1] - mu[two, 0]  # w = (W, 0) + s (-W, W) + s (1 - s) (-shift W, shift W)
        lever = np.einsum("tij,ti->tj", shift, m)
        push = np.einsum("tj,tj->t", lever, W)
        K = s_W[:, :, None] * (m + (1 - 2 * s)[:, None] * lever)[:, None, :]
        K = K + K.swapaxes(1, 2)
        K += (np.einsum("ti,ti->t", m, W) + (1 - 2 * s) * push)[:, None, None] * s_WW
        K += (-2 * push)[:, None, None] * (s_W[:, :, None] * s_W[:, None, :])
        for pair in ("qq", "qv", "qa", "vv", "va", "aa"):
            x, y = W_z[pair[0]][two], W_z[pair[1]][two]
            blocks[pair][two] += x.swapaxes(1, 2) @ (K @ y)

    # ------------------------------------------------------------------------------------------ numbers of the model
    def partials_p(self, s: Samples) -> Array:
        """tau_p - S_p . w - S . w_W W_p: the twists move with geometry, the places on the ground do not."""
        p = self._probed
        dense, state = self._forces.partials_p(widened(p, s)), self._state(s)
        tau_p, W_p = dense[:, p.columns], dense[:, p.probes[GROUND]]
        tau_p = tau_p - np.einsum("tbci,tbij->tcj", state.S, state.A) @ W_p - self._moved_twists(s.q, state.w)
        return np.concatenate([tau_p, W_p], axis=1)

    def _moved_twists(self, q: Array, w: Array) -> Array:
        """S_p . w, (nt, n_v, n_p): with the foot's origin x, S . w = J^T F + spins . (M - x x F)."""
        markers = [f"{body}.{what}" for body in self._bodies for what in ("origin", "spin")]
        D = marker_derivatives(self.model, markers, q, wrt=self.parameters)
        x = marker_motion(self.model, markers, q).position
        y, lever = np.zeros((len(q), len(markers), 3)), np.zeros((len(q), self.model.n_v, len(self.parameters)))
        for b in range(len(self._bodies)):
            wrench = np.sum(np.where((self._attachments.body == b)[:, :, None], w, 0.0), axis=1)
            M, F = wrench[:, :3], wrench[:, 3:]
            y[:, 2 * b], y[:, 2 * b + 1] = F, M - np.cross(x[:, 2 * b], F)
            turned = np.cross(D.x_p[:, 2 * b].swapaxes(1, 2), F[:, None])  # x_p x F, (nt, n_p, 3)
            lever += np.einsum("tkc,tpk->tcp", D.x_q[:, 2 * b + 1], turned)
        return np.asarray(contracted_hessian(self.model, markers, q, y, wrt=self.parameters)[1] - lever)
