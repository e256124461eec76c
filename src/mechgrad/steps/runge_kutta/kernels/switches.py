"""Where contacts begin and cease to push, looked for by a march with error control.

A contact (laws CONTACT, TYRE and all of the ground) pushes while

    push = min(d, N / (K d^n)) > 0            d: its depth, N before it is cut off at zero

There the force is continuous and its derivatives are not: a step across has neither an honest error estimate nor a
derivative worth the name. So steps are to lie on one side. The stages tell whether one does; if not, its length is
sought for which the margin, the least distance of a contact to its switch, is zero at its end:

    margin = min over contacts of +-push            + for those that push where the step starts

by false position with halved weights (Illinois), every trial a whole step from the same start. The step that is taken
ends a little before, the next crosses within `least`, the third starts on the other side.

Contacts with an exponent between 1 and 2 begin like d^1.5: smooth enough for the motion, which the error control
follows, but less so for its derivatives (d^0.5). While such a depth is young, the mean derivative over a step is
controlled too, beside the derivative's own size.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.ground_laws import ground_push, nine_rows
from mechgrad.dynamics.kernels.laws import contact_push, law_int, law_number
from mechgrad.kernels.jit import inner
from mechgrad.model.mechanism import L_FIRST, L_KIND, N_LAWS
from mechgrad.model.primitives.rows import CONTACT, FIRST_GROUND, TYRE

# what is known of a law within a step: push at its start and end, depth at both, least and largest depth of the stages;
# and push where the step before started
START, END, DEPTH, END_DEPTH, LEAST, LARGEST, BEFORE = range(7)
MARKS = 7
# a search: the bracket of step lengths with their margins (weighted, and as it was at the upper end), the end that
# moved last, whether only stages were beyond the switch, whether the step ends at the switch, trials
LOW, AT_LOW, HIGH, AT_HIGH, TRUE_HIGH, SIDE, ONLY, AIMED, TRIALS = range(9)
SEARCH = 9
YOUNG = 0.5  # part of the largest depth within a step: below, the contact counts as one that has just begun or will end
ILLINOIS = 40  # trials, then bisection


@inner
def is_contact(ints, k):
    """Whether law k begins and ceases to push."""
    kind = law_int(ints, k, L_KIND)
    return kind in (CONTACT, TYRE) or kind >= FIRST_GROUND


@inner
def watch(ints, numbers, values, rates, stage, marks):
    """The margin of the placed stage, and whether all contacts are on the side where the step started."""
    margin, same = math.inf, True
    for k in range(ints[N_LAWS]):
        if not is_contact(ints, k):
            continue
        first = law_int(ints, k, L_FIRST)
        if law_int(ints, k, L_KIND) >= FIRST_GROUND:
            push, depth = ground_push(ints, numbers, k, nine_rows(ints, k, values), nine_rows(ints, k, rates))
        else:
            push, depth = contact_push(ints, numbers, k, values[first], rates[first])
        if stage == 0:
            marks[k, START], marks[k, DEPTH] = push, depth
        if stage <= 1:
            marks[k, LEAST], marks[k, LARGEST] = marks[k, DEPTH], marks[k, DEPTH]
        if stage == 12:
            marks[k, END], marks[k, END_DEPTH] = push, depth
        marks[k, LEAST], marks[k, LARGEST] = min(marks[k, LEAST], depth), max(marks[k, LARGEST], depth)
        pushed = marks[k, START] > 0.0
        margin = min(margin, push if pushed else -push)
        same = same and (push > 0.0) == pushed
    return margin, same


@inner
def young(ints, numbers, marks):
    """Whether a contact with an exponent between 1 and 2 has just begun to push, or is about to cease."""
    for k in range(ints[N_LAWS]):
        changes = marks[k, START] > 0.0 and marks[k, LEAST] < YOUNG * marks[k, LARGEST]
        if changes and is_contact(ints, k) and 1.0 < law_number(ints, numbers, k, 2).real < 2.0:
            return True
    return False


@inner
def begin_search(ints, marks, search):
    """A bracket from the start of the step on, where the margin is that of the contact nearest to its switch."""
    margin = math.inf
    for k in range(ints[N_LAWS]):
        if is_contact(ints, k):
            margin = min(margin, abs(marks[k, START]))
    search[LOW], search[AT_LOW], search[HIGH], search[SIDE] = 0.0, margin, math.inf, 0.0
    search[AIMED], search[TRIALS] = 0.0, 0.0


@inner
def next_trial(step, margin, mixed, end_same, least, search):
    """The length to try after `step`, or 0 if that one is to be taken.

    mixed: the step has stages or its end beyond a switch; otherwise it is smooth, and within tolerance.
    """
    search[TRIALS] += 1.0
    if mixed:
        # stages alone may be beyond, since they are less accurate than the end: as if that were beyond by as much
        search[HIGH], search[AT_HIGH], search[ONLY] = step, -abs(margin), 1.0 if end_same else 0.0
        search[TRUE_HIGH] = search[AT_HIGH]
        if search[SIDE] < 0.0:
            search[AT_LOW] *= 0.5
        search[SIDE] = -1.0
    else:
        ahead = search[HIGH] - step
        if search[ONLY] != 0.0:
            near = ahead <= 0.1 * search[HIGH]  # shorter steps have better stages: go on from here
        else:
            near = margin * ahead <= 0.75 * least * (margin - search[TRUE_HIGH]) or ahead <= 0.25 * least
            search[AIMED] = 1.0 if near else 0.0
        if near:
            return 0.0
        search[LOW], search[AT_LOW] = step, margin
        if search[SIDE] > 0.0:
            search[AT_HIGH] *= 0.5
        search[SIDE] = 1.0
    low, high = search[LOW], search[HIGH]
    wide, total = high - low, search[AT_LOW] - search[AT_HIGH]
    share = search[AT_LOW] / total if total > 0.0 and search[TRIALS] < ILLINOIS else 0.5
    return min(max(low + share * wide - 0.5 * least, low + 1e-3 * wide), high - 1e-3 * wide)


@inner
def pass_on(ints, marks, steps, t, instants, count):
    """After a step that started at t: its end is the next one's start. Contacts that had switched by then are noted in
    `instants`; returns how many did, so far."""
    for k in range(ints[N_LAWS]):
        if is_contact(ints, k):
            if steps > 0 and (marks[k, BEFORE] > 0.0) != (marks[k, START] > 0.0):
                if count < instants.size:
                    instants[count] = t
                count += 1
            marks[k, BEFORE], marks[k, START], marks[k, DEPTH] = marks[k, START], marks[k, END], marks[k, END_DEPTH]
    return count
