"""The chain rule from samples to unknowns: a spline's motion at some instants, and what functions of it depend on.

Unknowns x = (P, theta, p): control points P (n_points, n) row by row, unknowns of the clock, free numbers p of the
model. At sample k and level r (q, v, a, jerk), with the w control points and the L clock unknowns that act there,

    z^r = sum_j B^r_j(theta) P_j        z^r_l = sum_j B^r_j,l P_j        z^r_lm = sum_j B^r_j,lm P_j

so for functions y(z) and scalars L(z) with gradient g and curvature blocks L_rs

    y_P = sum_r y_r B^r                                     y_l = sum_r y_r . z^r_l
    L_PP = sum_rs L_rs (B^r outer B^s)                      L_Pl = sum_r B^r (sum_s L_rs z^s_l) + sum_r g_r B^r_,l
    L_lm = sum_rs z^r_l . L_rs z^s_m + sum_r g_r . z^r_lm

Samples of one segment meet the same control points: their curvature is summed by matrix products before anything is
scattered. Patterns hold what can differ from zero and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from mechgrad.optimization.motion.clock import ORDERS, Clock, Instants, TimeBasis
from mechgrad.optimization.motion.measures.motion_samples import (
    LEVELS,
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array


@dataclass(frozen=True, eq=False)
class Moment:
    """The motion of the samples for one x."""

    time: TimeBasis
    samples: Samples
    z_t: Array  # (4, nt, L, n)
    z_tt: Array  # (4, nt, L, L, n)
    numbers: Array  # free numbers of the model


@dataclass(frozen=True, eq=False)
class Places:
    """Rows and columns of entries, and which of the computed values they are."""

    rows: Array
    cols: Array
    keep: Array


class Grid:
    """A spline's motion at some instants, as a function of the unknowns."""

    def __init__(
        self, splines: Splines, n: int, n_v: int, xi: Array, clock: Clock, n_p: int = 0, rule: str = "trapezoid"
    ) -> None:
        self.splines, self.n, self.n_v, self.clock, self.n_p = splines, n, n_v, clock, n_p
        self.instants = Instants(splines, np.asarray(xi, float), rule)
        self.nt, self.w = self.instants.xi.size, splines.degree + 1
        self.at_theta = splines.n_points * n
        self.at_p = self.at_theta + clock.n
        self.n_x = self.at_p + n_p
        self.first = self.instants.first
        self._points = self.first[:, None] + np.arange(self.w)
        self._last: tuple[Array, Moment] | None = None

    @property
    def xi(self) -> Array:
        """The instants, in [0, 1]."""
        return self.instants.xi

    def moment(self, x: Array) -> Moment:
        """The motion; the last one is remembered."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        time = self.clock.at(x[self.at_theta : self.at_p], self.instants)
        P = x[: self.at_theta].reshape(-1, self.n)[self._points]  # (nt, w, n)
        z = time.B.swapaxes(0, 1) @ P  # (nt, 4, n)
        L = time.which.shape[1]
        if L:
            z_t = np.einsum("rkjl,kjc->rklc", time.B_t, P, optimize=True)
            z_tt = np.einsum("rkjlm,kjc->rklmc", time.B_tt, P, optimize=True)
        else:
            z_t, z_tt = np.zeros((ORDERS, self.nt, 0, self.n)), np.zeros((ORDERS, self.nt, 0, 0, self.n))
        samples = Samples(np.ascontiguousarray(z.swapaxes(0, 1)), self.n_v, self.xi)
        moment = Moment(time, samples, z_t, z_tt, x[self.at_p :])
        self._last = (x.copy(), moment)
        return moment

    # ------------------------------------------------------------------------------- what can differ from zero
    @cached_property
    def _which(self) -> Array:
        return self.clock.at(self.clock.start, self.instants).which

    @cached_property
    def _acts(self) -> tuple[Array, Array, Array]:
        """Whether B^r, B^r_,l, B^r_,lm differ from zero, seen at clocks without symmetries."""
        rng = np.random.default_rng(0)
        found = [np.zeros(0, bool)] * 3
        for trial in range(3):
            theta = self.clock.start * rng.uniform(0.7, 1.4, self.clock.n)
            t = self.clock.at(theta, self.instants)
            for k, (X, r) in enumerate(((t.B, 2), (t.B_t, 3), (t.B_tt, 4))):
                if X.size == 0:
                    found[k] = np.zeros(X.shape, bool)
                    continue
                largest = np.max(np.abs(X), axis=tuple(range(1, r + 1)), keepdims=True)
                here = np.abs(X) > 1e-12 * largest
                found[k] = here if trial == 0 else found[k] | here
        return found[0], found[1], found[2]

    @cached_property
    def _moves(self) -> Array:
        """Whether z^r depends on clock unknown l: (4, nt, L)."""
        return np.asarray(np.any(self._acts[1], axis=2))

    def dependence_of(self, structure: Structure) -> tuple[list[Array], list[Array]]:
        """For each sample, the control points (flat) and the clock unknowns that its values depend on."""
        acts, moves = self._acts[0], self._moves
        points = np.zeros((self.nt, self.w, self.n), bool)
        clocks = np.zeros(moves.shape[1:], bool)
        for level, mask in structure.levels.items():
            r = LEVELS.index(level)
            depends = np.zeros((self.nt, self.n), bool)
            np.logical_or.at(depends.T, structure.cols, np.broadcast_to(mask, (self.nt, structure.cols.size)).T)
            points |= acts[r][:, :, None] & depends[:, None, :]
            clocks |= moves[r] & np.any(depends, axis=1)[:, None]
        flat = self._points[:, :, None] * self.n + np.arange(self.n)
        return [flat[k][points[k]] for k in range(self.nt)], [self._which[k][clocks[k]] for k in range(self.nt)]

    # ------------------------------------------------------------------------------------------------ first order
    def jacobian_places(self, structure: Structure) -> Places:
        """Of m functions per sample (row k m + r), in the order of `jacobian`."""
        acts, moves, m = self._acts[0], self._moves, structure.m
        nnz = structure.rows.size
        keep = np.zeros((self.nt, nnz, self.w), bool)
        keep_t = np.zeros((self.nt, m, moves.shape[2]), bool)
        for level, mask in structure.levels.items():
            r = LEVELS.index(level)
            mask = np.broadcast_to(mask, (self.nt, nnz))
            keep |= mask[:, :, None] & acts[r][:, None, :]
            touched = np.zeros((self.nt, m), bool)
            np.logical_or.at(touched.T, structure.rows, mask.T)
            keep_t |= touched[:, :, None] & moves[r][:, None, :]
        k = np.arange(self.nt)[:, None, None]
        shape = keep.shape
        rows = np.broadcast_to(k * m + structure.rows[:, None], shape).ravel()
        cols = np.broadcast_to(self._points[:, None, :] * self.n + structure.cols[:, None], shape).ravel()
        rows_t = np.broadcast_to(k * m + np.arange(m)[:, None], keep_t.shape).ravel()
        cols_t = np.broadcast_to(self.at_theta + self._which[:, None, :], keep_t.shape).ravel()
        kept = np.flatnonzero(np.concatenate([keep.ravel(), keep_t.ravel()]))
        return Places(np.concatenate([rows, rows_t])[kept], np.concatenate([cols, cols_t])[kept], kept)

    def jacobian(self, partials: Partials, moment: Moment) -> Array:
        """By P (nt, nnz, w), then by theta (nt, m, L), flat."""
        structure, B = partials.structure, moment.time.B
        total = np.zeros((self.nt, structure.rows.size, self.w))
        L = moment.z_t.shape[2]
        change = np.zeros((self.nt, L, structure.m))
        if L and partials.by:
            summed = _summing(structure.rows, structure.m)
        for level, values in partials.by.items():
            r = LEVELS.index(level)
            total += values[:, :, None] * B[r][:, None, :]
            if L:
                moved = values[:, None, :] * moment.z_t[r][:, :, structure.cols]
                change += (moved.reshape(self.nt * L, -1) @ summed).reshape(self.nt, L, -1)
        return np.concatenate([total.ravel(), change.swapaxes(1, 2).ravel()])

    @cached_property
    def _gather(self) -> sparse.csr_array:
        """Adds what (sample, acting point) say to the control points."""
        size = self.nt * self.w
        shape = (self.splines.n_points, size)
        return sparse.csr_array((np.ones(size), (self._points.ravel(), np.arange(size))), shape=shape)

    def gradient(self, g: Gradient, moment: Moment) -> Array:
        """By P and theta (not p) of a sum over samples with gradients g (nt, n)."""
        out = np.zeros(self.n_x)
        spread = np.zeros((self.nt, self.w, self.n))
        by_time = np.zeros(moment.z_t.shape[1:3])
        for level, values in g.items():
            r = LEVELS.index(level)
            values = self.widened(values)
            spread += moment.time.B[r][:, :, None] * values[:, None, :]
            by_time += np.einsum("klc,kc->kl", moment.z_t[r], values)
        out[: self.at_theta] = (self._gather @ spread.reshape(-1, self.n)).ravel()
        self.add_theta(out, by_time, moment)
        return out

    def add_theta(self, out: Array, by_time: Array, moment: Moment) -> None:
        """Add the gradients of samples (nt, L) to the clock's unknowns in a vector of unknowns."""
        valid = moment.time.which >= 0
        np.add.at(out, self.at_theta + moment.time.which[valid], by_time[valid])

    def widened(self, values: Array) -> Array:
        """(nt, n): zeros for profiles that a measure does not know of."""
        if values.shape[1] == self.n:
            return values
        return np.concatenate([values, np.zeros((len(values), self.n - values.shape[1]))], axis=1)

    # ----------------------------------------------------------------------------------------------- second order
    @cached_property
    def _groups(self) -> tuple[Array, Array, Array]:
        """Segments that hold samples, their samples (G, most) padded with the first one, and what is no padding."""
        firsts = np.unique(self.first)
        members = [np.flatnonzero(self.first == f) for f in firsts]
        most = max(len(x) for x in members)
        index, valid = np.zeros((len(firsts), most), int), np.zeros((len(firsts), most), bool)
        for g, x in enumerate(members):
            index[g, : len(x)], valid[g, : len(x)] = x, True
        return firsts, index, valid

    def hessian_places(self, structure: CurvatureStructure, first_order: Structure) -> Places:
        """Of a scalar with this curvature and a gradient where `first_order` has entries, lower triangle, repeated
        entries add."""
        acts, acts_t, acts_tt = self._acts
        moves = self._moves
        firsts, index, valid = self._groups
        nnz, w = structure.rows.size, self.w
        L = moves.shape[2]
        keep = np.zeros((len(firsts), w * w, nnz), bool)
        mixed = np.zeros((self.nt, w, self.n, L), bool)
        pure = np.zeros((self.nt, L, L), bool)
        for pair, mask in structure.pairs.items():
            x, y = LEVELS.index(pair[0]), LEVELS.index(pair[1])
            mask = np.broadcast_to(mask, (self.nt, nnz))
            both = (acts[x][:, :, None] & acts[y][:, None, :]).reshape(self.nt, w * w)
            both = both[index] & valid[:, :, None]
            keep |= np.einsum("gki,gke->gie", both.astype(float), mask[index].astype(float)) > 0
            for one, other, rows in ((x, y, structure.rows), (y, x, structure.cols)):
                moved = np.zeros((self.nt, self.n), bool)
                np.logical_or.at(moved.T, rows, mask.T)
                mixed |= acts[one][:, :, None, None] & moved[:, None, :, None] & moves[other][:, None, None, :]
                pure |= np.any(mask, axis=1)[:, None, None] & moves[one][:, :, None] & moves[other][:, None, :]
        for level, mask in first_order.levels.items():
            r = LEVELS.index(level)
            mask = np.broadcast_to(mask, (self.nt, first_order.rows.size))
            depends = np.zeros((self.nt, self.n), bool)
            np.logical_or.at(depends.T, first_order.cols, mask.T)
            mixed |= acts_t[r][:, :, None, :] & depends[:, None, :, None]
            pure |= np.any(depends, axis=1)[:, None, None] & np.any(acts_tt[r], axis=1)
        i, j = np.meshgrid(np.arange(w), np.arange(w), indexing="ij")
        at_row = (firsts[:, None] + i.ravel())[:, :, None] * self.n + structure.rows
        at_col = (firsts[:, None] + j.ravel())[:, :, None] * self.n + structure.cols
        theta = self.at_theta + self._which
        points = self._points[:, :, None] * self.n + np.arange(self.n)
        out_rows = [np.maximum(at_row, at_col).ravel(), np.broadcast_to(theta[:, None, None, :], mixed.shape).ravel()]
        out_cols = [np.minimum(at_row, at_col).ravel(), np.broadcast_to(points[..., None], mixed.shape).ravel()]
        t1, t2 = np.broadcast_to(theta[:, :, None], pure.shape), np.broadcast_to(theta[:, None, :], pure.shape)
        pure &= t1 >= t2
        out_rows.append(t1.ravel())
        out_cols.append(t2.ravel())
        kept = np.flatnonzero(np.concatenate([keep.ravel(), mixed.ravel(), pure.ravel()]))
        return Places(np.concatenate(out_rows)[kept], np.concatenate(out_cols)[kept], kept)

    def hessian(self, curvature: Curvature, g: Gradient, moment: Moment) -> Array:
        """By P, by theta and P, by theta: flat, as `hessian_places` counts them.

        A block of levels r < s contributes A + A^T, one of a single level its half twice, so that every computed
        entry is added to the lower triangle, on the diagonal twice.
        """
        structure, time = curvature.structure, moment.time
        firsts, index, valid = self._groups
        w, nnz = self.w, structure.rows.size
        total = np.zeros((len(firsts), w * w, nnz))
        for pair, block in curvature.blocks.items():
            x, y = LEVELS.index(pair[0]), LEVELS.index(pair[1])
            weights = (time.B[x][:, :, None] * time.B[y][:, None, :]).reshape(self.nt, w * w)
            weights = (weights[index] * (0.5 * valid if x == y else valid)[:, :, None]).swapaxes(1, 2)
            total += weights @ block[index]
        total *= self._diagonal(structure)
        if not moment.z_t.shape[2]:
            return total.ravel()
        return np.concatenate([total.ravel(), *self._by_theta(curvature, g, moment)])

    def _diagonal(self, structure: CurvatureStructure) -> Array:
        """2 where an entry is on the diagonal of the Hessian, (w w, nnz)."""
        i, j = np.meshgrid(np.arange(self.w), np.arange(self.w), indexing="ij")
        return np.where((i == j).reshape(-1, 1) & (structure.rows == structure.cols), 2.0, 1.0)

    def _by_theta(self, curvature: Curvature, g: Gradient, moment: Moment) -> list[Array]:
        structure, time, z_t = curvature.structure, moment.time, moment.z_t
        nt, L, n = self.nt, z_t.shape[2], self.n
        moved = np.zeros((ORDERS, nt, L, n))  # sum_s L_rs z^s_l
        sums = _summing(structure.rows, n), _summing(structure.cols, n)
        for pair, block in curvature.blocks.items():
            x, y = LEVELS.index(pair[0]), LEVELS.index(pair[1])
            one = block[:, None, :] * z_t[y][:, :, structure.cols]
            moved[x] += (one.reshape(nt * L, -1) @ sums[0]).reshape(nt, L, n)
            if x != y:
                other = block[:, None, :] * z_t[x][:, :, structure.rows]
                moved[y] += (other.reshape(nt * L, -1) @ sums[1]).reshape(nt, L, n)
        mixed = np.einsum("rkj,rklc->kjcl", time.B, moved, optimize=True)
        pure = np.einsum("rklc,rkmc->klm", z_t, moved, optimize=True)
        for level, values in g.items():
            r = LEVELS.index(level)
            values = self.widened(values)
            mixed += time.B_t[r][:, :, None, :] * values[:, None, :, None]
            pure += np.einsum("klmc,kc->klm", moment.z_tt[r], values)
        return [mixed.ravel(), pure.ravel()]


def _summing(index: Array, m: int) -> sparse.csr_array:
    """Adds entries e to index[e]."""
    return sparse.csr_array((np.ones(index.size), (np.arange(index.size), index)), shape=(index.size, m))
