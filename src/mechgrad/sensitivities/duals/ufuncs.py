"""Derivatives of NumPy's elementwise functions, by the function.

RULES   from (result, arguments) to the derivatives by each argument; a callable where it is rarely wanted
FLAT    functions that are constant but for jumps: comparisons, rounding, signs; their result is a plain array

At a kink the derivative is that of one branch:  |x|' = sign(x), 0 at 0;  max and min: that of the first of two equals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rule = Callable[..., tuple[Any, ...]]


def _power(y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """a^b by a and by b; b = 0 leaves nothing of a, whatever a is."""

    def by_a() -> Any:
        if np.ndim(b) == 0 and b == 2:
            return 2.0 * a
        return np.where(b == 0, 0.0, b * a ** np.where(b == 0, 1.0, b - 1.0))

    return by_a, lambda: y * np.log(np.where(a == 0, 1.0, a))  # 0^b stays 0 for b > 0


def _first(chosen: Any) -> tuple[Any, Any]:
    """1 and 0 where the first argument was chosen, 0 and 1 elsewhere."""
    one = np.asarray(chosen, float)
    return one, 1.0 - one


RULES: dict[np.ufunc, Rule] = {
    np.positive: lambda y, a: (1.0,),
    np.negative: lambda y, a: (-1.0,),
    np.conjugate: lambda y, a: (1.0,),
    np.add: lambda y, a, b: (1.0, 1.0),
    np.subtract: lambda y, a, b: (1.0, -1.0),
    np.multiply: lambda y, a, b: (b, a),
    np.divide: lambda y, a, b: (1.0 / b, -y / b),
    np.power: _power,
    np.float_power: _power,
    np.remainder: lambda y, a, b: (1.0, -np.floor(a / b)),
    np.fmod: lambda y, a, b: (1.0, -np.trunc(a / b)),
    np.square: lambda y, a: (2.0 * a,),
    np.sqrt: lambda y, a: (0.5 / y,),
    np.cbrt: lambda y, a: (1.0 / (3.0 * y * y),),
    np.reciprocal: lambda y, a: (-y * y,),
    np.exp: lambda y, a: (y,),
    np.exp2: lambda y, a: (y * np.log(2.0),),
    np.expm1: lambda y, a: (y + 1.0,),
    np.log: lambda y, a: (1.0 / a,),
    np.log2: lambda y, a: (1.0 / (a * np.log(2.0)),),
    np.log10: lambda y, a: (1.0 / (a * np.log(10.0)),),
    np.log1p: lambda y, a: (1.0 / (1.0 + a),),
    np.logaddexp: lambda y, a, b: (np.exp(a - y), np.exp(b - y)),
    np.sin: lambda y, a: (np.cos(a),),
    np.cos: lambda y, a: (-np.sin(a),),
    np.tan: lambda y, a: (1.0 + y * y,),
    np.arcsin: lambda y, a: (1.0 / np.sqrt(1.0 - a * a),),
    np.arccos: lambda y, a: (-1.0 / np.sqrt(1.0 - a * a),),
    np.arctan: lambda y, a: (1.0 / (1.0 + a * a),),
    np.arctan2: lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    np.hypot: lambda y, a, b: (a / y, b / y),
    np.sinh: lambda y, a: (np.cosh(a),),
    np.cosh: lambda y, a: (np.sinh(a),),
    np.tanh: lambda y, a: (1.0 - y * y,),
    np.arcsinh: lambda y, a: (1.0 / np.sqrt(a * a + 1.0),),
    np.arccosh: lambda y, a: (1.0 / np.sqrt(a * a - 1.0),),
    np.arctanh: lambda y, a: (1.0 / (1.0 - a * a),),
    np.deg2rad: lambda y, a: (np.pi / 180.0,),
    np.radians: lambda y, a: (np.pi / 180.0,),
    np.rad2deg: lambda y, a: (180.0 / np.pi,),
    np.degrees: lambda y, a: (180.0 / np.pi,),
    np.absolute: lambda y, a: (np.sign(a),),
    np.fabs: lambda y, a: (np.sign(a),),
    np.copysign: lambda y, a, b: (np.sign(a) * np.where(np.signbit(b), -1.0, 1.0), 0.0),
    np.maximum: lambda y, a, b: _first(a >= b),
    np.fmax: lambda y, a, b: _first((a >= b) | np.isnan(b)),
    np.minimum: lambda y, a, b: _first(a <= b),
    np.fmin: lambda y, a, b: _first((a <= b) | np.isnan(b)),
}

FLAT: frozenset[np.ufunc] = frozenset({
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.isfinite, np.isnan, np.isinf,
    np.signbit, np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.sign, np.floor, np.ceil, np.trunc,
    np.rint, np.floor_divide, np.heaviside,
})  # fmt: skip
