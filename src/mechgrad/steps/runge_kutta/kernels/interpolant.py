"""The state within a step of order eight: a sum of its stages, with weights that depend on the instant alone."""

from __future__ import annotations

from mechgrad.kernels.jit import inlined


@inlined
def interpolant_weights(u, B, D, weights):
    """Weights of all stages at the share u of a step: y + h sum_i weights_i K_i has order 7.

    Horner's scheme in u and 1 - u: over the change of the state in the step, what the derivatives at its start (stage
    0) and at its end (the first that B leaves out) differ from that, and D.
    """
    for i in range(weights.shape[0]):
        change = B[i] if i < B.size else 0.0
        start, end = 1.0 if i == 0 else 0.0, 1.0 if i == B.size else 0.0
        x = ((D[3, i] * u + D[2, i]) * (1.0 - u) + D[1, i]) * u
        x = ((x + D[0, i]) * (1.0 - u) + (2.0 * change - start - end)) * u
        weights[i] = ((x + (start - change)) * (1.0 - u) + change) * u
