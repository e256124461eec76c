"""What if? Judges derivatives by evaluating what they belong to; knows functions and models, not how to derive them."""

from mechgrad.sensitivities.certificate import Certificate, Worst, certify
from mechgrad.sensitivities.model_certificate import ModelCertificate
from mechgrad.sensitivities.model_check import certify_model

__all__ = ["Certificate", "ModelCertificate", "Worst", "certify", "certify_model"]
