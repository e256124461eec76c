"""What if? Derivatives of whole motions, and certificates that judge any derivative by evaluation alone."""

from mechgrad.sensitivities.batch_certificate import BatchCertificate
from mechgrad.sensitivities.batch_gradient import BatchGradient, CombinedGradient
from mechgrad.sensitivities.certificate import Certificate, Worst, certify
from mechgrad.sensitivities.gradient import MotionSensitivities, gradient, motion_sensitivities
from mechgrad.sensitivities.model_certificate import ModelCertificate
from mechgrad.sensitivities.model_check import certify_model
from mechgrad.sensitivities.objectives import AtEnd, AtTime, Integral, Objective, smooth_abs
from mechgrad.sensitivities.single_gradient import Gradient
from mechgrad.sensitivities.tracking import Samples, Tracking

__all__ = [
    "AtEnd", "AtTime", "BatchCertificate", "BatchGradient", "Certificate", "CombinedGradient", "Gradient", "Integral",
    "ModelCertificate", "MotionSensitivities", "Objective", "Samples", "Tracking", "Worst", "certify", "certify_model",
    "gradient", "motion_sensitivities", "smooth_abs",
]  # fmt: skip
