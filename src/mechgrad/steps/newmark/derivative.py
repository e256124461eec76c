"""Motions made by implicit steps, differentiated: direct and adjoint, formulations with multipliers and open trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.kernels.saddle import PASSES, REGULAR, no_ranks
from mechgrad.dynamics.states import (
    StateGradients,
    States,
    StateSlopes,
    as_complex,
    coordinate_slopes,
    linearised,
    put_force_slopes,
    put_slopes,
    slopes,
    unforced,
    velocity_slopes,
)
from mechgrad.errors import InputError
from mechgrad.kernels.columns import padded
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.cuts import Segment, divided, next_divided
from mechgrad.steps.initial import InitialAccelerations
from mechgrad.steps.newmark.kernels import march as _marches
from mechgrad.steps.newmark.kernels.adjoint import adjoint_steps
from mechgrad.steps.newmark.kernels.blocks import StateColumns, StepBlocks, StepNumbers, StepTerms
from mechgrad.steps.newmark.kernels.impulses import impulses
from mechgrad.steps.newmark.kernels.states import Samples, State
from mechgrad.steps.newmark.kernels.tangent import tangent_steps
from mechgrad.steps.rank import check_rank
from mechgrad.steps.task import taken_again
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**25  # of linearised equations kept at a time, by all threads together
FEWEST_STEPS, MOST_STEPS = 256, 4096  # in a chunk, as far as memory allows: threads share the work


class _Chunk(NamedTuple):
    """Steps of one length that are linearised together: from one output to another, or one segment of the steps between
    two, if some of these were divided."""

    first: int
    last: int
    segment: int | None = None


class _Steps(NamedTuple):
    """A run of steps with all that the march knew: N + 1 states, and per step what happened in it."""

    size: _StepSize
    states: States
    memory: Array
    solved: Array
    projected: Array
    reported: slice  # of the states after each step: those that are outputs,
    outputs: slice  # and which


class _StepSize(NamedTuple):
    """What follows from the length of a step."""

    h: float
    numbers: StepNumbers
    total: FloatArray  # (m,) weights of rows


class _Stages(NamedTuple):
    """Where the stages of N steps are linearised."""

    newton: States
    impulses: States | None
    accelerations: States | None
    after: States | None


@final
class ImplicitSteps:
    """The steps of a motion by a scheme of the Newmark family.

    Only the reported instants of the motion are kept; steps between them are taken again, so that a motion with few
    samples is a set of checkpoints.
    """

    def __init__(self, motion: Trajectory, threads: int = 1) -> None:
        trace = motion.trace
        if trace.settings is None or trace.memory is None or trace.solved is None or trace.projected is None:
            raise InputError("the motion was not made by implicit steps.")
        if trace.job.step is None:
            raise InputError(
                "steps that control their error have no discrete derivative here; simulate with a fixed step."
            )
        self.motion, self.system, self.model = motion, motion.system, motion.model
        self.settings, self.trace = trace.settings, trace
        self.every = motion.steps // (len(motion.t) - 1)
        self.h = float(motion.t[-1] - motion.t[0]) / motion.steps
        T = self.system.T
        self.T, self.free, self.free_complex = T, unforced(T), as_complex(unforced(T))
        n, m, p = self.model.n_v, self.system.n_constraints, self.settings
        late = np.arange(m) >= self.system.n_holonomic
        self.w0 = np.where(late, 0.0, p.weight_0)
        self.w1 = np.where(late, 1.0 if p.weight_2 == 0.0 else p.weight_1, p.weight_1)
        self.w2 = np.full(m, p.weight_2)
        self.weights = {
            name: w for name, w in (("values", self.w0), ("rates", self.w1), ("seconds", self.w2)) if np.any(w)
        }
        redundant = bool(self.system.redundant(motion.q[0], float(motion.t[0])))
        regular, passes = (REGULAR, PASSES) if redundant else (0.0, 0)
        self.regular = regular, passes
        self.holonomic = not late.any()
        self.rated = bool(np.any(self.w1) or np.any(self.w2))
        size = 8 * (6 * n * n + 8 * m * n + 10 * n)
        self.pool = ChunkPool(threads)
        share = -(-motion.steps // (2 * self.pool.size)) if self.pool.size > 1 else MOST_STEPS
        fits = CHUNK_BYTES // (max(size, 1) * self.pool.size)  # every thread has a chunk of its own
        self.chunk = int(np.clip(fits, 8, np.clip(share, FEWEST_STEPS, MOST_STEPS)))

    # ---- the steps, a chunk at a time

    def _size(self, h: float) -> _StepSize:
        p, m, (regular, passes) = self.settings, self.system.n_constraints, self.regular
        scale = p.beta * h**2
        cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
        once = p.passes == 0 and p.projection != 0.0
        numbers = StepNumbers(
            h=h,
            scale=scale,
            cv=cv,
            ca=ca,
            eps=1.0 / (p.alpha * scale) if p.compliant else regular,
            passes=0 if p.compliant else passes,
            eps_projection=p.scales / p.projection if once else np.full(m, regular),
            passes_projection=0 if once else passes,
        )
        return _StepSize(h, numbers, self.w0 + self.w1 * cv + self.w2 * ca)

    def _chunks(self) -> list[_Chunk]:
        outputs, every = len(self.motion.t) - 1, self.every
        per = max(1, self.chunk // every)
        found, first = [], 0
        while first < outputs:
            last = min(first + per, outputs)
            last = next_divided(self.trace.divisions, first * every, last * every) // every
            if last > first:
                found.append(_Chunk(first, last))
            else:
                last = first + 1
                found += [_Chunk(first, last, k) for k in range(len(self._again(first)))]
            first = last
        return found

    def states(self) -> Iterator[States]:
        """The states after all steps, some at a time."""
        for chunk in self._chunks():
            yield self._steps(chunk).states.rows(slice(1, None))

    def _steps(self, chunk: _Chunk) -> _Steps:
        first, last, segment = chunk
        motion, trace, every = self.motion, self.trace, self.every
        outputs = slice(first + 1, last + 1)
        if segment is not None:
            segments = self._again(first)
            if segment < len(segments) - 1:
                return self._run(segments[segment : segment + 1], slice(0, 0), slice(0, 0))
            return self._run(segments[segment:], slice(len(segments[segment].t) - 2, None), outputs)
        if every > 1:
            whole = [self._again(k)[0] for k in range(first, last)]
            return self._run(whole, slice(every - 1, None, every), outputs)
        assert trace.memory is not None
        assert trace.solved is not None
        assert trace.projected is not None
        here = slice(first, last + 1)
        states = States(*(x[here] for x in (motion.q, motion.v, motion.a, motion.multipliers, motion.t)))
        some = trace.memory[here], trace.solved[here], trace.projected[here]
        return _Steps(self._size(self.h), states, *some, slice(0, None), outputs)

    def _run(self, segments: list[Segment], reported: slice, outputs: slice) -> _Steps:
        """Segments that follow each other with steps of one length, as one."""
        more = [(s.t[1:], *(x[1:] for x in s.arrays)) for s in segments]
        start = [(x[:1] for x in (segments[0].t, *segments[0].arrays))]
        t, Q, V, A, X, L, S, norms, _ = (np.concatenate(x) for x in zip(*start, *more, strict=True))
        size = self._size(segments[0].h)
        return _Steps(size, States(Q, V, A, L, t), X, S, norms[:, 3] != 0.0, reported, outputs)

    def _again(self, k: int) -> list[Segment]:
        """The steps from output k to the next, taken again: one segment, or more if some were divided."""
        motion, trace, every = self.motion, self.trace, self.every
        start = [motion.q, motion.v, motion.a, trace.memory, motion.multipliers, trace.solved]
        rows = [*(np.asarray(x)[k] for x in start), np.zeros(6), np.zeros((), np.int64)]
        kernel = _marches.march_fixed_point if trace.job.formulation.fixed_point else _marches.march

        def march(ranks: Array, h: float, t: float, every: int, arrays: list[Array]) -> Any:
            return kernel(self.T, self.settings, ranks, h, t, every, Samples(*arrays))

        steps = range(k * every, (k + 1) * every)
        segments, reason, at = divided(
            march, no_ranks(), self.h, float(motion.t[k]), trace.divisions, steps, rows, hold=True
        )
        self.system.users.raise_pending()
        taken_again(reason, at)
        return segments

    def _blocks(self, steps: _Steps) -> tuple[StepBlocks, _Stages]:
        p, h, m = self.settings, steps.size.h, self.system.n_constraints
        q, v, a, lam, t = steps.states
        x0, xs = steps.memory[:-1], steps.solved[1:]
        d = h * v[:-1] + h * h * ((0.5 - p.beta) * x0 + p.beta * xs)
        v_star = v[:-1] + h * ((1.0 - p.gamma) * x0 + p.gamma * xs)
        a_star = ((1.0 - p.alpha_m) * xs + p.alpha_m * x0 - p.alpha_f * a[:-1]) / (1.0 - p.alpha_f)
        newton = States(q[1:], v_star, a_star, lam[1:], t[1:])
        N, n = d.shape
        found = linearised(self.T, newton, self.rated)
        gamma = np.ascontiguousarray(found.J[:, :m])
        c_q = self.w0[:, None] * gamma
        c_v = np.zeros_like(gamma)
        if self.rated and m:
            rate_q = found.J_rate[:, :m]
            c_q = c_q + self.w1[:, None] * rate_q
            c_v = self.w1[:, None] * gamma
            if p.weight_2:
                _, second_q = coordinate_slopes(self.model, self.free_complex, newton)
                c_q = c_q + self.w2[:, None] * second_q
                c_v = c_v + self.w2[:, None] * velocity_slopes(
                    self.model, self.free_complex, newton, rate_q, self.holonomic
                )
        projected = steps.projected[1:] & (p.projection != 0.0)
        still = accelerations = after = None
        K2 = K3 = np.zeros((N, n, n))
        rates = seconds_q = seconds_v = np.zeros((N, m, n))
        if m and projected.any():
            after = States(q[1:], v[1:], a[1:], lam[1:], t[1:])
            zero, w, y = np.zeros_like(d), v[1:] - v_star, a[1:] - a_star
            sigma, kappa = np.zeros((N, m)), np.zeros((N, m))
            impulses(found.M.reshape(N, -1), gamma.reshape(N, -1), w, y, *self.regular, sigma, kappa)
            still = States(q[1:], zero, w, sigma, t[1:])
            K2 = linearised(self.free, still, False).K
            rates, seconds_q = coordinate_slopes(self.model, self.free_complex, after)
            seconds_v = velocity_slopes(self.model, self.free_complex, after, rates, self.holonomic)
            if p.project_accelerations:
                accelerations = States(q[1:], zero, y, kappa, t[1:])
                K3 = linearised(self.free, accelerations, False).K
        matrices = {
            "K": found.K, "C": found.C, "M": found.M, "Gamma": gamma, "c_q": c_q, "c_v": c_v, "K2": K2, "rate_q": rates,
            "K3": K3, "second_q": seconds_q, "second_v": seconds_v,
        }  # fmt: skip
        flat = {name: np.ascontiguousarray(x.reshape(N, -1)) for name, x in matrices.items()}
        d = np.ascontiguousarray(d)
        blocks = StepBlocks(d=d, total=steps.size.total, w2=self.w2, projected=projected, **flat)
        return blocks, _Stages(newton, still, accelerations, after)

    # ---- direct

    def direct(self, parameters: Parameters, dq: FloatArray, dv: FloatArray) -> StateSlopes:
        """Derivatives of all reported states, from those of the start (np, n_v)."""
        nt, count, n, m = len(self.motion.t), len(parameters), self.model.n_v, self.system.n_constraints
        out = [np.zeros((nt, k, count)) for k in (n, n, n, m)]
        da, dlam = InitialAccelerations(self.motion).direct(parameters, dq, dv)
        for whole, first in zip(out, (dq, dv, da, dlam), strict=True):
            whole[0] = first.T
        now = [np.zeros((n, padded(count))) for _ in range(4)]
        for x, first in zip(now, (dq, dv, da, da), strict=True):
            x[:, :count] = first.T

        def linearise(chunk: _Chunk) -> tuple[_Steps, StepBlocks, _Stages, list[FloatArray]]:
            steps = self._steps(chunk)
            blocks, stages = self._blocks(steps)
            return steps, blocks, stages, self._parameter_terms(parameters, stages, len(blocks.d))

        ranks: list[tuple[FloatArray, FloatArray]] = []
        with self.pool as pool:
            for steps, blocks, stages, terms in pool.ahead(linearise, self._chunks()):
                N = len(blocks.d)
                after, rank = [np.empty((N, k, padded(count))) for k in (n, n, n, m)], np.empty(N)
                bad = tangent_steps(
                    self.T.atoms_i, self.settings, steps.size.numbers, blocks, StepTerms(*terms), State(*now),
                    StateColumns(*after), rank,
                )  # fmt: skip
                self._check(bad, stages)
                ranks.append((stages.newton.t, rank))
                for whole, part in zip(out, after, strict=True):
                    whole[steps.outputs] = part[steps.reported, :, :count]
        self._check_rank(ranks)
        return StateSlopes(*(x.swapaxes(1, 2) for x in out))

    def _parameter_terms(self, parameters: Parameters, stages: _Stages, N: int) -> list[FloatArray]:
        count, n, m = len(parameters), self.model.n_v, self.system.n_constraints
        r_p, s_p, k_p = (np.zeros((N, n, padded(count))) for _ in range(3))
        c_p, rate_p, second_p = (np.zeros((N, m, padded(count))) for _ in range(3))
        alone = [k for k in parameters.acting if parameters.keeps_geometry(k)]
        impulsive = [(x, out) for x, out in ((stages.impulses, s_p), (stages.accelerations, k_p)) if x is not None]
        if alone:
            put_force_slopes(self.T, [parameters.record(k) for k in alone], stages.newton, alone, r_p)
        if heavy := [k for k in alone if parameters.changes_mass(k)]:
            for states, out in impulsive:
                put_force_slopes(self.free, [parameters.unforced_record(k) for k in heavy], states, heavy, out)
        newton = stages.newton.complex()
        for k in set(parameters.acting) - set(alone):
            found = slopes(parameters.record(k), newton, rows=self.weights)
            r_p[:, :, k] = found.r
            for name, w in self.weights.items():
                c_p[:, :, k] += w * getattr(found, name)[:, :m]
            bare = parameters.unforced_record(k)
            for states, out in impulsive:
                put_slopes(bare, states, k, out)
            if stages.after is not None:
                put_slopes(bare, stages.after, k, rates=rate_p, seconds=second_p)
        return [r_p, c_p, s_p, rate_p, k_p, second_p]

    # ---- adjoint

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v); the weights that parameters act with go to `sink`."""
        count, n, m = g.q.shape[1], self.model.n_v, self.system.n_constraints
        y = [np.zeros((n, padded(count))) for _ in range(4)]

        def linearise(chunk: _Chunk) -> tuple[_Steps, StepBlocks, _Stages]:
            steps = self._steps(chunk)
            return steps, *self._blocks(steps)

        ranks: list[tuple[FloatArray, FloatArray]] = []
        with self.pool as pool:
            for steps, blocks, stages in pool.ahead(linearise, reversed(self._chunks())):
                N = len(blocks.d)
                pulls = []
                for whole in g:
                    part = np.zeros((N, whole.shape[2], padded(count)))
                    part[steps.reported, :, :count] = whole[steps.outputs].swapaxes(1, 2)
                    pulls.append(part)
                weights, rank = [np.zeros((count, N, k)) for k in (n, m, n, m, n, m)], np.empty(N)
                bad = adjoint_steps(
                    self.T.atoms_i, self.settings, steps.size.numbers, blocks, StateColumns(*pulls), State(*y),
                    StepTerms(*weights), rank,
                )  # fmt: skip
                self._check(bad, stages)
                ranks.insert(0, (stages.newton.t, rank))
                for some in self._weights(stages, weights):
                    pool.later(sink, some)
        self._check_rank(ranks)
        yq, yv, ya, yx = (x[:, :count].T.copy() for x in y)
        yq, yv = yq + g.q[0], yv + g.v[0]
        sink(InitialAccelerations(self.motion).adjoint(yq, yv, ya + yx + g.a[0], g.lam[0]))
        return yq, yv

    def _weights(self, stages: _Stages, weights: list[FloatArray]) -> list[Weights]:
        """What the adjoints of a chunk weigh residuals and rows with."""
        mu, nu, eta2, theta2, eta3, theta3 = weights
        value, rate, second = (nu * w if np.any(w) else None for w in (self.w0, self.w1, self.w2))
        found = [Weights(stages.newton, mu, value, rate, second)]
        if stages.impulses is not None and stages.after is not None:
            found.append(Weights(stages.impulses, eta2, forced=False))
            if stages.accelerations is not None:
                found.append(Weights(stages.accelerations, eta3, forced=False))
            found.append(Weights(stages.after, None, None, theta2, theta3, forced=False))
        return found

    def _check_rank(self, ranks: list[tuple[FloatArray, FloatArray]]) -> None:
        if self.system.n_constraints and not self.trace.job.formulation.compliant:
            t, s = (np.concatenate(x) for x in zip(*ranks, strict=True))
            check_rank(self.motion, s, t)

    def _check(self, bad: int, stages: _Stages) -> None:
        if bad >= 0:
            raise InputError(
                f"the linearised step to t = {stages.newton.t[bad]:.6g} s of model {self.model.name!r} is singular: "
                "the motion has no derivative beyond. mg.mobility(model, q) tells what loses its rank there."
            )
