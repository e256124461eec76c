"""Sloped numbers: one number and its slopes along SLOPES directions, so that a formula written once also gives its
gradient.

    x + y, x y, f(x)      with slopes      x' + y', x' y + x y', f_x(x) x'

The number is a float64 or a complex128, the slopes are of the same kind and lie in one LLVM vector (two for complex
numbers). `seeded(x, k)` is x as the variable of direction k, and a constant where there is no such direction. Sloped
numbers mix with plain ones, which are constants; comparisons ask for `.real` or `value_part`. The same formulas run on
plain numbers alone, for those who ask for no gradient: `seeded(x, None)` is x.

They are for formulas of a dozen variables, evaluated sample by sample (`dynamics.kernels.contact_forces`); along one
direction and for many samples there are dual lanes.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, overload_attribute, register_model

SLOPES = 16
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, SLOPES)
_FLAGS = ("contract", "nsz")


class SlopedType(types.Type):
    """Numba type of a number of type `base` and its slopes."""

    def __init__(self, base: types.Type) -> None:
        self.base = base
        self.parts = 2 if isinstance(base, types.Complex) else 1
        super().__init__(name=f"sloped_{base}")


def _llvm(sloped):
    return ir.LiteralStructType([_DOUBLE] * sloped.parts + [_VECTOR] * sloped.parts)


@register_model(SlopedType)
class _SlopedModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, sloped):
        super().__init__(manager, sloped, _llvm(sloped))


# A number, and a vector of slopes, is a list of its real and, if it is complex, its imaginary part.
def _add(builder, x, y):
    return [builder.fadd(a, b, flags=_FLAGS) for a, b in zip(x, y, strict=True)]


def _sub(builder, x, y):
    return [builder.fsub(a, b, flags=_FLAGS) for a, b in zip(x, y, strict=True)]


def _mul(builder, x, y):
    def times(a, b):
        return builder.fmul(a, b, flags=_FLAGS)

    if len(x) == 1:
        return [times(x[0], y[0])]
    real = builder.fsub(times(x[0], y[0]), times(x[1], y[1]), flags=_FLAGS)
    return [real, builder.fadd(times(x[0], y[1]), times(x[1], y[0]), flags=_FLAGS)]


def _inverse(builder, x):
    if len(x) == 1:
        return [builder.fdiv(ir.Constant(_DOUBLE, 1.0), x[0], flags=_FLAGS)]
    size = builder.fadd(builder.fmul(x[0], x[0]), builder.fmul(x[1], x[1]), flags=_FLAGS)
    return [
        builder.fdiv(x[0], size, flags=_FLAGS),
        builder.fdiv(builder.fsub(ir.Constant(_DOUBLE, 0.0), x[1]), size, flags=_FLAGS),
    ]


def _everywhere(builder, parts):
    """A number as a vector of equal slopes."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), SLOPES), [0] * SLOPES)
    undefined, zero = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    return [builder.shuffle_vector(builder.insert_element(undefined, p, zero), undefined, mask) for p in parts]


def _of_number(context, builder, ty, number):
    if isinstance(ty, types.Complex):
        z = context.make_complex(builder, ty, number)
        return [z.real, z.imag]
    return [number]


def _to_number(context, builder, ty, parts):
    if isinstance(ty, types.Complex):
        z = context.make_complex(builder, ty)
        z.real, z.imag = parts
        return z._getvalue()
    return parts[0]


def _apart(builder, sloped, x):
    """(number, slopes) of a sloped number."""
    parts = [builder.extract_value(x, i) for i in range(2 * sloped.parts)]
    return parts[: sloped.parts], parts[sloped.parts :]


def _together(builder, sloped, number, slopes):
    result = ir.Constant(_llvm(sloped), ir.Undefined)
    for i, part in enumerate([*number, *slopes]):
        result = builder.insert_value(result, part, i)
    return result


def _binary(name):
    @intrinsic
    def apply(typingctx, a, b):
        sloped = a if isinstance(a, SlopedType) else b

        def codegen(context, builder, signature, args):
            sides = [
                _apart(builder, sloped, value)
                if isinstance(ty, SlopedType)
                else (_of_number(context, builder, ty, value), None)
                for value, ty in zip(args, signature.args, strict=True)
            ]
            return _together(builder, sloped, *_combined(builder, name, *sides[0], *sides[1]))

        kinds = [ty if isinstance(ty, SlopedType) else sloped.base for ty in (a, b)]
        return sloped(*kinds), codegen

    return apply


def _combined(builder, name, x, xs, y, ys):
    """Number and slopes of x op y; slopes that are None belong to a constant."""
    if name in ("add", "sub"):
        value = (_add if name == "add" else _sub)(builder, x, y)
        if ys is None:
            return value, xs
        if xs is None:
            return value, ys if name == "add" else _negative(builder, ys)
        return value, (_add if name == "add" else _sub)(builder, xs, ys)
    if name == "mul":
        value = _mul(builder, x, y)
        mine = None if xs is None else _mul(builder, xs, _everywhere(builder, y))
        other = None if ys is None else _mul(builder, ys, _everywhere(builder, x))
        return value, other if mine is None else mine if other is None else _add(builder, mine, other)
    inverse = _inverse(builder, y)
    value, wide = _mul(builder, x, inverse), _everywhere(builder, inverse)
    if ys is None:
        return value, _mul(builder, xs, wide)
    change = _negative(builder, _mul(builder, ys, _everywhere(builder, value)))
    if xs is not None:
        change = _add(builder, change, xs)
    return value, _mul(builder, change, wide)


def _negative(builder, slopes):
    zero = ir.Constant(_VECTOR, [0.0] * SLOPES)
    return [builder.fsub(zero, s, flags=_FLAGS) for s in slopes]


def _register(op, apply):
    @overload(op)
    def implementation(a, b):
        if isinstance(a, SlopedType) or isinstance(b, SlopedType):
            return lambda a, b: apply(a, b)
        return None


for _operator in (operator.add, operator.sub, operator.mul, operator.truediv):
    _register(_operator, _binary(_operator.__name__))


@overload(operator.neg)
def _negate(x):
    if isinstance(x, SlopedType):
        return lambda x: 0.0 - x
    return None


@intrinsic
def seeded(typingctx, x, direction):
    """A plain number as the variable of a direction, or as a constant where direction is not in 0 .. SLOPES-1. As it
    is, without slopes, where direction is None."""
    if isinstance(direction, types.NoneType):
        return x(x, direction), lambda context, builder, signature, args: args[0]
    sloped = SlopedType(types.float64 if isinstance(x, types.Integer) else x)

    def codegen(context, builder, signature, args):
        number = _of_number(context, builder, sloped.base, args[0])
        index = ir.Constant(ir.VectorType(ir.IntType(64), SLOPES), list(range(SLOPES)))
        wanted = ir.Constant(ir.VectorType(ir.IntType(64), SLOPES), ir.Undefined)
        wanted = builder.insert_element(wanted, args[1], ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), SLOPES), [0] * SLOPES)
        wanted = builder.shuffle_vector(wanted, wanted, mask)
        one, zero = (ir.Constant(_VECTOR, [size] * SLOPES) for size in (1.0, 0.0))
        slope = builder.select(builder.icmp_signed("==", index, wanted), one, zero)
        return _together(builder, sloped, number, [slope, zero][: sloped.parts])

    return sloped(sloped.base, types.intp), codegen


@intrinsic
def value_part(typingctx, x):
    """The number without its slopes; a plain number as it is."""
    if not isinstance(x, SlopedType):
        return x(x), lambda context, builder, signature, args: args[0]

    def codegen(context, builder, signature, args):
        return _to_number(context, builder, x.base, _apart(builder, x, args[0])[0])

    return x.base(x), codegen


def direction_in(law, i):  # pragma: no cover - replaced by the overload below inside kernels
    """The direction of number i of a law that is (where its numbers begin, which of them is direction 0, or None)."""
    raise TypeError("direction_in is for kernels")


@overload(direction_in)
def _direction_in(law, i):
    if isinstance(law.types[1], types.NoneType):
        return lambda law, i: None
    return lambda law, i: i - law[1]


@intrinsic
def slope_part(typingctx, x, direction):
    """The slope along one direction."""

    def codegen(context, builder, signature, args):
        slopes = [builder.extract_element(s, args[1]) for s in _apart(builder, x, args[0])[1]]
        return _to_number(context, builder, x.base, slopes)

    return x.base(x, types.intp), codegen


@intrinsic
def chained(typingctx, x, value, slope):
    """A function of x that has this value and this derivative there."""

    def codegen(context, builder, signature, args):
        number, factor = (_of_number(context, builder, x.base, part) for part in args[1:])
        slopes = _mul(builder, _apart(builder, x, args[0])[1], _everywhere(builder, factor))
        return _together(builder, x, number, slopes)

    return x(x, x.base, x.base), codegen


@overload_attribute(SlopedType, "real")
def _real(x):
    return lambda x: value_part(x).real
