"""Elementary functions of sloped numbers (`kernels.sloped`): roots, powers, exponentials, tanh, sine ..

Of complex numbers to first order in their imaginary parts, which is what a complex step asks.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from mechgrad.kernels.jit import inlined
from mechgrad.kernels.sloped import SlopedType, chained, value_part

_DOUBLE = ir.DoubleType()


@intrinsic
def _plain_sqrt(typingctx, x):
    def codegen(context, builder, signature, args):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_DOUBLE, [_DOUBLE]), "llvm.sqrt.f64")
        return builder.call(function, args)

    return x(x), codegen


def root_of(x):  # pragma: no cover - replaced by the overload below inside kernels
    """The square root of a sloped number."""
    raise TypeError("root_of is for kernels")


@overload(root_of)
def _root_of(x):
    if isinstance(x, types.Complex):
        return lambda x: complex(_plain_sqrt(x.real), 0.5 * x.imag / _plain_sqrt(x.real))
    if not isinstance(x, SlopedType):
        return lambda x: _plain_sqrt(x)
    if isinstance(x.base, types.Complex):

        def of_complex(x):
            z = value_part(x)
            root = _plain_sqrt(z.real)
            value = complex(root, 0.5 * z.imag / root)
            return chained(x, value, complex(0.5 / root, -0.25 * z.imag / (root * z.real)))

        return of_complex

    def of_real(x):
        root = _plain_sqrt(value_part(x))
        return chained(x, root, 0.5 / root)

    return of_real


def _function(name, value, first, second):
    """A function of a sloped number from the real function and its first two derivatives."""

    def front(x):  # pragma: no cover - replaced by the overload below inside kernels
        raise TypeError(f"{name} is for kernels")

    front.__name__, front.__doc__ = name, f"{name} of a sloped number; complex parts to first order."

    @overload(front)
    def _compiled(x):
        if isinstance(x, types.Complex):
            return lambda x: complex(value(x.real), first(x.real) * x.imag)
        if not isinstance(x, SlopedType):
            return lambda x: value(x)
        if isinstance(x.base, types.Complex):

            def of_complex(x):
                z = value_part(x)
                f, fd, fdd = value(z.real), first(z.real), second(z.real)
                return chained(x, complex(f, fd * z.imag), complex(fd, fdd * z.imag))

            return of_complex
        return lambda x: chained(x, value(value_part(x)), first(value_part(x)))

    return front


@inlined
def _tanh_first(x):
    t = math.tanh(x)
    return 1.0 - t * t


@inlined
def _tanh_second(x):
    t = math.tanh(x)
    return -2.0 * t * (1.0 - t * t)


@inlined
def _minus_sin(x):
    return -math.sin(x)


@inlined
def _atan_first(x):
    return 1.0 / (1.0 + x * x)


@inlined
def _atan_second(x):
    size = 1.0 + x * x
    return -2.0 * x / (size * size)


@inlined
def _log_first(x):
    return 1.0 / x


@inlined
def _log_second(x):
    return -1.0 / (x * x)


tanh_slope = _function("tanh", math.tanh, _tanh_first, _tanh_second)
sin_slope = _function("sine", math.sin, math.cos, _minus_sin)
atan_slope = _function("arctangent", math.atan, _atan_first, _atan_second)
exp_slope = _function("exponential", math.exp, math.exp, math.exp)
log_slope = _function("logarithm", math.log, _log_first, _log_second)


@inlined
def power_slope(x, n):
    """x^n of a positive sloped number."""
    return exp_slope(n * log_slope(x))
