"""How do small motions go? From a model and a state to matrices, modes and loci, and their derivatives."""

from mechgrad.linearisation.linearised_mechanism import Linearisation, LinearisationDerivatives
from mechgrad.linearisation.locus import Locus
from mechgrad.linearisation.modes import Mode
from mechgrad.linearisation.small_motions import linearise

__all__ = ["Linearisation", "LinearisationDerivatives", "Locus", "Mode", "linearise"]
