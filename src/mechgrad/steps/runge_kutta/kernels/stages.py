"""States, stages and derivatives of explicit Runge-Kutta methods, for any mechanism.

    q' = N(q) v        v' = a(q, v, t)            (`dynamics.kernels.state_accelerations`)

N is the unit matrix but for Euler parameters e of a ball, e' = (0, w) e / 2 with the angular velocity w in parent axes.
Euler parameters are given length one after every step, on which no result depends.

Of a ball the method carries the angular velocity in child axes, u = R(e)^T w with u' = R^T w', so that a body that
spins about one of its own axes has a constant u. With w itself an error of the rotation is one of u times the spin,
which a body near its separatrix blows up: a thousand times the error at the same tolerance. All else (starts, results,
constraints, forces) has w in parent axes.

With constraints, what the steps leave of their values and rates can be projected away, mass-orthogonally, after every
step; or (Matrix R) every stage takes only its independent coordinates from the method and solves for the others. Which
they are is a `Choice`, which may change between two steps: the state goes on as it is.

What a march does about constraints is said by arguments that are None or 1, since a branch on `None` vanishes before
types are looked at, and a march compiles only what its kind needs:

    trees        there are no constraints: accelerations by recursive elimination
    loops        there are: accelerations and multipliers from a saddle system, or by elimination (`constrained`)
    projected    states are projected after each step
    dependent    dependent coordinates are solved for, in each stage and after each step

Slots of a state y: q (n_q), then v (n_v) with u in place of w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.constrained import constrained_accelerations, project
from mechgrad.dynamics.kernels.projection import CLOSE_ENOUGH
from mechgrad.dynamics.kernels.state_accelerations import DEAD_POINT, DONE, tree_accelerations
from mechgrad.kernels.jit import inlined, inner, runtime_int, spliced
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.records import allocate
from mechgrad.kernels.rotation import get4, pure_product, put4, rotated, unit
from mechgrad.kernels.vec3 import get3, put3
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.steps.independent.kernels.choices import RANK, Choice
from mechgrad.steps.matrix_r.kernels.step import (
    begin_choice,
    choose_again,
    independent,
    look,
    orientation,
    place_chosen,
)

LATEST, FACING = range(2)  # orientations of W: of the last solution; of the first stage of a step, 0 if not known yet


class Stages(NamedTuple):
    """Workspace of a march: states on their way through a step, and what accelerations need."""

    y: np.ndarray  # where a step starts
    trial: np.ndarray  # where a derivative is taken, or another state on its way
    end: np.ndarray  # y + h sum_i B_i k_i
    accepted: np.ndarray  # that, corrected for the constraints
    K: np.ndarray  # derivatives of all stages
    q: np.ndarray  # of one state
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    free_values: np.ndarray  # values and rates of the independent coordinates, where the dependent ones are solved for
    free_rates: np.ndarray
    orientation: np.ndarray  # LATEST, FACING
    weights: np.ndarray  # of the stages, in a report within a step
    choice: Choice | None


def make_stages(mechanism, count, dtype, lanes, choice=None):
    """Workspace for a method of `count` stages."""
    n_q, n_v, free = mechanism.n_q, mechanism.n_v, mechanism.n_all - mechanism.n_rows
    n = n_q + n_v
    sizes = {
        "y": n, "trial": n, "end": n, "accepted": n, "K": count * n, "q": n_q, "v": n_v,
        "a": n_v, "lam": mechanism.n_constraints,
    }  # fmt: skip
    sizes = {name: size * lanes for name, size in sizes.items()}
    sizes |= {"free_values": free, "free_rates": free, "orientation": 2}
    return allocate(Stages, sizes, dtype, weights=np.zeros(count), choice=choice)


# ---- balls


@inner
def rates(atoms_i, q, v, k, at, scalar):
    """q' of all atoms into the slots of k from `at` on."""
    for i in range(atoms_i.shape[0]):
        kind, jq, jv = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e = pure_product(get3(v, jv, scalar), get4(q, jq, scalar))
            put4(k, at + jq, (e[0] * 0.5, e[1] * 0.5, e[2] * 0.5, e[3] * 0.5))
        elif kind != FIXED:
            store(k, at + jq, load(v, jv, scalar))


@inner
def normalise(atoms_i, y, scalar):
    """Euler parameters of length one."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, Q_AT]
            put4(y, j, unit(get4(y, j, scalar)))


@inner
def turn_balls(atoms_i, balls, q, x, at, way, scalar):
    """Vectors of balls in the slots of x from `at` on, in place: from child into parent axes (way 1), or back (-1).

    balls: how many there are, n_q - n_v; without any this is nothing. R(e) = R(e / |e|).
    """
    i = 0
    while balls > 0:
        while atoms_i[i, KIND] != BALL:
            i += 1
        k, j = atoms_i[i, Q_AT], at + atoms_i[i, V_AT]
        i, balls = i + 1, balls - 1
        put3(x, j, rotated(get4(q, k, scalar), get3(x, j, scalar), way))


# ---- states


@inner
def split(mechanism, y, stages, scalar):
    """stages.q, stages.v := those of a state."""
    n_q, n_v, q, v = mechanism.n_q, mechanism.n_v, stages.q, stages.v
    for j in range(n_q):
        store(q, j, load(y, j, scalar))
    for j in range(n_v):
        store(v, j, load(y, n_q + j, scalar))
    turn_balls(mechanism.atoms_i, n_q - n_v, q, v, runtime_int(0), 1.0, scalar)


@inner
def joined(mechanism, stages, stage, scalar):
    """The derivative of the state stages.q, v with accelerations stages.a, into stage `stage` of stages.K."""
    n_q, n_v, q, a, K = mechanism.n_q, mechanism.n_v, stages.q, stages.a, stages.K
    at = stage * (n_q + n_v)
    rates(mechanism.atoms_i, q, stages.v, K, at, scalar)
    for j in range(n_v):
        store(K, at + n_q + j, load(a, j, scalar))
    turn_balls(mechanism.atoms_i, n_q - n_v, q, K, at + n_q, -1.0, scalar)


@inlined
def copy_state(source, target):
    """target := source, slot by slot."""
    for j in range(target.size):
        target[j] = source[j]


@inlined
def sum_stages(y, K, factors, count, h, out, n, scalar):
    """out := y + h sum_m factors_m K_m over the first stages."""
    for j in range(n):
        x = load(y, j, scalar)
        for m in range(count):
            if factors[m] != 0.0:
                x = x + load(K, m * n + j, scalar) * (h * factors[m])
        store(out, j, x)


# ---- derivatives and corrections


@inner
def dependent_state(mechanism, work, solver, stages, t, scalar):
    """Solve for the dependent coordinates of stages.q, v. Returns DONE or a reason to end."""
    choice, q, v, values, rates_ = stages.choice, stages.q, stages.v, stages.free_values, stages.free_rates
    rank = choice.counts[RANK]
    place_chosen(mechanism, work, choice, q, v, work.zero, t, scalar)
    for k in range(choice.pick.size - rank):
        values[k], rates_[k] = work.values[choice.pick[rank + k]], work.rates[choice.pick[rank + k]]
    reason = independent(mechanism, work, solver, choice, q, v, t, values, rates_, CLOSE_ENOUGH, scalar)
    stages.orientation[LATEST] = orientation(solver.P, solver.pivots_P, mechanism.n_v)
    return reason


@inlined
def note_facing(stages):
    """Note the orientation of W in the first stage of a step, if it is not known yet."""
    if stages.orientation[FACING].real == 0.0:
        stages.orientation[FACING] = stages.orientation[LATEST]


@spliced
def derivative(mechanism, work, solver, stages, t, stage, trees, loops, dependent, scalar):
    """The derivative at stages.trial into stage `stage` of stages.K. Returns DONE or a reason to end."""
    split(mechanism, stages.trial, stages, scalar)
    reason = DONE
    if dependent is not None:
        reason = dependent_state(mechanism, work, solver, stages, t, scalar)
    if trees is not None:
        reason = tree_accelerations(mechanism, work, stages.q, stages.v, scalar * 0.0 + t, stages.a, scalar)
    if loops is not None and reason == DONE:
        reason = constrained_accelerations(
            mechanism, work, solver, solver.loops, stages.q, stages.v, scalar * 0.0 + t, stages.a, stages.lam, scalar
        )
    joined(mechanism, stages, stage, scalar)
    return reason


@inner
def correct_state(mechanism, work, solver, stages, y, t, facing, projected, dependent, scalar):
    """Bring the state y back to the constraints; facing: the orientation of W before, 0 if that does not matter.
    Returns DONE or a reason to end."""
    split(mechanism, y, stages, scalar)
    reason = DONE
    if projected is not None:
        reason = project(mechanism, work, solver, solver.loops, stages.q, stages.v, t, scalar)
    if dependent is not None:
        reason = dependent_state(mechanism, work, solver, stages, t, scalar)
        if reason == DONE and stages.orientation[LATEST].real * facing < 0.0:
            reason = DEAD_POINT
    n_q, n_v = mechanism.n_q, mechanism.n_v
    for j in range(n_q):
        store(y, j, load(stages.q, j, scalar))
    for j in range(n_v):
        store(y, n_q + j, load(stages.v, j, scalar))
    turn_balls(mechanism.atoms_i, n_q - n_v, stages.q, y, n_q, -1.0, scalar)
    return reason


# ---- independent coordinates


@inner
def first_look(mechanism, work, solver, stages, t, scalar):
    """Measure the choice in the state that a march begins with."""
    stages.orientation[FACING] = 0.0
    split(mechanism, stages.y, stages, scalar)
    begin_choice(mechanism, work, solver, stages.choice, stages.q, stages.v, t, scalar)


@inner
def look_at(mechanism, work, solver, stages, t, scalar):
    """`look` at the choice for the step that begins with stages.y. Returns 1 if it is another one."""
    split(mechanism, stages.y, stages, scalar)
    changed = look(mechanism, work, solver, stages.choice, stages.q, stages.v, t, scalar)
    if changed:
        stages.orientation[FACING] = 0.0
    return changed


@inner
def choose_at(mechanism, work, solver, stages, t, scalar):
    """The best choice where a step starts, whatever it is now. Returns 1 if it is another one."""
    split(mechanism, stages.y, stages, scalar)
    changed = choose_again(mechanism, work, solver, stages.choice, stages.q, stages.v, t, np.inf, scalar)
    if changed:
        stages.orientation[FACING] = 0.0
    return changed
