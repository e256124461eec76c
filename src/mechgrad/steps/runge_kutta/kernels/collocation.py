"""Steps across a fold, where constraint rows lose their rank on the way and accelerations cannot be told.

The smooth motion goes through it, and so do its accelerations, but only on the constraints themselves: a stage that is
off by d at a distance s from the fold is told accelerations that are wrong by d / s. Stages of explicit methods are
off by more than what the method leaves in the end, so their steps shrink with s until rounding rules. A step across is
therefore made by collocation,

    y(u) = y_0 + h sum_j b_j(u) y'_j,        y'_j = f(P(y(c_j))),        b_j(u) = int_0^u l_j(x) dx

with the eight nodes c_j of Gauss, their Lagrange polynomials l_j, and P the projection on the constraints: order 16,
solved by sweeps over the nodes, which contract as h times the rate at which accelerations change. Its length leaves
the fold in the middle, between two nodes.

`past` is a march's memory of ranks (`no_ranks`), with slots named below.
"""

from __future__ import annotations

import math

import numpy as np

from mechgrad.dynamics.kernels.constrained import refine_accelerations, weakest_share
from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import load, store
from mechgrad.steps.runge_kutta.kernels.stages import joined

N_NODES = 8
_ROOTS, _ = np.polynomial.legendre.leggauss(N_NODES)
NODES = 0.5 + 0.5 * _ROOTS
# l_j in powers of u - 1/2, and the share of the highest Legendre polynomial in l_j
LAGRANGE = np.ascontiguousarray(np.linalg.inv(np.vander(0.5 * _ROOTS, N_NODES, increasing=True)).T)
HIGHEST = np.ascontiguousarray(np.linalg.inv(np.polynomial.legendre.legvander(_ROOTS, N_NODES - 1))[-1])

# Slots of `past`: s beside eps^(1/2) at the step before, its instant, how fast it fell towards it and in the middle of
# which time; by which factor the tolerance was missed at most; the first fold; changes of derivatives in this sweep and
# in the one before; s^2 at the nodes
LEFT, SINCE, FALLS, MIDDLE, BEYOND, FOLD, CHANGED, CHANGED_BEFORE, AT_NODES = range(9)

# A fold is crossed when it is so many steps ahead, or, since steps shrink with s, so many more where s is small
REACH, FAR_REACH, WEAK = 1.25, 12.0, 100.0
SWEEPS, REFINEMENTS = 40, 20
SETTLED, CONTRACTS = 1e-2, 0.5  # changes of a last sweep beside the tolerance; of one beside that before
# After an attempt that missed the tolerance: how often it is made again with what it told of the fold, if that is how
# far beside in the step; how much nearer the next is made, how much better that must be to go on so, and errors above
# which a step across is none
TRIES, ASIDE, CLOSER, HELPED, HOPELESS = 3, 0.02, 0.8, 0.5, 1e-6
SHARE = 0.2  # of such changes in the end: weights of nodes
LONGEST = 2.2  # a step across, beside the way to the fold
VISIBLE, USUAL = 2.0, 1e-5  # s beside eps^(1/2) where eps shows in accelerations; what usual steps leave there
LATEST, BEHIND = 0.85, 1.5  # in a step: where a fold may be at the latest, and where it is still looked for
LOST = 0.3  # the lowest s^2 of a fold beside that of the nodes around


@inner
def fold_ahead(mechanism, work, solver, t, past):
    """When rows will have lost their rank if it goes on falling as in the steps before, or never (inf)."""
    share = weakest_share(mechanism, work, solver, solver.loops)
    here = math.sqrt(max(1.0 / share - 1.0, 0.0)) if share > 0.0 else math.inf
    falls = (past[LEFT] - here) / (t - past[SINCE])
    middle = 0.5 * (t + past[SINCE])
    bends = (falls - past[FALLS]) / (middle - past[MIDDLE])
    past[LEFT], past[SINCE], past[FALLS], past[MIDDLE] = here, t, falls, middle
    if not (falls > 0.0 and here < math.inf):  # nor where something is unknown
        return math.inf
    if not abs(bends) < math.inf:
        return t + here / falls
    # the first x > 0 with here - slope x - bends x^2 / 2 = 0
    slope = falls + bends * (t - middle)
    root = slope * slope + 2.0 * bends * here
    if slope <= 0.0 or root < 0.0:
        return math.inf
    return t + 2.0 * here / (slope + math.sqrt(root))


@inner
def is_near(ahead, step, past):
    """Whether a fold so far ahead is to be crossed now, instead of a usual step."""
    return ahead < (FAR_REACH if past[LEFT] < WEAK else REACH) * step


@inner
def length_across(usual, ahead):
    """Of a step that has an instant `ahead` between its nodes, as far from each and from its end as can be."""
    longest = max(LONGEST * ahead, usual)
    best, found = -1.0, longest
    for k in range(51):
        x = longest * (1.0 - 0.01 * k)
        beside = abs(x - ahead)
        for j in range(N_NODES):
            beside = min(beside, abs(NODES[j] * x - ahead))
        if beside > best:
            best, found = beside, x
    return found


@inner
def begin_collocation(K, n, past, scalar):
    """Derivatives at all nodes as at the start, for the first sweep."""
    past[CHANGED], past[CHANGED_BEFORE] = 0.0, math.inf
    for j in range(N_NODES):
        for i in range(n):
            store(K, (1 + j) * n + i, load(K, i, scalar))


@inner
def no_more_sweeps(i, past):
    """Whether the sweep that ends before node number i (1, 2, ..) was the last: converged, or contracting no more."""
    if i == 1 or (i - 1) % N_NODES != 0:
        return False
    if past[CHANGED] < SETTLED or past[CHANGED] > CONTRACTS * past[CHANGED_BEFORE] or i > SWEEPS * N_NODES:
        return True
    past[CHANGED], past[CHANGED_BEFORE] = 0.0, past[CHANGED]
    return False


@inner
def collocate(y, K, n, h, u, at, scalar):
    """y + h sum_j b_j(u) K_j into `at`; K_j stands in slot j + 1 of K, behind the derivative at the start."""
    for i in range(n):
        store(at, i, load(y, i, scalar))
    for j in range(N_NODES):
        weight, high, low = 0.0, u - 0.5, -0.5
        for p in range(N_NODES):
            weight += LAGRANGE[j, p] * (high - low) / (p + 1)
            high, low = high * (u - 0.5), low * -0.5
        for i in range(n):
            store(at, i, load(at, i, scalar) + load(K, (1 + j) * n + i, scalar) * (h * weight))


@inner
def node_done(mechanism, work, solver, stages, task, now, past, scalar):
    """Complete the derivative at a node, number now.stage of all sweeps: take the influence of eps from its
    accelerations as far as nodes near a fold need it, note s^2 and the change from stages.end, which holds the
    derivative of the sweep before; in the first sweep let those behind it go on as here."""
    slot, y, before, K = now.slot, stages.y, stages.end, stages.K
    n = mechanism.n_q + mechanism.n_v
    refine_accelerations(mechanism, work, solver, solver.loops, REFINEMENTS, stages.a)
    joined(mechanism, stages, slot, scalar)
    share = weakest_share(mechanism, work, solver, solver.loops)
    past[AT_NODES + slot - 1] = 1.0 / share - 1.0 if share > 0.0 else math.inf
    for j in range(n):
        change = now.step * abs(load(K, slot * n + j, scalar) - load(before, j, scalar))
        past[CHANGED] = max(past[CHANGED], change / (task.atol + task.rtol * abs(load(y, j, scalar))))
    if now.stage <= N_NODES:
        here, older = NODES[slot - 1], NODES[slot - 2] if slot > 1 else 0.0
        for later in range(slot, N_NODES):
            share = (NODES[later] - here) / (here - older)
            for j in range(n):
                x = load(K, slot * n + j, scalar)
                store(K, (1 + later) * n + j, x + (x - load(K, (slot - 1) * n + j, scalar)) * share)


@inner
def error_of_collocation(stages, task, h, n, past, scalar):
    """Estimated error beside the tolerance: what the highest polynomial adds on the way, or the last sweep."""
    y, end, K, total = stages.y, stages.end, stages.K, 0.0
    for i in range(n):
        x = scalar * 0.0
        for j in range(N_NODES):
            x = x + load(K, (1 + j) * n + i, scalar) * HIGHEST[j]
        size = task.atol + task.rtol * max(abs(load(y, i, scalar)), abs(load(end, i, scalar)))
        total += (SHARE * h * abs(x) / size) ** 2
    return max(math.sqrt(total / n), SHARE * past[CHANGED])


@inner
def fold_between(past):
    """Where s^2 falls to zero between nodes, or behind the last, as a share of the step; -1 if it does not.

    Looked for in the cubic through the four nodes around the lowest.
    """
    k = 0
    for j in range(N_NODES):
        if past[AT_NODES + j] < past[AT_NODES + k]:
            k = j
    beside = min(past[AT_NODES + max(k - 1, 1)], past[AT_NODES + min(k + 1, N_NODES - 2)])
    first = k - 2 if 0 < k < N_NODES - 1 and past[AT_NODES + k - 1] < past[AT_NODES + k + 1] else k - 1
    first = min(max(first, 0), N_NODES - 4)
    least, where = past[AT_NODES + k], NODES[k]
    end = BEHIND if k == N_NODES - 1 else NODES[first + 3]
    for part in range(65):
        u = NODES[first] + (end - NODES[first]) * part / 64.0
        x = 0.0
        for j in range(4):
            share = 1.0
            for i in range(4):
                if i != j:
                    share *= (u - NODES[first + i]) / (NODES[first + j] - NODES[first + i])
            x += share * past[AT_NODES + first + j]
        if x < least:
            least, where = x, u
    return where if least < LOST * beside else -1.0


@inner
def note_fold(t, error, past):
    """Note a fold, if it is the first, and the error that it leaves beside the tolerance, if it is the largest."""
    if not past[FOLD] <= t:
        past[FOLD] = t
    if not past[BEYOND] >= error:
        past[BEYOND] = error
