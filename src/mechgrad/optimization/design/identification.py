"""What data say about numbers: covariance, confidence intervals, and combinations that cannot be told apart.

J = dr/dx at the optimum      C = s^2 (J^T J)^-1      s = 1 where the noise is known, else s^2 = r . r / (m - n)
J D = U S V^T                 D = diag(sizes of the variables): columns of V are relative changes, and those with
                              S_k < cutoff S_1 change no residual
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import final

import numpy as np
from scipy.linalg import qr
from scipy.stats import norm, t

from mechgrad.errors import InputError
from mechgrad.optimization.design.design_program import DesignProgram
from mechgrad.optimization.design.side import Side
from mechgrad.typing import FloatArray

CUTOFF = 1e-7  # of the largest singular value: below, derivatives that are exact to about ten digits tell nothing
MOST_WAYS = 5000  # in which variables that stand alone are tried out
NAMED = 0.05  # of a unit vector: smaller parts of a combination are left out


@final
@dataclass(frozen=True, eq=False)
class Identification:
    """How well data determine the variables, to first order.

    Attributes
    ----------
    names : of the variables that are free; those at a bound are taken as known there: `held`
    values, standard_errors : (n,); infinite for what takes part in a combination that cannot be told apart
    covariance : (n, n) of what can be told apart
    intervals : (n, 2) at the confidence
    confidence : such as 0.95
    noise : standard deviation of the residuals; 1 if every `Measured` says its own
    singular_values : (n,) of residuals by relative changes of the variables, descending
    undetermined : combinations of relative changes that change no residual, in words
    """

    names: tuple[str, ...]
    values: FloatArray
    standard_errors: FloatArray
    covariance: FloatArray
    intervals: FloatArray
    confidence: float
    noise: float
    singular_values: FloatArray
    undetermined: tuple[str, ...]
    held: tuple[str, ...]

    @property
    def correlation(self) -> FloatArray:
        """(n, n) of the errors; NaN for those without."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.covariance / np.outer(self.standard_errors, self.standard_errors))

    def contains(self, values: dict[str, float]) -> bool:
        """Whether the intervals hold the given numbers."""
        inside = (
            low <= values[name] <= high for name, (low, high) in zip(self.names, self.intervals, strict=True)
        )  # fmt: skip
        return all(inside)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        head = f"{100 * self.confidence:g} % interval"
        lines = [f"{'variable':{width}}  {'value':>13}  {'std. error':>11}  {head}"]
        for name, x, error, (low, high) in zip(
            self.names, self.values, self.standard_errors, self.intervals, strict=True
        ):
            lines.append(f"{name:{width}}  {x:13.7g}  {error:11.3g}  [{low:.6g}, {high:.6g}]")
        lines += [f"the data do not tell: {words}" for words in self.undetermined]
        lines += [f"{name} is at its bound, taken as known" for name in self.held]
        return "\n".join(lines)


def identified(program: DesignProgram, x: FloatArray, variables: Sequence[Side], confidence: float) -> Identification:
    """The identification behind an optimum x of least squares, whose variables lie between their bounds."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence!r}; give a share such as 0.95.")
    free = np.array([not side.active for side in variables])
    names = tuple(side.name for side in variables if not side.active)
    if not names:
        raise InputError("every variable is at a bound; nothing is left to be identified.")
    r, J = program.residuals(x), program.residual_jacobian(x)[:, free]
    x = x[free]
    # components that nothing moves and that are met exactly, z of a planar mechanism, are no data
    telling = int(((r != 0.0) | (J != 0.0).any(axis=1)).sum())
    freedom = telling - len(names)
    known = bool(getattr(program.goal, "noise_known", False))
    if freedom < 1 and not known:
        raise InputError(
            f"{telling} residuals and {len(names)} variables: noise can only be estimated from more data than "
            "variables. Give sigma of Measured, or more data."
        )
    noise = 1.0 if known else float(np.sqrt(r @ r / freedom))
    sizes = np.where(x != 0.0, np.abs(x), program.evaluator.space.scale[free])
    _, s, Vt = np.linalg.svd(J * sizes, full_matrices=False)
    s = np.concatenate([s, np.zeros(len(names) - len(s))])
    if len(Vt) < len(names):
        Vt = np.linalg.svd(J * sizes, full_matrices=True)[2]
    lost = s <= CUTOFF * max(float(s[0]), np.finfo(float).tiny)
    W = sizes[:, None] * Vt[~lost].T / s[~lost]
    covariance = noise**2 * W @ W.T
    errors = np.sqrt(np.diag(covariance))
    errors[(np.abs(Vt[lost]) > NAMED).any(axis=0)] = np.inf
    factor = float(norm.ppf(0.5 + confidence / 2) if known else t.ppf(0.5 + confidence / 2, freedom))
    intervals = np.stack([x - factor * errors, x + factor * errors], axis=1)
    held = tuple(side.name for side in variables if side.active)
    words = tuple(_in_words(names, v) for v in _plainest(Vt[lost]))
    return Identification(names, x, errors, covariance, intervals, confidence, noise, s, words, held)


def _plainest(lost: FloatArray) -> FloatArray:
    """Rows that span the same combinations, with as few members as possible, each with one that no other row has.

    Singular vectors of equal singular values are any mixture of what a reader looks for. Which variables stand alone
    is tried out where there are few ways; where there are many, the pivots of a QR decomposition say.
    """
    count, n = lost.shape
    if count < 2:
        return lost
    ways: Iterable[Sequence[int]] = combinations(range(n), count)
    if comb(n, count) > MOST_WAYS:
        ways = [qr(lost, pivoting=True, mode="r")[1][:count].tolist()]
    best: FloatArray = lost
    fewest = np.inf
    for alone in ways:
        pivots = lost[:, list(alone)]
        smallest = np.linalg.svd(pivots, compute_uv=False)[-1]
        if smallest < NAMED**2:
            continue
        rows = np.linalg.solve(pivots, lost)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        members = float((np.abs(rows) > NAMED).sum()) - smallest  # of equally many, the best conditioned
        if members < fewest:
            best, fewest = np.asarray(rows), members
    return np.asarray(best[np.argsort((np.abs(best) > NAMED).sum(axis=1), kind="stable")])


def _in_words(names: tuple[str, ...], v: FloatArray) -> str:
    """A combination of relative changes, the largest first."""
    order = [k for k in np.argsort(-np.abs(v)) if abs(v[k]) > NAMED]
    v = v / v[order[0]]
    if len(order) == 1:
        return f"{names[order[0]]} (it has no influence on them)"
    parts = " with ".join(f"{100 * v[k]:+.3g} % of {names[k]}" for k in order)
    return f"{parts} (such changes cancel)"
