"""Searches that run ahead elsewhere: a stretch of their evaluations is made at once, where nobody has to be asked.

A search is a function of what it was answered: with the evaluations made so far, the same solver comes to the same next
point. So a process that is given a problem, the course of a search, and its evaluations until now, goes on alone for
some seconds, and sends back what it made. The search itself stays at home: it takes these from memory as if it had
waited for each, and asks for the next stretch where they end. Therefore

- value and gradient of a point come from one motion, although motions never travel;
- the log has everything some seconds later, and a process that is killed costs no more than a stretch;
- progress, limits of time, Ctrl-C and the answer are those of a search at home.

A stretch ends before a point is begun, never between its value and its gradient.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mechgrad.errors import MechgradError
from mechgrad.optimization.design.evaluation import Answer, Evaluation, Question, Stretch, in_turn
from mechgrad.optimization.design.parcels import Parcel, Reply, opened
from mechgrad.optimization.design.search import Course

SECONDS: Final = 2.0  # of a stretch: what the log may lag behind, and what a killed process may cost


def stretch(
    parcel: Parcel, counts: tuple[int, ...], threads: int, known: Sequence[Evaluation], seconds: float
) -> Reply:
    """The evaluations after the known ones. What goes wrong here is found out by whoever asks for that point."""
    try:
        course: Course = opened(parcel)
    except Exception as error:
        return Reply("unreadable", f"{type(error).__name__}: {error}")
    begin, ended = time.monotonic(), False

    def answers(
        questions: Sequence[Question], values: Sequence[Mapping[str, float]], with_gradient: bool,
        motions: Sequence[Any],
    ) -> list[Answer | MechgradError]:  # fmt: skip
        nonlocal ended
        late = time.monotonic() - begin > seconds and any(not e.replayed for e in evaluator.history)
        ended |= late and all(motion is None for motion in motions)
        if ended:
            raise KeyboardInterrupt  # ends any solver in an orderly way
        return in_turn(questions, values, with_gradient, motions)

    before = [replace(e, replayed=True) for e in known]
    evaluator = course.problem.evaluator(None, before, answers, threads=threads)
    evaluator.expect(counts)
    with contextlib.suppress(Exception, KeyboardInterrupt):
        course.search.run(course.problem, evaluator, course.start, warn=False, scaled_at=course.scaled_at)
    return Reply("answer", Stretch(evaluator.counts, [e for e in evaluator.history if not e.replayed]))
