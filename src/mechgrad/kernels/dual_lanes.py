"""Dual lanes: L samples side by side, each a value and one slope, so that any kernel on lanes also computes a
derivative along one direction.

    (x, x') + (y, y') = (x + y, x' + y'),      (x, x') (y, y') = (x y, x' y + x y'),      f(x, x') = (f(x), f_x x')

Pass `scalar = dual_zero()`. One sample is a complex128, value + slope j: tables and scratch arrays are complex, a table
entry mixes with dual lanes as value and slope, and slots hold the L values, then the L slopes. Products of
slopes are dropped here and not by complex128; with slopes of the size 1e-30 both agree, and what is computed sample
by sample (force laws, functions of time, laws in Python) sees an ordinary complex step.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from mechgrad.kernels.host import LANES
from mechgrad.kernels.lanes import FLAGS, LaneType, llvm_type, to_scalar, to_vectors, zero_of


class DualLaneType(LaneType):
    """Numba type of `n` values and their `n` slopes, in one LLVM vector each."""

    parts = 2
    number: types.Type = types.complex128

    def __init__(self, n: int) -> None:
        self.n = n
        types.Type.__init__(self, name=f"dual_lanes{n}")

    def arithmetic(self, builder, opcode, x, y):
        """[value, slope] of x op y; an operand without a second vector is constant."""

        def apply(code, a, b):
            return getattr(builder, code)(a, b, flags=FLAGS)

        def slope(vectors):
            return vectors[1] if len(vectors) == 2 else zero

        def slope_times(vectors, factor):  # the compiler may not drop 0 times what could be NaN
            return apply("fmul", vectors[1], factor) if len(vectors) == 2 else zero

        zero, one = (ir.Constant(x[0].type, [number] * self.n) for number in (0.0, 1.0))
        value = apply(opcode, x[0], y[0])
        if opcode == "fmul":
            return [value, apply("fadd", slope_times(x, y[0]), slope_times(y, x[0]))]
        if opcode == "fdiv":
            change = apply("fsub", slope(x), slope_times(y, value))
            return [value, apply("fmul", change, apply("fdiv", one, y[0]))]
        return [value, apply(opcode, slope(x), slope(y))]

    def apart(self, builder, vectors):
        """Values and slopes of n complex numbers, from the vectors of memory in which they lie one after the other."""
        return _shuffled(builder, vectors, [*range(0, 2 * self.n, 2), *range(1, 2 * self.n, 2)])

    def together(self, builder, parts):
        """Inverse of `apart`."""
        return _shuffled(builder, parts, [k // 2 + self.n * (k % 2) for k in range(2 * self.n)])


def _shuffled(builder, vectors, order):
    """Two vectors with their elements in another order."""
    n = len(order) // 2
    masks = (ir.Constant(ir.VectorType(ir.IntType(32), n), order[k : k + n]) for k in (0, n))
    return [builder.shuffle_vector(*vectors, mask) for mask in masks]


@register_model(DualLaneType)
class _DualLaneModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, lane_type):
        super().__init__(manager, lane_type, llvm_type(lane_type))


@intrinsic
def dual_zero(typingctx):
    """The dual lanes 0 with slope 0: pass it as `scalar` to run a kernel on dual lanes."""
    return zero_of(DualLaneType(LANES))


def _part(p):
    @intrinsic
    def part(typingctx, x):
        return LaneType(x.n)(x), lambda context, builder, signature, args: to_vectors(builder, x, args[0])[p]

    return part


# the lanes of values and of slopes of dual lanes
value_of, slope_of = _part(0), _part(1)


@intrinsic
def dual_of(typingctx, value, slope):
    """Dual lanes from lanes of values and of slopes."""
    dual = DualLaneType(value.n)
    return dual(value, slope), lambda context, builder, signature, args: to_scalar(builder, dual, args)
