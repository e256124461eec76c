"""The explicit method of order eight with error control: the whole march compiled.

Steps that would cross a switch of a contact end there instead (`switches`); models without contacts compile none of
it. Steps can also be held: as long as those of another march, without control.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.accelerations import (
    CHANGE_POINT,
    DEAD_POINT,
    DONE,
    INTERRUPTED,
    STUCK,
    TOO_MANY,
    TOO_SMALL,
)
from mechgrad.dynamics.kernels.saddle import FELT_AGAIN, FELT_ONCE, log_root_det, nearly_lost, touches_zero
from mechgrad.dynamics.kernels.system import begin
from mechgrad.kernels.interrupt import ask, first_asked
from mechgrad.kernels.jit import inlined, kernel, wrapper
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.records import refer
from mechgrad.model.mechanism import N_LAWS, N_Q
from mechgrad.steps.matrix_r.kernels.choice import NOW, STEP, spread
from mechgrad.steps.runge_kutta.kernels.collocation import (
    ASIDE,
    CLOSER,
    FELT,
    HELPED,
    HOPELESS,
    LATEST,
    LEFT,
    N_NODES,
    NODES,
    TRIES,
    USUAL,
    begin_collocation,
    collocate,
    error_of_collocation,
    fold_ahead,
    fold_between,
    is_near,
    length_across,
    no_more_sweeps,
    node_done,
    note_fold,
)
from mechgrad.steps.runge_kutta.kernels.estimates import correction, error_of_rates, error_of_step, moved
from mechgrad.steps.runge_kutta.kernels.fixed import (
    derivative,
    first_look,
    look_at,
    make_march_workspace,
    normalise,
    settle,
    turn_balls,
)
from mechgrad.steps.runge_kutta.kernels.switches import (
    AIMED,
    MARKS,
    SEARCH,
    begin_search,
    next_trial,
    pass_on,
    watch,
    young,
)

# step control: safety, and by how much a step may shrink or grow
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
# the longest step that may cross a switch, beside the times of the march, and beside tolerance and usual step
CROSSING, CROSSING_TOLERATED = 1e-13, 1e-3
# weight of the error of the mean derivative while a contact with an exponent between 1 and 2 is young: with it,
# derivatives of the motion by parameters are about as accurate as behind contacts with whole exponents
YOUNG_WEIGHT = 20.0
# so many steps that do not come further than so much of the time are no progress: the rest would take millions
PATIENCE, PACE = 5000, 5e-6
# how far a step may be corrected for the constraints, beside the tolerance: near a dead point of the independent
# coordinates corrections throw the motion on another one
CORRECTION, THROWN = 1000.0, -1
FALL = np.log(10.0)  # of s between the stages of a step, that only folds have
BLUR = 100.0  # steps that may cross: so short that what is left of that error is rounding


@inlined
def _stage(y, K, A, i, stages, n, h, at, scalar):
    """y + h sum_m A_im K_m."""
    for j in range(n):
        x = load(y, j, scalar)
        for m in range(stages):
            if A[i, m] != 0.0:
                x = x + load(K, m * n + j, scalar) * (h * A[i, m])
        store(at, j, x)


@kernel
def _adaptive(
    T, w, s, o, ranks, marks, search, A, B, C, D, E3, E5, t0, t1, h, rtol, atol, most, trees, loops, settles, projected,
    dependent, switching, held, t_out, q0, v0, Q, V, path, instants, scalar,
):  # fmt: skip
    T, w, s, o = refer(T), refer(w), refer(s), refer(o)
    c = None if dependent is None else refer(dependent)
    begin(T, w, scalar)
    y, at, new, done, K, F, q, v, a, lam, z = o.y, o.at, o.new, o.end, o.K, o.F, o.q, o.v, o.a, o.lam, o.z
    n_q, n_v = T.ints[N_Q], T.columns_i.shape[0]
    n = n_q + n_v
    for j in range(n_q):
        y[j] = q0[j]
    for j in range(n_v):
        y[n_q + j] = v0[j]
    turn_balls(T.atoms_i, n_q - n_v, y, y, n_q, -1.0, scalar)
    t, out, steps, rejected, switched = t0, 0, 0, 0, 0
    lost = False
    # steps across folds: whether this is one; when the next fold will be reached, how near one must be to be crossed,
    # the error of the last attempt, and how many there were at this step
    collocating, fold, nearest, missed, tries = False, np.inf, np.inf, np.inf, 0
    ended = np.nan  # log s at the end of the step
    fresh, growth = True, GROW  # whether the first derivative must be computed; no growth right after a rejection
    last, step, facing = False, h, 0.0
    given = held.shape[0] > 0
    # looking for a switch: whether; the step that was usual before; margin and sides of a trial; the next one; the
    # longest step that may cross, which grows while rounding hides on which side a contact is
    hunting, usual, margin, same, ahead, least, grain = False, h, 0.0, True, 0.0, 0.0, 1.0
    across = False  # whether the step is to cross a switch that the one before ended at
    blurred = False  # whether rounding hides the error of the mean derivative
    seen, since = t, 0  # time and trials when progress was last looked at
    if dependent is not None:
        first_look(T, w, s, c, y, q, v, t, scalar)
    asked = first_asked(n_v + lam.size)
    rest = asked
    while t < t1:
        rest -= 1
        if rest <= 0:
            asked = ask(w.listener[0], asked)
            rest = asked
            if asked < 0:
                return out, INTERRUPTED, steps, rejected, h, t, switched
        if steps + rejected >= most:
            return out, TOO_MANY, steps, rejected, h, t, switched
        if steps + rejected >= since + PATIENCE:
            if not given and t - seen < PACE * max(abs(t), t1 - t0):
                return out, STUCK, steps, rejected, h, t, switched
            seen, since = t, steps + rejected
        if dependent is not None and look_at(T, w, s, c, y, q, v, t, scalar):
            facing = 0.0
        if given:
            last = steps + 1 >= held.shape[0]
            step = held[steps, 1]
            for j in range(held.shape[1] - 2):
                y[j] = y[j] + (held[steps, 2 + j] - y[j].real)
            # a derivative that belongs to the state before this correction would make stiff motions unstable
            fresh = fresh or held.shape[1] > 2
        elif not hunting:
            if h < 1e-14 * max(abs(t), t1 - t0):
                return out, TOO_SMALL, steps, rejected, h, t, switched
            last = t + h >= t1 - 1e-12 * (t1 - t0)
            step = t1 - t if last else h
        bad, error, end = DONE, 0.0, t
        low, high = np.inf, -np.inf  # log s, the least and the largest, where the interpolant looks
        same, ahead = True, 0.0
        # Stages 0 to 11 make the step, 12 is the derivative at its end; 13 to 15 serve the interpolant of order 7, if
        # an accepted step holds an output. One loop: the derivative is compiled where it stands, so it stands once.
        i = 0 if fresh else 1
        collocating = False
        while i < 16 or collocating:
            if projected is not None and switching is None and not given:
                if i == 1 and fold - t < nearest and is_near(fold - t, step, ranks):
                    # known from stage 0 on, which has no length yet
                    step = min(length_across(step, fold - t), t1 - t)
                    collocating, last = True, step >= t1 - t
                    begin_collocation(K, n, ranks, scalar)
                if collocating and no_more_sweeps(i, ranks):
                    break
            if i == 13 and not collocating:
                end = t + step
                if given:
                    if not last:
                        end = held[steps + 1, 0]
                else:
                    error = error_of_step(y, new, K, E3, E5, rtol, atol, step, n, scalar)
                    if switching is not None:
                        least = grain * max(CROSSING * max(abs(t), t1 - t0), CROSSING_TOLERATED * rtol * usual)
                        if error < 1.0 and step > least and not blurred and young(T.ints, T.numbers, marks):
                            rates = YOUNG_WEIGHT * error_of_rates(K, E3, E5, max(rtol, 1e-12), n_q, n, scalar)
                            blurred = rates >= 1.0 and step <= BLUR * least
                            if not blurred:
                                # it falls with the step to the power 1.5
                                error = max(error, rates if rates < 1.0 else rates ** (16.0 / 3.0))
                        mixed = not same and step > least and not (last and step <= 2e-12 * (t1 - t0))
                        hunting = hunting and (same or mixed)
                        if mixed or (hunting and error < 1.0):
                            if not hunting:
                                begin_search(T.ints, marks, search)
                                hunting, usual = True, h
                            # the end was compared last: `margin` is its own
                            ahead = next_trial(step, margin, mixed, margin > 0.0, least, search)
                            if ahead > 0.0:
                                break
                    if error >= 1.0:
                        break
                if last:
                    end = t1
                if out >= t_out.size or t_out[out] > end:
                    break
            slot, when = i, t + C[min(i, 15)] * step
            if projected is not None and collocating:
                slot = 1 + (i - 1) % N_NODES
                when = t + NODES[slot - 1] * step
                collocate(y, K, n, step, NODES[slot - 1], at, scalar)
                normalise(T.atoms_i, at, scalar)
                bad = settle(T, w, s, c, at, q, v, z, when, 0.0, projected, dependent, scalar)
                if bad != DONE:
                    break
                for j in range(n):
                    store(new, j, load(K, slot * n + j, scalar))
            elif i == 12:
                for j in range(n):
                    x = load(y, j, scalar)
                    for m in range(12):
                        if B[m] != 0.0:
                            x = x + load(K, m * n + j, scalar) * (step * B[m])
                    store(new, j, x)
                    store(at, j, x)
            else:
                _stage(y, K, A, i, i, n, step, at, scalar)
            bad = derivative(T, w, s, c, at, q, v, a, lam, z, when, trees, loops, dependent, K, slot, scalar)
            if bad != DONE:
                break
            if projected is not None and i == 0 and not given:
                fold = fold_ahead(s, w.J, n_v, lam.size, t, ranks)
            if projected is not None and collocating:
                node_done(
                    T.atoms_i, s, w.J, q, v, a, lam.size, y, new, K, slot, i, step, rtol, atol, n_q, ranks, scalar
                )
                i += 1
                continue
            if dependent is not None and facing == 0.0:
                facing = z[z.size - 1].real
            if loops is not None and settles is None and i == 12:
                ended = log_root_det(s.P, n_v + lam.size)
                lost = nearly_lost(s.P, s.pivots_P, w.J, s.eps, FELT_ONCE, FELT_AGAIN, n_v, lam.size, s.x)
            if projected is not None and i >= 12 and out < t_out.size and t_out[out] < t + step:
                found = log_root_det(s.P, n_v + lam.size)
                low, high = min(low, found), max(high, found)
            if switching is not None and i <= 12:
                margin, beside = watch(T.ints, T.numbers, w.values, w.rates, i, marks)
                same = same and beside
            i += 1
        if bad != DONE:
            # far trial states may be meaningless: try a shorter step before giving up
            if given or step <= 1e-10 * (t1 - t0):
                return out, bad, steps, rejected, h, t, switched
            if collocating:
                # a node that cannot be brought back to the constraints is at the fold itself
                rejected += 1
                if tries < TRIES:
                    fold, tries = t + NODES[slot - 1] * step, tries + 1
                else:
                    nearest, tries = CLOSER * (fold - t), 0
                continue
            h, growth, rejected, fresh, hunting = step * SHRINK, 1.0, rejected + 1, True, False
            continue
        fresh = False
        if ahead > 0.0:
            step, last, rejected = ahead, False, rejected + 1
            continue
        if projected is not None and collocating:
            end = t1 if last else t + step
            collocate(y, K, n, step, 1.0, new, scalar)
            error = error_of_collocation(y, new, K, rtol, atol, step, n, ranks, scalar)
            lowest = fold_between(ranks)
            if lowest < 0.0 or (lowest > LATEST and tries >= TRIES):
                nearest, rejected = 0.0, rejected + 1  # rows keep their rank: a usual step, and look again after it
                continue
            beside = abs(t + lowest * step - fold)
            fold = t + lowest * step
            if lowest > LATEST or (error >= 1.0 and tries < TRIES and beside > ASIDE * step):
                tries, rejected = tries + 1, rejected + 1  # once more, now that it is known better
                continue
            # one that is too long is tried again nearer to the fold, unless that does not help any more: rounding
            if error >= 1.0 and (error < HELPED * missed or error * rtol > HOPELESS):
                nearest, missed, tries, rejected = CLOSER * (fold - t), error, 0, rejected + 1
                continue
            note_fold(fold, error, ranks)
            ranks[LEFT] = np.nan  # what fell before rises behind
            missed, tries, error = np.inf, 0, 0.0
        if error >= 1.0:
            h, growth, rejected = step * max(SHRINK, SAFETY * error ** (-0.125)), 1.0, rejected + 1
            hunting = False
            continue
        for j in range(n):
            store(done, j, load(new, j, scalar))
        normalise(T.atoms_i, done, scalar)
        if settles is not None:
            for j in range(n):
                store(at, j, load(done, j, scalar))
            bad = settle(T, w, s, c, done, q, v, z, end, facing, projected, dependent, scalar)
            if dependent is not None:
                if bad == DONE and not given and correction(at, done, rtol, atol, n) > CORRECTION:
                    bad = THROWN
                size = spread(s, c)
        if (
            i == 16 and not collocating and bad == DONE and not given and low < high - FALL
            and t_out[out] < end - 1e-6 * step
        ):  # fmt: skip
            # Where rows nearly lose their rank accelerations are as good as they can be, and a stage that serves the
            # interpolant alone has no part in the estimate: the step ends at the output instead.
            h, growth, rejected, fresh, hunting = t_out[out] - t, 1.0, rejected + 1, True, False
            continue
        reported = out
        if (i == 16 or collocating) and bad == DONE:
            for j in range(n):
                change = load(new, j, scalar) - load(y, j, scalar)
                first, final = load(K, j, scalar), load(K, 12 * n + j, scalar)
                store(F, j, change)
                store(F, n + j, first * step - change)
                store(F, 2 * n + j, change * 2.0 - (first + final) * step)
                for m in range(4):
                    x = scalar * 0.0
                    for i in range(16):
                        if D[m, i] != 0.0:
                            x = x + load(K, i * n + j, scalar) * (step * D[m, i])
                    store(F, (3 + m) * n + j, x)
            while reported < t_out.size and t_out[reported] <= end:
                u = (t_out[reported] - t) / step
                if projected is not None and collocating:
                    collocate(y, K, n, step, u, at, scalar)
                else:
                    for j in range(n):
                        x = scalar * 0.0
                        for i in range(6, -1, -1):
                            x = (x + load(F, i * n + j, scalar)) * (u if (6 - i) % 2 == 0 else 1.0 - u)
                        store(at, j, x + load(y, j, scalar))
                normalise(T.atoms_i, at, scalar)
                for j in range(n_q):
                    Q[reported, j] = load(at, j, scalar)
                for j in range(n_v):
                    V[reported, j] = load(at, n_q + j, scalar)
                if settles is not None:
                    beyond = settle(T, w, s, c, at, q, v, z, t_out[reported], 0.0, projected, dependent, scalar)
                    if dependent is not None and not given and beyond == DONE:
                        far = moved(Q, V, reported, at, rtol, atol) > CORRECTION
                        bad = THROWN if far else bad
                    if dependent is not None and not given and beyond != DONE:
                        bad = beyond
                turn_balls(T.atoms_i, n_q - n_v, at, at, n_q, 1.0, scalar)
                for j in range(n_q):
                    Q[reported, j] = load(at, j, scalar)
                for j in range(n_v):
                    V[reported, j] = load(at, n_q + j, scalar)
                reported += 1
        if settles is not None and bad != DONE:
            # Thrown on another motion, or beyond a dead point: a shorter step may end before it, and choose again. The
            # interpolant of dependent coordinates has no estimate of its own, and is judged by the same measure.
            if bad == THROWN:
                bad = DEAD_POINT
            if given or step <= 1e-10 * (t1 - t0):
                return out, bad, steps, rejected, h, t, switched
            h, growth, rejected, fresh, hunting = step * SHRINK, 1.0, rejected + 1, True, False
            continue
        if dependent is not None:
            c.sizes[NOW] = size
            c.counts[STEP] += 1
        out = reported
        if steps < path.shape[0]:
            path[steps, 0], path[steps, 1] = t, step
            for j in range(n):
                path[steps, 2 + j] = load(y, j, scalar)
        for j in range(n):
            store(y, j, load(done, j, scalar))
        if settles is not None:
            fresh = True
        else:
            for j in range(n):
                store(K, j, load(K, 12 * n + j, scalar))
        if loops is not None and settles is None:
            ranks[0], ranks[1], ranks[2] = ranks[1], ranks[2], ended
            if touches_zero(ranks[0], ranks[1], ranks[2]) or lost:
                return out, CHANGE_POINT, steps, rejected, h, t, switched
        if switching is not None:
            before = switched
            switched = pass_on(T.ints, marks, steps, t, instants, switched)
            across = step <= least and (across or not same)
            if across:
                grain *= 10.0
            elif switched > before or not hunting:
                grain = 1.0
            blurred = blurred and switched == before
        if projected is not None and not given and not collocating and ranks[LEFT] < FELT:
            note_fold(t, USUAL / rtol, ranks)  # a usual step that began where eps is felt
        t, tries = end, 0
        if missed == np.inf or nearest == 0.0:
            nearest = np.inf
        steps += 1
        factor = GROW if error == 0.0 else min(growth, max(SHRINK, SAFETY * error ** (-0.125)))
        if switching is not None:
            if across:
                h, across = usual, False
            elif hunting and search[AIMED] != 0.0:
                h, across = least, True
            elif hunting:
                h, usual = step * min(factor, 1.0), step * min(factor, 1.0)
            elif not last:
                h, usual = step * factor, step * factor
            hunting = False
        elif not last and not collocating:
            h = step * factor
        growth = GROW
    if switching is not None:
        h = max(h, usual)  # a march may end within a crossing
    return out, DONE, steps, rejected, h, t, switched


@wrapper
def adaptive_one(
    T, f, ranks, A, B, C, D, E3, E5, t0, t1, h, rtol, atol, most, trees, loops, settles, projected, dependent,
    switching, held, t_out, q0, v0, Q, V, path, instants,
):  # fmt: skip
    """The method of order 8 from (q0, v0) at t0 to t1 with error control; states at the instants t_out (sorted).

    f, ranks, trees .. dependent: as in `fixed_one`. switching: 1 if there are contacts, else None. held: (steps, 2),
    time and length of every step that is to be taken, without control, or (0, 2); with n more columns the real part of
    the state before each step is put there. path: (steps, 2 + n) to note time, length and start of every step that was
    taken, and instants: (k,) those of switches, as far as there is room.
    Returns (outputs written, reason, steps, rejected, next step, time, switches).
    """
    kind = trees, loops, settles, projected, dependent
    marks = np.zeros((int(T.ints[N_LAWS]) if switching else 0, MARKS))
    room = make_march_workspace(T, f, 16, Q.dtype, 1)
    found = _adaptive(
        *room, ranks, marks, np.zeros(SEARCH), A, B, C, D, E3, E5, t0, t1, h, rtol, atol,
        most, *kind, switching, held, t_out, q0, v0, Q, V, path, instants, Q.dtype.type(0.0).item(),
    )  # fmt: skip
    if dependent is not None:
        dependent.last[:] = room[-1].y[: dependent.last.size].real
    return found
