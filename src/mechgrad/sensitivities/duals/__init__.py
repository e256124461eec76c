"""Dual numbers through NumPy: values with slopes, so that functions that users write are differentiated as they are."""

from mechgrad.sensitivities.duals import array_functions as _functions  # fills the table of functions
from mechgrad.sensitivities.duals.dual import FUNCTIONS, Dual, Unsupported
from mechgrad.sensitivities.duals.ufuncs import FLAT, RULES

assert _functions

__all__ = ["FLAT", "FUNCTIONS", "RULES", "Dual", "Unsupported"]
