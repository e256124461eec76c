"""The lane scalar: L doubles in one SIMD register that behave like one number, so that one kernel source serves
a single state (float64), a batch over time samples (lanes) and the complex step (complex128).

A kernel receives a value `like` whose *type* says which scalar it runs on:

    like = 0.0             float64       width 1
    like = lane_zero()     lanes         width 1, 4 or 8 (`kernels.host`)
    like = 0j              complex128    width 1

Scratch arrays are one-dimensional; slot k of a lane kernel is the L consecutive doubles at k*L.
`load(A, k, like)` and `store(A, k, x)` move one scalar, whatever it is. Model numbers are plain float64 and mix
freely with lanes.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inner

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_FLAGS = ("contract", "nsz")


class LaneType(types.Type):
    """Numba type of `n` doubles that live in one LLVM vector."""

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(name=f"lanes{n}")


@register_model(LaneType)
class _LaneModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, lane_type):
        super().__init__(manager, lane_type, ir.VectorType(_DOUBLE, lane_type.n))


def _splat(builder, value, n):
    vector = ir.VectorType(_DOUBLE, n)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n))


# ------------------------------------------------------------------------------------------------- arithmetic
def _binary(opcode):
    @intrinsic
    def apply(typingctx, a, b):
        lane = a if isinstance(a, LaneType) else b

        def codegen(context, builder, signature, args):
            x, y = (
                value if isinstance(ty, LaneType) else _splat(builder, value, lane.n)
                for value, ty in zip(args, signature.args, strict=True)
            )
            return getattr(builder, opcode)(x, y, flags=_FLAGS)

        return lane(*(ty if isinstance(ty, LaneType) else types.float64 for ty in (a, b))), codegen

    return apply


def _register(op, apply):
    @overload(op)
    def implementation(a, b):
        if isinstance(a, LaneType) or isinstance(b, LaneType):
            return lambda a, b: apply(a, b)
        return None


for _op, _opcode in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register(_op, _binary(_opcode))


@overload(operator.neg)
def _negate(x):
    if isinstance(x, LaneType):
        return lambda x: 0.0 - x
    return None


# ----------------------------------------------------------------------------------------- making and measuring
@intrinsic
def lane_zero(typingctx):
    """The lane scalar 0: pass it as `like` to run a kernel on lanes."""
    return LaneType(LANES)(), lambda context, builder, signature, args: ir.Constant(
        ir.VectorType(_DOUBLE, signature.return_type.n), [0.0] * signature.return_type.n
    )


@intrinsic
def width(typingctx, like):
    """How many samples one scalar of this type carries (a compile-time constant)."""
    n = like.n if isinstance(like, LaneType) else 1
    return types.intp(like), lambda context, builder, signature, args: ir.Constant(_INT, n)


@intrinsic
def extract(typingctx, x, lane):
    """Sample `lane` of x."""
    if isinstance(x, LaneType):
        return types.float64(x, types.intp), lambda c, builder, s, args: builder.extract_element(*args)
    return x(x, types.intp), lambda c, builder, s, args: args[0]


@intrinsic
def insert(typingctx, x, lane, value):
    """x with sample `lane` replaced by value."""
    if isinstance(x, LaneType):
        return x(x, types.intp, types.float64), lambda c, b, s, args: b.insert_element(args[0], args[2], args[1])
    return x(x, types.intp, x), lambda c, b, s, args: args[2]


# --------------------------------------------------------------------------------------------------- memory
def _address(context, builder, array_type, array, element):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [element])


def _vector_address(context, builder, array_type, array, element, n):
    pointer = _address(context, builder, array_type, array, element)
    return builder.bitcast(pointer, ir.VectorType(_DOUBLE, n).as_pointer())


@intrinsic
def load(typingctx, array, slot, like):
    """Scalar in slot `slot` of a one-dimensional scratch array. No bounds check, no negative index."""
    if isinstance(like, LaneType):

        def codegen(context, builder, signature, args):
            element = builder.mul(args[1], ir.Constant(_INT, like.n))
            address = _vector_address(context, builder, signature.args[0], args[0], element, like.n)
            return builder.load(address, align=8)

        return like(array, types.intp, like), codegen

    def codegen_one(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1])
        return context.unpack_value(builder, array.dtype, address)

    return array.dtype(array, types.intp, like), codegen_one


@intrinsic
def store(typingctx, array, slot, value):
    """Put a scalar into slot `slot` of a one-dimensional scratch array."""
    if isinstance(value, LaneType):

        def codegen(context, builder, signature, args):
            element = builder.mul(args[1], ir.Constant(_INT, value.n))
            address = _vector_address(context, builder, signature.args[0], args[0], element, value.n)
            builder.store(args[2], address, align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, value), codegen

    def codegen_one(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1])
        context.pack_value(builder, array.dtype, args[2], address)
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), codegen_one


def _transpose(builder, rows):
    """Transpose a square of vectors by exchanging ever larger off-diagonal blocks (log2 n rounds of shuffles)."""
    n = len(rows)
    rows = list(rows)
    mask_type = ir.VectorType(ir.IntType(32), n)
    step = 1
    while step < n:
        upper = ir.Constant(mask_type, [j if not j & step else n + j - step for j in range(n)])
        lower = ir.Constant(mask_type, [j + step if not j & step else n + j for j in range(n)])
        for i in range(n):
            if not i & step:
                a, b = rows[i], rows[i + step]
                rows[i], rows[i + step] = builder.shuffle_vector(a, b, upper), builder.shuffle_vector(a, b, lower)
        step *= 2
    return rows


@intrinsic
def _load_square(typingctx, source, element, row_stride, scratch, slot, like):
    """scratch[slot + k] = (source[element + l*row_stride + k], l = lane), for k = 0 .. L-1."""

    def codegen(context, builder, signature, args):
        src, element, stride, dst, slot, _ = args
        if not isinstance(like, LaneType):
            value = context.unpack_value(
                builder, source.dtype, _address(context, builder, signature.args[0], src, element)
            )
            value = context.cast(builder, value, source.dtype, scratch.dtype)
            context.pack_value(builder, scratch.dtype, value, _address(context, builder, signature.args[3], dst, slot))
            return context.get_dummy_value()
        rows = []
        for lane in range(like.n):
            at = builder.add(element, builder.mul(stride, ir.Constant(_INT, lane)))
            rows.append(builder.load(_vector_address(context, builder, signature.args[0], src, at, like.n), align=8))
        for k, row in enumerate(_transpose(builder, rows)):
            at = builder.mul(builder.add(slot, ir.Constant(_INT, k)), ir.Constant(_INT, like.n))
            builder.store(row, _vector_address(context, builder, signature.args[3], dst, at, like.n), align=8)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, scratch, types.intp, like), codegen


@intrinsic
def _store_square(typingctx, scratch, slot, target, element, row_stride, like):
    """target[element + l*row_stride + k] = lane l of scratch[slot + k], for k = 0 .. L-1."""

    def codegen(context, builder, signature, args):
        src, slot, dst, element, stride, _ = args
        if not isinstance(like, LaneType):
            value = context.unpack_value(
                builder, scratch.dtype, _address(context, builder, signature.args[0], src, slot)
            )
            context.pack_value(
                builder, target.dtype, value, _address(context, builder, signature.args[2], dst, element)
            )
            return context.get_dummy_value()
        rows = []
        for k in range(like.n):
            at = builder.mul(builder.add(slot, ir.Constant(_INT, k)), ir.Constant(_INT, like.n))
            rows.append(builder.load(_vector_address(context, builder, signature.args[0], src, at, like.n), align=8))
        for lane, row in enumerate(_transpose(builder, rows)):
            at = builder.add(element, builder.mul(stride, ir.Constant(_INT, lane)))
            builder.store(row, _vector_address(context, builder, signature.args[2], dst, at, like.n), align=8)
        return context.get_dummy_value()

    return types.void(scratch, types.intp, target, types.intp, types.intp, like), codegen


@inner
def gather(source, row, scratch, slot, like):
    """Rows row .. row+L-1 of a C-contiguous (nt, m) array become m scalars in scratch; past the end the last row
    repeats."""
    nt, m = source.shape
    n = width(like)
    k = 0
    if row + n <= nt:
        while k + n <= m:
            _load_square(source, row * m + k, m, scratch, slot + k, like)
            k += n
    for lane in range(n):
        r = min(row + lane, nt - 1)
        for j in range(k, m):
            scratch[(slot + j) * n + lane] = source[r, j]


@inner
def scatter(scratch, slot, target, row, like):
    """m scalars of scratch become rows row .. row+L-1 of a C-contiguous (nt, m) array; lanes past the end are
    dropped."""
    nt, m = target.shape
    n = width(like)
    k = 0
    if row + n <= nt:
        while k + n <= m:
            _store_square(scratch, slot + k, target, row * m + k, m, like)
            k += n
    for lane in range(min(n, nt - row)):
        for j in range(k, m):
            target[row + lane, j] = scratch[(slot + j) * n + lane]


# ------------------------------------------------------------------------------------------------ comparisons
def _real_part(context, builder, ty, value):
    return context.make_complex(builder, ty, value).real if isinstance(ty, types.Complex) else value


@intrinsic
def where_less(typingctx, a, b, x, y):
    """x where a < b, else y, sample by sample; complex numbers are compared by their real parts."""

    def codegen(context, builder, signature, args):
        a_, b_ = (_real_part(context, builder, ty, v) for ty, v in zip(signature.args[:2], args[:2], strict=True))
        return builder.select(builder.fcmp_ordered("<", a_, b_), args[2], args[3])

    return a(a, a, a, a), codegen


@intrinsic
def any_not_less(typingctx, x, bound):
    """True if any sample of x is not below `bound`; a NaN, also an imaginary one, is not below anything."""

    def codegen(context, builder, signature, args):
        if isinstance(x, types.Complex):
            number = context.make_complex(builder, x, args[0])
            above = builder.fcmp_unordered(">=", number.real, args[1])
            return builder.or_(above, builder.fcmp_unordered("uno", number.imag, number.imag))
        if not isinstance(x, LaneType):
            return builder.fcmp_unordered(">=", args[0], args[1])
        mask = builder.fcmp_unordered(">=", args[0], _splat(builder, args[1], x.n))
        bits = builder.bitcast(mask, ir.IntType(x.n))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(x.n), 0))

    return types.boolean(x, types.float64), codegen
