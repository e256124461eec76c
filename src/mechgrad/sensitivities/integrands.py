"""Functions of measures that users write, evaluated and differentiated without losing anything.

    g(y(t), t)      plain NumPy over arrays, time first, every instant for itself

Partials come from dual numbers (`duals`) that pass through the function, exact to rounding. What these do not pass
through is differentiated by central differences, with an estimate of their error; where that is too large, an error
says so. Whatever they come from, partials are compared with one-sided differences, at every instant and in every row.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.sensitivities.duals import Dual
from mechgrad.sensitivities.local_differences import Contradiction, central, contradiction, one_way
from mechgrad.typing import Array, FloatArray

ADVICE = (
    "Write it with NumPy's functions (docs/gradients.md lists them), mg.objectives.smooth_abs(x, width), or give "
    "partials=."
)
LOCAL = 1e-6  # relative: what slopes along a mixture of instants may miss the mixture of slopes by


def read_only(x: Array) -> Array:
    """A copy that cannot be written to: a function that works in place must not change the motion."""
    copy = np.array(x)
    copy.setflags(write=False)
    return copy


@final
class Integrand:
    """A function of measures, or one measure itself where there is none.

    measures : how many
    owner : what it belongs to, for messages
    """

    def __init__(
        self, function: Callable[..., Any] | None, partials: Callable[..., Any] | None, measures: int, owner: str
    ) -> None:
        self.function, self.given, self.owner = function, partials, owner
        self.timed, self.given_timed = _takes_time(function, measures), _takes_time(partials, measures)
        self._warned = False

    def values(self, y: Sequence[Array], t: FloatArray) -> Array:
        """g (nt, k); complex measures give g + i times its slope along their imaginary parts, whatever g is made of."""
        if self.function is None:
            return np.asarray(y[0].reshape(len(t), -1))
        if not any(np.iscomplexobj(x) for x in y):
            return self._plain(y, t)
        real = [np.ascontiguousarray(np.real(x)) for x in y]
        imaginary = [np.ascontiguousarray(np.imag(x)) for x in y]
        g, slopes, _ = self._dual(real, [x[None] for x in imaginary], t)
        if slopes is not None:
            return np.asarray(g + 1j * slopes[0])
        g, partials = self.partials(real, t)
        along = (np.einsum("tks,ts->tk", p, x.reshape(len(t), -1)) for p, x in zip(partials, imaginary, strict=True))
        return np.asarray(g + 1j * sum(along))

    def partials(self, y: Sequence[FloatArray], t: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """g (nt, k), and its partials by each measure (nt, k, size)."""
        nt = len(t)
        if self.function is None:
            g = np.asarray(y[0].reshape(nt, -1), float)
            return g, [np.tile(np.eye(g.shape[1]), (nt, 1, 1))]
        if self.given is not None:
            g = self._plain(y, t)
            given = self._given(y, g, t)
            self._judge(y, g, t, given, "partials")
            return g, given
        counts = [x[0].size for x in y]
        g, slopes, reason = self._dual(y, _units(y, counts), t)
        if slopes is None:
            g = self._plain(y, t)
            return g, self._by_differences(y, g, t, reason)
        self._check_finite(slopes, t)
        found = [np.moveaxis(slopes[sum(counts[:i]) : sum(counts[: i + 1])], 0, 2) for i in range(len(y))]
        self._judge(y, g, t, found, "its derivative by dual numbers")
        return g, found

    # evaluation

    def _called(self, y: Sequence[Any], t: FloatArray) -> Any:
        assert self.function is not None
        try:
            return self.function(*y, **({"t": read_only(t)} if self.timed else {}))
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise InputError(
                f"the function of {self.owner} works in place on a measure, which belongs to the motion ({error}). "
                "Make a copy first (x = x.copy()), or write x = x - 1 instead of x -= 1."
            ) from error

    def _plain(self, y: Sequence[Array], t: FloatArray) -> FloatArray:
        g = np.asarray(self._called([read_only(x) for x in y], t))
        self._check_shape(g.shape, len(t))
        if g.dtype.kind not in "fiub":
            raise InputError(f"the function of {self.owner} returned {g.dtype} numbers; it must return real ones.")
        g = g.astype(float)
        if not np.all(np.isfinite(g)):
            k = int(np.argwhere(~np.isfinite(g))[0, 0])
            raise InputError(f"the function of {self.owner} is {g[k]} at t = {t[k]:g} s.")
        return g.reshape(len(t), -1)

    def _check_shape(self, shape: tuple[int, ...], nt: int) -> None:
        if len(shape) not in (1, 2) or shape[0] != nt:
            raise InputError(
                f"the function of {self.owner} returned shape {shape} for {nt} instant{'s' * (nt != 1)}; it must "
                f"return ({nt},), or ({nt}, k) for k objectives: sum over the last axis of vectors."
            )

    def _shifted(self, t: FloatArray) -> Callable[[Sequence[FloatArray]], FloatArray | None]:
        """g at other measures than those of the motion, where it may have no value."""

        def evaluate(y: Sequence[FloatArray]) -> FloatArray | None:
            # filters of warnings are not touched: they belong to all threads, and several gradients may be under way
            with np.errstate(all="ignore"):
                try:
                    g = np.asarray(self._called([read_only(x) for x in y], t))
                    return np.where(np.isfinite(g), g, np.nan).astype(float).reshape(len(t), -1)
                except Exception:  # a domain that ends here: whatever the function says to that
                    return None

        return evaluate

    # derivatives

    def _dual(
        self, y: Sequence[FloatArray], seeds: Sequence[FloatArray], t: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, str]:
        """g (nt, k) and its slopes (directions, nt, k); or None and what dual numbers do not pass through."""
        nt = len(t)
        try:
            found = self._called([Dual(read_only(x), s) for x, s in zip(y, seeds, strict=True)], t)
            if not isinstance(found, Dual):
                found = np.asarray(found)
                if found.dtype.kind not in "fiub":
                    raise TypeError(f"an array of {found.dtype}")
                found = Dual(found, np.zeros((len(seeds[0]), *found.shape)))
        except InputError:
            raise
        except Exception as error:  # the function runs with arrays, so whatever it says belongs to dual numbers
            return np.empty((0, 0)), None, str(error) or type(error).__name__
        self._check_shape(found.shape, nt)
        if not np.all(np.isfinite(found.value)):
            k = int(np.argwhere(~np.isfinite(found.value))[0, 0])
            raise InputError(f"the function of {self.owner} is {found.value[k]} at t = {t[k]:g} s.")
        return found.value.reshape(nt, -1), found.slopes.reshape(len(seeds[0]), nt, -1), ""

    def _check_finite(self, slopes: FloatArray, t: FloatArray) -> None:
        if np.all(np.isfinite(slopes)):
            return
        _, i, k = np.argwhere(~np.isfinite(slopes))[0]
        raise InputError(
            f"the function of {self.owner} has no finite derivative at t = {t[i]:g} s (row {k}): a square root or "
            f"logarithm at 0, a quotient 0 / 0? {ADVICE}"
        )

    def _check_local(self, y: Sequence[FloatArray], t: FloatArray, partials: Sequence[FloatArray]) -> None:
        """Raise if slopes along a mixture of directions are not the mixture of slopes: another one at every instant."""
        mixture = [one_way(x.shape) for x in y]
        _, mixed, _ = self._dual(y, [d[None] for d in mixture], t)
        if mixed is None:
            return
        parts = [p * d.reshape(len(t), 1, -1) for p, d in zip(partials, mixture, strict=True)]
        total, size = (np.asarray(sum(f(x).sum(axis=2) for x in parts)) for f in (np.asarray, np.abs))
        missed = np.abs(mixed[0] - total) > LOCAL * size
        if missed.any():
            i, k = np.argwhere(missed)[0]
            raise InputError(
                f"the function of {self.owner} mixes instants: its row {k} at t = {t[i]:g} s depends on measures at "
                "other instants (x[0], a sum, mean or difference over time?). Objectives add up over time by "
                "themselves; for a value at one instant use AtEnd or AtTime."
            )

    def _given(self, y: Sequence[FloatArray], g: FloatArray, t: FloatArray) -> list[FloatArray]:
        assert self.given is not None
        nt, k = g.shape
        found = self.given(*(read_only(x) for x in y), **({"t": read_only(t)} if self.given_timed else {}))
        given = found if isinstance(found, tuple | list) else (found,)
        if len(given) != len(y):
            raise InputError(f"partials gave {len(given)} arrays for {len(y)} measures.")
        counts = [x[0].size for x in y]
        bad = [np.shape(p) for p, s in zip(given, counts, strict=True) if np.size(p) != nt * k * s]
        if bad:
            raise InputError(f"partials gave shapes {bad}; {k} values by measures of {counts} numbers are needed.")
        arrays = [np.array(p, float).reshape(nt, k, s) for p, s in zip(given, counts, strict=True)]
        for p in arrays:
            self._check_finite(np.moveaxis(p, 2, 0), t)
        return arrays

    def _by_differences(self, y: Sequence[FloatArray], g: FloatArray, t: FloatArray, reason: str) -> list[FloatArray]:
        found = central(self._shifted(t), y, g)
        if found.bad is not None:
            i, k, error = found.bad
            raise InputError(
                f"the function of {self.owner} has no derivative to rely on: dual numbers do not pass through "
                f"{reason}, and central differences at t = {t[i]:g} s leave an error of {error:.1e} of the largest in "
                f"row {k}. {ADVICE}"
            )
        self._judge(y, g, t, found.partials, "its derivative by central differences", found.errors)
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"the function of {self.owner} is differentiated by central differences, since dual numbers do not "
                f"pass through {reason}. {ADVICE}",
                stacklevel=2,
            )
        return found.partials

    def _judge(
        self,
        y: Sequence[FloatArray],
        g: FloatArray,
        t: FloatArray,
        partials: Sequence[FloatArray],
        what: str,
        errors: Sequence[FloatArray] | None = None,
    ) -> None:
        at: Contradiction | None = contradiction(self._shifted(t), y, g, partials, errors, each=self.given is not None)
        if at is None:
            return
        if self.given is None:
            self._check_local(y, t, partials)
        raise InputError(
            f"the function of {self.owner} and {what} contradict each other at t = {t[at.instant]:g} s in row "
            f"{at.row}: along a step the derivative is said to be {at.found:.6g}, and differences give {at.low:.6g} to "
            f"{at.high:.6g}. Partials have the shape (nt, k, size of the measure); the function must act on every "
            "instant for itself, and say the same whenever it is asked."
        )


def _units(y: Sequence[FloatArray], counts: Sequence[int]) -> list[FloatArray]:
    """Unit slopes (all components, nt, ...) of every measure."""
    units, first = [], 0
    for x, count in zip(y, counts, strict=True):
        unit = np.zeros((sum(counts), len(x), count))
        for j in range(count):
            unit[first + j, :, j] = 1.0
        units.append(unit.reshape(-1, *x.shape))
        first += count
    return units


def _takes_time(function: Callable[..., Any] | None, measures: int) -> bool:
    """Whether a function has an argument called t besides its measures; some of NumPy's cannot say."""
    if function is None:
        return False
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:
        return False
    return "t" in names[measures:]
