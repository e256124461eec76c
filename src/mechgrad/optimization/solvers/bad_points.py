"""Points without a value, for solvers that know none: worse than all before, so that a line search steps back.

At a point where the program has no value (NaN) a line search gets

    f := f of the last good point + 10 (1 + |f|),     f_x := 0,     c, c_x := those of the last good point

and comes back to where there are values. Too many such points in a row, or one that a solver takes as its next iterate,
end the solve with the reason.
"""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.optimization.solvers.monitor import BadNumberError, Monitor
from mechgrad.typing import FloatArray

PATIENCE = 15  # bad points in a row
WORSE = 10.0  # in scaled units, where slopes are near one: makes the next trial step about twenty times shorter


@final
class BadPoints:
    """The functions of a monitor with a stand-in where they have no value.

    slopes : whether a point without a gradient is a bad one as well, for solvers that ask for both at every point
    """

    def __init__(self, monitor: Monitor, *, slopes: bool = False) -> None:
        self.monitor, self.slopes = monitor, slopes
        self._slope: tuple[FloatArray, FloatArray] | None = None
        self._good: tuple[float, FloatArray] | None = None
        self._jacobian: FloatArray | None = None
        self._row: list[FloatArray] = []

    def objective(self, x: FloatArray) -> float:
        """f(x), or a number that is worse than the last one."""
        found = self._values(x)
        if found is not None:
            return found[0]
        assert self._good is not None
        return self._good[0] + WORSE * (1.0 + abs(self._good[0]))

    def gradient(self, x: FloatArray) -> FloatArray:
        """f_x(x), or zeros."""
        return np.zeros(self.monitor.program.n) if self._values(x) is None else self._gradient(x)

    def _gradient(self, x: FloatArray) -> FloatArray:
        if self._slope is None or not np.array_equal(self._slope[0], x):
            self._slope = np.array(x), self.monitor.gradient(x)
        return self._slope[1]

    def constraints(self, x: FloatArray) -> FloatArray:
        """c(x), or the last ones that had a value."""
        found = self._values(x)
        if found is not None:
            return found[1]
        assert self._good is not None
        return self._good[1]

    def jacobian(self, x: FloatArray) -> FloatArray:
        """c_x(x), or the last one that was asked for."""
        if self._values(x) is not None or self._jacobian is None:
            self._jacobian = self.monitor.jacobian(x)
        return self._jacobian

    def has_value(self, x: FloatArray) -> bool:
        """Whether there are values at a point."""
        return self._values(x) is not None

    def check_end(self) -> None:
        """Raise if the solver ended because there were no values where it went."""
        if self._row:
            raise BadNumberError(self.monitor.bad_number)

    def _values(self, x: FloatArray) -> tuple[float, FloatArray] | None:
        if any(np.array_equal(x, y) for y in self._row[-1:]):
            return None
        try:
            found = self.monitor.values(x)
            if self.slopes:
                self._gradient(x)
            self._good = found
        except BadNumberError:
            self._row.append(np.array(x))
            if self._good is None or len(self._row) > PATIENCE:
                raise
            return None
        self._row.clear()
        return self._good
