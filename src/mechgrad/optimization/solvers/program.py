"""A sparse nonlinear program: functions, bounds and the places of their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import ArrayLike, FloatArray, IntArray

Structure: TypeAlias = tuple[IntArray, IntArray]
"""Rows and columns of the stored entries of a sparse matrix."""

HessianFunction: TypeAlias = Callable[[FloatArray, float, FloatArray], ArrayLike]


@dataclass(frozen=True, kw_only=True, eq=False)
class NonlinearProgram:
    """Minimise f(x) subject to lb <= x <= ub and cl <= c(x) <= cu.

        L(x, lam) = sigma f(x) + lam . c(x)         sigma = 1 at the optimum, where  f_x + c_x^T lam + z = 0

    A multiplier is positive at an upper bound and negative at a lower one, in `lam` as in `z` (of the bounds of x).

    Attributes
    ----------
    n, m : int
        Number of variables and of constraints.
    objective, gradient : callable
        x -> f, and x -> (n,) f_x.
    constraints, jacobian : callable
        x -> (m,) c, and x -> values of c_x at the places `jacobian_structure`. Not needed if m = 0.
    jacobian_structure : (rows, cols)
        The places, the same for all x, each named once.
    hessian, hessian_structure : callable, (rows, cols), optional
        (x, sigma, lam) -> values of the lower triangle (row >= col) of sigma f_xx + sum lam_i c_i,xx.
    gauss_newton, gauss_newton_structure : callable, (rows, cols), optional
        A positive semidefinite stand-in for the Hessian; without a structure of its own it uses `hessian_structure`.
    residuals, residual_jacobian : callable, optional
        x -> (k,) r and x -> (k, n) r_x of an objective f = r . r / 2, for solvers that take Gauss-Newton steps.
    linear : (m,) bool, optional
        Which constraints are linear in x; False where it is not said.
    lb, ub, cl, cu : arrays, optional
        Bounds; infinite where there is none (the default), cl = cu for an equality. A number serves all entries.
    variable_names, constraint_names : sequences of str, optional
        For messages; x[i] and c[i] where missing.
    variable_scale, constraint_scale, objective_scale : arrays and a number, optional
        Typical magnitudes. The solver sees x / variable_scale, c / constraint_scale, f / objective_scale.

    >>> p = NonlinearProgram(n=1, objective=lambda x: x[0] ** 2, gradient=lambda x: 2 * x, lb=1.0)
    >>> p.lb, p.ub, p.m
    (array([1.]), array([inf]), 0)
    """

    n: int
    m: int = 0
    objective: Callable[[FloatArray], float]
    gradient: Callable[[FloatArray], ArrayLike]
    constraints: Callable[[FloatArray], ArrayLike] | None = None
    jacobian: Callable[[FloatArray], ArrayLike] | None = None
    jacobian_structure: Any = None
    hessian: HessianFunction | None = None
    hessian_structure: Any = None
    gauss_newton: HessianFunction | None = None
    gauss_newton_structure: Any = None
    residuals: Callable[[FloatArray], ArrayLike] | None = None
    residual_jacobian: Callable[[FloatArray], ArrayLike] | None = None
    linear: Any = False
    lb: Any = -np.inf
    ub: Any = np.inf
    cl: Any = -np.inf
    cu: Any = np.inf
    variable_names: Sequence[str] | None = field(default=None, repr=False)
    constraint_names: Sequence[str] | None = field(default=None, repr=False)
    variable_scale: Any = None
    constraint_scale: Any = None
    objective_scale: float = 1.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, least in (("n", 1), ("m", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise InputError(f"program: {name} is {value!r}; an integer of at least {least} is needed.")
            put(self, name, int(value))
        if self.m and (self.constraints is None or self.jacobian is None or self.jacobian_structure is None):
            raise InputError(
                f"program: {self.m} constraints need the functions `constraints` and `jacobian` and a "
                "`jacobian_structure` (rows, cols)."
            )
        if (self.residuals is None) != (self.residual_jacobian is None):
            raise InputError("program: `residuals` and `residual_jacobian` belong together; give both or neither.")
        put(self, "linear", _vector(self.linear, self.m, "linear").astype(bool))
        put(self, "variable_names", _names(self.variable_names, self.n, "x", "variable_names"))
        put(self, "constraint_names", _names(self.constraint_names, self.m, "c", "constraint_names"))
        for low, high, size, names in (
            ("lb", "ub", self.n, self.variable_names),
            ("cl", "cu", self.m, self.constraint_names),
        ):
            put(self, low, _vector(getattr(self, low), size, low))
            put(self, high, _vector(getattr(self, high), size, high))
            _check_bounds(getattr(self, low), getattr(self, high), low, high, names or ())
        put(self, "variable_scale", _scale(self.variable_scale, self.n, "variable_scale"))
        put(self, "constraint_scale", _scale(self.constraint_scale, self.m, "constraint_scale"))
        put(self, "objective_scale", float(_scale(self.objective_scale, 1, "objective_scale")[0]))
        structure = ((), ()) if self.jacobian_structure is None else self.jacobian_structure
        put(self, "jacobian_structure", _structure(structure, self.m, self.n, "jacobian_structure"))
        for name in ("hessian", "gauss_newton"):
            places = f"{name}_structure"
            if getattr(self, name) is None:
                put(self, places, None)
                continue
            if getattr(self, places) is None and name == "gauss_newton":
                put(self, places, self.hessian_structure)
            if getattr(self, places) is None:
                raise InputError(f"program: `{name}` is given without `{places}` (rows, cols of the lower triangle).")
            rows, cols = _structure(getattr(self, places), self.n, self.n, places)
            above = np.flatnonzero(rows < cols)
            if len(above):
                raise InputError(
                    f"program: {places} has {len(above)} entries above the diagonal, the first at "
                    f"({rows[above[0]]}, {cols[above[0]]}); store the lower triangle, row >= col."
                )
            put(self, places, (rows, cols))

    @property
    def is_scaled(self) -> bool:
        """Whether any scale differs from one."""
        return bool(
            self.objective_scale != 1.0 or np.any(self.variable_scale != 1.0) or np.any(self.constraint_scale != 1.0)
        )

    def violations(self, x: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far x and c lie outside of their bounds, entry by entry; zero inside."""
        return outside(x, self.lb, self.ub), outside(c, self.cl, self.cu)

    def check_start(self, x0: ArrayLike) -> FloatArray:
        """A float copy of the starting point, or an error that names what is wrong with it."""
        x = np.array(x0, dtype=float)
        if x.shape != (self.n,):
            raise InputError(f"x0: shape {x.shape}; the program has {self.n} variables, so ({self.n},) is needed.")
        bad = np.flatnonzero(~np.isfinite(x))
        if len(bad):
            raise InputError(
                f"x0: {_listed(bad, self.variable_names or ())} is {x[bad[0]]}; start from finite numbers."
            )
        return x


def outside(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """max(low - values, values - high, 0)."""
    distance: FloatArray = np.maximum(np.maximum(low - values, values - high), 0.0)
    return distance


def _vector(value: ArrayLike, size: int, what: str) -> FloatArray:
    array = np.array(value, dtype=float)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise InputError(f"program: {what} has shape {array.shape}; ({size},) is needed.")
    array.setflags(write=False)
    return array


def _scale(value: ArrayLike | None, size: int, what: str) -> FloatArray:
    scale = _vector(1.0 if value is None else value, size, what)
    bad = np.flatnonzero(~(np.isfinite(scale) & (scale > 0.0)))
    if len(bad):
        raise InputError(
            f"program: {what}[{bad[0]}] is {scale[bad[0]]}; a scale is a typical magnitude, positive and finite."
        )
    return scale


def _names(given: Sequence[str] | None, size: int, letter: str, what: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{letter}[{i}]" for i in range(size))
    names = tuple(str(name) for name in given)
    if len(names) != size:
        raise InputError(f"program: {len(names)} {what} for {size} entries; give one name for each.")
    return names


def _check_bounds(low: FloatArray, high: FloatArray, low_name: str, high_name: str, names: Sequence[str]) -> None:
    for bound, what in ((low, low_name), (high, high_name)):
        bad = np.flatnonzero(np.isnan(bound))
        if len(bad):
            raise InputError(f"program: {what} of {_listed(bad, names)} is NaN; use an infinity for no bound.")
    crossing = np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf))
    if len(crossing):
        i = crossing[0]
        raise InputError(
            f"program: the bounds of {_listed(crossing, names)} leave nothing: "
            f"{low_name} = {low[i]:g}, {high_name} = {high[i]:g}."
        )


def _structure(given: Any, height: int, width: int, what: str) -> Structure:
    try:
        rows, cols = (np.array(part) for part in given)
    except (TypeError, ValueError):
        raise InputError(f"program: {what} is a pair (rows, cols) of integer sequences of one length.") from None
    if rows.ndim != 1 or rows.shape != cols.shape:
        raise InputError(f"program: {what} has rows of shape {rows.shape} and columns of shape {cols.shape}.")
    if rows.size and (rows.dtype.kind not in "iu" or cols.dtype.kind not in "iu"):
        raise InputError(f"program: {what} holds {rows.dtype} rows and {cols.dtype} columns; integers are needed.")
    rows, cols = rows.astype(np.int64), cols.astype(np.int64)
    wrong = np.flatnonzero((rows < 0) | (rows >= height) | (cols < 0) | (cols >= width))
    if len(wrong):
        k = wrong[0]
        raise InputError(
            f"program: entry {k} of {what} is ({rows[k]}, {cols[k]}), outside of a {height} x {width} matrix."
        )
    keys = rows * width + cols
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(twice):
        k = order[twice[0] + 1]
        raise InputError(
            f"program: {what} names the place ({rows[k]}, {cols[k]}) more than once ({len(twice)} duplicates in all); "
            "add such entries up before."
        )
    rows.setflags(write=False)
    cols.setflags(write=False)
    return rows, cols


def _listed(indices: IntArray, names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[i] for i in indices[:most])
    return shown + (f" and {len(indices) - most} more" if len(indices) > most else "")
