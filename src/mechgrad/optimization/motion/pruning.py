"""Exact patterns: what a measure can depend on by its structure, less what is zero for this mechanism.

Measures state which joints can depend on which. A particular mechanism has less: parallel axes, slides, points on
an axis. These derivatives are analytic functions of the motion, so one that vanishes at random motions vanishes
everywhere; what is rounding there is left out of the program's patterns.
"""

from __future__ import annotations

import numpy as np

from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.motion_samples import CurvatureStructure, Samples, Structure
from mechgrad.typing import Array

TRIALS = 3
ROUNDING = 1e-13


def _trials(n: int, n_v: int, xi: Array) -> list[Samples]:
    rng = np.random.default_rng(20)
    return [Samples(rng.normal(0, 1, (4, xi.size, n)), n_v, xi) for _ in range(TRIALS)]


def _seen(values: Array, gradient: list[Array]) -> Array:
    """What is more than rounding beside the largest entry of its sample, and beside its first derivatives."""
    sizes = [np.max(np.abs(x), axis=1, keepdims=True, initial=1e-300) for x in (values, *gradient)]
    return np.asarray(np.abs(values) > ROUNDING * np.max(sizes, axis=0))


def _narrowed(stated: Array, seen: list[Array]) -> Array:
    """A stated mask without what is never seen; one mask for all samples stays one."""
    found = np.any(seen, axis=0)
    return np.asarray(stated & (np.any(found, axis=0) if stated.ndim == 1 else found))


def pruned(measure: SampleFunction, n: int, n_v: int, xi: Array) -> tuple[Structure, Array]:
    """First derivatives that there are, and their indices among the stated ones."""
    stated = measure.structure
    every = np.arange(stated.rows.size)
    if measure.parameters or not measure.analytic:  # zeros of present numbers need not be zeros of others
        return stated, every
    trials = [measure.partials(s) for s in _trials(n, n_v, xi)]
    rows = stated.rows
    levels = {}
    for level, mask in stated.levels.items():
        seen = []
        for partials in trials:
            values = np.abs(partials.by[level])
            largest = np.zeros((len(values), stated.m))
            np.maximum.at(largest.T, rows, values.T)
            # a row may vanish altogether, but for rounding: torques of a root that the ground holds
            largest = np.maximum(largest, 1e-2 * np.max(largest, axis=1, keepdims=True))
            seen.append(values > ROUNDING * largest[:, rows])
        levels[level] = _narrowed(mask, seen)
    flat = [mask if mask.ndim == 1 else np.any(mask, axis=0) for mask in levels.values()]
    kept = np.flatnonzero(np.any(flat, axis=0)) if flat else every
    levels = {level: mask[..., kept] for level, mask in levels.items()}
    return Structure(stated.m, rows[kept], stated.cols[kept], levels), kept


def pruned_curvature(
    measure: SampleFunction, asked: Array, n: int, n_v: int, xi: Array
) -> tuple[CurvatureStructure, Array]:
    """Second derivatives of what is asked (nt, m) that there are, and their indices among the stated ones."""
    stated = measure.curvature_structure
    every = np.arange(stated.rows.size)
    if measure.parameters or not measure.analytic or stated.rows.size == 0:
        return stated, every
    rng = np.random.default_rng(21)
    seen: dict[str, list[Array]] = {pair: [] for pair in stated.pairs}
    for s in _trials(n, n_v, xi):
        y = rng.uniform(0.5, 1.5, asked.shape) * asked
        curvature, gradient = measure.curvature(s, y)
        for pair in seen:
            seen[pair].append(_seen(curvature.blocks[pair], [*gradient.values()]))
    pairs = {pair: mask & np.any(seen[pair], axis=0) for pair, mask in stated.pairs.items()}
    kept = np.flatnonzero(np.any([np.any(mask, axis=0) for mask in pairs.values()], axis=0))
    pairs = {pair: mask[:, kept] for pair, mask in pairs.items()}
    return CurvatureStructure(stated.rows[kept], stated.cols[kept], pairs), kept
