"""The lane scalar: L doubles in one SIMD register that behave like one number, so that one kernel source serves
a single state (float64), a batch over time samples (lanes) and the complex step (complex128).

A kernel receives a value `scalar` whose *type* says which scalar it runs on:

    scalar = 0.0             float64       width 1
    scalar = lane_zero()     lanes         width 1, 4 or 8 (`kernels.host`)
    scalar = dual_zero()     dual lanes    the same, and each sample has a slope (`kernels.dual_lanes`)
    scalar = 0j              complex128    width 1

Scratch arrays are one-dimensional; slot k of a lane kernel is the L consecutive numbers at k*L.
`load(A, k, scalar)` and `store(A, k, x)` move one scalar, whatever it is, `put_sample` and `get_sample` one sample of
it. Model numbers are plain and mix freely with lanes.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload, register_model

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inner, runtime_int

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
FLAGS = ("contract", "nsz")


class LaneType(types.Type):
    """Numba type of `n` doubles that live in one LLVM vector.

    A richer lane scalar is a subclass with more `parts` (vectors), the `number` that one sample of it is, and its own
    methods; memory, samples and comparisons follow from these. The first part is what comparisons see.
    """

    parts = 1
    number: types.Type = types.float64

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(name=f"lanes{n}")

    def arithmetic(self, builder, opcode, x, y):
        """Vectors of x op y from those of x and y."""
        return [getattr(builder, opcode)(x[0], y[0], flags=FLAGS)]

    def apart(self, builder, vectors):
        """The parts of n numbers, from the vectors of memory in which they lie one after the other."""
        return vectors

    def together(self, builder, parts):
        """Inverse of `apart`."""
        return parts


@register_model(LaneType)
class _LaneModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, lane_type):
        super().__init__(manager, lane_type, llvm_type(lane_type))


def llvm_type(lane):
    """What a lane scalar is to LLVM: its vector, or the structure of its vectors."""
    vector = ir.VectorType(_DOUBLE, lane.n)
    return vector if lane.parts == 1 else ir.LiteralStructType([vector] * lane.parts)


def to_vectors(builder, lane, scalar):
    """The vectors of a lane scalar."""
    return [scalar] if lane.parts == 1 else [builder.extract_value(scalar, p) for p in range(lane.parts)]


def to_scalar(builder, lane, vectors):
    """Inverse of `to_vectors`."""
    if lane.parts == 1:
        return vectors[0]
    scalar = ir.Constant(llvm_type(lane), ir.Undefined)
    for p, vector in enumerate(vectors):
        scalar = builder.insert_value(scalar, vector, p)
    return scalar


def _to_doubles(context, builder, ty, number):
    """A plain number as its real and imaginary part, or as itself."""
    if isinstance(ty, types.Complex):
        z = context.make_complex(builder, ty, number)
        return [z.real, z.imag]
    return [number]


def _to_number(context, builder, ty, doubles):
    """Inverse of `_to_doubles`."""
    if isinstance(ty, types.Complex):
        z = context.make_complex(builder, ty)
        z.real, z.imag = doubles
        return z._getvalue()
    return doubles[0]


def _splat(builder, value, n):
    vector = ir.VectorType(_DOUBLE, n)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n))


# ------------------------------------------------------------------------------------------------- arithmetic
def _operand(lane, ty):
    """The type that an operand beside a lane scalar is converted to."""
    if isinstance(ty, LaneType):
        return ty
    return lane.number if isinstance(ty, types.Complex) else types.float64


def _binary(opcode):
    @intrinsic
    def apply(typingctx, a, b):
        lane = a if isinstance(a, LaneType) else b

        def codegen(context, builder, signature, args):
            x, y = (
                to_vectors(builder, lane, value)
                if isinstance(ty, LaneType)
                else [_splat(builder, part, lane.n) for part in _to_doubles(context, builder, ty, value)]
                for value, ty in zip(args, signature.args, strict=True)
            )
            return to_scalar(builder, lane, lane.arithmetic(builder, opcode, x, y))

        return lane(_operand(lane, a), _operand(lane, b)), codegen

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
    """The lane scalar 0: pass it as `scalar` to run a kernel on lanes."""
    return zero_of(LaneType(LANES))


def zero_of(lane):
    """Signature and code of an intrinsic that returns the zero of a lane type."""
    return lane(), lambda context, builder, signature, args: ir.Constant(llvm_type(lane), None)


@intrinsic
def width(typingctx, scalar):
    """How many samples one scalar of this type carries (a compile-time constant)."""
    n = scalar.n if isinstance(scalar, LaneType) else 1
    return types.intp(scalar), lambda context, builder, signature, args: ir.Constant(_INT, n)


@intrinsic
def extract(typingctx, x, lane):
    """Sample `lane` of x."""
    if isinstance(x, LaneType):

        def codegen(context, builder, signature, args):
            doubles = [builder.extract_element(vector, args[1]) for vector in to_vectors(builder, x, args[0])]
            return _to_number(context, builder, x.number, doubles)

        return x.number(x, types.intp), codegen
    return x(x, types.intp), lambda c, builder, s, args: args[0]


@intrinsic
def insert(typingctx, x, lane, value):
    """x with sample `lane` replaced by value."""
    if isinstance(x, LaneType):

        def codegen(context, builder, signature, args):
            pairs = zip(to_vectors(builder, x, args[0]), _to_doubles(context, builder, x.number, args[2]), strict=True)
            return to_scalar(builder, x, [builder.insert_element(vector, part, args[1]) for vector, part in pairs])

        return x(x, types.intp, x.number), codegen
    return x(x, types.intp, x), lambda c, b, s, args: args[2]


# --------------------------------------------------------------------------------------------------- memory
def element_address(context, builder, array_type, array, element):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [element])


def part_addresses(context, builder, array_type, array, element, lane):
    """Where the vectors of the lane scalar that begins at an element of an array lie: one after the other."""
    pointer = element_address(context, builder, array_type, array, element)
    vectors = builder.bitcast(pointer, ir.VectorType(_DOUBLE, lane.n).as_pointer())
    return [builder.gep(vectors, [ir.Constant(_INT, p)]) for p in range(lane.parts)]


def _slot_addresses(context, builder, array_type, array, slot, lane):
    return part_addresses(context, builder, array_type, array, builder.mul(slot, ir.Constant(_INT, lane.n)), lane)


def _must_hold(scalar, *arrays):
    for array in arrays:
        if isinstance(scalar, LaneType) and array.dtype != scalar.number:
            raise TypingError(f"{scalar} lives in arrays of {scalar.number}, not of {array.dtype}")


@intrinsic
def load(typingctx, array, slot, scalar):
    """Scalar in slot `slot` of a one-dimensional scratch array. No bounds check, no negative index."""
    if isinstance(scalar, LaneType):
        _must_hold(scalar, array)

        def codegen(context, builder, signature, args):
            addresses = _slot_addresses(context, builder, signature.args[0], args[0], args[1], scalar)
            return to_scalar(builder, scalar, [builder.load(address, align=8) for address in addresses])

        return scalar(array, types.intp, scalar), codegen

    def codegen_one(context, builder, signature, args):
        address = element_address(context, builder, signature.args[0], args[0], args[1])
        return context.unpack_value(builder, array.dtype, address)

    return array.dtype(array, types.intp, scalar), codegen_one


@intrinsic
def store(typingctx, array, slot, value):
    """Put a scalar into slot `slot` of a one-dimensional scratch array."""
    if isinstance(value, LaneType):
        _must_hold(value, array)

        def codegen(context, builder, signature, args):
            addresses = _slot_addresses(context, builder, signature.args[0], args[0], args[1], value)
            for vector, address in zip(to_vectors(builder, value, args[2]), addresses, strict=True):
                builder.store(vector, address, align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, value), codegen

    def codegen_one(context, builder, signature, args):
        address = element_address(context, builder, signature.args[0], args[0], args[1])
        context.pack_value(builder, array.dtype, args[2], address)
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), codegen_one


def _sample_addresses(context, builder, array_type, array, slot, sample, lane):
    addresses = _slot_addresses(context, builder, array_type, array, slot, lane)
    return [builder.gep(builder.bitcast(address, _DOUBLE.as_pointer()), [sample]) for address in addresses]


@intrinsic
def put_sample(typingctx, array, slot, sample, number, scalar):
    """Put a number into one sample of the scalar in a slot of a scratch array."""
    _must_hold(scalar, array)

    def codegen(context, builder, signature, args):
        array_, slot_, sample_, number_, _ = args
        if isinstance(scalar, LaneType):
            addresses = _sample_addresses(context, builder, array, array_, slot_, sample_, scalar)
            for part, address in zip(_to_doubles(context, builder, scalar.number, number_), addresses, strict=True):
                builder.store(part, address)
        else:
            context.pack_value(builder, array.dtype, number_, element_address(context, builder, array, array_, slot_))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, array.dtype, scalar), codegen


@intrinsic
def get_sample(typingctx, array, slot, sample, scalar):
    """One sample of the scalar in a slot of a scratch array."""
    _must_hold(scalar, array)

    def codegen(context, builder, signature, args):
        array_, slot_, sample_, _ = args
        if isinstance(scalar, LaneType):
            addresses = _sample_addresses(context, builder, array, array_, slot_, sample_, scalar)
            return _to_number(context, builder, scalar.number, [builder.load(address) for address in addresses])
        return context.unpack_value(builder, array.dtype, element_address(context, builder, array, array_, slot_))

    return array.dtype(array, types.intp, types.intp, scalar), codegen


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
def _load_square(typingctx, source, element, row_stride, scratch, slot, scalar):
    """scratch[slot + k] = (source[element + l*row_stride + k], l = lane), for k = 0 .. L-1; only for lanes."""
    _must_hold(scalar, source, scratch)

    def codegen(context, builder, signature, args):
        src, element, stride, dst, slot, _ = args
        if not isinstance(scalar, LaneType):
            return context.get_dummy_value()
        rows = []
        for lane in range(scalar.n):
            at = builder.add(element, builder.mul(stride, ir.Constant(_INT, lane)))
            addresses = part_addresses(context, builder, signature.args[0], src, at, scalar)
            rows.append(scalar.apart(builder, [builder.load(address, align=8) for address in addresses]))
        columns = [_transpose(builder, part) for part in zip(*rows, strict=True)]
        for k in range(scalar.n):
            at = builder.add(slot, ir.Constant(_INT, k))
            addresses = _slot_addresses(context, builder, signature.args[3], dst, at, scalar)
            for part, address in zip(columns, addresses, strict=True):
                builder.store(part[k], address, align=8)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, scratch, types.intp, scalar), codegen


@intrinsic
def _store_square(typingctx, scratch, slot, target, element, row_stride, scalar):
    """target[element + l*row_stride + k] = lane l of scratch[slot + k], for k = 0 .. L-1; only for lanes."""
    _must_hold(scalar, scratch, target)

    def codegen(context, builder, signature, args):
        src, slot, dst, element, stride, _ = args
        if not isinstance(scalar, LaneType):
            return context.get_dummy_value()
        columns = []
        for k in range(scalar.n):
            at = builder.add(slot, ir.Constant(_INT, k))
            addresses = _slot_addresses(context, builder, signature.args[0], src, at, scalar)
            columns.append([builder.load(address, align=8) for address in addresses])
        rows = [_transpose(builder, part) for part in zip(*columns, strict=True)]
        for lane in range(scalar.n):
            at = builder.add(element, builder.mul(stride, ir.Constant(_INT, lane)))
            addresses = part_addresses(context, builder, signature.args[2], dst, at, scalar)
            for vector, address in zip(scalar.together(builder, [part[lane] for part in rows]), addresses, strict=True):
                builder.store(vector, address, align=8)
        return context.get_dummy_value()

    return types.void(scratch, types.intp, target, types.intp, types.intp, scalar), codegen


@inner
def gather(source, row, scratch, slot, scalar):
    """Rows row .. row+L-1 of a C-contiguous (nt, m) array become m scalars in scratch; past the end the last row
    repeats."""
    nt, m = source.shape
    n = width(scalar)
    k = 0
    if n > 1 and row + n <= nt:
        while k + n <= m:
            _load_square(source, row * m + k, m, scratch, slot + k, scalar)
            k += n
    for lane in range(n):
        r = min(row + lane, nt - 1)
        for j in range(k, m):
            put_sample(scratch, slot + j, lane, source[r, j], scalar)


@inner
def scatter_part(scratch, slot, count, target, row, first, scalar):
    """`count` scalars of scratch become columns first .. first + count - 1 of rows row .. row+L-1 of a C-contiguous
    (nt, m) array; lanes past the end are dropped."""
    nt, m = target.shape
    n = width(scalar)
    k = 0
    if n > 1 and row + n <= nt:
        while k + n <= count:
            _store_square(scratch, slot + k, target, row * m + first + k, m, scalar)
            k += n
    for lane in range(min(n, nt - row)):
        for j in range(k, count):
            target[row + lane, first + j] = get_sample(scratch, slot + j, lane, scalar)


@inner
def scatter(scratch, slot, target, row, scalar):
    """m scalars of scratch become rows row .. row+L-1 of a C-contiguous (nt, m) array; lanes past the end are
    dropped."""
    scatter_part(scratch, slot, target.shape[1], target, row, runtime_int(0), scalar)


# ------------------------------------------------------------------------------------------------ comparisons
def _parts(context, builder, ty, value):
    """Vectors of lanes, or the doubles of a number: what is compared comes first."""
    return to_vectors(builder, ty, value) if isinstance(ty, LaneType) else _to_doubles(context, builder, ty, value)


@intrinsic
def where_less(typingctx, a, b, x, y):
    """x where a < b, else y, sample by sample; complex numbers are compared by their real parts."""

    def codegen(context, builder, signature, args):
        less = builder.fcmp_ordered("<", *(_parts(context, builder, a, value)[0] for value in args[:2]))
        if not isinstance(a, LaneType):
            return builder.select(less, args[2], args[3])
        pairs = zip(*(to_vectors(builder, a, value) for value in args[2:]), strict=True)
        return to_scalar(builder, a, [builder.select(less, *pair) for pair in pairs])

    return a(a, a, a, a), codegen


@intrinsic
def any_not_less(typingctx, x, bound):
    """True if any sample of x is not below `bound`; a NaN, also one in a slope, is not below anything."""

    def codegen(context, builder, signature, args):
        lanes = isinstance(x, LaneType)
        value, *others = _parts(context, builder, x, args[0])
        bad = builder.fcmp_unordered(">=", value, _splat(builder, args[1], x.n) if lanes else args[1])
        for other in others:
            bad = builder.or_(bad, builder.fcmp_unordered("uno", other, other))
        if not lanes:
            return bad
        bits = builder.bitcast(bad, ir.IntType(x.n))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(x.n), 0))

    return types.boolean(x, types.float64), codegen
