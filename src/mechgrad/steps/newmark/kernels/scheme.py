"""The Newmark family: what follows from its four numbers and a step. One source for kernels and for NumPy.

(1 - alpha_m) x1 + alpha_m x0 = (1 - alpha_f) a1 + alpha_f a0
d  = h v0 + h^2 ((1/2 - beta) x0 + beta x1),    q1 = q0 moved by d,    v1 = v0 + h ((1 - gamma) x0 + gamma x1)
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined


@inlined
def coefficients(settings, h):
    """scale = beta h^2, cv = dv/d(scale x), ca = da/d(scale x): how v and a follow the unknown of a step."""
    scale = settings.beta * h * h
    cv = settings.gamma / (settings.beta * h)
    ca = (1.0 - settings.alpha_m) / ((1.0 - settings.alpha_f) * scale)
    return scale, cv, ca


@inlined
def update(settings, h, v0, a0, x0, x):
    """d, v and a at the new time from the memory x there."""
    d = h * v0 + h * h * ((0.5 - settings.beta) * x0 + settings.beta * x)
    v = v0 + h * ((1.0 - settings.gamma) * x0 + settings.gamma * x)
    a = ((1.0 - settings.alpha_m) * x + settings.alpha_m * x0 - settings.alpha_f * a0) / (1.0 - settings.alpha_f)
    return d, v, a


@inlined
def weights(n_holonomic, settings, k):
    """What row k is solved for: weights of value, rate and second rate; rows without a value are solved for their
    rate."""
    if k < n_holonomic:
        return settings.weight_0, settings.weight_1, settings.weight_2
    return 0.0, (1.0 if settings.weight_2 == 0.0 else settings.weight_1), settings.weight_2
