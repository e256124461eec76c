"""How do small motions go? From a model and a state to matrices, modes and loci, and their derivatives."""

from mechgrad.linearisation.linear_model import Linearisation, LinearisationDerivatives
from mechgrad.linearisation.linearise import linearise
from mechgrad.linearisation.locus import Locus
from mechgrad.linearisation.modes import Mode

__all__ = ["Linearisation", "LinearisationDerivatives", "Locus", "Mode", "linearise"]
