"""Elementary functions of one scalar, whatever it is: reciprocal, magnitude, root, angle, sine and cosine."""

from __future__ import annotations

import cmath
import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from mechgrad.kernels.dual_lanes import DualLaneType, dual_of, slope_of, value_of
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import LaneType, any_not_less, extract, insert, width

_INT = ir.IntType(64)


def reciprocal(x):  # pragma: no cover - replaced by the overload below inside kernels
    """1 / x without an exception: not finite where x is zero, for complex numbers too (there Numba would raise)."""
    raise TypeError("reciprocal is for kernels")


@overload(reciprocal)
def _reciprocal(x):
    if isinstance(x, types.Complex):

        def complex_reciprocal(x):
            # divided by its larger part first: squares would overflow beyond 1e154
            if abs(x.real) >= abs(x.imag):
                ratio = x.imag / x.real
                size = x.real + x.imag * ratio
                return complex(1.0 / size, -ratio / size)
            ratio = x.real / x.imag
            size = x.real * ratio + x.imag
            return complex(ratio / size, -1.0 / size)

        return complex_reciprocal
    return lambda x: 1.0 / x


def _unary_llvm(name):
    @intrinsic
    def apply(typingctx, x):
        def codegen(context, builder, signature, args):
            ty = args[0].type
            suffix = f"v{x.n}f64" if isinstance(x, LaneType) else "f64"
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ty, [ty]), f"llvm.{name}.{suffix}"
            )
            return builder.call(function, args)

        return x(x), codegen

    return apply


_rint, _fabs, _sqrt = _unary_llvm("rint"), _unary_llvm("fabs"), _unary_llvm("sqrt")


def square_root(x):  # pragma: no cover - replaced by the overload below inside kernels
    """The square root, for complex numbers the one near the positive real axis."""
    raise TypeError("square_root is for kernels")


@overload(square_root)
def _square_root(x):
    if isinstance(x, types.Complex):
        return lambda x: cmath.sqrt(x)
    if isinstance(x, DualLaneType):

        def dual_root(x):
            root = _sqrt(value_of(x))
            return dual_of(root, slope_of(x) / (root + root))

        return dual_root
    return lambda x: _sqrt(x)


def tanh_of(x):  # pragma: no cover - replaced by the overload below inside kernels
    """tanh of one sample; of complex numbers to first order in the imaginary part, without overflow far from zero."""
    raise TypeError("tanh_of is for kernels")


@overload(tanh_of)
def _tanh_of(x):
    if isinstance(x, types.Complex):

        def complex_tanh(x):
            t = math.tanh(x.real)
            return complex(t, (1.0 - t * t) * x.imag)

        return complex_tanh
    return lambda x: math.tanh(x)


def angle_of(y, x):  # pragma: no cover - replaced by the overload below inside kernels
    """atan2(y, x); of complex numbers to first order in their imaginary parts, which is what a complex step asks."""
    raise TypeError("angle_of is for kernels")


@overload(angle_of)
def _angle_of(y, x):
    if isinstance(x, types.Complex):

        def complex_angle(y, x):
            size = x.real * x.real + y.real * y.real
            return complex(math.atan2(y.real, x.real), (x.real * y.imag - y.real * x.imag) / size)

        return complex_angle
    if isinstance(x, DualLaneType):

        def dual_angle(y, x):
            a, b = value_of(x), value_of(y)
            return dual_of(angle_of(b, a), (a * slope_of(y) - b * slope_of(x)) / (a * a + b * b))

        return dual_angle

    def real_angle(y, x):
        angle = x
        for lane in range(width(x)):
            angle = insert(angle, lane, math.atan2(extract(y, lane), extract(x, lane)))
        return angle

    return real_angle


def magnitude(x):  # pragma: no cover - replaced by the overload below inside kernels
    """How large x is, to compare pivots: |x|, or |re| + |im| of complex numbers and duals. Carries no derivative."""
    raise TypeError("magnitude is for kernels")


@overload(magnitude)
def _magnitude(x):
    if isinstance(x, types.Complex):
        return lambda x: complex(abs(x.real) + abs(x.imag), 0.0)
    if isinstance(x, DualLaneType):
        return lambda x: dual_of(_fabs(value_of(x)) + _fabs(slope_of(x)), value_of(x) * 0.0)
    return lambda x: _fabs(x)


@intrinsic
def _quadrant(typingctx, s, c, k):
    """(sin, cos) of r + k pi/2 from s = sin r, c = cos r: swap on odd k, then flip signs by the bits of k."""

    def codegen(context, builder, signature, args):
        sine, cosine, turns = args
        real = sine.type
        integer = ir.VectorType(_INT, s.n) if isinstance(s, LaneType) else _INT

        def const(v):
            return ir.Constant(integer, [v] * s.n) if isinstance(s, LaneType) else ir.Constant(integer, v)

        def flip(value, sign_bit):
            bits = builder.xor(builder.bitcast(value, integer), builder.shl(sign_bit, const(62)))
            return builder.bitcast(bits, real)

        k_int = builder.fptosi(turns, integer)
        odd = builder.icmp_signed("!=", builder.and_(k_int, const(1)), const(0))
        out_sine = flip(builder.select(odd, cosine, sine), builder.and_(k_int, const(2)))
        out_cosine = flip(builder.select(odd, sine, cosine), builder.and_(builder.add(k_int, const(1)), const(2)))
        return context.make_tuple(builder, signature.return_type, [out_sine, out_cosine])

    return types.UniTuple(s, 2)(s, s, k), codegen


@inlined
def _sincos_reduced(x):
    # pi/2 in three parts (33 + 33 + 53 bits): k times the first two is exact for |x| < 1e4. What rounding cuts off the
    # reduced angle r is kept in `tail`, so that r + tail is right to far more digits than r has, also next to k pi/2.
    k = _rint(x * 0.63661977236758134308)
    first = x - k * 1.57079632673412561417e00
    second = k * 6.07710050630396597660e-11
    r = first - second
    tail = ((first - r) - second) - k * 2.02226624879595063154e-21
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    # minimax polynomials on [-pi/4, pi/4]
    ps = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    ps = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * ps)
    s = r + (r * z * (-1.66666666666666324348e-01 + z * ps) + tail * w)
    pc = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
    pc = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * pc))
    c = w + (((1.0 - w) - half) + (z * z * pc - r * tail))
    return _quadrant(s, c, k)


@inner
def _sincos_far(x):
    s, c = x, x
    for lane in range(width(x)):
        angle = extract(x, lane)
        s, c = insert(s, lane, math.sin(angle)), insert(c, lane, math.cos(angle))
    return s, c


def sincos(x):  # pragma: no cover - replaced by the overload below inside kernels
    """(sin x, cos x), within 2 ulp for |x| < 1e4; larger arguments take the C library's slower exact reduction."""
    raise TypeError("sincos is for kernels; use numpy.sin and numpy.cos")


@overload(sincos, inline="never")
def _sincos(x):
    if isinstance(x, types.Complex):

        def complex_sincos(x):
            a, b = x.real, x.imag
            sa, ca = math.sin(a), math.cos(a)
            sb, cb = math.sinh(b), math.cosh(b)
            return complex(sa * cb, ca * sb), complex(ca * cb, -sa * sb)

        return complex_sincos
    if isinstance(x, DualLaneType):

        def dual_sincos(x):
            s, c = sincos(value_of(x))
            return dual_of(s, c * slope_of(x)), dual_of(c, -(s * slope_of(x)))

        return dual_sincos

    def real_sincos(x):
        if any_not_less(_fabs(x), 1.0e4):
            return _sincos_far(x)
        return _sincos_reduced(x)

    return real_sincos
