"""The door through which a user's force law enters compiled marches: a call by address.

    law(rows, t, g, gd, F, F_g, F_gd, is_complex)        addresses of `rows` numbers, or of rows x rows, row by row

The address is data, so that marches stay cached on disk and a law costs nothing to whoever does not use one.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_double, *[ctypes.c_int64] * 5, ctypes.c_int64
)  # rows, t, five addresses, whether numbers are complex


@intrinsic
def call_law(typingctx, address, rows, t, g, gd, F, F_g, F_gd, is_complex):
    """Call the law at `address`."""

    def codegen(context, builder, signature, args):
        word, real = ir.IntType(64), ir.DoubleType()
        function = ir.FunctionType(ir.VoidType(), [word, real, *[word] * 5, word])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), list(args[1:]))
        return context.get_dummy_value()

    integers = [types.int64] * 6
    return types.void(types.int64, types.int64, types.float64, *integers), codegen
