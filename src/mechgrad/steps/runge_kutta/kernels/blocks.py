"""The linearised stages of explicit steps: records that tangent and adjoint share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import inlined
from mechgrad.kernels.records import allocate


class CorrectionMatrices(NamedTuple):
    """How corrections of N states pass changes on, matrices row by row (N, n n); no lines where there are none."""

    X: np.ndarray
    Y: np.ndarray
    Z: np.ndarray


class RungeKuttaBlocks(NamedTuple):
    """N steps with their stages, and states reported within steps.

    h : (N,);   start, end : (N, n_q) configurations, the latter as the sum of stages gives it
    start_v, end_v : (N, n) velocities there; all velocities and accelerations in parent axes
    first : (N + 1,) where the stages of each step begin among all
    q, v, a : stages where derivatives were taken;   before, before_v : q, v as the sum of stages gives it
    F_q, F_v : (stages, n n)
    corrected : of stages;   corrected_ends : of the ends of steps
    out_first : (N + 1,) where the reports of each step begin;   weights : (reports, stages of a step) of h k
    out_q, out_v : (reports, n_q), (reports, n) as that sum gives them;   corrected_reports : their corrections
    """

    A: np.ndarray
    B: np.ndarray
    h: np.ndarray
    start: np.ndarray
    start_v: np.ndarray
    end: np.ndarray
    end_v: np.ndarray
    first: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    before: np.ndarray
    before_v: np.ndarray
    F_q: np.ndarray
    F_v: np.ndarray
    corrected: CorrectionMatrices
    corrected_ends: CorrectionMatrices
    out_first: np.ndarray
    weights: np.ndarray
    out_q: np.ndarray
    out_v: np.ndarray
    corrected_reports: CorrectionMatrices


class StageTerms(NamedTuple):
    """What parameters do to accelerations of stages, and to q and v in corrections of stages, of ends of steps and of
    reports, (lines, np, n); for adjoints the weights of these terms, (no, lines, n)."""

    accelerations: np.ndarray
    stage_q: np.ndarray
    stage_v: np.ndarray
    end_q: np.ndarray
    end_v: np.ndarray
    report_q: np.ndarray
    report_v: np.ndarray


class EndColumns(NamedTuple):
    """Of the states after N steps and of reports, (N or reports, columns, n): their changes, or gradients by them."""

    end_q: np.ndarray
    end_v: np.ndarray
    report_q: np.ndarray
    report_v: np.ndarray


class StateChange(NamedTuple):
    """A change of the state between steps, or its adjoint, (columns, n)."""

    q: np.ndarray
    v: np.ndarray


class Scratch(NamedTuple):
    """One column on its way through a step: Euler parameters by four numbers (q), tangents and velocities (x, v)."""

    base_q: np.ndarray  # the start of a step
    base_v: np.ndarray
    y_q: np.ndarray  # a stage, a report or the end
    y_v: np.ndarray
    x: np.ndarray
    around: np.ndarray
    k_q: np.ndarray  # derivatives of the stages
    k_v: np.ndarray
    work: np.ndarray


def make_scratch(blocks):
    """Workspace for one column."""
    most, n_q, n = blocks.A.shape[0], blocks.start.shape[1], blocks.start_v.shape[1]
    sizes = {
        "base_q": n_q, "base_v": n, "y_q": n_q, "y_v": n, "x": n, "around": n_q, "k_q": (most, n_q), "k_v": (most, n),
        "work": 2 * n,
    }  # fmt: skip
    return allocate(Scratch, sizes, float)


@inlined
def copy_into(source, target):
    """target := source."""
    for j in range(target.size):
        target[j] = source[j]


@inlined
def clear_all(x):
    """x := 0."""
    for j in range(x.size):
        x[j] = 0.0
