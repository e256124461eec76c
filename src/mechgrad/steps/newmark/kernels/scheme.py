"""The Newmark family: what follows from its four numbers and a step. One source for kernels and for NumPy.

(1 - alpha_m) x1 + alpha_m x0 = (1 - alpha_f) a1 + alpha_f a0
d  = h v0 + h^2 ((1/2 - beta) x0 + beta x1),    q1 = q0 moved by d,    v1 = v0 + h ((1 - gamma) x0 + gamma x1)
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined


@inlined
def step_factors(settings, h):
    """scale = beta h^2, cv and ca: how velocities and accelerations follow the unknown beta h^2 x1."""
    scale = settings.beta * h * h
    return scale, settings.gamma / (settings.beta * h), (1.0 - settings.alpha_m) / ((1.0 - settings.alpha_f) * scale)


@inlined
def update(numbers, h, v0, a0, x0, x):
    """The step d, v and a at the new time from the memory x there; numbers: (beta, gamma, alpha_m, alpha_f)."""
    beta, gamma, alpha_m, alpha_f = numbers
    d = h * v0 + h * h * ((0.5 - beta) * x0 + beta * x)
    v = v0 + h * ((1.0 - gamma) * x0 + gamma * x)
    a = ((1.0 - alpha_m) * x + alpha_m * x0 - alpha_f * a0) / (1.0 - alpha_f)
    return d, v, a


@inlined
def weights(settings, n_holonomic, k):
    """What row k is solved for: weights of value, rate and second rate; rows without a value are solved for their
    rate."""
    if k < n_holonomic:
        return settings.weight_0, settings.weight_1, settings.weight_2
    return 0.0, (1.0 if settings.weight_2 == 0.0 else settings.weight_1), settings.weight_2
