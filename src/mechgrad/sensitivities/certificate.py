"""The certificate: a table of given derivatives beside the complex step and central differences, and a verdict.

Which of the two numeric columns judges, and how strictly:

    complex step         |given - numeric| <= tolerance * size of the column
    central differences  |given - numeric| <= 10 * their own error estimate, the largest of the column

Differences judge only when the complex step cannot: the function refuses complex numbers, or turns them into something
that central differences contradict (`abs`, `norm`, `conj`). The certificate says so. Errors are relative to the largest
entry of the column, since columns have different units. A column that hardly matters is judged less closely, because
rounding in the others reaches it: no difference counts below

    floor of column j = tolerance / 1000 * max(|f|, largest |f_x| scale) / scale_j
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.errors import CertificateError, InputError
from mechgrad.sensitivities.direction import Direction, along_random_direction
from mechgrad.sensitivities.numeric import EPS, STEPS, Differences, Function, Numeric, differentiate
from mechgrad.simulation.recipe import Recipe
from mechgrad.typing import ArrayLike, FloatArray

__all__ = ["HEADINGS", "Certificate", "Worst", "certify", "judge"]

SAFETY = 10.0  # central differences may be wrong by so many of their own error estimates
CONTRADICTION = 1e-6  # a complex step that differs from trustworthy differences by more is none
WEAK = 1e-3  # a column with less than this share of the largest effect is judged against this share

HEADINGS = ("by", "row", "given", "complex", "difference", "step", "error")


class Worst(NamedTuple):
    """The entry that is furthest from what is accepted: where it is, both numbers, relative error."""

    row: str
    column: str
    analytic: float
    numeric: float
    error: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What a check of derivatives found.

    Attributes
    ----------
    title : str
    outputs, names : tuple of str
        Names of the rows and columns.
    analytic : (m, n)
        The derivatives on trial.
    complex_step : (m, n) or None
        None if the function takes no complex numbers.
    differences, difference_errors : (m, n) or None
        Central differences at the best step of each column, and their error estimates.
    steps : (n,) or None
        Those steps, absolute.
    judge : str
        "complex step" or "central differences": which of them decided.
    errors : (m, n)
        Relative to the largest entry of the column.
    accepted : (n,)
        Largest relative error that passes in each column.
    excess : (m, n)
        Errors in units of what is accepted: orders the entries, NaN first.
    influence : (n,)
        Largest magnitude in each column of the judge.
    outcome : str
        "passed", "failed", "no influence" (everything is zero, which proves nothing) or "inconclusive" (central
        differences judge and are too coarse to tell).
    missing : tuple of str
        Columns given as zero that are not.
    notes : tuple of str
        What a reader should know: why differences judged, which columns have no influence.
    direction : Direction or None
        Differences along one random direction of all columns, if they were asked for: they must agree as well.
    recipe : Recipe or None
        What made the motion whose gradient was judged; `mechgrad.io.save_certificate` stores it with the rest.
    """

    title: str
    outputs: tuple[str, ...]
    names: tuple[str, ...]
    analytic: FloatArray
    complex_step: FloatArray | None
    differences: FloatArray | None
    difference_errors: FloatArray | None
    steps: FloatArray | None
    judge: str
    errors: FloatArray
    accepted: FloatArray
    excess: FloatArray
    influence: FloatArray
    outcome: str
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    direction: Direction | None = None
    recipe: Recipe | None = None

    @property
    def passed(self) -> bool:
        """Whether every entry was checked against something that is not all zero, and agrees."""
        return self.outcome == "passed"

    @property
    def numeric(self) -> FloatArray:
        """The numbers of the judge (m, n)."""
        chosen = self.complex_step if self.judge == "complex step" else self.differences
        assert chosen is not None
        return chosen

    @property
    def worst(self) -> Worst:
        """The worst entry; one that is not finite comes first."""
        i, j = _position(self.excess)
        numbers = (float(x[i, j]) for x in (self.analytic, self.numeric, self.errors))
        return Worst(self.outputs[i], self.names[j], *numbers)

    @property
    def verdict(self) -> str:
        """The outcome as one paragraph: what was compared, how closely, and the guilty entry if there is one."""
        m, n = self.analytic.shape
        worst, at = self.worst, _position(self.excess)
        entry = _entry(self.outputs, self.names, at)
        if self.outcome == "no influence":
            return "no influence: nothing to see, every derivative is zero here. Choose another point."
        if self.outcome == "passed":
            size = f"all {m} x {n} entries agree" if m * n > 1 else "the entry agrees"
            text = f"passed: {size} with {self.judge}; worst is {entry}, relative error {worst.error:.1e}."
            return text if self.direction is None else f"{text} {self._along()}"
        if self.direction is not None and self.direction.outcome != "agrees" and not np.any(self.excess > 1.0):
            return f"{self.outcome}: {self._along()}"
        if self.outcome == "inconclusive" and self.difference_errors is not None:
            return (
                f"inconclusive: central differences are too uncertain to judge: {entry} is {worst.numeric:.6g} within "
                f"{SAFETY * self.difference_errors[at]:.1e}, given as {worst.analytic:.6g}. Make the function "
                "complex-safe, or pass scales=... where the size of a number says nothing about its steps."
            )
        text = (
            f"failed: {entry} is given as {worst.analytic:.10g}; by {self.judge} it is {worst.numeric:.10g} "
            f"(relative error {worst.error:.1e}, accepted {self.accepted[at[1]]:.0e})."
        )
        if self.missing:
            text += f" Missing, given as zero though it is not: {_some(self.missing)}."
        return text

    def _along(self) -> str:
        """What the differences along a random direction say."""
        assert self.direction is not None
        i = self.direction.worst
        found = self.direction
        numbers = f"d({self.outputs[i]}) is {found.difference[i]:.8g} within {SAFETY * found.uncertainty[i]:.1e}"
        if found.outcome == "agrees":
            return f"Along a random direction, by differences, {numbers}; given {found.given[i]:.8g}."
        if found.outcome == "contradicts":
            return (
                f"along a random direction of all {len(self.names)} columns {numbers} by real differences, and given "
                f"as {found.given[i]:.8g}: something on the way from the numbers to {self.outputs[i]} is not in the "
                "derivative, or has a kink here. certify(steps=(1e-3, 1e-4, 1e-5)) shows which column."
            )
        return (
            f"along a random direction of all columns differences are too vague to tell: {numbers}, given as "
            f"{found.given[i]:.8g}. A shorter or smoother motion can be certified."
        )

    def raise_if_failed(self) -> None:
        """Raise CertificateError, with table and verdict, unless the certificate passed."""
        if not self.passed:
            raise CertificateError(str(self))

    def lines(self, limit: int = 12) -> list[tuple[str, ...]]:
        """The table's cells, a line per column at its worst entry, under HEADINGS; the worst columns if there are more
        than `limit`."""
        columns = np.arange(len(self.names))
        if columns.size > limit:
            columns = np.sort(np.argsort(-self.excess.max(axis=0), kind="stable")[:limit])
        cells = []
        for j in columns:
            i = int(np.argmax(self.excess[:, j]))
            step = "" if self.steps is None else f"{self.steps[j]:.0e}"
            numbers = (self.analytic, self.complex_step, self.differences)
            shown = ["" if x is None else f"{x[i, j]:.4e}" for x in numbers]
            cells.append((self.names[j], self.outputs[i], *shown, step, f"{self.errors[i, j]:.1e}"))
        return cells

    def table(self, limit: int = 12) -> str:
        """The table as plain text, below what was certified, notes below it."""
        cells = [HEADINGS, *self.lines(limit)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = [
            "  ".join(c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in cells
        ]
        text.insert(1, "-" * len(text[0]))
        if (hidden := len(self.names) - limit) > 0:
            text.append(f"... and {hidden} columns that are no worse")
        head = [*([self.title] if self.title else []), *([] if self.recipe is None else [repr(self.recipe)])]
        return "\n".join([*head, *text, *(f"note: {note}" for note in self.notes)])

    def __str__(self) -> str:
        return f"{self.table()}\n{self.verdict}"

    def __repr__(self) -> str:
        m, n = self.analytic.shape
        return f"Certificate({self.title!r}: {m} x {n}, {self.outcome}, worst {self.worst.error:.1e})"


def certify(
    function: Function, x: ArrayLike, jacobian: ArrayLike | Callable[[Any], ArrayLike], *,
    names: Sequence[str] | None = None, outputs: Sequence[str] | None = None, complex_step: bool = True,
    steps: Sequence[float] = STEPS, scales: ArrayLike | None = None, tolerance: float = 1e-10,
    fd_tolerance: float = 1e-3, batched: bool = False, direction: bool = False, slack: float = 0.0, title: str = "",
) -> Certificate:  # fmt: skip
    """A verdict on the derivatives of any function, with the table it rests on.

    Parameters
    ----------
    function : callable
        From x to a number or an array (m,). Complex-safe if it can be: no `abs`, `norm`, `float()`, `.conj()`.
    x : number or (n,)
        Where. Avoid points of symmetry, where wrong derivatives vanish along with right ones.
    jacobian : (m, n), or a callable that returns it for x
        What is on trial; (n,) for a function with one output, (m,) for a function of one number.
    names, outputs : list of str, optional
        Names of the columns and rows, "x[0]" and "f[0]" if left out.
    complex_step : bool
        False leaves it out; central differences then decide.
    steps : list of float
        Sweep of the central differences, relative to `scales`. Empty: none, only the complex step.
    scales : (n,), optional
        Typical magnitude of each x, |x| if left out, 1 where |x| < 1e-6.
    tolerance : float
        Relative error accepted against the complex step. Both sides are exact up to rounding: 1e-14 is usual.
    fd_tolerance : float
        Uncertainty, relative to the column, up to which central differences may judge. Within it what they accept
        follows from their own error estimate.
    batched : bool
        The function takes points as rows, (k, n) to (k, m): much quicker where it can.
    direction : bool
        Compare with differences along one random direction of all columns, too: a few evaluations more, whatever n.
    slack : float
        What derivatives may differ from these by, relative to the terms they sum up, where they are approximate.
    title : heads the table

    >>> import numpy as np
    >>> certificate = certify(lambda x: x[0] * np.sin(x[1]), [2.0, 0.5], [np.sin(0.5), 2 * np.cos(0.5)])
    >>> certificate.passed
    True
    >>> certify(lambda x: x[0] * np.sin(x[1]), [2.0, 0.5], [np.sin(0.5), np.cos(0.5)]).worst.column
    'x[1]'
    """
    numeric = differentiate(function, x, complex_step=complex_step, steps=steps, scales=scales, batched=batched)
    if complex_step and numeric.complex_step is None and not len(steps):  # refused: differences must do
        numeric = differentiate(function, x, complex_step=complex_step, scales=scales, batched=batched)
    given = jacobian(np.asarray(x, float)) if callable(jacobian) else jacobian
    found = judge(
        numeric, given, names=names, outputs=outputs, tolerance=tolerance, fd_tolerance=fd_tolerance, title=title
    )
    return _with_direction(found, function, x, batched, slack) if direction else found


def _with_direction(found: Certificate, function: Function, x: ArrayLike, batched: bool, slack: float) -> Certificate:
    """The verdict with that of differences along one random direction."""
    if batched or np.ndim(x) != 1:
        raise InputError("direction=True takes a function of an array (n,), not a batched one.")
    along = along_random_direction(function, np.asarray(x, float), found.analytic, slack)
    outcome = found.outcome
    if along.outcome == "contradicts":
        outcome = "failed"
    elif along.outcome == "uncertain" and outcome in ("passed", "no influence"):
        outcome = "inconclusive"
    return replace(found, direction=along, outcome=outcome)


def judge(
    numeric: Numeric,
    given: Any,
    *,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    tolerance: float = 1e-10,
    fd_tolerance: float = 1e-3,
    title: str = "",
) -> Certificate:
    """The certificate of a matrix against numeric derivatives that are there already (see `certify`)."""
    m, n = numeric.value.size, numeric.scales.size
    columns, rows = _names(names, n, "names", "x"), _names(outputs, m, "outputs", "f")
    analytic = _matrix(given, m, n)
    differences = numeric.differences()
    reason = _why_not_complex(numeric, differences, rows, columns)
    if differences is None and (reason or numeric.complex_step is None):
        raise InputError(f"nothing to judge with: no steps, and {reason}.")
    by_steps, uncertainty = (None, None) if differences is None else (differences.values, differences.errors)
    numbers = by_steps if reason else numeric.complex_step
    assert numbers is not None

    whole = _whole(numeric, numbers)
    floor = max(WEAK * tolerance, 100 * EPS) * whole
    doubt = np.zeros(n) if not reason or uncertainty is None else SAFETY * np.fmax.reduce(uncertainty)
    depends_on = np.maximum(floor, doubt)
    influence, claimed = _largest(numbers), _largest(analytic)
    alive = influence > depends_on
    size = np.where(alive, influence, np.maximum(claimed, floor / tolerance))
    size = np.where(size > 0.0, size, 1.0)
    limit = np.maximum(doubt if reason else tolerance * size, floor)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(analytic - numbers)
        excess = difference / np.where(limit > 0.0, limit, np.finfo(float).tiny)
        excess = np.where(alive | ~(difference <= limit), excess, 0.0)  # rounding of nothing is not worth a mention
    # Differences must determine a column to fd_tolerance; one that seems dead, to fd_tolerance of the largest effect.
    vague = depends_on > np.maximum(fd_tolerance * influence, floor)
    vague &= alive | (claimed > floor) | (depends_on > fd_tolerance * whole)

    notes = [f"{reason}. Central differences judge."] if reason else []
    if not np.all(difference <= limit):  # a NaN compares false
        outcome = "failed"
    elif uncertainty is not None and reason and vague.any():
        outcome, excess = "inconclusive", uncertainty / size * vague
    else:
        outcome = "passed" if alive.any() else "no influence"
    if outcome == "passed" and not alive.all():
        still = [columns[j] for j in np.flatnonzero(~alive)]
        notes.append(f"no influence here, so nothing is proved about them: {_some(still)}.")
    if by_steps is not None and not np.all(np.isfinite(by_steps)):
        lost = _entry(rows, columns, _position(~np.isfinite(by_steps)))
        notes.append(f"no central difference for {lost}: the function has no value there.")
    missing = alive & (analytic == 0.0).all(axis=0)
    return Certificate(
        title=title, outputs=rows, names=columns, analytic=analytic, complex_step=numeric.complex_step,
        differences=by_steps, difference_errors=uncertainty, steps=None if differences is None else differences.steps,
        judge="central differences" if reason else "complex step", errors=difference / size, accepted=limit / size,
        excess=np.where(np.isnan(excess), np.inf, excess), influence=influence, outcome=outcome,
        missing=tuple(columns[j] for j in np.flatnonzero(missing)), notes=tuple(notes),
    )  # fmt: skip


def _why_not_complex(
    numeric: Numeric, differences: Differences | None, rows: Sequence[str], columns: Sequence[str]
) -> str:
    """Why the complex step may not judge; empty if it may."""
    exact = numeric.complex_step
    if exact is None:
        return f"no complex step, since {numeric.refusal}"
    if differences is None or (at := _contradiction(exact, differences, 100 * EPS * _whole(numeric, exact))) is None:
        return ""
    return (
        f"complex step ({exact[at]:.6g}) and central differences ({differences.values[at]:.6g}) contradict each other "
        f"in {_entry(rows, columns, at)}: the function is not complex-safe (abs, norm, conj, a comparison), or has a "
        "kink here"
    )


def _whole(numeric: Numeric, derivatives: FloatArray) -> FloatArray:
    """What each column would be if its number had the largest effect of all; f itself counts as an effect."""
    effects = np.abs(derivatives) * numeric.scales
    largest = max(np.max(x, where=np.isfinite(x), initial=0.0) for x in (effects, np.abs(numeric.value)))
    return largest / numeric.scales


def _contradiction(exact: FloatArray, differences: Differences, floor: FloatArray) -> tuple[int, int] | None:
    """Where the complex step is refuted by differences that can be trusted: their own column is well determined."""
    size = _largest(differences.values)
    doubt = SAFETY**2 * np.fmax.reduce(differences.errors)  # a refutation must be beyond doubt
    trusted = doubt <= 1e-3 * size
    gap = np.abs(exact - differences.values)
    limit = np.maximum(np.maximum(doubt, CONTRADICTION * np.maximum(size, _largest(exact))), floor)
    excess = np.where(trusted & np.isfinite(gap), gap / np.where(limit > 0.0, limit, 1.0), 0.0)
    return _position(excess) if np.any(excess > 1.0) else None


def _largest(matrix: FloatArray) -> FloatArray:
    """Largest finite magnitude of each column."""
    x = np.abs(matrix)
    largest: FloatArray = np.max(x, axis=0, where=np.isfinite(x), initial=0.0)
    return largest


def _position(values: Any) -> tuple[int, int]:
    i, j = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(i), int(j)


def _entry(rows: Sequence[str], columns: Sequence[str], at: tuple[int, int]) -> str:
    return f"d({rows[at[0]]}) / d({columns[at[1]]})"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" ... ({len(names)} in all)" if len(names) > 5 else "")


def _names(given: Sequence[str] | None, count: int, what: str, letter: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{letter}[{k}]" for k in range(count))
    if isinstance(given, str) or len(given) != count:
        raise InputError(f"{what} is {given!r}; {count} names are needed.")
    return tuple(map(str, given))


def _matrix(given: Any, m: int, n: int) -> FloatArray:
    for method in ("toarray", "dense"):
        if hasattr(given, method):
            given = getattr(given, method)()
    x = np.asarray(given)
    if x.dtype.kind not in "fiub":
        raise InputError(f"the jacobian holds {x.dtype}; real numbers are needed.")
    fits = x.shape == (m, n) or (m == 1 and x.shape == (n,)) or (n == 1 and x.shape == (m,)) or (m * n == x.size == 1)
    if not fits:
        hint = " It looks transposed." if x.shape == (n, m) else ""
        raise InputError(
            f"the jacobian has shape {x.shape}; the function makes {m} numbers of {n}, so it must be ({m}, {n}).{hint}"
        )
    return x.astype(float).reshape(m, n)
