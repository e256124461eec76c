"""What if? Derivatives of whole motions, and certificates that judge any derivative by evaluation alone."""

from mechgrad.sensitivities.certificate import Certificate, Worst, certify
from mechgrad.sensitivities.gradient import Gradient, MotionSensitivities, gradient, motion_sensitivities
from mechgrad.sensitivities.model_certificate import ModelCertificate
from mechgrad.sensitivities.model_check import certify_model
from mechgrad.sensitivities.objectives import AtEnd, AtTime, Integral, Objective, smooth_abs
from mechgrad.sensitivities.tracking import Samples, Tracking

__all__ = [
    "AtEnd", "AtTime", "Certificate", "Gradient", "Integral", "ModelCertificate", "MotionSensitivities", "Objective",
    "Samples", "Tracking", "Worst", "certify", "certify_model", "gradient", "motion_sensitivities", "smooth_abs",
]  # fmt: skip
