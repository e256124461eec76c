"""Functions of one number (time, an elongation, a speed), one family per file; elements hold them, files state them."""

from mechgrad.model.functions.base import CUBIC, HARMONIC, Function
from mechgrad.model.functions.closed_forms import ZERO, Constant, Harmonic, Polynomial, constant_part
from mechgrad.model.functions.conversion import FUNCTION_TYPES, as_function, freeze_functions
from mechgrad.model.functions.knots import Spline, Table

__all__ = [
    "CUBIC", "FUNCTION_TYPES", "HARMONIC", "ZERO", "Constant", "Function", "Harmonic", "Polynomial", "Spline", "Table",
    "as_function", "constant_part", "freeze_functions",
]  # fmt: skip
